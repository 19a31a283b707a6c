"""Public numbers in private expressions, read exactly as they are written."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from jostle.errors import ExpressionError
from jostle.privacy.amounts import exact

__all__ = ["is_number", "public_number", "sides"]

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
