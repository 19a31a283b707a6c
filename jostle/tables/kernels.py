"""Kernels: what may be asked of rows, as values that say what one row can add; and groups of codes to ask by.

A kernel sends each row, by itself, to whole numbers that are added up over all rows: dense (an array with one number
per cell of a public domain) or sparse (the occupied cells' keys, sorted, with their counts). `bound` is the most that
one row adds, summed over all cells; what a row would add beyond it is cut off, so the bound holds for any data.

Kernels are descriptions from a closed list (`KERNELS`), not functions of a caller's making: nobody outside
`jostle.tables` ever runs code on rows.

A kernel leaves out rows with a blank in a column that it is about; what it learns or branches by says otherwise. So a
row adds what it would add with a value there, or nothing: no bound changes. But a row that becomes another may enter or
leave the question by that: *replaced* counts it as it counts rows that enter or leave a part.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import starmap

import numpy as np
from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import ANY_WHOLE, Integers, Within, name, name_groups, names, whole, whole_groups, wholes
from jostle.tables.schema import Schema, may_be_blank

Groups = tuple[tuple[int, ...], ...]
"""For each of some columns, the group of each of its codes, from 0 up; none where each code is its own."""


def group_sides(columns: tuple[str, ...], groups: Groups, schema: Schema) -> tuple[int, ...]:
    """How many groups each column has; refuse groups that do not fit the schema."""
    if len(groups) != len(columns):
        raise TableError(f"{len(groups)} groupings for {len(columns)} columns")
    return tuple(_side(name, given, schema) for name, given in zip(columns, groups, strict=True))


def _side(name: str, groups: tuple[int, ...], schema: Schema) -> int:
    size = schema[name].size
    if not groups:
        return size
    if len(groups) != size:
        raise TableError(f"{len(groups)} groups are given for the {size} codes of {name!r}", why="each code is in one")
    if min(groups) < 0 or max(groups) >= size:
        raise TableError(f"a group of {name!r} is not one of 0 to {size - 1}")
    return max(groups) + 1


def group_keys(block: Block, columns: tuple[str, ...], groups: Groups, schema: Schema) -> Integers:
    """Each row's place among all combinations of the columns' groups, in row-major order."""
    if not any(groups):  # each code is its own group
        return block.keys(columns, schema)
    keys = np.zeros(block.length, dtype=np.int64)
    for column, given, side in zip(columns, groups, group_sides(columns, groups, schema), strict=True):
        codes = block.columns[column]
        keys *= side
        keys += np.array(given, dtype=np.int64)[codes] if given else codes.astype(np.int64)
    return keys


BLOCK_ROWS = 1 << 15
"""Rows at a time: few enough that a block's codes and keys stay in the processor's cache."""
MOST_AT_ONCE = 1 << 20
"""Rows of a block at most, for kernels that do well with more."""
MOST_CELLS = 2**31
"""More numbers than this are not held at once: 16 GB of them."""
LARGEST_KEY = 2**63
MOST_DENSE = 2**18
"""Occupied cells are looked for in an array of all of them where these are no more: which way, is a public fact."""
MOST_RECORDS = 2**33
"""Tables are not made to be larger. So many records, each adding no more than LARGEST_WEIGHT, add up within 63 bits."""
LARGEST_WEIGHT = 2**30 - 1
MOST = Within(1, LARGEST_WEIGHT)
"""What a row may add, where a kernel is told."""


class AnyKernel(ABC):
    """A question to rows, of whole numbers: what one row can add, and one that becomes another can change.

    For every row r, kernel(r) is an array of whole numbers that depends on r alone, with |kernel(r)| <= bound, summed
    over cells. The tally is the sum over rows. So a row more or less changes the tally by at most *bound*. A row that
    becomes another changes it by kernel(new) - kernel(old), and one that enters or leaves the part that is asked about
    by one of the two; *replaced* bounds all of these.
    """

    __slots__ = ()

    @property
    def of_persons(self) -> bool:
        """Whether it is asked with all rows of a person at once, since it counts persons."""
        return False

    @property
    def rows_at_once(self) -> int:
        """How many rows a block should have, where they are in memory."""
        return BLOCK_ROWS

    @abstractmethod
    def cells(self, schema: Schema) -> int:
        """How many numbers it gives; refuse what does not fit the schema."""

    @abstractmethod
    def bound(self, schema: Schema) -> int:
        """The most one row adds, summed over all cells."""

    def replaced(self, schema: Schema) -> int:
        """The most that all cells change, summed, when a row becomes another, or enters or leaves a part."""
        return 2 * self.bound(schema)


class InOneCell(AnyKernel):
    """A kernel to which a row adds 1, in one cell, or nothing.

    A row that becomes another takes 1 from a cell and adds 1 to a cell, 2 in sum; a single cell changes by 1.
    """

    __slots__ = ()

    def bound(self, schema: Schema) -> int:
        return 1

    def replaced(self, schema: Schema) -> int:
        return min(2, self.cells(schema))


class DenseKernel(AnyKernel):
    """A kernel with one number per cell of a public domain."""

    __slots__ = ()

    @abstractmethod
    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""


@frozen
class Counts(DenseKernel):
    """How many rows there are for each combination of codes, for one or more groups of columns.

    The empty group counts all rows. Groups stand one after the other, each in row-major order of its columns.
    """

    groups: tuple[tuple[str, ...], ...] = field(converter=name_groups)

    @property
    def rows_at_once(self) -> int:
        """More where no column is looked at."""
        return BLOCK_ROWS if any(self.groups) else MOST_AT_ONCE

    @classmethod
    def of(cls, *columns: str) -> Counts:
        """The kernel for one group."""
        return cls((columns,))

    def cells(self, schema: Schema) -> int:
        return checked_cells(sum(starmap(schema.size, self.groups)))

    def bound(self, schema: Schema) -> int:
        """The number of groups: a row adds one to each."""
        return len(self.groups)

    def replaced(self, schema: Schema) -> int:
        """1 per group for a row that enters or leaves, or what it moves within groups, whichever is more.

        A row that becomes another and is asked about before and after takes 1 from a cell of each group and adds 1 to
        another, or the same: a group of a single cell does not change, or by 1 where the row may have a blank there.
        """
        moved = (2 if schema.size(*group) > 1 else len(may_be_blank(schema, group)) > 0 for group in self.groups)
        return max(len(self.groups), sum(moved))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        start = 0
        for group in self.groups:
            end = start + schema.size(*group)
            if group:
                full = block.full(group, schema)
                add_up(full.keys(group, schema), full.multiplicity, totals[start:end])
            else:  # what a block holds, it knows
                totals[start] += block.records
            start = end


@frozen
class Sums(DenseKernel):
    """The sum of a public whole number per code of a column, for each combination of codes of other columns."""

    column: str = field(converter=name)
    weights: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """What each code of the column counts for."""
    most: int = field(converter=whole, validator=MOST)
    """The most that one row may add, either way; what exceeds it is cut off."""
    by: tuple[str, ...] = field(default=(), converter=names)

    def cells(self, schema: Schema) -> int:
        if len(self.weights) != schema[self.column].size:
            raise TableError(f"{len(self.weights)} weights for the {schema[self.column].size} codes of {self.column!r}")
        return checked_cells(schema.size(*self.by))

    def bound(self, schema: Schema) -> int:
        return self.most

    def replaced(self, schema: Schema) -> int:
        """How far two rows' numbers can be apart; for a single cell, the span between the extremes and zero.

        In a single cell, one row's number w becomes another's v, or 0: |w - v| is at most max - min over all weights
        and 0. In several, w may be taken from one cell and v added to another: |w| + |v| <= 2 * most.
        """
        if schema.size(*self.by) > 1:
            return 2 * self.most
        clipped = self._clipped()
        return max(*clipped, 0) - min(*clipped, 0)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        full = block.full((self.column, *self.by), schema)
        values = np.array(self._clipped(), dtype=np.int64)[full.columns[self.column]]
        add_up(full.keys(self.by, schema), full.multiplicity, totals, values)

    def _clipped(self) -> tuple[int, ...]:
        return tuple(max(-self.most, min(self.most, weight)) for weight in self.weights)


@frozen
class Marks(DenseKernel):
    """For each of many columns, how many rows have a given code there; a row marks at most so many columns.

    A row with more marks keeps the first ones in the order of the columns: which, depends on that row alone.
    """

    columns: tuple[str, ...] = field(converter=names)
    code: int = field(default=1, converter=whole, validator=ANY_WHOLE)
    most: int = field(default=1, converter=whole, validator=MOST)

    def cells(self, schema: Schema) -> int:
        for column in self.columns:
            if not 0 <= self.code < schema[column].size:
                raise TableError(f"column {column!r} has no code {self.code}")
        return checked_cells(len(self.columns))

    def bound(self, schema: Schema) -> int:
        """The most columns one row marks."""
        return min(self.most, len(self.columns))

    def replaced(self, schema: Schema) -> int:
        """Twice the bound, but no more than the number of columns: each changes by 1 at most."""
        return min(2 * self.bound(schema), len(self.columns))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        made = np.zeros(block.length, dtype=np.int64)
        for mark, column in enumerate(self.columns):
            marked = (block.columns[column] == self.code) & (made < self.most)
            made += marked
            totals[mark] += block.count(marked)


@frozen(eq=False, repr=False)
class SparseTally:
    """Occupied cells only. Which ones they are is as private as their counts: for the noise to hide, not to release."""

    keys: Integers
    counts: Integers

    @classmethod
    def empty(cls) -> SparseTally:
        """The tally of no rows."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def merged(self, other: SparseTally) -> SparseTally:
        """The sum of two tallies."""
        keys, where = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return SparseTally(keys, counts)


