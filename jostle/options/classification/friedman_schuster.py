"""Friedman, Schuster: data mining with differential privacy. KDD 2010.

A greedy tree. Every level buys the sizes of its nodes, stops where they drown in noise, and picks a split for each
of the others; the leaves buy class counts, and C4.5's pruning, on these noisy counts, takes back what did not pay.
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

__all__ = ["FriedmanSchuster"]


@option
@frozen(kw_only=True)
class FriedmanSchuster(Classifier):
    """One greedy tree with noisy stopping and pruning."""

    paper = "Friedman, Schuster, KDD 2010"

    depth: int = whole(3, least=1)
    """Levels of splits, at most."""
    utility: Utility = choice("Max", Utility)
    """Max moves by 1 with a row, Gini by 2, InfoGain by log2 of the number of rows: it needs the most data."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    prune: bool = flag(default=True)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Sizes on d+1 levels, splits on d, and the leaves, each epsilon / (2(d+1))."""
        return greedy_cost(schema, epsilon, self.depth, self.numeric)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A tree."""
        return greedy_forest(
            db,
            epsilon,
            depth=self.depth,
            utility=self.utility,
            numeric=self.numeric,
            prune=self.prune,
            trees=1,
            made_by=self.name,
        )
