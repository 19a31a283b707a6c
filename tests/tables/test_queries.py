"""Queries: the same integers as rows read one by one, of one moment, and nothing told of what opens a database."""

from __future__ import annotations

import datetime as dt
import gc
import logging
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from some_databases import PASSWORD, in_duckdb, in_postgres, in_sqlite
from some_tables import source_of, tally

import jostle
from jostle import Categorical, Dates, Numeric, Schema, Table
from jostle.errors import ProbeError, TableError
from jostle.tables.kernels import Counts, Kernel, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Ranks
from jostle.tables.persons import PUBLIC_KEY, PersonCount
from jostle.tables.pools import Layer, Refinements, Stack
from jostle.tables.queries import QuerySource, columns_of
from jostle.tables.sources import ReadSource

KEPT: Any = {"outside": "other", "missing": "value"}
SCHEMA = Schema(
    {
        "ward": Categorical(["A", "a", "1"], **KEPT),
        "padded": Categorical(["ab", "c"], **KEPT),
        "exact": Categorical(["1", "2.5"], **KEPT),
        "real": Numeric(-1, 1, bins=2, missing="value"),
        "born": Dates("2024-01-01", "2024-12-31", bins=12, missing="value"),
        "days": Numeric(0, 8, bins=4, missing="value", unit=1),
        "ill": Categorical(["no", "yes"], outside="drop", missing="drop"),
    }
)
ROWS: list[tuple[Any, ...]] = [
    ("A", "ab", "1", 0.5, "2024-02-29 23:30:00", 1, "no"),
    ("a", "ab", "1.0", -0.0, "2024-03-01 00:30:00", 2, "yes"),
    ("1", "c", "1.00", 0.0, "2024-03-01 00:30:00", 8, "no"),
    ("A ", "x", "2.50", float("nan"), None, 9, "yes"),
    ("1.0", None, "NaN", float("inf"), "2024-12-31 23:59:59", None, "no"),
    (None, "", None, None, "2023-01-01 00:00:00", 3, "yes"),
    ("A", "ab", "1", 0.5, "2024-02-29 23:30:00", 1, "perhaps"),
    ("A", "ab", "1", 0.5, "2024-02-29 23:30:00", 1, "no"),
]
"""Some are equal to a database and not the same, and some the same and not equal to one."""
NAMES = SCHEMA.names
LOOSE = "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
MADE = """CREATE TABLE t (ward text COLLATE loose, padded char(5), exact numeric, "real" double precision,
          born timestamptz, days smallint, ill varchar)"""


def told(row: tuple[Any, ...]) -> str:
    cells = [f"'{cell}'" if isinstance(cell, str) else "NULL" if cell is None else f"'{cell!r}'" for cell in row]
    if row[4] is not None:  # a moment of Greenwich, written in another zone
        moment = dt.datetime.fromisoformat(row[4]) + dt.timedelta(hours=5)
        cells[4] = f"'{moment}+05'"
    return f"({', '.join(cells)})"


@pytest.fixture
def filled(postgres: str) -> str:
    """Return the URL of a database with the rows above, and settings that would read and write them otherwise."""
    gc.collect()  # tables of other tests, which hold their snapshots
    in_postgres(
        postgres, "DROP TABLE IF EXISTS t CASCADE", LOOSE, MADE,
        f"INSERT INTO t VALUES {', '.join(map(told, ROWS))}",  # noqa: S608 - the rows above
        "ALTER DATABASE postgres SET timezone = 'Asia/Kolkata'", "ALTER DATABASE postgres SET datestyle = 'SQL, DMY'",
    )  # fmt: skip
    return postgres


def urls(filled: str, folder: Path) -> list[str]:
    """Return databases with the same rows."""
    arrow = pa.Table.from_pydict({name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)})
    return [filled, in_duckdb(folder / "t.duckdb", table=arrow), in_sqlite(folder / "t.db", NAMES, ROWS)]


