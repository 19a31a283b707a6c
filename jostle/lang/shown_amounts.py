"""Amounts of budget in words."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jostle.lang.accounts import Amount

__all__ = ["shown_amount"]

MOST_DIGITS = 6


def shown_amount(amount: Amount) -> str:
    """Return an amount for people: `epsilon`, `3/2 of epsilon`, `0.1`."""
    if not amount.known:
        return "an amount that is known only while running"
    parts = []
    if amount.share == 1:
        parts.append("epsilon")
    elif amount.share:
        parts.append(f"{_short(amount.share)} of epsilon")
    if amount.fixed:
        parts.append(_short(amount.fixed))
    return " and ".join(parts) or "nothing"


def _short(number: Fraction) -> str:
    text = str(number)
    return text if len(text) <= 2 * MOST_DIGITS else f"about {float(number):.4g}"
