"""From what JSON holds to values of declared types: each checked, none converted into something it was not.

What a file has to hold is said once, by the annotations of a frozen attrs class, and msgspec reads it. Here stands what
msgspec does not know: amounts, paths, arrays, that nothing in a file is passed over, and what a class refuses.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import attrs
import msgspec
import numpy as np
from numpy.typing import NDArray

from jostle.errors import AmountError, DamageError, JostleError
from jostle.privacy.amounts import INSIDE_BITS, exact, recordable

T = TypeVar("T")


def structured(data: object, kind: type[T]) -> T:
    """The value that `json_parsed` gave read as one of a type, or raise what does not fit and where."""
    try:
        made = msgspec.convert(data, kind, dec_hook=_read)
    except msgspec.ValidationError as mistake:
        refusal = mistake.__cause__
        said = refusal.title if isinstance(refusal, JostleError) else str(mistake)
        raise DamageError(said) from None
    _check_names(data, made)
    return made


def _read(kind: Any, data: object) -> Any:
    """A value of a type that JSON does not have."""
    if kind is Fraction:
        return _amount(data)
    if kind is Path:
        return _path(data)
    if get_origin(kind) is np.ndarray:
        return _array(data, get_args(get_args(kind)[1])[0])
    raise NotImplementedError(f"nothing reads {kind}")


def _amount(data: object) -> Fraction:
    if isinstance(data, str):
        try:
            return recordable(exact(data, "it"), "it", INSIDE_BITS)
        except AmountError:
            pass
    raise ValueError('Expected an amount such as "1/3"')


def _path(data: object) -> Path:
    if isinstance(data, str) and data and "\0" not in data:
        return Path(data)
    raise ValueError("Expected a path")


def _array(data: object, kind: type[np.generic]) -> NDArray[Any]:
    """An array of a list of numbers, perhaps in lists, all of one length."""
    allowed = {int} if issubclass(kind, np.integer) else {int, float}
    said = f"Expected an `array` of {'whole' if issubclass(kind, np.integer) else 'finite'} numbers of 64 bits"
    # Looked at first: numpy would make room for a long text once for each number beside it.
    flat: Any = data if isinstance(data, list) else [None]
    while set(map(type, flat)) == {list}:
        flat = list(chain.from_iterable(flat))
    if not set(map(type, flat)) <= allowed:
        raise ValueError(said)
    try:
        numbers = np.asarray(data, dtype=kind)
    except OverflowError:
        raise ValueError(said) from None
    except ValueError:
        raise ValueError("Expected lists of one length") from None
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError(said)
    return numbers


def _check_names(data: Any, made: Any) -> None:
    """Refuse names that no field has: one that was damaged, say, whose field has a default."""
    if isinstance(data, dict) and attrs.has(type(made)):
        for name, value in data.items():
            if name not in _names(type(made)):  # type: ignore[arg-type]  # types can be looked up
                raise DamageError(f"Unknown entry {name[:40]!r}")
            _check_names(value, getattr(made, name))
    elif isinstance(data, dict) and isinstance(made, dict):
        for name, value in data.items():
            _check_names(value, made[name])
    elif isinstance(data, list) and isinstance(made, tuple) and data and isinstance(data[-1], dict | list):
        for value, part in zip(data, made, strict=True):
            _check_names(value, part)


@cache
def _names(kind: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in attrs.fields(kind))
