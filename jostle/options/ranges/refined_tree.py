"""RefinedTree: count a few regions, cut those that stand out of noise, count again, and fit all counts together.

Ours. Every round counts one partition of the grid, made of nodes of the tree of halvings: a region is cut on as long as
its records, as the rounds before have them, stand out of the next round's noise. So regions are as fine as records are
many, and where they are few, none is spent on telling cells apart by their noise. What is counted is counted
for good: least squares over all rounds gives the estimate, without negative counts.

Zhang, Xiao, Xie, PrivTree, SIGMOD 2016, cuts by noisy counts of every node on the way down; here all rounds' counts are
in the estimate, so looking costs little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, grid_shape, noise_variance
from jostle.options.ranges.tree import Tree, halving_tree, least_squares, nonnegative
from jostle.parameters import positive, share
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.levels import AddNoiseByLevel, level_scales
from jostle.privacy.probe import Probe
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["RefinedTree"]

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Places = NDArray[np.int64]

FIRST_LEVEL = 4
"""The first round counts this level of a tree that is at least twice as deep."""
PUBLIC_DOUBT = 1e-3
"""Variance of a total that is known: so little that it never matters."""
UNKNOWN = 1e18
"""Variance of what was not counted."""
ALL = (Fraction(1),)


@frozen(eq=False)
class CountedTree:
    """What was counted of a tree's nodes: per level, the sum of counts over variances, and that of 1 / variances."""

    tree: Tree
    weighted: tuple[Floats, ...]
    precision: tuple[Floats, ...]
    regions: Places
    """Where regions begin that no partition cuts, in the tree's order."""

    @classmethod
    def nothing(cls, tree: Tree) -> CountedTree:
        """Begin with one region, of which nothing is known."""
        nothing = tuple(np.zeros(len(starts)) for starts in tree.starts)
        return cls(tree, nothing, nothing, np.zeros(1, dtype=np.int64))

    def and_rows(self, rows: int) -> CountedTree:
        """A copy with the number of rows, which is public."""
        root = np.ones(1) / PUBLIC_DOUBT
        return CountedTree(
            self.tree, (rows * root, *self.weighted[1:]), (root, *self.precision[1:]), regions=self.regions
        )

    def and_counts(self, partition: Sequence[Marks], counts: NDArray[np.int64], variance: float) -> CountedTree:
        """A copy with noisy counts of a partition's regions, in the tree's order."""
        starts = starts_of(self.tree, partition)
        weighted, precision = list(self.weighted), list(self.precision)
        for level, marks in enumerate(partition):
            found = np.zeros(len(marks))
            found[marks] = counts[np.searchsorted(starts, self.tree.starts[level][marks])]
            weighted[level] = weighted[level] + found / variance
            precision[level] = precision[level] + marks / variance
        return CountedTree(self.tree, tuple(weighted), tuple(precision), np.union1d(self.regions, starts))

    def leaves(self) -> tuple[Tree, Floats]:
        """The tree of what was counted, and the least-squares counts of its leaves, none below 0."""
        levels, counts, noise = [], [], []
        for level, starts in enumerate(self.tree.starts):
            # A node that is part of an uncut region begins where none does; a region goes down to the last level.
            here = np.intersect1d(starts, self.regions, assume_unique=True)
            known = np.flatnonzero(self.precision[level])
            places = np.searchsorted(here, starts[known])
            found, doubt = np.zeros(len(here)), np.full(len(here), UNKNOWN)
            found[places] = self.weighted[level][known] / self.precision[level][known]
            doubt[places] = 1 / self.precision[level][known]
            levels.append(here)
            counts.append(found)
            noise.append(doubt)
            if len(here) == len(self.regions):
                break
        tree = Tree(self.tree.shape, self.tree.order, tuple(levels))
        return tree, nonnegative(tree, *least_squares(tree, counts, noise))

    def partition(self, least: float) -> list[Marks]:
        """The nodes that are not cut, per level: cut is what seems to hold at least so many records."""
        tree, leaves = self.leaves()
        cells = len(self.tree.order)
        places = np.append(tree.starts[-1], cells)
        below = np.concatenate([np.zeros(1), np.cumsum(leaves)])
        partition: list[Marks] = []
        there = np.ones(1, dtype=np.bool_)
        for level, starts in enumerate(self.tree.starts):
            records = np.diff(np.interp(np.append(starts, cells), places, below))
            last = level == len(self.tree.starts) - 1
            cut = there & (records >= least) & (not last)
            partition.append(there & ~cut)
            if last or not cut.any():
                break
            there = cut[self.tree.parents(level + 1)]
        return partition


def starts_of(tree: Tree, partition: Sequence[Marks]) -> Places:
    """Where a partition's regions begin in the tree's order, rising."""
    return np.sort(np.concatenate([tree.starts[level][marks] for level, marks in enumerate(partition)]))


@option
@frozen
class RefinedTree(GridOption):
    """Counts regions of a grid in rounds, cutting those that stand out of noise, and fits all rounds together.

    Privacy: `AddNoiseByLevel` over one partition in each round, with that round's share of epsilon: a record is in one
    of its regions. Which partition is counted next depends on counts that are released.
    """

    first_share: Fraction = share("3/20")
    """Part of epsilon that buys the first round, of one coarse level."""
    second_share: Fraction = share("7/20", zero=True)
    """Part that buys a round between the first and the last; none if 0."""
    threshold: float = positive(3.0)
    """A region is cut that seems to hold so many standard deviations of the next round's noise."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise for each round."""
        return in_turn([Laplace(budget) for budget in self.budgets(epsilon)])

    def refuses(self, schema: Schema) -> str | None:
        """Refuse shares that leave nothing for the last round."""
        if self.first_share + self.second_share >= 1:
            return "first_share and second_share leave nothing for the last round"
        return super().refuses(schema)

    def budgets(self, epsilon: Fraction) -> list[Fraction]:
        """The budget of each round."""
        shares = [self.first_share, self.second_share, 1 - self.first_share - self.second_share]
        return [epsilon * share for share in shares if share]

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The estimate."""
        schema = db.schema
        tree = halving_tree(grid_shape(schema))
        level = min(FIRST_LEVEL, (len(tree.starts) - 1) // 2)
        partition = [np.full(len(starts), place == level) for place, starts in enumerate(tree.starts[: level + 1])]
        counted = CountedTree.nothing(tree)
        rows = schema.rows
        if rows is not None:
            counted = counted.and_rows(rows)
        for number, budget in enumerate(self.budgets(epsilon)):
            if number:
                partition = counted.partition(self.threshold * math.sqrt(noise_variance(1 / budget)))
            kernel = Regions(schema.names, tree.order, (starts_of(tree, partition),))
            (scale,) = level_scales(kernel, ALL, schema, budget)
            (noisy,) = db.perform(AddNoiseByLevel(kernel, ALL), budget, site=f"round {number + 1}")
            counted = counted.and_counts(partition, noisy, noise_variance(scale))
        found, leaves = counted.leaves()
        return Estimate(found.spread(leaves))
