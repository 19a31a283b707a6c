"""Read frames of any library, in memory or streamed; whatever goes wrong becomes one sentence.

What is not in memory yet comes as batches by `__arrow_c_stream__`, or by what its library has in place of that: a lazy
Polars frame, a relation of DuckDB, an Ibis expression, an Arrow reader, as those of ADBC. None is collected whole.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen
from numpy.typing import NDArray

from jostle.errors import JostleError, OptionError, TableError
from jostle.progress import stage
from jostle.tables.block import Block
from jostle.tables.encode import Cells, Census, counted_columns, encode_block
from jostle.tables.engines import MemorySource
from jostle.tables.features import Bits
from jostle.tables.fields import Floats
from jostle.tables.schema import Schema
from jostle.tables.sources import Reader
from jostle.tables.values import as_numbers, as_texts, by_type, chunks, is_number, one_by_one, plain

if TYPE_CHECKING:
    import narwhals as nw

UNREADABLE = "the reason is kept back, since it could quote private rows"


@contextmanager
def guarded(title: str, *, fix: str | None = None) -> Iterator[None]:
    """Turn whatever is raised into an error with this title; Jostle's own errors are left as they are."""
    try:
        yield
    except JostleError:
        raise
    except Exception:  # noqa: BLE001 - see above
        raise TableError(title, why=UNREADABLE, fix=fix) from None


