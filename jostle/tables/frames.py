"""Read dataframes of any library that narwhals knows, and Arrow tables."""

from __future__ import annotations

import hashlib
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.census import Census
from jostle.tables.encode import Cells, encode_block
from jostle.tables.engines import MemorySource
from jostle.tables.features import Bits
from jostle.tables.guard import UNREADABLE
from jostle.tables.schema import Schema
from jostle.tables.values import by_type

__all__ = ["check_columns", "encode_frame", "frame_columns", "frame_source", "matrix_source"]

READABLE = "give a pandas, polars, Arrow, Modin, cuDF, Dask or DuckDB frame, or Table.read(path, schema)"


def frame_source(frame: Any, schema: Schema, census: Census | None = None) -> MemorySource:
    """Return the rows of a dataframe."""
    wrapped = _narwhal(frame)
    block = encode_frame(wrapped, schema, census)
    return MemorySource(schema, block.columns, block.length, identity=_identity(wrapped), bits=block.bits)


def matrix_source(matrix: Any, frame: Any, schema: Schema, census: Census | None = None) -> MemorySource:
    """Return the rows of a dataframe, each with the features that a sparse matrix has in the same row."""
    wrapped = _narwhal(frame)
    bits = _bits(matrix, schema)
    columns, length = frame_columns(wrapped, schema.names)
    if length != bits.length:
        raise TableError(
            "the matrix and the frame have different numbers of rows", fix="give one row per record in both"
        )
    block = encode_block(columns, schema, length, census, bits)
    identity = hashlib.blake2b(_identity(wrapped) + bits.ends.tobytes() + bits.found.tobytes(), digest_size=16)
    return MemorySource(schema, block.columns, block.length, identity=identity.digest(), bits=block.bits)


def _bits(matrix: Any, schema: Schema) -> Bits:
    if schema.features is None:
        raise TableError("the schema declares no features", fix='features=SparseFeatures("text", words=[...])')
    given: object = matrix
    if not issparse(given) or matrix.ndim != 2:
        raise TableError(f"{type(matrix).__name__} is not a sparse matrix", fix="scipy.sparse.csr_array(matrix)")
    if matrix.shape[1] != schema.features.size:
        raise TableError(
            f"the matrix has {matrix.shape[1]:,} columns, but {schema.features.size:,} features are declared",
            fix="declare one word per column",
        )
    rows = matrix.tocsr()
    if not rows.has_canonical_format or (rows.nnz and not rows.data.all()):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return Bits(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), schema.features)


def encode_frame(frame: Any, schema: Schema, census: Census | None = None) -> Block:
    """Return a dataframe's rows as one block of codes."""
    columns, length = frame_columns(frame, schema.sources)
    return encode_block(columns, schema, length, census)


def frame_columns(frame: Any, names: tuple[str, ...] | None = None) -> tuple[dict[str, Cells], int]:
    """Return a dataframe's columns of these names, or all that have one, and how many rows there are."""
    wrapped = _narwhal(frame)
    if names is None:
        names = tuple(name for name in wrapped.columns if isinstance(name, str))
    check_columns(tuple(wrapped.columns), names, "the frame")
    return {name: _cells(wrapped.get_column(name)) for name in names}, len(wrapped)


def check_columns(present: tuple[object, ...], wanted: tuple[str, ...], where: str) -> None:
    """Refuse data without a column that is wanted, or with two of its name.

    What other names the data have is not told: of a file without a header, they are a row.
    """
    absent = [name for name in wanted if name not in present]
    if absent:
        alike = {str(name).strip().casefold() for name in present} & {name.strip().casefold() for name in absent}
        raise TableError(
            f"{where} has no column {', '.join(map(repr, absent))}",
            why="every column that the schema declares is read",
            fix="one is written otherwise: capitals and spaces count"
            if alike
            else f"compare the schema with the names of its {len(present)} columns",
        )
    twice = [name for name in wanted if present.count(name) > 1]
    if twice:
        raise TableError(f"{where} has two columns {twice[0]!r}", fix="give each a name of its own")


def _narwhal(frame: Any) -> nw.DataFrame[Any]:
    try:
        wrapped = nw.from_native(frame)
        return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
    except TypeError:
        raise TableError(f"{type(frame).__name__} is not a dataframe that can be read", fix=READABLE) from None
    except DuplicateError:
        raise TableError("two columns of the frame have one name", fix="give each a name of its own") from None
    except Exception:  # noqa: BLE001 - a lazy frame runs its library's code only now
        raise TableError(f"the {type(frame).__name__} could not be computed", why=UNREADABLE) from None


def _cells(series: nw.Series[Any]) -> Cells:
    """Return a column as Arrow if it has a type of its own, else as objects.

    A library that stores objects has looked at all of them to say more about their type, and one row could change that
    for all others. So objects are read one by one, except that texts, which nothing else is mistaken for, go together.
    """
    if _holds_objects(series):
        objects = series.to_list()
        try:
            return pa.array(objects, pa.large_string(), from_pandas=True)
        except (pa.ArrowException, ValueError, TypeError):
            return objects
    try:
        values = series.to_arrow()
    except Exception:  # noqa: BLE001 - Arrow does not know the type, and what it says may quote a cell
        return series.to_list()
    return series.to_list() if _is_foreign(values.type) else values


def _holds_objects(series: nw.Series[Any]) -> bool:
    """Return whether cells, or a pandas column's categories, are stored as objects, whatever they are said to be."""
    dtype = getattr(series.to_native(), "dtype", None)
    stored = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    return series.dtype == nw.Object or (isinstance(stored, np.dtype) and stored.kind == "O")


def _is_foreign(kind: pa.DataType) -> bool:
    """Return whether this is a library's own way to store something in Arrow, such as periods or intervals."""
    return isinstance(kind, pa.BaseExtensionType) or (
        pa.types.is_dictionary(kind) and isinstance(kind.value_type, pa.BaseExtensionType)
    )


def _identity(frame: nw.DataFrame[Any]) -> bytes:
    hasher = hashlib.blake2b(digest_size=16)
    for series in frame.iter_columns():
        cells = _cells(series)
        parts = [(None, cells)] if not isinstance(cells, list) else list(by_type(cells))
        for places, values in parts:
            hasher.update(f"{series.name}\0{values.type}\0{len(frame)}".encode(errors="replace"))
            hasher.update(b"" if places is None else places.tobytes())
            hasher.update(_stream(values))
    return hasher.digest()


def _stream(values: pa.Array | pa.ChunkedArray) -> bytes:
    if isinstance(values, pa.ChunkedArray):
        texts = pa.types.is_string(values.type)  # all chunks together may be too long for these
        values = (values.cast(pa.large_string()) if texts else values).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("", values.type)])) as stream:
        stream.write_batch(pa.record_batch([values], names=[""]))
    return bytes(sink.getvalue())
