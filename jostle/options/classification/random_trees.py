"""Random trees: their splits are drawn without a look at the rows, so that the budget buys their leaves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.growing import (
    AtDepth,
    AtRandom,
    BySupport,
    Grove,
    NumericSplits,
    add_upwards,
    branching,
    grow,
    leaf_counts,
    shares_of,
)
from jostle.options.models.kinds import TreeModel
from jostle.parameters import choice, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.picks import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import LeafMajority
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema


@option
@frozen(kw_only=True)
class Jagannathan(Classifier):
    """A forest of random trees with noisy leaf counts.

    Jagannathan, Pillaipakkamnatt, Wright: a practical differentially private random decision tree classifier.

    Trees of random splits, which cost nothing; all of the budget buys the class counts at the leaves.
    """

    paper = "Jagannathan, Pillaipakkamnatt, Wright, ICDMW 2009"

    trees: int = whole(10, least=1)
    depth: int = whole(0, least=0)
    """Levels of splits; 0 for the paper's rule, min(k/2, log_b(n) - 1), at least 1, which n is bought for."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows, where it is asked for and not public."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The leaves of all trees, after the number of rows where that is bought."""
        bought = self._bought(schema.rows)
        rows = rows_cost(schema, epsilon, bought) if bought else ()
        return in_turn([*rows, Laplace(epsilon * (1 - bought))])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        schema, bought = db.schema, self._bought(db.rows)
        depth = self.depth or _depth(schema, bought_rows(db, epsilon, bought), self.numeric)
        grove = Grove(schema, self.trees, numeric=self.numeric)
        grow(db, grove, depth, AtRandom(), AtDepth(), ask_at_end=False)
        routing = grove.routing()
        noisy = db.measure(LeafCounts(routing), epsilon * (1 - bought), site="leaves")
        counts = add_upwards(grove, leaf_counts(routing, noisy, len(schema.classes)))
        return TreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            routing=routing,
            shares=shares_of(grove, counts),
            combine="mean",
        )

    def _bought(self, rows: int | None) -> Fraction:
        return Fraction(0) if self.depth else rows_share(rows, self.rows_share)


def _depth(schema: Schema, rows: int, numeric: NumericSplits) -> int:
    """The depth min(k/2, log_b(n) - 1), b the mean branching, at least 1."""
    ways = branching(schema, numeric)
    mean = float(ways.mean()) if len(ways) else 1.0
    by_rows = math.log(rows) / math.log(mean) - 1 if mean > 1 else math.inf
    return max(1, int(min(len(ways) / 2, by_rows)))


MOST_LEVELS = 64


@option
@frozen(kw_only=True)
class FletcherIslam(Classifier):
    """A forest of random trees sized by signal and noise, each answering with its surest node.

    Fletcher, Islam: a differentially private random decision forest using reliable signal-to-noise ratios. AI 2015.

    Random trees with distinct roots, as many and as deep as the rows are worth. Leaf counts get all of the budget,
    inner nodes hold their sums, nodes that drown in noise are pruned, and each tree answers with that node on a row's
    path whose commonest class is the most common.

    Two things the paper leaves open are settled here: a node of m leaves has a noise of sqrt(m) times one leaf's, and a
    forest has at most `most_trees` trees, where little noise would let the paper's rule ask for thousands.
    """

    paper = "Fletcher, Islam, AI 2015"

    most_trees: int = whole(100, least=1)
    """However little noise there is."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows, where it is not public."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The leaves of all trees, after the number of rows where that is bought."""
        bought = rows_share(schema.rows, self.rows_share)
        return in_turn([*rows_cost(schema, epsilon, bought), Laplace(epsilon * (1 - bought))])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        schema, bought = db.schema, rows_share(db.rows, self.rows_share)
        rows = bought_rows(db, epsilon, bought)
        at_leaves = epsilon * (1 - bought)
        classes = len(schema.classes)
        trees, roots = forest_size(schema, rows, float(at_leaves), self.numeric, self.most_trees)
        noise = math.sqrt(2) * classes * trees / float(at_leaves)
        grove = Grove(schema, trees, numeric=self.numeric)
        places = tuple(roots[int(place)] for place in db.shuffled(len(roots))) if roots else ()
        splitting = AtRandom(roots=tuple(places[tree % len(places)] for tree in range(trees)) if places else ())
        grow(db, grove, MOST_LEVELS, splitting, BySupport(rows=float(rows), least=noise), ask_at_end=False)
        routing = grove.routing()
        noisy = db.measure(LeafCounts(routing), at_leaves, site="leaves")
        counts = add_upwards(grove, leaf_counts(routing, noisy, classes))
        shares = _surest(grove, counts, noise)
        return TreeModel(schema=schema, made_by=self.name, epsilon=epsilon, routing=routing, shares=shares)


