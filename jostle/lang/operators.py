"""What signs, comparisons and brackets do to the values of a running program, and how these are shown.

Numbers are exact fractions as long as nothing but + - * / // % is done to them, then doubles.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from jostle.lang.extents import held, small_enough
from jostle.lang.facts import is_scalar, scalar_text
from jostle.lang.messages import Stop, near
from jostle.lang.values import (
    Axis,
    KnownAttribute,
    Leaf,
    OneValue,
    Private,
    PrivateNumber,
    TableValue,
    TreeNode,
    common,
    first_of,
    numbered,
)
from jostle.privacy.amounts import exact
from jostle.visible import visible

NUMBERS = (int, float, Fraction)
EXACT = frozenset(NUMBERS)
"""Exactly these, which is quickly seen."""
SHORT = 2**63
"""Whole numbers below this need no second look."""
NUMBER_INSTEAD = {
    "a text": "write numbers without quotes: 4",
    "a list": "take one of its items: xs[0], or add them up: sum(xs)",
    "an attribute": "size(db.label) is how many values it has",
    "a dictionary": "take one of its values: h[key]",
    "nothing": "give it a value first: n = 0",
}
"""What to write instead of something that is no number."""
MOST_BITS = 4096
"""Exact numbers with more digits go on as doubles."""


def is_number(value: object) -> bool:
    """Whether a value is a public number."""
    kind = type(value)
    return kind is int or kind is Fraction or kind is float or (isinstance(value, NUMBERS) and kind is not bool)


def fraction(value: object, what: str) -> Fraction:
    """A public number as an exact fraction, for budgets."""
    if not is_number(value):
        raise _wrong_kind(what, value)
    return exact(value, what)  # type: ignore[arg-type]  # a number, as just seen


def plain_number(value: Any) -> Any:
    """A fraction that is whole as an int, one that has grown too long as a double."""
    if type(value) is Fraction:
        denominator = value.denominator
        if denominator != 1:
            return value if denominator.bit_length() <= MOST_BITS else float(value)
        value = value.numerator
    if type(value) is int and value.bit_length() > MOST_BITS:
        return float(value)
    return value


def _wrong_kind(what: str, value: object) -> Stop:
    kind = kind_of(value)
    return Stop("J501 number", what=what, kind=kind, instead=NUMBER_INSTEAD.get(kind))


def kind_of(value: object) -> str:
    """The kind of a value, in words; never the value."""
    if isinstance(value, Private):
        return "a private value"
    names = {bool: "a truth", str: "a text", list: "a list", range: "a list", tuple: "a tuple", dict: "a dictionary"}
    if isinstance(value, KnownAttribute):
        return "an attribute"
    if value is None:
        return "nothing"
    if isinstance(value, Leaf | TreeNode):
        return "a tree"
    return names.get(type(value), "a number" if is_number(value) else f"a {type(value).__name__}")


def negated(value: Any) -> Any:
    """A number with the other sign."""
    value = numbered(value)
    if isinstance(value, PrivateNumber):
        return PrivateNumber(value.table, -value.expression, value.groups)
    if not is_number(value):
        raise _wrong_kind("what stands after -", value)
    return -value


def _private(sign: str, left: Any, right: Any) -> PrivateNumber:
    left, right = numbered(left), numbered(right)
    both = isinstance(left, PrivateNumber), isinstance(right, PrivateNumber)
    for value in (left, right):
        if not isinstance(value, PrivateNumber) and not is_number(value):
            raise _wrong_kind(f"one side of {sign}", value)
    if sign not in "+-*/":
        raise Stop("J214 unbounded", operator=sign)
    if all(both):
        table, (first, second) = common([left, right])
        groups = left.groups or right.groups
        if left.groups and right.groups and left.groups != right.groups:
            raise Stop("J508 groups")
    else:
        table = left.table if both[0] else right.table
        groups = left.groups if both[0] else right.groups
        first = left.expression if both[0] else _doubles(left)
        second = right.expression if both[1] else _doubles(right)
    made: Any
    if sign == "+":
        made = first + second
    elif sign == "-":
        made = first - second
    elif sign == "*":
        made = first * second
    else:
        made = first / second
    return PrivateNumber(table, made, groups)


def _doubles(value: Any) -> Any:
    """A public number short enough for an expression."""
    return value if not isinstance(value, Fraction) or value.denominator.bit_length() <= 200 else float(value)


def _divided(a: Any, b: Any) -> Any:
    if type(a) is float or type(b) is float:
        return float(a) / float(b)
    return Fraction(a, b) if type(a) is int and type(b) is int else a / b


def _power(a: Any, b: Any) -> Any:
    if isinstance(b, Fraction) or isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if a < 0 and not b.is_integer():
            raise Stop("J502 power")
        return a**b
    size = max(abs(Fraction(a).numerator), Fraction(a).denominator).bit_length() * abs(b)
    if size > MOST_BITS:
        return float(a) ** b
    return Fraction(a) ** b


def _nothing(left: Any, right: Any) -> None:
    """Nothing: an operator that does something to numbers alone."""


def _of_numbers(
    sign: str, compute: Callable[[Any, Any], Any], others: Callable[[Any, Any], Any] = _nothing
) -> Callable[[Any, Any], Any]:
    """An operator on numbers, public or private; *others* gives what it does to other values."""

    def operate(left: Any, right: Any) -> Any:
        if not (type(left) in EXACT and type(right) in EXACT):
            if (found := others(left, right)) is not None:
                return found
            if isinstance(left, Private) or isinstance(right, Private):
                return _private(sign, left, right)
            if not (is_number(left) and is_number(right)):
                raise _wrong_kind(f"one side of {sign}", right if is_number(left) else left)
        found = compute(left, right)
        if type(found) is int and -SHORT < found < SHORT:
            return found
        if type(found) is float and not math.isfinite(found):
            raise Stop("J502 large")
        return plain_number(found)

    return operate


def _joined(left: Any, right: Any) -> Any:
    """Lists or texts one after the other."""
    listed = isinstance(left, list | range) and isinstance(right, list | range)
    if not listed and not (isinstance(left, str) and isinstance(right, str)):
        return None
    small_enough(len(left) + len(right))
    return held([*left, *right]) if listed else left + right


def _without(left: Any, right: Any) -> Any:
    """A list without the items of another, or without one."""
    if not isinstance(left, list | range):
        return None
    without = right if isinstance(right, list | range) else [right]
    return [item for item in left if item not in without]


def _union(left: Any, right: Any) -> Any:
    if isinstance(left, list | range) and isinstance(right, list | range):
        return held([*left, *(item for item in right if item not in left)])
    if hasattr(left, "databases") and hasattr(right, "databases"):
        return left | right
    raise _wrong_kind("one side of |", left)


def _intersection(left: Any, right: Any) -> Any:
    if isinstance(left, list | range) and isinstance(right, list | range):
        return [item for item in left if item in right]
    raise _wrong_kind("one side of &", left)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": _of_numbers("+", operator.add, _joined),
    "-": _of_numbers("-", operator.sub, _without),
    "*": _of_numbers("*", operator.mul),
    "/": _of_numbers("/", _divided),
    "//": _of_numbers("//", operator.floordiv),
    "%": _of_numbers("%", operator.mod),
    "**": _of_numbers("**", _power),
    "|": _union,
    "&": _intersection,
}
"""What each operator does."""


LISTED = frozenset({list, tuple, dict, range})
"""Values that give their items themselves. Exactly these, which is quickly seen."""


def items(value: Any, what: str = "what is gone through") -> Any:
    """The items of a list, the values of an attribute, the keys of a dictionary."""
    kind = type(value)
    if kind in LISTED:
        return value
    if kind is KnownAttribute:
        return value.values
    if isinstance(value, list | tuple | dict | range):
        return value
    if hasattr(value, "databases"):
        return list(value)
    raise Stop("J501 listed_number" if is_number(value) else "J501 listed", what=what, kind=kind_of(value))


def number(value: Any, name: str) -> Any:
    """A value that a known function takes as a number; refuse it."""
    if not is_number(value):
        raise Stop("J501 taken", name=name, kind=kind_of(value))
    return value


def all_numbers(values: Iterable[Any]) -> bool:
    """Whether values are plain public numbers, as they mostly are."""
    return EXACT.issuperset(map(type, values))


# Comparisons


def named_alike(operator: str, left: Any, right: Any, one: OneValue | None, other: OneValue | None) -> bool:
    """Whether a comparison holds, one side of which may be a column: it is equal to each of its names."""
    if operator in {"==", "!="} and (one is None) is not (other is None):
        named, name = (one, right) if one is not None else (other, left)
        if named is not None and not isinstance(name, Private):
            return named.is_called(name) is (operator == "==")
    if operator in {"in", "not in"} and one is not None and not isinstance(right, Private):
        return any(map(one.is_called, items(right, "what stands after `in`"))) is (operator == "in")
    return COMPARE[operator](left, right)


COMPARED_INSTEAD = {
    "an attribute": "count rows: {{ select count() from db where age > 40 }}",
    "a text": "write numbers without quotes: 4",
    "a list": "compare its items, or how many there are: len(xs)",
}
"""What to write instead, where something without an order is compared."""


WHOLE = (int, int)


MIXED = {(Fraction, float), (float, Fraction)}


def _compared(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        kinds = type(left), type(right)
        if kinds == WHOLE:
            return bool(holds(left, right))
        if kinds in MIXED:
            # Between exact and rounded numbers, a difference beyond a double's digits says nothing.
            return bool(holds(float(left), float(right)))
        if isinstance(left, Private) or isinstance(right, Private):
            raise Stop("J202 compared_running")
        try:
            return bool(holds(left, right))
        except TypeError:
            one, other = kind_of(left), kind_of(right)
            instead = next((each for kind, each in COMPARED_INSTEAD.items() if kind in {one, other}), None)
            raise Stop("J501 order", one=one, other=other, instead=instead) from None

    return compare


def _inside(left: Any, right: Any) -> bool:
    return left in items(right, "what stands after `in`")


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": _compared(lambda a, b: a == b),
    "!=": _compared(lambda a, b: a != b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "in": _compared(_inside),
    "not in": _compared(lambda a, b: not _inside(a, b)),
}
"""What each comparison asks."""


# Items


def hashable(value: Any) -> Any:
    """A key; refuse what is none."""
    if isinstance(value, Private):
        raise Stop("J208 key_running")
    try:
        hash(value)
    except TypeError:
        raise Stop("J501 key", kind=kind_of(value)) from None
    return value


def distinct(values: list[Any]) -> list[Any]:
    """The items of a set, each once."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Private):
            raise Stop("J208 set_running")
        if value not in found:
            found.append(value)
    return found


