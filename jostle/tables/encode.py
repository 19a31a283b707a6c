"""Turn columns of values into columns of codes, one value at a time as far as anyone can tell.

What a value becomes depends on that value and its column's declaration alone. In particular nothing here raises because
of what a cell holds: an error that one row can cause is an answer about that row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jostle.tables.block import Block, Codes, code_type
from jostle.tables.columns import Categorical, Column, Numeric
from jostle.tables.schema import Schema

__all__ = ["NUMBER", "as_texts", "encode_block", "encode_column"]

DROPPED = -1
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
"""What counts as a number in text; anything else is an empty cell to a numeric column."""


def encode_block(columns: Mapping[str, pa.Array], schema: Schema, length: int) -> Block:
    """Return the rows as codes, without those that a column's policy drops."""
    encoded = {name: encode_column(columns[name], schema[name]) for name in schema.names}
    keep = np.ones(length, dtype=np.bool_)
    for codes in encoded.values():
        keep &= codes != DROPPED
    if keep.all():
        return Block({name: _narrow(codes, schema[name].size) for name, codes in encoded.items()}, length)
    rows = np.flatnonzero(keep)
    return Block({name: _narrow(codes[rows], schema[name].size) for name, codes in encoded.items()}, len(rows))


def _narrow(codes: NDArray[np.int64], size: int) -> Codes:
    return codes.astype(code_type(size))


def encode_column(values: pa.Array, column: Column) -> NDArray[np.int64]:
    """Return the code of each value, -1 where its row is to be dropped."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(column, Categorical):
        return _encode_categorical(values, column)
    return _encode_numeric(values, column)


def _encode_categorical(values: pa.Array, column: Categorical) -> NDArray[np.int64]:
    if pa.types.is_dictionary(values.type):
        known = _encode_categorical(values.dictionary, column)
        indices = values.indices
        codes = known[indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(known) else np.zeros(len(values))
        present = indices.is_valid().to_numpy(zero_copy_only=False)
        return np.where(present, codes, _or_dropped(column.missing_code)).astype(np.int64)
    texts = as_texts(values)
    found = pc.index_in(texts, value_set=pa.array(column.values, type=texts.type))
    codes = found.fill_null(DROPPED).to_numpy(zero_copy_only=False).astype(np.int64)
    empty = texts.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    codes[(codes == DROPPED) & ~empty] = _or_dropped(column.other_code)
    codes[empty] = _or_dropped(column.missing_code)
    return codes


def _encode_numeric(values: pa.Array, column: Numeric) -> NDArray[np.int64]:
    numbers = _as_numbers(values)
    cuts = np.array(column.cut_points)
    codes: NDArray[np.int64] = np.searchsorted(cuts, numbers, side="right") - 1
    codes[numbers == cuts[-1]] = column.bin_count - 1
    below, above, empty = numbers < cuts[0], numbers > cuts[-1], np.isnan(numbers)
    if column.outside == "clamp":
        codes[below] = 0
        codes[above] = column.bin_count - 1
    else:
        codes[below | above] = _or_dropped(column.other_code)
    codes[empty] = _or_dropped(column.missing_code)
    return codes


def _or_dropped(code: int | None) -> int:
    return DROPPED if code is None else code


def as_texts(values: pa.Array) -> pa.Array:
    """Return the values as they would be written: 1 for an integer or 1.0, True for a truth."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "True", "False")
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    try:
        return pc.cast(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())


def _as_numbers(values: pa.Array) -> NDArray[np.float64]:
    """Return the values as numbers, not-a-number where they are empty or no numbers."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _as_numbers(values.cast(kind.value_type))
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        readable = pc.match_substring_regex(values, NUMBER)
        texts = pc.if_else(readable, pc.utf8_trim_whitespace(values), pa.scalar(None, kind))
        values = pc.cast(texts, pa.float64())
    elif pa.types.is_boolean(kind):
        values = pc.cast(values, pa.int8())
    elif pa.types.is_temporal(kind):
        values = pc.cast(pc.cast(values, pa.int64(), safe=False), pa.float64(), safe=False)
    try:
        numbers = pc.cast(values, pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(values), np.nan)
    return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)
