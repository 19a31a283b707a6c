"""Ledgers: what events cost, and what is left of a promise whoever spends of it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import product
from types import FrameType
from typing import Any

import pytest
from attrs import define, field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import LIMIT, together

from jostle.errors import BudgetError, EventError, JostleError, TableError
from jostle.privacy import ledger as ledgers
from jostle.privacy.amounts import RECORDED_BITS
from jostle.privacy.events import Allotment, Disjoint, Event, InTurn, Laplace, PermuteAndFlip, Repeated, dearest, price
from jostle.privacy.ledger import Ledger
from jostle.tables.schema import Neighbours

RELATIONS = st.sampled_from(["add_remove", "replace_one"])
AMOUNTS = st.fractions(min_value=Fraction(1, 30), max_value=1, max_denominator=30)
STEPS = st.lists(
    st.tuples(st.sampled_from(["charge", "charge", "allot", "split"]), st.integers(0, 99), AMOUNTS, st.integers(1, 4)),
    max_size=40,
)


@define
class Slow:
    """What a ledger should do, worked out from all that happened, anew each time."""

    root: Slow | None
    promise: Fraction | None
    items: list[Fraction | list[Slow]] = field(factory=list)

    def cost(self, touched: int) -> Fraction:
        """Return what all of it costs where a row is in so many parts."""
        total = Fraction(0)
        for item in self.items:
            if isinstance(item, Fraction):
                total += item
            else:
                total += sum(sorted((part.cost(touched) for part in item), reverse=True)[:touched])
        return total

    def charge(self, amount: Fraction, touched: int) -> bool:
        """Return whether the amount is to be had, and take it if so."""
        top = self.root or self
        self.items.append(amount)
        if top.promise is not None and top.cost(touched) > top.promise:
            self.items.pop()
            return False
        return True


@settings(max_examples=100)
@given(RELATIONS, st.none() | st.fractions(min_value=Fraction(1, 10), max_value=4, max_denominator=30), STEPS)
def test_any_tree_of_charges_allotments_and_parts_agrees_with_the_slow_way(
    neighbours: Neighbours, promise: Fraction | None, steps: list[tuple[str, int, Fraction, int]]
) -> None:
    touched = 1 if neighbours == "add_remove" else 2
    pairs = [(Ledger(promise, neighbours), Slow(None, promise))]
    for step, index, amount, count in steps:
        ledger, slow = pairs[index % len(pairs)]
        if step == "split":
            group = [Slow(slow.root or slow, None) for _ in range(count)]
            slow.items.append(group)
            pairs += zip(ledger.split(count), group, strict=True)
        elif slow.charge(amount, touched):
            if step == "charge":
                assert ledger.charge(Laplace(amount), "here") == amount
            else:
                pairs.append((ledger.allot(amount, "aside"), Slow(None, amount)))
        else:
            with pytest.raises(BudgetError):
                ledger.charge(Laplace(amount), "here") if step == "charge" else ledger.allot(amount, "aside")
        for each, other in pairs:
            assert each.spent == other.cost(touched) == price(each.event, neighbours)
            assert each.promise is None or each.spent <= each.promise
            assert each.left == (None if each.promise is None else each.promise - each.spent)
        top, all_of_it = pairs[0]
        assert len(top.charges) == leaves(all_of_it)


@settings(max_examples=80)
@given(
    RELATIONS, st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["reserve", "settle", "charge", "part"]), AMOUNTS))
)
def test_a_reservation_costs_what_was_spent_of_it_and_holds_the_rest_back_until_it_settles(
    neighbours: Neighbours, steps: list[tuple[int, str, Fraction]]
) -> None:
    promise = Fraction(2)
    top = Ledger(promise, neighbours)
    open_ones: list[tuple[Ledger, Fraction]] = []
    settled: list[Ledger] = []
    own = Fraction(0)
    for index, step, amount in steps:
        held = sum((most - each.spent for each, most in open_ones), Fraction(0))
        left = promise - own - sum((each.spent for each, _ in open_ones), Fraction(0)) - held
        left -= sum((each.spent for each in settled), Fraction(0))
        assert top.left == left
        assert top.spent == promise - left - held == price(top.event, neighbours)
        if step == "reserve":
            if amount <= left:
                open_ones.append((top.reserve(amount, "aside"), amount))
            else:
                with pytest.raises(BudgetError):
                    top.reserve(amount, "aside")
        elif step == "charge":
            if amount <= left:
                own += top.charge(Laplace(amount), "here")
            else:
                with pytest.raises(BudgetError):
                    top.charge(Laplace(amount), "here")
        elif open_ones and step == "settle":
            inner, _ = open_ones.pop(index % len(open_ones))
            assert inner.settle() is top
            assert inner.left == 0
            settled.append(inner)
            with pytest.raises(BudgetError, match="settled once"):
                inner.settle()
            with pytest.raises(BudgetError, match="what was reserved is settled"):
                inner.charge(Laplace("1/1000"), "late")
        elif open_ones:
            inner, most = open_ones[index % len(open_ones)]
            spender = inner.split(2)[0] if index % 2 else inner
            if inner.spent + amount <= most:
                spender.charge(Laplace(amount), "inside")
            else:
                with pytest.raises(BudgetError):
                    spender.charge(Laplace(amount), "inside")
    with pytest.raises(BudgetError, match="nothing is reserved"):
        top.settle()


def test_a_reservation_whose_vault_runs_out_is_refused_and_holds_no_more_than_it_did() -> None:
    class Empty:
        def pay(self, amount: Fraction, site: str) -> None:
            raise BudgetError(f"{site} asks for {amount}, but 0 is left")

    top = Ledger(Fraction(2), "add_remove", payer=Empty().pay)
    inner = top.reserve(Fraction(1), "aside")
    with pytest.raises(BudgetError, match="0 is left"):
        inner.charge(Laplace(1), "inside")

    assert [top.left, top.spent, inner.spent, inner.left] == [1, 0, 0, 1]
    inner.settle()
    assert top.left == 2


def test_a_reservation_that_many_settle_at_once_lets_its_rest_be_spent_once() -> None:
    started = threading.Event()

    class Vault:
        def pay(self, amount: Fraction, site: str) -> None:
            started.set()
            time.sleep(0.05)

    top = Ledger(Fraction(1), "add_remove", payer=Vault().pay)
    inner = top.reserve(Fraction(1, 2), "aside")
    refused = []

    def settle() -> None:
        try:
            inner.settle()
        except BudgetError as refusal:
            refused.append(refusal)

    with ThreadPoolExecutor(4) as pool:
        pool.submit(top.charge, Laplace("1/100"), "slow")
        assert started.wait(LIMIT)  # all who settle now wait until the vault has answered
        for _ in range(3):
            pool.submit(settle)

    assert len(refused) == 2
    assert top.left == 1 - Fraction(1, 100)


@pytest.mark.parametrize("action", ["charge", "inside", "part", "settle", "reserve"])
def test_who_is_interrupted_anywhere_spends_no_more_than_was_promised(action: str) -> None:
    for line in range(200):
        top = Ledger(Fraction(2), "replace_one")
        inner = top.reserve(Fraction(1), "aside")
        parts = inner.split(3)
        spenders = (inner, *parts, top)
        released = [*_charged(parts[0], 1), *_charged(top, 1)]
        actions: dict[str, Callable[[], object]] = {
            "charge": partial(top.charge, Laplace("1/10"), "here"),
            "inside": partial(inner.charge, Laplace("1/10"), "here"),
            "part": partial(parts[1].charge, Laplace("1/10"), "here"),
            "settle": inner.settle,
            "reserve": partial(top.reserve, Fraction(1, 10), "here"),
        }
        interrupted = _interrupted_at(line, actions[action])
        if not interrupted and action in {"charge", "inside", "part"}:
            released.append(Fraction(1, 10))
        for _ in range(2):
            released += [amount for spender in spenders for amount in _charged(spender, 30)]
            with suppress(BudgetError):
                inner.settle()
        # Each part was charged for by itself here, which is no less than what they cost together.
        assert sum(released) <= 2 + min(each.spent for each in parts)
        if not interrupted:
            break
    else:
        pytest.fail("it takes more steps than were tried")


def _charged(ledger: Ledger, times: int) -> list[Fraction]:
    """What a ledger charges, up to so many times."""
    for done in range(times):
        try:
            ledger.charge(Laplace("1/10"), "here")
        except BudgetError:
            return [Fraction(1, 10)] * done
    return [Fraction(1, 10)] * times


def _interrupted_at(line: int, action: Callable[[], object]) -> bool:
    """Do something; whether it was interrupted before so many lines of the ledger were run."""
    left = [line]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != ledgers.__file__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def leaves(slow: Slow) -> int:
    """Return how many charges there were."""
    return sum(1 if isinstance(item, Fraction) else sum(map(leaves, item)) for item in slow.items)


def test_a_promise_is_kept_exactly_where_floats_would_miss_it() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    for _ in range(10):
        ledger.charge(Laplace("0.1"), "tenth")

    assert ledger.left == 0
    with pytest.raises(BudgetError, match="0 is left"):
        ledger.charge(Laplace("1e-30"), "a little more")


def test_parts_cost_the_dearest_and_under_replace_one_the_two_dearest() -> None:
    for neighbours, cost in (("add_remove", "0.5"), ("replace_one", "0.8")):
        ledger = Ledger(Fraction(1), neighbours)  # type: ignore[arg-type]
        for part, amount in zip(ledger.split(3), ("0.5", "0.2", "0.3"), strict=True):
            part.charge(Laplace(amount), "part")
        assert ledger.spent == Fraction(cost)


def test_parts_of_parts_are_paid_for_by_the_whole() -> None:
    """A row that moves between parts of one part is in two of them; one that moves between parts, in two parts."""
    ledger = Ledger(Fraction(1), "replace_one")
    outer = ledger.split(2)
    for inner in outer[0].split(3):
        inner.charge(Laplace("0.2"), "inner")
    outer[1].charge(Laplace("0.3"), "outer")

    assert ledger.spent == Fraction("0.7")
    with pytest.raises(BudgetError):
        outer[1].charge(Laplace("0.4"), "too much")
    assert ledger.spent == Fraction("0.7")
    assert outer[1].spent == Fraction("0.3")


def test_a_part_that_is_cheaper_than_the_dearest_costs_nothing_more() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    first, second = ledger.split(2)
    first.charge(Laplace(1), "all")
    second.charge(Laplace(1), "all as well")

    with pytest.raises(BudgetError):
        second.charge(Laplace("0.01"), "beyond")
    with pytest.raises(BudgetError):
        ledger.charge(Laplace("0.01"), "whole")
    assert ledger.spent == 1


def test_an_allotment_is_spent_at_once_and_cannot_be_exceeded() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    allotted = ledger.allot(Fraction("0.6"), "aside")

    assert ledger.spent == allotted.left == Fraction("0.6")
    assert allotted.spent == 0
    inner = allotted.allot(Fraction("0.6"), "all of that")
    inner.charge(PermuteAndFlip("0.6"), "pick")
    with pytest.raises(BudgetError):
        allotted.charge(Laplace("0.1"), "nothing is left")
    with pytest.raises(BudgetError):
        ledger.allot(Fraction("0.5"), "more than is left")
    assert ledger.spent == Fraction("0.6")


def test_a_refused_charge_leaves_no_trace_anywhere() -> None:
    class Full:
        """A payer that has nothing left."""

        def pay(self, amount: Fraction, site: str) -> None:
            raise BudgetError(f"{site} asks for {amount}")

    ledger = Ledger(Fraction(1), "add_remove", payer=Full().pay)
    parts = ledger.split(2)
    for each in (ledger, *parts):
        with pytest.raises(BudgetError):
            each.charge(Laplace("0.1"), "here")
        assert each.spent == 0
        assert not each.charges


def test_an_unknown_event_is_refused_before_anything_is_paid() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    with pytest.raises(EventError):
        ledger.charge(InTurn([Laplace("0.1"), object()]), "here")
    assert ledger.spent == 0


def test_a_ledger_that_keeps_few_charges_counts_all_of_them() -> None:
    ledger = Ledger(Fraction(2), "add_remove", lines=3)
    first = ledger.enter(Laplace("1/10"), "first")
    for place in range(5):
        ledger.charge(Laplace("1/10"), f"count {place}")
    assert [each.site for each in ledger.charges] == ["count 2", "count 3", "count 4"]
    assert ledger.spent == Fraction(6, 10)
    last = ledger.enter(Laplace("1/10"), "last")
    assert ledger.extend(last, Laplace("1/2"), "finer").epsilon == Fraction(1, 2)
    assert ledger.charges[-1].epsilon == Fraction(1, 2)
    with pytest.raises(BudgetError, match="long ago"):
        ledger.extend(first, Laplace("1/2"), "finer")
    part = ledger.split(2)[0]
    for place in range(5):
        part.charge(Laplace("1/100"), f"in a part {place}")
    assert len(part.charges) == 3
    assert ledger.spent == Fraction(11, 10) + Fraction(5, 100)


def test_nothing_is_given_back() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    ledger.charge(Laplace(1), "all")
    forged = Laplace(1)
    object.__setattr__(forged, "epsilon", Fraction(-1))

    with pytest.raises(BudgetError):
        ledger.pay(Fraction(-1), "back")
    with pytest.raises(BudgetError):
        ledger.charge(forged, "back")
    assert ledger.spent == 1


def test_totals_stay_short_enough_to_be_written_down() -> None:
    """A vault keeps totals as text, and Python turns no more than 4,300 digits into text."""
    ledger, true = Ledger(None, "add_remove"), Fraction(0)
    for odd in range(3, 6001, 2):
        true += ledger.charge(Laplace(Fraction(1, odd)), "odd")

    assert true.denominator.bit_length() > RECORDED_BITS
    assert 0 < ledger.spent.denominator.bit_length() <= RECORDED_BITS
    assert 0 <= ledger.spent - true < Fraction(3000, 2**60)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_many_threads_never_pass_the_promise(neighbours: Neighbours) -> None:
    ledger = Ledger(Fraction(1), neighbours)
    parts = ledger.split(4)
    granted = [0] * 32

    def spend(index: int) -> None:
        for _ in range(50):
            try:
                parts[index % 4].charge(Laplace(Fraction(1, 100)), f"thread {index}")
            except BudgetError:
                continue
            granted[index] += 1

    together(*(partial(spend, index) for index in range(32)))

    by_part = sorted((sum(granted[part::4]) for part in range(4)), reverse=True)
    dear = by_part[:1] if neighbours == "add_remove" else by_part[:2]
    assert sum(dear) == 100
    assert ledger.spent == price(ledger.event, neighbours) == 1
    assert len(ledger.charges) == sum(granted)


# What a run did to the data is a value, and what that costs is worked out from the value alone.


AMOUNTS_OF_EVENTS = st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=50)
LEAVES = (
    st.builds(Laplace, AMOUNTS_OF_EVENTS)
    | st.builds(PermuteAndFlip, AMOUNTS_OF_EVENTS)
    | st.builds(Allotment, AMOUNTS_OF_EVENTS)
)
EVENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(InTurn),
        st.lists(inner, max_size=3).map(Disjoint),
        st.builds(Repeated, inner, st.integers(0, 3)),
    ),
    max_leaves=8,
)
RELATIONS_OF_EVENTS: list[Neighbours] = ["add_remove", "replace_one"]


def touched(event: Event) -> list[dict[int, Fraction]]:
    """Return, for each way in which one row can be in the parts, what is asked of it: prices by where they stand."""
    numbers = iter(range(10_000))

    def walk(event: Event) -> list[dict[int, Fraction]]:
        if isinstance(event, InTurn):
            ways = [walk(each) for each in event.events]
            return [{place: cost for one in way for place, cost in one.items()} for way in product(*ways)]
        if isinstance(event, Disjoint):
            return [way for each in event.events for way in walk(each)] or [{}]
        if isinstance(event, Repeated):
            return [{place: event.times * cost for place, cost in way.items()} for way in walk(event.event)]
        return [{next(numbers): event.epsilon}]  # type: ignore[attr-defined]  # every leaf has one

    return walk(event)


@given(EVENTS)
def test_under_add_remove_a_price_is_what_the_row_that_is_touched_most_pays(event: Event) -> None:
    assert price(event, "add_remove") == max(sum(way.values(), Fraction(0)) for way in touched(event))


def deep(event: Event) -> int:
    """Return how many times parts stand within parts."""
    inner = getattr(event, "events", ()) or ([event.event] if isinstance(event, Repeated) else ())
    return isinstance(event, Disjoint) + max(map(deep, inner), default=0)


@given(EVENTS)
def test_under_replace_one_a_price_covers_where_a_row_was_and_where_it_went(event: Event) -> None:
    ways = touched(event)
    worst = max(sum((before | after).values(), Fraction(0)) for before in ways for after in ways)

    # Each level of parts pays for two of them, though a row that left a part cannot also move within it.
    assert worst <= price(event, "replace_one") <= 2 ** deep(event) * price(event, "add_remove")


@pytest.mark.parametrize("neighbours", RELATIONS_OF_EVENTS)
def test_an_unknown_event_is_refused_at_any_depth(neighbours: Neighbours) -> None:
    class Free(Event):
        """Says nothing of what it costs."""

    @frozen
    class Cheap(Laplace):
        """Looks like a known one."""

    for unknown in (Free(), Cheap("0.1")):
        for event in (unknown, InTurn([Laplace(1), unknown]), Disjoint([unknown]), Repeated(InTurn([unknown]), 2)):
            with pytest.raises(EventError, match=type(unknown).__name__):
                price(event, neighbours)
    with pytest.raises(EventError, match="NoneType"):
        price(InTurn([None]), neighbours)


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(EventError, match="k_anonymous"):
        price(Disjoint([Laplace(1), Laplace(2)]), "k_anonymous")  # type: ignore[arg-type]


@pytest.mark.parametrize("times", [-1, 1.5, True, "2"])
def test_something_happens_a_whole_number_of_times(times: object) -> None:
    with pytest.raises(TableError):
        Repeated(Laplace(1), times)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0, -1, "0", float("nan"), float("inf"), "many", None, True])
def test_an_event_costs_something(epsilon: object) -> None:
    for kind in (Laplace, PermuteAndFlip, Allotment):
        with pytest.raises(JostleError):
            kind(epsilon)  # type: ignore[arg-type]


@given(st.lists(st.fractions(min_value=0, max_value=9), max_size=6))
def test_disjoint_parts_cost_the_dearest_or_the_two_dearest(prices: list[Fraction]) -> None:
    ranked = sorted([*prices, Fraction(0), Fraction(0)])

    assert dearest(prices, "add_remove") == ranked[-1]
    assert dearest(prices, "replace_one") == ranked[-1] + ranked[-2]
