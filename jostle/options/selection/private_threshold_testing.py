"""Private Threshold Testing, which is not private: for public data alone, to repeat what was published."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.base import ELSEWHERE, check_probe, option
from jostle.options.selection.base import ScoredSelector
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.events import Allotment, Event
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.imitations import CompareWithNoisyThreshold
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.selection import SelectedFeatures

__all__ = ["PrivateThresholdTesting"]

ROWS_BOUND = 100_000
"""For the noise that IG would get, had it any."""


@option
@frozen(kw_only=True)
class PrivateThresholdTesting(ScoredSelector):
    """Not private, for public rows only: features whose score reaches one noisy threshold.

    At most *top* of them, drawn at random.

    NOT PRIVATE, for any epsilon: with scores (0, 1) on one table, (1, 1) on its neighbour, and threshold 0.5, it
    answers (no, yes) with chance above 0 on the first and never on the second. On private rows it is refused.
    """

    paper = "Stoddard, Chen, Machanavajjhala 2014, theorem 2; refuted by Lyu, Su, Li, PVLDB 2017"
    private = False

    def __call__(self, db: Probe, *, epsilon: Amount, site: str | None = None) -> SelectedFeatures:  # noqa: ARG002 - as all do
        """Features selected from public rows; refuse private ones before anything is charged."""
        check_probe(db, self.name)
        self.refuse_hopeless(db, epsilon)
        if reason := self.refuses(db.schema):
            raise OptionError(f"{self.name} does not run here: {reason}", fix=ELSEWHERE)
        return self.run(db, epsilon_amount(epsilon))

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """The event that it claims to be."""
        return Allotment(epsilon)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features that reach the noisy threshold."""
        score = FeatureScore(self.score, self.most, ROWS_BOUND)
        place = 0 if self.threshold else self.places(db.schema)
        asked = CompareWithNoisyThreshold(score, self.threshold * score.units, place)
        passing: NDArray[np.int64] = db.imitate(asked, epsilon, site=self.name)
        return passing[db.shuffled(len(passing))][: self.top]
