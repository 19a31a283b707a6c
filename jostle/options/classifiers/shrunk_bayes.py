"""Naive Bayes whose tables are shrunk towards independence as far as noise could have made them.

Beside what `NaiveBayes` does: class counts get a share of the budget of their own and are averaged with those that each
attribute's table adds up to, by the inverse of their variances; and counts by value are shrunk (`shrunk_tables`).
Where noise drowns all tables it is `Majority`; where there is little noise, and rows are many, it is `NaiveBayes`.

*Why it is private.* Two tallies are noised, in turn: the class counts, and the counts by value and class, in which a
row counts once per attribute. Shrinking uses them and public numbers alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.options.base import option, share
from jostle.options.classifiers.base import Classifier
from jostle.options.classifiers.noisy_numbers import noise_variance
from jostle.options.classifiers.shrunk_tables import log_shares
from jostle.options.model_additive import AdditiveModel, Term
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.schema import Schema

__all__ = ["ShrunkBayes"]

AT_LEAST = 1.0
"""Rows that every class is given."""


@option
@frozen(kw_only=True)
class ShrunkBayes(Classifier):
    """Naive Bayes that believes its counts as far as noise lets it."""

    classes_share: Fraction = share("1/8")
    """Part of the budget that buys the class counts, or that of one table among all, if more."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Return the class counts, and the counts by value and class."""
        if not schema.attributes:
            return Laplace(epsilon)
        first = self._first(schema, epsilon)
        return in_turn([Laplace(first), Laplace(epsilon - first)])

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """Return log-odds per value."""
        schema, first = db.schema, self._first(db.schema, epsilon)
        label, kinds = schema.label or "", len(schema.classes)
        kernel = Counts.of(label)
        classes = db.measure(kernel, first, site="classes").astype(np.float64)
        if not schema.attributes:
            start = np.log(np.maximum(classes, 0) + AT_LEAST)
            return AdditiveModel(schema=schema, made_by=self.name, epsilon=epsilon, start=start)
        tables = Counts([(name, label) for name in schema.attributes])
        counts = db.measure(tables, epsilon - first, site="values").astype(np.float64).reshape(-1, kinds)
        variance = noise_variance(tables, schema, epsilon - first)
        sizes = np.array([schema[name].size for name in schema.attributes], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        sums = np.add.reduceat(counts, starts, axis=0)
        weights = 1 / (variance * sizes)
        own = 1 / noise_variance(kernel, schema, first)
        totals = np.maximum((own * classes + weights @ sums) / (own + weights.sum()), 0) + AT_LEAST
        terms = np.split(log_shares(counts, variance, totals, sizes), starts[1:])
        return AdditiveModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            start=np.log(totals),
            terms=tuple(Term((name,), weights) for name, weights in zip(schema.attributes, terms, strict=True)),
        )

    def _first(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """Return the budget of the class counts."""
        if not schema.attributes:
            return epsilon
        return epsilon * max(self.classes_share, Fraction(1, len(schema.attributes) + 1))
