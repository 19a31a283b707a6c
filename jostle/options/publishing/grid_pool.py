"""Which grids PrivPfC picks from: the smallest ones, by what is public of the columns and a released number of rows."""

from __future__ import annotations

import heapq
from functools import lru_cache

import numpy as np

from jostle.tables.pools import Pool
from jostle.tables.schema import Schema

__all__ = ["pool_of"]

MOST_COUNTED = 2**23
"""Cells of all grids together, by class: more are not counted at once."""


def pool_of(schema: Schema, most_cells: int, most_grids: int) -> Pool:
    """The grids of at most so many cells, by size, until there are so many grids; among equal ones, any.

    A grid takes one level of each attribute: its taxonomy cut at some depth, or bins put together two by two. The
    coarsest of all, a single cell, is always there.
    """
    levels = {name: schema[name].levels for name in schema.attributes}
    sides = tuple(tuple(max(level) + 1 for level in own) for own in levels.values())
    taken = _smallest(sides, max(1, most_cells), most_grids, MOST_COUNTED // max(1, len(schema.classes)))
    return Pool(
        schema.attributes,
        tuple(np.array(own, dtype=np.int64) for own in levels.values()),
        np.array(taken, dtype=np.int64).reshape(len(taken), len(sides)),
    )


@lru_cache(maxsize=64)
def _smallest(
    sides: tuple[tuple[int, ...], ...], most_cells: int, most_grids: int, most_counted: int
) -> tuple[tuple[int, ...], ...]:
    """Which level of each column the smallest grids take: a walk from the coarsest, one level finer at a time.

    A grid is come to from one other alone: the one that is coarser in its last column that is not at its coarsest.
    """
    start = (0,) * len(sides)
    waiting = [(1, 0, start, 0)]
    found: list[tuple[int, ...]] = []
    counted = 0
    while waiting and len(found) < most_grids:
        size, _, grid, last = heapq.heappop(waiting)
        counted += size
        if counted > most_counted and found:
            break
        found.append(grid)
        for place in range(last, len(sides)):
            level = grid[place] + 1
            if level < len(sides[place]):
                finer = (*grid[:place], level, *grid[place + 1 :])
                wider = size // sides[place][level - 1] * sides[place][level]
                if wider <= most_cells:
                    # The hash settles which of equally large ones come first: not the order of the columns.
                    heapq.heappush(waiting, (wider, hash(finer), finer, place))
    return tuple(found)
