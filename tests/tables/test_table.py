"""A table is the same by every way in, and says nothing of its rows."""

from __future__ import annotations

import copy
import datetime as dt
import os
import pickle
import re
import stat
import tracemalloc
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import dask.dataframe as dask_frame
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from some_databases import in_duckdb, in_postgres, in_sqlite
from some_tables import SMALL, SMALL_CODES, small_frame, source_of, tally

from jostle import Categorical, Dates, JostleError, Numeric, Schema, Table
from jostle.errors import ProbeError
from jostle.tables import sources
from jostle.tables.block import Block
from jostle.tables.hashes import Fingerprint, RowHashes, fingerprint
from jostle.tables.kernels import Counts, Kernel, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import NumberSum

KERNELS: list[Kernel] = [
    Counts((("colour", "age"), ("ill",), ())),
    Sums("age", [0, 1, 2, 3, -7], 5, by="ill"),
    Marks(["colour", "age", "ill"], 1, 2),
    SparseCounts(["ill", "colour"]),
]
WHERE = (("age", (0, 3)),)


def files(folder: Path) -> list[Path]:
    frame = small_frame()
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False, lineterminator="\r\n")
    frame.to_csv(folder / "t.tsv", index=False, sep="\t", quoting=1)
    frame.to_parquet(folder / "t.parquet")
    pl.from_pandas(frame).write_parquet(folder / "groups.pq", row_group_size=3)
    frame.astype({"colour": "category"}).to_parquet(folder / "categories.parquet")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_way_in_gives_the_same_integers(kernel: Kernel, tmp_path: Path) -> None:
    told = tally(Table.from_frame(small_frame(), SMALL), kernel)
    part = tally(Table.from_frame(small_frame(), SMALL), kernel, WHERE)

    for path in files(tmp_path):
        for stream in (False, True):
            table = Table.read(path, SMALL, stream=stream)
            assert tally(table, kernel) == told, path
            assert tally(table, kernel, WHERE) == part, path


WAYS_SCHEMA = Schema(
    {
        "a": Categorical(["x", "1", "2.0", "é"], outside="other", missing="value"),
        "b": Numeric(0, 8, bins=5, missing="value"),
        "c": Dates("2024-01-01", "2024-12-31", bins=3, missing="value"),
    }
)


def ways_in(columns: dict[str, list[Any]], folder: Path, postgres: str) -> Iterator[tuple[str, Table]]:
    """Yield a table of the same rows by every way in."""
    files = folder / "files"
    files.mkdir()
    types = [pa.string(), pa.float64(), pa.date32()]
    arrow = pa.table(
        [pa.array(cells, kind) for cells, kind in zip(columns.values(), types, strict=True)], list(columns)
    )
    parts = pa.concat_tables([arrow[:1], arrow[1:1], arrow[1:]])
    coded = parts.set_column(0, "a", pa.chunked_array([each.dictionary_encode() for each in parts["a"].chunks]))
    pandas = arrow.to_pandas()
    frames = {
        "lists": columns,
        "arrow": parts,
        "dictionaries": coded,
        "pandas": pandas,
        "polars": pl.from_arrow(arrow),
        "lazy": pl.from_arrow(arrow).lazy(),  # type: ignore[union-attr]  # of a table comes a frame
        "dask": dask_frame.from_pandas(pandas, npartitions=2),  # type: ignore[no-untyped-call]  # Dask has no types
        "a relation": duckdb.connect().from_arrow(parts),
        "a reader": parts.to_reader(max_chunksize=1),
        "a stream": Streamed(parts),
    }
    for name, frame in frames.items():
        yield name, Table.from_frame(frame, WAYS_SCHEMA)
    pandas.to_csv(files / "t.csv", index=False)
    pandas.to_csv(files / "t.csv.bz2", index=False, lineterminator="\r\n", quoting=1)
    pa_parquet.write_table(parts, files / "t.parquet", row_group_size=2, data_page_size=1)
    pa_parquet.write_table(coded, files / "coded.parquet", dictionary_pagesize_limit=1)
    for path in files.iterdir():
        for stream in (False, True):
            yield f"{path.name} {stream}", Table.read(path, WAYS_SCHEMA, stream=stream)
    scan = pl.scan_parquet(files / "t.parquet")
    yield "a scan", Table.from_frame(scan, WAYS_SCHEMA)
    yield "a scan and more", Table.from_frame(scan.filter(pl.lit(value=True)).with_columns(d=pl.col("b")), WAYS_SCHEMA)
    texts = pc.replace_substring(parts["a"], "\x00", "?")  # which PostgreSQL has in no text; it is not declared either
    in_postgres(postgres, table=parts.set_column(0, "a", texts))
    rows = [
        [str(cell) if isinstance(cell, dt.date) else cell for cell in row]
        for row in zip(*columns.values(), strict=True)
    ]
    databases = [postgres, in_duckdb(folder / "t.duckdb", table=parts), in_sqlite(folder / "t.db", list(columns), rows)]
    for url in databases:
        yield url.partition(":")[0], Table.query(url, "SELECT * FROM t", WAYS_SCHEMA)


