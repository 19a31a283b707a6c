"""Blum, Dwork, McSherry, Nissim: practical privacy, the SuLQ framework. PODS 2005. ID3 from noisy counts alone.

One greedy tree whose every score is computed from noisy counts: for each level, the rows by value and class of every
attribute in every node. A row counts once per attribute, so the noise grows with their number, where a private pick
(Friedman and Schuster, Mohammed) pays for the best attribute only. It is the floor that later trees are held against.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.growing.greedy import bought_leaves
from jostle.options.growing.grove import Frontier, Grove, NumericSplits, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import shares_of
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, whole
from jostle.privacy.events import Event, Laplace, Repeated
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import SplitScore, Utility
from jostle.tables.routes import SplitCounts
from jostle.tables.schema import Schema

__all__ = ["SuLQID3"]


@frozen(kw_only=True)
class ByNoisyCounts:
    """The best candidate by noisy counts of all values and classes: epsilon per level."""

    utility: Utility
    epsilon: Fraction

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.int64]:
        """The candidates that look best."""
        routing, allowed = grove.routing(), grove.allowed(frontier)
        noisy = db.measure(SplitCounts(routing, frontier.nodes), self.epsilon, site=f"counts level {grove.depth}")
        counts = np.maximum(noisy, 0)
        score = SplitScore(
            routing,
            frontier.nodes,
            self.utility,
            grove.candidate_columns,
            grove.candidate_cuts,
            allowed,
            max(1, int(counts.sum())),
        )
        # The counts were released: scoring them asks nothing more of rows.
        scores = score.scores(counts, db.schema)
        return np.asarray(np.argmax(np.where(allowed, scores, scores.min() - 1), axis=1), dtype=np.int64)


@option
@frozen(kw_only=True)
class SuLQID3(Classifier):
    """One greedy tree, split by noisy counts.

    Privacy: one tally with noise for each level (`AddNoise` on `SplitCounts`, which says that a row adds 1 per
    attribute), and one for the leaves, each at epsilon / (d+1).
    """

    paper = "Blum, Dwork, McSherry, Nissim, PODS 2005"

    depth: int = whole(3, least=1)
    """Levels of splits."""
    utility: Utility = choice("InfoGain", Utility)
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """A tally for each level of splits, and one for the leaves."""
        levels = self._levels(schema)
        return Repeated(Laplace(epsilon / (levels + 1)), levels + 1)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A tree."""
        schema = db.schema
        levels = self._levels(schema)
        grove = Grove(schema, numeric=self.numeric)
        splitting = ByNoisyCounts(utility=self.utility, epsilon=epsilon / (levels + 1))
        grow(db, grove, levels, splitting, AtDepth(), ask_at_end=False)
        routing, counts = bought_leaves(db, grove)
        shares = shares_of(grove, counts)
        return TreeModel(schema=schema, made_by=self.name, epsilon=epsilon, routing=routing, shares=shares)

    def _levels(self, schema: Schema) -> int:
        return min(self.depth, longest_path(schema, self.numeric))
