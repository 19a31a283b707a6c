"""Files as rows come: by lines, changed under the reader's eyes, public or beside a vault."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from processes import LIMIT, started
from some_tables import tally

import jostle
from jostle import Categorical, Numeric, Schema, Table, rehearse
from jostle.errors import JostleError, PrivateDataError, ProbeError, TableError
from jostle.files.content import FileContent, FileMark, is_regular, is_there, read_content, real_path
from jostle.privacy.expressions import rows
from jostle.privacy.opening import raw
from jostle.privacy.vault import FileVault
from jostle.tables import dask_source, readers, sources
from jostle.tables.encode import encode_block
from jostle.tables.kernels import Counts
from jostle.tables.origins import check_public, read_public, vault_beside
from jostle.tables.readers import csv_batches, csv_header

# CSV: a row is a line, and no line changes how another is read.


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


# A file whose rows stay in it is read as long as it is the one that was opened.


SCHEMA_OF_CHANGING = Schema({"a": Categorical(["x", "y"]), "b": Categorical(["0", "1"])})
BEFORE = pd.DataFrame({"a": ["x"] * 50 + ["y"] * 50, "b": ["0", "1"] * 50})
AFTER = pd.DataFrame({"a": ["y"] * 50 + ["x"] * 50, "b": ["0", "1"] * 50})
"""The same people, each in the other part of the table."""


def written(frame: pd.DataFrame, path: Path, *, later: int) -> None:
    """Write the rows, so many seconds later than the clock says."""
    if path.suffix != ".parquet":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=10)
    moment = path.stat().st_mtime_ns + later * 10**9
    os.utime(path, ns=(moment, moment))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_who_is_in_another_part_by_the_next_question_is_not_counted_in_both(name: str, tmp_path: Path) -> None:
    written(BEFORE, tmp_path / name, later=0)
    db = jostle.protect(Table.read(tmp_path / name, SCHEMA_OF_CHANGING, stream=True), epsilon=1)
    x, y = db.parts("a")
    x.count(1)
    written(AFTER, tmp_path / name, later=1)

    with pytest.raises(ProbeError, match="was not written to since it was opened"):
        y.count(1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_that_looks_the_same_is_seen_to_be_another(name: str, tmp_path: Path) -> None:
    """As long, and of the same moment: as who copies files with their moments leaves it, or a clock of few ticks."""
    path = tmp_path / name
    other = tmp_path / f"other.{name}"
    written(BEFORE, path, later=0)
    written(AFTER, other, later=0)
    db = jostle.protect(Table.read(path, SCHEMA_OF_CHANGING, stream=True), epsilon=1)
    x, y = db.parts("a")
    x.count(1)
    state = path.stat()
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size

    with pytest.raises(ProbeError, match="was not written to since it was opened"):
        y.count(1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("read", [{}, {"stream": True}], ids=["in memory", "streamed"])
def test_a_row_that_moves_while_the_file_is_read_does_not_count_twice(
    name: str, read: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(BEFORE, tmp_path / name, later=0)

    def slowly(*given: Any) -> Any:
        moment = (tmp_path / name).stat().st_mtime_ns + 10**9
        os.utime(tmp_path / name, ns=(moment, moment))  # as who writes to it in the meantime does
        return encode_block(*given)

    monkeypatch.setattr(sources, "encode_block", slowly)
    with pytest.raises(TableError, match="was written since it was opened"):
        tally(Table.read(tmp_path / name, SCHEMA_OF_CHANGING, **read), Counts.of("a"))


def test_a_piece_that_a_cluster_reads_again_is_of_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_source, "_client", lambda _: None)  # so that Dask computes in this process
    written(BEFORE, tmp_path / "t.parquet", later=0)
    table = Table.read(tmp_path / "t.parquet", SCHEMA_OF_CHANGING, engine="dask://here:1")
    tally(table, Counts.of("a"))
    written(AFTER, tmp_path / "t.parquet", later=1)

    with pytest.raises(JostleError, match="a worker could not tally its part"):
        tally(table, Counts.of("a"))


# What has a vault beside it is private under any name, and a public file is read once, as it was when it was named.


SCHEMA_OF_PUBLIC = Schema(
    {"ward": Categorical(["a", "b", "c"]), "age": Numeric(0, 90, bins=9), "ill": Categorical(["0", "1"])}
)
FIFOS = hasattr(os, "mkfifo")


def people(count: int = 60) -> pd.DataFrame:
    """Return rows of people."""
    random = np.random.default_rng(5)
    columns = {"ward": random.choice(["a", "b", "c"], count), "age": random.integers(0, 90, count)}
    return pd.DataFrame({**columns, "ill": random.choice(["0", "1"], count)})


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a private file."""
    people().to_csv(tmp_path / "secret.csv", index=False)
    return tmp_path / "secret.csv"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Return a folder for files that could be the private one."""
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


# Vaults beside files


def test_a_file_with_a_vault_beside_it_is_private_under_every_name_it_has(secret: Path, there: Path) -> None:
    check_public(secret)
    beside = vault_beside(secret)
    assert beside == secret.with_name("secret.csv.vault")
    beside.touch()
    (there / "link.csv").symlink_to(secret)
    for path in (secret, there / "link.csv"):
        with pytest.raises(PrivateDataError, match=r"secret\.csv\.vault"):
            check_public(path)
    assert vault_beside(there / "link.csv") == beside


def test_a_link_is_private_where_a_vault_is_beside_the_link(secret: Path, there: Path) -> None:
    (there / "link.csv").symlink_to(secret)
    (there / "link.csv.vault").touch()
    with pytest.raises(PrivateDataError):
        check_public(there / "link.csv")


def test_nothing_private_is_read_rehearsed_on_or_looked_at(secret: Path) -> None:
    table = Table.read(secret, SCHEMA_OF_PUBLIC)
    rehearse(table, seed=1)
    vault_beside(secret).touch()
    tasks: list[Callable[[], object]] = [
        lambda: read_public(secret),
        lambda: Schema.infer_public(secret),
        lambda: rehearse(table),
        lambda: rehearse(Table.read(secret, SCHEMA_OF_PUBLIC, stream=True)),
        lambda: raw(table, [rows()]),
    ]
    for task in tasks:
        with pytest.raises(PrivateDataError, match="is private"):
            task()


# Reading once


def test_a_file_is_read_only_while_it_is_what_was_looked_at(secret: Path) -> None:
    mark = read_content(secret).mark
    os.utime(secret, (1, 1))
    assert read_public(secret, mark).data == secret.read_bytes()
    text = secret.read_text()
    secret.write_text(text.replace("a,", "b,", 1))
    with pytest.raises(PrivateDataError, match="is not what it was"):
        read_public(secret, mark)
    secret.write_text(text + "x")
    with pytest.raises(PrivateDataError, match="is not what it was"):
        read_public(secret, mark)


@pytest.mark.skipif(not FIFOS, reason="this system has no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/null"), tmp_path):
        assert not is_regular(path)
        with pytest.raises(TableError):
            read_content(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "no/such", "loop"])
def test_a_path_that_leads_nowhere_is_refused_and_no_more(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = tmp_path / name
    assert not is_regular(path)
    real_path(path)
    with pytest.raises(TableError):
        read_content(path)
    check_public(path)


def test_a_long_name_has_no_vault_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".csv")
    path.write_text("a\n")
    assert read_public(path).data == b"a\n"
    assert not is_there(vault_beside(path))


def test_a_file_longer_than_any_disk_is_refused(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_bytes(b"x" * 11)
    assert len(read_content(tmp_path / "long.csv", most=11).data) == 11
    with pytest.raises(TableError, match="more than 10 bytes"):
        read_content(tmp_path / "long.csv", most=10)


def test_a_mark_is_that_of_the_bytes() -> None:
    one, other = FileContent(Path("a"), b"1"), FileContent(Path("b"), b"1")
    assert one.mark == other.mark == FileMark(1, one.mark.digest)
    assert FileContent(Path("a"), b"2").mark != one.mark


# Ctrl-C while rows are read, or tallied for a question: what was charged is shown, and nothing else is lost.


SCRIPT = """
import json, time
import jostle
from jostle.tables import engines, sources

