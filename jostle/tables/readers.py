"""Read CSV and Parquet files in record batches, larger than memory.

*CSV* is read in chunks of whole lines. A row is a line. General CSV readers let a quoted cell run over line ends, so
one stray quote can swallow all the rows after it, and take a lone carriage return for a line end, so one record can
become two. Either would let one person's record change more than one row, and void every bound on what a row can do.
Here a line that is not whole by itself (an open quote, a carriage return inside, the wrong number of cells, a megabyte
or more) is dropped, whatever the others are like. In particular nothing depends on where the file happens to be cut
into chunks: lines are judged one by one, and no chunk begins with anything that a reader could take for a mark of the
file's encoding.

*Arrays* in .npy files are read from bytes that are there: nothing is made room for that a header only claims. numpy's
own reader makes room first, takes an archive of arrays for an array, and reads headers of Python 2 by a tokenizer,
which raises errors of its own.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from attrs import frozen
from numpy.lib import format as npy
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.files.content import DIGEST_BYTES, FileContent, FileState, Place, path_of, state_of
from jostle.progress import Stage, stage
from jostle.tables.encode import Cells, Census
from jostle.tables.frames import PARQUET_ENDINGS, Memory, check_columns, guarded
from jostle.tables.kernels import MOST_RECORDS
from jostle.tables.schema import Schema
from jostle.tables.sources import Reader, ReadSource
from jostle.tables.values import is_text

if TYPE_CHECKING:
    import pyarrow.parquet as pa_parquet

CHUNK_BYTES = 1 << 23
MOST_LINE_BYTES = (1 << 20) - 1
"""A longer line is dropped like any other that is not whole."""
HEAD_BYTES = 1 << 16
"""Arrow does not give back what it read into, where unpacking fails: the less at once, the better."""
MATCHED_AT_ONCE = 200
"""Lines; each takes some memory while it is matched."""
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
CSV_ENDINGS = tuple(kind + packed for kind in (".csv", ".tsv") for packed in ("", *PACKED))
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def source_of(place: Place) -> Path | pa.BufferReader:
    """A place as Arrow reads it."""
    return place if isinstance(place, Path) else pa.BufferReader(place.data)


def csv_header(place: Place) -> tuple[str, ...]:
    """The column names in a CSV file's first line."""
    path = path_of(place)
    with _opened(place) as (_, stream):
        head = b""
        while b"\n" not in head and len(head) <= MOST_LINE_BYTES and (more := stream.read(HEAD_BYTES)):
            head += more
    first, *rest = head.split(b"\n", 1)
    if not rest and len(first) > MOST_LINE_BYTES:
        raise TableError(f"the first line of {path} does not end within a megabyte")
    text = first.rstrip(b"\r").removeprefix(BYTE_ORDER_MARK).decode(errors="replace")
    return tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path)), ()))