COUNTED: list[Kernel] = [
    Counts((("ward", "padded"), ("exact",), ("born",), ())),
    Counts.of("real"),
    SparseCounts(["ward", "born"]),
    Sums("ward", [1, 2, 3, 4, 5], 5, by="ill"),
    Marks(["ward", "padded"], 0, 1),
    NumberSum("days"),
    NumberSum("real"),
    Moments("days", 2, 8),
    Ranks("days", [0, 5]),
    Stack([Layer(["ward"], [()], [("ill", (1,))]), Layer([], [], weighted="exact", weights=[1, 2, 3, 4])]),
]


def test_what_is_counted_there_is_what_rows_add_up_to(filled: str, tmp_path: Path) -> None:
    frame = Table.from_frame({name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)}, SCHEMA)
    for url in urls(filled, tmp_path):
        source = source_of(Table.query(url, "SELECT * FROM t", SCHEMA))
        assert isinstance(source, QuerySource)
        for kernel in COUNTED:
            assert columns_of(kernel) is not None
            for where in ((), (("ward", (0, 1)), ("ill", (0,)))):
                there = tally(Table(source), kernel, where)
                assert there == tally(Table(ReadSource(source.reader, SCHEMA)), kernel, where), (url, kernel)
                assert there == tally(frame, kernel, where), (url, kernel)


def test_what_looks_at_whole_rows_reads_them(filled: str) -> None:
    kernel = Refinements(["ward"], ["padded"], "ill")
    assert columns_of(kernel) is None
    assert columns_of(PersonCount()) is None
    columns = {name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)}
    table = Table.query(filled, "SELECT * FROM t;", SCHEMA)
    assert tally(table, kernel) == tally(Table.from_frame(columns, SCHEMA), kernel)
    assert table.notes == Table.from_frame(columns, SCHEMA).notes


def test_persons_of_a_query_hold_the_same_rows(postgres: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [place % 40 for place in range(400)], "a": [place % 7 for place in range(400)]})
    schema = Schema({"a": Categorical(range(7))}, person="who", rows_per_person=3)
    arrow = pa.Table.from_pandas(frame)
    in_postgres(postgres, table=arrow)
    rows = list(frame.itertuples(index=False, name=None))
    told = Table.from_frame(frame, schema)
    for url in (
        postgres,
        in_duckdb(tmp_path / "t.duckdb", table=arrow),
        in_sqlite(tmp_path / "t.db", ["who", "a"], rows),
    ):
        table = Table.query(url, "SELECT who, a FROM t", schema)
        for kernel in (Counts.of("a"), PersonCount()):
            held, expected = (source_of(each).bounded(PUBLIC_KEY).tally(kernel, ()) for each in (table, told))
            assert held.tolist() == expected.tolist()  # type: ignore[union-attr]  # dense


def test_a_cell_of_another_type_in_sqlite_changes_no_other(tmp_path: Path) -> None:
    """Long after the first rows, from which libraries take a column's type."""
    schema = Schema({"a": Categorical([1, "x"], **KEPT), "b": Numeric(0, 4, bins=4, missing="value")})
    before = [(1, 1)] * 3000
    for stranger in ("x", 2.5, b"\xff\x00", None, 2**62, "\ud7ff"):
        url = in_sqlite(tmp_path / "t.db", ["a", "b"], [*before, (stranger, stranger)])
        source = source_of(Table.query(url, "SELECT * FROM t", schema))
        assert isinstance(source, QuerySource)
        for rows in (source, ReadSource(source.reader, schema)):
            assert rows.tally(Counts.of("a", "b"), ())[1] == 3000  # type: ignore[index]  # dense


def test_all_questions_are_about_one_moment(filled: str, tmp_path: Path) -> None:
    table = Table.query(filled, "SELECT ward, ill FROM t", NARROW)
    db = jostle.protect(table, epsilon=1)
    before = db.count("0.01")
    in_postgres(filled, "INSERT INTO t(ward, ill) SELECT 'A', 'yes' FROM generate_series(1, 1000000)")
    yes, no = db.parts("ill")

    assert abs(yes.count("0.1") + no.count("0.1") + before) < 10_000
    in_postgres(
        filled,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state IS NOT NULL",
    )
    with pytest.raises(TableError, match="its snapshot has ended"):
        tally(table, Counts.of("ill"))
    with pytest.raises(ProbeError, match="still there"):
        db.count("0.1")
    assert db.spent > 0


NARROW = Schema({"ward": Categorical(["A", "a"]), "ill": Categorical(["no", "yes"])})


