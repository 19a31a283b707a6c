"""Options of the grid task: how they are called, and what they know before they buy.

What is known about as well as it would be bought is not bought again. All that is known is in the estimate, averaged
with what is bought by 1 / variance.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.given import PRICE, called_as
from jostle.learned.grid_errors import KeptBars
from jostle.options.base import ELSEWHERE, Option, check_probe, is_enough
from jostle.options.ranges.tree import (
    Places,
    Tree,
    halving_cuts,
    halving_tree,
    least_squares,
    nonnegative,
    top_down,
    variances,
)
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.evidence import MOST_KEPT, Look, noise_variance, together
from jostle.privacy.mechanisms import AddNoiseByLevel, level_scales
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.regions import Regions, rows_with
from jostle.tables.schema import Schema, declared_rows
from jostle.tasks.ranges.boxes import Asked, Boxes
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate, Workload
from jostle.tasks.ranges.task import RANGES, grid_shape

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
        estimate = self.perform(db, epsilon, lambda probe, budget: self.run(probe, wanted, budget))
        spent = epsilon_amount(epsilon) / db.unit
        # Where records are replaced, one changes two counts, so noise is as for half as much.
        scale = spent if schema.neighbours == "add_remove" else spent / 2
        tried = self.errs_as(wanted)
        return evolve(estimate, bars=KeptBars(tried.name, tried.version, float(scale), tried.telling(wanted)))

    def errs_as(self, workload: Workload | None) -> GridOption:
        """The Option whose errors, as they are known from trying, this one's are."""
        return self

    def telling(self, workload: Workload | None) -> Callable[[Boxes], NDArray[np.bool_]] | None:
        """Which queries it is off by less on than on others, since they were asked; None if it is all one to it."""
        return None

    looks_at_workload: bool = False
    """Whether what it asks depends on the workload."""

    def refuses(self, schema: Schema) -> str | None:
        cells = math.prod(grid_shape(schema))
        if cells > MOST_CELLS:
            return f"{cells:,} cells are more than the {MOST_CELLS:,} that are held at once"
        return None

    @abstractmethod
    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate | SparseEstimate:
        """The estimate, spending *epsilon* through the probe."""


def total_cost(schema: Schema, epsilon: Fraction) -> tuple[Event, ...]:
    """The events of learning the number of rows: none where the schema declares it."""
    return () if declared_rows(schema, schema.names) is not None else (Laplace(epsilon),)


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
        counts, spread = least_squares(self.tree, self.counts, self.noise)
        leaves = (top_down if negative else nonnegative)(self.tree, counts, spread)
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
    by_level = dict(zip(counted, noisy, strict=True))
    drawn = level_scales(kernel, [shares[level] for level in counted], schema, epsilon)
    scales = dict(zip(counted, drawn, strict=True))
    return TreeCounts(
        tree,
        tuple(by_level.get(level) for level in range(len(shares))),
        tuple(noise_variance(scales[level]) if level in scales else math.inf for level in range(len(shares))),
    )


def counts_cost(schema: Schema, epsilon: Fraction, total_share: Fraction) -> Event:
    """The cost of a total with a share of epsilon, then counts with the rest (all, if rows are public)."""
    bought = total_cost(schema, total_share * epsilon)
    return in_turn([*bought, Laplace(epsilon - (total_share * epsilon if bought else 0))])


def cell_kernel(schema: Schema) -> Counts:
    """The kernel that counts each cell."""
    return Counts.of(*schema.names)


@frozen
class GridTotal:
    """The number of records as an Option comes to know it."""

    records: int
    """At least 0."""
    variance: float
    """Of the noise in it; 0 where it is declared."""
    cost: Fraction
    """What was spent on it: nothing where it was known."""
    bought: float = math.inf
    """Variance of the noise in what was bought of it here."""


