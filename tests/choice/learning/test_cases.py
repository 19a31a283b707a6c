"""Cases: what rehearsals come to, by regret, by judges, and where looks are known already."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from small import (
    EPSILONS,
    METAFEATURES,
    ROWS,
    attributes,
    budget,
    by_rows,
    first_share,
    grid,
    jobs_of,
    options,
    planted,
    size,
    tables,
)

import jostle
from jostle.choice.learning.cases import budgets_of, cases_of
from jostle.choice.learning.history import (
    Beforehand,
    History,
    KnownDatabase,
    KnownInstance,
    Line,
    Runs,
    Sketch,
    apart,
    read_history,
)
from jostle.choice.learning.judging import judge_of, two_lists
from jostle.choice.learning.learners import TreeLearner
from jostle.choice.learning.regret import figures, honest_best, single_best, weights_of
from jostle.choice.learning.rehearse import Plan, rehearse_all, run_once
from jostle.choice.makers.making import MkChoiceMaker, Training
from jostle.choice.makers.training import Way, judge
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import ChoiceError
from jostle.options.base import Option
from jostle.options.classification.naive_bayes import Majority
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.schema import Schema
from jostle.tasks import CLASSIFICATION, RANGES, Judge, make_instance
from jostle.tasks.metafeature import key_of

AMONG = options()
NAMES = tuple(each.name for each in AMONG)
SKETCH = Sketch([("a", 3, False), ("label", 2, False)], "label")


@frozen(kw_only=True)
class Picky(Majority):
    """An Option that refuses tables with few attributes."""

    def refuses(self, schema: Schema) -> str | None:
        """Return why it does not run."""
        return "there are too few attributes" if len(schema.attributes) < 2 else None


def history_of(*lines: Line) -> History:
    given: list[Line] = []
    for name in ("one", "two"):
        given.append(KnownDatabase(name, name, "people", "classification"))
        given.append(KnownInstance(f"{name} v1", name, 30, SKETCH, {key_of(ROWS): (10.0, 20.0)}))
    return History([*given, *lines])


def runs(database: str, option: str, *losses: float | None, repeat: int = 0) -> Runs:
    return Runs(f"{database} v1", option, 1, repeat, EPSILONS, losses, [0.1] * 3)


def four(**extra: tuple[float | None, ...]) -> History:
    return history_of(
        runs("one", "Majority", 0.5, 0.4, 0.3),
        runs("one", "NaiveBayes", *extra.get("one", (0.6, 0.2, 0.1))),
        runs("two", "Majority", 0.5, 0.5, 0.5),
        runs("two", "NaiveBayes", *extra.get("two", (0.9, 0.8, 0.7))),
    )


def test_a_case_is_an_instance_and_a_budget() -> None:
    cases = cases_of(four(), AMONG)
    assert len(cases) == 6
    assert cases.options == ("Majority", "NaiveBayes")
    assert cases.losses[:, :, 0].tolist() == [[0.5, 0.6], [0.4, 0.2], [0.3, 0.1], [0.5, 0.9], [0.5, 0.8], [0.5, 0.7]]
    assert cases.budgets.tolist() == [0.1, 1, 10] * 2
    assert cases.databases.tolist() == ["one"] * 3 + ["two"] * 3
    assert set(cases.groups.tolist()) == {"people"}
    assert cases.floor == CLASSIFICATION.rehearsal.floor == 0.01
    assert RANGES.rehearsal.floor == 0


def test_what_failed_is_worse_than_everything_that_did_not() -> None:
    seldom = history_of(*(runs("two", option, *[0.3] * 3, repeat=repeat) for option in NAMES for repeat in range(20)))
    cases = cases_of(four(one=(None, 0.2, None)) | seldom, AMONG)
    assert cases.losses[:3, 1, 0].tolist() == [1.0, 0.2, 0.6], "twice the worst that did not fail"
    (failed,) = cases.failures
    assert (failed.option, failed.failed, failed.foreseen, failed.runs) == ("NaiveBayes", 2, 0, 63)
    assert not failed.is_unfit
    everything = four(one=(None, 0.2, None)) | history_of(runs("one", "Majority", None, 0.4, 0.3))
    assert len(cases_of(everything, AMONG)) == 3, "where nothing ran, nothing is learned"


def test_a_failure_does_not_tie_with_losses_that_count_as_nothing() -> None:
    """Losses below the floor count as the floor: a failure beside such a loss is worse all the same."""
    perfect = history_of(runs("one", "Majority", 0.0, 0.001, 0.0), runs("one", "NaiveBayes", None, None, None))
    cases = cases_of(perfect, AMONG)
    assert (cases.losses[:, 1] >= 2 * cases.floor).all()
    for among in (AMONG, AMONG[::-1]):
        cases = cases_of(perfect, among)
        best = single_best(cases.mean, np.ones(len(cases)), cases.floor)
        assert cases.options[best] == "Majority", "what always fails is never the single best"


def test_what_fails_in_more_than_a_few_rehearsals_counts_as_failed_in_all() -> None:
    cases = cases_of(four(two=(None, 0.1, 0.1)), AMONG)
    assert cases.failures[0].is_unfit
    assert cases.losses[:, 1, 0].tolist() == [1.2, 0.8, 0.6, 1.0, 1.0, 1.0]
    assert "failed in 1 of 6 rehearsals" in str(cases.failures[0])
    assert "is not chosen" in str(cases.failures[0])


def test_what_its_schema_refuses_does_not_make_an_option_unfit() -> None:
    """A maker passes it over where it refuses; elsewhere it may be the best."""
    given = history_of(
        runs("one", "Majority", 0.5, 0.4, 0.3),
        runs("one", "Picky", None, None, None),
        runs("two", "Majority", *[0.5] * 3),
    )
    cases = cases_of(given, (AMONG[0], Picky()))
    assert (cases.failures[0].failed, cases.failures[0].foreseen) == (3, 3)
    assert not cases.failures[0].is_unfit


def test_instances_without_all_options_are_left_out() -> None:
    some = history_of(runs("one", "Majority", 0.5, 0.4, 0.3), runs("one", "NaiveBayes", 0.6, 0.2, 0.1))
    some.add(runs("two", "Majority", 0.5, 0.5, 0.5))
    assert [instance.key for instance in cases_of(some, AMONG).instances] == ["one v1"]
    with pytest.raises(ChoiceError, match="nothing to learn from"):
        cases_of(some, options("Majority", "BayesTree"))
    with pytest.raises(ChoiceError, match="nothing to learn from"):
        cases_of(some, AMONG, epsilons=("1/1000",))


def test_repeats_that_a_case_does_not_have_are_no_numbers() -> None:
    more = four()
    more.add(runs("one", "Majority", 0.1, 0.1, 0.1, repeat=1), runs("one", "NaiveBayes", 0.1, 0.1, 0.1, repeat=1))
    cases = cases_of(more, AMONG)
    assert cases.losses.shape == (6, 2, 2)
    assert cases.losses[:3, :, 1].tolist() == [[0.1, 0.1]] * 3
    assert np.isnan(cases.losses[3:, :, 1]).all()
    np.testing.assert_allclose(cases.mean[0], [0.3, 0.35])
    np.testing.assert_allclose(cases.mean[3], [0.5, 0.9])


def test_cuts_of_one_database_are_repeats_of_one_case() -> None:
    """Instances that differ in their seed alone: each cut's mean is a repeat."""
    lines: list[Line] = [KnownDatabase("one", "one", "people", "classification")]
    for seed in range(3):
        key = f"one seed={seed} bins=16 v1"
        lines.append(KnownInstance(key, "one", 30, SKETCH, {key_of(ROWS): (10.0, 20.0)}))
        for option, loss in (("Majority", 0.5), ("NaiveBayes", 0.1)):
            for repeat in range(2):
                found = [loss + seed / 10 + repeat / 100] * 3
                lines.append(Runs(key, option, 1, repeat, EPSILONS, found, [0.1] * 3))
    cases = cases_of(History(lines), AMONG)
    assert len(cases.instances) == 1
    np.testing.assert_allclose(cases.losses[0], [[0.505, 0.605, 0.705], [0.105, 0.205, 0.305]])


