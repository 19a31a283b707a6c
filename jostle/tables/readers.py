"""Read CSV and Parquet files in record batches, larger than memory."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from attrs import frozen

from jostle.errors import TableError
from jostle.files.content import DIGEST_BYTES, FileContent, Place, path_of
from jostle.tables.block import Block, Where
from jostle.tables.census import Census
from jostle.tables.columns import Categorical
from jostle.tables.csv_lines import CSV_ENDINGS, csv_batches, csv_header, source_of
from jostle.tables.encode import encode_block
from jostle.tables.engines import MemorySource, Partial, tally_blocks
from jostle.tables.frames import UNREADABLE, check_columns
from jostle.tables.kernels import DenseKernel, SparseCounts
from jostle.tables.schema import Schema
from jostle.tables.values import check_readable, is_text

__all__ = ["FileSource", "header", "in_memory", "is_parquet", "open_file", "read_batches", "row_groups"]

BATCH_ROWS = 1 << 16
PARQUET_ENDINGS = (".parquet", ".pq")


@frozen(eq=False, repr=False)
class FileSource:
    """Rows in a file, read anew, batch by batch, for every tally."""

    path: Place
    schema: Schema

    def tally(self, kernel: DenseKernel | SparseCounts, where: Where) -> Partial:
        """Return what the kernel finds in all rows that meet the conditions."""
        return tally_blocks(self.blocks(), self.schema, kernel, where)

    @property
    def identity(self) -> bytes:
        """Return a hash of the file."""
        if isinstance(self.path, FileContent):
            return bytes.fromhex(self.path.mark.digest)
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).digest()
        except OSError as mistake:
            raise TableError(f"the file {self.path} cannot be read: {mistake.strerror}") from None

    def blocks(self, groups: Iterable[int] | None = None, census: Census | None = None) -> Iterator[Block]:
        """Yield the file's rows as codes; of a Parquet file, perhaps of some row groups only."""
        names, texts = self.schema.names, [name for name, kind in self.schema.columns if isinstance(kind, Categorical)]
        for batch in read_batches(self.path, names, as_dictionaries=texts, groups=groups, census=census):
            columns = dict(zip(names, batch.columns, strict=True))
            yield encode_block(columns, self.schema, batch.num_rows, census)

    def census(self) -> Census:
        """Return what becomes of the rows, by one pass over the file."""
        found = Census()
        for _ in self.blocks(census=found):
            pass
        return found


def open_file(path: Path, schema: Schema) -> FileSource:
    """Return the file as a source, after a look at its header."""
    check_columns(header(path), schema.names, str(path))
    if is_parquet(path):
        types = pa_parquet.read_schema(path)
        for name, column in schema.columns:
            check_readable(name, types.field(name).type, numeric=not isinstance(column, Categorical))
    return FileSource(path.absolute(), schema)


def in_memory(source: FileSource, census: Census | None = None) -> MemorySource:
    """Return a file's rows, encoded once and kept."""
    blocks = list(source.blocks(census=census))
    columns = {
        name: np.concatenate([block.columns[name] for block in blocks]) if blocks else np.empty(0, dtype=np.uint8)
        for name in source.schema.names
    }
    length = sum(block.length for block in blocks)
    return MemorySource(source.schema, columns, length, identity=source.identity)


def header(place: Place) -> tuple[str, ...]:
    """Return the names of a file's columns."""
    path = path_of(place)
    kind = "Parquet" if is_parquet(path) else "CSV"
    try:
        return tuple(pa_parquet.read_schema(source_of(place)).names) if kind == "Parquet" else csv_header(place)
    except FileNotFoundError:
        raise TableError(f"there is no file {path}", fix="check the path") from None
    except PermissionError:
        raise TableError(f"the file {path} may not be read", fix=f"chmod u+r {path}") from None
    except (OSError, EOFError, csv.Error, pa.ArrowException):
        raise TableError(f"the file {path} cannot be read as {kind}", why=UNREADABLE) from None


def is_parquet(path: Path) -> bool:
    """Return whether a file's name says that it is Parquet; one that says nothing known is refused."""
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        return True
    if name.endswith(CSV_ENDINGS):
        return False
    raise TableError(
        f"the file {path} has no ending that says how to read it",
        fix=f"one of {', '.join(CSV_ENDINGS + PARQUET_ENDINGS)}",
    )


def row_groups(path: Path) -> tuple[int, ...]:
    """Return how many rows each row group of a Parquet file has."""
    metadata = pa_parquet.read_metadata(path)
    return tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))


def read_batches(
    place: Place,
    columns: tuple[str, ...],
    *,
    as_dictionaries: Iterable[str] = (),
    groups: Iterable[int] | None = None,
    census: Census | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the named columns of a file in record batches, in this order; CSV cells as text.

    Columns of text may be asked for as dictionaries; of a Parquet file, some row groups only. A census is told how many
    lines a CSV file has.
    """
    path = path_of(place)
    try:
        if is_parquet(path):
            yield from _parquet_batches(place, columns, set(as_dictionaries), groups)
        else:
            yield from csv_batches(place, columns, frozenset(as_dictionaries), census)
    except (OSError, EOFError, pa.ArrowException):
        raise TableError(f"the file {path} could not be read to its end", why=UNREADABLE) from None


def _parquet_batches(
    place: Place, columns: tuple[str, ...], as_dictionaries: set[str], groups: Iterable[int] | None
) -> Iterator[pa.RecordBatch]:
    types = pa_parquet.read_schema(source_of(place))
    texts = [name for name in as_dictionaries if is_text(types.field(name).type)]
    with pa_parquet.ParquetFile(source_of(place), read_dictionary=texts) as file:
        chosen = None if groups is None else list(groups)
        for batch in file.iter_batches(BATCH_ROWS, row_groups=chosen, columns=list(columns), use_threads=False):
            yield batch.select(list(columns))
