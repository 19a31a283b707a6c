"""CSV in chunks of whole lines, where one line can never change how another is read.

A row is a line. General CSV readers let a quoted cell run over line ends, so one stray quote can swallow all the rows
after it, and take a lone carriage return for a line end, so one record can become two. Either would let one person's
record change more than one row, and void every bound on what a row can do. Here a line that is not whole by itself
(an open quote, a carriage return inside, the wrong number of cells, a megabyte or more) is dropped, whatever the
others are like. In particular nothing depends on where the file happens to be cut into chunks: lines are judged one
by one, and no chunk begins with anything that a reader could take for a mark of the file's encoding.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from jostle.errors import TableError
from jostle.files.content import Place, path_of
from jostle.progress import Stage
from jostle.tables.census import Census

__all__ = ["CSV_ENDINGS", "csv_batches", "csv_header", "source_of"]

CHUNK_BYTES = 1 << 23
MOST_LINE_BYTES = (1 << 20) - 1
"""A longer line is dropped like any other that is not whole."""
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
        first, *rest = stream.read(MOST_LINE_BYTES + 1).split(b"\n", 1)
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
