"""Fields: the plain types that a part of a question may have, each with the one function that reads it.

A question is a frozen value, and what it may do to data is proved from what is in it. So it matters that a weight is a
whole number, and nothing that behaves like one: the least number of a narrow type of numpy's is its own magnitude, a
fraction of a step is no step, and what is not a number is above no limit and below none. Every field of a kernel, a
mechanism, a score and of what they are made of has one of the types below: its *converter* takes what can be read in
one way only, makes exact builtin numbers and texts of it, or arrays that nobody else holds, and refuses everything
else. A *validator* says in which range it may lie. `Closed` does not take a class with a field of any other type.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from numbers import Real
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
from attrs import Attribute, frozen
from numpy.typing import NDArray

from jostle.errors import JostleError, TableError, shown

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Whole = SupportsIndex | float

LARGEST = 2**63 - 1
LONGEST_TEXT = 10_000


def _shown(value: object) -> str:
    """A value for a message, cut short; of an array only what it is an array of."""
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"{shown(value):.40}"


# Texts


def text(value: str) -> str:
    """Read a text that can be written to a file, and is no book."""
    given: object = value
    if not isinstance(given, str):
        raise TableError(f"{_shown(given)} is not a text", fix='"histogram"')
    plain = str.__str__(given)
    if len(plain) > LONGEST_TEXT or plain != plain.encode(errors="replace").decode():
        raise TableError(f"a text of {len(plain):,} characters is too long, or cannot be written", fix="shorten it")
    return plain


def name(value: str) -> str:
    """Read the name of a column."""
    given: object = value
    if not isinstance(given, str):
        raise TableError(f"{_shown(given)} is not the name of a column", fix='name it as the schema does: "age"')
    return str.__str__(given)


def optional_name(value: str | None) -> str | None:
    """Read a name, or None."""
    return None if value is None else name(value)


def names(values: str | Iterable[str]) -> tuple[str, ...]:
    """Read names; a text by itself is a single one."""
    if isinstance(values, str):
        return (name(values),)
    return tuple(map(name, values if type(values) is tuple else _items(values)))


def name_groups(values: Iterable[str | Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Read groups of names."""
    return tuple(map(names, values if type(values) is tuple else _items(values)))


def word(value: str) -> Any:
    """Read a text that is one of a few; `OneOf` says of which."""
    return text(value)


def words(values: Iterable[str]) -> tuple[Any, ...]:
    """Read several such texts."""
    return tuple(map(word, _items(values)))


# Numbers


def whole(value: Whole) -> int:
    """Read a whole number of any library, as Python's own."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return int(float(value))
    if not isinstance(value, bool | np.bool_ | np.ndarray):
        try:
            return int(operator.index(value))  # type: ignore[arg-type]  # what has no index is refused
        except TypeError:
            pass
    raise TableError(f"{_shown(value)} is not a whole number", fix="3, not 3.5, True or an array")


def number(value: float) -> float:
    """Read a finite number, as a float."""
    given: object = value
    if isinstance(given, bool) or not isinstance(given, Real) or not math.isfinite(given):
        raise TableError(f"{_shown(given)} is not a finite number", fix="0.5")
    return float(given)


def optional_whole(value: Whole | None) -> int | None:
    """Read a whole number, or None."""
    return None if value is None else whole(value)


def wholes(values: Iterable[Whole]) -> tuple[int, ...]:
    """Read whole numbers."""
    return tuple(map(whole, _items(values)))


def whole_groups(values: Iterable[Iterable[Whole]]) -> tuple[tuple[int, ...], ...]:
    """Read groups of whole numbers."""
    return tuple(map(wholes, _items(values)))


def truth(value: object) -> bool:
    """Read True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TableError(f"{_shown(value)} is neither True nor False", fix="True")
    return bool(value)


