"""Choices as operations: who answers them, in what order, and what is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import together

import jostle
from jostle import Categorical, Schema, Table, Trace
from jostle.errors import ChoiceError, ProbeError
from jostle.privacy.events import Laplace, in_turn
from jostle.sites import (
    Always,
    Choice,
    Decision,
    Record,
    Taken,
    choices_noted,
    choose,
    choose_each,
    explore,
    follow,
    force,
    price,
    record,
    replay,
)
from jostle.trace.records import Chosen, Refused

SIZES = ("small", "large")
RULES = ("Max", "Gini", "random")


class ByThreshold:
    """Large from ten up."""

    def decide(self, choice: Choice) -> Decision:
        return Decision(choice.seen["n"] >= 10, "n >= 10")


def program(numbers: tuple[float, ...] = (3, 30, 8)) -> tuple[str, ...]:
    """Choose a size three times, then a rule for each of them in one message."""
    sizes = tuple(choose("Size", among=SIZES, informed_by={"n": n}, policy=ByThreshold()) for n in numbers)
    rules = choose_each("Rule", among=RULES, informed_by={"n": list(numbers), "c": 2})
    return (*sizes, *(RULES[place] for place in rules))


AS_IT_IS = ("small", "large", "small", "Max", "Max", "Max")


def test_without_a_handler_the_callers_policy_answers_and_else_the_first_alternative() -> None:
    assert program() == AS_IT_IS


def test_forced_labels_are_forced_everywhere_and_others_left_alone() -> None:
    with force({"Size": "large"}):
        assert program() == ("large", "large", "large", "Max", "Max", "Max")
    with force({"Size": "small", "Rule": "random"}):
        assert program() == ("small",) * 3 + ("random",) * 3
    assert program() == AS_IT_IS


def test_the_innermost_handler_that_has_an_answer_gives_it() -> None:
    with force({"Size": "large"}), force({"Size": "small"}):
        assert program()[:3] == ("small",) * 3
    with explore(seed=1), force({"Size": "large", "Rule": "Gini"}):
        assert program() == ("large",) * 3 + ("Gini",) * 3
    with follow({"Rule": Always("Gini")}), force({"Size": "large"}):
        assert program() == ("large",) * 3 + ("Gini",) * 3


def test_a_recording_holds_what_was_seen_and_taken_whoever_decided() -> None:
    with record() as outer, force({"Rule": "Gini"}), record() as inner:
        program()
    assert [line.site for line in inner.lines] == ["Size#1", "Size#2", "Size#3", "Rule#1"]
    assert [line.alternatives for line in inner.lines] == [("small",), ("large",), ("small",), ("Gini",) * 3]
    assert inner.lines[1].seen["n"].tolist() == [30]
    assert inner.lines[3].seen["c"].tolist() == [2, 2, 2]
    assert [line.alternatives for line in outer.lines] == [line.alternatives for line in inner.lines]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=5).map(tuple), st.integers(0, 2**40))
def test_what_was_recorded_can_be_replayed(numbers: tuple[float, ...], seed: int) -> None:
    with record() as kept, explore(seed):
        first = program(numbers)
    with replay(kept.lines), record() as again:
        assert program(numbers) == first
    assert [line.alternatives for line in again.lines] == [line.alternatives for line in kept.lines]


def recorded(run: Callable[[], object] = program) -> tuple[Taken, ...]:
    with record() as kept:
        run()
    return kept.lines


def ask(label: str, among: tuple[str, ...] = SIZES, **seen: Any) -> Callable[[], str]:
    return lambda: choose(label, among=among, informed_by=seen)


WRONG: list[tuple[Callable[[], object], Callable[[], object], str]] = [
    (ask("Size"), ask("Rule"), "the recording goes on with Size#1 among small, large, the program with Rule#1"),
    (ask("Size"), ask("Size", RULES), "among small, large, the program with Size#1 among Max, Gini, random"),
    (program, lambda: program((1, 2)), r"goes on with Size#3 .*, the program with Rule#1 .* at 2 places"),
    (ask("Size"), lambda: None, "the program has ended, and the recording goes on with Size#1"),
    (lambda: None, ask("Size"), "the recording has ended, and choice Size#1 comes next"),
]


@pytest.mark.parametrize(("recording", "run", "sentence"), WRONG)
def test_a_recording_of_something_else_is_refused_in_words(
    recording: Callable[[], object], run: Callable[[], object], sentence: str
) -> None:
    lines = recorded(recording)
    with pytest.raises(ChoiceError, match=sentence), replay(lines):
        run()


def test_a_forced_label_that_never_comes_is_a_mistake() -> None:
    with pytest.raises(ChoiceError, match="no choice Sise was met"), force({"Sise": "large"}):
        program()
    with force({"Sise": "large"}, must_occur=False):
        program()


def test_an_error_of_the_programs_own_is_not_hidden_by_what_a_handler_misses() -> None:
    with pytest.raises(ZeroDivisionError), force({"Size": "large"}), replay(recorded()):
        raise ZeroDivisionError
    assert program() == AS_IT_IS


def test_a_label_stands_for_one_choice() -> None:
    with record():
        ask("L")()
        with pytest.raises(ChoiceError, match="the label L stands for two different choices"):
            ask("L", RULES)()


def test_one_site_and_many_are_asked_alike() -> None:
    seen = [1.0, 9.5, 10.0, 40.0]
    one_by_one = [SIZES.index(choose("Size", among=SIZES, informed_by={"n": n}, policy=ByThreshold())) for n in seen]
    assert choose_each("Size", among=SIZES, informed_by={"n": seen}, policy=ByThreshold()).tolist() == one_by_one
    assert choose_each("Size", among=SIZES, informed_by={}, count=0).tolist() == []


def test_what_a_choice_sees_cannot_be_changed_through_it() -> None:
    numbers = np.array([1.0, 2.0])

    class Meddling:
        def decide(self, choice: Choice) -> Decision:
            choice.seen["n"][0] = 5
            return Decision([0, 0])

    with pytest.raises(ValueError, match="read-only"):
        choose_each("L", among=SIZES, informed_by={"n": numbers}, policy=Meddling())
    assert numbers.tolist() == [1, 2]


def explored(seed: int, **options: Any) -> tuple[Taken, ...]:
    kept: Record
    with record() as kept, explore(seed, **options):
        for _ in range(200):
            choose_each("Rule", among=RULES, informed_by={"n": [1, 2, 3, 4]})
    return kept.lines


def test_exploring_is_the_same_for_the_same_seed_and_finds_every_alternative() -> None:
    first, again, other = (np.array([line.taken for line in explored(seed)]) for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    # Whole messages take one alternative in half of the cases, and by chance (1/27) in some of the others.
    alike = (first == first[:, :1]).all(axis=1)
    assert 70 < alike.sum() < 135
    assert np.bincount(first.ravel(), minlength=3).min() > 180


def test_exploring_follows_the_policy_at_the_rate_it_is_told() -> None:
    policies = {"Rule": Always("Gini")}
    assert all(set(line.alternatives) == {"Gini"} for line in explored(3, rate=0, policies=policies))
    gini = [set(line.alternatives) == {"Gini"} for line in explored(3, rate="1/5", policies=policies)]
    assert 140 < sum(gini) < 190
    first = [set(line.alternatives) == {"Max"} for line in explored(3, rate="1/5")]  # what the program does by itself
    assert 140 < sum(first) < 190
    with pytest.raises(ChoiceError, match="between 0 and 1"):
        explore(1, rate=2)


def test_handlers_stay_in_their_own_thread() -> None:
    found: list[str] = []
    with force({"Size": "large"}, must_occur=False):
        together(lambda: found.append(choose("Size", among=SIZES)))
    assert found == ["small"]


def costly(extra: Fraction = Fraction(1, 4)) -> Any:
    """Spend 1/2, and more where it is chosen; the second choice is there on one branch only."""
    events = [Laplace("1/2")]
    if choose("More", among=("no", "yes")) == "yes":
        picks = choose_each("Where", among=("here", "there"), informed_by={}, count=2)
        events += [Laplace(extra if place else "1/8") for place in picks]
    return in_turn(events)


def test_a_program_costs_its_dearest_way() -> None:
    priced = price(costly)
    assert priced.epsilon == Fraction(1)
    assert priced.path == (("More#1", ("yes",)), ("Where#1", ("there", "there")))
    assert priced.runs == 1 + 4
    assert price(lambda: costly(Fraction(1, 16))).path[1] == ("Where#1", ("here", "here"))
    assert price(lambda: Fraction(1, 3)).runs == 1


@pytest.mark.slow
def test_too_many_ways_are_refused_in_words() -> None:
    with pytest.raises(ChoiceError, match="ways through choice Rule"):
        price(lambda: Fraction(sum(choose_each("Rule", among=RULES, informed_by={}, count=40))))

    def long() -> Fraction:
        return Fraction(sum(choose("Size", among=SIZES) == "large" for _ in range(20)))

    with pytest.raises(ChoiceError, match="more than 10,000 ways through the program"):
        price(long)


SCHEMA = Schema({"a": Categorical(["x", "y"])})


def test_choices_leave_records_in_the_trace_of_the_run_they_are_made_in() -> None:
    trace = Trace()
    db = jostle.rehearse(Table.from_frame(pa.table({"a": ["x"]}), SCHEMA), epsilon=1, trace=trace)
    with choices_noted(db.allot("1/2", site="Mine")):
        program()
    program()  # nobody's run: no record
    kept = [line for line in trace.records if isinstance(line, Chosen)]
    assert [line.site for line in kept] == ["Mine/Size#1", "Mine/Size#2", "Mine/Size#3", "Mine/Rule#1"]
    assert kept[1].seen == (("n", 30.0, 30.0),)
    assert kept[1].taken == (("large", 1),)
    assert kept[1].why == "n >= 10"
    assert kept[3].seen == (("n", 3.0, 30.0), ("c", 2.0, 2.0))
    assert kept[3].taken == (("Max", 3),)
    assert kept[3].places == 3
    assert db.spent == Fraction(1, 2)


def test_expected_losses_are_in_the_record_as_means_over_sites() -> None:
    choice = Choice("L", "L#1", SIZES, {}, 2)
    decision = Decision([0, 1], "least", [[1.0, 2.0], [3.0, 1.0]], [[0.5, 0.5], [0.1, 0.3]])
    assert decision.record(choice).predicted == (("small", 2.0, 0.3), ("large", 1.5, 0.4))


def test_a_probe_or_an_expression_over_rows_informs_no_choice() -> None:
    db = jostle.rehearse(Table.from_frame(pa.table({"a": ["x"]}), SCHEMA), epsilon=1)
    with pytest.raises(ChoiceError, match="informed by 'db', which is Probe, not a number"):
        choose("L", among=SIZES, informed_by={"db": db})
    assert db.spent == 0


class Louder(Chosen):
    """A record of somebody's own."""


@pytest.mark.parametrize("given", ["a text", 3, Louder.one("a", "a", "b"), Refused("a", "no")])
def test_only_records_of_choices_are_noted(given: Any) -> None:
    trace = Trace()
    db = jostle.rehearse(Table.from_frame(pa.table({"a": ["x"]}), SCHEMA), epsilon=1, trace=trace)
    with pytest.raises(ProbeError):
        db.note_choice(given)
    db.note_choice(Chosen.one("L#1", "L", "b"))
    assert trace.records[1:] == (Chosen.one("L#1", "L", "b"),)
    assert db.spent == 0
