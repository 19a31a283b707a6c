"""Imitations: published mechanisms that do not keep what they promise, for public rows only.

They are here so that what was published about them can be repeated, on a list of their own: none is a mechanism, and
the door refuses each on private rows before it looks at anything else, whoever asks.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from attrs import field, frozen

from jostle.errors import PrivateDataError, ProbeError
from jostle.privacy.events import Allotment, Event
from jostle.privacy.fields import TYPES
from jostle.privacy.noise import Noise
from jostle.privacy.picks import MOST_PLACES, MOST_THRESHOLD, FeatureTest
from jostle.tables.closed import Closed
from jostle.tables.fields import Integers, Within, whole
from jostle.tables.schema import Schema

STEPS = 1024
"""The threshold gets noise in steps of so many a unit, so that it is as good as continuous."""


class Imitation(FeatureTest):
    """A mechanism that is not private, and says so."""

    @staticmethod
    @abstractmethod
    def refusal() -> PrivateDataError:
        """The refusal where the rows are private."""

    def event(self, epsilon: Fraction) -> Event:
        """The event that it claims to be."""
        return Allotment(epsilon)


@frozen
class CompareWithNoisyThreshold(Imitation):
    """Private Threshold Testing (Stoddard, Chen, Machanavajjhala 2014): which scores reach one noisy threshold.

    Their scores get no noise of their own, so any two scores that trade places around the threshold are told apart with
    certainty: no epsilon bounds what that loses.
    """

    threshold: int = field(converter=whole, validator=Within(-MOST_THRESHOLD, MOST_THRESHOLD))
    """In the score's units."""
    place: int = field(default=0, converter=whole, validator=Within(0, MOST_PLACES))
    """In place of a threshold: the score of the best feature but so many, as it is; 0 for the threshold given."""

    @staticmethod
    def refusal() -> PrivateDataError:
        return PrivateDataError(
            "Private Threshold Testing is not private, and the rows are",
            why="with scores (0, 1) on one table and (1, 1) on its neighbour, and threshold 0.5, it answers (no, yes)\n"
            "with chance above 0 on the first and never on the second: no epsilon bounds that ratio",
            fix="SparseVector or Peeling; or, to repeat published figures, jostle.rehearse on public data",
        )

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """The scale of the threshold's noise, in steps."""
        return STEPS * self.score.changes(schema) / epsilon

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        values = self.score.values(tally, schema)
        threshold = int(np.sort(values)[-min(self.place, len(values))]) if self.place else self.threshold
        passing = threshold * STEPS + int(noise.discrete_laplace(self.scale(schema, epsilon), 1)[0])
        return np.flatnonzero(values * STEPS >= passing)


IMITATIONS = Closed(
    "imitation",
    (CompareWithNoisyThreshold,),
    why="whatever is not private is on a list of its own",
    error=ProbeError,
    types=TYPES,
)
"""What may be asked of public rows and never of private ones."""