def csv_batches(
    place: Place,
    columns: tuple[str, ...],
    as_dictionaries: AbstractSet[str] = frozenset(),
    census: Census | None = None,
    said: Stage | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the named columns, every cell as text, an empty one as an empty cell; some columns as dictionaries.

    A census is told how many lines there are, those that are not whole included; *said*, how much of the file is read.
    """
    header, delimiter = csv_header(place), _delimiter(path_of(place))
    places = [str(header.index(name)) for name in columns]
    names = [str(column) for column in range(len(header))]  # unlike the header's, different from each other
    convert = pa_csv.ConvertOptions(
        check_utf8=False,  # it is
        column_types={
            name: pa.dictionary(pa.int32(), pa.string()) if header[column] in as_dictionaries else pa.string()
            for column, name in enumerate(names)
            if header[column] in columns
        },
        include_columns=places,
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        null_values=[""],
    )
    parse = pa_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=lambda _: "skip")
    for chunk in _whole_lines(place, said or Stage(""), census):
        read = pa_csv.ReadOptions(column_names=names, block_size=len(chunk), use_threads=False)
        table = pa_csv.read_csv(pa.BufferReader(chunk), read_options=read, parse_options=parse, convert_options=convert)
        for batch in table.to_batches():
            yield pa.record_batch(batch.columns, names=list(columns))


@contextmanager
def _opened(place: Place) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
    """A file as it is, and what is read of it, unpacked."""
    packed = PACKED.get(path_of(place).suffix.lower())
    with pa.input_stream(source_of(place), compression=None) as file:
        if packed is None:
            yield file, file
            return
        with pa.CompressedInputStream(file, packed) as stream:
            yield file, stream


def _delimiter(path: Path) -> str:
    unpacked = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return "\t" if unpacked.suffix.lower() == ".tsv" else ","


def _whole_lines(place: Place, said: Stage, census: Census | None) -> Iterator[bytes]:
    """Yield the lines after the header, in chunks, without those that are not whole."""
    whole = _whole_lines_only(_delimiter(path_of(place)))
    header, rest = True, b""
    with _opened(place) as (file, stream):
        while data := stream.read(CHUNK_BYTES):
            said.at(file.tell(), file.size())
            lines, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                yield from _checked(lines, whole, census, header=header)
                header = False
            rest = _shortened(rest)
    if rest:
        yield from _checked(rest, whole, census, header=header)


def _shortened(start: bytes) -> bytes:
    """The start of a line without what cannot matter any more, so that no line takes more and more memory."""
    content = start.rstrip(b"\r")
    if len(content) > MOST_LINE_BYTES:
        return b"\r-"  # to be dropped, whatever follows
    return content + b"\r" if len(content) < len(start) else start


def _whole_lines_only(delimiter: str) -> re.Pattern[bytes]:
    """A pattern of the next whole lines, none if the first one is not whole.

    There is one way to read a line, so that finding none takes time linear in its length.
    """
    mark = re.escape(delimiter.encode())
    cell = rb'(?:"[^"\n]*(?:""[^"\n]*)*"|[^"\n%b]*)' % mark
    return re.compile(rb"(?:%b(?:%b%b)*\n){0,%d}" % (cell, mark, cell, MATCHED_AT_ONCE))


def _checked(text: bytes, whole: re.Pattern[bytes], census: Census | None, *, header: bool) -> Iterator[bytes]:
    """Yield the text without its first line if that is the header, and without lines that are not whole."""
    if header:
        text = text.partition(b"\n")[2]
    text += b"\n"
    if census is not None:
        census.lines = (census.lines or 0) + _line_count(text)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
        if b"\r" in text:
            ends = (line.rstrip(b"\r") for line in text.split(b"\n"))
            text = b"\n".join(line for line in ends if b"\r" not in line)
    text = _without_long_lines(text)
    if b'"' in text:
        text = _matching(text, whole)
    if text.strip(b"\n"):
        yield b"\n" + _readable(text) + b"\n"  # so that the first line is like all others


def _line_count(text: bytes) -> int:
    """How many lines hold anything; each ends with a line end."""
    written = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(written == ord("\n"))
    starts = np.concatenate([np.zeros(1, dtype=np.intp), ends[:-1] + 1])
    carriage = (ends > starts) & (written[ends - 1] == ord("\r"))
    return int(np.count_nonzero(ends - starts > carriage))


def _readable(text: bytes) -> bytes:
    """The text with a replacement character for whatever is not UTF-8: no line end is part of that."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="replace").encode()
    return text


def _matching(text: bytes, whole: re.Pattern[bytes]) -> bytes:
    start, kept = 0, []
    while start < len(text):
        lines = whole.match(text, start)
        if lines and lines[0]:
            kept.append(lines[0])
            start = lines.end()
        else:
            start = text.find(b"\n", start) + 1 or len(text)
    return b"".join(kept)


def _without_long_lines(text: bytes) -> bytes:
    start, kept = 0, []
    while start < len(text):
        end = text.rfind(b"\n", start, start + MOST_LINE_BYTES + 1) + 1
        if end:
            kept.append(text[start:end])
            start = end
        else:
            start = text.find(b"\n", start) + 1 or len(text)
    return b"".join(kept)


BATCH_ROWS = 1 << 16
MOST_TEXT = 1 << 30
"""Bytes of a column's texts in a batch."""


@frozen(eq=False, repr=False)
class RowFile(Reader):
    """A file of rows, as long as it is the one that was opened: a row that moves while it is read could count twice."""

    path: Place
    opened: FileState | None = None
    """What the file was like when it was opened; None for one that is only looked at."""
    groups: tuple[int, ...] | None = None
    """Of a Parquet file, the row groups that are read; None for all."""
    index: tuple[object, ...] = ()
    """Rows of files are called by nothing."""

    @property
    def columns(self) -> tuple[object, ...]:
        return header(self.path)

    @property
    def size(self) -> int:
        state = state_of(path_of(self.path))
        return 0 if state is None else state.size

    @property
    def identity(self) -> bytes:
        if isinstance(self.path, FileContent):
            return bytes.fromhex(self.path.mark.digest)
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).digest()
        except OSError as mistake:
            raise TableError(f"the file {self.path} cannot be read: {mistake.strerror}") from None

    def batches(
        self, names: tuple[str, ...], few: AbstractSet[str], census: Census | None = None
    ) -> Iterator[tuple[Mapping[str, Cells], int]]:
        self._check_unchanged()
        # Of Parquet, numbers that are written as texts as well: written out, many long ones do not fit into memory.
        texts = names if is_parquet(path_of(self.path)) else few
        for batch in read_batches(self.path, names, as_dictionaries=texts, groups=self.groups, census=census):
            yield dict(zip(names, batch.columns, strict=True)), batch.num_rows
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self.opened is not None and state_of(path_of(self.path)) != self.opened:
            raise self.changed()

    def changed(self) -> TableError:
        return TableError(
            f"the file {path_of(self.path)} was written since it was opened",
            why="a row that is at another place by now could count twice",
            fix="open it again, once nobody writes to it",
        )


