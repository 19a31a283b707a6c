"""The tree engine: trees that grow level by level, by a splitting rule and a stopping rule.

All nodes of all trees grow at once. A node's *candidates* are the ways it may be split: a categorical column by its
values, an ordered one by a cut between two of its codes (or by all its codes, if so wished). Where columns are *mixed*,
a categorical one has both: a cut is cheap, as it makes two parts, and a split by value finds what does not follow the
declared order. Which candidates are left is a public fact: along a path every split narrows the codes that a column can
still have, and a column with one code left cannot be split. So a column split by value is not used again below, and an
ordered one may be cut anew.

*Pruning* is C4.5's pessimistic one, on noisy counts. Quinlan. C4.5: Programs for Machine Learning, 1993. A node with N
rows, E of them not of its commonest class, is expected to err on N * U(E, N) new rows, U being the upper confidence
limit of a binomial chance. Where a node as a leaf is expected to err no more than the leaves below it together, these
go.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy import special

from jostle.errors import OptionError
from jostle.options.models.kinds import TreeModel
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.picks import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import LARGEST_HANDICAP, SplitScore, Utility, units_of
from jostle.tables.columns import Categorical, Numeric
from jostle.tables.routes import LeafCounts, Routing
from jostle.tables.schema import Schema

Integers = NDArray[np.int64]
NumericSplits = Literal["cuts", "bins", "ordered", "mixed"]
"""Numeric columns are cut in two, or split by all their bins; or every column is cut in two, categorical ones in the
order their values are declared in; or these may be split by value as well."""

MOST_MIXED = 512
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
            np.concatenate([part.nodes for part in parts]),
            np.concatenate([part.tree for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
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
    for index, (ways, size) in enumerate(zip(branching(schema, numeric).tolist(), sizes.tolist(), strict=True)):
        places = range(1, size) if ways < size else range(int(size > 1))
        columns.extend([index] * len(places))
        cuts.extend(places)
        if numeric == "mixed" and 2 < size <= MOST_MIXED and isinstance(schema[schema.attributes[index]], Categorical):
            columns.append(index)
            cuts.append(0)
    return np.array(columns, dtype=np.int64), np.array(cuts, dtype=np.int64)


Floats = NDArray[np.float64]


def leaf_counts(routing: Routing, noisy: NDArray[Any], classes: int) -> Floats:
    """The noisy counts at their nodes, nodes by classes; inner nodes hold zeros."""
    counts = np.zeros((len(routing.attribute), classes))
    counts[routing.leaves] = noisy.reshape(-1, classes)
    return counts


def add_upwards(grove: Grove, values: Floats) -> Floats:
    """The values with every inner node holding the sum of its children's."""
    totals = values.copy()
    for level in range(int(grove.level.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(grove.level == level)
        np.add.at(totals, grove.parent[nodes], totals[nodes])
    return totals


def shares_of(grove: Grove, counts: Floats) -> Floats:
    """Each node's class shares: of its counts above 0, or its parent's shares where there are none."""
    shares = np.maximum(counts, 0)
    totals = shares.sum(axis=1)
    empty = totals <= 0
    shares /= np.where(empty, 1, totals)[:, None]
    shares[empty & (grove.parent < 0)] = 1 / counts.shape[1]
    for level in range(1, int(grove.level.max(initial=0)) + 1):
        nodes = np.flatnonzero((grove.level == level) & empty)
        shares[nodes] = shares[grove.parent[nodes]]
    return shares


def without_twigs(model: TreeModel, cut: NDArray[np.bool_]) -> TreeModel:
    """The model with the nodes marked made leaves, and what was below them gone."""
    routing = model.routing
    attribute = np.where(cut, -1, routing.attribute)
    sizes = np.array([model.schema[name].size for name in routing.columns], dtype=np.int64)
    kept = np.zeros(len(attribute), dtype=np.bool_)
    reached = np.unique(routing.roots)
    kept[reached] = True
    while (inner := reached[attribute[reached] >= 0]).size:
        reached = np.unique(routing.children[_places(routing.first[inner], sizes[attribute[inner]])])
        kept[reached] = True
    number = np.cumsum(kept) - 1
    nodes = np.flatnonzero(kept)
    inner = nodes[attribute[nodes] >= 0]
    lengths = sizes[attribute[inner]]
    first = np.zeros(len(nodes), dtype=np.int64)
    first[number[inner]] = np.cumsum(lengths) - lengths
    children = number[routing.children[_places(routing.first[inner], lengths)]]
    smaller = Routing(routing.columns, number[routing.roots], attribute[nodes], first, children, depth=routing.depth)
    return TreeModel(
        schema=model.schema,
        made_by=model.made_by,
        epsilon=model.epsilon,
        routing=smaller,
        shares=model.shares[nodes],
        combine=model.combine,
    )


def _places(starts: Integers, lengths: Integers) -> Integers:
    ends = np.cumsum(lengths)
    return (
        np.repeat(starts, lengths) + np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    )


CONFIDENCE = 0.25
"""C4.5's own."""


def expected_errors(rows: Floats, errors: Floats) -> Floats:
    """N * U(E, N), 0 where there are no rows: the chance p with P(at most E errors of N) = CONFIDENCE."""
    some = np.maximum(rows, 1e-9)
    wrong = np.clip(errors, 0, some)
    # P(Binomial(N, p) <= E) is the regularised incomplete beta function, which takes noisy, fractional counts as well.
    limit = np.where(wrong >= some, 1.0, special.betaincinv(wrong + 1, np.maximum(some - wrong, 1e-9), 1 - CONFIDENCE))
    return np.where(rows > 0, some * limit, 0.0)


def pessimistic(grove: Grove, counts: Floats) -> NDArray[np.bool_]:
    """Which inner nodes are to become leaves; *counts* are noisy class counts of all nodes."""
    clipped = np.maximum(counts, 0)
    rows = clipped.sum(axis=1)
    as_leaf = expected_errors(rows, rows - clipped.max(axis=1))
    attribute = grove.routing().attribute
    below = np.where(attribute < 0, as_leaf, 0.0)
    cut = np.zeros(len(grove), dtype=np.bool_)
    for level in range(int(grove.level.max(initial=0)), -1, -1):
        nodes = np.flatnonzero((grove.level == level) & (attribute >= 0))
        cut[nodes] = as_leaf[nodes] <= below[nodes]
        below[nodes] = np.minimum(as_leaf[nodes], below[nodes])
        everyone = np.flatnonzero(grove.level == level)
        inner = everyone[grove.parent[everyone] >= 0]
        np.add.at(below, grove.parent[inner], below[inner])
    return cut


DRAWN_BELOW = 2**40
"""Random choices are remainders of numbers below this: uneven by less than 2**-20, and public anyway."""


class Splitting(Protocol):
    """Chooses a candidate for every leaf of a frontier."""

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> Integers:
        """The candidates chosen."""


@frozen(kw_only=True)
class ByUtility:
    """Permute-and-flip by a utility: epsilon per level, whatever the number of leaves, shared by the trees."""

    utility: Utility
    epsilon: Fraction
    rows_bound: int = 1
    handicap: float = 0.0
    """Rows that a candidate is held back by for each part beyond two: what the noise of one more leaf costs."""

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> Integers:
        """The candidates picked."""
        handicaps = self.handicap * units_of(self.utility) * (grove.candidate_ways - 2)
        score = SplitScore(
            grove.routing(),
            frontier.nodes,
            self.utility,
            grove.candidate_columns,
            grove.candidate_cuts,
            grove.allowed(frontier),
            self.rows_bound,
            np.rint(np.minimum(handicaps, LARGEST_HANDICAP)).astype(np.int64),  # with next to no budget, or many values
        )
        picks: Integers = db.perform(PickEach(score), self.epsilon, site=f"split level {grove.depth}")
        return picks


@frozen(kw_only=True)
class AtRandom:
    """A random column, and where it is cut, a random cut: costs nothing."""

    roots: tuple[int, ...] = ()
    """For each tree the column its root is split by, where that is fixed beforehand."""

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> Integers:
        """The candidates drawn."""
        open_columns = frontier.high - frontier.low > 1
        if self.roots and grove.depth == 0:
            column = np.array(self.roots, dtype=np.int64)[frontier.tree]
        else:
            rank = db.below(DRAWN_BELOW, len(frontier)) % np.maximum(open_columns.sum(axis=1), 1)
            running = np.cumsum(open_columns, axis=1)
            column = np.argmax(open_columns & (running == rank[:, None] + 1), axis=1)
        rows = np.arange(len(frontier))
        low, high = frontier.low[rows, column].astype(np.int64), frontier.high[rows, column].astype(np.int64)
        cut = low + 1 + db.below(DRAWN_BELOW, len(frontier)) % np.maximum(high - low - 1, 1)
        starts = np.searchsorted(grove.candidate_columns, np.arange(len(grove.columns)))
        by_value = grove.candidate_cuts[np.minimum(starts, len(grove.candidate_cuts) - 1)] == 0
        return starts[column] + np.where(by_value[column], 0, cut - 1)


class Stopping(Protocol):
    """Says which leaves of a frontier go on."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves are to be split."""


@frozen(kw_only=True)
class AtDepth:
    """Nothing on top: every leaf goes on."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """All nodes: none is too small."""
        return np.ones(len(frontier), dtype=np.bool_)


@frozen(kw_only=True, eq=False)
class NoisySize:
    """Friedman and Schuster: stop where the noisy rows, shared out over the next level's cells, drown in noise.

    The sizes of all leaves are bought at once, since they share no row; those bought are kept for whoever needs them.
    """

    epsilon: Fraction
    """For each level, shared by the trees."""
    sizes: dict[int, int] = field(factory=dict)
    """Of every node asked about."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves have size / (largest branching * classes) of at least sqrt(2) / epsilon."""
        routing = grove.routing()
        noisy = db.measure(LeafCounts(routing, by_class=False), self.epsilon, site=f"sizes level {grove.depth}")
        size = np.zeros(len(grove), dtype=np.int64)
        size[routing.leaves] = noisy
        rows = size[frontier.nodes]
        self.sizes.update(zip(frontier.nodes.tolist(), rows.tolist(), strict=True))
        cells = int(grove.branching.max(initial=1)) * len(grove.schema.classes)
        per_tree = float(self.epsilon) / grove.trees
        return np.asarray(rows / cells >= math.sqrt(2) / per_tree)


@frozen(kw_only=True, eq=False)
class BySupport:
    """Fletcher and Islam: stop where the rows expected, if splits were even, drown in the noise to come. All public."""

    rows: float
    """How many rows there are, public or bought."""
    least: float
    """The support that is still worth splitting."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves are expected to have more rows than that."""
        return np.asarray(self.rows * grove.part[frontier.nodes] > self.least)


def grow(db: Probe, grove: Grove, depth: int, splitting: Splitting, stopping: Stopping, *, ask_at_end: bool) -> None:
    """Grow every tree of *grove* by at most *depth* levels; one pass over the rows per level and per kind of question.

    With *ask_at_end* the stopping rule also sees the leaves of the last level, which cannot go on: it may want
    their sizes.
    """
    frontier = grove.seedlings()
    for _ in range(depth):
        going = grove.splittable(frontier) & stopping.goes_on(db, grove, frontier)
        if not going.any():
            return
        going_on = frontier.only(going)
        frontier = grove.split(going_on, splitting.choose(db, grove, going_on))
    if ask_at_end:
        stopping.goes_on(db, grove, frontier)


SURE = 3
"""A bound on the rows that is bought lies so many scales of its noise above the noisy number."""


def query_epsilon(schema: Schema, epsilon: Fraction, depth: int, numeric: NumericSplits) -> tuple[int, Fraction]:
    """How many levels are split at most, and the budget of each query of a level.

    Levels 0 to d ask two queries each: for the sizes, and for the splits or, on the last, the leaves.
    """
    levels = min(depth, longest_path(schema, numeric))
    return levels, epsilon / (2 * (levels + 1))


def greedy_cost(schema: Schema, epsilon: Fraction, depth: int, numeric: NumericSplits) -> Event:
    """The event of growing to the full depth; stopping earlier, the leaves get what is left."""
    levels, query = query_epsilon(schema, epsilon, depth, numeric)
    return in_turn([Repeated(Laplace(query), levels + 1), Repeated(PermuteAndFlip(query), levels), Laplace(query)])


def greedy_forest(
    db: Probe,
    epsilon: Fraction,
    *,
    depth: int,
    utility: Utility,
    numeric: NumericSplits,
    prune: bool,
    trees: int,
    made_by: str,
) -> TreeModel:
    """One or more greedy trees; several share the budget of each query and see the same rows."""
    schema = db.schema
    levels, query = query_epsilon(schema, epsilon, depth, numeric)
    grove = Grove(schema, trees, numeric=numeric)
    sizes = NoisySize(epsilon=query)
    splitting = _BoundedByRoot(sizes=sizes, utility=utility, epsilon=query)
    grow(db, grove, levels, splitting, sizes, ask_at_end=True)
    routing, counts = bought_leaves(db, grove)
    model = TreeModel(schema=schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares_of(grove, counts))
    return without_twigs(model, pessimistic(grove, counts)) if prune else model


@frozen(kw_only=True, eq=False)
class _BoundedByRoot:
    """Picks by utility; the bound on rows that InfoGain needs comes from the sizes of the roots, bought already."""

    sizes: NoisySize
    utility: Utility
    epsilon: Fraction

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.int64]:
        """The candidates picked."""
        rows = db.rows
        if rows is None:
            noisy = max(self.sizes.sizes[int(root)] for root in grove.roots)
            rows = noisy + int(SURE * grove.trees / self.epsilon)
        return ByUtility(utility=self.utility, epsilon=self.epsilon, rows_bound=max(1, rows)).choose(
            db, grove, frontier
        )


def left_of(db: Probe) -> Fraction:
    """The rest of an allotment. Where growing stopped early, the leaves get what the levels left over."""
    if db.left is None:
        raise OptionError("a tree is grown within an allotment", fix="option(db, epsilon=1)")
    return db.left


def bought_leaves(db: Probe, grove: Grove) -> tuple[Routing, NDArray[np.float64]]:
    """The way to the leaves of what was grown, and all nodes' noisy class counts; the leaves' cost what is left."""
    routing = grove.routing()
    noisy = db.measure(LeafCounts(routing), left_of(db), site="leaves")
    return routing, add_upwards(grove, leaf_counts(routing, noisy, len(db.schema.classes)))
