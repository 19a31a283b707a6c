"""How far a vector of numbers can change between neighbours, in exact arithmetic.

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
import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

ROOM = 2**62
"""Whole numbers below this are computed with in 64 bits; where larger ones could arise, with Python's own."""

Integers = NDArray[Any]
"""Whole numbers, of 64 bits or Python's own."""


def _magnitude(array: Integers) -> int:
    return max(int(array.max()), -int(array.min()), 0) if array.size else 0


def _wide(array: Integers, magnitude: int) -> Integers:
    """The array in a type that holds whole numbers up to *magnitude*."""
    return array if magnitude < ROOM else array.astype(object)


def _array(value: Any) -> Integers:
    """Numpy's result as an array; a single Python number must not become one of 64 bits."""
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic) else np.array(value, dtype=object)


@frozen(eq=False, repr=False)
class Numbers:
    """Whole numbers over a denominator > 0, which is a public fact."""

    array: Integers
    denominator: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """How long each side is."""
        return tuple(self.array.shape)

    def times(self, factor: Fraction) -> Numbers:
        """All numbers times a factor, over a denominator that depends on the factor alone."""
        shared = math.gcd(factor.numerator, self.denominator * factor.denominator)
        whole = factor.numerator // shared
        array = _wide(self.array, _magnitude(self.array) * abs(whole) + abs(whole)) * whole
        return Numbers(_array(array), self.denominator * factor.denominator // shared)

    def over(self, denominator: int) -> Numbers:
        """The same numbers over a multiple of their denominator."""
        whole = denominator // self.denominator
        return Numbers(_array(_wide(self.array, _magnitude(self.array) * whole + whole) * whole), denominator)

    def plus(self, other: Numbers) -> Numbers:
        """The sums of numbers in equal places; one alone is added to all."""
        shared = math.lcm(self.denominator, other.denominator)
        left, right = self.over(shared).array, other.over(shared).array
        largest = _magnitude(left) + _magnitude(right)
        return Numbers(_array(_wide(left, largest) + _wide(right, largest)), shared)

    def summed(self, axis: int | None = None) -> Numbers:
        """The sums along an axis, or of all."""
        wide = _wide(self.array, _magnitude(self.array) * max(1, self.array.size))
        return Numbers(_array(wide.sum(axis=axis)), self.denominator)

    def gathered(self, sums: Sequence[int], shape: tuple[int, ...]) -> Numbers:
        """Sums of some: of each number it is said in which sum it is, or, below 0, that it is in none."""
        wide = _wide(self.array, _magnitude(self.array) * max(1, self.array.size)).ravel()
        totals, places = np.zeros(math.prod(shape), dtype=wide.dtype), np.asarray(sums)
        np.add.at(totals, places[places >= 0], wide[places >= 0])
        return Numbers(_array(totals.reshape(shape)), self.denominator)

    def largest(self, axis: int | None = None) -> Numbers:
        """The largest along an axis, or of all."""
        return Numbers(_array(self.array.max(axis=axis)), self.denominator)

    def smallest(self, axis: int | None = None) -> Numbers:
        """The smallest along an axis, or of all."""
        return Numbers(_array(self.array.min(axis=axis)), self.denominator)

    def absolute(self) -> Numbers:
        """How far all are from 0."""
        return Numbers(_array(np.abs(self.array)), self.denominator)

    def between(self, low: Fraction, high: Fraction) -> Numbers:
        """All numbers, those beyond the bounds moved to them."""
        shared = math.lcm(self.denominator, low.denominator, high.denominator)
        array = self.over(shared).array
        least, most = int(low * shared), int(high * shared)
        wide = _wide(array, max(abs(least), abs(most)))
        # As an array in between: numpy makes a single number of a single cell, and would squeeze it into 64 bits.
        return Numbers(_array(np.minimum(_array(np.maximum(wide, least)), most)), shared)

    def above(self, threshold: Fraction) -> int:
        """How many are above a threshold: whole numbers are when they are above what it is rounded down."""
        limit = math.floor(threshold * self.denominator)
        return int(np.count_nonzero(_wide(self.array, abs(limit)) > limit))

    def spread(self) -> int:
        """(cells * the sum of squares) - the square of the sum, of the whole numbers."""
        largest = _magnitude(self.array)
        wide = _wide(self.array, largest**2 * max(1, self.array.size)).ravel()
        return self.array.size * int((wide * wide).sum()) - int(self.summed().array) ** 2

    def flat(self) -> list[int]:
        """The whole numbers one by one, as Python's own."""
        return [int(number) for number in self.array.ravel()]


def joined(items: Iterable[Numbers]) -> Numbers:
    """All numbers of all items in a row, over one denominator."""
    given = tuple(items)
    shared = math.lcm(*(numbers.denominator for numbers in given))
    arrays = [numbers.over(shared).array.ravel() for numbers in given]
    largest = max(map(_magnitude, arrays))
    return Numbers(np.concatenate([_wide(array, largest) for array in arrays]), shared)


ZERO = Fraction(0)


class Change(NamedTuple):
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
        return Change(*(tighter(*both) for tighter, *both in zip(TIGHTER, self, other, strict=True)))

    def plus(self, other: Change) -> Change:
        """The change of a sum of two vectors, cell by cell."""
        return Change(*map(operator.add, self, other))

    def times(self, factor: Fraction) -> Change:
        """The change of a multiple."""
        if factor < 0:
            return self.negated().times(-factor)
        if factor == 0:
            return Change.single(ZERO, ZERO)
        return Change(*map(operator.mul, self, (*[factor] * 7, 1, 1)))

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


TIGHTER: tuple[Callable[..., Any], ...] = (max, min, min, min, min, max, min, min, min)
"""Which of two bounds says more, in the order of the fields of a `Change`."""


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
