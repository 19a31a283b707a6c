"""How deep and how large values are: bounded where they are made, so that whatever goes through one comes to its end.

What a program makes of lists, tuples and dictionaries carries its extent, so that measuring what holds it looks at
its items alone. A value that is in another one twice counts twice, as it is shown, compared and written.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from jostle.lang.stops import Stop

__all__ = ["MOST_DEPTH", "MOST_ITEMS", "Extent", "held", "measured", "small_enough", "together"]

MOST_DEPTH = 200
"""Trees that are grown by calls in calls are as deep as those may be."""
MOST_ITEMS = 10_000_000
SIMPLE = frozenset({int, float, Fraction, str, bool, type(None)})
"""Kinds of values that hold no others. Exactly these, which is quickly seen."""


class Extent(NamedTuple):
    """How deep values are in a value, and how many there are in all."""

    depth: int = 0
    size: int = 0


ALONE = Extent()


class _List(list[Any]):
    __slots__ = ("extent",)


class _Tuple(tuple[Any, ...]):  # noqa: SLOT001 - a tuple can have no slots of its own
    extent: Extent


class _Dict(dict[Any, Any]):
    __slots__ = ("extent",)


CARRYING: dict[type, Any] = {list: _List, tuple: _Tuple, dict: _Dict}


def measured(value: Any, above: int = 0) -> Extent:
    """The extent of a value that is in so many others."""
    kind = type(value)
    if kind in SIMPLE:
        return ALONE
    known = getattr(value, "extent", None)
    if type(known) is Extent:
        return known
    if isinstance(value, dict):
        return together(chain(value, value.values()), above)
    return together(value, above) if isinstance(value, list | tuple) else ALONE


def together(parts: Iterable[Any], above: int = 0) -> Extent:
    """The extent of what holds these; refuse what is too deep or too large."""
    depth = size = 0
    if above < MOST_DEPTH:
        for part in parts:
            each = ALONE if type(part) in SIMPLE else measured(part, above + 1)
            depth, size = max(depth, each.depth), size + 1 + each.size
    if above + depth >= MOST_DEPTH:
        title, fix = f"a value nested more than {MOST_DEPTH} deep", "put what belongs together side by side: xs + [x]"
        raise Stop("J516", title, "whatever goes through it later would not come to its end", fix)
    return Extent(depth + 1, small_enough(size))


def small_enough(size: int) -> int:
    """How many values there are; refuse what is too large."""
    if size > MOST_ITEMS:
        why = "what is in a value several times counts as often: so it is shown, compared and written"
        raise Stop("J516", f"a value of more than {MOST_ITEMS:,} parts", why, "keep what is needed of it")
    return size


def held(value: Any) -> Any:
    """A list, tuple or dictionary that was just made, and carries its extent where that takes long to find."""
    carrying = CARRYING.get(type(value))
    if carrying is None:
        return value
    parts = value.values() if carrying is _Dict else value
    if SIMPLE.issuperset(map(type, parts)) and (carrying is not _Dict or SIMPLE.issuperset(map(type, value))):
        small_enough(len(value))
        return value
    extent = measured(value)
    made = carrying(value)
    made.extent = extent
    return made
