"""Advice before anything is spent."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fitted_bands import Rehearsed, expectations, fit_band, is_inside, left_out, weights_by_group
from hypothesis import given
from hypothesis import strategies as st
from run_here import ran

import jostle
from jostle import Categorical, Numeric, Schema, Table, advise, advise_rows_per_person
from jostle.advice.expected import INSIDE, inputs_of, kept_expectations
from jostle.choice.makers.shipped import ADVISED
from jostle.errors import ChoiceError, PrivateDataError
from jostle.tables.origins import vault_beside

PROGRAMS = Path(__file__).parents[2] / "programs"
PEOPLE = Schema({"age": Numeric(0, 100, bins=8), "ill": Categorical(["no", "yes"])}, label="ill")
LINE = Schema({"age": Numeric(0, 1024, bins=1024)})
MAP = Schema({"x": Numeric(0, 64, bins=64), "y": Numeric(0, 64, bins=64)})


def made_up_losses(groups: int, seed: int = 0, *, scattered: float = 0.0) -> Rehearsed:
    """Losses that fall by a line, with a number of each group's own and noise; more of both where records are few."""
    random = np.random.default_rng(seed)
    inputs, losses, names = [], [], []
    for group in range(groups):
        own = random.normal(0, 1)
        for reach in random.uniform(2, 12, 6):
            unit = np.exp(scattered * (7 - reach))
            inputs.append(inputs_of(reach, 2, None))
            losses.append(3 - 0.5 * reach + unit * (own + random.normal(0, 0.2, 3)))
            names.append(f"{group:03}")
    losses[0][2] = np.nan  # a run that was not made
    return Rehearsed(np.array(inputs), np.array(losses), np.array(names), weights_by_group(names))


def test_a_band_holds_as_many_losses_of_groups_it_has_not_seen_as_it_says() -> None:
    held = np.mean(list(left_out(made_up_losses(60)).values()))
    assert held == pytest.approx(INSIDE, abs=0.06)
    fresh = made_up_losses(400, seed=1)
    band = fit_band(made_up_losses(60))
    assert np.nanmean(is_inside(band, fresh)) == pytest.approx(INSIDE, abs=0.1)
    assert min(band.ends(inputs_of(7, 2, None))) > 0


def test_a_band_holds_as_many_where_records_are_few_as_where_they_are_many() -> None:
    """Losses of few records scatter seven times as far as those of many: one width would be too narrow for them."""
    band, fresh = fit_band(made_up_losses(60, scattered=0.2)), made_up_losses(400, seed=1, scattered=0.2)
    inside, reach = is_inside(band, fresh), fresh.inputs[:, 0]
    for part in (reach < 5, (reach > 5) & (reach < 9), reach > 9):
        assert np.nanmean(inside[part]) == pytest.approx(INSIDE, abs=0.1)
    few, many = (sum(band.ends(inputs_of(each, 2, None))) for each in (2.0, 12.0))
    assert few > 4 * many


def test_a_band_follows_the_line() -> None:
    band = fit_band(made_up_losses(60))
    for reach in (3.0, 7.0, 11.0):
        assert band.centre(inputs_of(reach, 2, None)) == pytest.approx(3 - 0.5 * reach, abs=0.6)


@pytest.mark.parametrize("name", ADVISED)
def test_what_came_with_jostle_is_of_the_options_as_they_are(name: str) -> None:
    """Where one has changed: python benchmarks/ship_makers.py, and then ship_advice.py."""
    known = kept_expectations()[name]
    assert {*ADVISED[name].among, known.maker} <= known.options.keys()
    for option, bands in known.options.items():
        assert option == known.maker or bands.version == jostle.options.get(option).version


@pytest.mark.parametrize(("schema", "name"), [(PEOPLE, "classification"), (LINE, "ranges-1d"), (MAP, "ranges-2d")])
def test_more_rows_or_more_budget_is_never_expected_to_do_harm(schema: Schema, name: str) -> None:
    for rows in (100, 3000, 100_000):
        found = advise(schema=schema, rows=rows, epsilons=["1/100", 0.1, 1, 10])
        assert set(found.options) == {ADVISED[name].maker or name, *ADVISED[name].among}
        for option in found.options:
            losses = [each.loss for each in found.expected if each.option == option]
            assert losses == sorted(losses, reverse=True)
        assert all(0 < each.low < each.loss < each.high for each in found.expected)


def test_bands_are_narrower_where_it_is_known_how_common_the_commonest_class_is() -> None:
    told, plain = (advise("PooledTree", schema=PEOPLE, rows=5000, commonest=share) for share in (0.7, None))
    for one, other in zip(told.expected, plain.expected, strict=True):
        assert one.high - one.low < 0.7 * (other.high - other.low)
    majority = advise("Majority", schema=PEOPLE, rows=100_000, commonest="0.7").expected[-1]
    assert majority.loss == pytest.approx(0.3, abs=0.03)