def test_budgets_that_only_some_were_rehearsed_at_are_left_out() -> None:
    odd = four()
    odd.add(Runs("one v1", "Majority", 1, 0, ("100",), (0.1,), (0.1,)))
    assert cases_of(odd, AMONG).epsilons == EPSILONS
    assert cases_of(odd, AMONG, epsilons=("10", "1/10")).epsilons == ("10", "1/10")


def test_spending_moves_losses_along_the_logarithm_of_epsilon() -> None:
    cases = cases_of(four(), AMONG)
    np.testing.assert_allclose(cases.spent(Fraction(0)), cases.mean)
    # Nine tenths spent: the loss at a tenth of the budget, which was rehearsed.
    spent = cases.spent(Fraction(9, 10))
    np.testing.assert_allclose(spent[1:3], cases.losses[0:2, :, 0])
    half = cases.spent(Fraction(1, 2))
    weight = np.log10(2)
    wanted = np.exp(weight * np.log([0.5, 0.6]) + (1 - weight) * np.log([0.4, 0.2]))
    np.testing.assert_allclose(half[1], wanted)
    below = np.exp(np.log([0.5, 0.6]) + weight * (np.log([0.5, 0.6]) - np.log([0.4, 0.2])))
    np.testing.assert_allclose(half[0], below), "below the least budget it goes on as between the least two"


