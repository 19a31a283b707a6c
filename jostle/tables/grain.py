"""Grains: the public unit that a column's numbers are rounded to, so that sums of them are exact whole numbers.

Bins are for what looks at a column as a few values; a sum, a mean or a quantile of it is of the numbers themselves, as
whole multiples of a unit between the column's bounds. What a number becomes depends on that number alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.remembered import remembered

__all__ = ["LARGEST_MULTIPLE", "Grain", "finest_grain", "grain_of"]

LARGEST_MULTIPLE = 2**30 - 1
"""A number is no farther from 0 than so many units: then as many rows as a table may have add up within 63 bits."""
MOST_BITS = 1023
"""Whole numbers of so many bits are below the largest float."""
USUAL_STEPS = 2**24
"""Where no unit is declared, it is the power of ten that gives the most steps up to this many."""


@frozen
class Grain:
    """The multiples of a unit that lie between a column's bounds. A *step* is the place of one among them, from 0."""

    unit: Fraction
    first: int
    """The least multiple: the number of step 0 is first * unit."""
    last: int

    @property
    def span(self) -> int:
        """Number of the last step."""
        return self.last - self.first

    @property
    def none(self) -> int:
        """What stands in place of a step where there is no number."""
        return self.span + 1

    def number(self, step: int) -> Fraction:
        """Exact number that a step stands for."""
        return (self.first + step) * self.unit

    def steps(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Nearest step of each number; of one out of bounds, the first or last; `none` for not-a-number."""
        numerator, denominator = float(self.unit.numerator), float(self.unit.denominator)
        with np.errstate(over="ignore", invalid="ignore"):
            multiples = np.rint(numbers * denominator / numerator)
        places = np.clip(multiples, self.first, self.last) - self.first
        places[np.isnan(multiples)] = self.none
        return places.astype(np.int64)


@remembered(4096)
def grain_of(low: float, high: float, unit: float) -> Grain | None:
    """Grain of a declared unit; None where it has fewer than two multiples between the bounds, or too large ones."""
    step = Fraction(repr(unit))
    grain = Grain(step, math.ceil(_exact(low) / step), math.floor(_exact(high) / step))
    fits = grain.span >= 1 and max(abs(grain.first), abs(grain.last)) <= LARGEST_MULTIPLE
    return grain if fits and _is_of_floats(step) else None


@remembered(4096)
def finest_grain(low: float, high: float) -> Grain | None:
    """Grain of the finest power of ten that gives no more steps than is usual; None where bounds are too close."""
    exact_low, exact_high = _exact(low), _exact(high)
    most = max((exact_high - exact_low) / USUAL_STEPS, max(abs(exact_low), abs(exact_high)) / LARGEST_MULTIPLE)
    power = math.floor(math.log10(most.numerator) - math.log10(most.denominator)) - 1
    while Fraction(10) ** power < most:
        power += 1
    unit = Fraction(10) ** power
    grain = Grain(unit, math.ceil(exact_low / unit), math.floor(exact_high / unit))
    return grain if grain.span >= 1 and _is_of_floats(unit) else None


def _is_of_floats(unit: Fraction) -> bool:
    """Whether both parts of a unit fit floats, which numbers are multiplied and divided by."""
    return max(unit.numerator, unit.denominator).bit_length() <= MOST_BITS


def _exact(number: float) -> Fraction:
    """The number as it is written."""
    return Fraction(repr(number))
