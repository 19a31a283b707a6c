"""Grid Options that count parts of a grid: cut as finely as its records are worth, or cells of nearly equal counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import (
    GridOption,
    TreeCounts,
    cell_kernel,
    count_tree,
    counts_cost,
    known_cuts,
    known_levels,
    total_cost,
    total_of,
)
from jostle.options.ranges.reading import SPLITS, read_leaves
from jostle.options.ranges.tree import (
    Tree,
    chain_tree,
    halving_tree,
    hilbert_order,
    least_squares,
    reading_shares,
    top_down,
    tree_of_cuts,
)
from jostle.parameters import flag, positive, share
from jostle.privacy.amounts import exact
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.evidence import noise_variance
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.picks import PickPartition
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import grid_shape


def even_cuts(side: int, parts: int) -> NDArray[np.int64]:
    """Where intervals begin that cut a side into so many nearly equal parts, or into cells if there are fewer.

    >>> even_cuts(10, 3).tolist()
    [0, 3, 6]
    """
    parts = max(1, min(side, parts))
    return np.arange(parts, dtype=np.int64) * side // parts


def root_of(cells: float, axes: int) -> float:
    """How many parts per axis make so many cells."""
    return float(max(cells, 0.0) ** (1 / axes))


@option
@frozen
class UniformGrid(GridOption):
    """Counts an even grid of m parts per axis, m**d = N * epsilon / c, and spreads each count over its cells.

    Privacy: the total by `AddNoise`, then `AddNoiseByLevel` over one partition, which the released total decides. A
    total that was known before is not bought, and is fitted to.

    A grid coarse enough that noise and uneven cells do about equal harm.

    Qardaji, Yang, Li, Differentially private grids for geospatial data, ICDE 2013.
    """

    total_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of records, unless it is public."""
    c: float = positive(10.0)
    """Records times epsilon per part."""
    paper = "Qardaji, Yang, Li 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return counts_cost(schema, epsilon, self.total_share)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        shape = grid_shape(db.schema)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        parts = math.ceil(root_of(total.records * float(left) / float(self.c), len(shape)))
        levels: Sequence[Sequence[NDArray[np.int64]]] = [
            [even_cuts(side, 1) for side in shape],
            [even_cuts(side, parts) for side in shape],
        ]
        tree = tree_of_cuts(shape, levels)
        counted = count_tree(db, tree, [Fraction(0), Fraction(1)], left, site="grid")
        return counted.and_known(known_levels(db, tree)).estimate(negative=True)


Floats = NDArray[np.float64]


def cut_further(coarse: Tree, cuts: list[NDArray[np.int64]], parts: NDArray[np.int64]) -> Tree:
    """The coarse tree with one more level: its leaves cut into parts[leaf] per axis, where cells allow."""
    shape = coarse.shape
    leaf = np.empty(len(coarse.order), dtype=np.int64)
    leaf[coarse.order] = np.repeat(np.arange(len(coarse.starts[-1])), coarse.leaf_sizes)
    leaf = leaf.reshape(shape)
    label = np.zeros(shape, dtype=np.int64)
    for axis, (side, starts) in enumerate(zip(shape, cuts, strict=True)):
        along = [1] * len(shape)
        along[axis] = side
        lengths = np.diff(starts, append=side)
        index = np.searchsorted(starts, np.arange(side), side="right") - 1
        length = lengths[index].reshape(along)
        offset = (np.arange(side) - starts[index]).reshape(along)
        wanted = np.minimum(parts[leaf], length)
        label = label * int(lengths.max()) + offset * wanted // length
    _, key = np.unique(leaf.ravel() * (int(label.max()) + 1) + label.ravel(), return_inverse=True)
    order = np.argsort(key, kind="stable").astype(np.int64)
    upper = tuple(_starts(level_of, order) for level_of in _labels(coarse))
    return Tree(shape, order, (*upper, _starts(key, order)))


def cut_within(starts: NDArray[np.int64], side: int, parts: int) -> NDArray[np.int64]:
    """Where intervals begin that cut a side into about so many nearly equal parts, and within given ones.

    >>> cut_within(np.array([0, 5]), 10, 4).tolist(), cut_within(np.array([0]), 10, 3).tolist()
    ([0, 2, 5, 7], [0, 3, 6])
    """
    each = max(1, round(parts / len(starts)))
    lengths = np.diff(starts, append=side)
    return np.concatenate([first + even_cuts(length, each) for first, length in zip(starts, lengths, strict=True)])


def expected(counted: TreeCounts) -> Floats:
    """The least-squares counts of a tree's leaves."""
    return top_down(counted.tree, *least_squares(counted.tree, counted.counts, counted.noise))


