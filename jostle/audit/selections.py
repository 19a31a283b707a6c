"""Mechanisms that select one candidate, or compare answers with a noisy threshold, right and wrong.

*That select.* Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018: noisy max and its
mistakes. McKenna, Sheldon. Permute-and-Flip. NeurIPS 2020. Fletcher, Islam. Differentially private random
decision forests using smooth sensitivity. Expert Systems with Applications 78, 2017. Su, Cao, Li, Lyu. PrivPfC.
VLDB Journal 27, 2018.

*That compare.* Lyu, Su, Li. Understanding the Sparse Vector Technique for Differential Privacy. PVLDB 10(6), 2017:
their figure 1 lists six variants, of which 3 to 6 do not keep their claim. Stoddard, Chen, Machanavajjhala.
Differentially Private Algorithms for Empirical Machine Learning. 2014: Private Threshold Testing (their variant 5, with
half its noise).

Answers are whole numbers of sensitivity 1 and the threshold is 0; noise is discrete Laplace in place of Laplace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import expit

from jostle.audit.forks import permute_and_flip_chances
from jostle.audit.subjects import (
    LEAST_CHANCE,
    Distribution,
    Pair,
    Pairs,
    Relation,
    Sampler,
    Vector,
    at_least,
    between,
    histograms_adjacent,
    laplace_table,
    mass,
)

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


Floats = NDArray[np.float64]

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
        for index, answer in enumerate(data):
            values = answer + shifts
            reached = np.concatenate([[0.0], weight.cumsum()])
            below = reached[np.searchsorted(threshold, values, side="right")]
            came = mass(query_scale, shifts) * below
            chances |= {(index, int(value)): float(chance) for value, chance in zip(values, came, strict=True)}
            weight = weight * at_least(query_scale, answer + 1 - threshold)
        chances[len(data), 0] = float(weight.sum())
        # Values where every threshold in the table lies higher are possible all the same: an entry of 0 says so.
        return Distribution(chances, missing=left + len(data) * cut)


WORSE_BY = 8
"""Records that the second grid misclassifies and the first does not, times d, which is large when epsilon is small."""


def tables_adjacent(first: Table, second: Table, relation: Relation) -> bool:
    """Whether two tables are one record apart."""
    flat = [tuple(count for row in table for cell in row for count in cell) for table in (first, second)]
    return histograms_adjacent(flat[0], flat[1], relation)


def table_pairs() -> Pairs[Table]:
    """Small tables before and after a record is added that counts for one of the two attributes only."""

    def table(*counts: int) -> Table:
        a, b, c, d, e, f, g, h = counts
        return (((a, b), (c, d)), ((e, f), (g, h)))

    pairs = (
        Pair(table(*[0] * 8), table(0, 1, *[0] * 6), "no records; the first comes"),
        # Class 1 leads where the first attribute puts the record, and lags where the second does.
        Pair(table(0, 3, 2, 0, 4, 0, 0, 0), table(0, 4, 2, 0, 4, 0, 0, 0), "the first attribute gains on the second"),
        Pair(table(4, 1, 4, 1, 4, 1, 4, 1), table(4, 1, 4, 2, 4, 1, 4, 1), "neither attribute gains"),
        Pair(table(0, 2, 0, 2, 9, 0, 9, 0), table(0, 3, 0, 2, 9, 0, 9, 0), "the first attribute leads and gains"),
    )

    def neighbours(first: Table, second: Table) -> bool:
        return tables_adjacent(first, second, "add_remove")

    return Pairs(relation="add_remove", make=lambda: pairs, neighbours=neighbours)


def grid_pairs(relation: Relation) -> Pairs[Table]:
    """Tables on which a record raises the quality of one grid by all it can, and lowers that of the other.

    A record of class 0 comes to a value of the first attribute where class 0 leads by d, so that the expected
    misclassification falls, and to a value of the second where class 1 leads by d. Under replace_one it comes
    from values where it does as much: one where class 1 leads by d, and one where class 0 does. Further values
    hold records that the first attribute tells apart and the second does not, so that the second
    grid is rarely chosen.
    """

    def table(lead: int, last: tuple[int, int]) -> Table:
        counts = [[[0, 0] for _ in range(3)] for _ in range(4)]
        counts[0][1][1] = lead
        counts[1][0][0] = lead
        counts[2][2][0] = counts[3][2][1] = WORSE_BY * lead
        counts[last[0]][last[1]][0] += 1
        return tuple(tuple((cell[0], cell[1]) for cell in row) for row in counts)

    def without(lead: int) -> Table:
        full = [[list(cell) for cell in row] for row in table(lead, (1, 1))]
        full[1][1][0] -= 1
        return tuple(tuple((cell[0], cell[1]) for cell in row) for row in full)

    def make() -> Iterator[Pair[Table]]:
        for lead in (1, 2, 3, 4, 6, 9, 13, 17, 25, 40, 70, 120, 170):
            before = without(lead) if relation == "add_remove" else table(lead, (0, 0))
            yield Pair(before, table(lead, (1, 1)), f"leads of {lead}; one grid gains what the other loses")

    def neighbours(first: Table, second: Table) -> bool:
        return tables_adjacent(first, second, relation)

    return Pairs(relation=relation, make=make, neighbours=neighbours)