def item_of(value: Any, index: Any) -> Any:
    """One item of a value."""
    if isinstance(value, PrivateNumber) and value.groups:
        return PrivateNumber(value.table, value.expression[_places(value.groups, index)])
    if isinstance(value, TableValue):
        raise Stop("J210 row")
    if isinstance(value, dict):
        if hashable(index) not in value:
            raise no_key(index, list(value), "key")
        return value[index]
    if isinstance(value, KnownAttribute):
        value = value.values
    if hasattr(value, "databases"):
        return value[index] if isinstance(index, str) else value.databases[_place_of(index, len(value))]
    if isinstance(value, list | tuple | range | str):
        return value[_place_of(index, len(value))]
    raise Stop("J501 items", kind=kind_of(value))


def _places(axes: Sequence[Axis], index: Any) -> tuple[int, ...]:
    """The place of a group of private numbers, by what it is called."""
    names = index if isinstance(index, tuple) else (index,)
    if len(names) != len(axes):
        raise Stop("J507 group_names", count=len(names), columns=len(axes))
    places = []
    for name, axis in zip(names, axes, strict=True):
        place = axis.place(name)
        if place is None:
            raise no_key(name, axis.keys, "group")
        places.append(place)
    return tuple(places)


def _place_of(index: Any, length: int) -> int:
    if not is_number(index) or index != int(index):
        called = shown(index) if is_number(index) else kind_of(index)
        raise Stop("J501 index", called=called)
    if not -length <= index < length:
        raise Stop("J507 place", place=int(index), length=length)
    return int(index)


# Values for people


SHOWN = frozenset({int, float, Fraction, str, bool, type(None), KnownAttribute})
"""Kinds of values that are public, and hold no others. Exactly these, which is quickly seen."""


def holds_private(value: Any) -> bool:  # noqa: PLR0911 - one per kind
    """Whether a value is private, or holds one."""
    if type(value) in SHOWN:
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
