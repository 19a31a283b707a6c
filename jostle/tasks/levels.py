"""Shares and levels of confidence, as callers give them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from jostle.errors import OptionError, shown

__all__ = ["level_of", "rate_of"]


def level_of(given: object, *, fix: str = "interval(0.95)") -> float:
    """A level of confidence as a number; refuse what is no chance."""
    if not (found := _number(given)) or not 0 < found < 1:
        raise OptionError(f"the level of an interval is {shown(given)}", why="it is a chance between 0 and 1", fix=fix)
    return found


def rate_of(given: object) -> float:
    """A share of rows as a number, from 0 to 1; refuse what is none."""
    if (found := _number(given)) is None or not 0 <= found <= 1:
        raise OptionError(f"a rate is {shown(given)}", why="it is a share of rows, from 0 to 1", fix="0.1")
    return found


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, float | int | Fraction | Decimal):
        return None
    return float(given)
