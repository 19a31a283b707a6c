"""A count that is released twice, the second time with less noise: as chains are, and in two ways that are wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.audit.distributions import Distribution, independent, laplace, laplace_table
from jostle.audit.pairs import Pair, Vector, chosen_pairs, histograms_adjacent
from jostle.audit.subjects import Sampler
from jostle.privacy.reals import Exponential

__all__ = ["COUNTS", "AnotherCount", "RefinedCount"]

Integers = NDArray[np.int64]

TAIL = 1e-4


def _added(first: Vector, second: Vector) -> bool:
    return histograms_adjacent(first, second, "add_remove")


COUNTS = chosen_pairs(
    "add_remove", _added, Pair((0,), (1,), "no record; one comes"), Pair((1000,), (1001,), "many; one more comes")
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
        found = dict(zip((-1 - steps).tolist(), (across * geometric).tolist(), strict=True))
        found |= {place: (1 - across) * (1 - between) * between**place for place in range(far + 1)}
        found |= dict(zip((far + 1 + steps).tolist(), (beyond * (1 - stays) * geometric).tolist(), strict=True))
        left = (across + beyond * (1 - stays)) * both ** len(steps)
        if self.may_stay:
            found[far] += here
        else:
            # Also what stopped there by itself goes further.
            here += found.pop(far)
            for place, chance in zip((far + 1 + steps).tolist(), (here * geometric).tolist(), strict=True):
                found[place] += chance
            left += here * both ** len(steps)
        turn = -1 if drawn < 0 else 1
        return Distribution({count + turn * place: float(chance) for place, chance in found.items()}, missing=left)


@frozen(kw_only=True)
class AnotherCount:
    """The first cell at a share of epsilon, and again at all of it with noise of its own; both are seen."""

    share: Fraction = Fraction(1, 2)

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Integers:
        """Both noisy counts, per run."""
        first = noise.discrete_laplace(1 / (self.share * epsilon), size)
        return data[0] + np.column_stack([first, noise.discrete_laplace(1 / epsilon, size)])

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: both are independent."""
        return independent(laplace(data[0], 1 / (self.share * epsilon)), laplace(data[0], 1 / epsilon))
