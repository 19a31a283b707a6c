"""Other guises of a value, and what has no business in a question: what a caller may hand in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random as Chance
from typing import Any

import numpy as np
from numpy.typing import NDArray

NARROW = ("i1", "i2", "i4", "i8", ">i2", ">i8", "u1", "u2", "u8", "f2", "f4", "f8")
LIMITS = tuple(
    sign * (2**bits + more)
    for bits in (7, 8, 15, 16, 30, 31, 32, 62, 63, 64, 200)
    for more in (-1, 0, 1)
    for sign in (1, -1)
)
SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    -0.0,
    0.5,
    1e308,
    math.nan,
    math.inf,
    -math.inf,
    1j,
    Fraction(1, 2),
    Fraction(21, 20),
    Fraction(3),
    Decimal("NaN"),
    Decimal("0.5"),
    "",
    "a",
    "\ud800",
    "a\x1b[2J",
    b"ab",
    np.str_("a"),
    np.float32("nan"),
    np.bool_(True),
    np.datetime64("2026-01-01"),
    *(np.iinfo(kind).min for kind in (np.int8, np.int16, np.int32, np.int64)),
    *(np.array(np.iinfo(kind).min, dtype=kind)[()] for kind in ("i1", "i2", "i4", "i8")),
    *(np.array(np.iinfo(kind).max, dtype=kind)[()] for kind in ("u1", "u8")),
    *LIMITS,
    print,
    object(),
    int,
)
LISTS_OF_ANY: tuple[Any, ...] = (
    (),
    [],
    {},
    {"a": 1},
    {1, 2},
    iter(()),
    (0,),
    (1, 2),
    [[0]],
    [(), (0,)],
    [[[0]]],
    np.array(3),
    np.array([]),
    np.zeros((0, 2)),
    np.array([[0, 1]]),
    np.array([0.0, np.nan]),
    np.array([np.iinfo(np.int32).min] * 2 + [1], dtype=np.int32),
    np.array([0, 2**63], dtype=np.uint64),
    np.array([0, 1], dtype=object),
    np.array([object()]),
    np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]),
    np.array(["a", "b"]),
    np.array([True, False]),
    np.arange(6)[::-2],
    np.arange(3, dtype=">i4"),
    np.ma.array([0, 1], mask=[False, True]),
    memoryview(b"ab"),
    range(2),
)


def guise(chance: Chance, value: Any) -> Any:  # noqa: PLR0911 - one per kind
    """Return the same in the guise of another type, or nearly."""
    if isinstance(value, np.ndarray):
        kind = chance.choice(NARROW) if value.dtype.kind in "iu" else value.dtype
        with np.errstate(all="ignore"):
            other = value.astype(kind)
        same = other if value.dtype.kind == "b" or np.array_equal(other, value) else value
        return chance.choice([same, same.tolist(), same[::-1][::-1], np.array(same, order="F")])
    if isinstance(value, bool):
        return chance.choice([value, np.bool_(value)])
    if isinstance(value, int):
        return chance.choice([value, float(value), np.float64(value), *_scalars(value)])
    if isinstance(value, Fraction):
        return chance.choice([value, str(value), float(value)])
    if isinstance(value, str):
        return chance.choice([value, np.str_(value)])
    if isinstance(value, tuple | list):
        inside = [guise(chance, each) if chance.random() < 0.5 else each for each in value]
        ways: list[Callable[[], Any]] = [lambda: inside, lambda: tuple(inside), lambda: iter(inside)]
        if value and all(type(each) is int for each in value):
            ways += [lambda: _array(chance, value)] * 3
        return chance.choice(ways)()
    return value


def _scalars(value: int) -> list[Any]:
    fitting = [
        kind for kind in ("i1", "i2", "i4", "i8", "u1", "u8") if np.iinfo(kind).min <= value <= np.iinfo(kind).max
    ]
    return [np.array(value, dtype=kind)[()] for kind in fitting]


def _array(chance: Chance, numbers: Sequence[int]) -> NDArray[Any]:
    """Return an array of a type that holds the numbers, or in which they wrap round."""
    if max(map(abs, numbers)) >= 2**63:
        return np.array(numbers, dtype=object)
    with np.errstate(all="ignore"):
        return np.array(numbers, dtype=np.int64).astype(chance.choice(NARROW))


def spoilt(chance: Chance, value: Any) -> Any:
    """Return something else, or the same with something else inside."""
    if isinstance(value, tuple | list) and value and chance.random() < 0.6:
        inside = list(value)
        place = chance.randrange(len(inside))
        change = chance.choice(["spoil", "drop", "double"])
        inside[place : place + 1] = {
            "spoil": [spoilt(chance, inside[place])],
            "drop": [],
            "double": [inside[place], inside[place]],
        }[change]
        return inside
    if isinstance(value, np.ndarray) and value.size and chance.random() < 0.5:
        other = np.array(value.tolist(), dtype=object)
        other.flat[chance.randrange(other.size)] = chance.choice(SCALARS)
        return other.tolist()
    return chance.choice(SCALARS) if chance.random() < 0.6 else chance.choice(LISTS_OF_ANY)
