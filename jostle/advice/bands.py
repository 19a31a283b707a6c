"""Bands: the loss to expect of an Option where only public facts are known, and the file that they come in.

On a scale on which losses differ by about as much everywhere, the loss is expected to be a bent line over the logarithm
of records times epsilon, moved by how many classes there are, and by how common the commonest is where anybody knows.
How far losses lie from it is a bent line of the same kind, since what is known of few records scatters more; the band
is as many times that wide as it has to be on databases that took no part in it, all groups counting the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError
from jostle.files.kinds import FileKind
from jostle.learned.files import shipped_folder

Floats = NDArray[np.float64]
Scale = Literal["share", "size"]
"""Of losses: shares lie between 0 and 1, sizes are any from 0 up."""

INSIDE = 0.8
"""Of all losses, what is to lie in the band."""
BENDS = (3.0, 5.0, 8.0, 11.0)
"""Where lines bend, in logarithms of records times epsilon."""
LEAST_SHARE, LEAST_SIZE = 0.005, 1e-9


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