class SparseKernel(AnyKernel):
    """A kernel of which occupied cells alone are held, of up to 2**63."""

    __slots__ = ()

    @abstractmethod
    def tally(self, block: Block, schema: Schema) -> SparseTally:
        """The block's occupied cells."""


Kernel = DenseKernel | SparseKernel


def checked_keys(cells: int, columns: int) -> int:
    """Number of cells, unless they are more than there are keys."""
    if cells > LARGEST_KEY:
        raise TableError(
            f"the combinations of {columns} columns are more than 2**63",
            why="each has a number of 63 bits",
            fix="use fewer columns",
        )
    return cells


@frozen
class SparseCounts(InOneCell, SparseKernel):
    """How many rows there are for each combination of codes, or of groups of codes, occupied combinations only."""

    columns: tuple[str, ...] = field(converter=names)
    groups: Groups = field(default=(), converter=whole_groups, validator=ANY_WHOLE)
    """For each column, the group of each of its codes, from 0 up; none where each code is its own; empty for all."""

    def cells(self, schema: Schema) -> int:
        sides = group_sides(self.columns, self.groups, schema) if self.groups else map(schema.size, self.columns)
        return checked_keys(math.prod(sides), len(self.columns))

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        full = block.full(self.columns, schema)
        return occupied(group_keys(full, self.columns, self.groups, schema), full.multiplicity, self.cells(schema))


