"""From noisy counts of both kinds of rows, by interval of scores, to a curve.

A good scorer's higher intervals hold a larger share of the class than its lower ones: its curve is concave. Noise that
says otherwise is smoothed away by a least-squares fit (Ayer and others 1955), of all shares at once. A scorer need not
be good: where released counts contradict the fit by more than noise does, the curve only rises, as any does.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["concave_curve", "rising_curve"]

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
LEAST = 1e-3
"""Rows that an interval holds at least."""
LEAD = 8.0
"""By how many variances of noise less a convex curve has to be off: few scorers tell the class by low scores."""
SPREADS = 2.0
"""How many standard deviations more than expected noise may be off."""
KURTOSIS = 5.0
"""The variance of a squared draw of Laplace noise, in units of the squared variance."""


def _isotonic(values: Floats, weights: Floats | None = None) -> Floats:
    """The rising numbers nearest to these by least squares."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - takes its time to load

    return np.asarray(isotonic_regression(values, weights=weights).x)


def rising_curve(counts: Floats) -> Curve:
    """Both rates as running counts, made to rise by least squares (Hay and others 2010), over their ends."""
    others, own = (_running(each[::-1]) for each in (counts[1], counts[0]))
    return others, own


def _running(counts: Floats) -> Floats:
    sums = np.concatenate([[0.0], np.maximum(_isotonic(np.cumsum(counts)), 0.0)])
    return _rates(sums)


def _rates(sums: Floats) -> Floats:
    return sums / sums[-1] if sums[-1] > 0 else np.linspace(0.0, 1.0, len(sums))


def concave_curve(counts: Floats, variance: float, even: float | None) -> Curve | None:
    """The concave curve that fits the counts, or the convex one if that fits better; None where neither does.

    *variance* is that of each count's noise. *even* is the variance of how many rows the intervals hold in all where
    they were made to hold equally many, which is then known better than their counts say; None where they were not.
    """
    own, others = counts
    totals, cells = own + others, counts.shape[1]
    if even is None:
        rows = np.maximum(np.diff(np.concatenate([[0.0], np.maximum(_isotonic(np.cumsum(totals)), 0.0)])), LEAST)
    else:
        mean = max(float(totals.mean()), 0.5)
        # Medians of rows that are few, or alike, do not part them evenly.
        prior = even + (mean / 10) ** 2
        rows = np.maximum((totals * prior + mean * 2 * variance) / (prior + 2 * variance), LEAST)
    fits = [_fitted(counts, rows, sign) for sign in (1, -1)]
    misfits = [((counts - fit) ** 2).sum() / variance for fit in fits]
    better = int(misfits[1] < misfits[0] - LEAD)
    if misfits[better] > 2 * cells + SPREADS * math.sqrt(2 * cells * KURTOSIS):
        return None
    own, others = (_rates(np.concatenate([[0.0], np.cumsum(part[::-1])])) for part in fits[better])
    return others, own


def _fitted(counts: Floats, rows: Floats, sign: int) -> Floats:
    """Counts of so many rows in all whose share of the class rises with the score, or falls (-1)."""
    own, others = counts
    share = np.clip(sign * _isotonic(sign * (own - others + rows) / (2 * rows), rows**2), 0.0, 1.0)
    return np.stack([share * rows, (1 - share) * rows])
