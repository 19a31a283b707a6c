"""What the functions that every program knows ask of their values: a truth, a number, items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jostle.lang.arithmetic import EXACT, is_number, kind_of
from jostle.lang.stops import Stop
from jostle.lang.values import KnownAttribute

__all__ = ["all_numbers", "items", "number", "truth"]

LISTED = frozenset({list, tuple, dict, range})
"""Values that give their items themselves. Exactly these, which is quickly seen."""


def truth(value: Any) -> bool:
    """Whether a value holds."""
    return bool(value)


def items(value: Any, what: str = "what is gone through") -> Any:
    """The items of a list, the values of an attribute, the keys of a dictionary."""
    kind = type(value)
    if kind in LISTED:
        return value
    if kind is KnownAttribute:
        return value.values
    if isinstance(value, list | tuple | dict | range):
        return value
    if hasattr(value, "databases"):
        return list(value)
    fix = "range(10) counts up to a number" if is_number(value) else "put items in brackets: [a, b]"
    raise Stop("J501", f"{what} is {kind_of(value)}", "it has to be a list, a dictionary or an attribute", fix)


def number(value: Any, name: str) -> Any:
    """A value that a known function takes as a number; refuse it."""
    if not is_number(value):
        raise Stop("J501", f"`{name}` is given {kind_of(value)}", "it takes a number", f"{name}(2)")
    return value


def all_numbers(values: Iterable[Any]) -> bool:
    """Whether values are plain public numbers, as they mostly are."""
    return EXACT.issuperset(map(type, values))
