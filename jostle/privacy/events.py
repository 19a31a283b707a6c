"""Privacy events: what a run did to the data, as values. Pricing them is `price`'s business alone.

An event of a kind that `price` does not know is refused, at any depth; it is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from attrs import evolve, field, frozen

from jostle.errors import EventError
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.tables.schema import Neighbours

__all__ = [
    "Allotment",
    "Disjoint",
    "Event",
    "InTurn",
    "Laplace",
    "PermuteAndFlip",
    "Repeated",
    "Selected",
    "copied",
    "dearest",
    "disjoint",
    "in_turn",
    "price",
]


class Event:
    """Anything that may have happened to private data."""

    __slots__ = ()


def _epsilon(value: Amount) -> Fraction:
    amount = epsilon_amount(value)
    # A new object of the exact type: a subclass could compare and add as it likes, and whoever gave a fraction
    # still holds it.
    return Fraction(int(amount.numerator), int(amount.denominator))


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(events)


def _times(times: int) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise EventError(f"times is {times!r}, not a whole number from 0 up", fix="times=3")
    return int(times)


@frozen
class Laplace(Event):
    """Exact discrete Laplace noise, of scale sensitivity / epsilon, on all numbers of one tally."""

    epsilon: Fraction = field(converter=_epsilon)


@frozen
class PermuteAndFlip(Event):
    """One pick by permute-and-flip."""

    epsilon: Fraction = field(converter=_epsilon)


@frozen
class Allotment(Event):
    """A budget set aside for a part of the work; what of it was not used is spent all the same."""

    epsilon: Fraction = field(converter=_epsilon)


@frozen
class InTurn(Event):
    """Several events on the same rows: their prices add up."""

    events: tuple[Event, ...] = field(converter=_events)


@frozen
class Repeated(Event):
    """One event so many times on the same rows."""

    event: Event
    times: int = field(converter=_times)


def _shape(value: object) -> Fraction:
    if type(value) is not Fraction or not -1 < value <= 1:
        raise EventError(f"eta is {value!r:.40}, not a fraction above -1 and at most 1", fix='Fraction("0")')
    return Fraction(int(value.numerator), int(value.denominator))


@frozen
class Selected(Event):
    """Runs of one event whose number is drawn by `Stopping`, of which the best-scored is seen (see `selection`)."""

    candidate: Event
    """One run, with its score."""
    eta: Fraction = field(converter=_shape)
    """The shape of the distribution of their number: it costs as much as 2 + eta runs."""


@frozen
class Disjoint(Event):
    """Events on parts of a table that share no row.

    Adding or removing a row touches one part, so the dearest is paid. Replacing a row may move it from one part to
    another, so the two dearest are.
    """

    events: tuple[Event, ...] = field(converter=_events)


def in_turn(events: Iterable[Event]) -> Event:
    """Return the event of all these in turn, without needless nesting."""
    flat = tuple(events)
    return flat[0] if len(flat) == 1 else InTurn(flat)


def disjoint(events: Iterable[Event]) -> Event:
    """Return the event of these on parts that share no row, a single part being no more than itself."""
    flat = tuple(events)
    return flat[0] if len(flat) == 1 else Disjoint(flat)


def price(event: Event, neighbours: Neighbours) -> Fraction:
    """Return the epsilon an event costs under a neighbour relation.

    >>> price(in_turn([Laplace("0.1"), Disjoint([Laplace("0.2"), Laplace("0.3")])]), "add_remove")
    Fraction(2, 5)
    >>> price(Disjoint([Laplace("0.2"), Laplace("0.3")]), "replace_one")
    Fraction(1, 2)
    """
    # Exact types only: a subclass could mean anything.
    kind = type(event)
    if kind is Laplace or kind is PermuteAndFlip or kind is Allotment:
        return event.epsilon  # type: ignore[attr-defined,no-any-return]  # all three have one
    if isinstance(event, InTurn) and kind is InTurn:
        return sum((price(each, neighbours) for each in event.events), Fraction(0))
    if isinstance(event, Repeated) and kind is Repeated:
        return event.times * price(event.event, neighbours)
    if isinstance(event, Selected) and kind is Selected:
        return (2 + event.eta) * price(event.candidate, neighbours)
    if isinstance(event, Disjoint) and kind is Disjoint:
        return dearest((price(each, neighbours) for each in event.events), neighbours)
    raise EventError(
        f"{kind.__name__} is not an event with a known price",
        why="what is not known to be cheap may cost everything",
        fix="Laplace, PermuteAndFlip, Allotment, InTurn, Repeated, Selected or Disjoint",
    )


def dearest(prices: Iterable[Fraction], neighbours: Neighbours) -> Fraction:
    """Return what disjoint parts cost together: the dearest part, or the two dearest where a row can move.

    A neighbour relation that is not known is refused, like an event.
    """
    if neighbours not in {"add_remove", "replace_one"}:
        raise EventError(f"{neighbours!r} is not a known neighbour relation", fix="add_remove or replace_one")
    touched = 1 if neighbours == "add_remove" else 2
    return sum(sorted(prices, reverse=True)[:touched], Fraction(0))


def copied(event: Event) -> Event:
    """Return an equal event that shares no part with this one, for those who must not reach the original."""
    if isinstance(event, InTurn | Disjoint):
        return evolve(event, events=tuple(map(copied, event.events)))
    if isinstance(event, Repeated):
        return evolve(event, event=copied(event.event))
    if isinstance(event, Selected):
        return evolve(event, candidate=copied(event.candidate))
    return evolve(event)  # type: ignore[misc]  # every other event is an attrs class whose converter copies