def _labels(tree: Tree) -> list[NDArray[np.int64]]:
    labels = []
    for starts in tree.starts:
        label = np.empty(len(tree.order), dtype=np.int64)
        label[tree.order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(tree.order)))
        labels.append(label)
    return labels


def _starts(label: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.diff(label[order], prepend=-1))


@option
@frozen
class AdaptiveGrid(GridOption):
    """Counts a coarse grid, cuts each part according to its count, counts again and makes both consistent.

    Privacy: the total by `AddNoise`; the coarse grid with a share alpha of the rest, the parts of its parts with 1 -
    alpha, each by `AddNoiseByLevel` over one partition. A record is in one part of each, so the shares add up. How
    parts are cut depends on released counts only.

    Qardaji, Yang, Li, Differentially private grids for geospatial data, ICDE 2013.
    """

    total_share: Fraction = share("1/100")
    """Part of epsilon that buys the number of records, unless it is public."""
    alpha: Fraction = share("1/2")
    """Part of the rest that buys the coarse counts."""
    c: float = positive(20.0)
    """Records times epsilon per part of the even grid that the coarse one is a quarter of; 10 in the paper."""
    c2: float = positive(2.0)
    """Records times epsilon per part of a part; 5 in the paper, which did not take out counts below 0."""
    negative: bool = flag(default=False)
    """Whether counts below 0 are kept."""
    paper = "Qardaji, Yang, Li 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        bought = total_cost(schema, epsilon * self.total_share)
        left = epsilon * (1 - self.total_share) if bought else epsilon
        return in_turn([*bought, Laplace(left * self.alpha), Laplace(left - left * self.alpha)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        shape = grid_shape(db.schema)
        axes = len(shape)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        coarse_epsilon = left * self.alpha
        fine_epsilon = left - coarse_epsilon
        m1 = max(
            math.ceil(root_of(100, axes) - 1e-9),
            math.ceil(root_of(total.records * float(left) / float(self.c), axes) / 4),
        )
        whole, cuts_known = [even_cuts(side, 1) for side in shape], known_cuts(db, shape, m1**axes)
        cuts = [cut_within(starts, side, m1) for starts, side in zip(cuts_known, shape, strict=True)]
        coarse = tree_of_cuts(shape, [whole, cuts_known, cuts])
        first = count_tree(db, coarse, [Fraction(0), Fraction(0), Fraction(1)], coarse_epsilon, site="coarse")
        counts = expected(first.and_known(known_levels(db, coarse)))
        parts = np.ceil(np.maximum(counts * float(fine_epsilon) / float(self.c2), 0) ** (1 / axes)).astype(np.int64)
        fine = cut_further(coarse, cuts, np.maximum(parts, 1))
        second = count_tree(db, fine, [Fraction(0)] * 3 + [Fraction(1)], fine_epsilon, site="fine")
        both = TreeCounts(fine, (*first.counts, second.counts[-1]), (*first.noise, second.noise[-1]))
        return both.and_known(known_levels(db, fine)).estimate(negative=self.negative)


LEAST_EXPECTED = 1e-9
"""Cells that seem to be empty share what their cluster is counted to hold as if they had this much each."""

NO_NOISE = 0.05
"""Counts of less variance than this are taken as they are."""


def gather(falling: Floats, price: float) -> NDArray[np.int64]:
    """Where clusters begin in counts sorted in falling order, each cluster joined while that is cheaper.

    Joining a count to the cluster before it adds to the squared distances from the cluster's mean; not joining it costs
    *price*, the noise of one more cluster.
    """
    starts = [0]
    size, mean = 1, float(falling[0])
    for index, count in enumerate(falling[1:].tolist(), start=1):
        grown = (count - mean) ** 2 * size / (size + 1)
        if grown <= price:
            size += 1
            mean += (count - mean) / size
        else:
            starts.append(index)
            size, mean = 1, count
    return np.array(starts, dtype=np.int64)


def _read(noisy: Floats, shape: tuple[int, ...], variance: float) -> Floats:
    """Each cell's expected count, given its noisy count and those of the cells around it."""
    if variance < NO_NOISE:
        return np.maximum(noisy, 0)
    tree = halving_tree(shape)
    counts: Sequence[Floats | None] = [*[None] * (len(tree.starts) - 1), noisy[tree.order]]
    expected = np.empty(len(noisy))
    expected[tree.order] = read_leaves(tree, counts, [variance] * len(tree.starts))
    return expected


@option
@frozen
class AHP(GridOption):
    """Clusters cells by their noisy counts, wherever they lie, and shares each cluster's count among its cells.

    Privacy: noisy cells by `AddNoise` with a share of epsilon; they are released, and the clusters are made of them.
    Then the clusters' counts by `AddNoiseByLevel` over one partition, with the rest.

    Zhang, Chen, Xu, Meng, Xie, Towards accurate histogram publication under differential privacy, SDM 2014. Theirs
    clusters the noisy counts, those below a threshold taken for 0; here the noise is first taken out of them as
    `reading` does, which tells empty cells from others better than one threshold for all.
    """

    cells_share: Fraction = share("3/4")
    """Part of epsilon that buys the noisy cells the clusters are made of."""
    price: float = positive(4.0)
    """What one more cluster costs, in variances of its noise."""
    version: ClassVar[int] = 4
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on
    paper = "Zhang, Chen, Xu, Meng, Xie 2014"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        first = epsilon * self.cells_share
        return in_turn([Laplace(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The clusters' counts, shared among their cells in proportion to what these are expected to hold.

        What the cells of a cluster are expected to hold together is a second count of it, the less sure the more noisy
        cells it is the sum of; the two are averaged.
        """
        schema = db.schema
        shape = grid_shape(schema)
        first = epsilon * self.cells_share
        kernel = cell_kernel(schema)
        noisy = db.measure(kernel, first, site="cells").astype(np.float64)
        cell_noise = noise_variance(sensitivity(kernel, schema) / first)
        expected = _read(noisy, shape, cell_noise)
        order = np.argsort(-expected, kind="stable").astype(np.int64)
        falling = np.maximum(expected[order], LEAST_EXPECTED)
        moved = 1 if schema.neighbours == "add_remove" else 2
        starts = gather(falling, float(self.price) * noise_variance(moved / (epsilon - first)))
        tree = Tree(shape, order, (np.zeros(1, dtype=np.int64), starts))
        counted = count_tree(db, tree, [Fraction(0), Fraction(1)], epsilon - first, site="clusters")
        sums = np.add.reduceat(falling, starts)
        doubt = tree.leaf_sizes * cell_noise
        weight = doubt / (doubt + counted.noise[-1])
        merged = np.maximum(weight * np.asarray(counted.counts[-1]) + (1 - weight) * sums, 0)
        grid = np.empty(len(order))
        grid[order] = falling * np.repeat(merged / sums, tree.leaf_sizes)
        return Estimate(grid.reshape(shape))


STEP = 3
"""Every so manieth level of the tree over the parts is counted: a reading fills in those between."""
TILT = 1.3
"""By how much more than suits the workload a counted level gets for every one below it."""


def private_parts(db: Probe, partition: Fraction, counts: Fraction, penalty: Fraction) -> Tree:
    """A binary tree over a private partition of the grid along Hilbert's curve, bought with epsilon *partition*.

    A part is charged *penalty* times the scale of the noise its count will have, at epsilon *counts*.
    """
    schema = db.schema
    shape = grid_shape(schema)
    order = hilbert_order(shape)
    # Steps fine enough that rounding the penalty to them, and the noise's being whole, does not matter.
    grain = 1 << max(0, math.ceil(math.log2(64 * max(partition, counts))))
    moved = 1 if schema.neighbours == "add_remove" else 2
    mechanism = PickPartition(schema.names, order, penalty * moved / counts, grain)
    return chain_tree(shape, order, db.perform(mechanism, partition, site="partition"))


@option
@frozen
class DAWA(GridOption):
    """Merges neighbouring cells of nearly equal counts and counts what is left: for clustered or sparse grids.

    Privacy: `PickPartition` with a share of epsilon, then `AddNoiseByLevel` over a tree of the parts with the rest. The
    partition is released, so the tree and its shares may depend on it.

    Li, Hay, Miklau, Wang, A data- and workload-aware algorithm for range queries under differential privacy, PVLDB
    7(5), 2014. Here the partition costs less noise (`PickPartition`), few levels of the tree over its parts are
    counted, their shares found at once (`tree`), and what the noisy totals mean is worked out as `reading` has it.
    """

    version: ClassVar[int] = 3
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on
    looks_at_workload = True

    partition_share: Fraction = share("1/8")
    """Part of epsilon that buys the partition."""
    penalty: float = positive(10.0)
    """What a part costs in the partition, in scales of its count's noise."""
    paper = "Li, Hay, Miklau, Wang 2014"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        first = epsilon * self.partition_share
        return in_turn([PermuteAndFlip(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        first = epsilon * self.partition_share
        tree = private_parts(db, first, epsilon - first, exact(self.penalty, "penalty"))
        shares = reading_shares(tree, workload or Workload.random_ranges(tree.shape), step=STEP, tilt=TILT)
        counted = count_tree(db, tree, shares, epsilon - first, site="parts").and_known(known_levels(db, tree))
        return Estimate(counted.tree.spread(read_leaves(counted.tree, counted.counts, counted.mean_noise)))
