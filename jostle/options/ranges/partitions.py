"""Grid Options that gather cells of nearly equal counts, and count what was gathered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, cell_kernel, count_tree, known_levels
from jostle.options.ranges.reading import SPLITS, read_leaves
from jostle.options.ranges.tree import Tree, chain_tree, halving_tree, hilbert_order, reading_shares
from jostle.parameters import positive, share
from jostle.privacy.amounts import exact
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.evidence import noise_variance
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.picks import PickPartition
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import grid_shape

Floats = NDArray[np.float64]

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
    for place, count in enumerate(falling[1:].tolist(), start=1):
        grown = (count - mean) ** 2 * size / (size + 1)
        if grown <= price:
            size += 1
            mean += (count - mean) / size
        else:
            starts.append(place)
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

    Look at noisy counts, gather cells that seem to have equal ones, count the gatherings.

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

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """The noisy cells, then the clusters."""
        first = epsilon * self.cells_share
        return in_turn([Laplace(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
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
        known = 1 if schema.neighbours == "add_remove" else 2
        starts = gather(falling, float(self.price) * noise_variance(known / (epsilon - first)))
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

    A private partition into parts of nearly equal counts, then the parts' totals as the workload needs them.

    Li, Hay, Miklau, Wang, A data- and workload-aware algorithm for range queries under differential privacy, PVLDB
    7(5),
    2014. Here the partition costs less noise (`PickPartition`), few levels of the tree over its parts are counted,
       their shares found at once (`tree`), and what the noisy totals mean is worked out as `reading` has it.
    """

    version: ClassVar[int] = 3
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on
    looks_at_workload = True

    partition_share: Fraction = share("1/8")
    """Part of epsilon that buys the partition."""
    penalty: float = positive(10.0)
    """What a part costs in the partition, in scales of its count's noise."""
    paper = "Li, Hay, Miklau, Wang 2014"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """The partition, then the counts."""
        first = epsilon * self.partition_share
        return in_turn([PermuteAndFlip(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The parts' totals, spread evenly."""
        first = epsilon * self.partition_share
        tree = private_parts(db, first, epsilon - first, exact(self.penalty, "penalty"))
        shares = reading_shares(tree, workload or Workload.random_ranges(tree.shape), step=STEP, tilt=TILT)
        counted = count_tree(db, tree, shares, epsilon - first, site="parts").and_known(known_levels(db, tree))
        return Estimate(counted.tree.spread(read_leaves(counted.tree, counted.counts, counted.mean_noise)))
