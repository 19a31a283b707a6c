"""Haar wavelets on a grid: from noisy coefficients back to cells, and the variance of range queries.

The coefficients are the whole numbers of `jostle.tables.regions.Haar`: along one axis the sum of all cells, and for
each halving of a block of s cells the sum of its left half less that of its right half. A cell is the sum of all
divided by the side, plus or minus each of its halvings' differences divided by s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.options.histograms.workload import Workload
from jostle.tables.regions import haar_side

__all__ = ["haar_variances", "inverse_haar", "join_levels", "level_loads", "level_weights"]

Floats = NDArray[np.float64]


def inverse_haar(coefficients: ArrayLike, axis: int = 0) -> Floats:
    """Return the cells that a Haar transform along an axis came from.

    >>> inverse_haar([10, -4, -1, -1]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    moved = np.moveaxis(np.asarray(coefficients, dtype=np.float64), axis, 0)
    sums, rest = moved[:1], moved[1:]
    while len(rest):
        differences, rest = rest[: len(sums)], rest[len(sums) :]
        halves = np.empty((2 * len(sums), *sums.shape[1:]))
        halves[0::2], halves[1::2] = (sums + differences) / 2, (sums - differences) / 2
        sums = halves
    return np.moveaxis(sums, 0, axis)


def join_levels(levels: Sequence[NDArray[np.int64]], shape: tuple[int, ...]) -> Floats:
    """Return the coefficients as one array, from the levels of a `Haar` kernel in their order."""
    sides = tuple(map(haar_side, shape))
    joined = np.empty(sides)
    depths = [side.bit_length() for side in sides]
    for number, level in enumerate(levels):
        index = np.unravel_index(number, depths)
        part = tuple(slice(0, 1) if depth == 0 else slice(1 << (depth - 1), 1 << depth) for depth in map(int, index))
        joined[part] = level.reshape([piece.stop - piece.start for piece in part])
    return joined


def level_weights(workload: Workload, axis: int) -> Floats:
    """Return for each query (rows) and level (columns) along an axis the squared weight of its coefficients.

    In a query's answer a halving of a block of s cells has the weight (cells of the query in its left half - in its
    right half) / s, and the sum of all has the query's length / side.
    """
    side = haar_side(workload.shape[axis])
    low, high = workload.low[:, axis], workload.high[:, axis]
    columns = [((high - low) / side) ** 2]
    size = side
    while size > 1:
        weight = np.zeros(len(workload))
        # Only the blocks that hold an end of the range are not halved evenly by it.
        first, last = low // size, (high - 1) // size
        for block, counted in ((first, np.ones(len(workload), dtype=np.bool_)), (last, last != first)):
            start, middle, end = block * size, block * size + size // 2, (block + 1) * size
            left = np.clip(np.minimum(high, middle) - np.maximum(low, start), 0, None)
            right = np.clip(np.minimum(high, end) - np.maximum(low, middle), 0, None)
            weight += np.where(counted, ((left - right) / size) ** 2, 0)
        columns.append(weight)
        size //= 2
    return np.stack(columns, axis=1)


def haar_variances(workload: Workload, noise: Sequence[float]) -> Floats:
    """Return each query's variance, given that of each level's noise; the coefficients are independent."""
    weights = [level_weights(workload, axis) for axis in range(len(workload.shape))]
    grid = np.asarray(noise, dtype=np.float64).reshape([each.shape[1] for each in weights])
    found: Floats = np.tensordot(weights[-1], grid, axes=(1, grid.ndim - 1))
    for each in reversed(weights[:-1]):
        found = np.einsum("q...l,ql->q...", found, each)
    return found


def level_loads(workload: Workload) -> Floats:
    """Return for each level of the wavelet the squared weight of its coefficients, summed over the queries."""
    weights = [level_weights(workload, axis) for axis in range(len(workload.shape))]
    outer = reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), weights)
    loads: Floats = outer.sum(axis=0)
    return loads
