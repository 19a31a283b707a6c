"""How many rows a public rule gets right, and wrong: the kernel that models are scored by.

A rule gives every class points, by the row's attributes alone, and predicts the class with the most; of classes with
equally many, the first. Points are whole numbers, public or released before: nothing among rows is a float, so every
engine predicts the same.

*Why one row changes it by 1.* Whether the rule is right about a row is a function h of that row with values 0 and 1,
since the rule is the same for all rows. The tally is the sum of h in a single cell: a row that is added or removed
changes it by h(row) <= 1, and one that becomes another by h(new) - h(old), which is -1, 0 or 1. Where misses are
counted as well, a row adds h to one cell and 1 - h to the other, 1 in sum; one that becomes another may move from cell
to cell, which changes both by 1.
"""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.tables.block import Block
from jostle.tables.fields import truth
from jostle.tables.rules import RuleKernel
from jostle.tables.schema import Schema

__all__ = ["Hits"]


@frozen(eq=False, repr=False)
class Hits(RuleKernel):
    """How many rows have the class as label that gets the most points: one cell, and one for the others if wanted."""

    misses: bool = field(default=False, converter=truth)
    """Whether a second cell counts the rows that the rule gets wrong."""

    def cells(self, schema: Schema) -> int:
        """1, or 2 with misses; refuse a rule that does not fit the schema."""
        self.check_rule(schema)
        return 1 + self.misses

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """1: a row is predicted right, or not."""
        return 1

    def replaced(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """1 for one cell, to which a row adds 0 or 1 before and after; 2 where it may move to the other."""
        return 1 + self.misses

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's rows to *totals*."""
        right = self.right(block, schema)
        for cell, counted in enumerate((right, ~right)[: len(totals)]):
            totals[cell] += int(counted.sum() if block.multiplicity is None else block.multiplicity[counted].sum())

    def right(self, block: Block, schema: Schema) -> NDArray[np.bool_]:
        """Which rows of a block it is right about."""
        predicted = np.argmax(self.points_of(block, schema), axis=1)
        return np.asarray(predicted == block.columns[schema.label or ""])
