"""The commonest class, whatever the attributes say: what everything else has to beat."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.classification.looks import class_counts
from jostle.options.models.additive import AdditiveModel
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["Majority"]


@option
@frozen(kw_only=True)
class Majority(Classifier):
    """Noisy class counts, averaged with what was known of them before: there is nothing else to buy."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally."""
        return Laplace(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """A model that always gives the noisily commonest class."""
        classes = class_counts(db, epsilon, always=True)
        start = np.log(np.maximum(classes.counts, 0) + 1.0)
        return AdditiveModel(schema=db.schema, made_by=self.name, epsilon=epsilon, start=start)