def conditions(values: Iterable[tuple[str, Iterable[Whole]]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Read columns with the codes that rows may have there."""
    return tuple((name(column), wholes(codes)) for column, codes in of_several(values, 2))


# Arrays


def int64s(values: Sequence[Any] | NDArray[Any]) -> Integers:
    """Read whole numbers as an array of 64 bits that nobody else holds; one without items, whatever kind it had."""
    given = _array(values)
    if given.size and (given.dtype.kind not in "iu" or (given.dtype.kind == "u" and int(given.max()) > LARGEST)):
        raise TableError(f"{_shown(given)} is not one of whole numbers below 2**63", fix="np.array([0, 1])")
    return _kept(given, np.int64)


def truths(values: Sequence[Any] | NDArray[Any]) -> Truths:
    """Read an array of True and False, as one that nobody else holds."""
    given = _array(values)
    if given.dtype.kind != "b":
        raise TableError(f"{_shown(given)} is not one of True and False", fix="np.array([True])")
    return _kept(given, np.bool_)


def int64_arrays(values: Iterable[Sequence[Any] | NDArray[Any]]) -> tuple[Integers, ...]:
    """Read arrays of whole numbers."""
    return tuple(map(int64s, _items(values)))


def truth_arrays(values: Iterable[Sequence[Any] | NDArray[Any]]) -> tuple[Truths, ...]:
    """Read arrays of True and False."""
    return tuple(map(truths, _items(values)))


def _array(values: object) -> NDArray[Any]:
    if not isinstance(values, list | tuple | np.ndarray):
        raise TableError(f"{_shown(values)} is not an array", fix="np.array([0, 1])")
    try:
        return np.asarray(values)
    except ValueError:
        raise TableError("an array has sides of different lengths", fix="np.array([[0, 1], [2, 3]])") from None


def _kept(given: NDArray[Any], kind: type[Any]) -> NDArray[Any]:
    kept = np.array(given, dtype=kind, order="C", copy=True, subok=False)
    kept.setflags(write=False)
    return kept


# Several of something


def listed(values: Iterable[Any]) -> tuple[Any, ...]:
    """Read a list of parts, which `Components` looks at one by one."""
    return tuple(_items(values))


def _items(values: object) -> Iterable[Any]:
    """Refuse a text, and what has no order."""
    if isinstance(values, np.ndarray):
        return values.tolist() if values.ndim else (values,)
    if isinstance(values, str | bytes | Mapping | AbstractSet) or not isinstance(values, Iterable):
        raise TableError(f"{_shown(values)} is not a list", fix="give a tuple or a list")
    return values


def of_several(values: Iterable[Any], count: int) -> list[tuple[Any, ...]]:
    """The items of a list, each of which has to be a list of so many."""
    groups = []
    for value in values if type(values) is tuple else _items(values):
        items = value if type(value) is tuple else tuple(_items(value))
        if len(items) != count:
            raise TableError(f"{_shown(value)} is not a list of {count}", fix='(("age", (0, 1)),)')
        groups.append(items)
    return groups


# What is looked at once it was read


@frozen
class Within:
    """Refuse numbers beyond public bounds, and no numbers."""

    low: Fraction | float
    high: Fraction | float

    def __call__(self, _: object, attribute: Attribute[Any], value: Any) -> None:
        """Look at a number, at each of several, or at all in an array."""
        if isinstance(value, tuple):
            for item in value:
                self(_, attribute, item)
        elif isinstance(value, np.ndarray):
            for item in (int(value.min()), int(value.max())) if value.size else ():
                self(_, attribute, item)
        elif value is not None and not self.low <= value <= self.high:
            low, high = (f"{end:,}" if isinstance(end, int | float) else f"{end}" for end in (self.low, self.high))
            raise TableError(
                f"{attribute.name} is {value}, but must be from {low} to {high}", fix=f"{attribute.name}={high}"
            )


ANY_WHOLE = Within(-LARGEST - 1, LARGEST)
"""Numbers of 64 bits, for what is held against the schema before anything is charged."""


@frozen
class Sides:
    """Refuse arrays with another number of sides, or numbers beyond bounds."""

    count: int
    within: Within = ANY_WHOLE

    def __call__(self, _: object, attribute: Attribute[Any], value: Any) -> None:
        """Look at an array, or at each of several."""
        for array in value if isinstance(value, tuple) else (value,):
            if array.ndim != self.count:
                raise TableError(
                    f"{attribute.name} has {array.ndim} sides, but must have {self.count}", fix="reshape it"
                )
            self.within(_, attribute, array)


@frozen
class OneOf:
    """Refuse texts that are none of a few."""

    known: tuple[str, ...]

    def __call__(self, _: object, attribute: Attribute[Any], value: Any) -> None:
        """Look at a text, or at each of several."""
        for item in value if isinstance(value, tuple) else (value,):
            if item not in self.known:
                raise TableError(f"{attribute.name} is {item!r:.40}", fix=f"one of {', '.join(self.known)}")


@frozen
class Component:
    """Refuse a part that is not of a known class: exactly of one, since what is made from a class could be anything.

    Where parts are members of the same list as what holds them, they are known by their base class here, and `Closed`
    looks at the rest.
    """

    kinds: tuple[type, ...] = ()
    base: type | None = None
    what: str = ""
    """What it must be, in words."""
    error: type[JostleError] = TableError
    optional: bool = False

    def __call__(self, _: object, attribute: Attribute[Any], value: Any) -> None:
        """Look at a part."""
        if value is None and self.optional:
            return
        if type(value) not in self.kinds and not (self.base and isinstance(value, self.base)):
            kinds = ", ".join(kind.__name__ for kind in self.kinds)
            raise self.error(
                f"{type(value).__name__} is not {self.what or kinds}",
                why=f"that is what stands as {attribute.name!r}",
                fix=f"one of {kinds}" if kinds else f"give {self.what}",
            )


@frozen
class Components(Component):
    """Refuse several parts of which one is not of a known class."""

    def __call__(self, _: object, attribute: Attribute[Any], value: Any) -> None:
        """Look at each part."""
        for part in value:
            super().__call__(_, attribute, part)


TYPES: Mapping[Callable[..., object], type | None] = MappingProxyType(
    {
        text: None,
        name: None,
        optional_name: None,
        names: None,
        name_groups: None,
        word: OneOf,
        words: OneOf,
        truth: None,
        number: Within,
        whole: Within,
        optional_whole: Within,
        wholes: Within,
        whole_groups: Within,
        conditions: None,
        int64s: Sides,
        int64_arrays: Sides,
        truths: Sides,
        truth_arrays: Sides,
        listed: Components,
    }
)
"""Every converter of a plain type, with the validator that a field of it needs beside."""
