"""How many rows of a person to read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_here import ran

import jostle
from jostle import Categorical, Schema, Table, advise_rows_per_person
from jostle.errors import PrivateDataError

KINDS = Schema({"kind": Categorical(["a", "b", "c"])}, person="who")


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=12),
    st.integers(1, 40),
    st.sampled_from(["0.1", "1", "5"]),
)
def test_the_best_is_where_rows_left_out_and_noise_are_least_together(
    counts: list[int], cells: int, epsilon: str
) -> None:
    advice = advise_rows_per_person(counts, rows=sum(counts), cells=cells, epsilons=[epsilon])

    def error(most: int) -> float:
        steps = np.arange(-8000, 8001)
        chances = np.exp(-float(epsilon) / most * np.abs(steps))
        noise = cells * (np.abs(steps) * chances).sum() / chances.sum()
        return float(noise + sum(max(each - most, 0) for each in counts))

    (best,) = advice.best
    assert best.error == pytest.approx(min(error(most) for most in range(1, 21)))
    assert best.error == pytest.approx(error(best.rows_per_person))
    assert best.low <= best.rows_per_person <= best.high
    for kept in advice.curve:
        assert kept.errors[0] == pytest.approx(error(kept.rows_per_person))


def test_the_best_is_the_number_of_rows_of_the_person_with_the_cells_over_epsilon_most() -> None:
    counts = np.sort(np.random.default_rng(3).zipf(1.8, 3000).clip(max=5000))[::-1]
    for cells, epsilon in ((20, 1), (200, 1), (20, "0.1"), (1000, 2)):
        (best,) = advise_rows_per_person(counts.tolist(), rows=int(counts.sum()), cells=cells, epsilons=[epsilon]).best
        place = round(cells / float(epsilon))
        assert counts[place + 1] <= best.rows_per_person <= counts[place - 2]


@pytest.mark.parametrize("guess", ["geometric 8", "zipf 8 1000", "lognormal 8 1.2"])
def test_a_shape_has_the_mean_that_is_guessed(guess: str) -> None:
    advice = advise_rows_per_person(guess, rows=40_000, cells=1)
    one = advice.curve[0]

    assert advice.persons == pytest.approx(5000)
    assert one.rows_per_person == 1
    assert one.dropped == pytest.approx(35_000)  # one row of everybody is read


def test_shapes_are_those_of_their_names() -> None:
    dropped = {
        each.rows_per_person: each.dropped for each in advise_rows_per_person("geometric 8", rows=8, cells=1).curve
    }
    assert dropped[16] == pytest.approx(8 * (7 / 8) ** 16)
    dropped = {each.rows_per_person: each.dropped for each in advise_rows_per_person("zipf 2 3", rows=2, cells=1).curve}
    assert dropped == {1: pytest.approx(1), 2: pytest.approx(1 / 3), 3: 0}  # as likely one row as two or three
    drawn = np.ceil(np.random.default_rng(1).lognormal(0, 1, 400_000))
    mean = drawn.mean()
    for each in advise_rows_per_person(f"lognormal {mean} 1", rows=1000, cells=1).curve[:6]:
        left_out = np.maximum(drawn - each.rows_per_person, 0).mean() / mean
        assert each.dropped / 1000 == pytest.approx(left_out, abs=0.01)


def test_noise_is_what_answers_have(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": np.repeat(np.arange(300), 4), "kind": ["a", "b", "c", "a"] * 300})
    frame.to_csv(tmp_path / "public.csv", index=False)
    advice = advise_rows_per_person(tmp_path / "public.csv", rows=1200, schema=KINDS, epsilons=[1])
    kept = next(each for each in advice.curve if each.rows_per_person == 4)
    db = jostle.rehearse(Table.from_frame(frame, KINDS.with_persons(rows_per_person=4)))

    off = [np.abs(np.asarray(db.histogram("kind", epsilon=1)) - [600, 300, 300]).sum() for _ in range(400)]

    assert (advice.cells, advice.persons, kept.dropped) == (3, 300, 0)
    assert np.mean(off) == pytest.approx(kept.noise[0], rel=0.15)


def test_a_person_who_is_another_moves_rows_in_two_cells() -> None:
    added = advise_rows_per_person("geometric 8", rows=1000, schema=KINDS, epsilons=["0.01"])
    replaced = advise_rows_per_person(
        "geometric 8", rows=1000, schema=KINDS.with_neighbours("replace_one"), epsilons=["0.01"]
    )
    assert replaced.curve[1].noise[0] == pytest.approx(2 * added.curve[1].noise[0], rel=1e-3)


def test_a_file_of_private_rows_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("who,kind\n1,a\n1,b\n2,c\n", "utf-8")
    assert advise_rows_per_person(rows, rows=3, schema=KINDS).persons == pytest.approx(2)
    jostle.protect(Table.read(rows, KINDS), epsilon=1, vault=tmp_path / "rows.csv.vault")

    with pytest.raises(PrivateDataError, match="is private"):
        advise_rows_per_person(rows, rows=3, schema=KINDS)


def test_the_command_says_and_draws_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["advise", "--rows-per-person", "geometric 8", "--rows", "40000", "--cells", "200", "--epsilon", "0.1", "1"]
    advice = advise_rows_per_person("geometric 8", rows=40_000, cells=200, epsilons=["0.1", 1])

    assert ran(monkeypatch, capsys, *words).out == f"{advice}\n"
    assert json.loads(ran(monkeypatch, capsys, *words, "--json").out) == advice.as_data()
    assert "drawn in curve.svg" in ran(monkeypatch, capsys, *words, "--plot", "curve.svg").out
    assert (tmp_path / "curve.svg").stat().st_size > 1000
    assert "leave --loss out" in ran(monkeypatch, capsys, *words, "--loss", "1").err
    assert "there is no schema" in ran(monkeypatch, capsys, "advise", "--rows", "9").err
    assert "leave --cells out" in ran(monkeypatch, capsys, "advise", "--rows", "9", "--cells", "9").err
    assert math.isclose(advice.best[1].error, min(each.errors[1] for each in advice.curve), rel_tol=0.05)
