"""Values for people, and whether they may be shown."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from jostle.lang.values import KnownAttribute, Leaf, Node, Private
from jostle.visible import visible

__all__ = ["holds_private", "shown", "shown_inside"]

PUBLIC = frozenset({int, float, Fraction, str, bool, type(None), KnownAttribute})
"""Kinds of values that are public, and hold no others. Exactly these, which is quickly seen."""


def holds_private(value: Any) -> bool:  # noqa: PLR0911 - one per kind
    """Return whether a value is private, or holds one."""
    if type(value) in PUBLIC:
        return False
    if isinstance(value, Private):
        return True
    if isinstance(value, list | tuple):
        return any(map(holds_private, value))
    if isinstance(value, Mapping):
        return any(map(holds_private, value.values()))
    if isinstance(value, Node):
        return holds_private(value.children)
    if isinstance(value, Leaf):
        return holds_private(value.pred) or holds_private(value.size) or holds_private(value.votes or {})
    return False


def shown(value: Any) -> str:
    """Return a public or released value for people."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, Fraction | float):
        return f"{float(value):.6g}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return f"{left}{', '.join(map(shown_inside, value))}{right}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown_inside(key)}: {shown_inside(each)}" for key, each in value.items()) + "}"
    return str(getattr(value, "name", value))


def shown_inside(value: Any) -> str:
    """Return what is shown of a value among others: a text ends no line."""
    return visible(shown(value))
