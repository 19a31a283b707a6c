"""Selectors that compare each score with a noisy threshold: the sparse vector, and NoisyCut with honest noise.

Lyu, Su, Li. Understanding the sparse vector technique for differential privacy. PVLDB 10(6), 2017. Lee, Clifton.
Top-k frequent itemsets via differentially private FP-trees. KDD 2014: their noise, of scale 4/epsilon on the
threshold and 4/(3 epsilon) on each score, costs (1 + 6c)/4 epsilon for c features found, or (1 + 3c)/4 where scores
only rise (Lyu et al.); here it is as much larger. That is a sparse vector with another share for the threshold.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.selection.base import ScoredSelector
from jostle.parameters import choice
from jostle.privacy.events import AboveThreshold, Event, Laplace
from jostle.privacy.feature_scores import ScoreName
from jostle.privacy.feature_tests import FindAbove, FindNthLargest
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["NoisyCut", "SparseVector"]

FOUND_SHARE = Fraction(1, 10)
"""Of the budget, for a threshold where none is given: the noisy score of the so-manieth best feature."""


@frozen(kw_only=True)
class ThresholdSelector(ScoredSelector):
    """Features are gone through in random order, up to *top* that pass.

    Without a threshold, that is the score of the top-th best feature, which a record changes by no more than any
    single score, so that little budget finds it.
    """

    score: ScoreName = choice("DC", ScoreName)  # which a record moves by 1, where it moves IG by a dozen bits

    @abstractmethod
    def share(self, places: int, *, rises: bool) -> Fraction:
        """The threshold's share of the noise's budget, where so many features are found."""

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The search for a threshold, if need be, and the run."""
        if self.threshold:
            return self.cost_of(schema, epsilon, (Fraction(1), AboveThreshold))
        return self.cost_of(schema, epsilon, (FOUND_SHARE, Laplace), (1 - FOUND_SHARE, AboveThreshold))

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features that pass."""
        score, left = self.feature_score(db, epsilon)
        places = self.places(db.schema)
        threshold = self.threshold * score.units
        if not threshold:
            spent = FOUND_SHARE * left
            threshold = db.perform(FindNthLargest(score, places), spent, site="threshold")
            left -= spent
        share = self.share(places, rises=score.rises(db.schema))
        answer: NDArray[np.int64] = db.perform(FindAbove(score, _within(threshold), places, share), left, site="test")
        return answer


def _within(threshold: int) -> int:
    """A threshold that can be compared with: beyond, all features pass, or none."""
    return max(-(2**50), min(2**50, threshold))


@option
@frozen(kw_only=True)
class SparseVector(ThresholdSelector):
    """Selects features whose noisy score passes a noisy threshold, up to a number of them: the sparse vector.

    Shares of the budget are those of Lyu, Su and Li: 1 to (2c)^(2/3), or c^(2/3) where scores only rise.
    """

    paper = "Lyu, Su, Li, PVLDB 2017"

    def share(self, places: int, *, rises: bool) -> Fraction:
        """The threshold's share."""
        weight = float(places if rises else 2 * places) ** (2 / 3)
        return Fraction(1 / (1 + weight)).limit_denominator(10_000)


@option
@frozen(kw_only=True)
class NoisyCut(ThresholdSelector):
    """Selects features whose noisy score passes a threshold with less noise, up to a number of them.

    Privacy: as the sparse vector, with as much more noise as its epsilon needs: shares are 1 to 6c, or 3c where scores
    only rise. As published it had too little.
    """

    paper = "Lee, Clifton, KDD 2014; Lyu, Su, Li, PVLDB 2017"

    def share(self, places: int, *, rises: bool) -> Fraction:
        """The threshold's share."""
        return Fraction(1, 1 + (3 if rises else 6) * places)
