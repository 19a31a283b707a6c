"""Read CSV and Parquet files in record batches, larger than memory.

CSV in chunks of whole lines, where one line can never change how another is read.

A row is a line. General CSV readers let a quoted cell run over line ends, so one stray quote can swallow all the rows
after it, and take a lone carriage return for a line end, so one record can become two. Either would let one person's
record change more than one row, and void every bound on what a row can do. Here a line that is not whole by itself
(an open quote, a carriage return inside, the wrong number of cells, a megabyte or more) is dropped, whatever the
others are like. In particular nothing depends on where the file happens to be cut into chunks: lines are judged one
by one, and no chunk begins with anything that a reader could take for a mark of the file's encoding.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import pickle
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from attrs import evolve, field, frozen

from jostle.errors import TableError
from jostle.files.content import DIGEST_BYTES, FileContent, FileState, Place, path_of, state_of
from jostle.progress import Stage, stage
from jostle.tables.block import Block, Codes, Where, Whose
from jostle.tables.columns import Categorical
from jostle.tables.encode import Census, counted_columns, encode_block
from jostle.tables.engines import Folded, MemorySource, Partial, fold_blocks, merge, tally_blocks
from jostle.tables.features import Bits
from jostle.tables.frames import Memory, check_columns, guarded
from jostle.tables.kernels import MOST_RECORDS, DenseKernel, SparseKernel
from jostle.tables.persons import bounded, joined_whose, marks_of
from jostle.tables.schema import Schema
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
    names = [str(place) for place in range(len(header))]  # unlike the header's, different from each other
    convert = pa_csv.ConvertOptions(
        check_utf8=False,  # it is
        column_types={
            name: pa.dictionary(pa.int32(), pa.string()) if header[place] in as_dictionaries else pa.string()
            for place, name in enumerate(names)
            if header[place] in columns
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
        found = whole.match(text, start)
        if found and found[0]:
            kept.append(found[0])
            start = found.end()
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
PARQUET_ENDINGS = (".parquet", ".pq")


@frozen(eq=False, repr=False)
class FileSource:
    """Rows in a file, read anew, batch by batch, for every tally: as long as it is the file that was opened.

    A row that another takes the place of while the file is read could count twice; and one that is another by the next
    question could be in two parts of the table, which are paid for as if they shared no row.
    """

    path: Place
    schema: Schema
    opened: FileState | None = None
    """What the file was like when it was opened; None for one that is only looked at, or was read whole."""
    seen: list[bytes] = field(factory=list)
    """Once they were tallied, a hash of all rows: what a file is like can stay while others are written into it."""

    def ready(self) -> None:
        """A file is looked at when it is read."""

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """The kernel's tally of all rows that meet the conditions."""
        if self.opened is None:
            return tally_blocks(self.blocks(), self.schema, kernel, where)
        hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
        found = tally_blocks(self._hashed(hasher), self.schema, kernel, where)
        if not self.seen:
            self.seen.append(hasher.digest())
        if hasher.digest() != self.seen[0]:
            raise self._written()
        return found

    def _hashed(self, hasher: hashlib.blake2b) -> Iterator[Block]:
        for block in self.blocks():
            sparse = () if block.bits is None else (block.bits.ends, block.bits.found)
            for codes in (*block.columns.values(), *block.steps.values(), *sparse):
                hasher.update(np.ascontiguousarray(codes).data)
            yield block

    @property
    def identity(self) -> bytes:
        """A hash of the file."""
        if isinstance(self.path, FileContent):
            return bytes.fromhex(self.path.mark.digest)
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).digest()
        except OSError as mistake:
            raise TableError(f"the file {self.path} cannot be read: {mistake.strerror}") from None

    def blocks(self, groups: Iterable[int] | None = None, census: Census | None = None) -> Iterator[Block]:
        """Yield the file's rows as codes; of a Parquet file, perhaps of some row groups only."""
        self._check_unchanged()
        names = self.schema.sources if census is None else counted_columns(self.schema, header(self.path))
        # Of Parquet, numbers that are written as texts as well: written out, many long ones do not fit into memory.
        texts = [
            name
            for name in names
            if is_parquet(path_of(self.path))
            or name == self.schema.person
            or (name in self.schema and isinstance(self.schema[name], Categorical))
        ]
        for batch in read_batches(self.path, names, as_dictionaries=texts, groups=groups, census=census):
            columns = dict(zip(names, batch.columns, strict=True))
            yield encode_block(columns, self.schema, batch.num_rows, census)
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self.opened is not None and state_of(path_of(self.path)) != self.opened:
            raise self._written()

    def _written(self) -> TableError:
        return TableError(
            f"the file {path_of(self.path)} was written since it was opened",
            why="a row that is at another place by now could count twice",
            fix="open it again, once nobody writes to it",
        )

    def bounded(self, key: bytes) -> SpilledSource:
        """The rows that are held of each person: read once, put by person into parts that fit into memory each."""
        return spilled(self, key)

    def fold(self, fold: Folded) -> Folded:
        """What a fold holds of all rows."""
        return fold_blocks(self.blocks(), fold)

    def census(self) -> Census:
        """A census of the rows, by one pass over the file."""
        found = Census()
        for _ in self.blocks(census=found):
            pass
        return found


SPILLED_BYTES = 1 << 24
"""Bytes of a file to each part that its rows are put into by person, at most MOST_PARTS of them."""
MOST_PARTS = 256


