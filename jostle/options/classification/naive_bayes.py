"""Naive Bayes on noisy class-conditional counts.

Vaidya, Shafiq, Basu, Hong. Differentially private naive Bayes classification. WI 2013. A row counts once for its
class and once per attribute, so the budget goes over attributes + 1 histograms. Counts below 0 become 0, and each
cell gets 1 more.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.classification.looks import several_counts
from jostle.options.models.additive import AdditiveModel, Term
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.schema import Schema

__all__ = ["NaiveBayes", "counts_of", "model_of"]


@option
@frozen(kw_only=True)
class NaiveBayes(Classifier):
    """Class counts, and counts by value and class for every attribute, in one tally.

    What was known of them before is averaged with what is bought, or need not be.
    """

    paper = "Vaidya, Shafiq, Basu, Hong, WI 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally, in which a row counts once per attribute and once for its class."""
        return Laplace(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """Log-odds per value."""
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