def forest_size(
    schema: Schema, rows: int, epsilon: float, numeric: NumericSplits, most: int
) -> tuple[int, tuple[int, ...]]:
    """The number of trees, and the columns that roots are split by.

    Start with a tree per attribute. While n / b**(k/2) > |C| * sqrt(2) * trees / epsilon, add one; then, while
    |C| * sqrt(2) * trees / epsilon > n / b**2, take one away, and the attribute of the largest domain out of the
    roots.
    """
    ways = branching(schema, numeric)
    columns = np.flatnonzero(ways > 1)
    if not columns.size:
        return 1, ()
    mean, count = float(ways.mean()), len(ways)
    noise = math.sqrt(2) * len(schema.classes) / epsilon
    trees = min(count, most)
    while rows / _cells(mean, count / 2) > noise * trees and trees < most:
        trees += 1
    roots = sorted(columns.tolist(), key=lambda place: (int(ways[place]), place))
    while noise * trees > rows / mean**2 and trees > 1:
        trees -= 1
        if len(roots) > 1:
            roots.pop()
    return trees, tuple(roots)


def _cells(ways: float, levels: float) -> float:
    """How many leaves so many levels make: of many columns, more than a float can say."""
    try:
        return float(ways**levels)
    except OverflowError:
        return math.inf


def _surest(grove: Grove, counts: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Each node's shares, or those of the ancestor whose commonest class has the highest share.

    A node counts only if its rows are more than its noise; the roots always do.
    """
    attribute = grove.routing().attribute
    leaves = add_upwards(grove, (attribute < 0).astype(np.float64)[:, None])[:, 0]
    rows = np.maximum(counts, 0).sum(axis=1)
    shares = shares_of(grove, counts)
    drowned = (rows <= noise * np.sqrt(leaves)) & (grove.parent >= 0)
    surest, sureness = shares.copy(), shares.max(axis=1)
    for level in range(1, int(grove.level.max(initial=0)) + 1):
        nodes = np.flatnonzero(grove.level == level)
        above = grove.parent[nodes]
        inherits = drowned[nodes] | (sureness[above] > sureness[nodes])
        heirs = nodes[inherits]
        surest[heirs], sureness[heirs] = surest[grove.parent[heirs]], sureness[grove.parent[heirs]]
    return surest


KEYS = 2**62
Leaves = Literal["counts", "labels"]


@option
@frozen(kw_only=True)
class RandomForest(Classifier):
    """Random trees on disjoint parts of the rows, their leaves counted.

    A random forest on disjoint parts of the rows, as IBM's library has it, after Fletcher and Islam.

    Holohan, Braghin, Mac Aonghusa, Levacher. Diffprivlib: the IBM differential privacy library, 2019. Every tree splits
    at random and gets its own part of the rows, so each may use the whole budget.

    There a leaf's label is picked by permute-and-flip, and trees cast votes. Where one class is the commonest in nearly
    all leaves, nearly all votes are for it whatever the row, however many rows there are. Here leaves have noisy
    counts, which cost as much, and the trees' shares are averaged; labels are picked where that is asked for.
    """

    version = 2
    paper = "Holohan, Braghin, Mac Aonghusa, Levacher, 2019"

    trees: int = whole(10, least=1)
    depth: int = whole(5, least=1)
    """Levels of splits."""
    numeric: NumericSplits = choice("ordered", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    leaves: Leaves = choice("counts", Leaves)
    """Leaves have noisy class counts, and shares are averaged; or, as in the paper, labels are picked, and vote."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon) if self.leaves == "counts" else PermuteAndFlip(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A forest. The key that cuts the rows into parts is random, and need not be secret."""
        schema = db.schema
        grove = Grove(schema, self.trees, numeric=self.numeric)
        grow(db, grove, self.depth, AtRandom(), AtDepth(), ask_at_end=False)
        routing = grove.routing(part_key=int(db.below(KEYS, 1)[0]) if self.trees > 1 else None)
        counted = self.leaves == "counts"
        if counted:
            at_leaves = db.measure(LeafCounts(routing), epsilon, site="leaves")
        else:
            labels = db.perform(PickEach(LeafMajority(routing)), epsilon, site="leaves")
            at_leaves = np.eye(len(schema.classes))[labels]
        counts = add_upwards(grove, leaf_counts(routing, at_leaves, len(schema.classes)))
        return TreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            routing=routing,
            shares=shares_of(grove, counts),
            combine="mean" if counted else "vote",
        )
