"""ShrunkTree: a tree of halvings, counted as workload and scale have it, read by empirical Bayes.

Ours. The shares of the levels are those of `shares.reading_shares`, and what the noisy counts mean is worked out in
`reading`: a partition is not bought, as DAWA does, but inferred from the counts themselves.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen

from jostle.options.base import option, share
from jostle.options.histograms.estimate import Estimate
from jostle.options.histograms.grid import (
    GridOption,
    count_tree,
    counts_cost,
    grid_shape,
    noise_variance,
    paid_total,
)
from jostle.options.histograms.reading import read_leaves
from jostle.options.histograms.shares import reading_shares
from jostle.options.histograms.tree import halving_tree
from jostle.options.histograms.workload import Workload
from jostle.privacy.events import Event
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["ShrunkTree"]


PUBLIC_DOUBT = 1e-3
"""Variance of a total that is known: so little that it never matters."""


@option
@frozen
class ShrunkTree(GridOption):
    """Counts a few levels of a tree of halvings and shrinks what they say: for grids of which nothing is known.

    Privacy: the total by `AddNoise`, then `AddNoiseByLevel` over the tree's levels, of which a record is in one node
    each. Which levels are counted, and how well, depends on the workload, the shape, epsilon and the released total.
    """

    version: ClassVar[int] = 2
    looks_at_workload = True

    total_share: Fraction = share("1/50")
    """Part of epsilon that buys the number of records, unless it is public."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Return the total, then the counts."""
        return counts_cost(schema, epsilon, self.total_share)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """Return the shrunk counts."""
        schema = db.schema
        shape = grid_shape(schema)
        wanted = workload or Workload.random_ranges(shape)
        total = paid_total(db, epsilon * self.total_share)
        public = schema.rows is not None
        left = epsilon if public else epsilon * (1 - self.total_share)
        tree = halving_tree(shape)
        counted = count_tree(db, tree, reading_shares(tree, wanted, total, float(left)), left, site="tree")
        counts, noise = [*counted.counts], [*counted.noise]
        doubt = PUBLIC_DOUBT if public else noise_variance(1 / (epsilon * self.total_share))
        root = counts[0]
        weight = 0.0 if root is None else doubt / (doubt + noise[0])
        counts[0] = np.array([total if root is None else weight * float(root[0]) + (1 - weight) * total])
        noise[0] = doubt if root is None else weight * noise[0]
        return Estimate(tree.spread(read_leaves(tree, counts, noise)))
