"""CSV: a row is a line, and no line changes how another is read."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from some_tables import tally

from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import TableError
from jostle.tables import readers
from jostle.tables.kernels import Counts
from jostle.tables.readers import csv_batches, csv_header

SCHEMA = Schema(
    {"a": Categorical(["x", "1", '"', ","], outside="other", missing="value"), "b": Numeric(0, 1, missing="value")}
)

Row = tuple[str | None, ...]


def read(path: Path, columns: tuple[str, ...] = ("a", "b")) -> list[Row]:
    """Return the rows, with a replacement character for what is no text."""
    cells = [[column.cast(pa.binary()).to_pylist() for column in batch.columns] for batch in csv_batches(path, columns)]
    rows = [row for batch in cells for row in zip(*batch, strict=True)]
    return [tuple(None if cell is None else cell.decode(errors="replace") for cell in row) for row in rows]


@contextmanager
def file_of(content: bytes, name: str = "t.csv") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


def rows_of(content: bytes) -> list[Row]:
    with file_of(content) as path:
        return read(path)


@contextmanager
def cut_into(chunk: int, most: int) -> Iterator[None]:
    """Read in chunks of so many bytes, match two lines at once, and drop lines that are longer than *most*."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "CHUNK_BYTES", chunk)
        patch.setattr(readers, "MATCHED_AT_ONCE", 2)
        patch.setattr(readers, "MOST_LINE_BYTES", most)
        yield


BOM = b"\xef\xbb\xbf"
pieces = st.sampled_from(
    [b'"', b",", b"\r", b"x", b"1", b" ", b"\t", b"\0", b"\xff", b'""', b'"x"', BOM, b"\xe2\x80\xa8"]
)
lines = st.lists(pieces | st.binary(max_size=2), max_size=8).map(b"".join).map(lambda line: line.replace(b"\n", b""))


@given(
    st.lists(lines, max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.integers(1, 40),
    st.integers(9, 60),
)
@example([BOM + b"x,1", BOM + b"x,1", BOM + b"x,1"], b"\n", True, 6, 60)
@example([b'"x,1', b"x,1", b'x",1', b"x,1"], b"\n", False, 40, 60)
@example([b"x,1\rx,1\rx,1"], b"\n", True, 7, 60)
@example([b"x,1234567\ryy", b"x,1"], b"\n", True, 16, 9)
@example([b",\r", b",\r"], b"\r\n", False, 1, 60)
@example([b"x,1", b"x" * 70 + b",1", b"x,1"], b"\r\n", True, 5, 9)
def test_each_line_is_read_as_if_it_were_alone(
    some: list[bytes], end: bytes, ended: bool, chunk: int, most: int
) -> None:
    """Whatever bytes the others are, and wherever the file is cut into chunks."""
    with cut_into(1 << 20, most):
        alone = [row for line in some for row in rows_of(b"a,b\n" + line + b"\n")]
    with cut_into(chunk, most):
        together = rows_of(end.join([b"a,b", *some]) + (end if ended else b""))

    assert together == alone


@given(st.lists(lines, min_size=1, max_size=8), st.data(), st.integers(1, 40))
def test_a_line_more_changes_no_more_than_a_row_may(some: list[bytes], data: st.DataObject, chunk: int) -> None:
    place = data.draw(st.integers(0, len(some) - 1))
    kernel = Counts((("a",), ("b",), ("a", "b"), ()))

    def counts(kept: list[bytes]) -> list[int]:
        with file_of(b"\n".join([b"a,b", *kept])) as path:
            return tally(Table.read(path, SCHEMA, stream=True), kernel)

    with cut_into(chunk, 60):
        with_line, without = counts(some), counts(some[:place] + some[place + 1 :])

    change = [more - less for more, less in zip(with_line, without, strict=True)]
    assert all(each >= 0 for each in change)
    assert sum(change) in {0, kernel.bound(SCHEMA)}


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=5)


@given(st.lists(st.tuples(cells, cells), max_size=6))
def test_whole_lines_are_read_as_any_csv_reader_does(rows: list[tuple[str, str]]) -> None:
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], pa.string())}
    )
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink)

    assert rows_of(bytes(sink.getvalue())) == [tuple(cell or None for cell in row) for row in rows]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"x,1", ("x", "1")),
        (b"x,1\r", ("x", "1")),
        (b"x,1\r\r", ("x", "1")),  # also before a line end that begins with one
        (b'"x",1', ("x", "1")),
        (b'"a ""b"", c",1', ('a "b", c', "1")),
        (b" x , 1", (" x ", " 1")),
        (b",", (None, None)),
        (b'"",""', (None, None)),
        (b"NA,nan", ("NA", "nan")),
        (b"\xff,1", ("�", "1")),
        (BOM + b"x,1", ("﻿x", "1")),
        (b"#x,1", ("#x", "1")),
    ],
)
def test_a_line_is_a_row(line: bytes, row: Row) -> None:
    assert rows_of(b"a,b\n" + line + b"\n") == [row]


@pytest.mark.parametrize(
    "line",
    [
        b'"x,1',  # an open quote
        b'x,"1',
        b'x",1',  # a quote that does not begin its cell
        b'"x"y,1',
        b'"x""y,1',
        b"x\ry,1",  # a carriage return inside
        b'"x\r",1',
        b"x",  # the wrong number of cells
        b"x,1,",
        b"",
        b"x" * 2**20 + b",1",
    ],
)
def test_a_line_that_is_not_whole_by_itself_is_dropped_alone(line: bytes) -> None:
    assert rows_of(b"a,b\nx,1\n" + line + b"\ny,2\n") == [("x", "1"), ("y", "2")]


def test_a_line_is_too_long_at_a_megabyte_and_not_before() -> None:
    fits = b"x" * (2**20 - 3) + b",1\r"
    rows = rows_of(b"a,b\n" + fits + b"\nx" + fits + b"\n" + b"x," + b"1" * 10**7 + b"\nx,1")

    assert [len(row[0] or "") for row in rows] == [2**20 - 3, 1]


@pytest.mark.parametrize(
    "header",
    [b"a,b", BOM + b"a,b", b'"a","b"', BOM + b'"a",b', b"a,b\r"],
)
def test_headers(header: bytes) -> None:
    with file_of(header + b"\nx,1") as path:
        assert csv_header(path) == ("a", "b")
        assert read(path) == [("x", "1")]


def test_a_file_that_breaks_off_says_so_and_nothing_else() -> None:
    packed = gzip.compress(b"a,b\n" + b"".join(b"secret%d,1\n" % (row**3) for row in range(200_000)))
    with file_of(packed[: len(packed) // 2], "t.csv.gz") as path, pytest.raises(TableError) as refusal:
        Table.read(path, SCHEMA)

    assert refusal.value.title == f"the file {path} could not be read to its end"
    assert "secret" not in str(refusal.value)


def test_a_header_without_end_is_refused() -> None:
    with file_of(b"a," * 2**20) as path, pytest.raises(TableError, match="does not end within a megabyte"):
        Table.read(path, SCHEMA)


def test_a_header_that_cannot_be_read_quotes_nothing() -> None:
    with file_of(b'"a\rsecret,b\nx,1') as path, pytest.raises(TableError) as refusal:
        Table.read(path, SCHEMA)

    assert "secret" not in str(refusal.value)
