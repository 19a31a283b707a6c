"""Grids of known shapes: Zipf's law, mixtures of bells, spikes, steps, and flat ones, with one or more axes.

A generator is a frozen value; it makes the same counts every time. The data are public, so they are drawn from
numpy's seeded generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicGrid
from jostle.corpora.resized import drawn
from jostle.errors import CorpusError

__all__ = ["KINDS", "GeneratedGrid", "generated_grids"]

Weights = NDArray[np.float64]
Shape = tuple[int, ...]


def _zipf(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """Weights rank**-strength in a random order of cells."""
    ranks = 1 + chance.permutation(math.prod(shape)).reshape(shape).astype(np.float64)
    weights: Weights = ranks**-strength
    return weights


def _zipf_sorted(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:  # noqa: ARG001 - one protocol
    """Weights that fall from one corner: (1 + sum of the indices)**-strength."""
    return np.asarray((1.0 + np.indices(shape).sum(axis=0)) ** -strength, dtype=np.float64)


def _mixture(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """A sum of so many bells, with random places, widths and heights."""
    weights = np.zeros(shape)
    for _ in range(max(1, round(strength))):
        bell = np.ones(shape)
        for axis, side in enumerate(shape):
            width = side * math.exp(chance.uniform(math.log(0.004), math.log(0.2)))
            distance = (np.arange(side) - chance.uniform(0, side)) / max(width, 0.3)
            along = [1] * len(shape)
            along[axis] = side
            bell = bell * np.exp(-0.5 * distance**2).reshape(along)
        weights += chance.exponential() * bell / max(float(bell.sum()), 1e-300)
    return weights


def _spikes(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """A flat ground with a tenth of the weight, and so many single cells with the rest."""
    cells = math.prod(shape)
    weights = np.full(cells, 0.1 / cells)
    places = chance.permutation(cells)[: max(1, round(strength))]
    heights = chance.exponential(size=len(places))
    weights[places] += 0.9 * heights / heights.sum()
    return weights.reshape(shape)


def _steps(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """So many steps along each axis, each block with a weight of its own."""
    pieces = []
    for side in shape:
        cuts = chance.permutation(side - 1)[: max(1, round(strength)) - 1] if side > 1 else np.empty(0, dtype=np.int64)
        ends = np.zeros(side, dtype=np.int64)
        ends[cuts + 1] = 1
        pieces.append(np.cumsum(ends))
    heights = chance.exponential(size=[int(piece[-1]) + 1 for piece in pieces]) ** 2
    weights: Weights = heights[np.ix_(*pieces)]
    return weights


def _flat(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:  # noqa: ARG001 - one protocol
    """The same weight for every cell."""
    return np.ones(shape)


KINDS: Mapping[str, Callable[[np.random.Generator, Shape, float], Weights]] = MappingProxyType(
    {
        "zipf": _zipf,
        "zipf-sorted": _zipf_sorted,
        "mixture": _mixture,
        "spikes": _spikes,
        "steps": _steps,
        "flat": _flat,
    }
)
"""The kinds of grids, each by the weights of its cells."""
STRENGTHS = {"zipf": (0.5, 2.5), "zipf-sorted": (0.5, 2.5), "mixture": (1, 20), "spikes": (1, 200), "steps": (2, 40)}
"""What makes sense for each: an exponent, or a number of bells, spikes or steps."""


def _kind(_: object, attribute: Any, value: str) -> None:
    if value not in KINDS:
        raise CorpusError(f"{attribute.name} is {value!r}", fix=f"one of {', '.join(KINDS)}")


def _sides(shape: Sequence[int]) -> Shape:
    return tuple(map(int, shape))


def _shape(_: object, attribute: Any, value: Shape) -> None:
    if not value or min(value) < 1:
        raise CorpusError(f"{attribute.name} is {value!r}, that of no grid")


@frozen
class GeneratedGrid:
    """Records drawn from a distribution over the cells of a grid."""

    kind: str = field(validator=_kind)
    shape: Shape = field(converter=_sides, validator=_shape)
    records: int = 1_000_000
    strength: float = 1.0
    """An exponent for Zipf's law; otherwise how many bells, spikes, or steps along an axis."""
    seed: int = 0

    @property
    def name(self) -> str:
        """The grid's name."""
        shape = "x".join(map(str, self.shape))
        return f"{self.kind} {shape} records={self.records} strength={self.strength:g} seed={self.seed}"

    def read(self) -> NDArray[np.int64]:
        """The counts."""
        chance = np.random.default_rng([self.seed, *self.shape])
        weights = KINDS[self.kind](chance, self.shape, self.strength)
        return drawn(weights, self.records, chance)


def generated_grids(count: int, *, seed: int = 0) -> Corpus:
    """So many grids of all kinds, with one axis of 4,096 cells and two of 256 in turn."""
    return Corpus(_grid(number, seed) for number in range(count))


def _grid(number: int, seed: int) -> PublicGrid:
    chance = np.random.default_rng([seed, number, 1])
    kind = list(KINDS)[number // 2 % len(KINDS)]
    least, most = STRENGTHS.get(kind, (1, 1))
    strength = math.exp(chance.uniform(math.log(least), math.log(most)))
    made = GeneratedGrid(
        kind,
        (256, 256) if number % 2 else (4096,),
        int(10 ** chance.uniform(4, 7)),
        float(round(strength, 2)) if kind.startswith("zipf") else float(round(strength)),
        int(chance.integers(2**31)),
    )
    return PublicGrid(made.name, made, artificial=True)
