"""How far noise goes, and how far a population may be from a sample of it.

*Noise* of one draw is known exactly, and of sums of several by inverting their transform. It has a public distribution,
so what is said here of an answer looks at nothing but the answer.

*A population:* bounds hold whatever it is, for any sample size. Rows are taken for independent draws from the
population. The bounds are Chernoff's, as Hoeffding (1963) has them: the mean of n numbers between 0 and 1 is at x or
beyond with a chance of at most exp(-n * KL(x, mean)), where KL is the divergence of coins of these chances.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from jostle.tables.fields import Floats

FINEST = 40
"""Halvings in a search: to a million-millionth of where it begins."""
PARTS, ROUNDS = np.arange(1, 1025) / 1024, 3
"""Of a search among many places at once: to a thousand-millionth."""
NEGLIGIBLE = 1e-9
FREQUENCIES = 4000
HIGHEST_FREQUENCY = 60
"""In units of one over the standard deviation; there, the transform of two or more draws is below 10**-6."""


def reach(scale: Fraction, miss: float) -> int:
    """Least t for which discrete Laplace noise goes beyond t, either way, with a chance of at most *miss*.

    P(|X| > t) = 2 q**(t+1) / (1+q), with q = exp(-1/scale).
    """
    rate = 1 / float(scale)
    chance = math.log(miss * (1 + math.exp(-rate)) / 2)
    return max(0, math.ceil(-chance / rate) - 1)


def combined_reach(weights: Sequence[float], scale: float, miss: float) -> float:
    """Distance that the weighted sum of draws of Laplace noise of one scale exceeds, either way, with chance *miss*.

    Discrete noise on whole numbers has, smeared out to the width of one, the same tails at whole numbers as this, so
    half a unit for each draw is what they differ by at most in the middle.
    """
    return scale * _unit_reach(tuple(sorted(abs(weight) for weight in weights if abs(weight) > NEGLIGIBLE)), miss)


def most_reach(weights: Sequence[float], miss: float) -> float:
    """Distance that `combined_reach` does not exceed at scale 1, worked out at once.

    With V the sum of squared weights and r at most .7 over the largest, the transform of the sum at r is at most
    exp(2 V r**2), since 1 / (1 - y) <= exp(2 y) up to y = .49. So it goes beyond t one way with a chance of at most
    exp(2 V r**2 - r t), which is miss / 2 for t = 2 V r + log(2 / miss) / r.
    """
    square, rarely = sum(weight * weight for weight in weights), math.log(2 / miss)
    if not square:
        return 0.0
    rate = min(0.7 / max(map(abs, weights)), math.sqrt(rarely / (2 * square)))
    return 2 * square * rate + rarely / rate


@lru_cache(maxsize=1024)
def _unit_reach(sizes: tuple[float, ...], miss: float) -> float:
    if not sizes:
        return 0.0
    if len(sizes) == 1:
        return sizes[0] * -math.log(miss)
    tail = _two_tails(sizes[1], sizes[0]) if len(sizes) == 2 else _many_tails(Counter(sizes))
    spread = math.sqrt(2 * sum(size * size for size in sizes))
    return bisected(lambda distance: tail(distance) <= miss, 0.0, 2 * spread * (1 - math.log(miss)))


def bisected(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where, between two ends, a condition begins to hold that holds at the higher one."""
    for _ in range(FINEST):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def ends_around(
    here: float, ends: tuple[float, float], chance: Callable[[Floats], Floats], misses: Sequence[float]
) -> list[tuple[float, float]]:
    """From a place towards each end, where the chance at it falls below each of these; an end where it does not."""
    ways = len(misses)
    last, least = np.repeat(np.array(ends, dtype=np.float64), ways), np.tile(misses, 2)[:, None]
    near, far = np.full(2 * ways, here), last
    way, nowhere = np.arange(2 * ways), np.zeros(2 * ways, dtype=np.bool_)
    for _ in range(ROUNDS):
        places = near[:, None] + (far - near)[:, None] * PARTS
        places[:, -1] = far
        holds = chance(places) < least
        nowhere |= ~holds[:, -1]
        first = holds.argmax(axis=1)
        near, far = np.where(first > 0, places[way, first - 1], near), places[way, first]
    low, high = np.where(nowhere, last, far).reshape(2, ways).tolist()
    return list(zip(low, high, strict=True))


