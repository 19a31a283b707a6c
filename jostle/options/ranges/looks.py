"""What grid Options know before they buy: the total and coarse levels, from what was released before them.

What is known about as well as it would be bought is not bought again. All that is known is in the estimate, averaged
with what is bought by 1 / variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.options.looks import is_enough
from jostle.options.ranges.base import count_tree, noise_variance
from jostle.options.ranges.tree import Places, Tree, halving_cuts, halving_tree
from jostle.privacy.measurements import MOST_KEPT, Look, together
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema

__all__ = ["FirstLook", "GridTotal", "known_cuts", "known_levels", "look_first", "total_of"]


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
    if db.schema.rows is not None:
        return GridTotal(db.schema.rows, 0.0, Fraction(0))
    (known,) = db.known(Counts.of())
    if known is None or db.rows is None or always:
        noisy = db.count(epsilon, site="total")
        variance, cost = noise_variance(1 / epsilon), epsilon
        bought = Look(np.array([noisy]), np.array([variance]))
        known = together([bought] if known is None else [known, bought])
    else:
        variance, cost = math.inf, Fraction(0)
    return GridTotal(max(0, round(known.counts[0])), float(known.variance[0]), cost, variance)


def known_levels(db: Probe, tree: Tree) -> tuple[Look | None, ...]:
    """What was known beforehand of a tree's nodes, level by level: each answer stands at one level alone."""
    nothing = (None,) * len(tree.starts)
    if db.known(Counts.of()) == (None,):
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
    if not any(is_enough(each, variance) for each in _seen(tree, looks, level)):
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
