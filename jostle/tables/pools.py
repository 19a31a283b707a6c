"""Kernels that count by many groups of codes in one pass: pools of grids, refinements, stacks of tallies.

*Pools* are of grids: ways to put the codes of several columns together. A column has *levels*, each of which sends its
codes to groups; a grid is about some columns, and takes one level of each. Its cells are the combinations of groups.
Which cell a row is in, in each grid, depends on that row alone.

*Joints* are a few fine grids that are counted in place of many. Grids of one pool lie inside each other in many ways:
one that takes a coarser level of a column than another, or leaves the column out, has for each of its cells some cells
of the other. So each row is counted in a few joints, and the counts of all grids are added up from cells, of which
there are fewer than rows. Which joints there are follows from the pool and the schema alone.

*Stacks* are of grouped, conditioned, weighted tallies. A *layer* counts rows, or sums a public whole number per code,
for each combination of groups of codes, among the rows that meet a condition. Which cell a row falls into, and what it
adds there, depends on that row alone; it falls into at most one cell of each layer. A stack puts layers one after the
other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block, Codes, Where, code_type
from jostle.tables.engines import Partial
from jostle.tables.fields import (
    ANY_WHOLE,
    Component,
    Components,
    Sides,
    Within,
    conditions,
    int64_arrays,
    int64s,
    listed,
    name,
    names,
    optional_name,
    truth,
    whole_groups,
    wholes,
)
from jostle.tables.kernels import (
    BLOCK_ROWS,
    LARGEST_WEIGHT,
    DenseKernel,
    Groups,
    Kernel,
    SparseKernel,
    SparseTally,
    add_up,
    checked_cells,
    checked_keys,
    group_keys,
    group_sides,
    occupied,
)
from jostle.tables.persons import PersonCount, check_persons
from jostle.tables.schema import Schema

Integers = NDArray[np.int64]


@frozen(eq=False, repr=False)
class Pool:
    """Grids: for each, which columns it is about, and which level of each it takes."""

    columns: tuple[str, ...] = field(converter=names)
    levels: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(2))
    """For each column, levels by codes: the group of each code, from 0 up. After the codes, where a row may be blank in
    the column, there may be the group of those that are; else they are in no grid that is about the column."""
    taken: Integers = field(converter=int64s, validator=Sides(2))
    """Grids by columns: which level each takes, or -1 where it is not about the column."""

    def check(self, schema: Schema) -> None:
        """Refuse what does not fit the schema: what went wrong then would depend on rows."""
        counts = np.array([len(level) for level in self.levels], dtype=np.int64)
        fits = (
            len(self.taken) > 0
            and self.taken.shape[1] == len(self.columns) == len(self.levels) == len(set(self.columns))
            and bool(np.all((self.taken >= -1) & (self.taken < counts)))
            and all(
                0 <= level.shape[1] - schema[name].size <= (schema[name].blank is not None)
                and bool(np.all((level >= 0) & (level < level.shape[1])))
                for name, level in zip(self.columns, self.levels, strict=True)
            )
        )
        if not fits:
            raise TableError("the grids to count do not fit the schema, or there are none")

    @property
    def sides(self) -> Integers:
        """How many groups each grid has of each column; 1 where it is not about it."""
        sides = np.ones(self.taken.shape, dtype=np.int64)
        for column, level in enumerate(self.levels):
            sides[:, column] = np.append(level.max(axis=1, initial=0) + 1, 1)[self.taken[:, column]]
        return sides

    @property
    def sizes(self) -> list[int]:
        """How many cells each grid has."""
        sizes = [1] * len(self.taken)
        for column in self.sides.T.tolist():
            sizes = [size * side for size, side in zip(sizes, column, strict=True)]
        return sizes


WIDEST_BLOCK = 2**18
"""Rows that are looked at together, however many cells there are."""
ADDED_AT_ONCE = 2**16
"""Rows that are added to one grid together: their keys stay in the processor's cache."""


