"""Fields of mechanisms, scores, expressions and events: the plain types of `tables.fields`, and exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from jostle.privacy.amounts import Amount, epsilon_amount, exact
from jostle.privacy.public_numbers import public_number
from jostle.tables.fields import TYPES as TABLE_TYPES
from jostle.tables.fields import listed, name, of_several, whole, wholes

__all__ = ["TYPES", "Coarsening", "Condition", "coarsenings", "fraction", "fractions", "label_conditions", "positive"]

Condition = tuple[str, tuple[str | int, ...]]
Coarsening = tuple[str, int | tuple[int, ...]]


def fraction(value: Amount) -> Fraction:
    """Read an exact number the way it is written: as a new object of the exact type, whatever was given.

    A subclass could compare and add as it likes, and whoever gave a fraction still holds it.
    """
    return exact(value, "a number")


def fractions(values: Iterable[Amount]) -> tuple[Fraction, ...]:
    """Read exact numbers."""
    return tuple(map(fraction, listed(values)))


def positive(value: Amount) -> Fraction:
    """Read an exact number above 0: an epsilon."""
    return epsilon_amount(value)


def label_conditions(values: Iterable[tuple[str, Iterable[str | int]]]) -> tuple[Condition, ...]:
    """Read columns with the values or codes that rows must have."""
    return tuple((name(column), tuple(map(_label, listed(labels)))) for column, labels in of_several(values, 2))


def coarsenings(values: Iterable[tuple[str, int | Iterable[int]]]) -> tuple[Coarsening, ...]:
    """Read columns with what their codes are divided by, or the group of each code."""
    return tuple((name(column), _groups(groups)) for column, groups in of_several(values, 2))


def _label(value: str | int) -> str | int:
    return str.__str__(value) if isinstance(value, str) else whole(value)


def _groups(value: int | Iterable[int]) -> int | tuple[int, ...]:
    return whole(value) if isinstance(value, int | float | np.integer | np.floating) else wholes(value)


TYPES: Mapping[Callable[..., object], type | None] = MappingProxyType(
    {
        **TABLE_TYPES,
        fraction: None,
        fractions: None,
        positive: None,
        public_number: None,
        label_conditions: None,
        coarsenings: None,
    }
)
"""Every converter of a plain type that is used here."""
