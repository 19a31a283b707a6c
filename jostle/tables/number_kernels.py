"""Kernels over numbers: sums, moments, ranks and products, in whole grains.

A row's number is a step on its column's public grain (see `values`): a whole number from 0 to the span. Rows without a
number, since their cell is a blank or an extra value, add nothing anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Block, grain_in
from jostle.tables.fields import (
    ANY_WHOLE,
    Floats,
    Integers,
    Sides,
    Within,
    int64_arrays,
    int64s,
    name,
    names,
    whole,
    wholes,
)
from jostle.tables.kernels import LARGEST_WEIGHT, DenseKernel, InOneCell, add_up, checked_cells
from jostle.tables.schema import Schema
from jostle.tables.values import LARGEST_MULTIPLE

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

    In a *window*, steps are scaled from its least to its greatest. A number below it adds m**degree to one more cell,
    and one above to another, and nothing else: so what a row adds stays m**degree.
    """

    column: str = field(converter=name)
    degree: int = field(converter=whole, validator=Within(1, HIGHEST_DEGREE))
    most: int = field(converter=whole, validator=Within(1, LARGEST_WEIGHT))
    """What the last step is scaled to."""
    window: tuple[int, ...] = field(default=(), converter=wholes, validator=ANY_WHOLE)
    """The least and the greatest step that are told apart, both in it; nothing for all steps."""

    def cells(self, schema: Schema) -> int:
        """One more than the degree, and two beside a window; refuse a column without numbers, and what does not fit."""
        span = grain_in(schema, self.column).span
        if self.most**self.degree > LARGEST_WEIGHT:
            raise TableError(f"most is {self.most}, and its power {self.degree} is above 2**30", fix="most=2**15 - 1")
        if self.window and not (len(self.window) == 2 and 0 <= self.window[0] < self.window[1] <= span):
            raise TableError(f"the window of {self.column!r} is not one step after another, from 0 to {span}")
        return self.degree + 1 + len(self.window)

    def bound(self, schema: Schema) -> int:
        """The most that a row with a number adds to all cells together."""
        return int(self.most**self.degree)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        grain = grain_in(schema, self.column)
        steps = block.numbers(self.column, schema)
        there = steps <= grain.span
        first, last = self.window or (0, grain.span)
        inside = there & (first <= steps) & (steps <= last)
        high = (2 * (steps[inside] - first) * self.most + last - first) // (2 * (last - first))
        low = self.most - high
        products = (low, high) if self.degree == 1 else (low * low, 2 * low * high, high * high)
        times = None if block.multiplicity is None else block.multiplicity[inside]
        for cell, product in enumerate(products):
            totals[cell] += int(product.sum() if times is None else (product * times).sum())
        for cell, beyond in enumerate((steps < first, there & (steps > last)) if self.window else ()):
            totals[self.degree + 1 + cell] += block.count(beyond) * self.bound(schema)


@frozen(eq=False, repr=False)
class Ranks(InOneCell, DenseKernel):
    """How many of a column's numbers lie in each of some intervals, which begin at public steps and fill the range.

    A number is in one interval, so a row adds 1 to one cell.
    """

    column: str = field(converter=name)
    starts: Integers = field(converter=int64s, validator=Sides(1, ANY_WHOLE))
    """The steps where intervals begin, rising from 0."""

    def cells(self, schema: Schema) -> int:
        span = grain_in(schema, self.column).span
        starts = self.starts
        if not len(starts) or starts[0] != 0 or starts[-1] > span or np.any(starts[1:] <= starts[:-1]):
            raise TableError(f"the intervals of {self.column!r} do not begin one after the other, from step 0 on")
        return checked_cells(len(starts))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        steps = block.numbers(self.column, schema)
        there = steps <= grain_in(schema, self.column).span
        cells = np.searchsorted(self.starts, steps[there], side="right") - 1
        add_up(cells, None if block.multiplicity is None else block.multiplicity[there], totals)


LARGEST_NUMBER = 2**15 - 1
"""Products of two such numbers are below what a row may add to a cell."""
ROWS_AT_ONCE = 2**14


