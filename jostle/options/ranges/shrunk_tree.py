"""ShrunkTree: a tree of halvings, counted as workload, scale and a first look have it, read by Bayes' rule.

Ours. First one coarse level is counted; how many records there are, and how evenly they lie, says which levels the rest
of epsilon is best spent on (`shares.reading_shares`). What all noisy counts mean together is worked out in `reading`: a
partition is not bought, as DAWA does, but inferred from the counts themselves.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, count_tree, grid_shape
from jostle.options.ranges.looks import look_first
from jostle.options.ranges.reading import read_leaves
from jostle.options.ranges.shares import coarseness, reading_shares
from jostle.options.ranges.split_model import SPLITS
from jostle.options.ranges.tree import halving_tree
from jostle.parameters import share
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.metafeatures import evenness
from jostle.tasks.ranges.workload import Workload

__all__ = ["ShrunkTree"]

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
    """

    version: ClassVar[int] = 3
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on
    looks_at_workload = True

    first_share: Fraction = share("1/10")
    """Part of epsilon that buys the first look."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """The first look, then the rest."""
        first = epsilon * self.first_share
        return in_turn([Laplace(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The shrunk counts."""
        shape = grid_shape(db.schema)
        wanted = workload or Workload.random_ranges(shape)
        tree = halving_tree(shape)
        depth = len(tree.starts) - 1
        level = min(FIRST_LEVEL, depth // 2)
        first = look_first(db, tree, level, epsilon * self.first_share, site="first look")
        seen = first.seen
        rows = db.schema.rows
        records = rows if rows is not None else max(int(seen.counts.sum()), 0)
        evenly = evenness(seen.counts, float(seen.variance.mean()))
        tilt = coarseness(records * float(epsilon), evenly)
        shares = reading_shares(tree, wanted, step=STEP, tilt=tilt, bought=(level, first.worth(epsilon)))
        both = count_tree(db, tree, shares, epsilon - first.cost, site="tree").and_known(first.looks)
        counts, noise = list(both.counts), list(both.mean_noise)
        if rows is not None:
            counts[0], noise[0] = np.array([float(rows)]), PUBLIC_DOUBT
        return Estimate(tree.spread(read_leaves(tree, counts, noise)))