SCAN = re.compile(r"Parquet SCAN \[([^\],]+)\]\nPROJECT (?:\*|\d+)/\d+ COLUMNS(?:\nESTIMATED ROWS: \d+)?")
"""What Polars says of a lazy frame that is no more than a file."""


def scanned_file(frame: Any) -> RowFile | None:
    """The file that a lazy frame of Polars is no more than, which is read as all files are; None for other frames.

    Polars unpacks far ahead of whoever reads its batches.
    """
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(frame, polars.LazyFrame):
        return None
    try:
        plan, names = SCAN.fullmatch(frame.explain().strip()), tuple(frame.collect_schema().names())
    except Exception:  # noqa: BLE001 - a library's own; it is said where the frame is computed
        return None
    path = Path(plan[1]).absolute() if plan is not None else None
    if path is None or not path.is_file() or path.suffix.lower() not in PARQUET_ENDINGS or header(path) != names:
        return None
    return RowFile(path, state_of(path))


def open_file(path: Path, schema: Schema) -> ReadSource:
    """The file as a source, after a look at its header."""
    state = state_of(path)
    check_columns(header(path), schema.sources, str(path), in_text=not is_parquet(path))
    return ReadSource(RowFile(path.absolute(), state), schema)


def header(place: Place) -> tuple[str, ...]:
    """The names of a file's columns."""
    path = path_of(place)
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a file", fix="name a file in it")
    kind = "Parquet" if is_parquet(path) else "CSV"
    with guarded(f"the file {path} cannot be read as {kind}", fix="see that it is whole, and is what its name ends in"):
        try:
            return tuple(_described(place).names) if kind == "Parquet" else csv_header(place)
        except FileNotFoundError:
            raise TableError(f"there is no file {path}", fix="check the path") from None
        except PermissionError:
            raise TableError(f"the file {path} may not be read", fix=f"chmod u+r {path}") from None


def is_parquet(path: Path) -> bool:
    """Whether a file's name says that it is Parquet; one that says nothing known is refused."""
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
    """How many rows each row group of a Parquet file has."""
    import pyarrow.parquet as pa_parquet  # noqa: PLC0415 - it takes its time to load, and most tables are no such files

    with guarded(f"the file {path} cannot be read as Parquet"):
        return _row_groups(pa_parquet.read_metadata(path))


def read_columns(place: Place, columns: tuple[str, ...]) -> dict[str, pa.ChunkedArray]:
    """The named columns of a public file, all rows at once; nothing if it has none."""
    memory, batches = Memory(path_of(place), "give a smaller file, or a part of the rows"), []
    for batch in read_batches(place, columns):
        memory.take(batch.nbytes)
        batches.append(batch)
    return {name: pa.chunked_array([batch[at] for batch in batches]) for at, name in enumerate(columns) if batches}


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
    with guarded(f"the file {path} could not be read to its end"), stage(f"reading {path.name}") as said:
        if is_parquet(path):
            yield from _parquet_batches(place, columns, set(as_dictionaries), groups, said)
        else:
            yield from csv_batches(place, columns, frozenset(as_dictionaries), census, said)


