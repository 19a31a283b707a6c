"""Read a schema off public data."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from jostle.errors import SchemaError
from jostle.tables import readers
from jostle.tables.columns import MISSING, OTHER, Categorical, Column, Numeric
from jostle.tables.encode import NUMBER, as_texts
from jostle.tables.fingerprint import fingerprint
from jostle.tables.schema import Schema

__all__ = ["infer_public"]

MOST_CODED = 10
"""A column of numbers with at most so many different ones counts as categorical."""
MOST_VALUES = 1000
"""A column of texts with more different ones is an identifier or free text, and left out."""


def infer_public(source: object, *, label: str | None, bins: int) -> Schema:
    """Return the schema of a public file or dataframe; what was opened as private is refused."""
    if type(source).__module__.startswith("jostle."):
        raise SchemaError(
            f"a schema is not read off a {type(source).__name__}, which may be private",
            why="values and bounds read off rows would be public for free, and say who is in the table",
            fix="write the schema from public knowledge, or infer it from a public table of the same kind",
        )
    table = _read(Path(source)) if isinstance(source, str | Path) else readers.frame_texts(source)
    if not table.num_rows:
        raise SchemaError("there are no rows to read a schema off")
    columns: dict[str, Column] = {}
    for name in table.column_names:
        column = _infer_column(table.column(name), bins, must_be_categorical=name == label)
        if column is None:
            warnings.warn(f"{name!r} has more than {MOST_VALUES} different texts and is left out", stacklevel=3)
        else:
            columns[name] = column
    schema = Schema(columns, label=label)
    path = Path(source) if isinstance(source, str | Path) else None
    rows = readers.open_file(path, schema) if path else readers.frame_source(source, schema)
    return evolve(schema, inferred_from=fingerprint(rows).public_mark)


def _read(path: Path) -> pa.Table:
    names = readers.header(path)
    return pa.Table.from_batches(readers.read_batches(path, names)) if names else pa.table({})


def _infer_column(values: pa.ChunkedArray, bins: int, *, must_be_categorical: bool) -> Column | None:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    empty = values.null_count > 0
    present = values.drop_null()
    different = pc.unique(present)
    numbers = _numbers(present)
    if numbers is not None and len(different) > MOST_CODED and not must_be_categorical:
        finite = numbers[np.isfinite(numbers)]
        empty = empty or finite.size < numbers.size
        low, high = _plain(finite.min()), _plain(finite.max())
        return Numeric(low, high, bins=bins, missing="value" if empty else "outside")
    if len(different) > MOST_VALUES:
        return None
    texts = sorted(set(_texts(different)) - {OTHER, MISSING}, key=_natural)
    return Categorical(texts or ["?"], missing="value" if empty else "outside", outside="drop")


def _numbers(values: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if not pc.all(pc.match_substring_regex(values, NUMBER)).as_py():
            return None
        values = pc.cast(pc.utf8_trim_whitespace(values), pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy())


def _plain(number: np.float64) -> float:
    return int(number) if number == np.floor(number) and abs(number) < 2**53 else float(number)


def _texts(values: pa.Array) -> list[str]:
    return [text for text in as_texts(values).to_pylist() if text is not None]


def _natural(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