def test_what_is_seen_has_its_noise_and_the_same_one_each_time() -> None:
    cases = cases_of(planted(by_rows, AMONG, count=4), AMONG)
    share = Fraction(1, 20)
    seen = cases.inputs(METAFEATURES, share, draws=3)
    assert seen.shape == (3, 12, 4)
    np.testing.assert_array_equal(seen, cases.inputs(METAFEATURES, share, draws=3))
    assert not np.array_equal(seen[0, :, 2], seen[1, :, 2]), "each draw has its own noise"
    np.testing.assert_array_equal(seen[0, :, :2], seen[1, :, :2])
    exact = cases.inputs(METAFEATURES, share, draws=1, exact=True)[0]
    np.testing.assert_allclose(10 ** exact[::3, 2], [instance.rows for instance in cases.instances])
    spread = np.abs(seen[:, :, 2] - exact[:, 2]).mean(axis=0).reshape(4, 3)
    assert (spread[:, 0] > spread[:, 2]).all(), "noise is for the budget: at epsilon 1/10 there is more of it"
    free = cases.inputs([budget], Fraction(0), draws=1)[0]
    np.testing.assert_allclose(free[:, 0], np.log10(cases.budgets))


# Regret and hindsight, worked out by hand.


def test_hindsight_is_measured_where_it_was_not_chosen() -> None:
    """Two coins with means that are equal: the best of each trial is 0, but nobody could have known which."""
    losses = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]])
    # Without the first trial the means are (.5, .5): the first Option, 0. Without the second they are (0, 1): the first
    # Option, 1. Without the third: (.5, .5), the first Option, 0.
    assert honest_best(losses).tolist() == [pytest.approx(1 / 3)]
    assert losses.min(axis=1).mean() == 0, "dishonest hindsight would be perfect"
    clear = np.array([[[0.1, 0.2], [0.5, 0.6]]])
    assert honest_best(clear).tolist() == [pytest.approx(0.15)]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 5), st.integers(0, 10**6))
def test_hindsight_is_what_the_slow_way_finds(cells: int, options: int, repeats: int, seed: int) -> None:
    losses = np.random.default_rng(seed).random((cells, options, repeats))
    slow = []
    for cell in losses:
        total = 0.0
        for left_out in range(repeats):
            others = [np.mean([x for place, x in enumerate(option) if place != left_out]) for option in cell]
            total += cell[int(np.argmin(others))][left_out]
        slow.append(total / repeats)
    np.testing.assert_allclose(honest_best(losses), slow)


def test_hindsight_needs_two_trials() -> None:
    with pytest.raises(ChoiceError, match="two repeats"):
        honest_best(np.zeros((1, 2, 1)))


def test_figures_by_hand() -> None:
    chosen = np.array([0.2, 0.3, 0.001, 0.5])
    single = np.array([0.4, 0.3, 0.0, 0.4])
    hindsight = np.array([0.2, 0.2, 0.0, 0.4])
    found = figures(chosen, single, hindsight, floor=0.01)
    # The third cell: both sides are at the floor, so there is no regret.
    assert found.cells == 4
    assert found.regret_mean == pytest.approx((1 + 1.5 + 1 + 1.25) / 4)
    assert found.regret_max == pytest.approx(1.5)
    assert found.regret_p95 == pytest.approx(np.quantile([1, 1.5, 1, 1.25], 0.95))
    assert found.worse_share == 0.25, "the last cell alone is more than 2% worse than the single best"
    assert found.gap_closed == pytest.approx((0.275 - 0.25025) / (0.275 - 0.2))
    assert (found.loss_mean, found.single_mean, found.hindsight_mean) == pytest.approx((0.25025, 0.275, 0.2))


