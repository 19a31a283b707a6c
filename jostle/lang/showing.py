"""Values for people: whether they may be shown, and which keys there are where one is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from jostle.lang.codes import Stop, near
from jostle.lang.facts import is_scalar, scalar_text
from jostle.lang.values import KnownAttribute, Leaf, Private, TreeNode, first_of
from jostle.visible import visible

PUBLIC = frozenset({int, float, Fraction, str, bool, type(None), KnownAttribute})
"""Kinds of values that are public, and hold no others. Exactly these, which is quickly seen."""


def holds_private(value: Any) -> bool:  # noqa: PLR0911 - one per kind
    """Whether a value is private, or holds one."""
    if type(value) in PUBLIC:
        return False
    if isinstance(value, Private):
        return True
    if isinstance(value, list | tuple):
        return any(map(holds_private, value))
    if isinstance(value, Mapping):
        return any(map(holds_private, value.values()))
    if isinstance(value, TreeNode):
        return holds_private(value.children)
    if isinstance(value, Leaf):
        return holds_private(value.pred) or holds_private(value.size) or holds_private(value.votes or {})
    return False


def shown(value: Any) -> str:
    """A public or released value for people."""
    if is_scalar(value):
        return scalar_text(value)
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return f"{left}{', '.join(map(shown_inside, value))}{right}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown_inside(key)}: {shown_inside(each)}" for key, each in value.items()) + "}"
    return str(getattr(value, "name", value))


def shown_inside(value: Any) -> str:
    """A value as it is shown among others: a text ends no line."""
    return visible(shown(value))


def no_key(key: Any, keys: Sequence[Any], what: str) -> Stop:
    """A refusal where a dictionary does not have a key, or a query a group."""
    called = shown(key) if isinstance(key, str | int | float | Fraction | tuple) else None
    names = [each for each in keys if isinstance(each, str)] if isinstance(key, str) else []
    known = first_of([shown(each) for each in keys]) if keys else None
    return Stop(f"J507 {what}", key=called, keys=known, similar=near(str(key), names))
