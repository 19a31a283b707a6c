"""What single cells say, whatever type they come in: as a text, as a number, or nothing.

A column's type is public, as its name is, and says how its cells are written. Within a type, what a cell says depends
on that cell alone, and nothing here fails because of one: an error that a row can cause is an answer about that row.
Columns of Python objects have no such type, so each object is read by its own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jostle.errors import TableError

__all__ = ["NUMBER", "as_numbers", "as_texts", "by_type", "check_readable", "chunks", "is_number", "is_text", "plain"]

NUMBER = r"^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|(?i:inf|infinity))\s*$"
"""What counts as a number in text; anything else is an empty cell to a numeric column."""
LONGEST_INTEGER = 2**1024
"""Beyond the numbers that a float can hold."""


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_encoded_text(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_encoded_text(kind: pa.DataType) -> bool:
    """Whether cells are texts after a cast, perhaps with bytes that are not UTF-8."""
    return bool(pa.types.is_string_view(kind) or _is_bytes(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def check_readable(name: str, kind: pa.DataType, *, numeric: bool) -> None:
    """Refuse a column whose type says that its cells are not single values, or not the numbers they are declared as."""
    plain_kind = _plain_type(kind)
    if is_text(plain_kind) or is_number(plain_kind) or pa.types.is_boolean(plain_kind) or pa.types.is_null(plain_kind):
        return
    if not pa.types.is_temporal(plain_kind) or pa.types.is_interval(plain_kind):
        raise TableError(
            f"the cells of column {name!r} are {kind}, not single values", fix="split or convert the column"
        )
    if numeric:
        raise TableError(
            f"the cells of column {name!r} are {kind}, but it is declared as numeric",
            why="which number a time is depends on a unit and a starting point",
            fix="convert the column to numbers, such as days since a public date",
        )
    try:
        as_texts(pa.array([0]).cast(pa.int32() if plain_kind.bit_width == 32 else pa.int64()).view(plain_kind))
    except pa.ArrowInvalid:
        raise TableError(f"the cells of column {name!r} are {kind}, a time zone that is not known here") from None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    return kind


def chunks(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """A column as arrays."""
    return values.chunks if hasattr(values, "chunks") else [values]


def plain(values: pa.Array) -> pa.Array:
    """The cells without an extension or run lengths around them; a dictionary stays."""
    if isinstance(values.type, pa.BaseExtensionType):
        return plain(values.storage)
    if pa.types.is_run_end_encoded(values.type):
        return plain(pc.run_end_decode(values))
    return values


def as_texts(values: pa.Array) -> pa.Array:
    """The cells as they would be written: 1 for an integer or 1.0, True for a truth; null for not-a-number."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "True", "False")
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    elif _is_encoded_text(kind):
        values = pc.cast(values, pa.large_string(), safe=False)
    texts = values if is_text(values.type) else pc.cast(values, pa.string())
    if pa.types.is_timestamp(kind):  # the same whatever the unit
        texts = pc.replace_substring_regex(texts, r"\.0+([^0-9]|$)", r"\1")
    return _readable(texts)


def _readable(texts: pa.Array) -> pa.Array:
    """The texts with a replacement character for whatever is not UTF-8."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raw = texts.cast(pa.large_binary()).to_pylist()
        return pa.array([None if text is None else text.decode(errors="replace") for text in raw], pa.large_string())
    return texts


def as_numbers(values: pa.Array) -> NDArray[np.float64]:
    """The cells as numbers, not-a-number where they are empty or no numbers."""
    if is_text(values.type):
        values = _parsed(as_texts(values))
    elif pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    elif not is_number(values.type):
        return np.full(len(values), np.nan)
    numbers = pc.cast(values, pa.float64(), safe=False)
    return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)


def _parsed(texts: pa.Array) -> pa.Array:
    try:  # reads nothing as a number that the slower way does not, and the same numbers
        return pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        readable = pc.match_substring_regex(texts, NUMBER)
        trimmed = pc.utf8_trim_whitespace(texts)
        return pc.cast(pc.if_else(readable, trimmed, pa.scalar(None, trimmed.type)), pa.float64())


def by_type(objects: list[object]) -> Iterator[tuple[NDArray[np.intp], pa.Array]]:
    """Yield objects of one type after the other, with the places they came from; empty ones are left out."""
    places: dict[pa.DataType, list[int]] = {}
    cells: dict[pa.DataType, list[object]] = {}
    for place, value in enumerate(objects):
        cell = _cell(value)
        if cell is not None:
            kind = TYPES[type(cell)]
            places.setdefault(kind, []).append(place)
            cells.setdefault(kind, []).append(cell)
    for kind, found in cells.items():
        yield np.array(places[kind], dtype=np.intp), pa.array(found, kind)


TYPES: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.large_string(),
}


def _cell(value: object) -> bool | int | float | str | None:
    """An object's value as one of four exact types, or None where it says nothing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    try:
        read = next((read for kinds, read in READERS if isinstance(value, kinds)), str)
        cell = read(value)
    except Exception:  # noqa: BLE001 - a class of anybody's making; that it fails must not show
        return None
    return _string(cell) if isinstance(cell, str) else cell


def _string(value: str) -> str:
    return str.encode(value, "utf-8", "surrogatepass").decode("utf-8", "replace")


def _time(value: np.datetime64 | np.timedelta64) -> str | None:
    return None if np.isnat(value) else str(value)


def _integer(given: int | np.integer) -> int | float | str:
    value = int(operator.index(given))
    if -(2**63) <= value < 2**63:
        return value
    if abs(value) < LONGEST_INTEGER:
        return str(value)
    return math.inf if value > 0 else -math.inf


def _real(value: float | np.floating | Decimal) -> float | None:
    if isinstance(value, Decimal) and value.is_nan():  # a signalling one does not become a float
        return None
    number = float(value)
    return None if math.isnan(number) else number


READERS: tuple[tuple[tuple[type, ...], Callable[[Any], bool | int | float | str | None]], ...] = (
    ((str,), str.__str__),
    ((bytes, bytearray, memoryview), lambda value: bytes(value).decode("utf-8", "replace")),
    ((bool, np.bool_), bool),
    ((int, np.integer), _integer),
    ((float, np.floating, Decimal), _real),
    ((np.datetime64, np.timedelta64), _time),
)
"""What objects of these types say; of others, what they are as text."""
