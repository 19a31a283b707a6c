"""What fields of nodes must hold so that every tree has a text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from attrs import Attribute

from jostle.errors import TreeError
from jostle.lang.tokens import FOREIGN, KEYWORDS

__all__ = [
    "COMPARISONS",
    "MARKS",
    "at_least_one",
    "at_least_two",
    "decimal",
    "else_is_last",
    "finite_text",
    "is_name",
    "is_target",
    "known_marks",
    "one_of",
    "several_operators",
]

Value = TypeVar("Value")

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
MARKS = ("Option", "Metafeature")
"""Words that can be marked above a function."""
_LARGE = 10**25
"""Numbers that are not spelled out have at most 25 digits before the point and after it."""


def _check(node: Any, attribute: Attribute[Any], *, good: bool, rule: str) -> None:
    if not good:
        raise TreeError(f"{type(node).__name__}.{attribute.name} {rule}", why="every tree has a text that parses to it")


def is_name(node: Any, attribute: Attribute[str], value: str) -> None:
    """Refuse what cannot be written as a name."""
    good = value.isidentifier() and value not in KEYWORDS and value not in FOREIGN
    _check(node, attribute, good=good, rule=f"is no name: {value!r}")


def decimal(node: Any, attribute: Attribute[Fraction], value: Fraction) -> None:
    """Refuse numbers that no finite row of digits stands for."""
    good = value >= 0 and (bool(node.spelled) or (value < _LARGE and (value * _LARGE).denominator == 1))
    _check(node, attribute, good=good, rule=f"cannot be written with digits: {value}")


def finite_text(node: Any, attribute: Attribute[str], value: str) -> None:
    """Refuse half characters."""
    good = not any(0xD800 <= ord(character) < 0xE000 for character in value)
    _check(node, attribute, good=good, rule="holds half a character")


def at_least_one(node: Any, attribute: Attribute[tuple[Value, ...]], value: tuple[Value, ...]) -> None:
    """Refuse an empty tuple."""
    _check(node, attribute, good=bool(value), rule="is empty")


def at_least_two(node: Any, attribute: Attribute[tuple[Value, ...]], value: tuple[Value, ...]) -> None:
    """Refuse fewer than two items."""
    _check(node, attribute, good=len(value) >= 2, rule="has fewer than two items")


def one_of(*known: str) -> Callable[[Any, Attribute[str], str], None]:
    """A check that a text is one of several."""

    def check(node: Any, attribute: Attribute[str], value: str) -> None:
        _check(node, attribute, good=value in known, rule=f"is {value!r}, not one of {', '.join(known)}")

    return check


def several_operators(node: Any, attribute: Attribute[tuple[Value, ...]], value: tuple[Value, ...]) -> None:
    """Refuse comparisons with other signs, or not one for each value."""
    good = len(node.operators) == len(value) and all(sign in COMPARISONS for sign in node.operators)
    _check(node, attribute, good=good, rule="does not go with the operators")


def is_target(node: Any, attribute: Attribute[Any], value: Any) -> None:
    """Refuse to bind anything but names."""
    items = getattr(value, "items", (value,))
    good = bool(items) and all(type(item).__name__ == "Name" for item in items)
    _check(node, attribute, good=good, rule="is not a name, or a tuple of names")


def else_is_last(node: Any, attribute: Attribute[Any], value: Any) -> None:
    """Refuse an `else` that is not last, or alone."""
    good = bool(value) and all(branch.condition is not None for branch in (value[0], *value[:-1]))
    _check(node, attribute, good=good, rule="has an `else` that is not last")


def known_marks(node: Any, attribute: Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    """Refuse marks that the language does not have."""
    _check(node, attribute, good=all(mark in MARKS for mark in value), rule=f"has an unknown mark: {value}")
