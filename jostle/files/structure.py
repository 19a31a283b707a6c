"""From what JSON holds to values of declared types: each checked, none converted into something it was not.

What a file has to hold is said once, by the annotations of a frozen attrs class. This is what cattrs does; but cattrs
turns "3" into 3 and 2.5 into 2 unless each type is given a hook of its own, and gives a group of exceptions where one
sentence is wanted. The types that stand in Jostle's files are few.
"""

from __future__ import annotations

import math
from collections import abc
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

import attrs
import numpy as np
from numpy.typing import NDArray

from jostle.errors import AmountError, JostleError
from jostle.files.damage import DamageError, named
from jostle.privacy.amounts import INSIDE_BITS, exact, recordable

__all__ = ["AnyFloat", "LongInteger", "structured"]

T = TypeVar("T")
Read: TypeAlias = Callable[[object], Any]

LongInteger: TypeAlias = Annotated[int, "of any length"]
"""A whole number that need not fit 64 bits."""
AnyFloat: TypeAlias = Annotated[float, "or none"]
"""A number that may also be infinite, or none."""
MOST_WHOLE = 2**63


def structured(data: object, kind: type[T]) -> T:
    """The value read as one of a type, or raise what does not fit and where."""
    found: T = _reader(kind)(data)  # type: ignore[arg-type]  # types can be looked up
    return found


@cache
def _reader(kind: Any) -> Read:
    """A reader of values of a type."""
    if kind in PLAIN:
        return PLAIN[kind]
    if attrs.has(kind):
        return _stored(kind) if hasattr(kind, "stored") else _record(kind)
    if (origin := get_origin(kind)) in COMPOUND:
        return COMPOUND[origin](get_args(kind))
    if hasattr(origin or kind, "__value__"):
        return _reader(_aliased(kind))
    raise TypeError(f"nothing reads {kind}")


def _aliased(kind: Any) -> Any:
    """What a type alias of Python 3.12 stands for: numpy's, from 2.5 on, and whatever else is declared as one."""
    if (alias := get_origin(kind)) is None:
        return kind.__value__
    given = dict(zip(alias.__type_params__, get_args(kind), strict=True))
    return alias.__value__[tuple(given[each] for each in alias.__value__.__parameters__)]


def _text(data: object) -> str:
    if type(data) is not str:
        raise DamageError("is not a text")
    if not data.isascii() and data != data.encode(errors="replace").decode():
        raise DamageError("is a text with half a character")
    return data


def _truth(data: object) -> bool:
    if type(data) is not bool:
        raise DamageError("is not true or false")
    return data


def _whole(data: object) -> int:
    if type(data) is not int or not -MOST_WHOLE <= data < MOST_WHOLE:
        raise DamageError("is not a whole number of 64 bits")
    return data


def _long_whole(data: object) -> int:
    if type(data) is not int:
        raise DamageError("is not a whole number")
    return data


def _any_number(data: object) -> float:
    try:
        if type(data) in {int, float}:
            return float(data)  # type: ignore[arg-type]  # a number, as just seen
    except OverflowError:
        pass
    raise DamageError("is not a number")


def _number(data: object) -> float:
    found = _any_number(data)
    if not math.isfinite(found):
        raise DamageError("is not a finite number")
    return found


def _amount(data: object) -> Fraction:
    text = _text(data)
    try:
        return recordable(exact(text, "it"), "it", INSIDE_BITS)
    except AmountError:
        raise DamageError('is not an amount such as "1/3"') from None


def _mapping_of_anything(data: object) -> dict[str, Any]:
    if type(data) is not dict:
        raise DamageError("is not a mapping from names to values")
    return data


PLAIN: dict[Any, Read] = {
    Any: lambda data: data,
    object: lambda data: data,
    str: _text,
    bool: _truth,
    int: _whole,
    LongInteger: _long_whole,
    float: _number,
    AnyFloat: _any_number,
    Fraction: _amount,
    Mapping[str, Any]: _mapping_of_anything,
}


def _perhaps(inside: tuple[Any, ...]) -> Read:
    (kind,) = (each for each in inside if each is not NoneType)
    read = _reader(kind)
    return lambda data: None if data is None else read(data)


def _one_of(allowed: tuple[str, ...]) -> Read:
    listed = " or ".join(map(repr, allowed))

    def read(data: object) -> str:
        if type(data) is not str or data not in allowed:
            raise DamageError(f"is not {listed}")
        return data

    return read


