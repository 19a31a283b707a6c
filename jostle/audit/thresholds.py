"""Mechanisms that compare query answers with a noisy threshold, right and wrong.

Lyu, Su, Li. Understanding the Sparse Vector Technique for Differential Privacy. PVLDB 10(6), 2017: their figure 1
lists six variants, of which 3 to 6 do not keep their claim. Stoddard, Chen, Machanavajjhala. Differentially
Private Algorithms for Empirical Machine Learning. 2014: Private Threshold Testing (their variant 5, with half its
noise).

Answers are whole numbers of sensitivity 1 and the threshold is 0; noise is discrete Laplace in place of Laplace.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.audit.distributions import Distribution, at_least, between, laplace_table, mass
from jostle.audit.pairs import Vector
from jostle.audit.subjects import Sampler

__all__ = ["StopWithValue", "ThresholdedAnswers", "balanced_share", "threshold_testing", "threshold_testing_chances"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GRID = 1024
"""Private Threshold Testing gets noise in steps of 1/1024, so that its chances come out as with Laplace noise."""

STOPPED = -1
"""In place of an answer, after the last positive one allowed."""


def threshold_testing(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
    """For each run and query whether the answer reaches the noisy threshold; the answers get no noise."""
    threshold = noise.discrete_laplace(GRID / epsilon, size)
    return (np.array(data) * GRID >= threshold[:, None]).astype(np.int64)


def threshold_testing_chances(data: Vector, epsilon: Fraction) -> Distribution:
    """The distribution of the answers: one outcome for each gap between different query answers."""
    scale = GRID / epsilon
    levels = sorted(set(data))
    far = int(2000 * scale)
    edges = [-far, *(level * GRID for level in levels), far]
    chances = {}
    for low, high in pairwise(edges):
        chances[tuple(int(answer * GRID >= high) for answer in data)] = between(scale, low + 1, high)
    return Distribution(chances)


def balanced_share(positives: int, *, monotone: bool) -> Fraction:
    """The threshold's part of epsilon after Lyu, Su, Li: 1 to (2c)^(2/3), or to c^(2/3) if monotone."""
    weight = float(positives if monotone else 2 * positives) ** (2 / 3)
    return Fraction(1 / (1 + weight)).limit_denominator(1000)


@frozen(kw_only=True)
class ThresholdedAnswers:
    """Tell which answers are above a noisy threshold, each with noise of its own, until *positives* of them are.

    It is epsilon-private with query_noise = 2 * positives, or with query_noise = positives if a record can only
    raise answers. Proof sketch: shift the threshold noise by 1, so that no negative answer becomes less likely,
    at a cost of share * epsilon; shift the noise of each positive answer by up to 2 (by up to 1 if answers only
    rise), at a cost of (1 - share) * epsilon for all *positives* of them together. The variants that break their
    claim lack the factor in query_noise, or the stop.
    """

    threshold_share: Fraction
    """Part of epsilon for the threshold."""
    query_noise: int
    """The scale of the answers' noise, times their part of epsilon."""
    positives: int | None
    """How many positive answers are given before it stops."""

    def scales(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """The scales of the noise of the threshold and of the answers."""
        share = self.threshold_share
        return 1 / (share * epsilon), self.query_noise / ((1 - share) * epsilon)

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """1 for above and 0 for below, per run and query."""
        threshold_scale, query_scale = self.scales(epsilon)
        threshold = noise.discrete_laplace(threshold_scale, size)
        answers = np.array(data) + noise.discrete_laplace(query_scale, size * len(data)).reshape(size, -1)
        above = (answers >= threshold[:, None]).astype(np.int64)
        if self.positives is not None:
            above[above.cumsum(axis=1) - above >= self.positives] = STOPPED
        return above

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: given the threshold the answers are independent, so sum over the threshold."""
        threshold_scale, query_scale = self.scales(epsilon)
        threshold, weight, left = laplace_table(threshold_scale)
        over = [at_least(query_scale, threshold - answer) for answer in data]
        under = [at_least(query_scale, answer + 1 - threshold) for answer in data]
        return Distribution(dict(self._outcomes(weight, over, under, ())), missing=left)

    def _outcomes(
        self, weight: Floats, over: list[Floats], under: list[Floats], so_far: Vector
    ) -> Iterator[tuple[Vector, float]]:
        place = len(so_far)
        if place == len(over):
            yield so_far, float(weight.sum())
        elif self.positives is not None and sum(so_far) == self.positives:
            yield so_far + (STOPPED,) * (len(over) - place), float(weight.sum())
        else:
            yield from self._outcomes(weight * over[place], over, under, (*so_far, 1))
            yield from self._outcomes(weight * under[place], over, under, (*so_far, 0))


@frozen(kw_only=True)
class StopWithValue:
    """Variant 3: tell the place and the noisy value of the first answer above the noisy threshold.

    The value tells that the threshold is no higher, so that all answers before it were below that: the shift of the
    threshold that pays for the negative answers is no longer free.
    """

    threshold_share: Fraction = Fraction(1, 2)

    def _scales(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        return 1 / (self.threshold_share * epsilon), 1 / ((1 - self.threshold_share) * epsilon)

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The place and the value, or the number of queries and 0, per run."""
        threshold_scale, query_scale = self._scales(epsilon)
        threshold = noise.discrete_laplace(threshold_scale, size)
        answers = np.array(data) + noise.discrete_laplace(query_scale, size * len(data)).reshape(size, -1)
        above = answers >= threshold[:, None]
        place = np.where(above.any(axis=1), above.argmax(axis=1), len(data))
        padded = np.column_stack([answers, np.zeros(size, dtype=np.int64)])
        return np.column_stack([place, padded[np.arange(size), place]]).astype(np.int64)

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: sum over the thresholds that lie at or below the value."""
        threshold_scale, query_scale = self._scales(epsilon)
        threshold, weight, left = laplace_table(threshold_scale)
        shifts, _, cut = laplace_table(query_scale)
        chances: dict[tuple[int, int], float] = {}
        for place, answer in enumerate(data):
            values = answer + shifts
            reached = np.concatenate([[0.0], weight.cumsum()])
            below = reached[np.searchsorted(threshold, values, side="right")]
            came = mass(query_scale, shifts) * below
            chances |= {(place, int(value)): float(chance) for value, chance in zip(values, came, strict=True)}
            weight = weight * at_least(query_scale, answer + 1 - threshold)
        chances[len(data), 0] = float(weight.sum())
        # Values where every threshold in the table lies higher are possible all the same: an entry of 0 says so.
        return Distribution(chances, missing=left + len(data) * cut)
