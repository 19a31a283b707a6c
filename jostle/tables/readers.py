"""Read CSV and Parquet files in record batches, larger than memory, and frames of any library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from attrs import frozen

from jostle.errors import TableError
from jostle.tables.block import Block, Where
from jostle.tables.csv_lines import csv_batches, csv_header
from jostle.tables.encode import encode_block
from jostle.tables.engines import MemorySource, Partial, tally_blocks
from jostle.tables.kernels import DenseKernel, SparseCounts
from jostle.tables.schema import Schema

__all__ = [
    "FileSource",
    "check_columns",
    "encode_frame",
    "frame_source",
    "frame_texts",
    "header",
    "in_memory",
    "open_file",
    "read_batches",
]

BATCH_ROWS = 1 << 17
CSV_ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".tsv", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
UNREADABLE = "the reason is kept back, since it could quote private rows"


@frozen(eq=False, repr=False)
class FileSource:
    """Rows in a file, read anew, batch by batch, for every tally."""

    path: Path
    schema: Schema

    def tally(self, kernel: DenseKernel | SparseCounts, where: Where) -> Partial:
        """Return what the kernel finds in all rows that meet the conditions."""
        return tally_blocks(self.blocks(), self.schema, kernel, where)

    @property
    def identity(self) -> bytes:
        """Return a hash of the file."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
        except OSError as mistake:
            raise TableError(f"the file {self.path} cannot be read: {mistake.strerror}") from None

    def blocks(self) -> Iterator[Block]:
        """Yield the file's rows as codes."""
        for batch in read_batches(self.path, self.schema.names):
            yield encode_block(dict(zip(batch.schema.names, batch.columns, strict=True)), self.schema, batch.num_rows)


def open_file(path: Path, schema: Schema) -> FileSource:
    """Return the file as a source, after a look at its header."""
    present = header(path)
    check_columns(present, schema, str(path))
    return FileSource(path, schema)


def in_memory(source: FileSource) -> MemorySource:
    """Return a file's rows, encoded once and kept."""
    blocks = list(source.blocks())
    columns = {
        name: np.concatenate([block.columns[name] for block in blocks]) if blocks else np.empty(0, dtype=np.uint8)
        for name in source.schema.names
    }
    length = sum(block.length for block in blocks)
    return MemorySource(source.schema, columns, length, identity=source.identity)


def frame_source(frame: Any, schema: Schema) -> MemorySource:
    """Return the rows of a dataframe of any library that narwhals knows, or of an Arrow table."""
    wrapped = _narwhal(frame)
    block = _encode(wrapped, schema)
    return MemorySource(schema, block.columns, block.length, identity=_frame_identity(wrapped))


def encode_frame(frame: Any, schema: Schema) -> Block:
    """Return a dataframe's rows as one block of codes."""
    return _encode(_narwhal(frame), schema)


def frame_texts(frame: Any) -> pa.Table:
    """Return a dataframe as Arrow, column by column; only public data is looked at whole."""
    wrapped = _narwhal(frame)
    return pa.table({name: _series_as_arrow(wrapped[name]) for name in wrapped.columns})


def _narwhal(frame: Any) -> nw.DataFrame[Any]:
    try:
        wrapped = nw.from_native(frame)
    except TypeError:
        raise TableError(
            f"{type(frame).__name__} is not a dataframe that can be read",
            fix="give a pandas, polars, Arrow, Modin, cuDF, Dask or DuckDB frame, or Table.read(path, schema)",
        ) from None
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def _encode(frame: nw.DataFrame[Any], schema: Schema) -> Block:
    check_columns(tuple(frame.columns), schema, "the frame")
    arrays = {name: _series_as_arrow(frame[name]) for name in schema.names}
    return encode_block(arrays, schema, len(frame))


def _frame_identity(frame: nw.DataFrame[Any]) -> bytes:
    hasher = hashlib.blake2b(digest_size=16)
    for name in frame.columns:
        values = _series_as_arrow(frame[name])
        hasher.update(f"{name}\0{values.type}\0{len(values)}".encode())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([("", values.type)])) as stream:
            stream.write_batch(pa.record_batch([values], names=[""]))
        hasher.update(sink.getvalue())
    return hasher.digest()


def _series_as_arrow(series: nw.Series[Any]) -> pa.Array:
    try:
        values = series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Cells of mixed types: each becomes what it would be as text.
        values = pa.array([None if _is_empty(value) else str(value) for value in series.to_list()], pa.string())
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _is_empty(value: object) -> bool:
    return value is None or value != value  # noqa: PLR0124 - true of not-a-number alone


def check_columns(present: tuple[str, ...], schema: Schema, where: str) -> None:
    absent = [name for name in schema.names if name not in present]
    if absent:
        raise TableError(
            f"{where} has no column {', '.join(map(repr, absent))}",
            why="every column that the schema declares is read",
            fix=f"it has {', '.join(map(repr, present[:20]))}",
        )


def header(path: Path) -> tuple[str, ...]:
    kind = _kind(path)
    try:
        if kind == "parquet":
            return tuple(pa_parquet.read_schema(path).names)
        return csv_header(path)
    except FileNotFoundError:
        raise TableError(f"there is no file {path}", fix="check the path") from None
    except PermissionError:
        raise TableError(f"the file {path} may not be read", fix=f"chmod u+r {path}") from None
    except (OSError, pa.ArrowException):
        raise TableError(f"the file {path} cannot be read as {kind}", why=UNREADABLE) from None


def _kind(path: Path) -> str:
    name = path.name.lower()
    if name.endswith(CSV_ENDINGS):
        return "CSV"
    if name.endswith(PARQUET_ENDINGS):
        return "parquet"
    raise TableError(
        f"the file {path} has no ending that says how to read it",
        fix=f"one of {', '.join(CSV_ENDINGS + PARQUET_ENDINGS)}",
    )


def read_batches(path: Path, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the named columns of a file in record batches; CSV cells as text."""
    try:
        if _kind(path) == "parquet":
            with pa_parquet.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns), use_threads=False)
        else:
            yield from csv_batches(path, columns)
    except (OSError, pa.ArrowException):
        raise TableError(f"the file {path} could not be read to its end", why=UNREADABLE) from None
