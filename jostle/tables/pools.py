"""Kernels that count by many groups of codes in one pass: pools of grids, refinements, stacks of tallies.

*Pools* are of grids: ways to put the codes of several columns together. A column has *levels*, each of which sends its
codes to groups; a grid is about some columns, and takes one level of each. Its cells are the combinations of groups.
Which cell a row is in, in each grid, depends on that row alone.

*Stacks* are of grouped, conditioned, weighted tallies. A *layer* counts rows, or sums a public whole number per code,
for each combination of groups of codes, among the rows that meet a condition. Which cell a row falls into, and what it
adds there, depends on that row alone; it falls into at most one cell of each layer. A stack puts layers one after the
other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block, Codes, Where, code_type
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
        for place, (column, levels) in enumerate(zip(self.pool.columns, self.pool.levels, strict=True)):
            codes = block.columns[column]
            keep = block.filled((column,), schema) if levels.shape[1] == schema[column].size else None
            if keep is not None:
                filled[place], codes = keep, np.where(keep, codes, 0)
            for level in np.unique(taken[:, place]).tolist():
                if level >= 0:
                    grouped[place, level] = levels[level].astype(kind).take(codes)
        starts = np.cumsum([0, *sizes])
        width = len(self.pool.columns)
        held = [np.zeros(block.length, dtype=kind)] * (width + 1)
        before = [-1] * width
        for grid in np.lexsort((np.zeros(len(taken)), *taken.T[::-1])).tolist():
            now = taken[grid].tolist()
            first = next((column for column in range(width) if now[column] != before[column]), width)
            for place in range(first, width):
                cut = now[place] >= 0
                held[place + 1] = (
                    held[place] * kind.type(sides[grid, place]) + grouped[place, now[place]] if cut else held[place]
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
