"""HierarchicalB: a tree with many children per node, every level counted, made consistent by least squares.

Qardaji, Yang, Li, Understanding hierarchical methods for differentially private histograms, PVLDB 6(14), 2013.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, count_tree, grid_shape
from jostle.options.ranges.shares import tree_error
from jostle.options.ranges.tree import axis_cuts, grid_tree
from jostle.parameters import flag, whole
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["HierarchicalB", "best_branching", "published_branching"]


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

    The paper's rule averages over all ranges by approximation; here a sample of them is worked out (see `shares`). The
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
    """

    branching: int = whole(0, least=0)
    """Children per axis; 0 for the published rule, or in several dimensions its exact counterpart."""
    negative: bool = flag(default=False)
    """Whether counts below 0 are kept: then the estimate is linear and unbiased, but off by more."""
    paper = "Qardaji, Yang, Li 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise."""
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The least-squares estimate."""
        shape = grid_shape(db.schema)
        suitable = published_branching(shape[0]) if len(shape) == 1 else best_branching(shape)
        tree = grid_tree(shape, self.branching if self.branching > 1 else suitable)
        below = len(tree.starts) - 1
        shares = [Fraction(0)] + [Fraction(1, below)] * below if below else [Fraction(1)]
        return count_tree(db, tree, shares, epsilon, site="tree").estimate(negative=self.negative)
