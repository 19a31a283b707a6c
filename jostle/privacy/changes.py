"""How far a vector of numbers can change between neighbours: what sensitivity is inferred from.

*Two changes.* A row enters: D' is D with one row more. (When it leaves, every difference has the other sign.) A row is
swapped: D' is D with one row become another. Under add_remove, neighbours differ by the first; under replace_one by
the second, but a part of a table, such as the rows that meet a condition, may also see the first alone, or nothing.

*A swap is an exit and an entry.* Let M be D without the row that becomes another. Then x(D') - x(D) = (x(D') - x(M)) -
(x(D) - x(M)), a difference of two entries to the same table M. So whatever holds for all entries says something about
all swaps: if entries change a cell by between low and high, swaps change it by at most high - low, either way; if
entries raise cells by *up* in sum and lower them by *down*, swaps raise them by at most up + down, and so on.

A `Change` is a list of such bounds, each of which holds for every pair of tables. Each operation has a rule that takes
a change of its parts to one of its result. A rule makes no use of what the parts' values are, so it holds for entries
and for swaps; for swaps, what follows from the entries of the result holds as well, and the better of the two counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from attrs import frozen

__all__ = ["Change", "Known", "known"]

ZERO = Fraction(0)


@frozen
class Change:
    """Bounds on x(D') - x(D), for a vector x of one or more cells."""

    low: Fraction
    """No cell changes by less."""
    high: Fraction
    """No cell changes by more."""
    up: Fraction
    """The increases of all cells that increase add up to at most this."""
    down: Fraction
    """The decreases of all cells that decrease add up to at most this."""
    moved: Fraction
    """Both together add up to at most this."""
    total_low: Fraction
    """The sum of all cells changes by no less."""
    total_high: Fraction
    """The sum of all cells changes by no more."""
    cells_up: int
    """No more cells increase."""
    cells_down: int
    """No more cells decrease."""

    @classmethod
    def single(cls, low: Fraction, high: Fraction) -> Change:
        """The change of one number that changes by between *low* and *high*."""
        up, down = max(high, ZERO), max(-low, ZERO)
        return cls(low, high, up, down, max(up, down), low, high, int(high > 0), int(low < 0))

    @classmethod
    def either_way(cls, most: Fraction) -> Change:
        """The change of one number that changes by at most so much."""
        return cls.single(-most, most)

    @property
    def most(self) -> Fraction:
        """The most that any cell changes."""
        return max(abs(self.low), abs(self.high))

    def swapped(self) -> Change:
        """The change by a swap, given that this is the one by an entry."""
        both, cells = self.up + self.down, self.cells_up + self.cells_down
        wide, total = self.high - self.low, self.total_high - self.total_low
        return Change(-wide, wide, both, both, 2 * self.moved, -total, total, cells, cells)

    def meet(self, other: Change) -> Change:
        """The change that holds where both hold."""
        return Change(
            max(self.low, other.low),
            min(self.high, other.high),
            min(self.up, other.up),
            min(self.down, other.down),
            min(self.moved, other.moved),
            max(self.total_low, other.total_low),
            min(self.total_high, other.total_high),
            min(self.cells_up, other.cells_up),
            min(self.cells_down, other.cells_down),
        )

    def plus(self, other: Change) -> Change:
        """The change of a sum of two vectors, cell by cell."""
        return Change(
            self.low + other.low,
            self.high + other.high,
            self.up + other.up,
            self.down + other.down,
            self.moved + other.moved,
            self.total_low + other.total_low,
            self.total_high + other.total_high,
            self.cells_up + other.cells_up,
            self.cells_down + other.cells_down,
        )

    def times(self, factor: Fraction) -> Change:
        """The change of a multiple."""
        if factor < 0:
            return self.negated().times(-factor)
        if factor == 0:
            return Change.single(ZERO, ZERO)
        return Change(
            factor * self.low,
            factor * self.high,
            factor * self.up,
            factor * self.down,
            factor * self.moved,
            factor * self.total_low,
            factor * self.total_high,
            self.cells_up,
            self.cells_down,
        )

    def negated(self) -> Change:
        """The change of the negative, which is also that of x when a row leaves."""
        low, high, total_low, total_high = -self.high, -self.low, -self.total_high, -self.total_low
        return Change(low, high, self.down, self.up, self.moved, total_low, total_high, self.cells_down, self.cells_up)

    def tightened(self, cells: int, span: Fraction) -> Change:
        """The same change, each bound no worse than what follows from the others.

        There are so many cells, and each lies in a public range of length *span*, so that none changes by more.
        """
        low, high = max(self.low, -self.down, -span), min(self.high, self.up, span)
        if cells == 1:
            low, high = max(low, self.total_low), min(high, self.total_high)
            return Change.single(low, high).meet(self) if low <= high else self
        cells_up, cells_down = min(self.cells_up, cells), min(self.cells_down, cells)
        up = min(self.up, self.moved, cells_up * max(high, ZERO))
        down = min(self.down, self.moved, cells_down * max(-low, ZERO))
        moved = min(self.moved, up + down)
        total_low, total_high = max(self.total_low, -down, cells * low), min(self.total_high, up, cells * high)
        return Change(low, high, up, down, moved, total_low, total_high, cells_up, cells_down)


@frozen
class Known:
    """What is publicly known of an expression under a schema, whatever the rows are."""

    shape: tuple[int, ...]
    denominator: int
    """Its numbers are whole multiples of 1/denominator."""
    least: Fraction
    most: Fraction
    """Its numbers lie between these."""
    mass: Fraction
    """Added up, they are no farther from 0 than this, nor are their magnitudes."""
    enter: Change
    """When a row enters; when it leaves, the negative."""
    swap: Change
    """When a row becomes another."""

    @property
    def cells(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


def known(
    shape: tuple[int, ...],
    denominator: int,
    bounds: tuple[Fraction, Fraction],
    mass: Fraction,
    rule: Callable[..., Change],
    *parts: Known,
) -> Known:
    """The facts known of a result, by a rule that takes the changes of its parts to its own."""
    cells, (least, most) = math.prod(shape), bounds
    least, most = max(least, -mass), min(most, mass)
    enter = rule(*(part.enter for part in parts)).tightened(cells, most - least)
    swap = rule(*(part.swap for part in parts)).meet(enter.swapped()).tightened(cells, most - least)
    return Known(shape, denominator, least, most, min(mass, cells * max(abs(least), abs(most))), enter, swap)
