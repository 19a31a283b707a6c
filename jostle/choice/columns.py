"""Grids from the columns of public tables: real shapes, of which there are far more than there are public grids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from numpy.typing import NDArray

from jostle.choice.corpus import Corpus
from jostle.choice.databases import PublicGrid, PublicTable
from jostle.errors import CorpusError

__all__ = ["grids_of"]

LEAST_DIFFERENT = 40
"""Columns with fewer different numbers make poor grids: nearly all cells are empty for ever."""
SIDES = {1: (1024,), 2: (64, 64)}


@frozen
class ColumnCells:
    """Rows of a public table, counted by one or more columns of numbers, each cut into so many equal parts."""

    table: PublicTable
    columns: tuple[str, ...]
    shape: tuple[int, ...]

    def __hash__(self) -> int:
        return hash((self.table.name, self.columns, self.shape))

    def read(self) -> NDArray[np.int64]:
        """Return the counts of rows that have a number in every column."""
        values = np.stack([_numbers(self.table.columns[name]) for name in self.columns], axis=1)
        whole = values[np.isfinite(values).all(axis=1)]
        if not len(whole):
            raise CorpusError(f"no row of {self.table.name} has a number in each of {', '.join(self.columns)}")
        counts, _ = np.histogramdd(whole, bins=self.shape)
        return counts.astype(np.int64)


def grids_of(tables: Iterable[PublicTable], axes: int, *, each: int = 1) -> Corpus:
    """Return grids of the columns with the most different numbers, at most so many for each table.

    They have the groups of their tables: the same people are in them.
    """
    if axes not in SIDES:
        raise CorpusError(f"columns make grids of 1 or 2 axes, not {axes}")
    return Corpus([grid for table in tables for grid in _grids(table, axes, each)])


def _grids(table: PublicTable, axes: int, each: int) -> Iterator[PublicGrid]:
    wide = _wide(table)
    for start in range(0, min(each * axes, len(wide) - axes + 1), axes):
        columns = tuple(wide[start : start + axes])
        name = f"{table.name}: {' by '.join(columns)}"
        yield PublicGrid(name, ColumnCells(table, columns, SIDES[axes]), table.group)


def _wide(table: PublicTable) -> list[str]:
    """Return the columns of numbers by how many different ones they have, the most first."""
    counts = {
        name: int(pc.count_distinct(table.columns[name]).as_py())
        for name in table.attributes
        if pa.types.is_floating(table.columns[name].type)
    }
    return sorted((name for name, count in counts.items() if count >= LEAST_DIFFERENT), key=lambda name: -counts[name])


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(), dtype=np.float64)
