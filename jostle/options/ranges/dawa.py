"""DAWA: a private partition into parts of nearly equal counts, then the parts' totals as the workload needs them.

Li, Hay, Miklau, Wang, A data- and workload-aware algorithm for range queries under differential privacy, PVLDB 7(5),
2014. Here the partition costs less noise (`PickPartition`), few levels of the tree over its parts are counted, their
shares found at once (`shares`), and what the noisy totals mean is worked out as `reading` has it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, count_tree, grid_shape
from jostle.options.ranges.hilbert import hilbert_order
from jostle.options.ranges.looks import known_levels
from jostle.options.ranges.reading import read_leaves
from jostle.options.ranges.shares import reading_shares
from jostle.options.ranges.split_model import SPLITS
from jostle.options.ranges.tree import Tree, chain_tree
from jostle.parameters import positive, share
from jostle.privacy.amounts import exact
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.partition import PickPartition
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["DAWA", "private_parts"]

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
