"""The tree engine: trees that grow level by level, all nodes of all trees at once.

A node's *candidates* are the ways it may be split: a categorical column by its values, an ordered one by a cut
between two of its codes (or by all its codes, if so wished). Where columns are *mixed*, a categorical one has both: a
cut is cheap, as it makes two parts, and a split by value finds what does not follow the declared order. Which
candidates are left is a public fact: along a path every split narrows the codes that a column can still have, and a
column with one code left cannot be split. So a column split by value is not used again below, and an ordered one may be
cut anew.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.columns import Categorical, Numeric
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema

__all__ = ["Frontier", "Grove", "NumericSplits", "branching", "longest_path"]

Integers = NDArray[np.int64]
NumericSplits = Literal["cuts", "bins", "ordered", "mixed"]
"""Numeric columns are cut in two, or split by all their bins; or every column is cut in two, categorical ones in the
order their values are declared in; or these may be split by value as well."""

MOST_MIXED = 64
"""Where columns are mixed, one with more values is only cut."""

MOST_LEAF_CELLS = 2**23
"""A level that could bring more leaf counts (leaves times classes) than this is not grown."""
MOST_SPLIT_CELLS = 2**26
"""A level whose open leaves have more counts (values times classes) than this is not split."""


@frozen(eq=False, repr=False)
class Frontier:
    """Leaves that may still be split: each with its tree, and for every column the codes it can have.

    A column's codes are those with low <= code < high.
    """

    nodes: Integers
    tree: Integers
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def only(self, kept: NDArray[np.bool_]) -> Frontier:
        """The leaves marked."""
        return Frontier(self.nodes[kept], self.tree[kept], self.low[kept], self.high[kept])

    def __len__(self) -> int:
        return len(self.nodes)


class Grove:
    """Growing trees. Everything in here is public: random, or released before."""

    def __init__(
        self, schema: Schema, trees: int = 1, *, numeric: NumericSplits = "cuts", leaf_cells: int | None = None
    ) -> None:
        self.schema = schema
        self.numeric = numeric
        self._leaf_cells = leaf_cells
        self.columns = schema.attributes
        self.sizes = np.array([schema[name].size for name in self.columns], dtype=np.int64)
        self.branching = branching(schema, numeric)
        self.candidate_columns, self.candidate_cuts = _candidates(schema, self.sizes, numeric)
        self.candidate_ways = np.where(self.candidate_cuts == 0, self.sizes[self.candidate_columns], 2)
        self.trees = trees
        self.depth = 0
        self.roots = np.arange(trees)
        self.parent = np.full(trees, -1, dtype=np.int64)
        self.level = np.zeros(trees, dtype=np.int64)
        self.part = np.ones(trees)
        """Which part of the rows would be in each node, if all splits above it were even."""
        self._attribute = np.full(trees, -1, dtype=np.int64)
        self._first = np.zeros(trees, dtype=np.int64)
        self._children: list[Integers] = []
        self._child_count = 0

    def __len__(self) -> int:
        return len(self.parent)

    def seedlings(self) -> Frontier:
        """The roots, all codes open."""
        low = np.zeros((self.trees, len(self.columns)), dtype=np.int32)
        return Frontier(self.roots, self.roots, low, low + self.sizes.astype(np.int32))

    def allowed(self, frontier: Frontier) -> NDArray[np.bool_]:
        """Which candidates each leaf has."""
        low, high = frontier.low[:, self.candidate_columns], frontier.high[:, self.candidate_columns]
        by_value = self.candidate_cuts == 0
        inside = (low < self.candidate_cuts) & (self.candidate_cuts < high)
        # A column that was cut already is not split into values that cannot occur any more.
        least = self.sizes[self.candidate_columns] if self.numeric == "mixed" else 2
        return np.asarray(np.where(by_value, high - low >= least, inside), dtype=np.bool_)

    def splittable(self, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves have a candidate left; none at all if the next level would become too large.

        How large it would become is known from released splits alone.
        """
        some = np.asarray((frontier.high - frontier.low > 1).any(axis=1), dtype=np.bool_)
        classes, count = len(self.schema.classes), int(some.sum())
        leaves = len(self) + count * int(self.candidate_ways.max(initial=1))
        too_many = leaves * classes > MOST_LEAF_CELLS or count * int(self.sizes.sum()) * classes > MOST_SPLIT_CELLS
        if too_many or leaves * (self._leaf_cells or 0) > MOST_SPLIT_CELLS:
            return np.zeros(len(frontier), dtype=np.bool_)
        return some

    def split(self, frontier: Frontier, picks: Integers) -> Frontier:
        """Split every leaf of the frontier by the candidate picked for it; return the new leaves."""
        parts = [self._split_by(frontier.only(picks == pick), int(pick)) for pick in np.unique(picks)]
        self.depth += 1
        if not parts:
            return frontier
        if len(parts) == 1:
            return parts[0]
        return Frontier(
            np.concatenate([each.nodes for each in parts]),
            np.concatenate([each.tree for each in parts]),
            np.concatenate([each.low for each in parts]),
            np.concatenate([each.high for each in parts]),
        )

    def _split_by(self, frontier: Frontier, pick: int) -> Frontier:
        column, cut = int(self.candidate_columns[pick]), int(self.candidate_cuts[pick])
        size = int(self.sizes[column])
        ways, count = int(self.candidate_ways[pick]), len(frontier)
        new = len(self) + np.arange(count * ways)
        self._attribute[frontier.nodes] = column
        self._first[frontier.nodes] = self._child_count + np.arange(count) * size
        branch = (np.arange(size) >= cut).astype(np.int64) if cut else np.arange(size)
        self._children.append(new.reshape(count, ways)[:, branch].ravel())
        self._child_count += count * size
        self.parent = np.concatenate([self.parent, np.repeat(frontier.nodes, ways)])
        self.level = np.concatenate([self.level, np.full(len(new), self.depth + 1)])
        self.part = np.concatenate([self.part, np.repeat(self.part[frontier.nodes] / ways, ways)])
        self._attribute = np.concatenate([self._attribute, np.full(len(new), -1)])
        self._first = np.concatenate([self._first, np.zeros(len(new), dtype=np.int64)])
        low, high = np.repeat(frontier.low, ways, axis=0), np.repeat(frontier.high, ways, axis=0)
        if cut:
            high[0::2, column] = cut
            low[1::2, column] = cut
        else:
            low[:, column] = np.tile(np.arange(size, dtype=np.int32), count)
            high[:, column] = low[:, column] + 1
        return Frontier(new, np.repeat(frontier.tree, ways), low, high)

    def routing(self, part_key: int | None = None) -> Routing:
        """The trees as they are now, for rows to be led through."""
        children = np.concatenate(self._children) if self._children else np.zeros(0, dtype=np.int64)
        return Routing(
            self.columns, self.roots, self._attribute, self._first, children, depth=self.depth, part_key=part_key
        )


