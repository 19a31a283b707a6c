"""Counts by value and class, shrunk towards independence as far as noise could have made them by itself.

After James and Stein, and Robbins, An empirical Bayes approach to statistics, 1956. If an attribute told nothing of the
class, a value that m rows have would have m * p of each class, p being the class shares of all rows. What it has
differs from that by a *signal*, by chance, and by noise of a variance that is public. The signal's variance is
modelled as r * m**2 * p * (1-p), with r from 0 to 1: how much of the class shares' greatest variance lies between the
values.

r is estimated for each attribute from released counts: their squared distance from independence, less what chance and
noise are expected to bring. One attribute's estimate is rough where noise is much, so it is drawn towards what all
attributes together say; and if all together do not stand out of the noise, every r is 0, every table is taken as
independent, and naive Bayes becomes the class shares of all rows. Then each cell is drawn towards
independence by signal / (signal + chance + noise). With plenty of budget and rows nothing is, and it is naive Bayes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_shares"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SURE = 1.0
"""All attributes together are believed in where they stand out of the noise by so many standard deviations."""
KURTOSIS = 5.0
"""The variance of a squared Laplace number, in squared variances; that of a normal number is 2."""
SMALLEST = 1e-9


def log_shares(counts: Floats, variance: float, totals: Floats, sizes: Integers) -> Floats:
    """The logarithms of P(value | class), values of all attributes by classes.

    *counts* are noisy counts by value, those of all attributes one after the other, and class; *variance* is that of
    their noise; *totals* are the class counts of all rows, all above 0; *sizes* says how many values each attribute
    has.
    """
    starts = np.cumsum(sizes) - sizes
    which = np.repeat(np.arange(len(sizes)), sizes)
    rows, share = float(totals.sum()), totals / totals.sum()
    having, trust = _margins(counts.sum(axis=1), counts.shape[1] * variance, rows, sizes)
    part = (having / rows)[:, None]
    expected = having[:, None] * share
    apart = counts - expected
    spread = share * (1 - share)
    follow = trust[which][:, None] * share  # what of a cell's own noise is in what is expected of it, too
    noise = variance * (1 - 2 * follow + counts.shape[1] * follow**2)
    chance = having[:, None] * spread * (1 - part)
    told = _between_values(apart, noise, chance, having**2 * spread.sum(), starts)
    signal = told[which][:, None] * having[:, None] ** 2 * spread
    found = np.maximum(expected + signal / (signal + noise + chance + SMALLEST) * apart, 0)
    found += sizes[which][:, None] * part  # one row for each value on average, as naive Bayes has it
    shares: Floats = np.log(found) - np.log(np.add.reduceat(found, starts, axis=0))[which]
    return shares


def _margins(counts: Floats, variance: float, rows: float, sizes: Integers) -> tuple[Floats, Floats]:
    """How many rows have each value, drawn towards even numbers, and how far each attribute's are trusted.

    For each attribute the numbers add up to all rows.
    """
    starts, which = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    even = (rows / sizes)[which]
    apart = counts - even
    noise = variance * (sizes - 1) + rows
    trust = np.maximum(1 - noise / np.maximum(np.add.reduceat(apart**2, starts), SMALLEST), 0)
    having = np.maximum(even + trust[which] * apart, 0) + 1
    having *= (rows / np.add.reduceat(having, starts))[which]
    return having, trust


def _between_values(apart: Floats, noise: Floats, chance: Floats, greatest: Floats, starts: Integers) -> Floats:
    """Each attribute's r."""
    excess = np.add.reduceat((apart**2 - noise - chance).sum(axis=1), starts)
    most = np.maximum(np.add.reduceat(greatest, starts), SMALLEST)
    unsure = (KURTOSIS * noise**2 + 4 * noise * chance + 2 * chance**2).sum(axis=1)
    error = np.sqrt(np.add.reduceat(unsure, starts))
    overall = max(0.0, float(excess.sum() - SURE * np.sqrt((error**2).sum())) / float(most.sum()))
    if not overall:
        return np.zeros(len(starts))
    own, precision = excess / most, 1 / np.maximum(error / most, SMALLEST) ** 2
    return np.asarray(np.clip((own * precision + 1 / overall) / (precision + overall**-2), 0, 1))
