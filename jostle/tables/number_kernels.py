"""Kernels over numbers: their sum, their moments, and how many lie in each of many intervals, in whole steps.

A row's number is a step on its column's public grain (see `grain`): a whole number from 0 to the span. Rows without a
number, since their cell is empty and the schema has a value for that, add nothing anywhere.
"""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block, grain_in
from jostle.tables.fields import ANY_WHOLE, Sides, Within, int64s, name, whole
from jostle.tables.grain import LARGEST_MULTIPLE
from jostle.tables.kernels import LARGEST_WEIGHT, DenseKernel, add_up, checked_cells
from jostle.tables.schema import Schema

__all__ = ["HIGHEST_DEGREE", "Moments", "NumberSum", "Ranks"]

Integers = NDArray[np.int64]
HIGHEST_DEGREE = 2


@frozen
class NumberSum(DenseKernel):
    """The sum of a column's numbers less a public one, in units of its grain: a single cell.

    A row adds w, a whole number between low = first - origin and high = last - origin. So a row more changes the sum by
    at most max(|low|, |high|). A row that becomes another changes it by v - w, at most high - low; one that enters or
    leaves a part, or one with a number that becomes one without, by at most max(|low|, |high|). With 0 among them, all
    of these lie within max(high, 0) - min(low, 0).
    """

    column: str = field(converter=name)
    origin: int = field(default=0, converter=whole, validator=Within(-LARGEST_MULTIPLE, LARGEST_MULTIPLE))
    """Multiple of the unit that is taken off each number."""

    def cells(self, schema: Schema) -> int:
        """1; refuse a column without numbers, or numbers too far from the origin to be added up."""
        low, high = self._ends(schema)
        if max(abs(low), abs(high)) > LARGEST_WEIGHT:
            raise TableError(
                f"the numbers of {self.column!r} are too far from {self.origin} to be added up", fix="origin=0"
            )
        return 1

    def bound(self, schema: Schema) -> int:
        """How far a number can be from the origin."""
        return max(map(abs, self._ends(schema)))

    def replaced(self, schema: Schema) -> int:
        """How far two numbers, or a number and none, can be apart."""
        low, high = self._ends(schema)
        return max(high, 0) - min(low, 0)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""
        grain = grain_in(schema, self.column)
        steps = block.numbers(self.column, schema)
        added = np.where(steps > grain.span, 0, steps + (grain.first - self.origin))
        totals[0] += int(added.sum() if block.multiplicity is None else (added * block.multiplicity).sum())

    def _ends(self, schema: Schema) -> tuple[int, int]:
        grain = grain_in(schema, self.column)
        return grain.first - self.origin, grain.last - self.origin


@frozen
class Moments(DenseKernel):
    """The Bernstein moments of a column's numbers: sums of products that tell their number, mean and variance at once.

    A row's number is read as a whole number u from 0 to m: its step scaled by m / span and rounded. By degree 1 it adds
    m - u and u to two cells; by degree 2, (m - u)**2, 2u(m - u) and u**2 to three. None of these is negative, and they
    add up to m**degree, whatever u is: that is what a row adds, and no row with a number adds less. A row that becomes
    another takes as much from some cells as it gives to others, at most twice m**degree together.
    """

    column: str = field(converter=name)
    degree: int = field(converter=whole, validator=Within(1, HIGHEST_DEGREE))
    most: int = field(converter=whole, validator=Within(1, LARGEST_WEIGHT))
    """What the last step is scaled to."""

    def cells(self, schema: Schema) -> int:
        """One more than the degree; refuse a column without numbers, and products that do not fit."""
        grain_in(schema, self.column)
        if self.most**self.degree > LARGEST_WEIGHT:
            raise TableError(f"most is {self.most}, and its power {self.degree} is above 2**30", fix="most=2**15 - 1")
        return self.degree + 1

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """The most that a row with a number adds to all cells together."""
        return int(self.most**self.degree)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""
        grain = grain_in(schema, self.column)
        steps = block.numbers(self.column, schema)
        there = steps <= grain.span
        high = (2 * steps * self.most + grain.span) // (2 * grain.span)
        low = self.most - high
        products = (low, high) if self.degree == 1 else (low * low, 2 * low * high, high * high)
        for cell, product in enumerate(products):
            kept = product[there]
            totals[cell] += int(kept.sum() if block.multiplicity is None else (kept * block.multiplicity[there]).sum())


@frozen(eq=False, repr=False)
class Ranks(DenseKernel):
    """How many of a column's numbers lie in each of some intervals, which begin at public steps and fill the range.

    A number is in one interval, so a row adds 1 to one cell, and one that becomes another takes it from one and gives
    it to another: 2, or 1 where there is a single cell.
    """

    column: str = field(converter=name)
    starts: Integers = field(converter=int64s, validator=Sides(1, ANY_WHOLE))
    """The steps where intervals begin, rising from 0."""

    def cells(self, schema: Schema) -> int:
        """Number of intervals; refuse steps that do not rise from 0, or are not there."""
        span = grain_in(schema, self.column).span
        starts = self.starts
        if not len(starts) or starts[0] != 0 or starts[-1] > span or np.any(starts[1:] <= starts[:-1]):
            raise TableError(f"the intervals of {self.column!r} do not begin one after the other, from step 0 on")
        return checked_cells(len(starts))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """1: a number lies in one interval."""
        return 1

    def replaced(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """2, or 1 where there is a single interval."""
        return min(2, len(self.starts))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""
        steps = block.numbers(self.column, schema)
        there = steps <= grain_in(schema, self.column).span
        cells = np.searchsorted(self.starts, steps[there], side="right") - 1
        add_up(cells, None if block.multiplicity is None else block.multiplicity[there], totals)
