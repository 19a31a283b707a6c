"""Taxonomies: public trees over a categorical column's values, by which values are put together into groups.

A taxonomy is a list of branches; a branch is a value, or a list of branches. Cut at some depth, it puts the values
below each branch there together: `[["north", "south"], "abroad"]` has levels {all}, {north, south} {abroad}, and all
apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jostle.errors import SchemaError, shown

__all__ = ["Taxonomy", "check_taxonomy", "levels_of", "taxonomy"]

Taxonomy = tuple[Any, ...]
"""Branches: values, or tuples of branches."""

MOST_DEPTH = 20
FIX = 'taxonomy=[["north", "south"], "abroad"]'


def taxonomy(value: object) -> Taxonomy:
    """Read nested lists of values."""
    return _branches(value, MOST_DEPTH)


def _branches(value: object, depth: int) -> Taxonomy:
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple):
        raise SchemaError(f"the taxonomy has {shown(value)} where a list of branches is due", fix=FIX)
    if not depth:
        raise SchemaError(f"the taxonomy is deeper than {MOST_DEPTH} levels", fix=FIX)
    return tuple(
        str.__str__(each)
        if isinstance(each, str)
        else _branches(each, depth - 1)
        if isinstance(each, list | tuple)
        else str(each)
        for each in value
    )


def check_taxonomy(branches: Taxonomy, values: Iterable[str]) -> None:
    """Refuse a tree that does not hold each of the values once."""
    if not branches:
        return
    known, seen = set(values), set[str]()
    for value in _leaves(branches):
        if value not in known:
            raise SchemaError(f"the taxonomy holds {shown(value)}, which is not one of the values", fix=FIX)
        if value in seen:
            raise SchemaError(f"the taxonomy holds {shown(value)} twice", why="each value is in one group")
        seen.add(value)
    if missing := known - seen:
        raise SchemaError(f"the taxonomy does not hold {shown(min(missing))}", why="each value is in one group")


def _leaves(branch: object) -> Iterator[str]:
    if isinstance(branch, str):
        yield branch
    elif isinstance(branch, tuple):
        if not branch:
            raise SchemaError("the taxonomy has a branch without values", fix=FIX)
        for each in branch:
            yield from _leaves(each)


def levels_of(branches: Taxonomy, values: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The group of each value at each depth, from all together to each by itself; no two depths alike.

    >>> levels_of((("north", "south"), "abroad"), ("abroad", "north", "south"))
    ((0, 0, 0), (1, 0, 0), (2, 0, 1))
    """
    found = [tuple(0 for _ in values)]
    cut: list[Any] = [branches]
    while any(not isinstance(each, str) for each in cut):
        cut = [below for each in cut for below in ((each,) if isinstance(each, str) else each)]
        group = {value: place for place, each in enumerate(cut) for value in _leaves(each)}
        now = tuple(group[value] for value in values)
        if max(now, default=0) > max(found[-1], default=0):
            found.append(now)
    return tuple(found)