def test_weights_count_and_losses_without_a_floor_are_in_units_of_hindsight() -> None:
    chosen, single, hindsight = np.array([2.0, 1e-6]), np.array([4.0, 3e-6]), np.array([2.0, 1e-6])
    found = figures(chosen, single, hindsight, floor=0.0, weights=np.array([3.0, 1.0]))
    assert found.gap_closed == pytest.approx(1.0)
    half = figures(np.array([3.0, 2e-6]), single, hindsight, floor=0.0, weights=np.array([3.0, 1.0]))
    # In units of hindsight the first cell is 1.5 of 2 and the second 2 of 3; weighted, 1.625 chosen, 2.25 single.
    assert half.gap_closed == pytest.approx((2.25 - 1.625) / 1.25)
    assert half.regret_mean == pytest.approx(1.625)


def test_no_gap_is_no_number_and_no_cells_are_refused() -> None:
    same = np.array([0.5])
    assert math.isnan(figures(same, same, same, floor=0.01).gap_closed)
    with pytest.raises(ChoiceError, match="no cells"):
        figures(np.empty(0), np.empty(0), np.empty(0), floor=0.01)


def test_every_group_has_the_same_say() -> None:
    weights = weights_of(np.array(["a", "a", "a", "b"]))
    assert weights[:3].sum() == pytest.approx(weights[3])
    assert weights.mean() == pytest.approx(1)


# Judges that a programmer writes: functions of the answers and the truth.


def wrong(predicted: Sequence[str], truth: Sequence[str]) -> float:
    return sum(one != other for one, other in zip(predicted, truth, strict=True)) / len(truth)


def worst(answers: Sequence[float], truth: Sequence[float]) -> float:
    return max(abs(one - other) for one, other in zip(answers, truth, strict=True))


def test_on_a_table_it_is_given_classes() -> None:
    instance = make_instance(tables(1)["t0"], TableSpec())
    model = jostle.options.get("NaiveBayes")(jostle.rehearse(instance.table, epsilon=1, seed=1), epsilon=1)
    predicted, truth = two_lists(instance, model)
    assert {*predicted, *truth} <= {*instance.schema.classes}
    judge = judge_of(wrong)
    assert judge is not None
    assert judge.loss(instance, model) == pytest.approx(instance.loss(model))
    assert pickle.loads(pickle.dumps(judge)).loss(instance, model) == judge.loss(instance, model)


def test_on_a_grid_it_is_given_answers_to_the_queries() -> None:
    instance: Any = make_instance(grid(0), GridSpec(records=500))
    estimate = jostle.options.get("Identity")(
        jostle.rehearse(instance.table, epsilon=1, seed=1), *instance.questions, epsilon=1
    )
    judge = judge_of(worst)
    assert judge is not None
    found = np.abs(estimate.answers(instance.questions[0]) - instance.truth).max()
    assert judge.loss(instance, estimate) == pytest.approx(found)


def test_a_judge_is_known_by_its_text() -> None:
    one, other = judge_of(wrong), judge_of(worst)
    assert one is not None
    assert other is not None
    assert one.name.startswith("wrong-")
    assert other.name.startswith("worst-")
    assert judge_of(one) is one
    assert judge_of(None) is None


def test_a_maker_learns_by_it(tmp_path: Path) -> None:
    maker = jostle.MkChoiceMaker(among=["Majority", "NaiveBayes"], trained_on=tables(4), judged_by=wrong)
    assert isinstance(maker.trainer, Training)
    assert isinstance(maker.trainer.judged_by, Judge)


def test_a_judge_that_fails_says_so() -> None:
    def failing(_: Any, __: Any) -> float:
        return float("no number")

    instance = make_instance(tables(1)["t0"], TableSpec())
    majority = jostle.options.get("Majority")
    judge = judge_of(failing)
    with pytest.raises(ChoiceError, match="failing fails: ValueError: could not convert"):
        run_once(majority, instance, "1", 1, judge)


# Options that know what was bought before them are rehearsed so, kept apart, and learned from where makers look.


TENTH = Fraction(1, 10)
LOOK = Beforehand(size.name, size.version, TENTH)
JOBS = jobs_of(tables(2))


def listening() -> tuple[list[tuple[Fraction, bool]], Option]:
    """An Option that notes its budget, and whether class counts are known to it."""
    heard: list[tuple[Fraction, bool]] = []

    def listens(db: Probe, *, epsilon: Fraction) -> Any:
        heard.append((epsilon, db.known(Counts.of(db.schema.label or "")) != (None,)))
        return get("Majority")(db, epsilon=epsilon)

    return heard, function_option(listens, task="classification", predict=None)


