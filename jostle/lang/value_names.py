"""What the values of a column are called in programs: one name for each, and other ways to write it.

A category is called by its text, or by its number where all categories are written as numbers. A bin of numbers is
called by its middle, or by its lower end where bins are one unit wide. What stands for undeclared and for missing
values is called as the schema calls it. These are the keys of what is grouped by a column. Besides, a value goes by
its label, as `db.age` gives it, and a bin by any number in it: `h[45]`, `h["[40, 50)"]` and `h[42]` are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from attrs import field, frozen

from jostle.tables.columns import MISSING, OTHER, Column, Numeric

__all__ = ["Axis", "ByGroup", "OneValue", "code_called", "column_values", "first_of", "places_of"]

MOST_LISTED = 8


@lru_cache(maxsize=1024)
def column_values(column: Column) -> tuple[Any, ...]:
    """The value of each code of a column in computations: a number, a text, or None where it has none."""
    labels = column.labels
    if isinstance(column, Numeric):
        cuts = [Fraction(repr(float(cut))) for cut in column.cut_points]
        whole = all(right - left == 1 for left, right in pairwise(cuts))
        inner: list[Any] = [left if whole else (left + right) / 2 for left, right in pairwise(cuts)]
        shown = [int(each) if each.denominator == 1 else each for each in inner]
        return (*shown, *(None for _ in labels[len(shown) :]))
    plain = [None if label in {OTHER, MISSING} else label for label in labels]
    numbers = [None if label is None else _number(label) for label in plain]
    known = [number for number in numbers if number is not None]
    # Categories that are the same number, 1 and 01, can only be told apart as texts.
    if len(known) < sum(each is not None for each in plain) or len(set(known)) < len(known):
        return tuple(plain)
    return tuple(numbers)


def _number(label: str) -> int | Fraction | None:
    try:
        found = Fraction(label)
    except (ValueError, ZeroDivisionError):
        return None
    return int(found) if found.denominator == 1 else found


@lru_cache(maxsize=1024)
def _codes(column: Column) -> Mapping[Any, int]:
    """The codes of all names but the numbers in a bin."""
    found: dict[Any, int] = {label: code for code, label in enumerate(column.labels)}
    values = column_values(column) if isinstance(column, Numeric) else map(_number, column.labels)
    for code, value in enumerate(values):
        if value is not None:
            found.setdefault(value, code)
    return found


def code_called(column: Column, name: object) -> int | None:
    """The code of a value of a column, however it is called; None if that is no value of it."""
    if isinstance(name, bool) or not isinstance(name, str | int | float | Fraction):
        return None
    code = _codes(column).get(name)
    if code is None and isinstance(column, Numeric) and not isinstance(name, str):
        cuts = column.cut_points
        if cuts[0] <= name <= cuts[-1]:
            return min(sum(cut <= name for cut in cuts) - 1, column.bins - 1)
    return code


def first_of(labels: Sequence[str]) -> str:
    """The first of several names, and how many others there are."""
    more = f" and {len(labels) - MOST_LISTED} others" if len(labels) > MOST_LISTED else ""
    return ", ".join(labels[:MOST_LISTED]) + more


@frozen
class OneValue:
    """What a column has in a row: one of its values."""

    value: Any
    """In computations."""
    column: Column | None = None
    """None for what is no column: how many rows there are in a cell."""
    code: int = 0

    def is_called(self, name: object) -> bool:
        """Whether something is a name of it."""
        if self.column is None:
            return bool(self.value == name)
        return code_called(self.column, name) == self.code


@frozen
class Axis:
    """What the groups of a query are called, by one of the things it is grouped by."""

    keys: tuple[Any, ...]
    column: Column | None = None
    """The column whose values they are, one by one; None where they are computed."""
    _places: Mapping[Any, int] = field(init=False, eq=False, repr=False)

    @_places.default
    def _placed(self) -> Mapping[Any, int]:
        return {key: place for place, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, column: Column) -> Axis:
        """The values of a column, each of them a group."""
        named = zip(column_values(column), column.labels, strict=True)
        return cls(tuple([label if value is None else value for value, label in named]), column)

    def place(self, name: object) -> int | None:
        """The place of the group that is called so; None if none is."""
        if isinstance(name, bool) and self.column is not None:  # which is equal to 0 or 1, and no number here
            return None
        try:
            found = self._places.get(name)
        except TypeError:
            return None
        if found is None and self.column is not None:
            return code_called(self.column, name)
        return found


def places_of(axes: Sequence[Axis], name: object) -> tuple[int, ...] | None:
    """The place of the group by several things that is called so; None if none is."""
    names = name if len(axes) > 1 and isinstance(name, tuple) else (name,)
    if len(names) != len(axes):
        return None
    found = [axis.place(each) for axis, each in zip(axes, names, strict=True)]
    return None if None in found else tuple([each for each in found if each is not None])


class ByGroup(dict[Any, Any]):
    """Released numbers by group: a dictionary whose keys can be written in each way that a group is called."""

    def __init__(self, axes: Sequence[Axis], values: Mapping[Any, Any]) -> None:
        super().__init__(values)
        self.axes = tuple(axes)

    def key(self, name: object) -> Any:
        """The key that something is a name of; itself if it is none."""
        places = places_of(self.axes, name)
        if places is None:
            return name
        keys = tuple(axis.keys[place] for axis, place in zip(self.axes, places, strict=True))
        return keys if len(keys) > 1 else keys[0]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self.key(name))

    def __missing__(self, name: object) -> Any:
        key = self.key(name)
        if key is name or not super().__contains__(key):
            raise KeyError(name)
        return super().__getitem__(key)

    def __reduce__(self) -> tuple[object, ...]:
        return ByGroup, (self.axes, dict(self))
