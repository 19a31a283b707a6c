"""Mechanisms that add noise to counts, right and wrong."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.audit.forks import permute_and_flip_chances
from jostle.audit.selections import Table
from jostle.audit.subjects import (
    Distribution,
    KeyCounts,
    Pair,
    Relation,
    Sampler,
    Vector,
    added,
    at_least,
    chosen_pairs,
    independent,
    laplace,
    laplace_table,
    mass,
)
from jostle.privacy.descent import Descent
from jostle.privacy.mechanisms import AddNoiseTo
from jostle.privacy.nodes import Expression
from jostle.privacy.reals import Exponential, Tail
from jostle.tables.columns import Categorical
from jostle.tables.engines import MemorySource
from jostle.tables.schema import Schema
from jostle.tables.slopes import UNIT

COUNTED = "cell"
"""The column whose counts are the input."""


Integers = NDArray[np.int64]
Part = tuple[Sequence[int], Fraction]
"""Whole numbers, and the scale of the noise that each of them gets."""


class NumbersWithNoise(ABC):
    """A mechanism that tells numbers of its input, each with noise of its own."""

    @abstractmethod
    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        """Yield numbers that get noise of one scale, and that scale."""

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The noisy numbers, per run."""
        return np.column_stack(
            [
                np.array(numbers, dtype=np.int64)
                + noise.discrete_laplace(scale, size * len(numbers)).reshape(size, len(numbers))
                for numbers, scale in self.parts(data, epsilon)
            ]
        )

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: all numbers are independent."""
        parts = self.parts(data, epsilon)
        return independent(*(laplace(number, scale) for numbers, scale in parts for number in numbers))


@frozen(kw_only=True)
class BoughtExpression(NumbersWithNoise):
    """An expression over the counts of one column, with the noise of the sensitivity inferred for it."""

    expression: Expression
    relation: Relation

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        public = Schema({COUNTED: Categorical([str(cell) for cell in range(len(data))])}, neighbours=self.relation)
        mechanism = AddNoiseTo(self.expression)
        _, whole = mechanism.in_units(np.array(data, dtype=np.int64), public, epsilon)
        yield whole.ravel().tolist(), mechanism.scale(public, epsilon)


ABSENT = 0
"""In place of the value of a cell that is not listed; those that are listed are above the threshold, so above 0."""


@frozen(kw_only=True)
class NoisyCounts(NumbersWithNoise):
    """A histogram with noise of scale sensitivity/epsilon in every cell; sensitivity 1 under add/remove, else 2."""

    sensitivity: int
    weight: int = 1
    """What a record adds to its cell."""

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        yield [self.weight * count for count in data], self.sensitivity / epsilon


@frozen
class ScaleEpsilon(NumbersWithNoise):
    """A count with noise of scale epsilon, so that it loses 1/epsilon."""

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        yield data[:1], epsilon


@frozen
class SameSeed:
    """Two counts, each with half of epsilon, but both stages start from one seed and so draw the same noise."""

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """Both noisy counts, per run."""
        drawn = noise.discrete_laplace(2 / epsilon, size)
        return np.column_stack([data[0] + drawn, data[1] + drawn])

    def difference(self, output: Vector) -> int:
        """The first count less the second: the noise is gone."""
        return output[0] - output[1]

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution of the difference."""
        return Distribution({data[0] - data[1]: 1.0})


