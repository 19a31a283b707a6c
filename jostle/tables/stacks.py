"""Stacks: several grouped, conditioned, weighted tallies in one pass over the rows.

A *layer* counts rows, or sums a public whole number per code, for each combination of groups of codes, among the rows
that meet a condition. Which cell a row falls into, and what it adds there, depends on that row alone; it falls into at
most one cell of each layer. A stack puts layers one after the other.
"""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block, Where
from jostle.tables.fields import (
    ANY_WHOLE,
    Components,
    Within,
    conditions,
    listed,
    names,
    optional_name,
    whole_groups,
    wholes,
)
from jostle.tables.groupings import group_keys, group_sides
from jostle.tables.kernels import LARGEST_WEIGHT, DenseKernel, add_up, checked_cells
from jostle.tables.schema import Schema

__all__ = ["Layer", "Stack"]


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

    @property
    def most(self) -> int:
        """The most that one row adds, either way."""
        return 1 if self.weighted is None else max(map(abs, self.weights))

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """How many groups each column has; refuse what does not fit the schema."""
        sides = group_sides(self.columns, self.groups, schema)
        for name, codes in self.where:
            if not all(0 <= code < schema[name].size for code in codes):
                raise TableError(
                    f"column {name!r} has the codes 0 to {schema[name].size - 1}, and others are asked for"
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
        kept = Block(columns, block.length, block.multiplicity).where(self.where)
        keys = group_keys(kept, self.columns, self.groups, schema)
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
        """How many numbers all layers give."""
        return checked_cells(sum(layer.cells(schema) for layer in self.layers))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """The most that a row adds to all layers."""
        return sum(layer.most for layer in self.layers)

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        start = 0
        for layer in self.layers:
            end = start + layer.cells(schema)
            layer.add(block, schema, totals[start:end])
            start = end