def _memory() -> int:
    """How many bytes of memory this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not told here
        return 1 << 40


@define
class Memory:
    """Room for what is read of a file at once: as much as the machine has.

    Readers of files that anybody may have damaged raise what they like, from an index that is out of range to a text
    that is none, and their messages quote cells. And they make room for what a file says is in it, before they look
    whether it is there: what says so is looked at first.
    """

    path: Path
    way_out: str
    """What to do about a file that does not fit."""
    left: int = field(factory=_memory)

    def take(self, count: int) -> None:
        """Take room for so many bytes, or refuse."""
        self.left -= count
        if self.left < 0:
            raise TableError(f"what is in {self.path} does not fit into memory", fix=self.way_out)


DIVIDERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
"""What may stand between the names in a first line, and what that is called."""
TYPES_OF_TEXTS = frozenset({str, type(None), float})
"""Types of objects that may all be texts: pandas writes not-a-number, a float, for an empty one."""
READABLE = (
    "give a dict of columns, a frame of pandas, polars, Arrow, Dask, Spark or Ray, whatever has __arrow_c_stream__, or "
    "Table.read(path, schema)"
)


BATCH_ROWS = 1 << 16
"""Rows of a frame that are encoded at once."""


@frozen(eq=False, repr=False)
class Columns(Reader):
    """A frame in memory: its columns, each read when it is asked for."""

    found: tuple[tuple[object, Callable[[], Cells]], ...]
    """Names, which may be anything and come twice, with what reads their cells."""
    length: int
    index: tuple[object, ...] = ()
    """Names of what rows are called by, which are no columns."""
    size: int = 0
    """As nobody needs to know: its rows are in memory."""

    @property
    def columns(self) -> tuple[object, ...]:
        return tuple(name for name, _ in self.found)

    @property
    def identity(self) -> bytes:
        """A hash of all cells: the same whatever columns are called, in any order, and of any type of numbers."""
        marks = CellMarks()
        marks.add([read() for _, read in self.found], self.length)
        return marks.identity

    def batches(
        self,
        names: tuple[str, ...],
        few: AbstractSet[str],
        census: Census | None,
    ) -> Iterator[tuple[Mapping[str, Cells], int]]:
        cells = _named(self, names)
        kinds = [chunk.type for column in cells.values() if not isinstance(column, list) for chunk in chunks(column)]
        # What is looked up in a dictionary of many values is so once.
        rows = max(1, self.length) if any(map(pa.types.is_dictionary, kinds)) else BATCH_ROWS
        for start in range(0, max(1, self.length), rows):
            yield {name: column[start : start + rows] for name, column in cells.items()}, min(rows, self.length - start)


@frozen(eq=False, repr=False)
class Stream(Reader):
    """A frame whose rows come in batches."""

    kind: str
    """What it is called."""
    columns: tuple[object, ...]
    open: Callable[[tuple[str, ...]], Iterator[pa.RecordBatch]]
    """Starts it, with columns of these names."""
    index: tuple[object, ...] = ()
    size: int = 0
    marks: list[CellMarks] = field(factory=list)
    """Of the cells that were read."""

    @property
    def identity(self) -> bytes:
        """A hash of the cells that were read, as one of a frame in memory that has no other columns."""
        return self.marks[-1].identity

    def batches(
        self,
        names: tuple[str, ...],
        few: AbstractSet[str],
        census: Census | None,
    ) -> Iterator[tuple[Mapping[str, Cells], int]]:
        check_columns(self.columns, names, "the frame")
        self.marks.append(marks := CellMarks())
        with guarded(f"the {self.kind} could not be computed"), stage(f"reading the {self.kind}") as said:
            for batch in self.open(names):
                cells = {name: batch.column(name) for name in names}
                marks.add(cells.values(), batch.num_rows)
                said.doing(f"{marks.length:,} rows")
                yield cells, batch.num_rows


def frame_reader(frame: Any) -> Columns | Stream:
    """A frame of any library."""
    return _stream(frame) or _columns(frame)


def _stream(frame: Any) -> Stream | None:
    """A frame that is not in memory; None for one that is, and for what is none."""
    if isinstance(frame, Mapping | pa.Table | pa.RecordBatch):
        return None
    import narwhals as nw  # noqa: PLC0415 - it takes its time to load

    kind = type(frame).__name__
    try:
        wrapped = nw.from_native(frame, pass_through=True, allow_series=True)
    except Exception:  # noqa: BLE001 - whoever reads frames in memory says what is wrong
        return None
    if isinstance(wrapped, nw.DataFrame | nw.Series) or (wrapped is frame and not hasattr(frame, ARROW)):
        return None
    if not isinstance(wrapped, nw.LazyFrame):
        with guarded(f"the {kind} could not be computed"):
            reader = pa.RecordBatchReader.from_stream(frame)
        return Stream(kind, tuple(reader.schema.names), lambda names: _chosen(reader, names))
    kind = type(wrapped.to_native()).__name__
    if not any(hasattr(wrapped.to_native(), way) for way in WAYS):
        raise TableError(f"{kind} is not a dataframe that can be read", fix=READABLE)
    with guarded(f"the {kind} could not be computed"):
        names = tuple(wrapped.collect_schema().names())
    return Stream(kind, names, lambda names: _lazily(wrapped.select(*names).to_native()))


def _chosen(reader: pa.RecordBatchReader, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        yield pa.record_batch([batch.column(name) for name in names], names=list(names))


ARROW = "__arrow_c_stream__"
WAYS = ("collect_batches", "to_pyarrow_batches", ARROW)
"""What Polars, Ibis and all others yield batches by: that of Ibis has all rows at once behind the usual one."""


def _lazily(frame: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(frame, "collect_batches"):
        for part in frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, lazy=True):
            yield from pa.table(part).to_batches()
    elif hasattr(frame, "to_pyarrow_batches"):
        yield from frame.to_pyarrow_batches()
    else:
        yield from pa.RecordBatchReader.from_stream(frame)


class CellMarks:
    """Hashes of columns, cell by cell: the same in whatever batches cells come, whole numbers or floats."""

    def __init__(self) -> None:
        self.length = 0
        self._hashers: list[tuple[Any, Any, Any]] = []

    def add(self, columns: Iterable[Cells], length: int) -> None:
        """Add some rows' cells, column by column."""
        given = list(columns)
        self._hashers = self._hashers or [(_hasher(), _hasher(), _hasher()) for _ in given]
        for cells, (numbers, places, letters) in zip(given, self._hashers, strict=True):
            found = np.full(length, np.nan)
            for where, texts in _cells_of(cells, found):
                ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
                places.update((where + self.length).astype(np.int64).tobytes() + np.diff(ends).tobytes())
                data = texts.buffers()[2]
                letters.update(b"" if data is None else memoryview(data)[ends[0] : ends[-1]])
            numbers.update(np.ascontiguousarray(found + 0.0).data)
        self.length += length

    @property
    def identity(self) -> bytes:
        """A hash of all columns, whatever their order."""
        digests = sorted(b"".join(hasher.digest() for hasher in hashers) for hashers in self._hashers)
        return hashlib.blake2b(b"".join(digests) + f"{self.length}".encode(), digest_size=16).digest()