def test_an_option_that_knows_has_the_rest_of_the_budget_and_an_instance_of_its_own(tmp_path: Any) -> None:
    heard, option = listening()
    history = History.open(tmp_path / "h.jsonl")
    plain = Plan(options=[option], epsilons=("1",), repeats=1)
    for plan in (plain, evolve(plain, look=(size, TENTH))):
        rehearse_all(JOBS[:1], plan, history, engine="threads")
    assert heard == [(1, False), (Fraction(9, 10), True)]
    assert [apart(key)[1] for key in history.instances] == [None, LOOK]
    assert len({apart(key)[0] for key in history.instances}) == 1
    rehearse_all(JOBS[:1], evolve(plain, look=(size, TENTH)), history, engine="threads")
    assert len(heard) == 2, "nothing is run twice"
    rehearse_all(JOBS[:1], evolve(plain, look=(size, TENTH / 2)), history, engine="threads")
    assert heard[2:] == [(Fraction(19, 20), True)], "another share is another instance"
    again = read_history(tmp_path / "h.jsonl")
    assert list(again.instances) == list(history.instances)


def known_too(factor: Sequence[float], share: Fraction = TENTH) -> History:
    """Planted losses; knowing the look, each Option's are its losses times a factor."""

    def losses(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.4, 0.2) if facts["rows"] > 3000 else (0.2, 0.4)

    history = planted(losses, options(), noise=0)
    look = Beforehand(size.name, size.version, share)
    lines: list[Any] = list(history.lines())
    for line in list(lines):
        if isinstance(line, KnownInstance):
            lines.append(evolve(line, key=look.key(line.key), read={}))
        if isinstance(line, Runs):
            times = factor[[each.name for each in options()].index(line.option)]
            found = [None if loss is None else loss * times for loss in line.losses]
            lines.append(evolve(line, instance=look.key(line.instance), losses=found))
    return History(lines)


def test_what_a_look_costs_is_read_off_rehearsals_that_knew_it() -> None:
    history = known_too((0.5, 3.0))
    cases = cases_of(history, options())
    alone = cases.spent(Fraction(0))
    assert len(cases) == 24 * len(EPSILONS), "instances that were looked at before are no cases of their own"
    assert cases.spent(TENTH, [budget, size, first_share]) == pytest.approx(alone * [0.5, 3.0], rel=1e-4)
    for looked_at, share in (([budget, attributes], TENTH), ([size], TENTH / 2), ([first_share], TENTH)):
        assert cases.spent(share, looked_at) == pytest.approx(alone), "another look, or share, is as if thrown away"
    some = cases.only(lambda instance: instance.rows > 3000)
    assert 0 < len(some) < len(cases)
    assert some.spent(TENTH, [size]) == pytest.approx(some.spent(Fraction(0)) * [0.5, 3.0], rel=1e-4)


def test_budgets_are_those_that_options_had_without_knowing_anything() -> None:
    history = known_too((1.0, 1.0))
    more = [
        evolve(line, epsilons=("7",), losses=[0.1], seconds=[0.0])
        for line in history.lines()
        if isinstance(line, Runs) and apart(line.instance)[1]
    ]
    history.add(*more)
    assert budgets_of(history, options()) == EPSILONS


@pytest.mark.parametrize(("factor", "helps"), [(1.0, True), (2.5, False)])
def test_makers_look_where_options_use_it_and_not_where_it_costs_too_much(factor: float, helps: bool) -> None:
    """Rows decide which Option is best. Knowing them costs nothing, or more than choosing right gains."""
    cases = cases_of(known_too((factor, factor)), options())
    way = Way([size], TENTH, TreeLearner())
    gap = judge(cases, way, draws=1).figures(cases).gap_closed
    assert (gap > 0.8) is helps


def test_training_rehearses_options_that_know_what_may_be_bought() -> None:
    history = History()
    training = Training(
        corpus=tables(3), history=history, looks=(TENTH,), epsilons=("1",), repeats=1, engine="threads",
        jobs=jobs_of,
    )  # fmt: skip
    maker = MkChoiceMaker(among=["Majority", "NaiveBayes"], informed_by=METAFEATURES, trained_on=tables(3))

    found = training.rehearsed(maker)
    assert {apart(key)[1] for key in found.instances} == {None, LOOK}, "the two that buy the same are one look"
    assert len(found) == 3 * 2 * 2
    assert list(training.facts(maker)) != list(evolve(training, looks=()).facts(maker))
