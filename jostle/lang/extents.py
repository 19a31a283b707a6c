"""How deep and how large values are, and how deep calls go: bounded, so that whatever goes through them ends.

What a program makes of lists, tuples and dictionaries carries its extent, so that measuring what holds it looks at
its items alone. A value that is in another one twice counts twice, as it is shown, compared and written. What is too
deep is said by the language's own bounds, which are the same in every Python: `MOST_CALLS` of a program that runs,
`Levels` of passes. Python's own bound is put beyond them, and is never met.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from attrs import define

from jostle.lang.messages import Stop

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
        raise Stop("J516 deep", most=MOST_DEPTH)
    return Extent(depth + 1, small_enough(size))


def small_enough(size: int) -> int:
    """How many values there are; refuse what is too large."""
    if size > MOST_ITEMS:
        raise Stop("J516 large", most=f"{MOST_ITEMS:,}")
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


DEEPEST = 60_000
"""Python's own calls inside calls. A program that runs has up to 150 times 100 expressions inside each other, of two or
three each; a pass up to MOST_LEVELS expressions and statements, of six or seven."""
MOST_LEVELS = 3_000
"""Expressions and statements that a pass goes through inside each other, from call to call."""


class TooDeepError(Exception):
    """Functions call each other deeper than a pass follows."""


@define
class Levels:
    """How deep a pass is inside expressions and statements: entered for each."""

    now: int = 0

    def __enter__(self) -> None:
        if self.now >= MOST_LEVELS:
            raise TooDeepError
        self.now += 1

    def __exit__(self, *_: object) -> None:
        self.now -= 1


@contextmanager
def deep_enough() -> Iterator[None]:
    """Let calls be nested as deep as a program's may be."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