class Streamed:
    """Whatever has the one method that all libraries share, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from(["x", "1", "1.0", "01", " x", "é", "y" * 50, "\x00", '"', ","]),
            st.none() | st.floats(-1, 9).map(lambda number: round(number, 3)),
            st.none() | st.dates(dt.date(2023, 12, 1), dt.date(2025, 1, 31)),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_table_is_the_same_by_every_way_in(
    tmp_path_factory: pytest.TempPathFactory,
    postgres: str,
    rows: list[tuple[str | None, float | None, dt.date | None]],
) -> None:
    """Number by number as well: sums are of steps that are finer than bins."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(WAYS_SCHEMA.names)}
    tallies = {
        name: [
            tally(table, kernel) for kernel in (Counts.of("a", "b", "c"), *map(Counts.of, "ac"), *map(NumberSum, "bc"))
        ]
        for name, table in ways_in(columns, tmp_path_factory.mktemp("ways"), postgres)
    }

    assert all(each == tallies["lists"] for each in tallies.values()), tallies


def test_a_stream_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_frame().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    table = Table.read("t.csv", SMALL, stream=True)
    monkeypatch.chdir("/")

    assert tally(table, Counts.of()) == [len(SMALL_CODES)]


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("colour,age,ill\n", encoding="utf-8")
    small_frame()[:0].astype({"age": float}).to_parquet(tmp_path / "t.parquet")

    for path in tmp_path.iterdir():
        for stream in (False, True):
            assert tally(Table.read(path, SMALL, stream=stream), Counts((("ill",), ()))) == [0, 0, 0]
            assert tally(Table.read(path, SMALL, stream=stream), SparseCounts(["ill"])) == [0, 0]


def test_text_that_is_none_in_parquet_is_only_its_own_row_s_matter(tmp_path: Path) -> None:
    """Parquet readers do not check that texts are UTF-8."""
    raw = pa.array([b"red", b"\xff\xfe", b"blue"])
    texts = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pa_parquet.write_table(
        pa.table({"colour": texts, "age": texts, "ill": ["no", "no", "yes"]}), tmp_path / "t.parquet"
    )

    for stream in (False, True):
        assert tally(Table.read(tmp_path / "t.parquet", SMALL, stream=stream), Counts.of("colour")) == [1, 0, 1, 1, 0]


# What is refused


def message(path: Path, schema: Any = SMALL, **how: Any) -> str:
    with pytest.raises(JostleError) as refusal:
        Table.read(path, schema, **how)
    return str(refusal.value)


def test_a_file_without_a_header_is_not_quoted(tmp_path: Path) -> None:
    """Its first line is somebody's record."""
    (tmp_path / "t.csv").write_text("red,secret,no\n", encoding="utf-8")

    assert message(tmp_path / "t.csv") == (
        f"{tmp_path / 't.csv'} has no column 'colour', 'age', 'ill'\n"
        "  why: every column that the schema declares is read\n"
        "  fix: compare the schema with its first line, which holds the names of columns, in 3 cells"
    )


