"""Kernels over a grid: counts per region of public partitions, Haar coefficients, counts inside a box.

A grid is made of one or more columns; its cells are numbered in row-major order of their codes. What these kernels give
falls into *levels*: in each, a row changes one number, by one. So each level may have noise of its own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import product
from typing import TypeVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import ANY_WHOLE, Integers, Sides, int64_arrays, int64s, names, wholes
from jostle.tables.kernels import Counts, DenseKernel, checked_cells
from jostle.tables.schema import Schema, may_be_blank

Starts = Integers
Number = TypeVar("Number", np.int64, np.float64)


MOST_SIDES = 16
"""A grid of more columns is not transformed, nor cut into boxes: what there is of each grows twofold with a side."""


class LevelKernel(DenseKernel):
    """A dense kernel made of levels, in each of which a row changes one number by one."""

    columns: tuple[str, ...]

    @abstractmethod
    def sizes(self, schema: Schema) -> tuple[int, ...]:
        """How many numbers each level has."""

    def cells(self, schema: Schema) -> int:
        Counts.of(*self.columns).cells(schema)
        return checked_cells(sum(self.sizes(schema)))

    def bound(self, schema: Schema) -> int:
        """The number of levels."""
        return len(self.sizes(schema))

    def replaced(self, schema: Schema) -> int:
        """The most that all levels change by together when a row becomes another, or enters or leaves a part."""
        return sum(self.moved(schema))

    def moved(self, schema: Schema) -> tuple[int, ...]:
        """The most that each level changes, summed, when a row becomes another, or enters or leaves a part.

        A row that becomes another takes back what it added and adds anew: 2 at most. The single number of a level
        that has no more is the same for all rows, so that only entering or leaving a part changes it.
        """
        return tuple(1 if size == 1 else 2 for size in self.sizes(schema))

    def changes(self, schema: Schema) -> tuple[int, ...]:
        """The most that each level changes, summed, between neighbours of the schema's kind."""
        return self.moved(schema) if schema.neighbours == "replace_one" else (1,) * len(self.sizes(schema))


def check_sides(columns: tuple[str, ...]) -> None:
    """Refuse a grid of too many columns."""
    if len(columns) > MOST_SIDES:
        raise TableError(f"a grid of {len(columns)} columns is asked about, and at most {MOST_SIDES} are looked at")


def _grid_counts(block: Block, schema: Schema, columns: tuple[str, ...]) -> Integers:
    counts = np.zeros(schema.size(*columns), dtype=np.int64)
    Counts.of(*columns).add(block, schema, counts)
    return counts


@frozen(eq=False)
class Regions(LevelKernel):
    """How many rows fall in each region, for one or more partitions of a grid.

    The cells are put in a public order; each partition cuts that into runs. Every cell stands in the order once and
    every run begins where the one before ends, so a row is in one region of each partition.
    """

    columns: tuple[str, ...] = field(converter=names)
    order: Integers = field(converter=int64s, validator=Sides(1))
    """The cells' numbers, each once."""
    starts: tuple[Starts, ...] = field(converter=int64_arrays, validator=Sides(1))
    """For each partition, the places in the order where its regions begin, rising from 0."""

    def sizes(self, schema: Schema) -> tuple[int, ...]:
        cells = schema.size(*self.columns)
        if len(self.order) != cells or not _each_once(self.order):
            raise TableError("the order of a grid's cells does not hold each cell once")
        for starts in self.starts:
            if not len(starts) or starts[0] != 0 or starts[-1] >= cells or np.any(starts[1:] <= starts[:-1]):
                raise TableError("the regions of a grid do not begin one after the other, from the first cell on")
        return tuple(map(len, self.starts))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        counts = _grid_counts(block, schema, self.columns)[self.order]
        totals += np.concatenate([np.add.reduceat(counts, starts) for starts in self.starts])


MOST_HELD = 2**24
"""Cells of a grid whose order is held as an array."""


def rows_with(names: tuple[str, ...], schema: Schema) -> Counts | Regions:
    """The kernel of one cell that counts the rows with a value in all of some columns.

    Where their combinations are too many to be laid out, it counts all rows.
    """
    blanks = tuple(sorted(may_be_blank(schema, names)))
    if schema.size(*blanks) > MOST_HELD:
        return Counts.of()
    return Regions(blanks, np.arange(schema.size(*blanks)), (np.zeros(1, dtype=np.int64),)) if blanks else Counts.of()


