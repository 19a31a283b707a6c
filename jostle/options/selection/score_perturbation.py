"""Score perturbation: noise on the counts of all features, and the best scores computed from them.

Stoddard, Chen, Machanavajjhala. Differentially private algorithms for empirical machine learning. 2014, section 3.2,
with noise on counts in place of scores: a record changes the counts of the features it has, and no others, while it
changes PI and IG of all features.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.selection.base import ScoredSelector, best, noisy_counts
from jostle.privacy.events import Event, Laplace
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["ScorePerturbation"]


@option
@frozen(kw_only=True)
class ScorePerturbation(ScoredSelector):
    """Selects features by scores that are computed from noisy counts.

    Privacy: noisy counts of every feature by class, in one tally that costs epsilon; all else is computed from these.
    """

    paper = "Stoddard, Chen, Machanavajjhala 2014"

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally."""
        return Laplace(epsilon)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features with the best noisy scores."""
        scores, _ = noisy_counts(db, self.score, self.most, epsilon)
        return best(scores, self.top, self.threshold * FeatureScore(self.score, self.most).units)