@frozen(eq=False, repr=False)
class Products(DenseKernel):
    """Sums over rows of x_f * x_g for each two features f <= g; then, class by class, of unit * unit and unit * x_f.

    Of rows that have a label; the features of a column where a row has a blank are 0.

    A code of a column stands for one or more public numbers; a row's features x are those of its codes, one column
    after the other. The sums by class are over the rows of that class alone.

    *Bound.* Of each column, take the most that the absolute numbers of a code add up to, and let L be the sum of these
    over columns, and Q the same of squares. A row then has sum |x_f| <= L and sum x_f**2 <= Q. Over f <= g, absolute
    products add up to ((sum |x_f|)**2 + sum x_f**2) / 2 <= (L**2 + Q) / 2. It is of one class, and adds to the sums of
    that at most unit * (unit + L).
    """

    columns: tuple[str, ...] = field(converter=names)
    numbers: tuple[Integers, ...] = field(
        converter=int64_arrays, validator=Sides(2, Within(-LARGEST_NUMBER, LARGEST_NUMBER))
    )
    """For each column, codes by numbers."""
    unit: int = field(default=1, converter=whole, validator=Within(1, LARGEST_NUMBER))
    """What counts as 1 beside the numbers."""

    def cells(self, schema: Schema) -> int:
        classes = len(schema.classes)
        fits = (
            len(self.columns) == len(self.numbers) == len(set(self.columns))
            and schema.label not in self.columns
            and all(len(own) == schema[name].size for name, own in zip(self.columns, self.numbers, strict=True))
        )
        if not fits:
            raise TableError(
                "the numbers to multiply do not fit the schema",
                fix="for each column but the label, as many lines of numbers as it has codes",
            )
        return checked_cells(self._pairs + classes * (1 + self.features))

    def bound(self, schema: Schema) -> int:
        """The most that all sums of a row add up to, by the largest numbers of each column."""
        largest = sum(int(np.abs(own).sum(axis=1).max(initial=0)) for own in self.numbers)
        squares = sum(int((own * own).sum(axis=1).max(initial=0)) for own in self.numbers)
        return -(-(largest**2 + squares) // 2) + self.unit * (self.unit + largest)

    @property
    def features(self) -> int:
        """How many numbers a row has."""
        return sum(own.shape[1] for own in self.numbers)

    @property
    def _pairs(self) -> int:
        return self.features * (self.features + 1) // 2

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        classes, features = len(schema.classes), self.features
        products = np.zeros((features, features), dtype=np.int64)
        sums = np.zeros((classes, 1 + features), dtype=np.int64)
        block = block.labelled(schema)
        labels = block.columns[schema.target].astype(np.int64)
        for rows, numbers in self._features(block):
            weighted = numbers if block.multiplicity is None else numbers * block.multiplicity[rows, None]
            of_class = (labels[rows, None] == np.arange(classes)).astype(numbers.dtype)
            products += (numbers.T @ weighted).astype(np.int64)
            sums[:, 1:] += (of_class.T @ weighted).astype(np.int64)
            counts = of_class if block.multiplicity is None else of_class * block.multiplicity[rows, None]
            sums[:, 0] += counts.sum(axis=0).astype(np.int64) * self.unit
        totals[: self._pairs] += products[np.triu_indices(features)]
        totals[self._pairs :] += (sums * self.unit).reshape(-1)

    def _features(self, block: Block) -> Iterator[tuple[slice, Floats | Integers]]:
        """Some rows at a time, with their numbers.

        As floats, where rows count once: sums of so few products stay below 2**53, so that they are exact in any order.
        """
        kind = np.float64 if block.multiplicity is None else np.int64
        # A line of zeros at the end, for blanks.
        given = {
            name: np.pad(own, ((0, 1), (0, 0))).astype(kind)
            for name, own in zip(self.columns, self.numbers, strict=True)
        }
        for start in range(0, block.length, ROWS_AT_ONCE):
            rows = slice(start, min(block.length, start + ROWS_AT_ONCE))
            parts = [own[block.columns[name][rows]] for name, own in given.items()]
            yield rows, np.hstack([np.zeros((rows.stop - rows.start, 0), dtype=kind), *parts])
