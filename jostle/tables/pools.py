"""Pools of grids: many ways to put the codes of several columns together, all counted in one pass over the rows.

A column has *levels*, each of which sends its codes to groups; a grid takes one level of each column. Its cells are the
combinations of groups, each by class. Which cell a row is in, in each grid, depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import Component, Sides, int64_arrays, int64s, names
from jostle.tables.kernels import DenseKernel, add_up, checked_cells
from jostle.tables.schema import Schema

__all__ = ["GridCounts", "Pool"]

Integers = NDArray[np.int64]


@frozen(eq=False, repr=False)
class Pool:
    """Grids: for each, which level of each column it takes."""

    columns: tuple[str, ...] = field(converter=names)
    levels: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(2))
    """For each column, levels by codes: the group of each code, from 0 up."""
    taken: Integers = field(converter=int64s, validator=Sides(2))
    """Grids by columns: which level each takes."""

    def check(self, schema: Schema) -> None:
        """Refuse what does not fit the schema: what went wrong then would depend on rows."""
        counts = np.array([len(level) for level in self.levels], dtype=np.int64)
        fits = (
            len(self.taken) > 0
            and self.taken.shape[1] == len(self.columns) == len(self.levels) == len(set(self.columns))
            and schema.label not in self.columns
            and bool(np.all((self.taken >= 0) & (self.taken < counts)))
            and all(
                level.shape[1] == schema[name].size and bool(np.all((level >= 0) & (level < schema[name].size)))
                for name, level in zip(self.columns, self.levels, strict=True)
            )
        )
        if not fits:
            raise TableError("the grids to count do not fit the schema, or there are none")

    @property
    def sides(self) -> Integers:
        """How many groups each grid has of each column."""
        sides = np.ones(self.taken.shape, dtype=np.int64)
        for place, level in enumerate(self.levels):
            sides[:, place] = (level.max(axis=1) + 1)[self.taken[:, place]]
        return sides

    @property
    def sizes(self) -> list[int]:
        """How many cells each grid has."""
        sizes = [1] * len(self.taken)
        for column in self.sides.T.tolist():
            sizes = [size * side for size, side in zip(sizes, column, strict=True)]
        return sizes


@frozen(eq=False, repr=False)
class GridCounts(DenseKernel):
    """How many rows of each class there are in each cell of each grid of a pool, grids one after the other."""

    pool: Pool = field(validator=Component((Pool,)))

    def cells(self, schema: Schema) -> int:
        """How many cells all grids have, by class."""
        if schema.label is None:
            raise TableError("the schema names no label", fix='Schema(columns, label="...")')
        self.pool.check(schema)
        return checked_cells(sum(self.pool.sizes) * len(schema.classes))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """The number of grids: a row is in one cell of each."""
        return len(self.pool.taken)

    def replaced(self, schema: Schema) -> int:
        """Twice that, but for grids of a single cell."""
        classes = len(schema.classes)
        return max(len(self.pool.taken), 2 * sum(size * classes > 1 for size in self.pool.sizes))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""
        classes, sizes = len(schema.classes), self.pool.sizes
        labels = block.columns[schema.label or ""].astype(np.int64)
        starts = np.cumsum([0, *sizes]) * classes
        for grid, cells in self._cells(block):
            add_up(cells * classes + labels, block.multiplicity, totals[starts[grid] : starts[grid + 1]])

    def _cells(self, block: Block) -> Iterator[tuple[int, Integers]]:
        """Yield each grid's place, and which of its cells each row is in; alike grids one after the other.

        The cell by the first few columns is kept for the next grid that takes the same of these.
        """
        taken, sides = self.pool.taken, self.pool.sides
        grids = taken.tolist()
        width = len(self.pool.columns)
        grouped = {
            (place, level): self.pool.levels[place][level][block.columns[name]]
            for place, name in enumerate(self.pool.columns)
            for level in np.unique(taken[:, place]).tolist()
        }
        held: list[Integers] = [np.zeros(block.length, dtype=np.int64)] * (width + 1)
        before = [-1] * width
        for grid in sorted(range(len(grids)), key=grids.__getitem__):
            now = grids[grid]
            start = next((place for place in range(width) if now[place] != before[place]), width)
            for place in range(start, width):
                side = int(sides[grid, place])
                held[place + 1] = held[place] if side == 1 else held[place] * side + grouped[place, now[place]]
            before = now
            yield grid, held[width]
