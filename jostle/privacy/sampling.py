"""How far a population may be from a sample of it: bounds that hold whatever the population is, for any sample size.

Rows are taken for independent draws from the population. The bounds are Chernoff's, as Hoeffding (1963) has them: the
mean of n numbers between 0 and 1 is at x or beyond with a chance of at most exp(-n * KL(x, mean)), where KL is the
divergence of coins of these chances.
"""

from __future__ import annotations

import math

from jostle.privacy.tails import bisected

__all__ = ["count_from", "mean_from", "rank_apart"]


def mean_from(sampled: float, rows: float, miss: float, *, upward: bool) -> float:
    """Population mean, of numbers from 0 to 1, that is as far from the sample's as it may be, with chance *miss*."""
    most = math.log(1 / miss) / max(rows, 1e-9)

    def too_far(mean: float) -> bool:
        return _divergence(sampled, mean) >= most

    if upward:
        return min(1.0, bisected(too_far, sampled, 1.0))
    return max(0.0, 1 - bisected(lambda mirrored: too_far(1 - mirrored), 1 - sampled, 1.0))


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
    most = math.log(1 / miss) / max(rows, 1e-9)

    def too_far(sampled: float) -> bool:
        return _divergence(sampled, share) >= most

    if upward:
        return min(1.0, bisected(too_far, share, 1.0))
    return max(0.0, 1 - bisected(lambda mirrored: too_far(1 - mirrored), 1 - share, 1.0))


def _divergence(x: float, mean: float) -> float:
    """The divergence of a coin of chance x from one of this chance."""
    parts = ((x, mean), (1 - x, 1 - mean))
    if any(there > 0 and here <= 0 for there, here in parts):
        return math.inf
    return sum(there * math.log(there / here) for there, here in parts if there > 0)
