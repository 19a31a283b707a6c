"""Joints: a few fine grids that are counted in place of many, whose counts are sums of theirs.

Grids of one pool lie inside each other in many ways: one that takes a coarser level of a column than another, or leaves
the column out, has for each of its cells some cells of the other. So each row is counted in a few joints, and the
counts of all grids are added up from cells, of which there are fewer than rows. Which joints there are follows from the
pool and the schema alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from jostle.tables.block import code_type
from jostle.tables.engines import Partial
from jostle.tables.kernels import Kernel
from jostle.tables.pools import GridCounts, Pool
from jostle.tables.schema import Schema

Integers = NDArray[np.int64]

LEAST_JOINT = 2**15
"""A joint may have so many cells, or as many as the largest grid."""
MOST_HELD = 2**24
"""Beyond so many cells of all joints together, none is made larger than a grid that is asked for."""


MOST_KEPT = 2**26
"""Bytes of counts that are kept for grids that are asked for again."""


@frozen(eq=False, repr=False)
class Joints:
    """What is counted in place of a pool, and how the pool's counts come of it."""

    asked: Pool
    counted: Pool
    """The joints. A column where a row may be blank has one more group for that."""
    within: Integers
    """For each grid that is asked for, the joint that it is added up from."""

    def added_up(self, tally: Integers) -> Integers:
        """The counts of all grids that are asked for, one after the other."""
        ends = np.cumsum(self.asked.sizes)
        found = np.zeros(int(ends[-1]), dtype=np.int64)
        starts = ends - self.asked.sizes
        sides, begins = self.counted.sides, np.cumsum([0, *self.counted.sizes])
        by_joint = np.argsort(self.within, kind="stable")
        bounds = np.searchsorted(self.within[by_joint], np.arange(len(self.counted.taken) + 1))
        steps = _Steps(self)
        for joint in range(len(self.counted.taken)):
            axes = np.flatnonzero(self.counted.taken[joint] >= 0)
            grids = by_joint[bounds[joint] : bounds[joint + 1]]
            levels = self.asked.taken[grids][:, axes]
            order = np.lexsort(levels.T[::-1]) if len(axes) else np.arange(len(grids))
            held = [tally[begins[joint] : begins[joint + 1]]] * (len(axes) + 1)
            before = [-2] * len(axes)
            finest = self.counted.taken[joint, axes].tolist()
            own = sides[joint, axes].tolist()
            for grid, now in zip(grids[order].tolist(), levels[order].tolist(), strict=True):
                first = next((place for place, level in enumerate(now) if level != before[place]), len(axes))
                before = now
                groups = held[first].size // int(np.prod(own[first:], dtype=np.int64))
                for place in range(first, len(axes)):
                    cells = held[place].reshape(groups, own[place], -1)
                    summed = steps.summed(cells, int(axes[place]), finest[place], now[place])
                    groups *= summed.shape[1]
                    held[place + 1] = summed
                found[starts[grid] : ends[grid]] = held[-1].ravel()
        return found


class _Steps:
    """How the groups of a finer level are put together to those of a coarser one, worked out once each."""

    def __init__(self, joints: Joints) -> None:
        self._fine, self._coarse = joints.counted.levels, joints.asked.levels
        self._known: dict[tuple[int, int, int], tuple[Integers | slice, Integers, Integers | None, int]] = {}

    def summed(self, cells: Integers, column: int, fine: int, coarse: int) -> Integers:
        """Of counts whose middle axis is a column's finer groups, those by its coarser ones; by none, their sum."""
        if coarse < 0:
            whole: Integers = cells.sum(axis=1, keepdims=True)
            return whole
        key = column, fine, coarse
        if key not in self._known:
            self._known[key] = self._step(*key)
        order, begins, there, side = self._known[key]
        taken = cells[:, order]
        summed = taken if len(begins) == taken.shape[1] else np.add.reduceat(taken, begins, axis=1)
        if there is None:
            return summed
        spread = np.zeros((len(cells), side, cells.shape[2]), dtype=np.int64)
        spread[:, there] = summed
        return spread

    def _step(self, column: int, fine: int, coarse: int) -> tuple[Integers | slice, Integers, Integers | None, int]:
        """Which finer groups, in order of the coarser ones; where these begin, which there are, and how many."""
        to = self._coarse[column][coarse]
        from_ = self._fine[column][fine][: len(to)]  # without what stands for a blank: it is in none
        group = np.full(int(self._fine[column][fine].max()) + 1, -1, dtype=np.int64)
        group[from_] = to
        order = np.argsort(group, kind="stable")
        order = order[np.count_nonzero(group < 0) :]
        there, begins = np.unique(group[order], return_index=True)
        side = int(to.max()) + 1
        in_order = bool(np.all(order == np.arange(len(order))))
        return slice(0, len(order)) if in_order else order, begins, None if len(there) == side else there, side


