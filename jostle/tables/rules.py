"""Public rules that give each class points, and the kernels that count how many rows they get right.

Points are whole numbers, public or released before: nothing among rows is a float, so every engine gives a row the same
points, whatever the order of its sums. They are the same function of the row for all rows of any table; a kernel that
goes by them and by the label sends each row by itself to whole numbers, as kernels have to.

A row with a blank in a column gets no points from the terms about it, and goes through trees as they send it; one with
a blank for a label is neither right nor wrong.

*What ROC curves are drawn from.* A rule's *margin* for a class is what it gives that class less the most that it gives
another: a whole number, and the same function of a row for all rows. Public cuts make intervals of margins; a row is in
exactly one, and its label says whether it counts there as one of the class or as one of the others.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import (
    ANY_WHOLE,
    Component,
    Components,
    Integers,
    Sides,
    Truths,
    Within,
    int64_arrays,
    int64s,
    listed,
    names,
    truth,
    whole,
)
from jostle.tables.kernels import DenseKernel, InOneCell, add_up, checked_cells
from jostle.tables.regions import LevelKernel, haar, haar_side
from jostle.tables.routes import Routing, slots_of
from jostle.tables.schema import Schema

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
        classes, leaves, trees = len(schema.classes), 0, 0
        if self.routing is not None:
            self.routing.check(schema)
            if schema.label in self.routing.columns or self.routing.part_key is not None:
                raise TableError("a rule predicts by trees that all rows go through, and that do not look at the label")
            leaves, trees = len(self.routing.leaves), self.routing.trees
        for term in self.terms:
            if schema.label in term.columns:
                raise TableError("a rule does not predict the label by the label")
            cells = schema.size(*term.columns) * (leaves if term.by_leaf else 1)
            if not cells or term.table.shape != (cells, classes):
                raise TableError("a table of points does not have the cells and classes that it is about")
        if sum(trees if term.by_leaf else 1 for term in self.terms) > MOST_TERMS:
            raise TableError("there are more than 2**20 terms to add up")

    def points_of(self, block: Block, schema: Schema) -> Integers:
        """Each row's points for each class."""
        given = np.zeros((block.length, len(schema.classes)), dtype=np.int64)
        slots: list[Integers] = []  # for each tree, the place among all leaves of the one that each row comes to
        if self.routing is not None:
            places = slots_of(self.routing.leaves, len(self.routing.attribute))
            slots = [places[leaf] for _, leaf in self.routing.arrivals(block, schema)]
        for term in self.terms:
            keep = block.filled(term.columns, schema)
            cell = block.first_for_blank(term.columns, schema).keys(term.columns, schema)
            by_tree = [slot * schema.size(*term.columns) + cell for slot in slots] if term.by_leaf else [cell]
            for cells in by_tree:
                given += term.table[cells] if keep is None else np.where(keep[:, None], term.table[cells], 0)
        return given


@frozen(eq=False, repr=False)
class Hits(InOneCell, RuleKernel):
    """How many rows have the class as label that gets the most points: one cell, and one for the others if wanted.

    A rule gives every class points, by the row's attributes alone, and predicts the class with the most; of classes
    with equally many, the first. Points are whole numbers, public or released before: nothing among rows is a float, so
    every engine predicts the same.

    *Why one row changes it by 1.* Whether the rule is right about a row is a function h of that row with values 0 and
    1, since the rule is the same for all rows. The tally is the sum of h in a single cell: a row that is added or
    removed changes it by h(row) <= 1, and one that becomes another by h(new) - h(old), which is -1, 0 or 1. Where
    misses are counted as well, a row adds h to one cell and 1 - h to the other, 1 in sum; one that becomes another may
    move from cell to cell, which changes both by 1.
    """

    misses: bool = field(default=False, converter=truth)
    """Whether a second cell counts the rows that the rule gets wrong."""

    def cells(self, schema: Schema) -> int:
        """1, or 2 with misses; refuse a rule that does not fit the schema."""
        self.check_rule(schema)
        return 1 + self.misses

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        block = block.labelled(schema)
        right = self.right(block, schema)
        for cell, counted in enumerate((right, ~right)[: len(totals)]):
            totals[cell] += block.count(counted)

    def right(self, block: Block, schema: Schema) -> Truths:
        """Which rows of a block it is right about."""
        predicted = np.argmax(self.points_of(block, schema), axis=1)
        return np.asarray(predicted == block.columns[schema.target])


MOST_RULES = 10
"""There is a cell for each set of rules."""


