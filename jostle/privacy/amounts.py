"""Exact amounts of budget: rational numbers, read the way they are written."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from numbers import Integral

from jostle.errors import BudgetError

__all__ = ["Amount", "epsilon_amount", "exact", "show_amount"]

Amount = Fraction | int | float | str
"""What a person may write for a number: 1, 0.1, "1/3", Fraction(1, 3)."""

MOST_EXPONENT_DIGITS = 4
"""Digits of the largest power of ten read, as in "1e-4000": with more, a short text would fill the memory."""
SIX_DIGITS = Context(prec=6, Emax=MAX_EMAX, Emin=MIN_EMIN)


def exact(value: Amount, name: str) -> Fraction:
    """Return *value* as the fraction its shortest decimal writing stands for.

    >>> exact(0.1, "epsilon"), exact("1/3", "epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    """
    given: object = value
    if isinstance(given, Fraction):
        return given
    if not isinstance(given, bool) and isinstance(given, Integral):
        return Fraction(int(given))  # numpy's whole numbers as well: left as they are, their fractions would overflow
    if isinstance(given, float):
        if not math.isfinite(given):
            raise BudgetError(f"{name} is {given}, not a finite number", fix=f"{name}=1")
        given = float.__repr__(given)  # numpy's doubles are floats too, but their own repr names their type
    if not isinstance(given, str):
        raise BudgetError(f"{name} is {type(given).__name__}, not a number", fix=f'{name}=0.1, or {name}="1/3"')
    try:
        return _read(given)
    except (ValueError, ZeroDivisionError):
        raise BudgetError(f"{name} is {given!r:.40}, not a number", fix=f'{name}=0.1, or {name}="1/3"') from None


def _read(text: str) -> Fraction:
    if len(text.lower().partition("e")[2].strip().lstrip("+-")) > MOST_EXPONENT_DIGITS:
        raise ValueError(text)
    return Fraction(text)


def epsilon_amount(value: Amount, name: str = "epsilon") -> Fraction:
    """Return *value* as a positive exact fraction."""
    amount = exact(value, name)
    if amount <= 0:
        raise BudgetError(
            f"{name} is {show_amount(amount)}, but must be above 0", why="a release without noise is not private"
        )
    return amount


def show_amount(amount: Fraction) -> str:
    """Return the amount for people: as a decimal where that is exact and short, else as a fraction.

    Where neither is short, six digits follow a "~"; without one, `exact` reads the same amount back.

    >>> show_amount(Fraction(97, 400)), show_amount(Fraction(1, 3)), show_amount(Fraction(2))
    ('0.2425', '1/3', '2')
    >>> show_amount(Fraction(1234567, 7654321))
    '~0.161290'
    """
    if amount.denominator == 1 and abs(amount) < 10**18:
        return str(amount.numerator)
    rounded = SIX_DIGITS.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    decimal = f"{rounded:f}" if -7 < rounded.adjusted() < 6 else f"{SIX_DIGITS.normalize(rounded):e}"
    if Fraction(decimal) == amount and abs(rounded.adjusted()) < 10**MOST_EXPONENT_DIGITS:
        return decimal
    short = abs(amount.numerator) < 10**12 and amount.denominator < 10**12 and len(str(amount)) <= 12
    return str(amount) if short else f"~{decimal}"
