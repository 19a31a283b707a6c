"""What a run did to the data is a value, and what that costs is worked out from the value alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from jostle.errors import EventError, JostleError, TableError
from jostle.privacy.events import (
    Allotment,
    Disjoint,
    Event,
    InTurn,
    Laplace,
    PermuteAndFlip,
    Repeated,
    dearest,
    price,
)
from jostle.tables.schema import Neighbours

AMOUNTS = st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=50)
LEAVES = st.builds(Laplace, AMOUNTS) | st.builds(PermuteAndFlip, AMOUNTS) | st.builds(Allotment, AMOUNTS)
EVENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(InTurn),
        st.lists(inner, max_size=3).map(Disjoint),
        st.builds(Repeated, inner, st.integers(0, 3)),
    ),
    max_leaves=8,
)
RELATIONS: list[Neighbours] = ["add_remove", "replace_one"]


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


@pytest.mark.parametrize("neighbours", RELATIONS)
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
