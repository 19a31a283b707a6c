"""A shallow greedy tree with naive Bayes at its leaves.

After Kohavi, Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid, KDD 1996, made private.
Naive Bayes errs where attributes depend on each other; a split makes up for the strongest dependence. The leaves
share no row, so their models together cost what one costs: a split buys finer models for the price of the pick, and
of more noise per row. It pays where rows are many: with one level, at about n * epsilon of several thousand.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.growing.greedy import left_of
from jostle.options.growing.grove import Grove, NumericSplits, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts, shares_of
from jostle.options.growing.splitting import ByUtility
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.bayes_tree import BayesTreeModel
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.routes import LeafCounts, SplitCounts
from jostle.tables.schema import Schema

__all__ = ["BayesTree"]


@option
@frozen(kw_only=True)
class BayesTree(Classifier):
    """Naive Bayes, conditioned on the splits of a shallow tree."""

    paper = "Kohavi, KDD 1996, made private"

    depth: int = whole(1, least=1)
    """Levels of splits above the naive Bayes models."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    split_share: Fraction = share("1/8")
    """Part of the budget that picks the splits."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The splits, the class counts of the leaves, and the counts by value and class in the leaves."""
        levels = self._levels(schema)
        if not levels:
            return Laplace(epsilon)  # with nothing to split by, all that is left is histograms
        split = epsilon * self.split_share / levels
        classes, values = _shares(schema, epsilon * (1 - self.split_share))
        return in_turn([Repeated(PermuteAndFlip(split), levels), Laplace(classes), Laplace(values)])

    def run(self, db: Probe, epsilon: Fraction) -> BayesTreeModel:
        """A tree of naive Bayes models."""
        schema = db.schema
        levels, classes = self._levels(schema), len(schema.classes)
        values = sum(schema[name].size for name in schema.attributes)
        grove = Grove(schema, numeric=self.numeric, leaf_cells=values * classes)
        if levels:
            splitting = ByUtility(utility="Max", epsilon=epsilon * self.split_share / levels)
            grow(db, grove, levels, splitting, AtDepth(), ask_at_end=False)
        routing = grove.routing()
        at_leaves, at_values = _shares(schema, left_of(db))
        noisy = db.measure(LeafCounts(routing), at_leaves, site="leaves")
        counted = np.zeros((len(routing.leaves), 0, classes), dtype=np.int64)
        if values:
            counted = db.measure(SplitCounts(routing, routing.leaves), at_values, site="values").reshape(
                len(routing.leaves), values, classes
            )
        counts = add_upwards(grove, leaf_counts(routing, noisy, classes))
        tree = TreeModel(
            schema=schema, made_by=self.name, epsilon=epsilon, routing=routing, shares=shares_of(grove, counts)
        )
        return BayesTreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            tree=tree,
            start=np.log(np.maximum(noisy.reshape(-1, classes), 0) + 1.0),
            weights=_log_shares(schema, counted),
        )

    def _levels(self, schema: Schema) -> int:
        return min(self.depth, longest_path(schema, self.numeric))


def _shares(schema: Schema, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """The budgets of class counts and of counts by value: a histogram for the first, one per attribute."""
    histograms = len(schema.attributes) + 1
    return epsilon / histograms, epsilon * (histograms - 1) / histograms


def _log_shares(schema: Schema, counted: NDArray[Any]) -> NDArray[np.float64]:
    """The logarithms of P(value | class) in every leaf, counts below 0 taken as 0, 1 added to each."""
    positive = np.maximum(counted, 0) + 1.0
    weights: NDArray[np.float64] = np.log(positive)
    begin = 0
    for name in schema.attributes:
        cells = slice(begin, begin + schema[name].size)
        weights[:, cells] -= np.log(positive[:, cells].sum(axis=1, keepdims=True))
        begin = cells.stop
    return weights
