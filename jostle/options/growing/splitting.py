"""Splitting rules: how the leaves of a level choose what to split by."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.growing.grove import Frontier, Grove
from jostle.privacy.pick_each import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import LARGEST_HANDICAP, SplitScore, Utility, units_of

__all__ = ["AtRandom", "ByUtility", "Splitting"]

Integers = NDArray[np.int64]
DRAWN_BELOW = 2**40
"""Random choices are remainders of numbers below this: uneven by less than 2**-20, and public anyway."""


class Splitting(Protocol):
    """Chooses a candidate for every leaf of a frontier."""

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> Integers:
        """The candidates chosen."""


@frozen(kw_only=True)
class ByUtility:
    """Permute-and-flip by a utility: epsilon per level, whatever the number of leaves, shared by the trees."""

    utility: Utility
    epsilon: Fraction
    rows_bound: int = 1
    handicap: float = 0.0
    """Rows that a candidate is held back by for each part beyond two: what the noise of one more leaf costs."""

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> Integers:
        """The candidates picked."""
        handicaps = self.handicap * units_of(self.utility) * (grove.candidate_ways - 2)
        score = SplitScore(
            grove.routing(),
            frontier.nodes,
            self.utility,
            grove.candidate_columns,
            grove.candidate_cuts,
            grove.allowed(frontier),
            self.rows_bound,
            np.rint(np.minimum(handicaps, LARGEST_HANDICAP)).astype(np.int64),  # with next to no budget, or many values
        )
        picks: Integers = db.perform(PickEach(score), self.epsilon, site=f"split level {grove.depth}")
        return picks


@frozen(kw_only=True)
class AtRandom:
    """A random column, and where it is cut, a random cut: costs nothing."""

    roots: tuple[int, ...] = ()
    """For each tree the column its root is split by, where that is fixed beforehand."""

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> Integers:
        """The candidates drawn."""
        open_columns = frontier.high - frontier.low > 1
        if self.roots and grove.depth == 0:
            column = np.array(self.roots, dtype=np.int64)[frontier.tree]
        else:
            rank = db.below(DRAWN_BELOW, len(frontier)) % np.maximum(open_columns.sum(axis=1), 1)
            running = np.cumsum(open_columns, axis=1)
            column = np.argmax(open_columns & (running == rank[:, None] + 1), axis=1)
        rows = np.arange(len(frontier))
        low, high = frontier.low[rows, column].astype(np.int64), frontier.high[rows, column].astype(np.int64)
        cut = low + 1 + db.below(DRAWN_BELOW, len(frontier)) % np.maximum(high - low - 1, 1)
        starts = np.searchsorted(grove.candidate_columns, np.arange(len(grove.columns)))
        by_value = grove.candidate_cuts[np.minimum(starts, len(grove.candidate_cuts) - 1)] == 0
        return starts[column] + np.where(by_value[column], 0, cut - 1)