@pytest.mark.parametrize("cells", ["red,secret,no", "colour,secret,no", '"age;secret","ill;x",\0', "Red,secret,No"])
def test_what_is_said_of_a_first_line_without_all_names_does_not_hang_on_it(tmp_path: Path, cells: str) -> None:
    """It may be somebody's record, that of one who is called like a column included."""
    wanted = Schema({"height": Numeric(0, 1), "weight": Numeric(0, 1)})
    said = []
    for line in ("one,two,three", cells):
        (tmp_path / "t.csv").write_text(f"{line}\n", encoding="utf-8")
        said.append(message(tmp_path / "t.csv", wanted))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("written", "way_out"),
    [
        (
            b"colour;age;ill\nred;2;no\n",
            "write commas between columns of a .csv file, tabs of a .tsv file: there are semicolons",
        ),
        (b'"colour"|"age"|"ill"\n', "write commas between columns of a .csv file, tabs of a .tsv file: there are bars"),
        (
            b"colour\tage\till\tmore\n",
            "write commas between columns of a .csv file, tabs of a .tsv file: there are tabs",
        ),
        ("colour,age,ill\n".encode("utf-16"), "write it as UTF-8: it is UTF-16"),
        ("colour,age,ill\n".encode("utf-16-le"), "write it as UTF-8: it is UTF-16"),
        (b"\ncolour,age,ill\n", "put the names of the columns into its first line, which is empty"),
        (b"# of 2020\n", "compare the schema with its first line, which holds the names of columns, in 1 cell"),
    ],
)
def test_the_way_out_of_a_file_that_is_written_in_another_way(tmp_path: Path, written: bytes, way_out: str) -> None:
    (tmp_path / "t.csv").write_bytes(written)
    assert message(tmp_path / "t.csv").endswith(f"\n  fix: {way_out}")


def test_files_that_are_not_there_or_not_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"secret")
    (tmp_path / "t.csv.gz").write_bytes(b"secret")
    (tmp_path / "t.csv").write_bytes(b"")
    (tmp_path / "folder.csv").mkdir()
    kept_back = (
        "\n  why: the reason is kept back, since it could quote private rows"
        "\n  fix: see that it is whole, and is what its name ends in"
    )

    assert message(tmp_path / "none.csv") == f"there is no file {tmp_path / 'none.csv'}\n  fix: check the path"
    assert message(tmp_path / "t.parquet") == f"the file {tmp_path / 't.parquet'} cannot be read as Parquet{kept_back}"
    assert message(tmp_path / "t.csv.gz") == f"the file {tmp_path / 't.csv.gz'} cannot be read as CSV{kept_back}"
    folder = tmp_path / "folder.csv"
    assert message(folder) == f"{folder} is a folder, not a file\n  fix: name a file in it"
    assert message(tmp_path / "t.csv").startswith(f"{tmp_path / 't.csv'} has no column 'colour', 'age', 'ill'")
    assert message(tmp_path / "t.xlsx") == (
        f"the file {tmp_path / 't.xlsx'} has no ending that says how to read it\n"
        "  fix: one of .csv, .csv.gz, .csv.bz2, .csv.zst, .tsv, .tsv.gz, .tsv.bz2, .tsv.zst, .parquet, .pq"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n", encoding="utf-8")
    (tmp_path / "t.csv").chmod(stat.S_IWUSR)

    assert message(tmp_path / "t.csv").startswith(f"the file {tmp_path / 't.csv'} may not be read")


def test_a_parquet_file_that_breaks_within(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"colour": ["red"] * 9999, "age": range(9999), "ill": ["no"] * 9999}).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 3000 + whole[3004:])

    assert message(path) == (
        f"the file {path} could not be read to its end\n"
        "  why: the reason is kept back, since it could quote private rows"
    )


# Grids


def test_a_grid_has_a_record_for_each_count() -> None:
    counts = np.array([[0, 2, 1], [5, 0, 0]])
    table = Table.from_grid(counts, neighbours="replace_one", rows=8)

    assert table.schema.names == ("x", "y")
    assert (table.schema.neighbours, table.schema.rows) == ("replace_one", 8)
    assert tally(table, Counts((("x", "y"), ("x",), ()))) == [0, 2, 1, 5, 0, 0, 3, 5, 8]
    assert tally(table, SparseCounts(["x", "y"])) == [0, 2, 1, 5, 0, 0]
    assert tally(table, Counts.of("y"), (("x", (1,)),)) == [5, 0, 0]


# What a table does not tell


