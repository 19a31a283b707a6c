"""CSV in chunks of whole lines, where one line can never change how another is read.

A row is a line. General CSV readers let a quoted cell run over line ends, so one stray quote can swallow all the rows
after it, and take a lone carriage return for a line end, so one record can become two. Either would let one person's
record change more than one row, and void every bound on what a row can do. Here a line that is not whole by itself
(an open quote, a carriage return inside, the wrong number of cells) is dropped, whatever the others are like.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

__all__ = ["csv_batches", "csv_header"]

CHUNK_BYTES = 1 << 23
MOST_LINE_BYTES = 1 << 20
"""A longer line is dropped like any other that is not whole."""


def csv_header(path: Path) -> tuple[str, ...]:
    """Return the column names in a CSV file's first line."""
    with pa.input_stream(str(path), compression="detect") as stream:
        first = stream.read(MOST_LINE_BYTES).split(b"\n", 1)[0].rstrip(b"\r")
    text = first.decode("utf-8-sig", errors="replace")
    return tuple(next(csv.reader(io.StringIO(text), delimiter=_delimiter(path)), ()))


def csv_batches(path: Path, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the named columns, every cell as text, an empty one as an empty cell."""
    names = csv_header(path)
    convert = pa_csv.ConvertOptions(
        check_utf8=False,
        column_types={name: pa.string() for name in names},
        include_columns=list(dict.fromkeys(columns)),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    parse = pa_csv.ParseOptions(delimiter=_delimiter(path), invalid_row_handler=lambda _: "skip")
    for chunk in _whole_lines(path):
        read = pa_csv.ReadOptions(column_names=list(names), block_size=max(len(chunk), 1), use_threads=False)
        table = pa_csv.read_csv(pa.BufferReader(chunk), read_options=read, parse_options=parse, convert_options=convert)
        yield from table.combine_chunks().to_batches()


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.name.lower() else ","


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines after the header, in chunks, without those that are not whole."""
    delimiter = re.escape(_delimiter(path).encode())
    cell = rb'(?:[^"%b]*|"(?:[^"]|"")*")' % delimiter
    whole = re.compile(rb"%b(?:%b%b)*" % (cell, delimiter, cell))
    header, rest = True, b""
    with pa.input_stream(str(path), compression="detect") as stream:
        while data := stream.read(CHUNK_BYTES):
            *lines, rest = (rest + data).rsplit(b"\n", 1) if b"\n" in data else (rest + data,)
            if not lines:
                continue
            yield from _checked(lines[0], whole, header=header)
            header = False
    if rest:
        yield from _checked(rest, whole, header=header)


def _checked(text: bytes, whole: re.Pattern[bytes], *, header: bool) -> Iterator[bytes]:
    if header:
        text = text.split(b"\n", 1)[1] if b"\n" in text else b""
    if b"\r" in text:
        lines = (line.removesuffix(b"\r") for line in text.split(b"\n"))
        text = b"\n".join(line for line in lines if b"\r" not in line)
    if b'"' in text:
        text = b"\n".join(line for line in text.split(b"\n") if b'"' not in line or whole.fullmatch(line))
    if text.strip(b"\n"):
        yield text + b"\n"