def _each_once(places: Integers) -> bool:
    """Whether these are 0 .. n-1 in some order."""
    count = len(places)
    return bool(places.min() >= 0 and places.max() < count and np.all(np.bincount(places, minlength=count) == 1))


def haar_side(size: int) -> int:
    """The power of two that a side of a grid is filled up to with empty cells."""
    return 1 << (size - 1).bit_length()


def haar(counts: Integers, axis: int) -> Integers:
    """The whole-numbered Haar transform along an axis whose length is a power of two.

    First the sum of all, then for each halving, coarsest first, the sum of each left half less that of its right half.
    """
    moved = np.moveaxis(counts, axis, 0)
    levels: list[Integers] = []
    while len(moved) > 1:
        left, right = moved[0::2], moved[1::2]
        levels.append(left - right)
        moved = left + right
    levels.append(moved)
    return np.moveaxis(np.concatenate(levels[::-1]), 0, axis)


@frozen(eq=False)
class Haar(LevelKernel):
    """The Haar coefficients of a grid, sides filled up to powers of two.

    Along one axis a row is in the sum of all and, for each halving, in one of the differences, with a sign: so its
    column has one entry of 1 or -1 for each. In several dimensions the transform is applied along each axis in turn,
    and the column is the outer product of the axes' columns: one entry of 1 or -1 per combination of levels. A level
    here is such a combination, in row-major order of the axes' levels; its numbers stand in row-major order as well.
    """

    columns: tuple[str, ...] = field(converter=names)

    def blocks(self, schema: Schema) -> tuple[tuple[slice, ...], ...]:
        """For each level which coefficients along each axis it takes."""
        check_sides(self.columns)
        ranges = []
        for name in self.columns:
            side = haar_side(schema[name].size)
            ranges.append([slice(0, 1)] + [slice(1 << depth, 2 << depth) for depth in range(side.bit_length() - 1)])
        return tuple(product(*ranges))

    def sizes(self, schema: Schema) -> tuple[int, ...]:
        return tuple(math.prod(part.stop - part.start for part in block) for block in self.blocks(schema))

    def moved(self, schema: Schema) -> tuple[int, ...]:
        """1 for the sum of all and 2 for others: even a single difference changes sign with the row's half."""
        return (1, *(2 for _ in self.blocks(schema)[1:]))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        shape = tuple(schema[name].size for name in self.columns)
        sides = tuple(map(haar_side, shape))
        grid = np.zeros(sides, dtype=np.int64)
        grid[tuple(map(slice, shape))] = _grid_counts(block, schema, self.columns).reshape(shape)
        for axis in range(len(sides)):
            grid = haar(grid, axis)
        totals += np.concatenate([grid[part].ravel() for part in self.blocks(schema)])


@frozen
class Box(LevelKernel):
    """How many rows lie in a box of a grid: a range of codes, low <= code < high, in each column."""

    columns: tuple[str, ...] = field(converter=names)
    low: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    high: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)

    def sizes(self, schema: Schema) -> tuple[int, ...]:
        if not len(self.columns) == len(self.low) == len(self.high):
            raise TableError(f"a box in {len(self.columns)} columns has {len(self.low)} and {len(self.high)} ends")
        for name, low, high in zip(self.columns, self.low, self.high, strict=True):
            if not 0 <= low < high <= schema[name].size:
                raise TableError(f"a box from {low} to {high} does not lie in the {schema[name].size} bins of {name!r}")
        return (1,)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        inside = np.ones(block.length, dtype=np.bool_)
        for name, low, high in zip(self.columns, self.low, self.high, strict=True):
            codes = block.columns[name]
            inside &= (codes >= low) & (codes < high)
        totals[0] += block.count(inside)


def box_sums(grid: NDArray[Number], low: Integers, high: Integers) -> NDArray[Number]:
    """The sum of the grid's cells in each box, by a summed-area table; exact for whole numbers."""
    table = np.zeros([side + 1 for side in grid.shape], dtype=grid.dtype)
    table[(slice(1, None),) * grid.ndim] = grid
    for axis in range(grid.ndim):
        np.cumsum(table, axis=axis, out=table)
    total: NDArray[Number] = np.zeros(len(low), dtype=grid.dtype)
    for corner in range(1 << grid.ndim):
        lows = [bool(corner >> axis & 1) for axis in range(grid.ndim)]
        index = tuple((low if at_low else high)[:, axis] for axis, at_low in enumerate(lows))
        total += (-1) ** sum(lows) * table[index]
    return total
