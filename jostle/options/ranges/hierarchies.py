"""Grid Options that count a tree of regions, every level with its share of the budget."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, count_tree, look_first
from jostle.options.ranges.reading import SPLITS, read_leaves
from jostle.options.ranges.tree import (
    Tree,
    axis_cuts,
    coarseness,
    exact_shares,
    grid_tree,
    halving_tree,
    reading_shares,
    tree_error,
    tree_shares,
)
from jostle.parameters import flag, positive, share, whole
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema, declared_rows
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import evenness, grid_shape


@option
@frozen
class GreedyH(GridOption):
    """Counts the levels of a tree that the workload is best told from; each level halves every axis.

    Privacy: `AddNoiseByLevel` over the tree's levels: a record is in one node of each. The shares depend on the
    workload and the grid's shape only.

    Li, Hay, Miklau, Wang, PVLDB 7(5), 2014, where shares are found level by level, greedily; here all at once
    (`tree`).
    """

    looks_at_workload = True

    negative: bool = flag(default=False)
    """Whether counts below 0 are kept: then the estimate is linear and unbiased, but off by more."""
    paper = "Li, Hay, Miklau, Wang 2014"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        shape = grid_shape(db.schema)
        tree = grid_tree(shape, 2)
        shares = tree_shares(tree, workload or Workload.random_ranges(shape))
        return count_tree(db, tree, shares, epsilon, site="tree").estimate(negative=self.negative)


CANDIDATES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)


def published_branching(side: int) -> int:
    """How many children the paper's rule gives in one dimension: the least average variance of a range.

    That is the least of (b-1) * h**3 - 2 * (b+1) * h**2 / 3 with h levels below the root, h = log_b(side) rounded up.

    >>> published_branching(1024), published_branching(4096)
    (32, 16)
    """

    def cost(branching: int) -> float:
        height = _height(side, branching)
        return (branching - 1) * height**3 - 2 * (branching + 1) * height**2 / 3

    return min(range(2, max(side, 2) + 1), key=cost)


def _height(side: int, branching: int) -> int:
    height = 1
    while branching**height < side:
        height += 1
    return height


@lru_cache(maxsize=32)
def best_branching(shape: tuple[int, ...]) -> int:
    """How many children per axis give random ranges the least variance, with equal shares for all levels.

    The paper's rule averages over all ranges by approximation; here a sample of them is worked out (see `tree`). The
    largest side is among the candidates: it makes a grid without levels.
    """
    wanted = Workload.random_ranges(shape, 64)
    lowest, best = math.inf, 2
    for branching in (*(each for each in CANDIDATES if each < max(shape)), max(*shape, 2)):
        cuts = [axis_cuts(side, branching) for side in shape]
        depth = max(map(len, cuts))
        loads, nodes = [], []
        for level in range(depth):
            axes = [axis[max(0, level - (depth - len(axis)))] for axis in cuts]
            squares = np.ones(len(wanted))
            for axis, (starts, side) in enumerate(zip(axes, shape, strict=True)):
                ends = np.append(starts[1:], side)
                low, high = wanted.low[:, axis, None], wanted.high[:, axis, None]
                inside = np.clip(np.minimum(high, ends) - np.maximum(low, starts), 0, None)
                squares *= (inside**2 / (ends - starts)).sum(axis=1)
            loads.append(squares.sum())
            nodes.append(math.prod(map(len, axes)))
        shares = np.full(depth, 1 / max(1, depth - 1))
        shares[: 1 if depth > 1 else 0] = 0
        error = float(tree_error(shares, np.array(loads), nodes[-1] / np.array(nodes)))
        if error < lowest:
            lowest, best = error, branching
    return best


@option
@frozen
class HierarchicalB(GridOption):
    """Counts every level below the root of a b-ary tree with equal shares and fits the counts by least squares.

    Privacy: `AddNoiseByLevel` over the tree's levels, equal shares: a record is in one node of each.

    A tree with many children per node, every level counted, made consistent by least squares.

    Qardaji, Yang, Li, Understanding hierarchical methods for differentially private histograms, PVLDB 6(14), 2013.
    """

    branching: int = whole(0, least=0)
    """Children per axis; 0 for the published rule, or in several dimensions its exact counterpart."""
    negative: bool = flag(default=False)
    """Whether counts below 0 are kept: then the estimate is linear and unbiased, but off by more."""
    paper = "Qardaji, Yang, Li 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        shape = grid_shape(db.schema)
        suitable = published_branching(shape[0]) if len(shape) == 1 else best_branching(shape)
        tree = grid_tree(shape, self.branching if self.branching > 1 else suitable)
        below = len(tree.starts) - 1
        shares = [Fraction(0)] + [Fraction(1, below)] * below if below else [Fraction(1)]
        return count_tree(db, tree, shares, epsilon, site="tree").estimate(negative=self.negative)


@option
@frozen
class QuadTree(GridOption):
    """Counts a tree of quadrants (in d dimensions, 2**d parts) with shares that grow towards the cells, and fits them.

    Privacy: `AddNoiseByLevel` over the tree's levels: a record is in one node of each.

    Halve every axis again and again, count every level, more carefully further down.

    Cormode, Procopiuc, Srivastava, Shen, Yu, Differentially private spatial decompositions, ICDE 2012.
    """

    growth: float = positive(1.26)
    """By how much a level's share exceeds that of the one above; the paper's is the cube root of 2."""
    negative: bool = flag(default=False)
    """Whether counts below 0 are kept: then the estimate is linear and unbiased, but off by more."""
    paper = "Cormode, Procopiuc, Srivastava, Shen, Yu 2012"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        tree = grid_tree(grid_shape(db.schema), 2)
        shares = exact_shares([float(self.growth) ** level for level in range(len(tree.starts))])
        return count_tree(db, tree, shares, epsilon, site="tree").estimate(negative=self.negative)


Floats = NDArray[np.float64]

FIRST_LEVEL = 4
"""Which level is counted first, of a tree that is at least twice as deep: 16 nodes tell of evenness and cost little."""
STEP = 4
"""Every so manieth level is counted: a reading fills in those between."""
PUBLIC_DOUBT = 1e-3
"""Variance of a total that is known: so little that it never matters."""


@option
@frozen
class ShrunkTree(GridOption):
    """Counts a few levels of a tree of halvings and shrinks what they say: for grids of which nothing is known.

    Privacy: `AddNoiseByLevel` over one level with a share of epsilon, then over a few levels with the rest: a record is
    in one node of each level. Which levels the rest goes to depends on the workload, the shape, epsilon and the first
    counts, which are released. A first look that was bought before is not bought again.

    A tree of halvings, counted as workload, scale and a first look have it, read by Bayes' rule.

    Ours. First one coarse level is counted; how many records there are, and how evenly they lie, says which levels the
    rest of epsilon is best spent on (`tree.reading_shares`). What all noisy counts mean together is worked out in
    `reading`: a partition is not bought, as DAWA does, but inferred from the counts themselves.
    """

    version: ClassVar[int] = 4
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on
    looks_at_workload = True

    first_share: Fraction = share("1/10")
    """Part of epsilon that buys the first look."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The first look, then the rest."""
        first = epsilon * self.first_share
        return in_turn([Laplace(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The shrunk counts."""
        shape = grid_shape(db.schema)
        return self.counted(db, halving_tree(shape), workload or Workload.random_ranges(shape), epsilon)

    def counted(self, db: Probe, tree: Tree, wanted: Workload, epsilon: Fraction) -> Estimate:
        """The shrunk counts of a tree over the grid of all columns."""
        depth = len(tree.starts) - 1
        level = min(FIRST_LEVEL, depth // 2)
        first = look_first(db, tree, level, epsilon * self.first_share, site="first look")
        seen = first.seen
        rows = declared_rows(db.schema, db.schema.names)
        records = rows if rows is not None else max(int(seen.counts.sum()), 0)
        evenly = evenness(seen.counts, float(seen.variance.mean()))
        tilt = coarseness(records * float(epsilon), evenly)
        shares = reading_shares(tree, wanted, step=STEP, tilt=tilt, bought=(level, first.worth(epsilon)))
        both = count_tree(db, tree, shares, epsilon - first.cost, site="tree").and_known(first.looks)
        counts, noise = list(both.counts), list(both.mean_noise)
        if rows is not None:
            counts[0], noise[0] = np.array([float(rows)]), PUBLIC_DOUBT
        return Estimate(tree.spread(read_leaves(tree, counts, noise)))
