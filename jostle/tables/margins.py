"""How many rows of a class, and of the others, a public rule scores how high: what ROC curves are drawn from.

A rule's *margin* for a class is what it gives that class less the most that it gives another: a whole number, and the
same function of a row for all rows. Public cuts make intervals of margins; a row is in exactly one, and its label says
whether it counts there as one of the class or as one of the others.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import ANY_WHOLE, Component, Sides, int64s, whole
from jostle.tables.kernels import add_up, checked_cells
from jostle.tables.regions import LevelKernel, haar, haar_side
from jostle.tables.rules import RuleKernel
from jostle.tables.schema import Schema

__all__ = ["MarginLevels", "Margins"]

Integers = NDArray[np.int64]


@frozen(eq=False, repr=False)
class Margins(RuleKernel):
    """How many rows of a class are in each interval of margins, lowest first; then how many of the others.

    *What one row changes.* A row has one label and one margin, so it adds 1 to one cell and nothing to the rest: 1 in
    sum when it comes or goes. One that becomes another takes 1 from a cell and adds 1 to a cell: 2 in sum, or nothing.
    So counts of the class and of the others are one tally, each with noise for all of the budget, where two tallies
    would have to share it.
    """

    positive: int = field(kw_only=True, converter=whole, validator=ANY_WHOLE)
    """The code of the class."""
    cuts: Integers = field(kw_only=True, converter=int64s, validator=Sides(1))
    """Where intervals begin, all but the lowest, rising: a margin is in the last that begins at or below it."""

    def cells(self, schema: Schema) -> int:
        """Two numbers for each interval; refuse what does not fit the schema."""
        self.check_rule(schema)
        if len(schema.classes) < 2:
            raise TableError("the label has one class only", why="margins tell a class from the others")
        if not 0 <= self.positive < len(schema.classes):
            raise TableError(
                f"the label has the codes 0 to {len(schema.classes) - 1}, and {self.positive} is asked for"
            )
        if any(low >= high for low, high in pairwise(self.cuts.tolist())):
            raise TableError("cuts do not rise", fix="give each once, the lowest first")
        return checked_cells(2 * (len(self.cuts) + 1))

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """1: a row is in one cell."""
        return 1

    def replaced(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """2: a row leaves one cell and enters another."""
        return 2

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""
        points = self.points_of(block, schema)
        own = points[:, self.positive].copy()
        points[:, self.positive] = np.iinfo(np.int64).min
        interval = np.searchsorted(self.cuts, own - points.max(axis=1), side="right")
        other = block.columns[schema.label or ""] != self.positive
        add_up(interval + other * (len(self.cuts) + 1), block.multiplicity, totals)


@frozen(eq=False, repr=False)
class MarginLevels(LevelKernel):
    """The Haar coefficients of both halves of `Margins`, each filled up to a power of two.

    In each half a row has one entry of 1 or -1 in each level, and it is in one half. A level here is that of both
    halves: so one row changes one number of each level, by 1.
    """

    margins: Margins = field(validator=Component((Margins,)))

    def sizes(self, schema: Schema) -> tuple[int, ...]:
        """How many coefficients each level has in both halves together: of all, then of each halving."""
        self.margins.cells(schema)
        side = haar_side(len(self.margins.cuts) + 1)
        return (2, *(2 << depth for depth in range(side.bit_length() - 1)))

    def cells(self, schema: Schema) -> int:
        """Number of coefficients in all."""
        return checked_cells(sum(self.sizes(schema)))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's rows to *totals*."""
        counts = np.zeros(self.margins.cells(schema), dtype=np.int64)
        self.margins.add(block, schema, counts)
        halves = counts.reshape(2, -1)
        filled = np.zeros((2, haar_side(halves.shape[1])), dtype=np.int64)
        filled[:, : halves.shape[1]] = halves
        found = haar(filled, axis=1)
        place = start = 0
        for size in self.sizes(schema):
            totals[place : place + size] += found[:, start : start + size // 2].ravel()
            place, start = place + size, start + size // 2
