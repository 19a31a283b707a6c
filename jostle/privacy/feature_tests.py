"""Several features at once: the best so many, those above a threshold, and how good the so-manieth is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import AboveThreshold, Event, Laplace, PermuteAndFlip, Repeated
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.fields import fraction
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.noise import LARGEST_SCALE, Noise
from jostle.privacy.scores import pick_rate
from jostle.tables.feature_sums import feature_count
from jostle.tables.fields import Component, Within, whole
from jostle.tables.kernels import DenseKernel
from jostle.tables.schema import Schema

__all__ = ["FeatureTest", "FindAbove", "FindNthLargest", "PickSeveral"]

Integers = NDArray[np.int64]
LEAST_SHARE = Fraction(1, 10**6)
MOST_THRESHOLD = 2**50
MOST_PLACES = 2**22


class FeatureTest(Mechanism):
    """What is asked of the scores of all features together."""

    score: FeatureScore

    def kernel(self, schema: Schema) -> DenseKernel:
        """The kernel that is tallied."""
        return self.score.kernel(schema)

    def shown(self, answer: Integers) -> Integers:
        """The features' numbers."""
        return answer


def _check_places(places: int, schema: Schema) -> None:
    """Refuse to look for more features than there are."""
    count = feature_count(schema)
    if places > count:
        raise ProbeError(f"{places:,} features are asked for, but the table has {count:,}", fix=f"at most {count:,}")


@frozen
class PickSeveral(FeatureTest):
    """The best features, one after the other, each by permute-and-flip among those not yet picked.

    *Proof.* Given the features picked before, each pick is `Pick` over the remaining ones: their scores are some of
    all scores, so they change by no more, and the same way where all do. Each costs epsilon / times, and they are
    asked in turn, so together they cost epsilon. All go by one tally, which is as good as one for each.
    """

    score: FeatureScore = field(validator=Component((FeatureScore,)))
    times: int = field(converter=whole, validator=Within(1, MOST_PLACES))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse more picks than features, and an epsilon too small to be drawn exactly."""
        _check_places(self.times, schema)
        if self._rate(schema, epsilon) * LARGEST_SCALE < 1:
            raise ProbeError(f"epsilon {show_amount(epsilon)} is too little for {self.times} picks", fix="epsilon=0.1")

    def _rate(self, schema: Schema, epsilon: Fraction) -> Fraction:
        each = epsilon / self.times
        return pick_rate(each, self.score.sensitivity(schema), monotone=self.score.monotone(schema))

    def event(self, epsilon: Fraction) -> Event:
        """So many permute-and-flip events."""
        return Repeated(PermuteAndFlip(epsilon / self.times), self.times)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        """The features picked, in this order."""
        scores, rate = self.score.scores(tally, schema), self._rate(schema, epsilon)
        left = np.arange(len(scores))
        picked = np.empty(self.times, dtype=np.int64)
        for turn in range(self.times):
            index = noise.permute_and_flip(scores[left], rate)
            picked[turn] = left[index]
            left = np.delete(left, index)
        return picked


@frozen
class FindAbove(FeatureTest):
    """The sparse vector: features whose noisy score passes a noisy threshold, up to a number of them.

    Features are gone through in random order. With Delta the most that one score changes, c the number of features
    after which it stops, and shares s and 1 - s of epsilon: the threshold has noise of scale Delta / (s epsilon), drawn
    once; each score has noise of scale 2 c Delta / ((1 - s) epsilon), or of half that where all scores move the same
    way.

    *Proof* (after Lyu, Su and Li, PVLDB 2017, with noise on whole multiples of the scores' unit). The order has nothing
    to do with rows; fix it. What is released is a list of answers, of which at most c are "above". Given the noisy
    threshold T, answers are independent. Take neighbours, and compare T with T + Delta there: whatever is below T here
    is below T + Delta there for the same noise, since a score rises by at most Delta. That T + Delta has at least
    exp(-s epsilon) times the chance of T. For a feature to be above T + Delta there as it is above T here, its noise
    must be larger by Delta, and by Delta more as its score may have fallen: a shift of 2 Delta, which costs (1 - s)
    epsilon / c; for at most c of them, (1 - s) epsilon. Where all scores move the same way, and they fall: leave T as
    it is; below stays below, and above needs a shift of Delta. Where all rise: take T + Delta as before; above stays
    above with noise shifted by at most Delta, since the score has not fallen. So half the noise is enough. Shifts are
    whole units, as Delta is, and discrete Laplace noise of scale b changes its chances by at most exp(shift / b).
    """

    score: FeatureScore = field(validator=Component((FeatureScore,)))
    threshold: int = field(converter=whole, validator=Within(-MOST_THRESHOLD, MOST_THRESHOLD))
    """In the score's units."""
    most: int = field(converter=whole, validator=Within(1, MOST_PLACES))
    """How many features are found before it stops."""
    share: Fraction = field(converter=fraction, validator=Within(LEAST_SHARE, 1 - LEAST_SHARE))
    """Of epsilon, for the threshold's noise."""

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: ARG002 - any epsilon will do
        """Refuse to look for more features than there are."""
        _check_places(self.most, schema)

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The scales of the noise of the threshold and of each score."""
        changes = self.score.changes(schema)
        shifts = self.most if self.score.rises(schema) else 2 * self.most
        return changes / (self.share * epsilon), shifts * changes / ((1 - self.share) * epsilon)

    def event(self, epsilon: Fraction) -> Event:
        """One run of the sparse vector."""
        return AboveThreshold(epsilon)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        """The features found, in the order in which they were."""
        values = self.score.values(tally, schema)
        order = noise.distinct(len(values), len(values))
        of_threshold, of_scores = self.scales(schema, epsilon)
        passing = self.threshold + int(noise.discrete_laplace(of_threshold, 1)[0])
        above = (values + noise.discrete_laplace(of_scores, len(values)) >= passing)[order]
        return order[np.flatnonzero(above)[: self.most]]


@frozen
class FindNthLargest(FeatureTest):
    """How good the n-th best feature is, with noise: in the score's units.

    *Proof.* If no score changes by more than Delta, the n-th largest does not either: n scores were at least as large
    as it, and are at least that less Delta now; and the other way round. So noise of scale Delta / epsilon is enough.
    """

    score: FeatureScore = field(validator=Component((FeatureScore,)))
    place: int = field(converter=whole, validator=Within(1, MOST_PLACES))
    """n: 1 for the best."""

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: ARG002 - any epsilon will do
        """Refuse a place beyond the last feature."""
        _check_places(self.place, schema)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """The most that a score changes, over epsilon."""
        return self.score.changes(schema) / epsilon

    def event(self, epsilon: Fraction) -> Event:
        """A Laplace event."""
        return Laplace(epsilon)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        """The noisy score."""
        values = self.score.values(tally, schema)
        largest = int(np.partition(values, len(values) - self.place)[len(values) - self.place])
        return largest + int(noise.discrete_laplace(self.scale(schema, epsilon), 1)[0])

    def shown(self, answer: int) -> Integers:  # type: ignore[override]  # one number, where others give features
        """The noisy score."""
        return np.array([answer], dtype=np.int64)