def test_a_stream_that_is_left_is_no_hindrance(filled: str) -> None:
    """As after Ctrl-C."""
    text = "SELECT 'A' AS ward, 'no' AS ill FROM generate_series(1, 200000)"
    source = source_of(Table.query(filled, text, NARROW))
    assert isinstance(source, QuerySource)
    blocks = source.blocks()
    next(blocks)
    blocks.close()  # type: ignore[attr-defined]  # a generator

    assert source.tally(Counts.of("ward"), ()).tolist() == [200000, 0]  # type: ignore[union-attr]  # dense


def test_a_question_that_fails_does_not_end_the_snapshot(filled: str) -> None:
    text = "SELECT CASE WHEN days = 3 THEN (1 / (days - 3))::text ELSE ward END AS ward, ill FROM t"
    table = Table.query(filled, text, NARROW)
    with pytest.raises(TableError, match="was not run to its end") as refused:
        tally(table, Counts.of("ward"))
    assert "zero" not in str(refused.value)
    in_postgres(filled, "INSERT INTO t(ill) VALUES ('yes')")

    assert tally(table, Counts.of("ill")) == [4, 3]


MIXING = {
    "SELECT ward, ill FROM t LIMIT 5": "has a LIMIT",
    "SELECT ward, ill FROM (SELECT * FROM t ORDER BY days LIMIT 5) AS u": "has a LIMIT",
    "SELECT ward, ill FROM first": "has a LIMIT",
    "SELECT ward, CASE WHEN random() > 0 THEN 'no' END AS ill FROM t": "calls random",
    "SELECT DISTINCT ward, ill FROM t": "aggregates|distinct",
    "SELECT ward, min(ill) AS ill FROM t GROUP BY ward": "aggregates",
    "SELECT ward, CASE WHEN row_number() OVER (ORDER BY days) > 2 THEN 'no' END AS ill FROM t": "at once",
    "SELECT t.ward, u.ill FROM t JOIN t AS u ON t.days = u.days": "joins",
    "SELECT t.ward, wards.ill FROM t JOIN wards ON t.ward = wards.ward": "joins",
    "SELECT ward, ill FROM t WHERE days > (SELECT avg(days) FROM t)": "aggregates",
    "SELECT ward, ill FROM t WHERE ward IN (SELECT ward FROM wards)": "joins|rows against each other|asks other rows",
    "SELECT ward, ill FROM t UNION ALL SELECT ward, ill FROM t": "reads a table twice",
    "SELECT ward, ill FROM t UNION SELECT ward, ill FROM wards": "aggregates|rows against each other|distinct",
}
HARMLESS = (
    "SELECT upper(ward) AS ward, ill FROM t WHERE days > 1 ORDER BY ward",
    "SELECT ward, ill FROM t UNION ALL SELECT ward, ill FROM wards",
    "SELECT ward, ill FROM t WHERE ward <> 'a LIMIT of DISTINCT random()'",
)


def test_queries_that_make_rows_of_several_take_the_owner_s_word(filled: str, tmp_path: Path) -> None:
    more = ("CREATE VIEW first AS SELECT * FROM t LIMIT 5", "CREATE TABLE wards (ward varchar, ill varchar)")
    in_postgres(
        filled, "DROP TABLE IF EXISTS wards", "INSERT INTO t(ward) SELECT 'A' FROM generate_series(1, 2000)", *more
    )
    names = [f"{name} varchar" for name in NAMES[:-2]]
    plain = f"CREATE TABLE t ({', '.join([*names, 'days int', 'ill varchar'])})"
    sqlite = in_sqlite(tmp_path / "t.db", NAMES, [])
    subprocess.run([sys.executable, "-c", RUN_SQLITE, str(tmp_path / "t.db"), *more], check=True, timeout=60)
    for url in (filled, sqlite, in_duckdb(tmp_path / "t.duckdb", plain, *more)):
        for text in HARMLESS:
            Table.query(url, text, NARROW)
        for text, said in MIXING.items():
            with pytest.raises(TableError, match=said) as refused:
                Table.query(url, text, NARROW)
            if "each_of_one=True" in str(refused.value):
                Table.query(url, text, NARROW, each_of_one=True)
            else:
                with pytest.raises(TableError, match=said):
                    Table.query(url, text, NARROW, each_of_one=True)


