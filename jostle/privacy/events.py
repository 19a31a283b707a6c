"""Privacy events: what a run did to the data, as values. Pricing them is `price`'s business alone.

An event of a kind that `price` does not know is refused, at any depth; it is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from attrs import evolve, field, frozen

from jostle.errors import EventError
from jostle.privacy.amounts import epsilon_amount
from jostle.privacy.fields import TYPES, fraction, fractions
from jostle.tables.closed import Closed
from jostle.tables.fields import Component, Components, Within, listed, whole
from jostle.tables.schema import Neighbours

MOST_TIMES = 2**63 - 1
LEAST_ETA = Fraction(-9, 10)
"""Of the shape of a selection's number of runs: the proof is about shapes above -1."""


class Event:
    """Anything that may have happened to private data."""

    __slots__ = ()


EVENT_INSIDE = Component(base=Event, what="an event", error=EventError)
EVENTS_INSIDE = Components(base=Event, what="an event", error=EventError)


@frozen
class Laplace(Event):
    """Exact discrete Laplace noise, of scale sensitivity / epsilon, on all numbers of one tally."""

    epsilon: Fraction = field(converter=epsilon_amount)


@frozen
class Refined(Event):
    """One tally with exact discrete Laplace noise, released again with less of it: a chain (see `chains`)."""

    levels: tuple[Fraction, ...] = field(converter=fractions)
    """The epsilon of each release. All together cost what the last one costs."""

    def __attrs_post_init__(self) -> None:
        """Refuse levels that do not rise."""
        if not self.levels or any(after <= before for before, after in pairwise((Fraction(0), *self.levels))):
            raise EventError("a tally is released again at a larger epsilon each time", fix="levels that rise")


@frozen
class PermuteAndFlip(Event):
    """One pick by permute-and-flip."""

    epsilon: Fraction = field(converter=epsilon_amount)


@frozen
class AboveThreshold(Event):
    """One run of the sparse vector: which of many scores pass a noisy threshold, up to a number of them."""

    epsilon: Fraction = field(converter=epsilon_amount)


@frozen
class Allotment(Event):
    """A budget set aside for a part of the work; what of it was not used is spent all the same."""

    epsilon: Fraction = field(converter=epsilon_amount)


@frozen
class Reserved(Event):
    """What was spent of a budget that was held back; what was not is not spent."""

    events: tuple[Event, ...] = field(converter=listed, validator=EVENTS_INSIDE)
    """What it was spent on, on the same rows."""
    at_most: Fraction = field(converter=epsilon_amount)


@frozen
class InTurn(Event):
    """Several events on the same rows: their prices add up."""

    events: tuple[Event, ...] = field(converter=listed, validator=EVENTS_INSIDE)


@frozen
class Repeated(Event):
    """One event so many times on the same rows."""

    event: Event = field(validator=EVENT_INSIDE)
    times: int = field(converter=whole, validator=Within(0, MOST_TIMES))


@frozen
class Selected(Event):
    """Runs of one event whose number is drawn by `NumberOfRuns`, of which the best-scored is seen (see `selection`)."""

    candidate: Event = field(validator=EVENT_INSIDE)
    """One run, with its score."""
    eta: Fraction = field(converter=fraction, validator=Within(LEAST_ETA, 1))
    """The shape of the distribution of their number: it costs as much as 2 + eta runs."""


@frozen
class Disjoint(Event):
    """Events on parts of a table that share no row.

    Adding or removing a row touches one part, so the dearest is paid. Replacing a row may move it from one part to
    another, so the two dearest are.
    """

    events: tuple[Event, ...] = field(converter=listed, validator=EVENTS_INSIDE)


EVENTS = Closed(
    "event",
    (AboveThreshold, Allotment, Disjoint, InTurn, Laplace, PermuteAndFlip, Refined, Repeated, Reserved, Selected),
    why="what is not known to be cheap may cost everything",
    error=EventError,
    types=TYPES,
)
"""The events that have a price."""