def total_of(db: Probe, epsilon: Fraction, *, always: bool = False) -> GridTotal:
    """The number of records: declared, or bought with *epsilon* and averaged with what is known of it.

    What is known to a twentieth is not bought again, unless *always*.
    """
    schema, kernel = db.schema, rows_with(db.schema.names, db.schema)
    if (declared := declared_rows(schema, schema.names)) is not None:
        return GridTotal(declared, 0.0, Fraction(0))
    (look,) = db.known(kernel)
    if look is None or db.rows is None or always:
        (noisy,) = db.measure(kernel, epsilon, site="total").tolist()
        variance, cost = noise_variance(1 / epsilon), epsilon
        bought = Look(np.array([noisy]), np.array([variance]))
        look = together([bought] if look is None else [look, bought])
    else:
        variance, cost = math.inf, Fraction(0)
    return GridTotal(max(0, round(look.counts[0])), float(look.variance[0]), cost, variance)


def known_levels(db: Probe, tree: Tree) -> tuple[Look | None, ...]:
    """What was known beforehand of a tree's nodes, level by level: each answer stands at one level alone."""
    nothing = (None,) * len(tree.starts)
    if db.known(rows_with(db.schema.names, db.schema)) == (None,):
        return nothing  # whatever is known, tells the total
    levels = tuple(starts for starts in tree.starts if len(starts) <= MOST_KEPT)
    looks = db.known(Regions(db.schema.names, tree.order, levels))
    return (*looks, *nothing[len(looks) :])


def known_cuts(db: Probe, shape: tuple[int, ...], most: int) -> list[Places]:
    """Per axis where intervals begin of the finest level of halvings that is known, with at most so many nodes."""
    levels = [cuts for cuts in halving_cuts(shape) if math.prod(map(len, cuts)) <= most]
    looks = known_levels(db, halving_tree(shape).only(range(len(levels))))
    return next((cuts for cuts, look in zip(levels[::-1], looks[::-1], strict=True) if look), levels[0])


@frozen(eq=False)
class FirstLook:
    """What is known of a tree when one of its levels was looked at, by this Option or before it."""

    looks: tuple[Look | None, ...]
    """Of each level."""
    seen: Look
    """Of the level that was looked at, by what is known of it and of those below."""
    cost: Fraction
    """What was spent on it: nothing where it was known."""

    def worth(self, epsilon: Fraction) -> float:
        """Share of epsilon that it cost, or would have cost."""
        if self.cost:
            return float(self.cost / epsilon)
        return min(1.0, math.sqrt(2 / float(self.seen.variance.mean())) / float(epsilon))


def look_first(db: Probe, tree: Tree, level: int, epsilon: Fraction, *, site: str) -> FirstLook:
    """What is known of a tree, with a level bought for *epsilon* unless it is known about as well."""
    looks, cost = known_levels(db, tree), Fraction(0)
    variance = _bought(len(tree.starts[level]), epsilon, db.schema)
    if not any(is_enough(look, variance) for look in _seen(tree, looks, level)):
        shares = [Fraction(int(each == level)) for each in range(len(tree.starts))]
        looks, cost = count_tree(db, tree, shares, epsilon, site=site).and_known(looks).looks, epsilon
    return FirstLook(looks, together(_seen(tree, looks, level)), cost)


def _seen(tree: Tree, looks: Sequence[Look | None], level: int) -> list[Look]:
    """What each level from this one down tells of the nodes of this one."""
    found = []
    for starts, look in zip(tree.starts[level:], looks[level:], strict=True):
        if look is not None:
            first = np.searchsorted(starts, tree.starts[level])
            found.append(Look(np.add.reduceat(look.counts, first), np.add.reduceat(look.variance, first)))
    return found


def _bought(nodes: int, epsilon: Fraction, schema: Schema) -> float:
    """Variance of the noise that each of so many nodes' counts would have."""
    moved = 1 if schema.neighbours == "add_remove" or nodes == 1 else 2
    return noise_variance(moved / epsilon)
