"""Mechanisms that select one candidate, right and wrong.

Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018: noisy max and its
mistakes. McKenna, Sheldon. Permute-and-Flip. NeurIPS 2020. Fletcher, Islam. Differentially private random
decision forests using smooth sensitivity. Expert Systems with Applications 78, 2017. Su, Cao, Li, Lyu. PrivPfC.
VLDB Journal 27, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import expit

from jostle.audit.distributions import LEAST_CHANCE, Distribution, at_least, laplace, laplace_table, mass
from jostle.audit.forks import permute_and_flip_chances
from jostle.audit.pairs import Vector
from jostle.audit.subjects import Sampler

__all__ = [
    "ClusterSums",
    "GridChoice",
    "Mirrored",
    "NoisyMax",
    "PeelingRounds",
    "RunChoice",
    "SinglePick",
    "SmoothLeaf",
    "Table",
    "grid_quality",
]

Integers = NDArray[np.int64]

Table = tuple[tuple[tuple[int, int], ...], ...]
"""Counts by value of a first attribute, value of a second one, and class."""


@frozen(kw_only=True)
class NoisyMax:
    """Add noise to all scores and tell which is largest, or how large it is.

    Which: epsilon-private with factor 2, or with factor 1 if all scores change the same way. The value of the
    largest: not, since with many candidates it is low only if all are.
    """

    factor: int
    """The scale of the noise, times epsilon."""
    value: bool = False
    """Whether the value is told in place of the index."""

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The index, the first of equals, or the value, per run."""
        noisy = np.array(data) + noise.discrete_laplace(self.factor / epsilon, size * len(data)).reshape(size, -1)
        return np.asarray(noisy.max(axis=1) if self.value else noisy.argmax(axis=1), dtype=np.int64)

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: sum over the largest value, before which others must stay below."""
        scale = self.factor / epsilon
        shifts, _, cut = laplace_table(scale)
        values = np.arange(min(data) + int(shifts[0]), max(data) + int(shifts[-1]) + 1)
        equal = np.array([mass(scale, values - score) for score in data])
        most = np.array([at_least(scale, score - values) for score in data])
        missing = 2 * cut * len(data)
        if self.value:
            # prod F(v) - prod F(v-1), with F(v-1) = F(v) - P(v), as a product of positive numbers.
            with np.errstate(divide="ignore"):  # for large epsilon, P(v) / F(v) may round to 1
                chances = most.prod(axis=0) * -np.expm1(np.log1p(-equal / most).sum(axis=0))
            return Distribution(dict(zip(values.tolist(), chances.tolist(), strict=True)), missing=missing)
        less = np.array([at_least(scale, score - values + 1) for score in data])
        won = [
            float((equal[index] * less[:index].prod(axis=0) * most[index + 1 :].prod(axis=0)).sum())
            for index in range(len(data))
        ]
        return Distribution(dict(enumerate(won)), missing=missing)


@frozen(kw_only=True)
class SinglePick:
    """Permute-and-flip; epsilon-private at rate epsilon/2, or at epsilon if all scores change the same way."""

    monotone: bool

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The index picked, per run."""
        scores = np.array(data, dtype=np.int64)
        rate = epsilon if self.monotone else epsilon / 2
        return np.array([noise.permute_and_flip(scores, rate) for _ in range(size)], dtype=np.int64)


@frozen(kw_only=True)
class PeelingRounds:
    """Select *rounds* different candidates one after the other, each with an equal part of epsilon."""

    rounds: int
    monotone: bool

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The candidates in the order they were picked, per run."""
        rate = epsilon / self.rounds if self.monotone else epsilon / (2 * self.rounds)
        picked = np.empty((size, self.rounds), dtype=np.int64)
        for run in range(size):
            left = np.arange(len(data))
            scores = np.array(data, dtype=np.int64)
            for turn in range(self.rounds):
                index = noise.permute_and_flip(scores, rate)
                picked[run, turn] = left[index]
                left, scores = np.delete(left, index), np.delete(scores, index)
        return picked


@frozen
class Mirrored:
    """Two picks by permute-and-flip, from the first and from the second half of the scores, each with epsilon.

    Where the halves change places, log-ratios of the two picks are those of one pick and their negatives: in sum, at
    most how far a pick's log-ratios lie apart.
    """

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """Both picks, per run."""
        scores = np.array(data, dtype=np.int64).reshape(2, -1)
        picks = [[noise.permute_and_flip(half, epsilon / 2) for half in scores] for _ in range(size)]
        return np.array(picks, dtype=np.int64)

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The chances of both picks."""
        halves = np.array(data, dtype=np.int64).reshape(2, -1).tolist()
        one, two = (permute_and_flip_chances(half, epsilon / 2) for half in halves)
        return Distribution({(a, b): first * second for a, first in enumerate(one) for b, second in enumerate(two)})


