"""RefinedTree: count a few regions, cut those that stand out of noise, count again, and take all counts together.

Ours. Every round counts one partition of the grid, made of nodes of the tree of halvings. From what was counted before
it is foreseen which regions the last round will count: a region is cut on as long as its records stand out of that
round's noise. So regions are as fine as records are many, and where they are few, none is spent on telling cells apart
by their noise. The round between counts the same regions a few levels coarser: of a range over many fine regions, the
sum is known by it, as it is by the upper levels of a tree of counts. On one axis, where it would count nearly the same
regions as the last, there is none, and the last has its budget. What is counted is counted for good: the estimate takes
all rounds together (`reading.careful_leaves`).

Zhang, Xiao, Xie, PrivTree, SIGMOD 2016, cuts by noisy counts of every node on the way down; here all rounds' counts are
in the estimate, so looking costs little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, look_first
from jostle.options.ranges.reading import SPLITS, careful_leaves
from jostle.options.ranges.tree import Tree, halving_tree, least_squares, nonnegative
from jostle.parameters import positive, share, whole
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.evidence import Look, noise_variance
from jostle.privacy.mechanisms import AddNoiseByLevel, level_scales
from jostle.privacy.probe import Probe
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema, declared_rows
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import grid_shape

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Places = NDArray[np.int64]

FIRST_LEVEL = 2
"""The first round counts this level and one more for each axis, of a tree that is at least twice as deep."""
RAISED = 3
"""By how many levels regions of the round between are coarser than those foreseen for the last."""
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

    def and_known(self, looks: Sequence[Look | None]) -> CountedTree:
        """A copy with what was known of its levels before."""
        weighted, precision, regions = list(self.weighted), list(self.precision), self.regions
        for level, look in enumerate(looks):
            if look is not None:
                weighted[level] = weighted[level] + look.counts / look.variance
                precision[level] = precision[level] + 1 / look.variance
                regions = np.union1d(regions, self.tree.starts[level])
        return CountedTree(self.tree, tuple(weighted), tuple(precision), regions)

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

    def known(self) -> tuple[Tree, list[Floats], list[Floats]]:
        """The tree of what was counted; per level the mean counts of its nodes, and their variances.

        What is known of a region that no partition cuts stands at the leaves.
        """
        nodes: list[Places] = []
        held: list[tuple[Places, Floats, Floats]] = []
        weighted, precision = np.zeros(len(self.regions)), np.zeros(len(self.regions))
        for starts, sums, weights in zip(self.tree.starts, self.weighted, self.precision, strict=True):
            # A node that is part of an uncut region begins where none does; a region is in all levels below its own.
            here = np.intersect1d(starts, self.regions, assume_unique=True)
            inside = np.diff(np.searchsorted(self.regions, np.append(starts, len(self.tree.order))))
            places = np.searchsorted(here, starts)
            upper, lower = (np.flatnonzero((weights > 0) & each) for each in (inside > 1, inside == 1))
            region = np.searchsorted(self.regions, starts[lower])
            weighted[region] += sums[lower]
            precision[region] += weights[lower]
            if not nodes or len(nodes[-1]) < len(self.regions):
                nodes.append(here)
                held.append((places[upper], sums[upper], weights[upper]))
        held[-1] = (np.arange(len(self.regions)), weighted, precision)
        counts, noise = [], []
        for here, (places, sums, weights) in zip(nodes, held, strict=True):
            found, doubt = np.zeros(len(here)), np.full(len(here), UNKNOWN)
            seen = weights > 0
            found[places[seen]] = sums[seen] / weights[seen]
            doubt[places[seen]] = 1 / weights[seen]
            counts.append(found)
            noise.append(doubt)
        return Tree(self.tree.shape, self.tree.order, tuple(nodes)), counts, noise

    def leaves(self) -> tuple[Tree, Floats]:
        """The tree of what was counted, and the least-squares counts of its leaves, none below 0."""
        tree, counts, noise = self.known()
        return tree, nonnegative(tree, *least_squares(tree, counts, noise))

    def estimate(self) -> Floats:
        """The grid that all counts together make expect."""
        tree, counts, noise = self.known()
        return tree.spread(careful_leaves(tree, counts, noise))

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


def raised(tree: Tree, partition: Sequence[Marks], least: int) -> list[Marks]:
    """A coarser partition: the ancestors of its regions `RAISED` levels up, but none above level *least*.

    A region that is above that level itself stays as it is; where regions of several levels have one ancestor, it is
    cut as far as the finest of them asks for.
    """
    deepest = [np.where(marks, level, 0) for level, marks in enumerate(partition)]
    for level in reversed(range(len(partition) - 1)):
        np.maximum.at(deepest[level], tree.parents(level + 1), deepest[level + 1])
    coarser: list[Marks] = []
    there = np.ones(1, dtype=np.bool_)
    for level, below in enumerate(deepest):
        cut = there & (np.clip(below - RAISED, np.minimum(below, least), None) > level)
        coarser.append(there & ~cut)
        if not cut.any():
            break
        there = cut[tree.parents(level + 1)]
    return coarser


def starts_of(tree: Tree, partition: Sequence[Marks]) -> Places:
    """Where a partition's regions begin in the tree's order, rising."""
    return np.sort(np.concatenate([tree.starts[level][marks] for level, marks in enumerate(partition)]))


@option
@frozen
class RefinedTree(GridOption):
    """Counts regions of a grid in rounds, cutting those that stand out of noise, and fits all rounds together.

    Privacy: `AddNoiseByLevel` over one partition in each round, with that round's share of epsilon: a record is in one
    of its regions. Which partition is counted next, and whether the last two rounds are one with the budget of both,
    depends on counts that are released. A first round that was bought before is not bought again.
    """

    version: ClassVar[int] = 4
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on

    first_share: Fraction = share("1/3")
    """Part of epsilon, over the number of axes, that buys the first round, of one coarse level.

    The more axes there are, the less of a range's error is in what is known of large regions.
    """
    second_share: Fraction = share("1/3", zero=True)
    """Part that buys a round between the first and the last; none if 0."""
    threshold: float = positive(3.0)
    """A region is cut that seems to hold so many standard deviations of the last round's noise."""
    joined: int = whole(3, least=0)
    """On one axis, the last two rounds are one where no region foreseen is so many levels below the first round's.

    So it is with few records, which foresee nothing fine: with the budget of both rounds, regions are counted with less
    noise than by one round after the other. Never if 0, nor on maps: there the third round finds what the first could
    not foresee.
    """

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """One tally with noise for each round; where the last two are one, it costs what both would."""
        return in_turn([Laplace(budget) for budget in self.budgets(schema, epsilon)])

    def refuses(self, schema: Schema) -> str | None:
        """Refuse shares that leave nothing for the last round."""
        if self.first_share / len(schema.names) + self.second_share >= 1:
            return "first_share and second_share leave nothing for the last round"
        return super().refuses(schema)

    def budgets(self, schema: Schema, epsilon: Fraction) -> list[Fraction]:
        """The budget of each round."""
        first = self.first_share / len(schema.names)
        return [epsilon * share for share in (first, self.second_share, 1 - first - self.second_share) if share]

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The estimate."""
        return self.counted(db, halving_tree(grid_shape(db.schema)), epsilon)

    def counted(self, db: Probe, tree: Tree, epsilon: Fraction) -> Estimate:
        """The estimate by a tree over the grid of all columns."""
        schema = db.schema
        level = min(FIRST_LEVEL + len(tree.shape), (len(tree.starts) - 1) // 2)
        counted = CountedTree.nothing(tree)
        rows = declared_rows(schema, schema.names)
        if rows is not None:
            counted = counted.and_rows(rows)
        budgets = self.budgets(schema, epsilon)
        first = look_first(db, tree, level, budgets[0], site="round 1")
        counted = counted.and_known(first.looks)
        # Where the first round was known, the others have its share.
        more = (epsilon - first.cost) / (epsilon - budgets[0])
        least = self.threshold * math.sqrt(noise_variance(1 / (budgets[-1] * more)))
        rounds = [each * more for each in budgets[1:]]
        partition = counted.partition(least)
        if len(tree.shape) == 1 and self.joined and len(partition) <= level + self.joined:
            rounds = [sum(rounds, Fraction(0))]
        for number, budget in enumerate(rounds, start=2):
            if number > 2:
                partition = counted.partition(least)
            if number <= len(rounds):
                partition = raised(tree, partition, 2 * level)
            kernel = Regions(schema.names, tree.order, (starts_of(tree, partition),))
            (scale,) = level_scales(kernel, ALL, schema, budget)
            (noisy,) = db.perform(AddNoiseByLevel(kernel, ALL), budget, site=f"round {number}")
            counted = counted.and_counts(partition, noisy, noise_variance(scale))
        return Estimate(counted.estimate())
