"""Evaluations: figures that agree with what was run, on databases nobody was trained on."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import METAFEATURES, grid, known_by_rows, options, planted, table, tables

from jostle.api import pretrained
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History
from jostle.choice.learning.regret import figures, honest_best
from jostle.choice.learning.rehearse import Plan, rehearse_all, run_once, seed_of
from jostle.choice.makers.evaluate import MAKER, evaluate
from jostle.choice.makers.making import MkChoiceMaker
from jostle.corpora.corpus import Corpus
from jostle.corpora.folders import read_folder
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.probe import Probe
from jostle.tasks import make_instance
from jostle.tasks.ranges.questions import ONE_OF_EACH

AMONG = options()
BUDGETS = ("1/10", "10")


def maker_of(**given: Any) -> Any:
    made: dict[str, Any] = {"among": AMONG, "informed_by": METAFEATURES, "trained_on": known_by_rows()}
    return MkChoiceMaker(**{**made, **given})


def test_every_figure_follows_from_runs_that_can_be_done_again() -> None:
    maker = maker_of()
    corpus = tables(3)
    found = evaluate(maker, corpus, BUDGETS, trials=3, workers=1)
    assert [(cell.database, cell.epsilon) for cell in found.cells] == [
        (f"t{number}", Fraction(epsilon)) for number in range(3) for epsilon in BUDGETS
    ]
    for cell in found.cells:
        cuts = [make_instance(corpus[cell.database], TableSpec(seed=number)) for number in range(3)]
        epsilon = str(cell.epsilon)

        def again(option: Any, what: str, number: int) -> float:
            cut = cuts[number]  # noqa: B023 - used at once
            seed = seed_of(f"{cut.key} evaluated", what, epsilon, number)  # noqa: B023 - used at once
            loss, failure = run_once(option, cut, epsilon, seed)  # noqa: B023 - used at once
            assert loss is not None, failure
            return loss

        losses = np.array([[again(option, option.name, number) for number in range(3)] for option in AMONG])
        np.testing.assert_allclose([cell.losses[option.name] or 0.0 for option in AMONG], losses.mean(axis=1))
        assert cell.loss == pytest.approx(np.mean([again(maker, MAKER, number) for number in range(3)]))
        assert cell.hindsight == pytest.approx(honest_best(losses[None])[0])
        assert cell.single == pytest.approx(losses.mean(axis=1)[maker.trained.single])
        assert cell.regret == pytest.approx(max(cell.loss, 0.01) / max(cell.hindsight, 0.01))
        assert sum(cell.chosen.values()) == 3
        assert cell.failures == ()
    columns = ([getattr(cell, name) for cell in found.cells] for name in ("loss", "single", "hindsight"))
    groups = np.array([cell.database for cell in found.cells])
    assert found.figures == figures(*map(np.array, columns), floor=0.01, groups=groups)
    assert found.single_best == AMONG[maker.trained.single].name, "as it was in training, whatever is best here"


@pytest.mark.slow
def test_slices_are_the_cells_by_question_and_rows_times_epsilon() -> None:
    """A question of every kind is asked of grids; of tables, which all are asked the same, there are rows alone."""
    corpus = Corpus([grid(1), grid(2)])
    found = evaluate(pretrained("ranges"), corpus, ("1",), trials=2, workers=1, of_each_kind=True)
    assert {cell.asked for cell in found.cells} == set(ONE_OF_EACH)
    assert len(found.cells) == 2 * len(ONE_OF_EACH)
    assert sum(len(each.cells) for each in found.slices) == len(found.cells)
    for each in found.slices:
        assert each.regret == pytest.approx(np.mean([cell.regret for cell in each.cells]))
        assert sum(share for _, share in each.chosen) == pytest.approx(1)
        signals = [cell.rows * cell.epsilon for cell in each.cells]
        assert all(10**each.decade <= signal < 10 ** (each.decade + 1) for signal in signals)
    assert [each["asked"] for each in found.as_data()["slices"]] == [each.asked for each in found.slices]
    of_tables = evaluate(maker_of(), tables(2), BUDGETS, trials=2, workers=1, of_each_kind=True)
    assert {each.asked for each in of_tables.slices} == {""}


@pytest.mark.slow
def test_processes_find_the_same() -> None:
    alone = evaluate(maker_of(), tables(2), BUDGETS, trials=2, workers=1).as_data()
    together = evaluate(maker_of(), tables(2), BUDGETS, trials=2, workers=2).as_data()
    assert json.dumps(alone) == json.dumps(together)


@pytest.mark.slow
def test_what_metafeatures_cost_is_charged() -> None:
    """The Options are all one, which says what budget it got: the maker's has less, by what it bought."""
    spent: list[Fraction] = []

    def notes(db: Probe, *, epsilon: Fraction) -> Any:
        spent.append(epsilon)
        return get("Majority")(db, epsilon=epsilon)

    among = (function_option(notes, task="classification", predict=None), AMONG[0])

    def notes_wins(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.1, 0.6) if facts["rows"] > 1500 else (0.6, 0.1)

    maker = maker_of(among=among, trained_on=planted(notes_wins, among, count=40), spending="1/5")
    assert maker.trained.share == Fraction(1, 5), "it buys"
    evaluate(maker, Corpus([table(0, 3000)]), ["10"], trials=2, workers=1)
    assert spent == [10, 8, 10, 8]


