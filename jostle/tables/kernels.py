"""Kernels: what may be asked of rows, as values that say what one row can add.

A kernel sends each row, by itself, to whole numbers that are added up over all rows: dense (an array with one number per
cell of a public domain) or sparse (the occupied cells' keys, sorted, with their counts). `bound` is the most that one row
adds, summed over all cells; what a row would add beyond it is cut off, so the bound holds for any data.

This is the whole list. Kernels are descriptions, not functions of a caller's making: nobody outside `jostle.tables` ever
runs code on rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
from attrs import field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.schema import Schema

__all__ = [
    "KERNELS",
    "Counts",
    "DenseKernel",
    "Kernel",
    "Marks",
    "SparseCounts",
    "SparseTally",
    "Sums",
    "check_kernel",
    "clip_rows",
]

MOST_CELLS = 2**31
"""More numbers than this are not held at once: 16 GB of them."""
LARGEST_KEY = 2**63


def _names(group: str | Iterable[str]) -> tuple[str, ...]:
    return (group,) if isinstance(group, str) else tuple(group)


def _integers(weights: Iterable[int]) -> tuple[int, ...]:
    return tuple(map(int, weights))


def _groups(groups: Iterable[str | Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(_names(group) for group in groups)


class DenseKernel(ABC):
    """A kernel with one number per cell of a public domain."""

    @abstractmethod
    def cells(self, schema: Schema) -> int:
        """Return how many numbers it gives."""

    @abstractmethod
    def bound(self, schema: Schema) -> int:
        """Return the most one row adds, summed over all cells."""

    @abstractmethod
    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""

    def replaced(self, schema: Schema) -> int:
        """Return the most that all cells change, summed, when a row becomes another, or enters or leaves a part."""
        return 2 * self.bound(schema)


@frozen
class Counts(DenseKernel):
    """How many rows there are for each combination of codes, for one or more groups of columns.

    The empty group counts all rows. Groups stand one after the other, each in row-major order of its columns.
    """

    groups: tuple[tuple[str, ...], ...] = field(converter=_groups)

    @classmethod
    def of(cls, *columns: str) -> Counts:
        """Return the kernel for one group."""
        return cls((columns,))

    def cells(self, schema: Schema) -> int:
        """Return how many combinations there are in all groups together."""
        return _checked_cells(sum(schema.size(*group) for group in self.groups))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """Return the number of groups: a row adds one to each."""
        return len(self.groups)

    def replaced(self, schema: Schema) -> int:
        """Return 2 per group, but 1 where the group has a single cell, which a row is in or not."""
        return sum(1 if schema.size(*group) == 1 else 2 for group in self.groups)

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        wide: dict[str, NDArray[np.intp]] = {}
        start = 0
        for group in self.groups:
            keys = np.zeros(block.length, dtype=np.intp) if not group else None
            for name in group:
                if name not in wide:
                    wide[name] = block.columns[name].astype(np.intp)
                keys = wide[name] if keys is None else keys * schema[name].size + wide[name]
            size = schema.size(*group)
            if keys is not None:
                _add_up(keys, block.multiplicity, totals[start : start + size])
            start += size


@frozen
class Sums(DenseKernel):
    """The sum of a public whole number per code of a column, for each combination of codes of other columns."""

    column: str
    weights: tuple[int, ...] = field(converter=_integers)
    """What each code of the column counts for."""
    most: int = field(validator=ge(1))
    """The most that one row may add, either way; what exceeds it is cut off."""
    by: tuple[str, ...] = field(default=(), converter=_names)

    def cells(self, schema: Schema) -> int:
        """Return how many combinations of the columns in *by* there are."""
        if len(self.weights) != schema[self.column].size:
            raise TableError(f"{len(self.weights)} weights for the {schema[self.column].size} codes of {self.column!r}")
        return _checked_cells(schema.size(*self.by))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """Return the most one row adds."""
        return self.most

    def replaced(self, schema: Schema) -> int:
        """Return how far two rows' numbers can be apart; for a single cell, the span between the extremes."""
        span = np.clip(self.weights, -self.most, self.most)
        spread = int(span.max()) - int(span.min())
        return max(spread, int(np.abs(span).max())) if schema.size(*self.by) == 1 else 2 * self.most

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        values = np.array(self.weights, dtype=np.int64)[block.columns[self.column]]
        values = clip_rows(values[:, None], self.most)[:, 0]
        keys = np.zeros(block.length, dtype=np.intp)
        for name in self.by:
            keys = keys * schema[name].size + block.columns[name]
        if block.multiplicity is not None:
            values = values * block.multiplicity
        np.add.at(totals, keys, values)


