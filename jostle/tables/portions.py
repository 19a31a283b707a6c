"""Portions: rows dealt out among so many by a keyed hash of each row, which is a function of that row alone.

Which portion a row is in, is the same however often it is asked, in whatever pieces and on whatever machines the rows
are read; no other row and no order of rows has to do with it (see `part_of`). So portions share no row, whoever knows
the key: a row that is added or removed touches one of them, and a row that becomes another touches at most two.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.block import Block, Where
from jostle.tables.engines import Partial, RowSource
from jostle.tables.kernels import DenseKernel, SparseKernel, SparseTally
from jostle.tables.routes import part_of
from jostle.tables.schema import Schema

__all__ = ["Portion", "PortionSource"]


@frozen
class Portion:
    """One of so many portions that rows are dealt out among."""

    schema: Schema
    """Its columns are what a row is known by. What is asked of a portion may go by fewer of them."""
    key: int
    place: int
    of: int

    def within(self, block: Block) -> Block:
        """The rows of a block that are in it."""
        parts = part_of(block.columns, self.schema, self.key, self.of, block.length)
        return block.rows(np.flatnonzero(parts == self.place))


@frozen(eq=False, repr=False)
class PortionSource:
    """The rows of another source that are in one portion."""

    rows: RowSource
    portion: Portion

    @property
    def schema(self) -> Schema:
        """The public facts about the rows."""
        return self.portion.schema

    @property
    def identity(self) -> bytes:
        """The identity of the whole: the portion is made of the same data."""
        return self.rows.identity

    def ready(self) -> None:
        """Refuse where nobody is there to be asked."""
        self.rows.ready()

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """The kernel's tally of the portion's rows that meet the conditions."""
        if isinstance(kernel, SparseKernel):
            return self.rows.tally(_SparseWithin(kernel, self.portion), where)
        return self.rows.tally(_Within(kernel, self.portion), where)


@frozen
class _Within(DenseKernel):
    """A kernel that looks at the rows of a portion alone."""

    kernel: DenseKernel
    portion: Portion

    def cells(self, schema: Schema) -> int:
        """How many numbers it gives."""
        return self.kernel.cells(schema)

    def bound(self, schema: Schema) -> int:
        """The most one row adds."""
        return self.kernel.bound(schema)

    def replaced(self, schema: Schema) -> int:
        """The most that all cells change when a row becomes another, or enters or leaves the portion."""
        return self.kernel.replaced(schema)

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the portion's rows of the block to *totals*."""
        self.kernel.add(self.portion.within(block), schema, totals)


@frozen
class _SparseWithin(SparseKernel):
    """The same for a kernel of which occupied cells alone are held."""

    kernel: SparseKernel
    portion: Portion

    def cells(self, schema: Schema) -> int:
        """Number of cells, occupied or not."""
        return self.kernel.cells(schema)

    def bound(self, schema: Schema) -> int:
        """The most one row adds."""
        return self.kernel.bound(schema)

    def replaced(self, schema: Schema) -> int:
        """The most that all cells change when a row becomes another, or enters or leaves the portion."""
        return self.kernel.replaced(schema)

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        """The occupied cells of the portion's rows of the block."""
        return self.kernel.tally(self.portion.within(block), schema)
