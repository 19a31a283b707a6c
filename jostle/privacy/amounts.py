"""Exact amounts of budget: rational numbers, read the way they are written."""

from __future__ import annotations

import math
from fractions import Fraction

from jostle.errors import BudgetError

__all__ = ["Amount", "epsilon_amount", "exact", "show_amount"]

Amount = Fraction | int | float | str
"""What a person may write for a number: 1, 0.1, "1/3", Fraction(1, 3)."""


def exact(value: Amount, name: str) -> Fraction:
    """Return *value* as the fraction its shortest decimal writing stands for.

    >>> exact(0.1, "epsilon"), exact("1/3", "epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise BudgetError(f"{name} is {type(value).__name__}, not a number", fix=f'{name}=0.1, or {name}="1/3"')
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BudgetError(f"{name} is {value}, not a finite number", fix=f"{name}=1")
        value = repr(value)
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise BudgetError(f"{name} is {value!r}, not a number", fix=f'{name}=0.1, or {name}="1/3"') from None


def epsilon_amount(value: Amount, name: str = "epsilon") -> Fraction:
    """Return *value* as a positive exact fraction."""
    amount = exact(value, name)
    if amount <= 0:
        raise BudgetError(f"{name} is {value}, but must be above 0", why="a release without noise is not private")
    return amount


def show_amount(amount: Fraction) -> str:
    """Return the amount for people: as a decimal where that is exact and short, else as a fraction.

    >>> show_amount(Fraction(97, 400)), show_amount(Fraction(1, 3)), show_amount(Fraction(2))
    ('0.2425', '1/3', '2')
    """
    if amount.denominator == 1:
        return str(amount.numerator)
    decimal = f"{float(amount):.6g}"
    if "e" not in decimal and Fraction(decimal) == amount:
        return decimal
    text = str(amount)
    return text if len(text) <= 12 else f"~{decimal}"
