"""Fletcher, Islam: a differentially private random decision forest using reliable signal-to-noise ratios. AI 2015.

Random trees with distinct roots, as many and as deep as the rows are worth. Leaf counts get all of the budget,
inner nodes hold their sums, nodes that drown in noise are pruned, and each tree answers with that node on a row's
path whose commonest class is the most common.

Two things the paper leaves open are settled here: a node of m leaves has a noise of sqrt(m) times one leaf's, and a
forest has at most `most_trees` trees, where little noise would let the paper's rule ask for thousands.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.growing.grove import Grove, NumericSplits, branching
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts, shares_of
from jostle.options.growing.splitting import AtRandom
from jostle.options.growing.stopping import BySupport
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, share, whole
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema

__all__ = ["FletcherIslam", "forest_size"]

MOST_LEVELS = 64


@option
@frozen(kw_only=True)
class FletcherIslam(Classifier):
    """A forest of random trees sized by signal and noise, each answering with its surest node."""

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
        """A forest."""
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