def test_a_table_says_nothing_of_its_rows() -> None:
    table = Table.from_frame(small_frame(), SMALL)

    assert repr(table) == "<Table of 3 columns>"
    assert "red" not in repr(source_of(table))


def test_a_table_is_not_copied_into_files() -> None:
    table = Table.from_frame(small_frame(), SMALL)

    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ProbeError, match="a table is not pickled"):
            take(table)


def test_rows_kept_in_many_parts_are_tallied_into_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held part by part, tallies of a kernel with many cells took all memory there was."""
    cells, parts = 1 << 18, 32
    schema = Schema({"number": Numeric(0, cells, unit=1, bins=cells)})
    few: Any = source_of(Table.from_frame(pa.table({"number": [0, 5]}), schema))
    monkeypatch.setattr(sources, "MOST_WAITING", 1)  # each block is written by itself
    monkeypatch.setattr(sources, "MOST_HELD", 0)
    source = sources.keep([few.whole] * parts, schema, few)
    assert isinstance(source, sources.KeptSource)
    tracemalloc.start()
    try:
        found = np.asarray(source.tally(Counts.of("number"), ()))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found[0], found[5], found.sum()) == (parts, parts, 2 * parts)
    assert most < 4 * found.nbytes


# The public tables kept beside the project: each is inferred, read in every way, and has all the rows it should.


LISTED = re.compile(r"^\| (\w+\.csv\.gz) \| (\d+) \| (\d+) \| (\d+) \|", re.MULTILINE)

TOO_MANY_TEXTS = {"acs_tx_marital.csv.gz"}
"""Has a column of many numbers where a letter stands for none."""

OF_PERSONS = {"climb_success.csv.gz", "fire_cause.csv.gz"}
"""Have a column of names that may say whose rows they are: it is no attribute."""


@cache
def listed(shared: Path) -> dict[str, tuple[int, int, int]]:
    """Return the numbers of rows, attributes and classes of every table, as their list has them."""
    found = LISTED.findall((shared / "README.md").read_text(encoding="utf-8"))
    return {name: (int(rows), int(attributes), int(classes)) for name, rows, attributes, classes in found}


@pytest.mark.slow
def test_every_public_table_can_be_inferred_read_and_tallied(shared: Path) -> None:
    for name, (rows, attributes, classes) in listed(shared).items():
        path = shared / "tabular" / name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of columns with too many different texts
            schema = Schema.infer_public(path, label="label")
        memory, stream = Table.read(path, schema), Table.read(path, schema, stream=True)
        kernel = Counts((*((attribute, "label") for attribute in schema.attributes), ()))
        told = tally(memory, kernel)

        assert told[-1] == rows, name
        assert sum(told) == rows * (len(schema.attributes) + 1), name
        assert len(schema.classes) == classes, name
        assert len(schema.attributes) == attributes - (name in TOO_MANY_TEXTS | OF_PERSONS), name
        assert tally(stream, kernel) == told, name
        assert fingerprint(source_of(memory)) == fingerprint(source_of(stream)), name


# Fingerprints: the same for the same rows however they come, and others for others.


SCHEMA = Schema({"a": Categorical(range(3)), "b": Numeric(0, 3, bins=3)})
Rows = list[tuple[int, int]]
some_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9)


def frame_of(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b"], dtype=int)


def marks(frame: Any, schema: Schema = SCHEMA) -> Fingerprint:
    return fingerprint(source_of(Table.from_frame(frame, schema)))


@given(some_rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: Rows, random: Any) -> None:
    shuffled = random.sample(rows, len(rows))

    assert marks(frame_of(rows)).rows == marks(frame_of(shuffled)).rows


@given(some_rows, some_rows)
def test_other_rows_have_another_mark(rows: Rows, others: Rows) -> None:
    same = sorted(rows) == sorted(others)

    assert (marks(frame_of(rows)).rows == marks(frame_of(others)).rows) == same


def test_a_grid_has_the_mark_of_its_records() -> None:
    counts = np.array([[1, 0, 2], [0, 3, 0]])
    grid = Table.from_grid(counts)
    records = pd.DataFrame(np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0), columns=["x", "y"])

    assert fingerprint(source_of(grid)).rows == marks(records, grid.schema).rows


def test_the_mark_of_the_data_as_they_came_is_the_same_under_any_schema(tmp_path: Path) -> None:
    frame = frame_of([(0, 1), (2, 2)])
    other = Schema({"b": Numeric(0, 2, bins=2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "same.csv", index=False)
    files = {
        fingerprint(source_of(Table.read(tmp_path / name, schema, stream=stream))).raw
        for name in ("t.csv", "same.csv")
        for schema in (SCHEMA, other)
        for stream in (False, True)
    }

    assert marks(frame).raw == marks(frame, other).raw == marks(frame.copy(), other).raw
    assert marks(frame).raw != marks(frame[::-1]).raw
    assert marks(frame).rows != marks(frame, other).rows
    assert len(files) == 1


def test_columns_under_other_names_in_another_order_and_of_other_numbers_have_the_same_mark() -> None:
    """What is whole comes back as floats where a cell is empty, and a program renames what it reads."""
    frame = pd.DataFrame({"a": [0, 2, 1], "b": [1, 2, 0], "c": ["x", None, "z"]})
    others = [
        frame.set_axis(["p", "q", "r"], axis=1),
        frame[["c", "a", "b"]],
        frame.astype({"a": float, "b": "Int8", "c": object}),
        {"x": [0, 2.0, True], "y": np.array([1, 2, 0], np.uint8), "z": ["x", None, "z"]},
        pl.from_pandas(frame),
    ]
    schema = Schema({"a": Categorical(range(3)), "b": Numeric(0, 3, bins=3)})
    renamed = [{"a": "p"}, {}, {}, {"a": "x"}, {}]
    for other, names in zip(others, renamed, strict=True):
        read = Schema({names.get("a", "a"): schema["a"]})
        assert marks(other, read).raw == marks(frame, schema).raw
    assert marks(frame.iloc[::-1], schema).raw != marks(frame, schema).raw
    assert marks(frame[["a", "c"]], Schema({"a": schema["a"]})).raw != marks(frame, schema).raw


def test_the_mark_of_rows_goes_by_codes_and_not_by_names() -> None:
    frame, other = frame_of([(0, 1), (2, 2)]), Schema({"p": SCHEMA["a"], "q": SCHEMA["b"]})

    assert marks(frame).rows == marks(frame.set_axis(["p", "q"], axis=1), other).rows


def test_objects_of_other_types_or_places_have_another_mark() -> None:
    columns = [[1, None, "x"], [1, "x", None], ["1", None, "x"], [1, None, b"x"], [True, None, "x"], [1.0, None, "x"]]
    frames = [pd.DataFrame({"a": pd.Series(column, dtype=object), "b": [0, 0, 0]}) for column in columns]

    assert (
        len({marks(frame).raw for frame in frames}) == len(columns) - 3
    )  # text and bytes say the same, and 1, 1.0 and True


def test_tables_without_a_row_left_are_known_by_their_data_alone() -> None:
    """All of them are read as the same rows, none: that must not make one table of them."""
    labelled = Schema({"a": Categorical(range(3)), "ill": Categorical(["no", "yes"])}, label="ill")
    first, other = (pd.DataFrame({"a": rows, "ill": [None] * len(rows)}, dtype=object) for rows in ([0, 1], [2, 2, 2]))
    found, again, another = (marks(frame, labelled) for frame in (first, first.copy(), other))

    assert found.salted(b"salt") == again.salted(b"salt")
    assert not found.salted(b"salt") & another.salted(b"salt")


def test_marks_are_useless_without_the_salt() -> None:
    found = marks(frame_of([(0, 1)]))

    assert found.salted(b"one") & found.salted(b"one") == found.salted(b"one")
    assert not found.salted(b"one") & found.salted(b"two")
    assert found.raw.hex() not in repr(found)


def test_a_row_that_stands_for_several_counts_so_often() -> None:
    kernel, twice, once = RowHashes(), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    kernel.add(Block({"a": np.array([1], np.uint8), "b": np.array([2], np.uint8)}, 1, np.array([2])), SCHEMA, twice)
    kernel.add(Block({"a": np.array([1, 1], np.uint8), "b": np.array([2, 2], np.uint8)}, 2), SCHEMA, once)

    assert twice.tolist() == once.tolist()
