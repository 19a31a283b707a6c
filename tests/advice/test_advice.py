"""What to expect before anything is spent."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from fitted_bands import Rehearsed, expectations, fit_band, is_inside, left_out, weights_by_group
from run_here import ran

import jostle
from jostle import Categorical, Numeric, Schema, advise
from jostle.advice.bands import INSIDE, inputs_of, kept_expectations
from jostle.choice.makers.shipped import ADVISED
from jostle.errors import ChoiceError
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
    assert {*ADVISED[name].among, name} <= known.options.keys()
    for option, bands in known.options.items():
        assert option == name or bands.version == jostle.options.get(option).version


@pytest.mark.parametrize(("schema", "maker"), [(PEOPLE, "classification"), (LINE, "ranges-1d"), (MAP, "ranges-2d")])
def test_more_rows_or_more_budget_is_never_expected_to_do_harm(schema: Schema, maker: str) -> None:
    for rows in (100, 3000, 100_000):
        found = advise(schema=schema, rows=rows, epsilons=["1/100", 0.1, 1, 10])
        assert set(found.options) == {maker, *ADVISED[maker].among}
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