@frozen(kw_only=True)
class RawChoice:
    """Choose what to run by whether the raw number of records reaches a limit; then count them with noise."""

    limit: int

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """The choice and the noisy number, per run."""
        total = sum(data)
        return np.column_stack(
            [np.full(size, int(total >= self.limit)), total + noise.discrete_laplace(1 / epsilon, size)]
        )

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: the choice is certain, the number follows."""
        chosen = int(sum(data) >= self.limit)
        return Distribution({chosen: 1.0}, {chosen: (laplace(sum(data), 1 / epsilon),)})


@frozen(kw_only=True)
class SparseHistogram:
    """Noisy counts above a threshold, drawn in time linear in the occupied cells and in what is released.

    Occupied cells get noise and are kept if above the threshold. Of the empty ones, those that would pass are
    drawn as successes of independent coins, and their values from the noise given that it passes. Both together
    are distributed as noise on every cell and then the threshold, which is epsilon-private as a function of noisy
    counts. Leaving the empty cells out, with *empty_too* false, tells for certain that a listed cell is occupied.
    """

    cells: int
    threshold: int
    empty_too: bool = True

    def sample(self, noise: Sampler, data: KeyCounts, epsilon: Fraction, size: int) -> Integers:
        """All cells, those that are not listed as ABSENT, per run."""
        scale = 1 / epsilon
        listed = np.full((size, self.cells), ABSENT, dtype=np.int64)
        for key, count in data:
            noisy = count + noise.discrete_laplace(scale, size)
            listed[:, key] = np.where(noisy > self.threshold, noisy, ABSENT)
        empty = np.setdiff1d(np.arange(self.cells), [key for key, _ in data])
        if self.empty_too and empty.size:
            # The coins of all runs at once: trial number run * empty + place.
            passed = noise.successes(size * empty.size, Tail(scale, self.threshold))
            values = noise.laplace_above(scale, self.threshold, passed.size)
            listed[passed // empty.size, empty[passed % empty.size]] = values
        return listed

    def distribution(self, data: KeyCounts, epsilon: Fraction) -> Distribution:
        """The distribution: each cell by itself, by the dense construction."""
        counts = dict(data)
        scale = 1 / epsilon
        shifts, _, left = laplace_table(scale)
        never = Distribution({ABSENT: 1.0})

        def cell(count: int) -> Distribution:
            values = np.arange(self.threshold + 1, max(count, self.threshold) + int(shifts[-1]) + 1)
            below = np.array([count - self.threshold], dtype=np.int64)
            chances = {ABSENT: float(at_least(scale, below)[0])}
            chances |= dict(zip(values.tolist(), mass(scale, values - count).tolist(), strict=True))
            return Distribution(chances, missing=left)

        return independent(
            *(cell(counts.get(key, 0)) if key in counts or self.empty_too else never for key in range(self.cells))
        )


@frozen(kw_only=True)
class TwoLevelCell(NumbersWithNoise):
    """One first-level cell of an adaptive grid and its two second-level cells: total, left half, right half.

    A record is in the cell and in one of its halves, so the two levels must share epsilon.
    """

    first_share: Fraction
    second_share: Fraction

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        yield (sum(data),), 1 / (self.first_share * epsilon)
        yield data, 1 / (self.second_share * epsilon)


@frozen(kw_only=True)
class OneLevelTree:
    """Pick one of two attributes by the Max utility, with half of epsilon; then count class 1 in both leaves.

    The leaves hold different records, so one leaf count changes, and *leaf_share* may be no more than the half
    that is left.
    """

    leaf_share: Fraction

    def _views(self, data: Table) -> list[Integers]:
        counts = np.array(data)
        return [counts.sum(axis=1), counts.sum(axis=0)]

    def sample(self, noise: Sampler, data: Table, epsilon: Fraction, size: int) -> Integers:
        """The attribute and the noisy counts, per run."""
        views = self._views(data)
        scores = np.array([view.max(axis=1).sum() for view in views], dtype=np.int64)
        picked = np.array([noise.permute_and_flip(scores, epsilon / 2) for _ in range(size)], dtype=np.int64)
        leaves = np.array([view[:, 1] for view in views])[picked]
        drawn = noise.discrete_laplace(1 / (self.leaf_share * epsilon), leaves.size).reshape(leaves.shape)
        return np.column_stack([picked, leaves + drawn])

    def distribution(self, data: Table, epsilon: Fraction) -> Distribution:
        """The distribution: the attribute, then its two leaf counts, independent of each other."""
        views = self._views(data)
        scores = [int(view.max(axis=1).sum()) for view in views]
        chances = permute_and_flip_chances(scores, epsilon / 2)
        scale = 1 / (self.leaf_share * epsilon)
        leaves = {index: tuple(laplace(int(count), scale) for count in view[:, 1]) for index, view in enumerate(views)}
        return Distribution(dict(enumerate(chances)), leaves)


TAIL = 1e-4


COUNTS = chosen_pairs(
    "add_remove", added, Pair((0,), (1,), "no record; one comes"), Pair((1000,), (1001,), "many; one more comes")
)
"""A count, before and after a record comes: what noise does is the same wherever it is."""


@frozen(kw_only=True)
class RefinedCount:
    """The first cell, at a share of epsilon and then at all of it; both are seen.

    With *may_stay* false, noise is never the same as before: as if more was added to it each time.
    """

    share: Fraction = Fraction(1, 2)
    may_stay: bool = True

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """Both noisy counts, per run."""
        scale, less = 1 / (self.share * epsilon), 1 / epsilon
        first = noise.discrete_laplace(scale, size)
        second = noise.less_laplace(first, scale, less)
        if not self.may_stay:
            stayed = second == first
            further = noise.geometric(Exponential(1 / (1 / less + 1 / scale)), int(stayed.sum())) + 1
            second[stayed] += np.where(first[stayed] < 0, -further, further)
        return data[0] + np.column_stack([first, second])

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: the first count, then the second as the steps of its sampler have it."""
        values, chances, left = laplace_table(1 / (self.share * epsilon), TAIL)
        firsts = (values + data[0]).tolist()
        seconds = {first: (self._second(int(first) - data[0], data[0], epsilon),) for first in firsts}
        return Distribution(dict(zip(firsts, chances.tolist(), strict=True)), seconds, missing=left)

    def _second(self, drawn: int, count: int, epsilon: Fraction) -> Distribution:
        a, b = np.exp(-float(self.share * epsilon)), np.exp(-float(epsilon))
        between, both, far = b / a, a * b, abs(drawn)
        steps = np.arange(max(1, int(np.log(TAIL) / np.log(both))))
        across = both * (1 - between) / (1 - b * b)
        stays = (1 - a * a) / (1 - both)
        beyond = (1 - across) * between ** (far + 1)
        geometric = (1 - both) * both**steps
        here = beyond * stays
        chances = dict(zip((-1 - steps).tolist(), (across * geometric).tolist(), strict=True))
        chances |= {place: (1 - across) * (1 - between) * between**place for place in range(far + 1)}
        chances |= dict(zip((far + 1 + steps).tolist(), (beyond * (1 - stays) * geometric).tolist(), strict=True))
        left = (across + beyond * (1 - stays)) * both ** len(steps)
        if self.may_stay:
            chances[far] += here
        else:
            # Also what stopped there by itself goes further.
            here += chances.pop(far)
            for place, chance in zip((far + 1 + steps).tolist(), (here * geometric).tolist(), strict=True):
                chances[place] += chance
            left += here * both ** len(steps)
        turn = -1 if drawn < 0 else 1
        return Distribution({count + turn * place: float(chance) for place, chance in chances.items()}, missing=left)


