"""Options that know what was bought before them are rehearsed so, kept apart, and learned from where makers look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve
from small import EPSILONS, METAFEATURES, attributes, budget, first_share, jobs_of, options, planted, size, tables

from jostle.choice.learning.cases import budgets_of, cases_of
from jostle.choice.learning.history import Beforehand, History, KnownInstance, Runs, apart, read_history
from jostle.choice.learning.learners import TreeLearner
from jostle.choice.learning.rehearse import Plan, rehearse_all
from jostle.choice.makers.making import MkChoiceMaker, Training
from jostle.choice.makers.training import Way, judge
from jostle.options.base import Option
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts

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