def test_what_was_trained_on_is_named() -> None:
    corpus = tables(3)
    history = rehearse_all(
        [(each, TableSpec()) for each in corpus],
        Plan(options=AMONG, epsilons=BUDGETS, repeats=2, metafeatures=METAFEATURES),
        History(),
        engine="threads",
    )
    assert len(cases_of(history, AMONG)) == 6
    maker = maker_of(trained_on=history)
    both = Corpus([*corpus, table(9)])
    assert evaluate(maker, both, ["1"], trials=2, workers=1).seen_before == ("t0", "t1", "t2")


def test_failures_are_worse_than_everything_and_are_told() -> None:
    def crashes(db: Probe, *, epsilon: Fraction) -> Any:
        raise ZeroDivisionError("division by zero")

    among = (function_option(crashes, task="classification", predict=None), *AMONG)

    def crashing_wins(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.1, 0.5, 0.4)

    maker = maker_of(among=among, trained_on=planted(crashing_wins, among))
    found = evaluate(maker, tables(1), ["1"], trials=2, workers=1)
    (cell,) = found.cells
    assert cell.losses["crashes"] is None
    said = {name: loss for name, loss in cell.losses.items() if loss is not None}
    assert cell.chosen == {"crashes": 2}
    assert cell.loss > 1.5 * max(said.values())
    assert cell.regret > 1.5
    assert cell.failed == {"crashes": 2, "the maker itself": 2}
    assert found.failed[0].startswith("crashes failed in 2 of 2 runs, which count as worse than everything else: crash")
    assert any("ZeroDivisionError" in failure for failure in cell.failures)


def test_grids_are_taken_as_they_are() -> None:
    among = options("Identity", "Uniform")

    corpus = Corpus([grid(number) for number in range(4)])
    history = rehearse_all(
        [(each, GridSpec(records=500)) for each in corpus],
        Plan(options=among, epsilons=BUDGETS, repeats=2),
        History(),
        engine="threads",
    )
    maker = MkChoiceMaker(among=among, informed_by=[], trained_on=history)
    found = evaluate(maker, Corpus([grid(7), table(0)]), ["1/100", "1"], trials=2, workers=1)
    assert {cell.database for cell in found.cells} == {"g7"}, "a table is no grid"
    assert found.task == "grid"
    assert all(cell.regret > 0 for cell in found.cells)
    assert [math.isfinite(cell.loss) and cell.loss > 0 for cell in found.cells] == [True, True]
    instance = make_instance(corpus["g0"], GridSpec())
    assert instance.rows == 5000, "all its records"
    assert found.cells[0].loss > found.cells[1].loss, "a hundred times the budget helps"


def test_unreadable_files_are_problems_and_the_rest_is_evaluated(tmp_path: Path) -> None:
    for number in range(2):
        table(number).columns.to_pandas().to_csv(tmp_path / f"t{number}.csv.gz", index=False)
    (tmp_path / "empty.csv").write_text("x,label\n")
    (tmp_path / "nolabel.csv").write_text("x,y\n1,2\n")
    found = evaluate(maker_of(), read_folder(tmp_path), ["1"], trials=2, workers=1)
    assert {cell.database for cell in found.cells} == {"t0", "t1"}
    assert len(found.problems) == 2