def test_the_budget_for_a_loss_is_where_the_expected_loss_and_the_band_come_below_it() -> None:
    found = advise("PooledTree", schema=PEOPLE, rows=5000, commonest=0.7, loss=0.25)
    needed = next(each for each in found.needed if each.option == "PooledTree")
    assert needed.likely is not None
    assert needed.safe is None or needed.safe > needed.likely
    at, before = (
        advise("PooledTree", schema=PEOPLE, rows=5000, commonest=0.7, epsilons=[epsilon]).expected[0].loss
        for epsilon in (needed.likely, needed.likely / 1.3)
    )
    assert at <= 0.25 < before
    assert advise("PooledTree", schema=PEOPLE, rows=500, loss="0.0001").needed[0].likely is None


def test_where_nothing_is_worth_more_than_a_guess_it_says_so() -> None:
    (warning,) = advise(schema=PEOPLE, rows=20, epsilons=["0.1", 3]).warnings
    assert warning.startswith("rows times epsilon is too small up to epsilon 0.1 (2)")
    assert advise(schema=PEOPLE, rows=100_000).warnings == ()
    assert advise(schema=MAP, rows=100_000).warnings == ()


def test_it_advises_on_programs_and_says_what_it_does_not_know() -> None:
    found = advise(str(PROGRAMS / "histogram.py"), schema=LINE, rows=1000)
    assert {"DAWA", "MWEM"} <= set(found.options)
    assert any("itself is expected to do about as the best" in note for note in found.notes)
    small = Schema({"x": Numeric(0, 1, bins=2), "y": Numeric(0, 1, bins=2)})
    notes = advise(schema=small, rows=1000).notes
    assert "Rehearsed was on grids of 4,096 cells, and this one has 4." in notes
    assert any("beyond, figures stay the same" in note for note in advise(schema=PEOPLE, rows=10**9).notes)


@pytest.mark.parametrize("what", ["PooledTree", "PrivBayes"])
def test_a_schema_that_does_not_suit_is_told_which_does(what: str) -> None:
    with pytest.raises(ChoiceError, match="not one for what") as refusal:
        advise(what, schema=MAP, rows=1000)
    assert refusal.value.fix == 'a schema with a label: Schema(columns, label="...")'


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    PEOPLE.write(tmp_path / "s.toml")
    words = ("advise", "--schema", tmp_path / "s.toml", "--rows", "2000", "--epsilon", "0.1", "1", "--loss", "0.2")
    done = ran(monkeypatch, capsys, *words)
    assert done.status == 0, done.err
    assert "error, 2,000 rows" in done.out
    assert "ε = 0.1" in done.out
    assert "nine times in ten" in done.out
    facts = json.loads(ran(monkeypatch, capsys, *words, "--json").out)
    assert {each["epsilon"] for each in facts["expected"]} == {"0.1", "1"}
    assert facts["wanted"] == 0.2
    refused = ran(monkeypatch, capsys, "advise", "Bayes", "--schema", tmp_path / "s.toml", "--rows", "9")
    assert (refused.status, refused.out) == (1, "")


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = advise("PooledTree", schema=PEOPLE, rows=5000)
    figure = found.plot(tmp_path / "advice.png")
    assert (tmp_path / "advice.png").stat().st_size > 5000
    assert [each.get_text() for each in figure.axes[0].get_legend().get_texts()] == list(found.options)
    with pytest.raises(ChoiceError, match="cannot write"):
        found.plot(tmp_path / "advice.txt")


def test_rows_are_made_up_and_a_program_runs_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema, rows = tmp_path / "s.toml", tmp_path / "rows.csv"
    Schema({"ward": Categorical(["a", "b", "c"]), "ill": Categorical(["no", "yes"])}, label="ill").write(schema)
    made = ran(monkeypatch, capsys, "example", "--schema", schema, "--rows", 500, "--out", rows)
    assert made.status == 0, made.err
    assert "500 rows that are made up from the schema, and are about nobody" in made.out
    said = shlex.split(next(line for line in made.out.splitlines() if "jostle run" in line).partition("jostle run ")[2])
    done = ran(monkeypatch, capsys, "run", PROGRAMS / "tree.jst", "--entry", "FriedmanSchuster", *said[1:])
    assert done.status == 0, done.err
    assert not vault_beside(rows).exists()
    again = ran(monkeypatch, capsys, "example", "--schema", schema, "--rows", 500, "--out", rows, "--json")
    assert again.status == 1
    assert "there is a file" in again.out + again.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ADVISED)
def test_what_came_with_jostle_is_what_its_rehearsals_give(name: str) -> None:
    made, kept = expectations(name), kept_expectations()[name]
    assert made.options.keys() == kept.options.keys()
    for option, bands in made.options.items():
        assert bands.version == kept.options[option].version
        assert bands.plain.start == pytest.approx(kept.options[option].plain.start, rel=1e-3, abs=1e-3)
        assert bands.plain.above == pytest.approx(kept.options[option].plain.above, rel=1e-3, abs=1e-3)
    assert jostle.advise is advise


# How many rows of a person to read.


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