@frozen(eq=False, repr=False)
class Agreements(InOneCell, DenseKernel):
    """How many rows each set of rules gets right, and no other rule does: cell 5 is of rules 0 and 2, 5 being 1 + 4.

    *What one row changes.* Each rule is right about a row or not, by that row alone, so a row is in one cell: it adds 1
    in sum when it comes or goes, and one that becomes another moves 1 from a cell to a cell, 2 in sum. How many rows
    each rule gets right, and by how many one is ahead of another, are sums of cells.
    """

    rules: tuple[Hits, ...] = field(converter=listed, validator=Components((Hits,)))
    """Whether they would count misses as well, does not matter."""

    def cells(self, schema: Schema) -> int:
        if not 1 <= len(self.rules) <= MOST_RULES:
            raise TableError(f"{len(self.rules)} rules are compared, and it must be 1 to {MOST_RULES}")
        for rule in self.rules:
            rule.check_rule(schema)
        return int(1 << len(self.rules))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        block = block.labelled(schema)
        cell = np.zeros(block.length, dtype=np.int64)
        for bit, rule in enumerate(self.rules):
            cell += rule.right(block, schema).astype(np.int64) << bit
        add_up(cell, block.multiplicity, totals)


ROWS_AT_ONCE = 2**10
MOST_GIVEN = 2**50
"""Points of a code, where so many columns are at most 2**11."""
MOST_COLUMNS = 2**11


@frozen(eq=False, repr=False)
class ManyHits(DenseKernel):
    """How many rows each of many linear rules gets right: a cell for each.

    A rule gives the classes but the first points by each column's code, and the first class none. It predicts as in
    `Hits`: a row adds 0 or 1 to each cell, and so does one that becomes another, taken away and added.
    """

    columns: tuple[str, ...] = field(converter=names)
    points: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(2, Within(-MOST_GIVEN, MOST_GIVEN)))
    """For each column, codes by rules, and of each rule by the classes but the first."""
    start: Integers = field(converter=int64s, validator=Sides(1, Within(-MOST_GIVEN, MOST_GIVEN)))
    """The points of every row, by rules, and of each rule by the classes but the first."""

    def cells(self, schema: Schema) -> int:
        classes, width = len(schema.classes), len(self.start)
        fits = (
            classes > 1
            and not width % (classes - 1)
            and len(self.columns) == len(self.points) < MOST_COLUMNS
            and schema.label not in self.columns
            and all(
                own.shape == (schema[name].size, width) for name, own in zip(self.columns, self.points, strict=True)
            )
        )
        if not fits:
            raise TableError("points of rules do not fit the schema")
        return checked_cells(width // (classes - 1))

    def bound(self, schema: Schema) -> int:
        """As many as there are rules: all may get a row right."""
        return self.cells(schema)

    def replaced(self, schema: Schema) -> int:
        """As many as there are rules: each changes by 1 at most."""
        return self.cells(schema)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        classes = len(schema.classes)
        for first in range(0, block.length, ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            labels = block.columns[schema.target][rows]
            given = np.tile(self.start, (len(labels), 1))
            for name, own in zip(self.columns, self.points, strict=True):
                given += np.pad(own, ((0, 1), (0, 0)))[block.columns[name][rows]]  # a blank has no points
            by_class = given.reshape(len(labels), len(totals), classes - 1)
            best, predicted = np.zeros(by_class.shape[:2], dtype=np.int64), np.zeros(by_class.shape[:2], dtype=np.int64)
            for code in range(1, classes):
                ahead = by_class[:, :, code - 1] > best
                best[ahead], predicted[ahead] = by_class[:, :, code - 1][ahead], code
            right = predicted == labels[:, None]
            totals += right.sum(axis=0) if block.multiplicity is None else block.multiplicity[rows] @ right


@frozen(eq=False, repr=False)
class Margins(InOneCell, RuleKernel):
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

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        block = block.labelled(schema)
        points = self.points_of(block, schema)
        own = points[:, self.positive].copy()
        points[:, self.positive] = np.iinfo(np.int64).min
        interval = np.searchsorted(self.cuts, own - points.max(axis=1), side="right")
        other = block.columns[schema.target] != self.positive
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
        return checked_cells(sum(self.sizes(schema)))

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        counts = np.zeros(self.margins.cells(schema), dtype=np.int64)
        self.margins.add(block, schema, counts)
        halves = counts.reshape(2, -1)
        filled = np.zeros((2, haar_side(halves.shape[1])), dtype=np.int64)
        filled[:, : halves.shape[1]] = halves
        coefficients = haar(filled, axis=1)
        begin = start = 0
        for size in self.sizes(schema):
            totals[begin : begin + size] += coefficients[:, start : start + size // 2].ravel()
            begin, start = begin + size, start + size // 2
