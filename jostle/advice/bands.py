"""Bands: the loss to expect of an Option where only public facts are known, and the file that they come in.

On a scale on which losses differ by about as much everywhere, the loss is expected to be a bent line over the logarithm
of records times epsilon, moved by how many classes there are, and by how common the commonest is where anybody knows.
How far losses lie from it is a bent line of the same kind, since what is known of few records scatters more; the band
is as many times that wide as it has to be on databases that took no part in it, all groups counting the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from attrs import asdict, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError
from jostle.files.kinds import FileKind
from jostle.learned.files import shipped_folder, shortened

Floats = NDArray[np.float64]
Scale = Literal["share", "size"]
"""Of losses: shares lie between 0 and 1, sizes are any from 0 up."""

INSIDE = 0.8
"""Of all losses, what is to lie in the band."""
BENDS = (3.0, 5.0, 8.0, 11.0)
"""Where lines bend, in logarithms of records times epsilon."""
LEAST_SHARE, LEAST_SIZE = 0.005, 1e-9
RIDGE = 0.02
"""How far slopes are drawn to 0: there are few groups to learn from."""
LEAST_MISS = 0.01
"""On the scale of losses; what is missed by less is as good as met."""


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
    """A line over inputs, and how far below and above it losses lie, in units of another line."""

    start: float
    slopes: tuple[float, ...]
    below: float
    above: float
    spread_start: float
    spread_slopes: tuple[float, ...]
    """Of the logarithm of the unit: over records times epsilon alone."""

    def centre(self, inputs: Floats) -> float:
        """What is expected, on the scale."""
        return self.start + float(np.dot(self.slopes, inputs))

    def ends(self, inputs: Floats) -> tuple[float, float]:
        """How far below what is expected losses lie, and how far above it, on the scale."""
        unit = math.exp(self.spread_start + float(np.dot(self.spread_slopes, inputs[: len(self.spread_slopes)])))
        return self.below * unit, self.above * unit


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
        missed[out] = _missed(rehearsed.only(out), *_line(rehearsed.only(~out)))
    start, slopes = _line(rehearsed)
    found = ~np.isnan(missed)
    runs, _ = np.nonzero(found)
    weights = (rehearsed.weights / found.sum(axis=1))[runs]
    reach = rehearsed.inputs[runs, : 1 + len(BENDS)]
    spread_start, spread_slopes = nearest(reach, np.log(np.abs(missed[found]) + LEAST_MISS), weights)
    units = missed[found] / np.exp(spread_start + reach @ spread_slopes)
    below, above = (_quantile(units, weights, level) for level in ((1 - INSIDE) / 2, (1 + INSIDE) / 2))
    return Band(start, tuple(map(float, slopes)), -below, above, spread_start, tuple(map(float, spread_slopes)))


def is_inside(band: Band, rehearsed: Rehearsed) -> Floats:
    """Which losses lie in a band, runs by repeats; NaN where there was no run."""
    missed = _missed(rehearsed, band.start, np.array(band.slopes))
    ends = np.array([band.ends(each) for each in rehearsed.inputs])
    return np.where(np.isnan(missed), np.nan, (missed >= -ends[:, :1]) & (missed <= ends[:, 1:]))


def left_out(rehearsed: Rehearsed) -> dict[str, float]:
    """For each group the share of its runs that lie in a band which was made without it."""
    shares = {}
    for group in np.unique(rehearsed.groups).tolist():
        out = rehearsed.groups == group
        shares[group] = float(np.nanmean(is_inside(fit_band(rehearsed.only(~out)), rehearsed.only(out))))
    return shares


def _missed(rehearsed: Rehearsed, start: float, slopes: Floats) -> Floats:
    """How far losses lie above a line."""
    return np.asarray(rehearsed.losses - (start + rehearsed.inputs @ slopes)[:, None])


def _line(rehearsed: Rehearsed) -> tuple[float, Floats]:
    """Start and slopes of the line nearest to the mean losses."""
    return nearest(rehearsed.inputs, np.nanmean(rehearsed.losses, axis=1), rehearsed.weights)


def nearest(inputs: Floats, values: Floats, weights: Floats) -> tuple[float, Floats]:
    """Start and slopes of the line nearest to some values, the squares of its slopes having a price."""
    shares = weights / weights.sum()
    middle = shares @ inputs
    spread = inputs.std(axis=0)
    spread[spread == 0] = 1.0
    moved, mean = (inputs - middle) / spread, float(shares @ values)
    square = moved.T @ (moved * shares[:, None]) + RIDGE * np.eye(moved.shape[1])
    slopes = np.linalg.solve(square, moved.T @ (shares * (values - mean))) / spread
    return mean - float(middle @ slopes), slopes


def _quantile(values: Floats, weights: Floats, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, level)), len(values) - 1)])


def weights_by_group(groups: Sequence[str] | NDArray[np.str_]) -> Floats:
    """Weights under which all groups have the same say."""
    _, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[places])


VERSION = 1
ADVICE = FileKind("file of expected losses", ChoiceError, "python benchmarks/ship_advice.py makes it anew", VERSION)


@frozen
class OptionBands:
    """What is expected of an Option."""

    version: int
    """Of the Option."""
    plain: Band
    told: Band | None
    """Where it is known how common the commonest class is."""
    beside_guess: Band
    """How far its loss is from that of guessing, on the same databases."""


@frozen
class Expectations:
    """What is expected of the Options that a maker which came with Jostle chooses among, and others of its task."""

    scale: Scale
    judge: str
    guess: str
    """The Option that looks at nothing but how many rows there are of what."""
    maker: str
    cells: tuple[int, ...]
    """Numbers of cells that the grids had."""
    least: float
    most: float
    """Logarithms of records times epsilon that were rehearsed."""
    digests: tuple[str, ...]
    """The beginnings of the digests of the databases it was learned from."""
    groups: int
    options: Mapping[str, OptionBands]

    @property
    def databases(self) -> int:
        """How many databases it was learned from."""
        return len(self.digests)


def path() -> Path:
    """Where the file is."""
    return shipped_folder() / "advice.json"


@cache
def kept_expectations() -> Mapping[str, Expectations]:
    """What is expected, by the name of the maker."""
    file = ADVICE.at(path())
    facts = file.facts(file.text())
    return {name: file.made(Expectations, fact) for name, fact in facts.items()}


def write_expectations(found: Mapping[str, Expectations]) -> None:
    """Write the file."""
    facts = {"version": VERSION, **{name: asdict(each) for name, each in found.items()}}
    path().write_text(json.dumps(shortened(facts, 5), indent=1) + "\n", encoding="utf-8")
    kept_expectations.cache_clear()
