"""Arrays of exact rational numbers: whole numbers over one public denominator, never rounded, never wrapped round."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

__all__ = ["Numbers", "joined"]

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
        return [int(each) for each in self.array.ravel()]


def joined(items: Iterable[Numbers]) -> Numbers:
    """All numbers of all items in a row, over one denominator."""
    given = tuple(items)
    shared = math.lcm(*(each.denominator for each in given))
    arrays = [each.over(shared).array.ravel() for each in given]
    largest = max(map(_magnitude, arrays))
    return Numbers(np.concatenate([_wide(array, largest) for array in arrays]), shared)
