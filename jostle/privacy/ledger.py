"""Ledgers: who may spend how much, and what was spent. Every charge is checked before data are touched.

A ledger with a promise is a *filter*: the promise is fixed before the run, requests may depend on all answers so far, and a
request that would pass the promise is refused. Without one it is an *odometer*: it tells at any time what was spent.

*Why that is sound.* Each answer is epsilon_i-private given the answers before it, where epsilon_i may depend on those
answers only. For any transcript the likelihood ratio between neighbours is at most exp(sum of its epsilon_i); a filter stops
every transcript before its sum passes the promise, so the whole run is promise-private; an odometer's reading bounds the
transcript at hand. Parts that share no row: a row is in one of them (in two, if it can move), so the ratio is a
product over those parts' answers alone, however the parts' requests depend on each other's answers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

from attrs import frozen

from jostle.errors import BudgetError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import Allotment, Event, dearest, disjoint, in_turn, price
from jostle.tables.schema import Neighbours

__all__ = ["Charge", "Ledger", "Payer"]


class Payer(Protocol):
    """Whoever a ledger passes its charges on to: a ledger above it, or a vault."""

    def pay(self, amount: Fraction, site: str) -> None:
        """Record the amount for good, or raise BudgetError and record nothing."""


@frozen
class Charge:
    """One line of a ledger."""

    site: str
    event: Event
    epsilon: Fraction


class Ledger:
    """What one stretch of work may spend and has spent. Safe to use from many threads."""

    def __init__(
        self,
        promise: Fraction | None,
        neighbours: Neighbours,
        *,
        payer: Payer | None = None,
        lock: threading.RLock | None = None,
    ) -> None:
        self.promise = promise
        self.neighbours: Neighbours = neighbours
        self._payer = payer
        # One lock for a whole tree of ledgers: a charge to a part and to all above it is a single step.
        self._lock = lock or threading.RLock()
        self._spent = Fraction(0)
        self._items: list[Charge | _Group] = []

    @property
    def spent(self) -> Fraction:
        """Return what was spent so far."""
        return self._spent

    @property
    def left(self) -> Fraction | None:
        """Return what may still be spent; None for an odometer."""
        return None if self.promise is None else self.promise - self._spent

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Return every charge so far, those to parts included."""
        return tuple(self._lines())

    @property
    def event(self) -> Event:
        """Return all that happened as one event, whose price is what was spent."""
        return in_turn(item.event for item in self._items)

    def _lines(self) -> Iterator[Charge]:
        for item in list(self._items):
            if isinstance(item, Charge):
                yield item
            else:
                for part in item.parts:
                    yield from part.charges

    def charge(self, event: Event, site: str) -> Fraction:
        """Charge an event here and with everyone above, or raise BudgetError and charge nobody. Return its price."""
        epsilon = price(event, self.neighbours)
        with self._lock:
            self.pay(epsilon, site)
            self._items.append(Charge(site, event, epsilon))
        return epsilon

    def pay(self, amount: Fraction, site: str) -> None:
        """Pass an amount on to the payer and count it as spent."""
        with self._lock:
            self._check(amount, site)
            if self._payer is not None:
                self._payer.pay(amount, site)
            self._spent += amount

    def allot(self, epsilon: Fraction, site: str) -> Ledger:
        """Set a budget aside, spent here at once and whole; return the ledger that may use it."""
        self.charge(Allotment(epsilon), site)
        return Ledger(epsilon, self.neighbours)

    def split(self, count: int) -> tuple[Ledger, ...]:
        """Return ledgers for *count* parts that share no row; together they cost the dearest one (or two)."""
        group = _Group(self, count, self._lock)
        with self._lock:
            self._items.append(group)
        return group.parts

    def _check(self, amount: Fraction, site: str) -> None:
        if self.promise is not None and self._spent + amount > self.promise:
            raise BudgetError(
                f"{site} asks for epsilon {show_amount(amount)}, but {show_amount(self.promise - self._spent)} is left",
                why=f"the promise, fixed before the run, is epsilon {show_amount(self.promise)}",
                fix="ask for less, or fix a larger promise before the first question",
            )


class _Group:
    """The parts of one split: what they cost together is kept up to date with every charge to one of them."""

    def __init__(self, above: Ledger, count: int, lock: threading.RLock) -> None:
        self._above = above
        self._paid = [Fraction(0)] * count
        self.parts = tuple(
            Ledger(None, above.neighbours, payer=_Part(self, index), lock=lock) for index in range(count)
        )

    @property
    def event(self) -> Event:
        return disjoint(part.event for part in self.parts)

    def pay(self, index: int, amount: Fraction, site: str) -> None:
        neighbours = self._above.neighbours
        after = self._paid.copy()
        after[index] += amount
        more = dearest(after, neighbours) - dearest(self._paid, neighbours)
        if more:
            self._above.pay(more, site)
        self._paid = after


@frozen
class _Part:
    group: _Group
    index: int

    def pay(self, amount: Fraction, site: str) -> None:
        self.group.pay(self.index, amount, site)
