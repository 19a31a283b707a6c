"""Bands: the loss to expect of an Option where only public facts are known, and between what it mostly lies.

On a scale on which losses differ by about as much everywhere, the loss is expected to be a bent line over the logarithm
of records times epsilon, moved by how many classes there are, and by how common the commonest is where anybody knows.
The band is as wide as what this misses by on databases that took no part in it, all groups counting the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

__all__ = ["INSIDE", "Band", "Rehearsed", "Scale", "fit_band", "inputs_of", "left_out"]

Floats = NDArray[np.float64]
Scale = Literal["share", "size"]
"""Of losses: shares lie between 0 and 1, sizes are any from 0 up."""

INSIDE = 0.8
"""Of all losses, what is to lie in the band."""
BENDS = (5.0, 8.0, 11.0)
"""Where the line bends, in logarithms of records times epsilon."""
LEAST_SHARE, LEAST_SIZE = 0.005, 1e-9
RIDGE = 0.02
"""How far slopes are drawn to 0: there are few groups to learn from."""


def to_scale(losses: Floats, scale: Scale) -> Floats:
    """Losses on the scale that bands are on."""
    if scale == "size":
        return np.asarray(np.log(np.maximum(losses, LEAST_SIZE)))
    shares = np.clip(losses, LEAST_SHARE, 1 - LEAST_SHARE)
    return np.asarray(np.log(shares / (1 - shares)))


def from_scale(number: float, scale: Scale) -> float:
    """The loss that a number on the scale stands for."""
    return math.exp(number) if scale == "size" else 1 / (1 + math.exp(-number))


def inputs_of(records_epsilon: float, classes: int, commonest: float | None) -> Floats:
    """What a band goes by: *commonest* is the share of the commonest class, where it is known."""
    bent = [max(0.0, records_epsilon - bend) for bend in BENDS]
    told = [] if commonest is None else [float(to_scale(np.array([1 - commonest]), "share")[0])]
    return np.array([records_epsilon, *bent, *([math.log(classes)] if classes else []), *told])


@frozen
class Band:
    """A line over inputs, and how far below and above it losses lie."""

    start: float
    slopes: tuple[float, ...]
    below: float
    above: float

    def centre(self, inputs: Floats) -> float:
        """What is expected, on the scale."""
        return self.start + float(np.dot(self.slopes, inputs))


@frozen(eq=False)
class Rehearsed:
    """Losses of an Option, on the scale: runs by repeats, NaN where there was none, with what they go by."""

    inputs: Floats
    losses: Floats
    groups: NDArray[np.str_]
    weights: Floats

    def only(self, kept: NDArray[np.bool_]) -> Rehearsed:
        """Some of the runs."""
        return Rehearsed(self.inputs[kept], self.losses[kept], self.groups[kept], self.weights[kept])


def fit_band(rehearsed: Rehearsed) -> Band:
    """The band of an Option's losses: as wide as it has to be on groups left out."""
    missed = np.full(rehearsed.losses.shape, np.nan)
    for group in np.unique(rehearsed.groups):
        out = rehearsed.groups == group
        start, slopes = _line(rehearsed.only(~out))
        missed[out] = rehearsed.losses[out] - (start + rehearsed.inputs[out] @ slopes)[:, None]
    start, slopes = _line(rehearsed)
    found = ~np.isnan(missed)
    weights = np.broadcast_to((rehearsed.weights / found.sum(axis=1))[:, None], missed.shape)[found]
    below, above = (_quantile(missed[found], weights, level) for level in ((1 - INSIDE) / 2, (1 + INSIDE) / 2))
    return Band(start, tuple(map(float, slopes)), -below, above)


def left_out(rehearsed: Rehearsed) -> dict[str, float]:
    """For each group the share of its runs that lie in a band which was made without it."""
    shares = {}
    for group in np.unique(rehearsed.groups).tolist():
        out = rehearsed.groups == group
        band = fit_band(rehearsed.only(~out))
        missed = rehearsed.losses[out] - np.array([band.centre(each) for each in rehearsed.inputs[out]])[:, None]
        known = missed[~np.isnan(missed)]
        shares[group] = float(np.mean((known >= -band.below) & (known <= band.above)))
    return shares


def _line(rehearsed: Rehearsed) -> tuple[float, Floats]:
    """Start and slopes of the line nearest to the mean losses, the squares of its slopes having a price."""
    weights, means = rehearsed.weights / rehearsed.weights.sum(), np.nanmean(rehearsed.losses, axis=1)
    middle = weights @ rehearsed.inputs
    spread = rehearsed.inputs.std(axis=0)
    spread[spread == 0] = 1.0
    moved, mean = (rehearsed.inputs - middle) / spread, float(weights @ means)
    square = moved.T @ (moved * weights[:, None]) + RIDGE * np.eye(moved.shape[1])
    slopes = np.linalg.solve(square, moved.T @ (weights * (means - mean))) / spread
    return mean - float(middle @ slopes), slopes


def _quantile(values: Floats, weights: Floats, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, level)), len(values) - 1)])


def weights_by_group(groups: Sequence[str] | NDArray[np.str_]) -> Floats:
    """Weights under which all groups have the same say."""
    _, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[places])
