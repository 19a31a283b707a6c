"""Make what a caller hands in plain, before it goes through the door.

Code that runs inside the door stands on frames that hold rows, and any Python code can look at the frames it stands
on. So no object of a caller's making goes in: not a number that compares as it likes, not a text with its own
`__format__`, not a kernel that is a subclass, nor one whose fields or arrays somebody else can still change. What goes
in is rebuilt here, outside, from exact builtin types, copied arrays, and Jostle's own frozen classes; anything else is
refused.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Callable
from enum import Enum, EnumMeta
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from jostle.errors import ProbeError
from jostle.privacy.measured import MeasuredCells, MeasuredCount, MeasuredNumber, MeasuredTop

__all__ = ["plain"]

MOST_BITS = 64
"""Whole numbers in a question are no longer than this."""
NUMBERS = "biuf"
"""The kinds of arrays that hold numbers."""
SCALARS = tuple({np.dtype(code).type for code in "?bhilqBHILQefd"})
"""Numpy's single numbers that have a builtin counterpart."""
MEASURED = (MeasuredCells, MeasuredCount, MeasuredNumber, MeasuredTop)


def _is_ours(kind: type) -> bool:
    """Whether a class is what one of Jostle's modules calls by its name, and no other that says so."""
    if type(kind) is not type and type(kind) is not ABCMeta and type(kind) is not EnumMeta:
        return False
    module = kind.__module__
    if type(module) is not str or module.partition(".")[0] != "jostle":
        return False
    return vars(sys.modules.get(module, sys)).get(kind.__name__) is kind


def plain(value: object, knows: Callable[[type], bool] = _is_ours) -> Any:  # noqa: PLR0911 - one per kind
    """An equal value that runs no code but Python's, numpy's and Jostle's own, and that nobody else holds.

    Of classes, those that are known are made anew.

    >>> plain(["age", 3]), plain(Fraction(1, 3))
    (('age', 3), Fraction(1, 3))
    """
    kind = type(value)
    if value is None or kind is str or kind is bytes or kind is bool or kind is float:
        return value
    if kind is int:
        return _short(value)
    if kind is Fraction:
        return _fraction(value)
    if kind is tuple or kind is list:
        return tuple(plain(each, knows) for each in value)  # type: ignore[attr-defined]  # exactly a tuple or a list
    if kind is np.ndarray:
        return _array(value)
    if any(kind is known for known in SCALARS):
        return value.item()  # type: ignore[attr-defined]  # a number of numpy's, whose item is a builtin one
    if any(kind is known for known in MEASURED):
        return plain(value.value, knows)  # type: ignore[attr-defined]  # an answer, without how sure it is
    if knows(kind):
        return _rebuilt(value, knows)
    raise ProbeError(
        f"a question holds an object of type {_name(kind)}",
        why="only numbers, texts, tuples, arrays of numbers and Jostle's own classes may stand where rows are",
        fix="convert it to int, float, str or Fraction",
    )


def _short(value: Any) -> int:
    if value.bit_length() > MOST_BITS:
        raise ProbeError(f"a question holds a whole number of more than {MOST_BITS} bits")
    return int(value)


def _fraction(value: Any) -> Fraction:
    # A fraction's parts can be assigned to, and a fraction made of a subclass of int keeps it.
    numerator, denominator = value.numerator, value.denominator
    if type(numerator) is not int or type(denominator) is not int or denominator <= 0:
        raise ProbeError("a question holds a fraction whose parts are no whole numbers", fix='Fraction("1/3")')
    return Fraction(numerator, denominator)


def _array(value: Any) -> Any:
    if value.dtype.kind not in NUMBERS:
        raise ProbeError("a question holds an array of something other than numbers")
    copy = np.array(value, dtype=np.dtype(value.dtype.str), copy=True, order="C")
    copy.setflags(write=False)
    return copy


def _rebuilt(value: object, knows: Callable[[type], bool]) -> object:
    if isinstance(value, Enum):
        return value
    kind = type(value)
    if not attrs.has(kind):
        raise ProbeError(f"a question holds an object of type {_name(kind)}", why="it is no description of a question")
    # Made anew, so that its converters have seen what is in it; and its validators, which anybody can switch off for
    # all classes at once (`attrs.validators.set_disabled`), so that they are called here.
    fields = attrs.fields(kind)
    made = kind(**{each.alias: plain(getattr(value, each.name), knows) for each in fields if each.init})
    for each in fields:
        if each.validator is not None:
            each.validator(made, each, getattr(made, each.name))
    return made


def _name(kind: type) -> str:
    name = kind.__name__
    return name if type(name) is str else "unknown"
