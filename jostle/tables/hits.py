"""How many rows a public rule gets right: the kernel that models are scored by.

A rule gives every class points, by the row's attributes alone, and predicts the class with the most; of classes with
equally many, the first. Points are whole numbers, public or released before: nothing among rows is a float, so every
engine predicts the same.

*Why one row changes it by 1.* Whether the rule is right about a row is a function h of that row with values 0 and 1,
since the rule is the same for all rows. The tally is the sum of h in a single cell: a row that is added or removed
changes it by h(row) <= 1, and one that becomes another by h(new) - h(old), which is -1, 0 or 1.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.block import Block
from jostle.tables.rules import RuleKernel
from jostle.tables.schema import Schema

__all__ = ["Hits"]


@frozen(eq=False, repr=False)
class Hits(RuleKernel):
    """How many rows have the class as label that gets the most points: one cell."""

    def cells(self, schema: Schema) -> int:
        """Return 1; refuse a rule that does not fit the schema."""
        self.check_rule(schema)
        return 1

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """Return 1: a row is predicted right, or not."""
        return 1

    def replaced(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """Return 1: there is one cell, to which a row adds 0 or 1 before and after."""
        return 1

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        right = np.argmax(self.points_of(block, schema), axis=1) == block.columns[schema.label or ""]
        totals[0] += int(right.sum() if block.multiplicity is None else block.multiplicity[right].sum())
