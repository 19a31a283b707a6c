"""Naive Bayes on noisy counts, alone or at the leaves of a shallow tree; and the commonest class."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier, class_counts, several_counts
from jostle.options.growing import (
    AtDepth,
    ByUtility,
    Grove,
    NumericSplits,
    add_upwards,
    grow,
    leaf_counts,
    left_of,
    longest_path,
    shares_of,
)
from jostle.options.models.kinds import AdditiveModel, BayesTreeModel, Term, TreeModel
from jostle.parameters import choice, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.routes import LeafCounts, SplitCounts
from jostle.tables.schema import Schema


@option
@frozen(kw_only=True)
class Majority(Classifier):
    """Noisy class counts, averaged with what was known of them before: there is nothing else to buy."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """A model that always gives the noisily commonest class."""
        classes = class_counts(db, epsilon, always=True)
        start = np.log(np.maximum(classes.counts, 0) + 1.0)
        return AdditiveModel(schema=db.schema, made_by=self.name, epsilon=epsilon, start=start)


@option
@frozen(kw_only=True)
class NaiveBayes(Classifier):
    """Class counts, and counts by value and class for every attribute, in one tally.

    What was known of them before is averaged with what is bought, or need not be.

    Vaidya, Shafiq, Basu, Hong. Differentially private naive Bayes classification. WI 2013. A row counts once for its
    class and once per attribute, so the budget goes over attributes + 1 histograms. Counts below 0 become 0, and each
    cell gets 1 more.
    """

    paper = "Vaidya, Shafiq, Basu, Hong, WI 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """One tally, in which a row counts once per attribute and once for its class."""
        return Laplace(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        noisy, _ = several_counts(db, counts_of(db.schema), epsilon, site="counts")
        return model_of(noisy, db.schema, made_by=self.name, epsilon=epsilon)


def counts_of(schema: Schema) -> Counts:
    """What is counted: rows by class, and by value and class for every attribute."""
    label = schema.label or ""
    return Counts([(label,), *((name, label) for name in schema.attributes)])


def model_of(
    noisy: NDArray[np.int64] | NDArray[np.float64], schema: Schema, *, made_by: str, epsilon: Fraction
) -> AdditiveModel:
    """The model that these counts make, with noise."""
    classes = len(schema.classes)
    smoothed = np.log(np.maximum(noisy, 0) + 1.0).reshape(-1, classes)
    counted = (np.maximum(noisy, 0) + 1.0).reshape(-1, classes)
    terms, place = [], 1
    for name in schema.attributes:
        rows = slice(place, place + schema[name].size)
        terms.append(Term((name,), smoothed[rows] - np.log(counted[rows].sum(axis=0))))
        place = rows.stop
    return AdditiveModel(schema=schema, made_by=made_by, epsilon=epsilon, start=smoothed[0], terms=tuple(terms))


@option
@frozen(kw_only=True)
class BayesTree(Classifier):
    """Naive Bayes, conditioned on the splits of a shallow tree.

    After Kohavi, Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid, KDD 1996, made private.
    Naive Bayes errs where attributes depend on each other; a split makes up for the strongest dependence. The leaves
    share no row, so their models together cost what one costs: a split buys finer models for the price of the pick, and
    of more noise per row. It pays where rows are many: with one level, at about n * epsilon of several thousand.
    """

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