class Folder:
    """A folder for whoever made it alone, which goes with this object, and not with a copy of the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="jostle-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if process == os.getpid():
        shutil.rmtree(path, ignore_errors=True)


@frozen(eq=False, repr=False)
class SpilledSource:
    """Rows of a file that are held of each person, as codes in files of this process that end with it."""

    schema: Schema
    parts: tuple[Path, ...]
    identity: bytes
    folder: Folder
    """Where they are."""

    def ready(self) -> None:
        """They are there."""

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """The kernel's tally of all rows that meet the conditions."""
        nothing = tally_blocks(iter(()), self.schema, kernel, where)
        return merge([nothing, *(self._part(path).tally(kernel, where) for path in self.parts)])

    def _part(self, path: Path) -> MemorySource:
        with path.open("rb") as file:
            block: Block = pickle.load(file)  # noqa: S301 - written below, for this process
        return MemorySource.of_block(self.schema, block, self.identity)


def spilled(source: FileSource, key: bytes) -> SpilledSource:
    """The rows of a file that are held of each person, by one pass over it and one over what is put by person.

    All rows of a person are in memory at once, with those of others whose hash leads to the same part.
    """
    state = state_of(path_of(source.path))
    count = min(MOST_PARTS, 1 + (0 if state is None else state.size) // SPILLED_BYTES)
    folder = Folder()
    paths = tuple(folder.path / f"{part}" for part in range(count))
    for block in source.blocks():
        for path, piece in zip(paths, by_person(block, count), strict=True):
            with path.open("ab") as file:
                pickle.dump(piece, file, protocol=pickle.HIGHEST_PROTOCOL)
    for path in paths:
        pieces: list[Block] = []
        if path.exists():
            with path.open("rb") as file:
                while file.peek(1):
                    pieces.append(pickle.load(file))  # noqa: S301 - written above
        held = bounded(joined_blocks(pieces, source.schema), source.schema, key)
        with path.open("wb") as file:
            pickle.dump(held, file, protocol=pickle.HIGHEST_PROTOCOL)
    return SpilledSource(source.schema, paths, source.identity, folder)


def by_person(block: Block, count: int) -> tuple[Block, ...]:
    """A block's rows in so many parts, those of a person in one: by a hash of who that is."""
    whose = block.whose
    if whose is None:
        raise TypeError("rows of nobody are not put by person")
    parts = (marks_of(whose.names) % np.uint64(count)).astype(np.uint16)[whose.codes]
    order = np.argsort(parts, kind="stable")
    ends = np.cumsum(np.bincount(parts, minlength=count))[:-1]
    return tuple(_compact(block.rows(places)) for places in np.split(order, ends))


def _compact(block: Block) -> Block:
    """The block with no more names of persons than it has."""
    whose = block.whose
    if whose is None:
        return block
    persons, codes = np.unique(whose.codes, return_inverse=True)
    names = whose.names.take(pa.array(persons))
    return evolve(block, columns=dict(block.columns), whose=Whose(codes, names))


def joined_blocks(blocks: list[Block], schema: Schema) -> Block:
    """The rows of several blocks, in one."""
    columns = {name: _joined([block.columns[name] for block in blocks]) for name in schema.names}
    steps = {name: _joined([block.steps[name] for block in blocks]) for name in (blocks[0].steps if blocks else ())}
    facts = schema.features
    bits = None if facts is None else Bits.joined((block.bits for block in blocks if block.bits is not None), facts)
    whose = None if schema.person is None else joined_whose([b.whose for b in blocks if b.whose is not None])
    return Block(columns, sum(block.length for block in blocks), None, bits, steps, whose)


def open_file(path: Path, schema: Schema) -> FileSource:
    """The file as a source, after a look at its header."""
    state = state_of(path)
    check_columns(header(path), schema.sources, str(path), in_text=not is_parquet(path))
    return FileSource(path.absolute(), schema, state)


def in_memory(source: FileSource, census: Census | None = None) -> MemorySource:
    """A file's rows, encoded once and kept."""
    blocks, memory = (
        [],
        Memory(path_of(source.path), "Table.read(path, schema, stream=True), which reads rows anew each time"),
    )
    for block in source.blocks(census=census):
        sparse = 0 if block.bits is None else block.bits.found.nbytes + block.bits.ends.nbytes
        sparse += 0 if block.whose is None else block.whose.codes.nbytes + block.whose.names.nbytes
        memory.take(sum(codes.nbytes for held in (block.columns, block.steps) for codes in held.values()) + sparse)
        blocks.append(block)
    return MemorySource.of_block(source.schema, joined_blocks(blocks, source.schema), source.identity)


def _joined(parts: list[Codes]) -> Codes:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)


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
    # What is buffered beforehand is all that is asked for, and is held to the end.
    with pa_parquet.ParquetFile(source_of(place), read_dictionary=texts, pre_buffer=False) as file:
        chosen = list(range(file.num_row_groups)) if groups is None else list(groups)
        done, total = 0, sum(file.metadata.row_group(group).num_rows for group in chosen)
        for batch in file.iter_batches(BATCH_ROWS, row_groups=chosen, columns=list(columns), use_threads=False):
            done += batch.num_rows
            said.at(done, total)
            found = [
                _written_out(batch[name]) if name in texts and name not in as_dictionaries else batch[name]
                for name in columns
            ]
            yield pa.record_batch(found, names=list(columns))


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