def _hasher() -> Any:
    return hashlib.blake2b(digest_size=16)


def _cells_of(cells: Cells, numbers: Floats) -> Iterator[tuple[NDArray[np.intp], pa.Array]]:
    """Yield texts and where they are, in order; numbers are written into an array."""
    if isinstance(cells, list):
        said: list[object] = [None] * len(cells)
        for places, values in by_type(cells):
            if is_number(values.type) or pa.types.is_boolean(values.type):
                numbers[places] = as_numbers(values)
            else:
                for row, text in zip(places.tolist(), values.to_pylist(), strict=True):
                    said[row] = text
        yield from _present(pa.array(said, pa.large_string()), 0)
        return
    start = 0
    for chunk in map(plain, chunks(cells)):
        values = plain(chunk.dictionary_decode()) if pa.types.is_dictionary(chunk.type) else chunk
        end = start + len(values)
        if is_number(values.type) or pa.types.is_boolean(values.type):
            numbers[start:end] = as_numbers(values)
        elif (objects := one_by_one(values)) is not None:
            yield from ((places + start, texts) for places, texts in _cells_of(objects, numbers[start:end]))
        elif not pa.types.is_null(values.type):
            yield from _present(as_texts(values).cast(pa.large_string()), start)
        start = end


def _present(texts: pa.Array, start: int) -> Iterator[tuple[NDArray[np.intp], pa.Array]]:
    if texts.null_count < len(texts):
        yield np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)) + start, texts.drop_null()


def matrix_source(matrix: Any, frame: Any, schema: Schema, census: Census | None = None) -> MemorySource:
    """The rows of a dataframe, each with the features that a sparse matrix has in the same row."""
    columns = _columns(frame)
    bits = _bits(matrix, schema)
    if columns.length != bits.length:
        raise TableError(
            "the matrix and the frame have different numbers of rows", fix="give one row per record in both"
        )
    texts = schema.features.column if schema.features is not None else None
    wanted = schema.sources if census is None else counted_columns(schema, columns.columns)
    names = tuple(name for name in wanted if name != texts)
    block = encode_block(_named(columns, names), schema, columns.length, census, bits)
    identity = hashlib.blake2b(columns.identity + bits.ends.tobytes() + bits.found.tobytes(), digest_size=16)
    return MemorySource.of_block(schema, block, identity.digest())


def _bits(matrix: Any, schema: Schema) -> Bits:
    from scipy.sparse import issparse  # noqa: PLC0415 - takes longer than all else here, and is for matrices alone

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
    try:
        rows.check_format(full_check=True)
    except ValueError:
        raise TableError(
            "the matrix's numbers do not fit each other",
            why="the columns it names are not all there, or its rows do not begin where others end",
            fix="make it anew of the numbers it came from",
        ) from None
    if not _rises(rows.indices, rows.indptr) or (rows.nnz and not rows.data.all()):
        rows = rows.copy()
        rows.has_canonical_format = rows.has_sorted_indices = False
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return Bits(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), schema.features)


def _rises(indices: NDArray[Any], indptr: NDArray[Any]) -> bool:
    """Whether each row has its columns in rising order, none of them twice.

    What the matrix says of itself may be older than its numbers, and a feature that a row had twice would count twice.
    """
    rises = np.diff(indices) > 0
    begins = indptr[1:-1]
    rises[begins[(begins > 0) & (begins < len(indices))] - 1] = True
    return bool(rises.all())


def encode_frame(frame: Any, schema: Schema) -> Block:
    """A public dataframe's rows as one block of codes."""
    columns, length = frame_columns(frame, schema.sources)
    return encode_block(columns, schema, length)


def frame_columns(frame: Any, names: tuple[str, ...] | None = None) -> tuple[dict[str, Cells], int]:
    """A dataframe's columns of these names, or all that have one, and how many rows there are."""
    columns = _columns(frame)
    if names is None:
        names = tuple(name for name in columns.columns if isinstance(name, str))
    return _named(columns, names), columns.length


def _named(columns: Columns, names: tuple[str, ...]) -> dict[str, Cells]:
    check_columns(columns.columns, names, "the frame", index=columns.index)
    readers = dict(columns.found)
    return {name: readers[name]() for name in names}


