"""Options of the grid task: how they are called, and what they have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.given import PRICE, called_as
from jostle.learned.grid_errors import KeptBars
from jostle.options.base import ELSEWHERE, Option, check_probe
from jostle.options.ranges.tree import Tree, least_squares, nonnegative, top_down, variances
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.levels import AddNoiseByLevel, level_scales
from jostle.privacy.measurements import Look, noise_variance, together
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate
from jostle.tasks.ranges.task import RANGES, grid_shape
from jostle.tasks.ranges.units import Asked
from jostle.tasks.ranges.workload import Workload

__all__ = [
    "GridOption",
    "TreeCounts",
    "count_tree",
    "grid_shape",
    "noise_variance",
    "total_cost",
]

Floats = NDArray[np.float64]

MOST_CELLS = 2**24
"""Cells of an array of estimates: 128 MB of them."""


class GridOption(Option[Estimate | SparseEstimate]):
    """An Option that estimates the cells of a grid: of all columns of a table, one axis each."""

    task = RANGES

    @called_as("option(db, epsilon=0.1)", why=PRICE)
    def __call__(
        self, db: Probe, workload: Workload | Asked | None = None, *, epsilon: Amount
    ) -> Estimate | SparseEstimate:
        """An estimate of the grid's cells, for the sake of a workload of range queries.

        They may be in the columns' units: {"income": (20_000, 50_000)}, or a list of such. Without any, the workload
        is 2,000 random ranges; many Options do not look at it.
        """
        check_probe(db, self.name)
        schema = db.schema
        shape = grid_shape(schema)
        if reason := self.refuses(schema):
            raise OptionError(f"{self.name} does not run here: {reason}", fix=ELSEWHERE)
        if workload is not None:
            wanted: Workload | None = Workload.in_units(schema, workload)
        else:
            wanted = Workload.random_ranges(shape) if self.looks_at_workload else None
        found = self.perform(db, epsilon, lambda probe, budget: self.run(probe, wanted, budget))
        spent = epsilon_amount(epsilon)
        # Where records are replaced, one changes two counts, so noise is as for half as much.
        scale = spent if schema.neighbours == "add_remove" else spent / 2
        return evolve(found, bars=KeptBars(self.name, self.version, float(scale)))

    looks_at_workload: bool = False
    """Whether what it asks depends on the workload."""

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run: for most, only too many cells."""
        cells = math.prod(grid_shape(schema))
        if cells > MOST_CELLS:
            return f"{cells:,} cells are more than the {MOST_CELLS:,} that are held at once"
        return None

    @abstractmethod
    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate | SparseEstimate:
        """The estimate, spending *epsilon* through the probe."""


def total_cost(schema: Schema, epsilon: Fraction) -> tuple[Event, ...]:
    """The events of learning the number of rows: none where the schema declares it."""
    return () if schema.rows is not None else (Laplace(epsilon),)


@frozen(eq=False)
class TreeCounts:
    """Noisy counts of a tree's nodes, level by level; None for levels that were not counted."""

    tree: Tree
    counts: tuple[NDArray[np.int64] | Floats | None, ...]
    noise: tuple[float | Floats, ...]
    """Each level's noise variance: one for all of its nodes, or one for each."""

    def and_known(self, looks: Sequence[Look | None]) -> TreeCounts:
        """These and what was known of the levels before, averaged by 1 / variance where there are both."""
        counts, noise = list(self.counts), list(self.noise)
        for level, look in enumerate(looks):
            own = counts[level]
            if look is not None:
                bought = [] if own is None else [Look(own, np.broadcast_to(noise[level], len(own)))]
                both = together([*bought, look])
                counts[level], noise[level] = both.counts, both.variance
        return TreeCounts(self.tree, tuple(counts), tuple(noise))

    @property
    def looks(self) -> tuple[Look | None, ...]:
        """What they tell of each level; None for levels that were not counted."""
        return tuple(
            None if counts is None else Look(counts, np.broadcast_to(noise, len(counts)))
            for counts, noise in zip(self.counts, self.noise, strict=True)
        )

    @property
    def mean_noise(self) -> tuple[float, ...]:
        """Each level's noise variance, in the mean over its nodes."""
        return tuple(float(np.mean(each)) for each in self.noise)

    def estimate(self, *, negative: bool = False) -> Estimate:
        """The least-squares estimate of the cells, or that without negative counts."""
        found, spread = least_squares(self.tree, self.counts, self.noise)
        leaves = (top_down if negative else nonnegative)(self.tree, found, spread)
        tree = self.tree
        exact = len(tree.starts[-1]) == len(tree.order)
        return Estimate(
            tree.spread(leaves),
            # A leaf of several cells spreads its count over them, an error that no variance of noise tells.
            (lambda workload: variances(tree, spread, workload)) if exact else None,
            linear=negative and exact,
        )


def count_tree(db: Probe, tree: Tree, shares: Sequence[Fraction], epsilon: Fraction, *, site: str) -> TreeCounts:
    """Noisy counts of a tree's nodes; *shares* has a share of epsilon per level, 0 for one not to be counted."""
    schema = db.schema
    counted = [level for level, share in enumerate(shares) if share]
    kernel = Regions(schema.names, tree.order, tuple(tree.starts[level] for level in counted))
    noisy = db.perform(AddNoiseByLevel(kernel, tuple(shares[level] for level in counted)), epsilon, site=site)
    found = dict(zip(counted, noisy, strict=True))
    drawn = level_scales(kernel, [shares[level] for level in counted], schema, epsilon)
    scales = dict(zip(counted, drawn, strict=True))
    return TreeCounts(
        tree,
        tuple(found.get(level) for level in range(len(shares))),
        tuple(noise_variance(scales[level]) if level in scales else math.inf for level in range(len(shares))),
    )


def counts_cost(schema: Schema, epsilon: Fraction, total_share: Fraction) -> Event:
    """The cost of a total with a share of epsilon, then counts with the rest (all, if rows are public)."""
    bought = total_cost(schema, total_share * epsilon)
    return in_turn([*bought, Laplace(epsilon - (total_share * epsilon if bought else 0))])


def cell_kernel(schema: Schema) -> Counts:
    """The kernel that counts each cell."""
    return Counts.of(*schema.names)