@frozen
class Marks(DenseKernel):
    """For each of many columns, how many rows have a given code there; a row marks at most so many columns.

    A row with more marks keeps the first ones in the order of the columns: which, depends on that row alone.
    """

    columns: tuple[str, ...] = field(converter=_names)
    code: int = 1
    most: int = field(default=1, validator=ge(1))

    def cells(self, schema: Schema) -> int:
        """Return one cell per column."""
        for name in self.columns:
            if not 0 <= self.code < schema[name].size:
                raise TableError(f"column {name!r} has no code {self.code}")
        return len(self.columns)

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """Return the most columns one row marks."""
        return min(self.most, len(self.columns))

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        marks = np.stack([block.columns[name] == self.code for name in self.columns], axis=1).astype(np.int64)
        marks = clip_rows(marks, self.bound(schema))
        if block.multiplicity is not None:
            marks *= block.multiplicity[:, None]
        totals += marks.sum(axis=0)


@frozen(eq=False, repr=False)
class SparseTally:
    """Occupied cells only. Which ones they are is as private as their counts: for the noise to hide, not to release."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]

    def merged(self, other: SparseTally) -> SparseTally:
        """Return the sum of two tallies."""
        keys, where = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return SparseTally(keys, counts)


@frozen
class SparseCounts:
    """How many rows there are for each combination of codes, occupied combinations only; up to 2**63 of them."""

    columns: tuple[str, ...] = field(converter=_names)

    def cells(self, schema: Schema) -> int:
        """Return how many combinations there are, occupied or not."""
        size = schema.size(*self.columns)
        if size > LARGEST_KEY:
            raise TableError(f"{size:.3g} combinations of {len(self.columns)} columns do not fit 63 bits")
        return size

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """Return 1: a row is in one cell."""
        return 1

    def replaced(self, schema: Schema) -> int:
        """Return 2: a row leaves one cell and enters another."""
        return 1 if schema.size(*self.columns) == 1 else 2

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        """Return the block's occupied cells."""
        keys = np.zeros(block.length, dtype=np.int64)
        for name in self.columns:
            keys = keys * schema[name].size + block.columns[name].astype(np.int64)
        if block.multiplicity is None:
            return SparseTally(*np.unique(keys, return_counts=True))
        occupied = block.multiplicity > 0
        return SparseTally(keys[:0], keys[:0]).merged(SparseTally(keys[occupied], block.multiplicity[occupied]))


Kernel = DenseKernel | SparseCounts

KERNELS: set[type] = {Counts, Sums, Marks, SparseCounts}
"""The kernels that may run on rows. A subclass of one is not one of them."""


def check_kernel(kernel: Kernel) -> None:
    """Refuse anything that is not exactly one of the kernels above."""
    if type(kernel) not in KERNELS:
        raise TableError(
            f"{type(kernel).__name__} is not a kernel",
            why="only code inside jostle.tables runs on rows",
            fix=f"one of {', '.join(sorted(known.__name__ for known in KERNELS))}",
        )


def clip_rows(values: NDArray[np.int64], bound: int) -> NDArray[np.int64]:
    """Return *values* (rows by cells) with each row's sum of magnitudes cut off at *bound*, later cells first."""
    magnitudes = np.abs(values)
    before = np.cumsum(magnitudes, axis=1) - magnitudes
    clipped: NDArray[np.int64] = np.sign(values) * np.minimum(magnitudes, np.maximum(bound - before, 0))
    return clipped


def _checked_cells(cells: int) -> int:
    if cells > MOST_CELLS:
        raise TableError(
            f"{cells:,} cells are more than the {MOST_CELLS:,} that are held at once",
            fix="use fewer columns or bins, or a sparse histogram",
        )
    return cells


def _add_up(keys: NDArray[np.intp], multiplicity: NDArray[np.int64] | None, totals: NDArray[np.int64]) -> None:
    if multiplicity is None:
        if len(totals) > 4 * len(keys):  # a pass over all cells would cost more than one over the rows
            np.add.at(totals, keys, 1)
        else:
            totals += np.bincount(keys, minlength=len(totals))
    else:
        np.add.at(totals, keys, multiplicity)