def wait(*words):
    print("begun", flush=True)
    time.sleep(600)

schema = jostle.Schema({"x": jostle.Numeric(0, 10, bins=5)}, **PERSONS)
sources.MOST_WAITING = 1  # codes are in files
tick, encode = engines.tick, sources.encode_block
try:
    if READS:
        sources.encode_block = wait
    table = jostle.Table.read("rows.parquet", schema, stream=not READS)
    db = jostle.protect(table, epsilon=1, vault="rows.vault")
    engines.tick = wait
    db.histogram("x", epsilon="0.3")
except KeyboardInterrupt:
    engines.tick, sources.encode_block = tick, encode
db = jostle.protect(jostle.Table.read("rows.parquet", schema), epsilon=1, vault="rows.vault")
before = str(db.left)
counts = int(sum(db.histogram("x", epsilon="0.5")))
print(json.dumps({"before": before, "after": str(db.left), "counts": counts}))
"""


@pytest.mark.representative("reads")
@pytest.mark.parametrize("of_persons", [False, True])
@pytest.mark.parametrize("reads", [False, True])
def test_ctrl_c_among_rows_loses_nothing(tmp_path: Path, *, reads: bool, of_persons: bool) -> None:
    rows = pa.table({"who": [str(row % 100) for row in range(1000)], "x": [row % 10 for row in range(1000)]})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    (tmp_path / "scratch").mkdir()
    persons = {"person": "who", "rows_per_person": 2} if of_persons else {}
    head = f"PERSONS = {persons!r}\nREADS = {reads!r}\n"
    with started(
        "-c",
        head + SCRIPT,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        out, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 0, said
    found = json.loads(out.splitlines()[-1])
    assert not [*(tmp_path / "scratch").iterdir()]
    assert found["before"] == ("1" if reads else "7/10")
    assert Fraction(found["before"]) - Fraction(found["after"]) == Fraction(1, 2)
    assert FileVault(tmp_path / "rows.vault").account().spent == 1 - Fraction(found["after"])
    assert found["counts"] == pytest.approx(200 if of_persons else 1000, abs=150)
