"""Fields of mechanisms, scores, expressions and events, and public numbers, read exactly as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from jostle.errors import ExpressionError
from jostle.privacy.amounts import Amount, epsilon_amount, exact
from jostle.tables.fields import TYPES as TABLE_TYPES
from jostle.tables.fields import listed, name, of_several, whole, wholes

MOST_BITS = 256
"""Numbers in an expression have no longer numerators and denominators."""


def public_number(value: object) -> Fraction:
    """A public number exactly as it is written.

    >>> public_number(0.1), public_number("1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, np.generic):
        value = value.item()
    number = exact(value, "a number in an expression")  # type: ignore[arg-type]  # which refuses what is none
    number = Fraction(int(number.numerator), int(number.denominator))
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
        raise ExpressionError(f"a number in an expression has more than {MOST_BITS} bits", fix="round it")
    return number


def is_number(value: object) -> bool:
    """Whether something is a number, of Python's or numpy's."""
    return isinstance(value, Fraction | int | float | np.integer | np.floating) and not isinstance(value, bool)


def sides(shape: tuple[int, ...]) -> str:
    """A shape in words.

    >>> sides((2, 3)), sides(())
    ('2 by 3 cells', 'a single number')
    """
    return f"{' by '.join(map(str, shape))} cells" if shape else "a single number"


Condition = tuple[str, tuple[str | int, ...]]
Coarsening = tuple[str, int | tuple[int, ...]]


def fraction(value: Amount) -> Fraction:
    """Read an exact number the way it is written."""
    return exact(value, "a number")


def fractions(values: Iterable[Amount]) -> tuple[Fraction, ...]:
    """Read exact numbers."""
    return tuple(map(fraction, listed(values)))


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
        epsilon_amount: None,
        public_number: None,
        label_conditions: None,
        coarsenings: None,
    }
)
"""Every converter of a plain type that is used here."""
