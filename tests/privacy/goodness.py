"""Chi-squared goodness of fit."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-6


def fit(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """Return the chi-squared p-value, neighbouring bins being merged until 10 are expected in each."""
    assert math.isclose(expected.sum(), observed.sum(), rel_tol=1e-9)
    below = np.concatenate([[0.0], np.cumsum(expected)])
    ends = [0]
    while (end := int(np.searchsorted(below, below[ends[-1]] + 10))) < len(below):
        ends.append(end)
    if len(ends) == 1:
        return 1.0
    starts = ends[:-1]  # what is left at the end goes into the last bin
    merged = np.add.reduceat(expected, starts)
    statistic = float(np.sum((np.add.reduceat(observed, starts) - merged) ** 2 / merged))
    return float(stats.chi2.sf(statistic, len(starts) - 1)) if len(starts) > 1 else 1.0


def fit_outcomes(found: Mapping[tuple[int, ...], int], chances: Mapping[tuple[int, ...], float]) -> float:
    """Return the chi-squared p-value of a few outcomes, of which none but those listed may be among *found*."""
    assert set(found) <= {outcome for outcome, chance in chances.items() if chance > 0}
    total = sum(found.values())
    observed = np.array([found.get(outcome, 0) for outcome in chances], dtype=np.int64)
    return fit(observed, np.array([total * chance for chance in chances.values()]))


def binned(draws: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many draws lie below the first edge, between each two, and from the last on."""
    bins = np.searchsorted(edges, draws, side="right")
    return np.bincount(bins, minlength=len(edges) + 1).astype(np.int64)


def fit_geometric(draws: NDArray[np.int64], ratio: float) -> float:
    """Return how well draws fit P(G >= g) = ratio**g, value by value or a two-hundredth of the length at a time."""
    length = -1 / math.log(ratio)
    edges = np.arange(1, math.ceil(length * math.log(len(draws))) + 2, max(1, int(length / 200)), dtype=np.int64)
    beyond = np.concatenate([[1.0], ratio ** edges.astype(float), [0.0]])
    return fit(binned(draws, edges), len(draws) * -np.diff(beyond))


def fit_laplace(draws: NDArray[np.int64], scale: float) -> float:
    """Return how well draws fit P(x) proportional to exp(-|x|/scale), every value up to scale 1000 by itself.

    Bins are good at finding values that come too often, but poor at finding that all are a little too far from 0; the
    mean of |x| is good at that. The less likely of the two counts, twice.
    """
    width = max(1, int(scale / 1000))
    reach = math.ceil(scale * math.log(len(draws)) / width) * width + width
    edges = np.arange(-reach, reach + 1, width, dtype=np.int64)
    upper = np.exp(-np.abs(np.where(edges > 0, edges, 1 - edges)) / scale) / (1 + math.exp(-1 / scale))
    less = np.concatenate([[0.0], np.where(edges > 0, 1 - upper, upper), [1.0]])
    q = math.exp(-1 / scale)
    mean = 2 * q / (1 - q * q)
    variance = 2 * q / (1 - q) ** 2 - mean**2
    off = abs(np.abs(draws).mean() - mean) / math.sqrt(variance / len(draws)) if variance else 0.0
    return min(1.0, 2 * min(fit(binned(draws, edges), len(draws) * np.diff(less)), 2 * float(stats.norm.sf(off))))
