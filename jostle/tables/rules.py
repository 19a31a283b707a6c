"""Public rules of whole numbers: what gives each class points, by a row's attributes alone.

Points are whole numbers, public or released before: nothing among rows is a float, so every engine gives a row the same
points, whatever the order of its sums. They are the same function of the row for all rows of any table; a kernel that
goes by them and by the label sends each row by itself to whole numbers, as kernels have to.
"""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import Component, Components, Sides, Within, int64s, listed, names, truth
from jostle.tables.kernels import DenseKernel
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema

__all__ = ["MOST_POINTS", "MOST_TERMS", "Points", "RuleKernel"]

Integers = NDArray[np.int64]

MOST_POINTS = 2**40
"""Points that a term gives or takes, at most."""
MOST_TERMS = 2**20
"""Terms, each counted once per tree that it looks at: so many times MOST_POINTS add up within 63 bits."""


@frozen(eq=False, repr=False)
class Points:
    """What the codes of some attributes give each class, perhaps in each leaf of a routing by itself."""

    columns: tuple[str, ...] = field(converter=names)
    table: Integers = field(converter=int64s, validator=Sides(2, Within(-MOST_POINTS, MOST_POINTS)))
    """Cells, in row-major order of the columns' codes, by classes; with *by_leaf*, so for each leaf in turn."""
    by_leaf: bool = field(default=False, converter=truth)
    """Whether a row looks at the part of the leaf it comes to, in every tree."""


@frozen(eq=False, repr=False)
class RuleKernel(DenseKernel):
    """A kernel that goes by a rule's points and the label: the base of all such, and no member of any list itself."""

    terms: tuple[Points, ...] = field(converter=listed, validator=Components((Points,)))
    routing: Routing | None = field(default=None, validator=Component((Routing,), optional=True))
    """The trees whose leaves the terms with *by_leaf* look at."""

    def check_rule(self, schema: Schema) -> None:
        """Refuse tables of points that do not fit the schema, since what went wrong then could show rows."""
        if schema.label is None:
            raise TableError("the schema names no label", fix='Schema(columns, label="...")')
        leaves = trees = 0
        if self.routing is not None:
            self.routing.check(schema)
            if schema.label in self.routing.columns or self.routing.part_key is not None:
                raise TableError("a rule predicts by trees that all rows go through, and that do not look at the label")
            leaves, trees = len(self.routing.leaves), self.routing.trees
        for term in self.terms:
            if schema.label in term.columns:
                raise TableError("a rule does not predict the label by the label")
            cells = schema.size(*term.columns) * (leaves if term.by_leaf else 1)
            if not cells or term.table.shape != (cells, len(schema.classes)):
                raise TableError("a table of points does not have the cells and classes that it is about")
        if sum(trees if term.by_leaf else 1 for term in self.terms) > MOST_TERMS:
            raise TableError("there are more than 2**20 terms to add up")

    def points_of(self, block: Block, schema: Schema) -> Integers:
        """Each row's points for each class."""
        given = np.zeros((block.length, len(schema.classes)), dtype=np.int64)
        slots = self._slots(block, schema)
        for term in self.terms:
            cell = block.keys(term.columns, schema)
            if not term.by_leaf:
                given += term.table[cell]
                continue
            for slot in slots:
                given += term.table[slot * schema.size(*term.columns) + cell]
        return given

    def _slots(self, block: Block, schema: Schema) -> list[Integers]:
        """For each tree the place of the leaf that each row comes to among all leaves."""
        if self.routing is None:
            return []
        places = np.zeros(len(self.routing.attribute), dtype=np.int64)
        places[self.routing.leaves] = np.arange(len(self.routing.leaves))
        return [places[leaf] for _, leaf in self.routing.arrivals(block, schema)]
