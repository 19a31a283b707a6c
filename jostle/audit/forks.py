"""Run a mechanism through everything that its noise could be.

`Forks` has the samplers' interface, and takes for every draw one of the values it could have; running the
mechanism again and again, each time with the next combination, gives the exact distribution of its output. A
mechanism is thus written once, for sampling and for enumeration. It must ask the same of the samplers whenever it
got the same answers so far.

The number of runs is the product of the numbers of values, so this is for mechanisms that select, throw coins, or add
noise to two or three counts. For more counts than that, give their distribution as independent parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import Factory, define, frozen
from numpy.typing import NDArray

from jostle.audit.outputs import as_keys
from jostle.audit.subjects import LEAST_CHANCE, Data, Distribution, Exact, Sample, Sampler, laplace_table
from jostle.errors import AuditError
from jostle.privacy.amounts import Amount, exact
from jostle.privacy.noise import Noise
from jostle.privacy.reals import Chance, Ratio, RationalChance

MOST_RUNS = 200_000
CUT = 1e-12
"""Noise without end is followed until less than this is left of each draw."""
MOST_BITS = 1 << 14
"""Enclosures are read no further than this."""


@define
class _Fork:
    """One draw: its values, where we are among them, and how likely the path up to it was."""

    values: Sequence[Any]
    chances: Sequence[float]
    before: float
    taken: int = 0


@define
class Forks:
    """The samplers' interface over one path through all outcomes."""

    cut: float = CUT
    missing: float = 0.0
    """Mass of all draws cut short so far."""
    _path: list[_Fork] = Factory(list)
    _depth: int = 0

    @property
    def chance(self) -> float:
        """How likely the path taken is."""
        return math.prod(fork.chances[fork.taken] for fork in self._path)

    def advance(self) -> bool:
        """Step to the next path; return whether there is one."""
        self._depth = 0
        while self._path:
            if self._path[-1].taken + 1 < len(self._path[-1].values):
                self._path[-1].taken += 1
                return True
            self._path.pop()
        return False

    def _take(self, values: Sequence[Any], chances: Sequence[float], left: float = 0.0) -> Any:
        if self._depth == len(self._path):
            possible = [(value, chance) for value, chance in zip(values, chances, strict=True) if chance > 0]
            before = self.chance
            self._path.append(_Fork([value for value, _ in possible], [chance for _, chance in possible], before))
            self.missing += before * left
        fork = self._path[self._depth]
        self._depth += 1
        return fork.values[fork.taken]

    def of_a_release(self) -> Forks:
        """The same: a release takes what the path says."""
        return self

    def discrete_laplace(self, scale: Amount, size: int) -> NDArray[np.int64]:
        """Take draws of noise, cut where little is left."""
        values, chances, left = laplace_table(exact(scale, "scale"), self.cut)
        table = values.tolist(), chances.tolist(), left
        return np.array([self._take(*table) for _ in range(size)], dtype=np.int64)

    def less_laplace(self, drawn: NDArray[np.int64], scale: Amount, less: Amount) -> NDArray[np.int64]:
        """Take the noise that noise was made of, by the code that draws it."""
        return Noise.less_laplace(self, drawn, scale, less)  # type: ignore[arg-type]  # it draws like one

    def laplace_above(self, scale: Amount, threshold: int, size: int) -> NDArray[np.int64]:
        """Take draws beyond the threshold, where noise is geometric."""
        step = float(1 / exact(scale, "scale"))
        return self._geometric(step, size) + (threshold + 1)

    def geometric(self, ratio: Ratio, size: int) -> NDArray[np.int64]:
        """Take geometric draws, cut where little is left."""
        down = float(1 - _number(lambda bits: ratio.power(1, bits)))
        return self._geometric(-math.log1p(-down), size)

    def _geometric(self, step: float, size: int) -> NDArray[np.int64]:
        """Take geometric draws with P(G >= g) = exp(-g * step)."""
        length = max(1, math.ceil(-math.log(self.cut) / step))
        chances = [-math.expm1(-step) * math.exp(-step * value) for value in range(length)]
        left = math.exp(-step * length)
        return np.array([self._take(range(length), chances, left) for _ in range(size)], dtype=np.int64)

    def bernoulli(self, chance: Fraction | Chance, size: int) -> NDArray[np.bool_]:
        """Take coins."""
        known = RationalChance(chance) if isinstance(chance, Fraction) else chance
        up = _number(known.enclose)
        chances = [_possible(1 - up), _possible(up)]
        return np.array([self._take((False, True), chances) for _ in range(size)], dtype=np.bool_)

    def bernoulli_exponential(self, x: Amount, size: int) -> NDArray[np.bool_]:
        """Take coins of chance exp(-x)."""
        exponent = float(exact(x, "x"))
        chances = (-math.expm1(-exponent), max(math.exp(-exponent), LEAST_CHANCE))
        return np.array([self._take((False, True), chances) for _ in range(size)], dtype=np.bool_)

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Take uniform whole numbers."""
        return np.array([self._take(range(bound), [1 / bound] * bound) for _ in range(size)], dtype=np.int64)

    def distinct(self, population: int, count: int) -> NDArray[np.int64]:
        """Take different whole numbers, in every order."""
        left = list(range(population))
        return np.array([left.pop(int(self.below(len(left), 1)[0])) for _ in range(count)], dtype=np.int64)

    def successes(self, trials: int, chance: Fraction | Chance) -> NDArray[np.int64]:
        """Take which coins come up."""
        return np.flatnonzero(self.bernoulli(chance, trials)).astype(np.int64)

    def binomial(self, trials: int, chance: Fraction | Chance) -> int:
        """Take how many coins come up."""
        return len(self.successes(trials, chance))

    def permute_and_flip(self, scores: NDArray[np.int64], rate: Amount) -> int:
        """Take each candidate that may be picked."""
        chances = permute_and_flip_chances([int(score) for score in scores], exact(rate, "rate"))
        return int(self._take(range(len(chances)), chances))


def _number(enclose: Callable[[int], tuple[int, int]]) -> Fraction:
    """The enclosed number to 40 significant bits, of itself and of its distance from 1."""
    bits = 64
    low, high = enclose(bits)
    while (high - low) << 40 > min(low, (1 << bits) - high) and bits < MOST_BITS:
        bits *= 2
        low, high = enclose(bits)
    return Fraction(low + high, 2 << bits)


def _possible(chance: Fraction) -> float:
    """The chance as a double; one above 0 stays above 0."""
    return max(float(chance), LEAST_CHANCE) if chance else 0.0


def permute_and_flip_chances(scores: Sequence[int], rate: Fraction) -> list[float]:
    """How likely each candidate is: its coin comes up, and it is drawn among all whose coins do.

    P(i) = c_i * E[1 / (1 + others up)]; the number of others up is a sum of independent coins.
    """
    gaps = [(max(scores) - score) * float(rate) for score in scores]
    chances = []
    for candidate, gap in enumerate(gaps):
        others_up = np.ones(1)
        for other in gaps[:candidate] + gaps[candidate + 1 :]:
            others_up = np.convolve(others_up, (-math.expm1(-other), math.exp(-other)))
        chances.append(max(math.exp(-gap), LEAST_CHANCE) * float(np.sum(others_up / np.arange(1, len(gaps) + 1))))
    return chances


def enumerated_runs(run: Callable[[Sampler], Hashable], cut: float = CUT) -> Distribution:
    """The distribution of what *run* gives back, by running it once for each combination of draws.

    >>> two_coins = enumerated_runs(lambda noise: int(noise.bernoulli(Fraction(1, 2), 2).sum()))
    >>> dict(two_coins.chances)
    {0: 0.25, 1: 0.5, 2: 0.25}
    """
    forks = Forks(cut)
    chances: dict[Hashable, float] = {}
    for _ in range(MOST_RUNS):
        output = run(forks)
        chances[output] = chances.get(output, 0.0) + forks.chance
        if not forks.advance():
            return Distribution(chances, missing=forks.missing)
    raise AuditError(
        f"more than {MOST_RUNS:,} combinations of noise to run through",
        why="each noisy count multiplies the number of combinations",
        fix="audit by sampling alone, or give the distribution as independent parts",
    )


@frozen
class _Enumerated:
    """The exact distribution of a mechanism given by its sample."""

    sample: Sample[Any]
    cut: float

    def __call__(self, data: Any, epsilon: Fraction) -> Distribution:
        return enumerated_runs(lambda noise: as_keys(self.sample(noise, data, epsilon, 1))[0], self.cut)


def enumerated(sample: Sample[Data], cut: float = CUT) -> Exact[Data]:
    """The distribution of a mechanism, worked out by running its own sample through all outcomes."""
    return _Enumerated(sample, cut)
