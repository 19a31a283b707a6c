"""Sums of products of public numbers that codes stand for: what a quadratic loss of a linear model is made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import Sides, Within, int64_arrays, names, whole
from jostle.tables.kernels import DenseKernel, checked_cells
from jostle.tables.schema import Schema

__all__ = ["LARGEST_NUMBER", "Products"]

Integers = NDArray[np.int64]

LARGEST_NUMBER = 2**15 - 1
"""Products of two such numbers are below what a row may add to a cell."""
ROWS_AT_ONCE = 2**14


@frozen(eq=False, repr=False)
class Products(DenseKernel):
    """Sums over rows of x_f * x_g for each two features f <= g; then, class by class, of unit * unit and unit * x_f.

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
        """How many sums there are; refuse numbers that are not those of the columns' codes."""
        if schema.label is None:
            raise TableError("the schema names no label", fix='Schema(columns, label="...")')
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
        return checked_cells(self._pairs + len(schema.classes) * (1 + self.features))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
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
        """Add the block's rows to *totals*."""
        classes, features = len(schema.classes), self.features
        products = np.zeros((features, features), dtype=np.int64)
        sums = np.zeros((classes, 1 + features), dtype=np.int64)
        labels = block.columns[schema.label or ""].astype(np.int64)
        for rows, numbers in self._features(block):
            weighted = numbers if block.multiplicity is None else numbers * block.multiplicity[rows, None]
            of_class = (labels[rows, None] == np.arange(classes)).astype(numbers.dtype)
            products += (numbers.T @ weighted).astype(np.int64)
            sums[:, 1:] += (of_class.T @ weighted).astype(np.int64)
            counts = of_class if block.multiplicity is None else of_class * block.multiplicity[rows, None]
            sums[:, 0] += counts.sum(axis=0).astype(np.int64) * self.unit
        totals[: self._pairs] += products[np.triu_indices(features)]
        totals[self._pairs :] += (sums * self.unit).reshape(-1)

    def _features(self, block: Block) -> Iterator[tuple[slice, NDArray[np.float64] | Integers]]:
        """Some rows at a time, with their numbers.

        As floats, where rows count once: sums of so few products stay below 2**53, so that they are exact in any order.
        """
        kind = np.float64 if block.multiplicity is None else np.int64
        for start in range(0, block.length, ROWS_AT_ONCE):
            rows = slice(start, min(block.length, start + ROWS_AT_ONCE))
            parts = [
                own.astype(kind)[block.columns[name][rows]]
                for name, own in zip(self.columns, self.numbers, strict=True)
            ]
            yield rows, np.hstack([np.zeros((rows.stop - rows.start, 0), dtype=kind), *parts])