def _tuple(inside: tuple[Any, ...]) -> Read:
    return _list(inside[0]) if len(inside) == 2 and inside[1] is ... else _row(inside)


def _list(kind: Any) -> Read:
    read = _reader(kind)

    def read_all(data: object) -> tuple[Any, ...]:
        values: list[Any] = []
        items = _items(data)
        try:
            for item in items:
                values.append(read(item))  # noqa: PERF401 - how many there are says where it went wrong
        except DamageError as damage:
            raise damage.inside(len(values)) from None
        return tuple(values)

    return read_all


def _row(kinds: tuple[Any, ...]) -> Read:
    reads = [_reader(kind) for kind in kinds]

    def read_all(data: object) -> tuple[Any, ...]:
        items = _items(data)
        if len(items) != len(reads):
            raise DamageError(f"is not a list of {len(reads)}")
        values: list[Any] = []
        try:
            for item, read in zip(items, reads, strict=True):
                values.append(read(item))
        except DamageError as damage:
            raise damage.inside(len(values)) from None
        return tuple(values)

    return read_all


def _items(data: object) -> list[object]:
    if type(data) is not list:
        raise DamageError("is not a list")
    return data


def _mapping(inside: tuple[Any, ...]) -> Read:
    read = _reader(inside[1])

    def read_all(data: object) -> dict[str, Any]:
        entries = {}
        for name, each in _mapping_of_anything(data).items():
            try:
                entries[_text(name)] = read(each)
            except DamageError as damage:
                raise damage.inside(name) from None
        return entries

    return read_all


def _array(inside: tuple[Any, ...]) -> Read:
    """A reader of lists of numbers, perhaps in lists, all of one length."""
    (kind,) = get_args(inside[1])
    allowed = {int} if issubclass(kind, np.integer) else {int, float}
    wanted = "whole numbers of 64 bits" if issubclass(kind, np.integer) else "finite numbers"

    def read(data: object) -> NDArray[Any]:
        flat = _items(data)
        # Looked at first: numpy would make room for a long text once for each number beside it.
        while (kinds := set(map(type, flat))) == {list}:
            flat = list(chain.from_iterable(flat))  # type: ignore[arg-type]  # lists, as just seen
        if not kinds <= allowed:
            raise DamageError(f"is not a list of {wanted}")
        try:
            numbers = np.asarray(data, dtype=kind)
        except OverflowError:
            raise DamageError(f"is not a list of {wanted}") from None
        except ValueError:
            raise DamageError("is not lists of one length") from None
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            raise DamageError(f"is not a list of {wanted}")
        return numbers

    return read


COMPOUND: dict[Any, Callable[[tuple[Any, ...]], Read]] = {
    tuple: _tuple,
    np.ndarray: _array,
    abc.Mapping: _mapping,
    Literal: _one_of,
    Union: _perhaps,
    UnionType: _perhaps,
}


def _record(kind: type[Any]) -> Read:
    """A reader of a mapping with a value for each field of a class, but for those that have a default."""

    def read_all(data: object) -> Any:
        reads, needed = _fields(kind)  # type: ignore[arg-type]  # as above
        given = _mapping_of_anything(data)
        for name in needed:
            if name not in given:
                raise DamageError("is missing", (name,))
        arguments = {}
        for name, each in given.items():
            if name not in reads:
                raise DamageError(f"has an entry {named(name)} that is not known")
            alias, read = reads[name]
            try:
                arguments[alias] = read(each)
            except DamageError as damage:
                raise damage.inside(name) from None
        return _put_together(kind, **arguments)

    return read_all


def _stored(kind: type[Any]) -> Read:
    """A reader of a class that is written in another form: it says in which, and what becomes of that."""
    read = _reader(kind.stored)
    return lambda data: _put_together(kind.from_facts, read(data))


def _put_together(make: Callable[..., Any], *parts: Any, **named_parts: Any) -> Any:
    try:
        return make(*parts, **named_parts)
    except JostleError as mistake:
        raise DamageError(f"does not fit together: {mistake.title}") from None


@cache
def _fields(kind: type[Any]) -> tuple[dict[str, tuple[str, Read]], tuple[str, ...]]:
    """A reader of each field of a class, and which have to be there: when asked, as it may hold itself."""
    attrs.resolve_types(kind, include_extras=True)
    known = [field for field in attrs.fields(kind) if field.init]
    reads = {each.name: (each.alias, _reader(each.type)) for each in known}
    return reads, tuple(each.name for each in known if each.default is attrs.NOTHING)