@lru_cache(maxsize=1)  # a score is asked for its kernel several times in a row
def joints(pool: Pool, schema: Schema) -> Joints:
    """The joints of a pool that fits the schema."""
    blanks = [schema[name].blank is not None for name in pool.columns]
    nested = [_nested(own) for own in pool.levels]
    ranks = np.full_like(pool.taken, -1)
    widths = np.ones((len(nested), 1 + max((len(levels) for levels, _ in nested), default=0)))
    for place, ((levels, rank), blank) in enumerate(zip(nested, blanks, strict=True)):
        about = pool.taken[:, place] >= 0
        ranks[about, place] = rank[pool.taken[about, place]]
        widths[place, 1 : 1 + len(levels)] = levels.max(axis=1) + 1 + blank
    taken, within = _joined(ranks, widths, max(LEAST_JOINT, *pool.sizes))
    counted = [_with_blank(levels) if blank else levels for (levels, _), blank in zip(nested, blanks, strict=True)]
    return Joints(pool, Pool(pool.columns, tuple(counted), taken), within)


def _nested(levels: Integers) -> tuple[Integers, Integers]:
    """Levels of which each splits groups of the one before it, and which of them each of those given lies within."""
    order = np.argsort(levels.max(axis=1), kind="stable") if levels.size else np.arange(len(levels))
    ranked = levels[order]
    if all(_splits(fine, coarse) for coarse, fine in pairwise(ranked)):
        return ranked, np.argsort(order)
    together = np.unique(levels, axis=1, return_inverse=True)[1].reshape(1, -1)
    return together, np.zeros(len(levels), dtype=np.int64)


def _splits(fine: Integers, coarse: Integers) -> bool:
    """Whether each of the finer groups lies in one of the coarser ones."""
    above = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    above[fine] = coarse
    return bool(np.array_equal(above[fine], coarse))


def _with_blank(levels: Integers) -> Integers:
    """The levels with one more code, a group by itself."""
    return np.concatenate([levels, levels.max(axis=1, initial=-1, keepdims=True) + 1], axis=1)


def _joined(ranks: Integers, widths: NDArray[np.float64], most: int) -> tuple[Integers, Integers]:
    """The level that each joint of at most so many cells takes of each column, and the joint each grid lies within.

    Larger grids come first. Each goes into the joint that it makes wider by the least factor, or is one of its own.
    """
    sizes = np.prod(widths[np.arange(len(widths)), ranks + 1], axis=1)
    made, cells = np.full_like(ranks, -1), np.zeros(len(ranks))
    within = np.zeros(len(ranks), dtype=np.int64)
    count, held = 0, 0.0
    for grid in np.argsort(-sizes, kind="stable").tolist():
        about = np.flatnonzero(ranks[grid] >= 0)
        now = made[:count, about]
        joined = np.maximum(now, ranks[grid, about])
        wider = np.prod(widths[about, joined + 1] / widths[about, now + 1], axis=1)
        grown = wider * cells[:count]
        wider[(wider > 1) & ((grown > most) | (held - cells[:count] + grown > MOST_HELD))] = np.inf
        best = int(np.argmin(wider)) if count else 0
        if count == 0 or np.isinf(wider[best]):
            best, count = count, count + 1
            made[best], cells[best] = ranks[grid], sizes[grid]
            held += sizes[grid]
        else:
            held += grown[best] - cells[best]
            made[best, about], cells[best] = joined[best], grown[best]
        within[grid] = best
    return made[:count], within


@define(eq=False, repr=False)
class KeptCounts:
    """Counts of grids among some rows, which do not change: who picks a column after the other asks for most again."""

    _by_grid: dict[tuple[tuple[str, bytes], ...], NDArray[np.unsignedinteger]] = field(factory=dict, init=False)
    """By the columns that a grid is about, in order, and the group of each of their codes."""
    _bytes: int = field(default=0, init=False)

    def tally(self, kernel: GridCounts, tally: Callable[[Kernel], Partial]) -> Integers:
        """The kernel's tally, of which no grid is counted that was before."""
        pool = kernel.pool
        levels = [
            [(name, level.tobytes()) for level in own] for name, own in zip(pool.columns, pool.levels, strict=True)
        ]
        keys = [
            tuple(own[level] for own, level in zip(levels, taken, strict=True) if level >= 0)
            for taken in pool.taken.tolist()
        ]
        new = [key not in self._by_grid for key in keys]
        counted = np.asarray(tally(GridCounts(evolve(pool, taken=pool.taken[new]))) if any(new) else [], dtype=np.int64)
        found: list[NDArray[np.integer]] = []
        start = 0
        for key, size, is_new in zip(keys, pool.sizes, new, strict=True):
            if is_new:
                found.append(counted[start : start + size])
                start += size
                self._keep(key, found[-1])
            else:
                found.append(self._by_grid[key])
        return np.concatenate(found, dtype=np.int64)

    def _keep(self, key: tuple[tuple[str, bytes], ...], counts: Integers) -> None:
        narrow = counts.astype(code_type(int(counts.max()) + 1))
        if self._bytes + narrow.nbytes <= MOST_KEPT:
            self._by_grid[key] = narrow
            self._bytes += narrow.nbytes