def _two_tails(wide: float, narrow: float) -> Callable[[float], float]:
    """P(|aX + bY| > t) for independent Laplace noise X, Y of scale 1, a >= b > 0."""
    if wide - narrow < 1e-6 * wide:
        return lambda t: (1 + t / (2 * wide)) * math.exp(-t / wide)
    square = wide * wide - narrow * narrow
    return lambda t: (wide * wide * math.exp(-t / wide) - narrow * narrow * math.exp(-t / narrow)) / square


def _many_tails(sizes: Mapping[float, int]) -> Callable[[float], float]:
    """P(|sum| > t) = 1 - (2/pi) * the integral over s > 0 of sin(ts)/s * the product of 1 / (1 + (size * s)**2)."""
    spread = math.sqrt(2 * sum(times * size * size for size, times in sizes.items()))
    step = HIGHEST_FREQUENCY / spread / FREQUENCIES
    points = (np.arange(FREQUENCIES) + 0.5) * step
    logs = sum(times * np.log1p(np.square(size * points)) for size, times in sizes.items())
    transform = np.exp(-logs) / points

    def tail(distance: float) -> float:
        return 1 - 2 / math.pi * step * float(np.sum(np.sin(distance * points) * transform))

    return tail


def mean_from(sampled: float, rows: float, miss: float, *, upward: bool) -> float:
    """Population mean, of numbers from 0 to 1, that is as far from the sample's as it may be, with chance *miss*."""
    return _share_from(sampled, lambda mean: _divergence(sampled, mean), rows, miss, upward=upward)


def count_from(sampled: float, miss: float, *, upward: bool) -> float:
    """Expected number of rows of which so many are as far from it as they may be, with chance *miss*.

    Of independent coins with a mean of m in all, x or more come up, x > m, with a chance of at most
    exp(-(x log(x/m) - x + m)); so do x or fewer, x < m.
    """
    most = math.log(1 / miss)

    def too_far(mean: float) -> bool:
        if mean <= 0:
            return sampled > 0
        return (sampled * math.log(sampled / mean) if sampled else 0.0) - sampled + mean >= most

    if upward:
        return bisected(too_far, sampled, sampled + 3 * most + 3 * math.sqrt(most * sampled) + 1)
    return max(0.0, sampled - bisected(lambda down: too_far(sampled - down), 0.0, sampled))


def rank_apart(share: float, rows: float, miss: float, *, upward: bool) -> float:
    """Share of a sample below the population's quantile that is as far from that quantile as may be, with *miss*."""
    return _share_from(share, lambda sampled: _divergence(sampled, share), rows, miss, upward=upward)


def _share_from(share: float, divergence: Callable[[float], float], rows: float, miss: float, *, upward: bool) -> float:
    """Share as far from another as may be, with this chance, given how far apart both are as chances of coins."""
    most = math.log(1 / miss) / max(rows, 1e-9)
    if upward:
        return min(1.0, bisected(lambda other: divergence(other) >= most, share, 1.0))
    return max(0.0, 1 - bisected(lambda mirrored: divergence(1 - mirrored) >= most, 1 - share, 1.0))


def _divergence(x: float, mean: float) -> float:
    """The divergence of a coin of chance x from one of this chance."""
    parts = ((x, mean), (1 - x, 1 - mean))
    if any(there > 0 and here <= 0 for there, here in parts):
        return math.inf
    return sum(there * math.log(there / here) for there, here in parts if there > 0)