@frozen(kw_only=True)
class AnotherCount(NumbersWithNoise):
    """The first cell at a share of epsilon, and again at all of it with noise of its own; both are seen."""

    share: Fraction = Fraction(1, 2)

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        yield data[:1], 1 / (self.share * epsilon)
        yield data[:1], 1 / epsilon


@frozen
class ClusterSums(NumbersWithNoise):
    """The sum of the counts of all features that count at least so many, with noise of scale 1/epsilon."""

    cut: int

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        yield (sum(count for count in data if count >= self.cut),), 1 / epsilon


class _Unrounded(Descent):
    """A control: what rounding does to weights is left out of how far a row moves them."""

    def moved(self, schema: Schema) -> int:
        """The most that a row moves the weights, had they not been rounded; at least 1."""
        keeps = 1 - self.length * self.penalty
        apart = sum(keeps**step for step in range(self.steps)) * self.length * Fraction(2, self.rows) * 2**self.bits
        return max(1, math.isqrt(self.features * math.floor(apart**2)))


class _TrueMean(Descent):
    """A control: sums are divided by the number of rows, also where it is below the public one."""

    def divisor(self, count: int) -> Fraction:
        return Fraction(max(1, count))


DESCENTS: Mapping[str, type[Descent]] = MappingProxyType(
    {"as proved": Descent, "unrounded": _Unrounded, "by the true number": _TrueMean}
)


@frozen(kw_only=True)
class LastStep(NumbersWithNoise):
    """The weight of a class, which is all that a model has, after steps in whole numbers; cells are the two classes."""

    relation: Relation
    rows: int
    bits: int
    way: str = "as proved"

    def parts(self, data: Vector, epsilon: Fraction) -> Iterator[Part]:
        weight, scale = self._noised(data, epsilon)
        yield (weight,), scale

    @lru_cache(maxsize=256)  # noqa: B019 - there are few of them
    def _noised(self, data: Vector, epsilon: Fraction) -> tuple[int, Fraction]:
        """The weight, and the scale of the noise on it."""
        public = Schema({COUNTED: Categorical(["0", "1"])}, label=COUNTED, neighbours=self.relation)
        source = MemorySource.of_grid(np.array(data, dtype=np.int64), public, b"")
        facts = (), (), (), 0, 1, UNIT // 2, (0,), "huber", Fraction(1, 1000), self.rows, 60, self.bits
        descent = DESCENTS[self.way](*facts)
        (weight,) = descent.collect(lambda kernel: source.tally(kernel, ()), public).ravel().tolist()
        return weight, descent.scale(public, epsilon)


_GROWING: tuple[Vector, ...] = (
    (0, 0),
    (2, 0),
    *((count, 0) for count in range(266, 278)),
)
_MIXED: tuple[Vector, ...] = ((1, 0), (100, 40), (400, 40))
CLASSES_OF_LAST_STEP: tuple[Pair[Vector], ...] = (
    *(Pair(held, (held[0] + 1, held[1]), f"{held[0]} rows; one more comes") for held in _GROWING),
    *(Pair(held, (held[0], held[1] + 1), f"{sum(held)} rows; one of the other class comes") for held in _MIXED),
)
