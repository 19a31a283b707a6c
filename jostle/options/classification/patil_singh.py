"""Patil, Singh: differential private random forest. ICACCI 2014.

Several of Friedman and Schuster's trees on the same rows, which share every query's budget and vote. What makes
them differ is the noise.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.growing.greedy import greedy_cost, greedy_forest
from jostle.options.growing.grove import NumericSplits
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, flag, whole
from jostle.privacy.events import Event
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import Utility
from jostle.tables.schema import Schema

__all__ = ["PatilSingh"]


@option
@frozen(kw_only=True)
class PatilSingh(Classifier):
    """A vote of greedy trees with noisy stopping and pruning."""

    paper = "Patil, Singh, ICACCI 2014"

    trees: int = whole(10, least=1)
    depth: int = whole(3, least=1)
    """Levels of splits, at most."""
    utility: Utility = choice("Max", Utility)
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    prune: bool = flag(default=True)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Sizes on d+1 levels, splits on d, and the leaves, each epsilon / (2(d+1)) for all trees together."""
        return greedy_cost(schema, epsilon, self.depth, self.numeric)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A forest."""
        return greedy_forest(
            db,
            epsilon,
            depth=self.depth,
            utility=self.utility,
            numeric=self.numeric,
            prune=self.prune,
            trees=self.trees,
            made_by=self.name,
        )