def check_columns(
    present: tuple[object, ...],
    wanted: tuple[str, ...],
    where: str,
    *,
    in_text: bool = False,
    index: tuple[object, ...] = (),
) -> None:
    """Refuse data without a column that is wanted, or with two of its name.

    What other names the data have is not told: of a file without a header, they are a row. So the way out is said only
    where the names that are wanted are found there, written in another way.
    """
    absent = [name for name in wanted if name not in present]
    if absent:
        raise TableError(
            f"{where} has no column {', '.join(map(repr, absent))}",
            why="every column that the schema declares is read",
            fix=way_to(absent, present, in_text=in_text, index=index),
        )
    twice = [name for name in wanted if present.count(name) > 1]
    if twice:
        raise TableError(f"{where} has two columns {twice[0]!r}", fix="give each a name of its own")


def index_names(frame: object) -> tuple[object, ...]:
    """Names of what a frame's rows are called by."""
    return tuple(getattr(getattr(frame, "index", None), "names", ()))


def way_to(absent: list[str], present: tuple[object, ...], *, in_text: bool, index: tuple[object, ...]) -> str:
    """What to do about columns that are not found."""
    sought = {name.strip().casefold() for name in absent}
    if sought & {str(name).strip().casefold() for name in present}:
        return "one is written otherwise: capitals and spaces count"
    if set(absent) & set(index):
        return "frame.reset_index(): it is the index, and no column"
    if in_text:
        return _way_in_text(sought, tuple(map(str, present)))
    its = "name of its one column" if len(present) == 1 else f"names of its {len(present)} columns"
    return f"compare the schema with the {its}"


def _way_in_text(sought: set[str], first: tuple[str, ...]) -> str:
    """What to do about columns that a text file's first line does not have as cells."""
    line = ",".join(first)
    for mark, named in DIVIDERS.items():
        if sought <= {part.strip(' "').casefold() for part in line.split(mark)}:
            return f"write commas between columns of a .csv file, tabs of a .tsv file: there are {named}"
    if sought <= {part.strip(' "\ufffd').casefold() for part in line.replace("\0", "").split(",")}:
        return "write it as UTF-8: it is UTF-16"
    if not first:
        return "put the names of the columns into its first line, which is empty"
    cells = "1 cell" if len(first) == 1 else f"{len(first)} cells"
    return f"compare the schema with its first line, which holds the names of columns, in {cells}"


def _columns(frame: Any) -> Columns:
    if isinstance(frame, pa.RecordBatch):
        return _columns(pa.Table.from_batches([frame]))
    if isinstance(frame, pa.Table):
        if len(set(frame.column_names)) < frame.num_columns:
            raise _twins()
        named = zip(frame.column_names, frame.columns, strict=True)
        return Columns(tuple((name, partial(_given_cells, cells)) for name, cells in named), frame.num_rows)
    if not isinstance(frame, Mapping):
        if (stream := _stream(frame)) is not None:
            return _collected(stream)
        wrapped = _narwhal(frame)
        columns = tuple((series.name, partial(_cells, series)) for series in wrapped.iter_columns())
        return Columns(columns, len(wrapped), index_names(frame))
    cells = {name: _given_cells(values) for name, values in frame.items()}
    lengths = {len(column) for column in cells.values()}
    if len(lengths) > 1:
        raise TableError(
            "the columns have different lengths",
            why="each row has a cell in every column",
            fix="give as many cells in each, labels included",
        )
    return Columns(tuple((name, partial(_same, column)) for name, column in cells.items()), max(lengths, default=0))


def _same(cells: Cells) -> Cells:
    return cells


