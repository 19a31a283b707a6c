"""Which of several public rules get a row right: the kernel that models are compared by."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import Components, listed
from jostle.tables.hits import Hits
from jostle.tables.kernels import DenseKernel, add_up
from jostle.tables.schema import Schema

__all__ = ["MOST_RULES", "Agreements"]

MOST_RULES = 10
"""There is a cell for each set of rules."""


@frozen(eq=False, repr=False)
class Agreements(DenseKernel):
    """How many rows each set of rules gets right, and no other rule does: cell 5 is of rules 0 and 2, 5 being 1 + 4.

    *What one row changes.* Each rule is right about a row or not, by that row alone, so a row is in one cell: it adds 1
    in sum when it comes or goes, and one that becomes another moves 1 from a cell to a cell, 2 in sum. How many rows
    each rule gets right, and by how many one is ahead of another, are sums of cells.
    """

    rules: tuple[Hits, ...] = field(converter=listed, validator=Components((Hits,)))
    """Whether they would count misses as well, does not matter."""

    def cells(self, schema: Schema) -> int:
        """One for each set of rules; refuse rules that do not fit the schema."""
        if not 1 <= len(self.rules) <= MOST_RULES:
            raise TableError(f"{len(self.rules)} rules are compared, and it must be 1 to {MOST_RULES}")
        for rule in self.rules:
            rule.check_rule(schema)
        return int(1 << len(self.rules))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """1: a row is in one cell."""
        return 1

    def replaced(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """2: a row leaves one cell and enters another."""
        return 2

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        cell = np.zeros(block.length, dtype=np.int64)
        for place, rule in enumerate(self.rules):
            cell += rule.right(block, schema).astype(np.int64) << place
        add_up(cell, block.multiplicity, totals)