@frozen(eq=False, repr=False)
class GridCounts(DenseKernel):
    """How many rows there are in each cell of each grid of a pool, grids one after the other, in row-major order."""

    pool: Pool = field(validator=Component((Pool,)))

    @property
    def rows_at_once(self) -> int:
        """More where there are many cells: for each block, those of all grids go through the processor's cache."""
        return max(BLOCK_ROWS, min(WIDEST_BLOCK, sum(self.pool.sizes)))

    def cells(self, schema: Schema) -> int:
        self.pool.check(schema)
        return checked_cells(sum(self.pool.sizes))

    def bound(self, schema: Schema) -> int:
        """The number of grids: a row is in one cell of each."""
        return len(self.pool.taken)

    def replaced(self, schema: Schema) -> int:
        """1 per grid for a row that enters or leaves, or what it moves within grids, whichever is more."""
        leaves = self._leaving(schema)
        moved = (2 if size > 1 else int(leave) for size, leave in zip(self.pool.sizes, leaves, strict=True))
        return max(len(self.pool.taken), sum(moved))

    def _leaving(self, schema: Schema) -> NDArray[np.bool_]:
        """Which grids a row is not in where it is blank in a column."""
        outside = np.array(
            [
                schema[name].blank is not None and level.shape[1] == schema[name].size
                for name, level in zip(self.pool.columns, self.pool.levels, strict=True)
            ],
            dtype=np.bool_,
        )
        leaves: NDArray[np.bool_] = np.any((self.pool.taken >= 0) & outside, axis=1)
        return leaves

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*.

        The cell by the first few columns is kept for the next grid that takes the same of these.
        """
        taken, sides, sizes = self.pool.taken, self.pool.sides, self.pool.sizes
        kind = code_type(max(sizes) + 1)  # the narrower keys are, the sooner they are worked out
        filled: dict[int, NDArray[np.bool_]] = {}
        grouped: dict[tuple[int, int], Codes] = {}
        for axis, (column, levels) in enumerate(zip(self.pool.columns, self.pool.levels, strict=True)):
            codes = block.columns[column]
            keep = block.filled((column,), schema) if levels.shape[1] == schema[column].size else None
            if keep is not None:
                filled[axis], codes = keep, np.where(keep, codes, 0)
            for level in np.unique(taken[:, axis]).tolist():
                if level >= 0:
                    grouped[axis, level] = levels[level].astype(kind).take(codes)
        starts = np.cumsum([0, *sizes])
        width = len(self.pool.columns)
        held = [np.zeros(block.length, dtype=kind)] * (width + 1)
        before = [-1] * width
        for grid in np.lexsort((np.zeros(len(taken)), *taken.T[::-1])).tolist():
            now = taken[grid].tolist()
            first = next((column for column in range(width) if now[column] != before[column]), width)
            for axis in range(first, width):
                cut = now[axis] >= 0
                held[axis + 1] = (
                    held[axis] * kind.type(sides[grid, axis]) + grouped[axis, now[axis]] if cut else held[axis]
                )
            before = now
            keys, times = held[width], block.multiplicity
            about = [filled[column] for column in range(width) if now[column] >= 0 and column in filled]
            if about:
                keep = np.logical_and.reduce(about)
                keys, times = keys[keep], None if times is None else times[keep]
            cells = totals[starts[grid] : starts[grid + 1]]
            for begin in range(0, len(keys), ADDED_AT_ONCE):
                rows = slice(begin, begin + ADDED_AT_ONCE)
                add_up(keys[rows], None if times is None else times[rows], cells)


LEAST_JOINT = 2**15
"""A joint may have so many cells, or as many as the largest grid."""
MOST_HELD = 2**24
"""Beyond so many cells of all joints together, none is made larger than a grid that is asked for."""


MOST_KEPT = 2**24
"""Cells of grids whose counts are kept, for when they are asked for again: which they are, is public."""


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
        counts = np.zeros(int(ends[-1]), dtype=np.int64)
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
                first = next((axis for axis, level in enumerate(now) if level != before[axis]), len(axes))
                before = now
                groups = held[first].size // int(np.prod(own[first:], dtype=np.int64))
                for axis in range(first, len(axes)):
                    cells = held[axis].reshape(groups, own[axis], -1)
                    summed = steps.summed(cells, int(axes[axis]), finest[axis], now[axis])
                    groups *= summed.shape[1]
                    held[axis + 1] = summed
                counts[starts[grid] : ends[grid]] = held[-1].ravel()
        return counts


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
    for index, ((levels, rank), blank) in enumerate(zip(nested, blanks, strict=True)):
        about = pool.taken[:, index] >= 0
        ranks[about, index] = rank[pool.taken[about, index]]
        widths[index, 1 : 1 + len(levels)] = levels.max(axis=1) + 1 + blank
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
    _cells: int = field(default=0, init=False)

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
        parts: list[NDArray[np.integer]] = []
        start = 0
        for key, size, is_new in zip(keys, pool.sizes, new, strict=True):
            if is_new:
                counts = counted[start : start + size]
                self._keep(key, counts)
                parts.append(counts)
                start += size
            else:
                parts.append(self._by_grid[key])
        return np.concatenate(parts, dtype=np.int64)

    def _keep(self, key: tuple[tuple[str, bytes], ...], counts: Integers) -> None:
        if self._cells + len(counts) <= MOST_KEPT:
            self._by_grid[key] = counts.astype(code_type(int(counts.max()) + 1))
            self._cells += len(counts)


@frozen
class Refinements(SparseKernel):
    """For each candidate, the rows by the base columns, the candidate and the label; candidates one after the other.

    The tally behind *k*-discernibility (Vinterbo 2012): in one pass, for each of several candidate columns, how many
    rows there are for each combination of what was chosen before, the candidate and the label. Occupied combinations
    alone are held, so it takes time in proportion to rows times candidates, however many values there are; never to
    pairs of rows.

    Columns branch here: a blank counts as the first code, so that all candidates are about the same rows, those that
    have a label.
    """

    base: tuple[str, ...] = field(converter=names)
    """What was chosen before."""
    candidates: tuple[str, ...] = field(converter=names)
    by: str = field(converter=name)
    """The label."""
    groups: Groups = field(default=(), converter=whole_groups, validator=ANY_WHOLE)
    """For each column of the base, then for each candidate, the group of each of its codes; empty for their own."""

    def cells(self, schema: Schema) -> int:
        columns = (*self.base, *self.candidates)
        if not self.candidates or self.by in columns or len(set(columns)) != len(columns):
            raise TableError(
                "the columns to choose from are none, or one of them is the label or was chosen before",
                fix="name each column once",
            )
        return checked_keys(sum(self.sizes(schema)), len(self.base) + 2)

    def sizes(self, schema: Schema) -> tuple[int, ...]:
        """How many combinations each candidate has."""
        columns = (*self.base, *self.candidates)
        sides = group_sides(columns, self.groups, schema) if self.groups else tuple(map(schema.size, columns))
        whole = math.prod(sides[: len(self.base)]) * schema[self.by].size
        return tuple(whole * side for side in sides[len(self.base) :])

    def bound(self, schema: Schema) -> int:
        """The number of candidates: a row is in one cell of each."""
        return len(self.candidates)

    def replaced(self, schema: Schema) -> int:
        """Twice that, but for candidates of a single cell."""
        return max(len(self.candidates), 2 * sum(size > 1 for size in self.sizes(schema)))

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        parts = list(self._parts(block, schema))
        keys, counts = ([part.keys for part in parts], [part.counts for part in parts])
        return SparseTally(np.concatenate(keys), np.concatenate(counts))

    def _parts(self, block: Block, schema: Schema) -> Iterator[SparseTally]:
        start, chosen = 0, len(self.base)
        block = block.having((self.by,), schema).first_for_blank((*self.base, *self.candidates), schema)
        for index, (candidate, size) in enumerate(zip(self.candidates, self.sizes(schema), strict=True)):
            groups = (*self.groups[:chosen], self.groups[chosen + index], ()) if self.groups else ()
            keys = group_keys(block, (*self.base, candidate, self.by), groups, schema)
            counted = occupied(keys, block.multiplicity, size)
            yield SparseTally(counted.keys + start, counted.counts)
            start += size


@frozen
class Layer:
    """How many rows, or what sum, for each combination of groups of codes, among some rows."""

    columns: tuple[str, ...] = field(default=(), converter=names)
    groups: tuple[tuple[int, ...], ...] = field(default=(), converter=whole_groups, validator=ANY_WHOLE)
    """For each column, the group of each of its codes, from 0 up; none where each code is its own."""
    where: Where = field(default=(), converter=conditions)
    """Only rows that meet every condition are looked at."""
    weighted: str | None = field(default=None, converter=optional_name)
    """A column whose codes have weights; without one, each row counts 1."""
    weights: tuple[int, ...] = field(default=(), converter=wholes, validator=Within(-LARGEST_WEIGHT, LARGEST_WEIGHT))
    """What each code of that column counts for, already cut off at *most*."""
    branching: tuple[str, ...] = field(default=(), converter=names)
    """Columns where a blank counts as the first code, in place of leaving its row out."""
    persons: bool = field(default=False, converter=truth)
    """Whether persons are counted, each once in every cell that a row of theirs is in; a row adds 1 to one, or 0."""

    @property
    def most(self) -> int:
        """The most that one row adds, either way."""
        return 1 if self.weighted is None else max(map(abs, self.weights))

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """How many groups each column has; refuse what does not fit the schema."""
        sides = group_sides(self.columns, self.groups, schema)
        if self.persons:
            PersonCount().cells(schema)  # refuses a schema without a person
        if self.persons and self.weighted is not None:
            raise TableError("persons have no weights", fix="count them")
        for column, codes in self.where:
            if not all(0 <= code < schema[column].size for code in codes):
                raise TableError(
                    f"column {column!r} has the codes 0 to {schema[column].size - 1}, and others are asked for"
                )
        if self.weighted is not None and len(self.weights) != schema[self.weighted].size:
            raise TableError(
                f"{len(self.weights)} weights for the {schema[self.weighted].size} codes of {self.weighted!r}"
            )
        return sides

    def cells(self, schema: Schema) -> int:
        """How many numbers it gives."""
        cells = 1
        for side in self.shape(schema):
            cells *= side
        return checked_cells(cells)

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        needed = {*self.columns, *(name for name, _ in self.where), *((self.weighted,) if self.weighted else ())}
        columns = {name: block.columns[name] for name in needed}
        kept = Block(columns, block.length, block.multiplicity, whose=block.whose).where(self.where)
        kept = kept.first_for_blank(self.branching, schema).full(needed, schema)
        keys = group_keys(kept, self.columns, self.groups, schema)
        if self.persons:
            whose = check_persons(kept.whose, schema)
            keys = np.unique(np.stack([keys, whose.codes.astype(np.int64)]), axis=1)[0]
            add_up(keys, None, totals)
            return
        weights = np.array(self.weights, dtype=np.int64)
        values = 1 if self.weighted is None else weights[kept.columns[self.weighted]]
        add_up(keys, kept.multiplicity, totals, values)


@frozen
class Stack(DenseKernel):
    """Layers one after the other, each in row-major order of its columns.

    A row adds at most `Layer.most` to one cell of each layer, so the sum of these bounds what it adds to all.
    """

    layers: tuple[Layer, ...] = field(converter=listed, validator=Components((Layer,)))

    def cells(self, schema: Schema) -> int:
        return checked_cells(sum(layer.cells(schema) for layer in self.layers))

    @property
    def of_persons(self) -> bool:
        return any(layer.persons for layer in self.layers)

    def bound(self, schema: Schema) -> int:
        """The most that a row adds to all layers."""
        return sum(layer.most for layer in self.layers)

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        start = 0
        for layer in self.layers:
            end = start + layer.cells(schema)
            layer.add(block, schema, totals[start:end])
            start = end
