"""How much each attribute's say counts for, since attributes that repeat each other are heard too often.

A row's score for a class is the sum of its values' lifts (`smoothed_tables`), each attribute's times a weight. Where
attributes are independent within classes, all weights are 1, and the score is naive Bayes's. Otherwise they are those
of Fisher's linear discriminant in the space of lifts: if S is the covariance of lifts within classes, summed over
classes by their shares, and D its diagonal, the weights b solve S b = D 1, since of a lift, a logarithm of odds, the
classes' means lie about its own variance apart. None is below 0, or above `MOST`.

D is known from counts by value and class; off it, S is what counts of pairs of values differ by from independence
within classes, which is what noisy tallies of pairs are bought for. To have few numbers in them, values are put
together into groups of like lifts. What the noise in them does to each correlation has a known variance; correlations
are drawn towards 0 by signal / (signal + noise), so with next to no budget weights are 1 again.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from jostle.options.classification.smoothed_tables import SmoothedTable

__all__ = ["attribute_weights", "groups_of", "thresholds"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST = 2.0
"""A weight."""
LARGEST = 0.95
"""A correlation."""
LEAST_SPREAD = 0.1
"""The least variance that correlated lifts are taken to have in any direction."""
ROUNDS = 20
"""Of putting values into groups."""
SMALLEST = 1e-9


def groups_of(table: SmoothedTable, groups: int) -> Integers:
    """The group of each value, from 0 up: those with like lifts, along the line that tells most of them apart."""
    part = table.rows / table.rows.sum()
    centred = table.lifts - part @ table.lifts
    along = centred @ np.linalg.eigh((centred * part[:, None]).T @ centred)[1][:, -1]
    centres = np.unique(np.quantile(along, (np.arange(groups) + 0.5) / groups))
    for _ in range(ROUNDS):
        nearest = np.abs(along[:, None] - centres).argmin(axis=1)
        weight = np.bincount(nearest, part, len(centres))
        middle = np.bincount(nearest, part * along, len(centres)) / np.maximum(weight, SMALLEST)
        centres = np.where(weight > 0, middle, centres)
    return np.asarray(np.unique(nearest, return_inverse=True)[1], dtype=np.int64)


def attribute_weights(
    tables: list[SmoothedTable], groups: list[Integers], pairs: Floats, variance: float, share: Floats
) -> Floats:
    """Weights of attributes, from noisy counts of all their pairs of groups, of this variance, one after the other."""
    rows = float(tables[0].rows.sum())
    spread = np.array([_spread(table, share) for table in tables]) + SMALLEST
    sides = [_by_group(table, group) for table, group in zip(tables, groups, strict=True)]
    found, noise = np.zeros((len(tables),) * 2), np.ones((len(tables),) * 2)
    start = 0
    for one, other in combinations(range(len(tables)), 2):
        (shares, lifts), (others, other_lifts) = sides[one], sides[other]
        cells = len(shares) * len(others)
        apart = pairs[start : start + cells].reshape(len(shares), -1) - rows * (shares * share) @ others.T
        weight = (lifts * share) @ other_lifts.T / (rows * np.sqrt(spread[one] * spread[other]))
        found[one, other] = found[other, one] = (weight * apart).sum()
        noise[one, other] = noise[other, one] = variance * (weight**2).sum()
        start += cells
    return _solved(found, noise, np.sqrt(spread))


def _spread(table: SmoothedTable, share: Floats) -> float:
    """The variance of an attribute's lifts within classes, summed over classes by their shares."""
    means = table.shares.T @ table.lifts
    return float(
        sum(share[c] * (table.shares[:, c] @ (table.lifts - means[c]) ** 2) @ share for c in range(len(share)))
    )


def _by_group(table: SmoothedTable, group: Integers) -> tuple[Floats, Floats]:
    """P(group | class), and each group's mean lifts less the mean of all groups: groups by classes."""
    member = np.eye(int(group.max()) + 1)[group].T
    weight = member * table.rows
    lifts = weight @ table.lifts / weight.sum(axis=1, keepdims=True)
    return member @ table.shares, lifts - lifts.mean(axis=0)


def _solved(correlations: Floats, noise: Floats, deviations: Floats) -> Floats:
    """Weights b of at least 0 that come nearest to S b = D 1."""
    off = np.triu_indices(len(deviations), 1)
    signal = max(0.0, float((correlations[off] ** 2 - noise[off]).mean()))
    drawn = np.clip(correlations * (signal / (signal + noise + SMALLEST)), -LARGEST, LARGEST)
    np.fill_diagonal(drawn, 1)
    sizes, directions = np.linalg.eigh(drawn)
    whole = (directions * np.maximum(sizes, LEAST_SPREAD)) @ directions.T
    root = np.linalg.cholesky(whole / np.sqrt(np.outer(np.diag(whole), np.diag(whole))))
    return np.asarray(np.minimum(nnls(root.T, np.linalg.solve(root, deviations))[0] / deviations, MOST))


def thresholds(tables: list[SmoothedTable], weights: Floats, share: Floats) -> Floats:
    """What is taken off each class's score, so that two classes of equal shares tie midway between their rows' means.

    For two classes that is where their scores differ by the mean of what they differ by among rows of the one and of
    the other; of more, these are averaged.
    """
    means = np.zeros((len(share), len(share)))
    for weight, table in zip(weights, tables, strict=True):
        means += weight * (table.shares.T @ table.lifts)
    own = np.diag(means)
    between = ((own[:, None] - means) + (means.T - own[None, :])) / 2
    return np.asarray((between * share).sum(axis=1))
