"""Haar wavelets on a grid, and Privelet: noise on their coefficients.

The coefficients are the whole numbers of `jostle.tables.regions.Haar`: along one axis the sum of all cells, and for
each halving of a block of s cells the sum of its left half less that of its right half. A cell is the sum of all
divided by the side, plus or minus each of its halvings' differences divided by s.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption
from jostle.options.ranges.tree import exact_shares
from jostle.privacy.events import Event, Laplace
from jostle.privacy.evidence import noise_variance
from jostle.privacy.mechanisms import AddNoiseByLevel, level_scales
from jostle.privacy.probe import Probe
from jostle.tables.regions import Haar, haar_side
from jostle.tables.schema import Schema
from jostle.tasks.ranges.boxes import Boxes
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import grid_shape

Floats = NDArray[np.float64]
Whole = NDArray[np.signedinteger[Any]]

MOST_SHORT = 2**15
"""Sides up to this are reckoned with in 32 bits."""


def inverse_haar(coefficients: ArrayLike, axis: int = 0) -> Floats:
    """The cells that a Haar transform along an axis came from.

    >>> inverse_haar([10, -4, -1, -1]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    cells = np.asarray(coefficients, dtype=np.float64)
    moved = cells if axis == 0 else np.moveaxis(cells, axis, 0)
    side = len(moved)
    # Halved beforehand as often as they will be: by powers of two, which round nothing.
    shares = np.empty(side)
    shares[0], length = 1 / side, 1
    while length < side:
        shares[length : 2 * length] = length / side
        length *= 2
    moved = moved * shares.reshape(side, *(1 for _ in moved.shape[1:]))
    sums, length = moved[:1], 1
    while length < side:
        differences = moved[length : 2 * length]
        length *= 2
        halves = np.empty((length, *moved.shape[1:]))
        np.add(sums, differences, out=halves[0::2])
        np.subtract(sums, differences, out=halves[1::2])
        sums = halves
    return sums if axis == 0 else np.moveaxis(sums, 0, axis)


def join_levels(levels: Sequence[NDArray[np.int64]], shape: tuple[int, ...]) -> Floats:
    """The coefficients as one array, from the levels of a `Haar` kernel in their order."""
    sides = tuple(map(haar_side, shape))
    if len(sides) == 1:
        return np.concatenate(levels, dtype=np.float64)
    joined = np.empty(sides)
    depths = [side.bit_length() for side in sides]
    for number, level in enumerate(levels):
        index = np.unravel_index(number, depths)
        part = tuple(slice(0, 1) if depth == 0 else slice(1 << (depth - 1), 1 << depth) for depth in map(int, index))
        joined[part] = level.reshape([piece.stop - piece.start for piece in part])
    return joined


def level_weights(workload: Boxes, axis: int) -> Floats:
    """For each query (rows) and level (columns) along an axis the squared weight of its coefficients.

    In a query's answer a halving of a block of s cells has the weight (cells of the query in its left half - in its
    right half) / s, and the sum of all has the query's length / side. A query is the cells before its high end less
    those before its low one, and the cells before x have the weight t(x) = min(x mod s, s - x mod s) / s in the block
    that x is in, 0 in others. So the two ends add up to t(high)**2 + t(low)**2, less 2 * t(high) * t(low) where they
    are in one block.
    """
    side = haar_side(workload.shape[axis])
    # Squares of up to 2**14 fit 32 bits; doubles hold larger sides', up to 2**53 exactly.
    whole, square = (np.int32, np.int32) if side <= MOST_SHORT else (np.int64, np.float64)
    low: Whole = workload.low[:, axis].astype(whole)
    high: Whole = workload.high[:, axis].astype(whole)
    sizes: Whole = np.right_shift(side, np.arange(side.bit_length() - 1)[:, None]).astype(whole)
    first, last = (
        np.minimum(ends & (sizes - 1), -ends & (sizes - 1)).astype(square, copy=False) for ends in (low, high)
    )
    # Ends that are the same above the bits of x mod s are in one block.
    both = first * last
    both *= (low ^ high) < sizes
    both *= -2
    first *= first
    last *= last
    both += first
    both += last
    weights = np.empty((len(sizes) + 1, len(workload)))
    weights[0] = ((high - low) / side) ** 2
    np.divide(both, sizes.astype(np.float64) ** 2, out=weights[1:])
    return weights.T


def haar_variances(workload: Boxes, noise: Sequence[float]) -> Floats:
    """Each query's variance, given that of each level's noise; the coefficients are independent."""
    weights = [level_weights(workload, axis) for axis in range(len(workload.shape))]
    grid = np.asarray(noise, dtype=np.float64).reshape([weight.shape[1] for weight in weights])
    variances: Floats = np.tensordot(weights[-1], grid, axes=(1, grid.ndim - 1))
    for weight in reversed(weights[:-1]):
        variances = np.einsum("q...l,ql->q...", variances, weight)
    return variances


def level_loads(workload: Boxes) -> Floats:
    """For each level of the wavelet the squared weight of its coefficients, summed over the queries."""
    weights = [level_weights(workload, axis) for axis in range(len(workload.shape))]
    outer = reduce(
        lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1),
        weights[:-1],
        np.ones((len(workload), 1)),
    )
    loads: Floats = (outer.T @ weights[-1]).ravel()
    return loads


LEAST_LOAD = 1e-9
"""Of the largest load of a level."""


def noisy_wavelet(db: Probe, workload: Workload | None, epsilon: Fraction, *, site: str = "wavelet") -> Estimate:
    """The estimate of all columns' grid made of noisy Haar coefficients.

    Privacy: `AddNoiseByLevel` over the wavelet's levels. A record changes one coefficient of each by one. Without a
    workload all levels have equal shares; with one, shares as the cube roots of what the levels' noise adds to its
    variance.
    """
    schema = db.schema
    shape = grid_shape(schema)
    kernel = Haar(schema.names)
    sizes = kernel.sizes(schema)
    loads = np.ones(len(sizes)) if workload is None else np.cbrt(level_loads(workload))
    # A level that the workload does not need is told all the same, as the cells are made of all.
    shares = exact_shares(np.maximum(loads, loads.max() * LEAST_LOAD))
    levels = db.perform(AddNoiseByLevel(kernel, shares), epsilon, site=site)
    cells = join_levels(levels, shape)
    for axis in range(cells.ndim):
        cells = inverse_haar(cells, axis)

    def variances(wanted: Boxes) -> NDArray[np.float64]:
        noise = [noise_variance(scale) for scale in level_scales(kernel, shares, schema, epsilon)]
        return haar_variances(wanted, noise)

    inside = tuple(map(slice, shape))
    return Estimate(np.ascontiguousarray(cells[inside]), variances, linear=True)


@option
@frozen
class Privelet(GridOption):
    """Adds noise to Haar wavelet coefficients, so that a long range needs few of them: linear, with exact error bars.

    Xiao, Wang, Gehrke, Differential privacy via wavelet transforms, ICDE 2010. The paper's weights amount to equal
    shares of the budget for all levels; here the workload decides, where there is one.
    """

    looks_at_workload = True

    paper = "Xiao, Wang, Gehrke 2010"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        return noisy_wavelet(db, workload, epsilon)
