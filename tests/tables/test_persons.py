"""Persons: who is who, which rows are held, and that all ways in hold the same."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from scipy.sparse import csr_array

import jostle
from jostle.tables import persons, readers, sources
from jostle.tables.engines import FewerRows, ViewSource
from jostle.tables.kernels import Counts
from jostle.tables.persons import PersonBands, distinct, whose_rows

KEY = b"a key of an account"
SCHEMA = jostle.Schema(
    {"a": jostle.Categorical(list("01234")), "x": jostle.Numeric(0, 10, bins=7)}, person="who", rows_per_person=4
)


def rows(count: int = 2000, persons: int = 200) -> pd.DataFrame:
    """Rows of persons, of whom some have very many, with equal rows among them."""
    rng = np.random.default_rng(0)
    who = rng.integers(0, persons, count) ** 2 // persons
    return pd.DataFrame({"who": who, "a": rng.integers(0, 5, count), "x": rng.integers(0, 9, count) + 0.5})


def held(table: jostle.Table, key: bytes = KEY) -> list[int]:
    """How many rows are held of each kind."""
    found: list[int] = np.asarray(table._source.bounded(key).tally(Counts.of("a", "x"), ())).tolist()
    return found


def fewer_held(table: jostle.Table) -> list[int]:
    """As many of each kind where at most 2 rows of a person are read of those that are held."""
    schema = evolve(SCHEMA, rows_per_person=2)
    fewer = ViewSource(schema, table._source.bounded(KEY), FewerRows(schema))
    found: list[int] = np.asarray(fewer.tally(Counts.of("a", "x"), ())).tolist()
    bands: list[int] = np.asarray(fewer.tally(PersonBands(), ())).tolist()
    assert len(bands) == 2
    return found + bands


SPELLINGS: list[list[Any]] = [
    [1, 1.0, "1", "01", "1.0", "1e0", " 1 ", "+1", True, "true", np.int8(1), np.float32(1), "0x1", b"1"],
    ["9007199254740993", 9007199254740993, "9007199254740993.0", "9007199254740993000e-3"],
    ["9007199254740992", 2**53, float(2**53)],
    ["123456789012345678901", "123456789012345678901.00"],
    ["123456789012345678902"],
    ["1e60", "1" + "0" * 60],
    ["2024-01-02", np.datetime64("2024-01-02"), pd.Timestamp("2024-01-02"), "20240102", 20240102],
    ["20249999", 20249999, 20249999.0],
    ["0", 0, -0.0, "-0", "0e7"],
    ["Ann", b"Ann"],
    ["ann"],
    ["3f2a0c1e-1d2c-4b5a-9e8d-000000000001"],
    ["P001"],
    ["P01"],
    [0.1, "0.1", ".1"],
    ["inf", float("inf"), "1e9999999999999999999"],
    [None, "", float("nan"), "NaN", "NA", "null", np.datetime64("NaT", "s"), pd.NA],
]


def test_a_person_is_one_however_written() -> None:
    """Each line of SPELLINGS is one person, and no two lines are; the last one is nobody."""
    found = distinct(whose_rows([cell for line in SPELLINGS for cell in line])).codes
    codes = [set(part.tolist()) for part in np.split(found, np.cumsum([len(line) for line in SPELLINGS])[:-1])]
    assert all(len(line) == 1 for line in codes), codes
    assert len(set.union(*codes)) == len(SPELLINGS)
    assert whose_rows(SPELLINGS[-1]).codes.tolist() == [persons.NOBODY] * len(SPELLINGS[-1])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, None, 1]),
        pa.array([1.0, 2.0, None, 1.0]),
        pa.array(["1", "2", None, "1.0"]),
        pa.array(["1", "2", "", "1"]).dictionary_encode(),
        pa.array([b"1", b"2", None, b"01"]),
        pa.array([1.0, 2.0, float("nan"), 1.0], pa.float16()),
        pa.array(["1", "2", None, "1"], pa.string_view()),
        pa.chunked_array([[1, 2], pa.array([], pa.int64()), [None, 1]]),
        pa.chunked_array([pa.array([None], pa.int64()), [1]]),
    ],
)
def test_columns_of_all_types_say_who_is_who(column: pa.Array | pa.ChunkedArray) -> None:
    """A type is what a library found; who is who goes by values."""
    found = distinct(whose_rows(column))
    names = [None if code < 0 else str(found.names[code].as_py()) for code in found.codes.tolist()]
    assert names == (["1", "2", None, "1"] if len(column) == 4 else [None, "1"])


@pytest.mark.parametrize("edge", [0, 10**7, 20240131, 10**8, 10**17, 10**18, 2**63 - 2, -(10**7), -(10**18), 3 - 2**63])
def test_whole_numbers_name_whom_the_same_digits_name(edge: int) -> None:
    """As text, some of these are dates, and some are written with a power of ten."""
    for numbers in ([edge - 1], [edge], [edge + 1], [edge - 1, edge, edge + 1], [edge, 5], []):
        whole = pa.array(numbers, pa.int64())
        written = [persons.written_one_way(str(number)) for number in numbers]
        assert persons.texts_of_names(whole).to_pylist() == written


def test_at_most_so_many_rows_of_a_person_are_held() -> None:
    """Of each person as many rows as there are, up to the number that is declared; other keys hold other rows."""
    frame = rows()
    table = jostle.Table.from_frame(frame, SCHEMA)
    assert sum(held(table)) == frame["who"].value_counts().clip(upper=4).sum()
    assert held(table) != held(table, b"another key")
    for person, some in list(frame.groupby("who"))[:20]:
        alone = jostle.Table.from_frame(some, SCHEMA)
        others = jostle.Table.from_frame(frame[frame["who"] != person], SCHEMA)
        assert np.array_equal(np.add(held(alone), held(others)), held(table))  # nobody moves another's rows


def test_all_subsets_of_equal_and_other_rows_are_as_likely() -> None:
    """Over keys, each bag of 2 of the rows (a, a, b, c) is held as often as without hashes: the rows are numbered."""
    frame = pd.DataFrame({"who": 1, "a": [0, 0, 1, 2], "x": 1.0})
    table = jostle.Table.from_frame(frame, jostle.Schema(dict(SCHEMA.columns), person="who", rows_per_person=2))
    bags = Counter(
        str(np.flatnonzero(held(table, bytes([key, more]))).tolist()) for key in range(200) for more in range(10)
    )
    every = Counter(
        str(sorted({7 * (0, 0, 1, 2)[row] for row in pair})) for pair in itertools.combinations(range(4), 2)
    )
    assert bags.keys() == every.keys()
    assert all(abs(bags[bag] / 2000 - share / 6) < 0.05 for bag, share in every.items())


@pytest.mark.parametrize("clash", [False, True])
def test_every_way_in_holds_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, clash: bool) -> None:
    """Whatever order, format, library, batches, passes and pieces rows come in; also where all hashes clash.

    Ties that go by the place in a file would tell of it here.
    """
    dd = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(readers, "BATCH_ROWS", 300)
    monkeypatch.setattr(readers, "CHUNK_BYTES", 3000)
    monkeypatch.setattr(sources, "SPILLED_BYTES", 4000)
    if clash:
        monkeypatch.setattr(persons, "row_marks", lambda block: np.zeros(block.length, np.uint64))
        monkeypatch.setattr(persons, "mixed", np.zeros_like)
    frame = rows(600 if clash else 2000)
    frame.loc[::50, "who"] = 10**15 + 1
    mixed = frame.sample(frac=1, random_state=3)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    mixed.assign(who=frame["who"].map("{:.1f}".format)).to_csv(tmp_path / "mixed.csv.gz", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet", row_group_size=128)
    read, frames = jostle.Table.read, jostle.Table.from_frame
    ways = [
        frames(frame, SCHEMA),
        frames(mixed, SCHEMA),
        frames(frame.assign(who=frame["who"].astype(float), a=frame["a"].astype(str)), SCHEMA),
        frames(mixed.assign(who=frame["who"].astype(object)), SCHEMA),
        frames(frame.to_dict("list"), SCHEMA),
        frames(pl.from_pandas(mixed), SCHEMA),
        frames(pa.Table.from_pandas(frame).to_batches(100)[0:0] or pa.Table.from_pandas(frame), SCHEMA),
        *(frames(dd.from_pandas(mixed, npartitions=pieces), SCHEMA) for pieces in (1, 3)),
        *(read(tmp_path / file, SCHEMA) for file in ("rows.csv", "mixed.csv.gz", "rows.parquet")),
        *(read(tmp_path / file, SCHEMA, stream=True) for file in ("rows.csv", "mixed.csv.gz", "rows.parquet")),
    ]
    first, *others = map(held, ways)
    assert sum(first) == frame["who"].value_counts().clip(upper=4).sum()
    assert all(each == first for each in others)
    first, *others = map(fewer_held, ways)
    assert sum(first[:-2]) == frame["who"].value_counts().clip(upper=2).sum()
    assert sum(first[-2:]) == frame["who"].nunique()
    assert all(each == first for each in others)


def test_sparse_features_are_part_of_a_row() -> None:
    """Rows that differ in features alone are different rows, from texts and from a matrix alike."""
    texts = [
        " ".join(word for place, word in enumerate(("red", "blue", "green")) if bits >> place & 1) for bits in range(8)
    ]
    schema = jostle.Schema(
        {"a": jostle.Categorical(["0"])},
        features=jostle.SparseFeatures("text", words=["red", "blue", "green"]),
        person="who",
        rows_per_person=3,
    )
    frame = pd.DataFrame({"who": [1] * 8 + [2] * 8, "a": 0, "text": texts * 2})
    matrix = csr_array(np.array([[bits >> place & 1 for place in range(3)] for bits in range(8)] * 2))
    kernel = Counts((("text=red",), ("text=blue",), ("text=green",)))
    tallies = [
        np.asarray(table._source.bounded(KEY).tally(kernel, ())).tolist()
        for table in (
            jostle.Table.from_frame(frame, schema),
            jostle.Table.from_frame(frame[::-1], schema),
            jostle.Table.from_matrix(matrix, frame, schema),
        )
    ]
    assert sum(tallies[0][:2]) == 6
    assert tallies[0] == tallies[1] == tallies[2]


def test_data_without_the_column_of_persons_are_refused(tmp_path: Path) -> None:
    """In every way in."""
    frame = rows(10).drop(columns="who")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(jostle.errors.TableError, match="no column 'who'"):
        jostle.Table.from_frame(frame, SCHEMA)
    with pytest.raises(jostle.errors.TableError, match="no column 'who'"):
        jostle.Table.read(tmp_path / "rows.csv", SCHEMA)


def test_a_vault_holds_the_same_rows_whenever_its_table_is_opened(tmp_path: Path) -> None:
    """The key is made with the account, and never drawn again; another account has another."""
    table = jostle.Table.from_frame(rows(), SCHEMA)
    opened = [
        jostle.protect(table, epsilon=10**6, vault=tmp_path / name, second_promise="another account")
        for name in ("one.vault", "one.vault", "other.vault")
    ]
    first, again, other = (db.histogram("a", "x", epsilon=10**5).value.tolist() for db in opened)
    assert first == again != other