def occupied(keys: Integers, multiplicity: Integers | None, cells: int) -> SparseTally:
    """How many records have each of the keys that there are."""
    if cells <= MOST_DENSE:
        totals = np.zeros(cells, dtype=np.int64)
        add_up(keys, multiplicity, totals)
        found = np.flatnonzero(totals)
        return SparseTally(found, totals[found])
    if multiplicity is None:
        return SparseTally(*np.unique(keys, return_counts=True))
    there = multiplicity > 0
    return SparseTally.empty().merged(SparseTally(keys[there], multiplicity[there]))


def checked_cells(cells: int) -> int:
    """Number of cells, unless there are none or too many."""
    if not cells:
        raise TableError("the kernel has no cells", fix="name at least one column, or a group of none for all rows")
    if cells > MOST_CELLS:
        raise TableError(
            f"{cells:,} cells are more than the {MOST_CELLS:,} that are held at once",
            fix="use fewer columns or bins, or a sparse histogram",
        )
    return cells


def add_up(
    keys: Integers,
    multiplicity: Integers | None,
    totals: Integers,
    values: Integers | int = 1,
) -> None:
    """Add to each key's total what records add that have it: 1, or values of their own.

    There is one way of doing it, for any number of rows: one that were taken for some only, and failed, would tell how
    many there are.
    """
    np.add.at(totals, keys.astype(np.intp, copy=False), values if multiplicity is None else values * multiplicity)