def _parquet_batches(
    place: Place, columns: tuple[str, ...], as_dictionaries: set[str], groups: Iterable[int] | None, said: Stage
) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pa_parquet  # noqa: PLC0415 - as above

    types = _described(place)
    texts = [name for name in columns if is_text(types.field(name).type)]
    # What is buffered beforehand is all that is asked for, and is held to the end. (A buffer for each column is made as
    # large as a damaged file says.)
    with pa_parquet.ParquetFile(source_of(place), read_dictionary=texts, pre_buffer=False) as file:
        chosen = list(range(file.num_row_groups)) if groups is None else list(groups)
        done, total = 0, sum(file.metadata.row_group(group).num_rows for group in chosen)
        for batch in file.iter_batches(BATCH_ROWS, row_groups=chosen, columns=list(columns), use_threads=False):
            done += batch.num_rows
            said.at(done, total)
            cells = [
                _written_out(batch[name]) if name in texts and name not in as_dictionaries else batch[name]
                for name in columns
            ]
            yield pa.record_batch(cells, names=list(columns))


def _described(place: Place) -> pa.Schema:
    """The types of a Parquet file's columns; one that claims rows that there cannot be is refused."""
    import pyarrow.parquet as pa_parquet  # noqa: PLC0415 - as above

    _row_groups(pa_parquet.read_metadata(source_of(place)))
    return pa_parquet.read_schema(source_of(place))


def _row_groups(metadata: pa_parquet.FileMetaData) -> tuple[int, ...]:
    rows = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows or sum(rows) > MOST_RECORDS:
        raise TableError("the file claims rows that there cannot be", fix="write it anew")
    return rows


def _written_out(texts: pa.DictionaryArray) -> pa.Array:
    """Texts one by one, unless that makes far more of them than there were."""
    if not isinstance(texts, pa.DictionaryArray):
        return texts
    lengths = pc.cast(pc.fill_null(pc.binary_length(texts.dictionary), 0), pa.int64())
    if (pc.sum(lengths.take(texts.indices)).as_py() or 0) > MOST_TEXT:
        raise TableError(
            "the file's texts are too long to be read", fix="take out cells of more than a thousand letters"
        )
    return texts.dictionary.take(texts.indices)


# Arrays in .npy files

GRID_ENDING = ".npy"
NUMBERS = "biufc"
"""The kinds of cells that are read; which of them are counts is looked at later."""
MOST_HEADER = 1 << 14


def check_array(place: Place) -> None:
    """Refuse a file that does not begin as an array does."""
    path = path_of(place)
    with guarded(_no_array(place)):
        if isinstance(place, FileContent):
            head = place.data[:MOST_HEADER]
        else:
            with path.open("rb") as file:
                head = file.read(MOST_HEADER)
        _array_header(io.BytesIO(head))


def read_array(content: FileContent) -> NDArray[Any]:
    """The array in a .npy file."""
    with guarded(_no_array(content)):
        head = io.BytesIO(content.data)
        shape, by_columns, kind = _array_header(head)
        start, count = head.tell(), math.prod(shape)
        if kind.kind not in NUMBERS:
            raise TableError(f"the file {content.path} holds no array of numbers", fix="give an array of counts")
        if min(shape, default=0) < 0 or count * kind.itemsize != len(content.data) - start:
            raise TableError(f"the file {content.path} has not as many cells as it says", fix="save the array anew")
        flat = np.frombuffer(content.data, dtype=kind, count=count, offset=start)
        return flat.reshape(shape, order="F" if by_columns else "C")


def _array_header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether the first axis runs fastest, and the type of cells."""
    version = npy.read_magic(file)
    if version not in {(1, 0), (2, 0)}:
        raise ValueError("a version for records")
    return (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)


def _no_array(place: Place) -> str:
    return f"the file {path_of(place)} cannot be read as a NumPy array"
