"""Refinements: how rows that some columns do not tell apart are told apart by one column more, and by the label.

The tally behind *k*-discernibility (Vinterbo 2012): in one pass, for each of several candidate columns, how many rows
there are for each combination of what was chosen before, the candidate and the label. Occupied combinations alone are
held, so it takes time in proportion to rows times candidates, however many values there are; never to pairs of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import ANY_WHOLE, name, names, whole_groups
from jostle.tables.groupings import Groups, group_keys, group_sides
from jostle.tables.kernels import SparseKernel, SparseTally, checked_keys, occupied
from jostle.tables.schema import Schema

__all__ = ["Refinements"]


@frozen
class Refinements(SparseKernel):
    """For each candidate, the rows by the base columns, the candidate and the label; candidates one after the other."""

    base: tuple[str, ...] = field(converter=names)
    """What was chosen before."""
    candidates: tuple[str, ...] = field(converter=names)
    by: str = field(converter=name)
    """The label."""
    groups: Groups = field(default=(), converter=whole_groups, validator=ANY_WHOLE)
    """For each column of the base, then for each candidate, the group of each of its codes; empty for their own."""

    def cells(self, schema: Schema) -> int:
        """How many combinations all candidates have together; refuse columns that do not fit each other."""
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

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """The number of candidates: a row is in one cell of each."""
        return len(self.candidates)

    def replaced(self, schema: Schema) -> int:
        """Twice that, but for candidates of a single cell."""
        return max(len(self.candidates), 2 * sum(size > 1 for size in self.sizes(schema)))

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        """The block's occupied cells."""
        parts = list(self._parts(block, schema))
        keys, counts = ([part.keys for part in parts], [part.counts for part in parts])
        return SparseTally(np.concatenate(keys), np.concatenate(counts))

    def _parts(self, block: Block, schema: Schema) -> Iterator[SparseTally]:
        start, chosen = 0, len(self.base)
        for place, (candidate, size) in enumerate(zip(self.candidates, self.sizes(schema), strict=True)):
            groups = (*self.groups[:chosen], self.groups[chosen + place], ()) if self.groups else ()
            keys = group_keys(block, (*self.base, candidate, self.by), groups, schema)
            found = occupied(keys, block.multiplicity, size)
            yield SparseTally(found.keys + start, found.counts)
            start += size