RUN_SQLITE = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    for statement in sys.argv[2:]:
        connection.execute(statement)
"""


def test_what_postgres_alone_does_to_rows(filled: str) -> None:
    for text, said in {
        "SELECT ward, ill FROM t TABLESAMPLE BERNOULLI (50)": "calls TABLESAMPLE",
        "SELECT ward, ill, generate_series(1, days) FROM t": "makes several rows of one",
        "SELECT ward, CASE WHEN clock_timestamp() > born THEN 'no' END AS ill FROM t": "calls clock_timestamp",
        "INSERT INTO t(ward) VALUES ('x') RETURNING ward, ill": "could not be run",
        "SELECT ward FROM t": "has no column 'ill'",
        "": "is a text|not a text",
    }.items():
        with pytest.raises(TableError, match=said):
            Table.query(filled, text, NARROW)


def test_duckdb_reads_its_file_alone_and_fetches_nothing(tmp_path: Path) -> None:
    pd.DataFrame({"ward": ["A"], "ill": ["no"]}).to_parquet(tmp_path / "t.parquet")
    url = in_duckdb(tmp_path / "t.duckdb", "CREATE TABLE t (ward varchar, ill varchar)")
    for text, said in {
        f"FROM '{tmp_path}/t.parquet'": "reads what is not in its file",
        "SELECT * FROM 'https://example.org/t.parquet'": "reads what is not in its file",
        "SELECT ward, st_astext(st_point(1, 2)) AS ill FROM t": "not fetched",
        "SELECT * FROM t USING SAMPLE 10%": "calls USING SAMPLE",
    }.items():
        with pytest.raises(TableError, match=said):
            Table.query(url, text, NARROW)
    with pytest.raises(TableError, match="cannot be opened as a file of DuckDB"):
        Table.query(f"duckdb:///{tmp_path}/t.parquet", "SELECT 1", NARROW)
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(TableError, match=r"there is no file|cannot be opened"):
            Table.query(f"{kind}:///{tmp_path}/none", "SELECT 1", NARROW)
    assert not (tmp_path / "none").exists()


def test_what_opens_a_database_is_told_nowhere(
    filled: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    vault, trace = tmp_path / "ward.vault", tmp_path / "trace.jsonl"
    table = Table.query(filled, "SELECT ward, ill FROM t", NARROW)
    db = jostle.protect(table, epsilon=1, vault=vault, trace=trace)
    db.count("0.5")
    said = [repr(table), repr(source_of(table)), repr(source_of(table).query), repr(source_of(table).query.database)]  # type: ignore[attr-defined]  # a query's
    for url in (filled.replace("owner", "nobody"), filled.replace("/postgres?", "/nothing?"), f"{filled}&sslmode=x"):
        with pytest.raises(TableError) as refused:
            Table.query(url, "SELECT 1 AS ward", NARROW)
        said += [str(refused.value), repr(refused.value), repr(refused.value.__cause__)]
    for wrong in (f"mysql://owner:{PASSWORD}@there/db", PASSWORD):
        with pytest.raises(TableError, match="no database") as refused:
            Table.query(wrong, "SELECT 1", NARROW)
        said.append(str(refused.value))
    out, err = capfd.readouterr()
    said += [vault.read_bytes().decode(errors="replace"), trace.read_text(), caplog.text, out, err]

    assert not [text for text in said if PASSWORD in text]
    again = jostle.protect(Table.query(filled, "SELECT ward, ill FROM t", NARROW), vault=vault)
    assert again.promise == Fraction(1, 2)  # what is left: known again by what is asked, and where


def test_what_opens_a_database_may_stand_in_the_environment(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled.partition("host=")[2]
    (tmp_path / "services").write_text(f"[ward]\nhost={folder}\nuser=owner\npassword={PASSWORD}\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert source_of(Table.query("postgresql://?service=ward", "SELECT ward, ill FROM t", NARROW)) is not None
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    url = f"postgresql://owner@/postgres?host={folder}"
    assert source_of(Table.query(url, "SELECT ward, ill FROM t", NARROW)) is not None
