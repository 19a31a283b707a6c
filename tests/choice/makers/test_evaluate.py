"""A maker is judged by what it did not learn from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from small import METAFEATURES, grid, known_by_rows, options, planted, table, tables

from jostle.api import pretrained
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History
from jostle.choice.learning.regret import figures, honest_best
from jostle.choice.learning.rehearse import Plan, rehearse_all, run_once, seed_of
from jostle.choice.makers.evaluate import MAKER, evaluate
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import MkChoiceMaker, Training
from jostle.choice.policies.learn import Labelled
from jostle.choice.trainer import LearnedMaker, train_maker, train_policies
from jostle.corpora.corpus import Corpus, check_set_aside
from jostle.corpora.databases import PublicTable
from jostle.corpora.folders import read_folder
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import CorpusError, JostleError
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.probe import Probe
from jostle.sites import choose
from jostle.tasks import CLASSIFICATION, make_instance
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


# Databases set aside: what was learned is judged by them, and nothing is learned from them or from their people.


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path / "home"))


def folder(place: Path, *given: PublicTable, groups: str = "") -> Path:
    """Write tables to a folder."""
    place.mkdir()
    for each in given:
        each.columns.to_pandas().to_csv(place / f"{each.name}.csv.gz", index=False)
    if groups:
        (place / "groups.toml").write_text(groups)
    return place


def trained(judge: Path | None, corpus: Corpus | None = None) -> LearnedMaker:
    training = Training(corpus=corpus or tables(4), epsilons=("1/10", "10"), repeats=2)
    maker = ChoiceMaker(among=AMONG, informed_by=METAFEATURES[:1], trainer=training, label="mine")
    return train_maker(maker, engine="threads", judge=judge)


def test_what_was_learned_is_judged_by_them_and_shown_beside_what_it_learned_from(tmp_path: Path) -> None:
    aside = folder(tmp_path / "aside", *(table(seed) for seed in (20, 21, 22)))
    learned, alone = trained(aside), trained(None)
    assert learned.trained.to_json() == alone.trained.to_json(), "nothing was learned from them"
    assert learned.judged is not None
    assert {cell.database for cell in learned.judged.cells} == {"t20", "t21", "t22"}
    assert {str(cell.epsilon) for cell in learned.judged.cells} == {"1/10", "10"}
    cells = learned.judged.cells
    mean = sum(cell.loss for cell in cells) / len(cells)
    lines = learned.as_text().splitlines()
    (own,) = (line.split() for line in lines if line.startswith("learned from, each left out in turn"))
    (said,) = (line.split() for line in lines if line.startswith(f"set aside in {aside}"))
    assert own[7:9] == ["4", f"{learned.trained.figures.loss_mean:.4g}"]
    assert said[4:6] == ["3", f"{mean:.4g}"]
    assert f"(90%: {learned.judged.figures.regret_low:.2f} to {learned.judged.figures.regret_high:.2f})" in " ".join(
        said
    )
    assert any(line.startswith("on the databases set aside: ") for line in lines)
    held = json.loads(json.dumps(learned.as_data()))
    assert held["judged"]["loss_mean"] == pytest.approx(mean)
    assert alone.as_data()["judged"] is None


@pytest.mark.parametrize(
    ("name", "same", "groups", "said"),
    [
        ("t1", True, "", "t1, to be judged by, has the same rows as t1, which is learned from"),
        ("other", True, "", "other, to be judged by, has the same rows as t1, which is learned from"),
        (
            "t2",
            False,
            "",
            "t2, to be judged by, is of the group t2, and so is t2, which is learned from",
        ),
        ("u", False, 't3 = ["u"]', "u, to be judged by, is of the group t3, and so is t3"),
    ],
)
def test_what_is_learned_from_is_not_judged_by(tmp_path: Path, name: str, same: bool, groups: str, said: str) -> None:
    shared = evolve(table(1 if same else 30), name=name)
    aside = folder(tmp_path / "aside", table(20), shared, groups=groups)
    with pytest.raises(CorpusError) as refused:
        trained(aside)
    assert refused.value.title.startswith(said)
    assert not (tmp_path / "home" / "histories").exists(), "it is refused before anything is rehearsed"


def test_nobody_is_on_both_sides_under_another_name() -> None:
    numbers = np.random.default_rng(0).normal(size=(500, 2))
    whole = pd.DataFrame({"x": numbers[:, 0], "y": numbers[:, 1], "label": ["a", "b"] * 250})
    one, other = (PublicTable.of(name, rows) for name, rows in (("one", whole[:400]), ("other", whole[100:])))
    with pytest.raises(CorpusError, match="other, to be judged by, shares rows with one, which is learned from"):
        check_set_aside(Corpus([other]), [one])
    check_set_aside(Corpus([PublicTable.of("apart", whole[400:])]), [one])


def test_a_folder_without_databases_of_the_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JostleError, match="has no database of the task 'classification' to judge by"):
        trained(folder(tmp_path / "aside"))


def test_what_labels_are_worth_is_measured_on_them(tmp_path: Path) -> None:
    aside = folder(tmp_path / "aside", table(20), table(21))
    entry = Labelled("Stump", "mark", "p.py", CLASSIFICATION, _chooses)
    learned = train_policies(entry, corpus=tables(3), epsilons=["1"], engine="threads", runs=12, judge=aside)
    assert learned.judged is not None
    assert (learned.tried_on, learned.judged.tried_on) == ("the same", "2 databases")
    assert "on databases set aside, of which nothing was learned:" in learned.as_text()
    with pytest.raises(CorpusError, match="t20, to be judged by, has the same rows"):
        train_policies(entry, corpus=Corpus([table(20)]), epsilons=["1"], engine="threads", judge=aside)


def _chooses(db: object, epsilon: float, *_: object) -> object:
    taken = choose("How", among=("Majority", "NaiveBayes"), informed_by={"epsilon": float(epsilon)})
    return get(taken)(db, epsilon=epsilon)


def test_how_sure_a_mean_is_goes_by_groups() -> None:
    """Twenty cells of one database tell no more than one; cells of twenty databases do."""
    chosen = np.tile([0.2, 0.4], 20)
    even = np.full(40, 0.2)
    many = figures(chosen, even, even, floor=0.01, groups=np.arange(40).astype(str))
    few = figures(chosen, even, even, floor=0.01, groups=np.repeat(np.arange(10), 4).astype(str))
    two = figures(chosen, even, even, floor=0.01, groups=np.tile(["a", "b"], 20))
    assert many.regret_mean == few.regret_mean == two.regret_mean == pytest.approx(1.5)
    assert many.regret_low == pytest.approx(1.5 - 1.645 * 0.5 / np.sqrt(40), abs=0.03)
    assert few.regret_high - few.regret_low == pytest.approx(0), "each group has the same cells"
    assert (two.regret_low, two.regret_high) == pytest.approx((1.0, 2.0))
    assert two.beside_low == pytest.approx(0.0)