def branching(schema: Schema, numeric: NumericSplits = "cuts") -> Integers:
    """Into how many parts a split by each attribute goes; where columns are mixed, at least."""
    sizes = [schema[name].size for name in schema.attributes]
    cut = [
        numeric in {"ordered", "mixed"} or (numeric == "cuts" and isinstance(schema[name], Numeric))
        for name in schema.attributes
    ]
    return np.array([min(size, 2) if two else size for size, two in zip(sizes, cut, strict=True)], dtype=np.int64)


def longest_path(schema: Schema, numeric: NumericSplits = "cuts") -> int:
    """How many splits a path can have before every attribute is exhausted."""
    ways = branching(schema, numeric)
    sizes = [schema[name].size for name in schema.attributes]
    return sum(size - 1 if two < size else int(size > 1) for size, two in zip(sizes, ways.tolist(), strict=True))


def _candidates(schema: Schema, sizes: Integers, numeric: NumericSplits) -> tuple[Integers, Integers]:
    columns: list[int] = []
    cuts: list[int] = []
    for place, (ways, size) in enumerate(zip(branching(schema, numeric).tolist(), sizes.tolist(), strict=True)):
        places = range(1, size) if ways < size else range(int(size > 1))
        columns.extend([place] * len(places))
        cuts.extend(places)
        if numeric == "mixed" and 2 < size <= MOST_MIXED and isinstance(schema[schema.attributes[place]], Categorical):
            columns.append(place)
            cuts.append(0)
    return np.array(columns, dtype=np.int64), np.array(cuts, dtype=np.int64)