def _given_cells(values: Any) -> Cells:
    """A column that came by itself: an array, a list, or a series of a dataframe's library."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.to_pylist() if _is_foreign(values.type) else values
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise TableError(f"a column has {values.ndim} sides, but must have 1", fix="give a column for each name")
        if values.dtype.kind == "O":
            return _object_cells(values.tolist())
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowException, ValueError, TypeError):
            return list(values)  # of numpy's own types: numbers alone would be left of some times
    if isinstance(values, list | tuple):
        return _object_cells(list(values))
    import narwhals as nw  # noqa: PLC0415 - it takes its time to load, and not all columns are of another library

    try:
        return _cells(nw.from_native(values, series_only=True))
    except TypeError:
        raise TableError(f"{type(values).__name__} is no column", fix="give an array, a list or a series") from None


def _collected(stream: Stream) -> Columns:
    """A public frame that comes in batches, in memory."""
    names = tuple(name for name in dict.fromkeys(stream.columns) if isinstance(name, str))
    batches = list(stream.batches(names, frozenset(), None))
    length = sum(rows for _, rows in batches)
    parts = {name: [chunk for cells, _ in batches for chunk in chunks(cells[name])] for name in names}
    given = {
        name: pa.chunked_array(cells) if cells else pa.chunked_array([[]], pa.null()) for name, cells in parts.items()
    }
    return Columns(tuple((name, partial(_same, given[str(name)])) for name in stream.columns), length)


def _narwhal(frame: Any) -> nw.DataFrame[Any]:
    import narwhals as nw  # noqa: PLC0415 - as above
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415 - as above

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TableError(f"{type(frame).__name__} is not a dataframe that can be read", fix=READABLE) from None
    except DuplicateError:
        raise _twins() from None
    except Exception:  # noqa: BLE001 - a library's own code runs here
        raise TableError(f"the {type(frame).__name__} could not be read", why=UNREADABLE) from None


def _twins() -> TableError:
    return TableError("two columns of the frame have one name", fix="give each a name of its own")


def _cells(series: nw.Series[Any]) -> Cells:
    """A column as Arrow if it has a type of its own, else as objects.

    A library that stores objects has looked at all of them to say more about their type, and one row could change that
    for all others. So objects are read one by one, except that texts, which nothing else is mistaken for, go together.
    """
    if _holds_objects(series):
        return _object_cells(series.to_list())
    try:
        values = series.to_arrow()
    except Exception:  # noqa: BLE001 - Arrow does not know the type, and what it says may quote a cell
        return series.to_list()
    return series.to_list() if _is_foreign(values.type) else values


def _object_cells(objects: list[object]) -> Cells:
    """Objects as texts if they are nothing else, or empty. What else Arrow takes for texts, it does only among such."""
    if not TYPES_OF_TEXTS.issuperset(map(type, objects)):
        return objects
    try:
        return pa.array(objects, pa.large_string(), from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError):
        return objects


def _holds_objects(series: nw.Series[Any]) -> bool:
    """Whether cells, or a pandas column's categories, are stored as objects, whatever they are said to be."""
    import narwhals as nw  # noqa: PLC0415 - as above

    dtype = getattr(series.to_native(), "dtype", None)
    stored = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    return series.dtype == nw.Object or (isinstance(stored, np.dtype) and stored.kind == "O")


def _is_foreign(kind: pa.DataType) -> bool:
    """Whether this is a library's own way to store something in Arrow, such as periods or intervals."""
    return isinstance(kind, pa.BaseExtensionType) or (
        pa.types.is_dictionary(kind) and isinstance(kind.value_type, pa.BaseExtensionType)
    )


# Answers as frames

PARQUET_ENDINGS = (".parquet", ".pq")
"""Endings of such files."""
Frames = Literal["pyarrow", "pandas", "polars"]


def as_frame(arrow: pa.Table, library: Frames = "pyarrow") -> Any:
    """An Arrow table as a frame of a library."""
    if library == "pyarrow":
        return arrow
    import narwhals as nw  # noqa: PLC0415 - it takes its time to load

    wrapped = nw.from_native(arrow, eager_only=True)
    try:
        if library == "pandas":
            return wrapped.to_pandas()
        if library == "polars":
            return wrapped.to_polars()
    except ModuleNotFoundError:
        raise OptionError(f"{library} is not installed", fix=f"pip install {library}, or to_frame()") from None
    raise OptionError(f"no frames of {library!r} are made", fix='"pyarrow", "pandas" or "polars"')


def write_frame(arrow: pa.Table, path: Path) -> None:
    """Write an Arrow table to a file: Parquet if it is called so, else CSV."""
    if path.suffix.lower() in PARQUET_ENDINGS:
        import pyarrow.parquet as pa_parquet  # noqa: PLC0415 - it takes its time to load

        pa_parquet.write_table(arrow, path)
    else:
        import pyarrow.csv as pa_csv  # noqa: PLC0415 - as above

        pa_csv.write_csv(arrow, path)