@frozen
class ClusterSums:
    """The sum of the counts of all features that count at least so many, with noise of scale 1/epsilon."""

    cut: int

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The noisy sum, per run."""
        return self._sum(data) + noise.discrete_laplace(1 / epsilon, size)

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution of the noisy sum."""
        return laplace(self._sum(data), 1 / epsilon)

    def _sum(self, data: Vector) -> int:
        return sum(count for count in data if count >= self.cut)


@frozen
class SmoothLeaf:
    """The leaf rule of Fletcher & Islam 2017 for two classes: the exponential mechanism with smooth sensitivity.

    The score is 1 for the majority class and 0 for the other; with j the difference between the two counts, the
    score is divided by the smooth sensitivity exp(-j * epsilon), so the minority has chance 1 / (1 +
    exp(epsilon/2 * exp(j * epsilon))). Smooth sensitivity bounds the noise to add to a value, not the scale of a
    score: from j to j + 1 the loss is about epsilon/2 * (exp((j+1) * epsilon) - exp(j * epsilon)), which grows
    without bound in j.
    """

    def minority_chance(self, data: Vector, epsilon: Fraction) -> float:
        """The chance of the class with fewer records; of either class, of equals."""
        lead = abs(data[0] - data[1])
        if lead == 0:
            return 0.5
        power = float(epsilon) / 2 * math.exp(min(lead * float(epsilon), 50))
        return max(float(expit(-power)), LEAST_CHANCE)

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The class, per run; the chance is rounded to a double."""
        minority = noise.bernoulli(Fraction(self.minority_chance(data, epsilon)), size)
        return np.where(minority, int(data[0] > data[1]), int(data[0] <= data[1])).astype(np.int64)

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The chances of both classes."""
        minority = self.minority_chance(data, epsilon)
        few = int(data[0] > data[1])
        return Distribution({few: minority, 1 - few: 1 - minority})


def grid_quality(cells: Sequence[tuple[int, int]], rate: float) -> float:
    """PrivPfC's quality: the expected number of records classified correctly by a noisy histogram.

    With noise of scale 1/rate, a cell with lead d adds its majority, minus d * exp(-x) / 2 * (1 + x/2) where
    x = rate * d. One more record raises this by up to 1 + ((1+sqrt 3)/2) exp(-(1+sqrt 3)) = 1.0889, if it joins a
    majority, and lowers it by up to 0.0889, if it joins a minority.
    """
    total = 0.0
    for positive, negative in cells:
        lead = abs(positive - negative)
        product = rate * lead
        total += max(positive, negative) - lead * math.exp(-product) / 2 * (1 + product / 2)
    return total


@frozen
class RunChoice:
    """Which of two runs of cells DAWA's partition has, their costs counted in so many steps per unit.

    Each run's noise is a whole number of steps, of scale 2 * grain / epsilon: the first run comes before the other if
    the difference of both, which is discrete Laplace noise, reaches that of the costs.
    """

    grain: Fraction

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The chances of both runs, given their costs."""
        steps = math.ceil(self.grain * (data[0] - data[1]))
        first = float(at_least(2 * self.grain / epsilon, np.array(steps)))
        return Distribution({0: first, 1: 1 - first})


@frozen(kw_only=True)
class GridChoice:
    """PrivPfC's choice between the grids of two attributes, P proportional to exp(factor * epsilon * quality).

    *epsilon* is the choice's own part of the budget, 0.37 of it; the counts, and so the quality, go by 0.60 of it.
    """

    factor: float

    def distribution(self, data: Table, epsilon: Fraction) -> Distribution:
        """The chances of both grids."""
        counts = np.array(data)
        rate = float(epsilon) * 60 / 37
        grids = [[(int(row[0]), int(row[1])) for row in counts.sum(axis=other)] for other in (1, 0)]
        better = grid_quality(grids[0], rate) - grid_quality(grids[1], rate)
        power = self.factor * float(epsilon) * better
        return Distribution({0: float(expit(power)), 1: float(expit(-power))})
