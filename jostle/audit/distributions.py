"""Exact distributions of outputs, as tables of chances.

*Accuracy.* Chances are doubles, computed by sums and products of positive numbers without cancellation;
RELATIVE_ERROR bounds how far any of them is off, with much to spare (a sum of 10,000 terms of relative error
1e-15 is off by 1e-11 at most). Noise without end is cut where less than TAIL is left, and the mass left out is
kept as *missing*: it may belong to any output, so a table gives each output's chance between its entry and its
entry plus *missing*.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import Attribute, Factory, field, frozen
from numpy.typing import NDArray

from jostle.errors import AuditError

__all__ = [
    "LEAST_CHANCE",
    "RELATIVE_ERROR",
    "TAIL",
    "Distribution",
    "at_least",
    "between",
    "independent",
    "laplace",
    "laplace_table",
    "mass",
]

RELATIVE_ERROR = 1e-10
TAIL = 1e-15
LEAST_CHANCE = 1e-290
"""A chance in a table that underflowed may have been anything up to this; what cannot happen is not in the table."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _adds_up(holder: Distribution, _: Attribute[Any], chances: Mapping[Any, float]) -> None:
    total = math.fsum(chances.values()) + holder.missing
    if min(chances.values(), default=0.0) < 0 or not math.isclose(total, 1, abs_tol=1e-9):
        raise AuditError(f"the chances of a distribution add up to {total:.12g}, not to 1")


@frozen
class Distribution:
    """What comes out, and how often.

    An output is a *label*, followed by parts which, given the label, are independent of each other. Most
    mechanisms need labels only; a vector of noisy counts is all parts under one empty label.
    """

    missing: float = field(kw_only=True, default=0.0)
    """Mass of what was left out."""
    chances: Mapping[Any, float] = field(validator=_adds_up)
    parts: Mapping[Any, tuple[Distribution, ...]] = Factory(dict)
    """What is released after a label, if anything."""

    def outputs(self) -> Iterator[tuple[Hashable, float]]:
        """Yield all outputs and their chances; with parts, an output is one flat tuple: label first, if not empty."""
        for label, chance in self.chances.items():
            rows: list[tuple[tuple[Hashable, ...], float]] = [(_flat(label), chance)]
            for part in self.parts.get(label, ()):
                rows = [
                    ((*row, *_flat(value)), so_far * next_chance)
                    for row, so_far in rows
                    for value, next_chance in part.outputs()
                ]
            if label in self.parts:
                yield from rows
            else:
                yield label, chance


def _flat(label: Hashable) -> tuple[Hashable, ...]:
    return label if isinstance(label, tuple) else (label,)


def independent(*parts: Distribution) -> Distribution:
    """The distribution of a tuple of independent parts."""
    return Distribution({(): 1.0}, {(): parts})


def mass(scale: Fraction, value: Integers) -> Floats:
    """P(X = value) for discrete Laplace noise X."""
    ratio = 1 / float(scale)
    chances: Floats = math.tanh(ratio / 2) * np.exp(-np.abs(value) * ratio)
    return chances


def at_least(scale: Fraction, value: Integers) -> Floats:
    """P(X >= value) for discrete Laplace noise X."""
    ratio = 1 / float(scale)
    upper = np.exp(-np.maximum(value, 1) * ratio) / (1 + math.exp(-ratio))
    lower = 1 - np.exp((np.minimum(value, 0) - 1) * ratio) / (1 + math.exp(-ratio))
    return np.where(value > 0, upper, lower)


def between(scale: Fraction, low: int, high: int) -> float:
    """P(low <= X <= high) for discrete Laplace noise X."""
    if high < low:
        return 0.0
    if low < 0 <= high:
        return between(scale, low, -1) + between(scale, 0, high)
    if high < 0:
        return between(scale, -high, -low)
    ratio = 1 / float(scale)
    return math.exp(-low * ratio) * -math.expm1(-(high - low + 1) * ratio) / (1 + math.exp(-ratio))


def laplace_table(scale: Fraction, tail: float = TAIL) -> tuple[Integers, Floats, float]:
    """The values of discrete Laplace noise, until at most *tail* is left, their chances, and what is left."""
    ratio = 1 / float(scale)
    reach = max(0, math.ceil(-math.log(tail * (1 + math.exp(-ratio)) / 2) / ratio) - 1)
    values = np.arange(-reach, reach + 1, dtype=np.int64)
    left = 2 * math.exp(-(reach + 1) * ratio) / (1 + math.exp(-ratio))
    return values, mass(scale, values), left


def laplace(centre: int, scale: Fraction, tail: float = TAIL) -> Distribution:
    """The distribution of *centre* plus discrete Laplace noise."""
    values, chances, left = laplace_table(scale, tail)
    return Distribution(dict(zip((values + centre).tolist(), chances.tolist(), strict=True)), missing=left)
