"""How far an area under a curve is likely to be off, from noisy counts and what is public of their noise.

*The rows' own area.* With p and q the true counts of both kinds of rows by interval, lowest scores first, the area A
lies between A0 = sum p_i (q_1 + ... + q_(i-1)) / (P Q), where rows of one interval count as ordered wrongly, and A1,
where they count as ordered rightly; so it does whatever the order inside intervals is. What is released are counts with
noise of a known distribution. For each a, "A is a" is held against p'K q' - a P'Q', where p' and q' are the released
counts less noise that is drawn anew; an a is kept unless all but level/2 of these say that A0 is above it, or A1 below.
Taking noise off a second time overstates the spread: by the noise's own products, which are what makes the statement
hard to prove and easy to try. It is a statement by simulation, and docs/benchmarks/evaluation.md says what came of it.

*The population's area.* Of rows that are drawn independently, the area is a mean over pairs, and Hoeffding (1963) shows
that such a mean deviates no more often than that of min(P, Q) independent numbers from 0 to 1: the chance that it is
above (or below) by so much is at most exp(-min(P, Q) KL(area of the rows, area of the population)). The level is split
among the rows' area, the number of rows of the rarer kind, and this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from jostle.tables.regions import haar_side

__all__ = ["drawn_noise", "population_interval", "rows_interval"]

Floats = NDArray[np.float64]
DRAWS = 4000
SEED = 0
"""What is drawn here has nothing to do with rows: it tells how wide noise is. The same answer has the same bar."""
STEPS = 1000
"""The areas that are tried: ends are rounded outwards to a multiple of 1 / STEPS."""


def drawn_noise(scales: Sequence[float], intervals: int, count: int) -> Floats:
    """Noise on counts by interval, *count* times: of one scale, or that of a wavelet with so many levels."""
    generator = np.random.default_rng(SEED)

    def noise(scale: float, size: int) -> Floats:
        down, up = np.floor(generator.exponential(scale, (2, count, 2, size)))
        return np.asarray(up - down)

    if len(scales) == 1:
        return noise(scales[0], intervals)
    side = haar_side(intervals)
    cells, length = noise(scales[0], 1), 1
    for scale in scales[1:]:
        differences = noise(scale, length)
        length *= 2
        halves = np.empty((count, 2, length))
        halves[..., 0::2], halves[..., 1::2] = (cells + differences) / 2, (cells - differences) / 2
        cells = halves
    return np.asarray(cells[..., : min(side, intervals)])


def rows_interval(counts: Floats, scales: Sequence[float], level: float) -> tuple[float, float]:
    """An interval for the area under the rows' own curve, from counts of both kinds of rows by interval."""
    positives, others = _without_noise(counts, scales)
    ordered = (positives * (np.cumsum(others, axis=1) - others)).sum(axis=1)
    tied = (positives * others).sum(axis=1)
    pairs = positives.sum(axis=1) * others.sum(axis=1)
    tried = np.arange(STEPS + 1) / STEPS
    rest = (1 - level) / 2
    kept = (_share_not_above(ordered, pairs, tried) >= rest) & (
        _share_not_above(-ordered - tied, -pairs, tried) >= rest
    )
    if not kept.any():
        return 0.0, 1.0
    places = np.flatnonzero(kept)
    return float(tried[max(places[0] - 1, 0)]), float(tried[min(places[-1] + 1, STEPS)])


def population_interval(counts: Floats, scales: Sequence[float], level: float) -> tuple[float, float]:
    """An interval for the area under the curve of the population that rows were drawn from independently."""
    rest = 1 - level
    low, high = rows_interval(counts, scales, 1 - rest / 2)
    positives, others = _without_noise(counts, scales)
    rarer = math.floor(min(np.quantile(each.sum(axis=1), rest / 8) for each in (positives, others)))
    if rarer < 1:
        return 0.0, 1.0
    most = math.log(8 / rest) / rarer
    return _farthest(low, most, down=True), _farthest(high, most, down=False)


def _without_noise(counts: Floats, scales: Sequence[float]) -> tuple[Floats, Floats]:
    found = counts - _kept_noise(tuple(scales), counts.shape[1])
    return found[:, 0], found[:, 1]


@lru_cache(maxsize=1)
def _kept_noise(scales: tuple[float, ...], intervals: int) -> Floats:
    """The draws for one kind of noise, which several intervals are asked of."""
    return drawn_noise(scales, intervals, DRAWS)


def _share_not_above(sums: Floats, pairs: Floats, tried: Floats) -> Floats:
    """For each a the share of draws in which the sum is at most a times the number of pairs."""
    holds = np.zeros(len(tried))
    over, under, none = pairs > 0, pairs < 0, pairs == 0
    holds += np.searchsorted(np.sort(sums[over] / pairs[over]), tried, side="right")
    holds += under.sum() - np.searchsorted(np.sort(sums[under] / pairs[under]), tried, side="left")
    holds += (sums[none] <= 0).sum()
    return np.asarray(holds / len(sums))


def _farthest(area: float, most: float, *, down: bool) -> float:
    """The area farthest from this one, on one side, whose divergence from it is at most so much."""
    near, far = area, 0.0 if down else 1.0
    if _divergence(area, far) <= most:
        return far
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if _divergence(area, middle) <= most else (near, middle)
    return far


def _divergence(one: float, other: float) -> float:
    """The Kullback-Leibler divergence between two coins."""
    total = 0.0
    for share, of in ((one, other), (1 - one, 1 - other)):
        if share > 0:
            total += math.inf if of <= 0 else share * math.log(share / of)
    return total