def in_turn(events: Iterable[Event]) -> Event:
    """The event of all these in turn, without needless nesting."""
    flat = tuple(events)
    return flat[0] if len(flat) == 1 else InTurn(flat)


def disjoint(events: Iterable[Event]) -> Event:
    """The event of these on parts that share no row, a single part being no more than itself."""
    flat = tuple(events)
    return flat[0] if len(flat) == 1 else Disjoint(flat)


def price(event: Event, neighbours: Neighbours) -> Fraction:
    """The epsilon an event costs under a neighbour relation.

    >>> price(in_turn([Laplace("0.1"), Disjoint([Laplace("0.2"), Laplace("0.3")])]), "add_remove")
    Fraction(2, 5)
    >>> price(Disjoint([Laplace("0.2"), Laplace("0.3")]), "replace_one")
    Fraction(1, 2)
    """
    # Exact types only: a subclass could mean anything.
    kind = type(event)
    if kind is AboveThreshold or kind is Allotment or kind is Laplace or kind is PermuteAndFlip:
        return event.epsilon  # type: ignore[attr-defined,no-any-return]  # all have one
    if isinstance(event, Refined) and kind is Refined:
        return event.levels[-1]
    if isinstance(event, InTurn | Reserved) and kind in {InTurn, Reserved}:
        return sum((price(inner, neighbours) for inner in event.events), Fraction(0))
    if isinstance(event, Repeated) and kind is Repeated:
        return event.times * price(event.event, neighbours)
    if isinstance(event, Selected) and kind is Selected:
        return (2 + event.eta) * price(event.candidate, neighbours)
    if isinstance(event, Disjoint) and kind is Disjoint:
        return dearest((price(part, neighbours) for part in event.events), neighbours)
    raise EventError(
        f"{kind.__name__} is not an event with a known price",
        why=EVENTS.why,
        fix=f"one of {', '.join(member.__name__ for member in EVENTS)}",
    )


def least(event: Event) -> Fraction | None:
    """The least epsilon of all mechanisms in an event; None where there is none.

    >>> least(in_turn([Laplace("0.1"), Repeated(PermuteAndFlip("0.02"), 5)]))
    Fraction(1, 50)
    """
    if isinstance(event, InTurn | Disjoint | Reserved):
        return min((amount for amount in map(least, event.events) if amount is not None), default=None)
    if isinstance(event, Repeated):
        return least(event.event) if event.times else None
    if isinstance(event, Selected):
        return least(event.candidate)
    return event.levels[0] if isinstance(event, Refined) else getattr(event, "epsilon", None)


def dearest(prices: Iterable[Fraction], neighbours: Neighbours) -> Fraction:
    """The cost of disjoint parts together: the dearest part, or the two dearest where a row can move.

    A neighbour relation that is not known is refused, like an event.
    """
    if neighbours not in {"add_remove", "replace_one"}:
        raise EventError(f"{neighbours!r} is not a known neighbour relation", fix="add_remove or replace_one")
    touched = 1 if neighbours == "add_remove" else 2
    return sum(sorted(prices, reverse=True)[:touched], Fraction(0))


def times(event: Event, factor: int) -> Event:
    """The event with all its amounts multiplied: what one that was priced for a row is for so many of them."""
    if isinstance(event, Reserved):
        return Reserved(tuple(times(inner, factor) for inner in event.events), event.at_most * factor)
    if isinstance(event, InTurn | Disjoint):
        return evolve(event, events=tuple(times(inner, factor) for inner in event.events))
    if isinstance(event, Repeated):
        return evolve(event, event=times(event.event, factor))
    if isinstance(event, Selected):
        return evolve(event, candidate=times(event.candidate, factor))
    if isinstance(event, Refined):
        return evolve(event, levels=tuple(level * factor for level in event.levels))
    return evolve(event, epsilon=event.epsilon * factor)  # type: ignore[misc,attr-defined]  # all others have one
