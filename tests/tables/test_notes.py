"""What a table tells its owner of the rows, by every way in; nobody else is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle import Categorical, Dates, Identifier, Numeric, Schema, Table
from jostle.tables import persons
from jostle.tables.persons import Repeats

SCHEMA = Schema(
    {
        "age": Numeric(0, 100, bins=4),
        "region": Categorical(["north", "south"], outside="other"),
        "ill": Categorical(["no", "yes"]),
    },
    label="ill",
)
Row = tuple[Any, Any, Any]
FINE: list[Row] = [(10, "north", "no"), (90, "south", "yes")]


def frame(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(SCHEMA.names), dtype=object)


def told(rows: list[Row], schema: Schema = SCHEMA) -> tuple[str, ...]:
    return Table.from_frame(frame(rows), schema).notes


def test_a_table_as_it_should_be_has_no_notes() -> None:
    assert told(FINE) == ()


def test_a_table_without_rows_still_opens() -> None:
    table = Table.from_frame(frame([]), SCHEMA)

    assert table.notes == ("the table has no rows",)
    assert jostle.protect(table, epsilon=1).count(1) in range(-10_000, 10_000)


def test_labels_that_are_all_missing() -> None:
    assert told([(10, "north", None), (20, "south", ""), (30, "south", "perhaps")]) == (
        "no row has 'no', 'yes' as 'ill'",
        "3 cells of 'ill' are empty or not declared: their rows take no part in what is asked about 'ill'",
    )


def test_some_rows_left_out_and_by_what() -> None:
    policies: dict[str, dict[str, Any]] = {"age": {"missing": "drop"}, "ill": {"outside": "drop", "missing": "drop"}}
    columns = {name: evolve(column, **policies.get(name, {})) for name, column in SCHEMA.columns}
    schema = Schema(columns, label="ill")

    assert told([*FINE, (None, "north", None), (5, "north", None)], schema) == (
        "2 of 4 rows are left out: empty or not declared is 'age' in 1, 'ill' in 2",
    )
    assert told([*FINE, (None, "north", "no")], schema) == (
        "1 of 3 rows is left out: empty or not declared is 'age' in 1",
    )
    assert told([(None, "north", "no")], schema) == ("the only row is left out: empty or not declared is 'age' in 1",)


def test_rows_that_leave_the_questions_about_a_column() -> None:
    assert told([*FINE, (None, "north", "no"), ("old", "north", "no")]) == (
        "2 cells of 'age' are empty, or no number: their rows take no part in what is asked about 'age'",
    )
    outside = Schema({**dict(SCHEMA.columns), "age": Numeric(0, 100, outside="blank", missing="drop")}, label="ill")
    assert told([*FINE, (101, "north", "no")], outside) == (
        "1 cell of 'age' is out of bounds: its row takes no part in what is asked about 'age'",
    )


def test_one_class_only() -> None:
    assert told([(10, "north", "no"), (20, "south", "no")]) == (
        "all rows have 'no' as 'ill': there is nothing to tell apart",
    )


def test_values_outside_the_declared_domain() -> None:
    assert told([*FINE, (101, "east", "no"), (-1, "west", "no"), (7, None, "no")]) == (
        "2 numbers of 'age' are outside 0 to 100, and count as its ends",
        "1 cell of 'region' is empty: its row takes no part in what is asked about 'region'",
        "2 cells of 'region' are not declared, and count as '(other)'",
    )


def test_one_of_each_and_dates_as_they_are_written() -> None:
    schema = Schema(
        {"born": Dates("1920-01-01", "2010-12-31"), "region": Categorical(["north", "south"], outside="other")}
    )
    rows = {"born": ["1950-05-05", "2020-01-01"], "region": ["north", "east"]}

    assert Table.from_frame(rows, schema).notes == (
        "1 number of 'born' is outside 1920-01-01 to 2010-12-31, and counts as its ends",
        "1 cell of 'region' is not declared, and counts as '(other)'",
    )


def test_a_declared_number_of_rows_that_is_not_theirs() -> None:
    schema = Schema(dict(SCHEMA.columns), label="ill", neighbours="replace_one", rows=1000)

    assert told(FINE, schema) == ("the schema says that there are 1,000 rows, and there are 2",)


ODD = '"north\n10,north,no,more\n10,"nor"th,no\n'
"""Lines that are not whole: an open quote, a cell too many, a quote inside a cell."""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("stream", [False, True])
def test_lines_that_are_not_whole(tmp_path: Path, ends: str, stream: bool) -> None:
    text = f"age,region,ill\n10,north,no\n\n90,south,yes\n{ODD}"
    (tmp_path / "t.csv").write_bytes(text.replace("\n", ends).encode())

    assert Table.read(tmp_path / "t.csv", SCHEMA, stream=stream).notes == (
        "3 lines of the file are not whole, and left out",
    )
    (tmp_path / "none.csv").write_bytes(f"age,region,ill\n{ODD}".encode())
    assert Table.read(tmp_path / "none.csv", SCHEMA, stream=stream).notes == (
        "3 lines of the file are not whole, and left out",
        "the table has no rows",
    )


cells = st.tuples(
    st.none() | st.integers(-50, 150) | st.just("old"),
    st.none() | st.sampled_from(["north", "south", "east", ""]),
    st.none() | st.sampled_from(["no", "yes", "perhaps"]),
)


@given(st.lists(cells, max_size=12))
def test_every_way_in_tells_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    folder, given_rows = tmp_path_factory.mktemp("files"), frame(rows)
    texts = given_rows.map(lambda cell: None if cell is None else str(cell))
    given_rows.to_csv(folder / "t.csv", index=False)
    texts.astype("string").to_parquet(folder / "t.parquet", row_group_size=3)
    texts.astype("category").to_parquet(folder / "categories.parquet")
    expected = Table.from_frame(given_rows, SCHEMA).notes

    for path in folder.iterdir():
        for stream in (False, True):
            assert Table.read(path, SCHEMA, stream=stream).notes == expected, path


def test_nobody_else_is_told() -> None:
    table = Table.from_frame(frame([]), SCHEMA)
    db = jostle.protect(table, epsilon=1)

    assert "no rows" not in f"{db!r}{db.schema}{db.charges}{table!r}"
    assert not hasattr(db, "notes")


WHO = ["a", "b", "7", "07", 7.0, 7, None, ""]
"""Four cells say the same person, and two say nobody."""
NAMED = Schema({"age": Numeric(0, 100), "who": Identifier(), "gone": Identifier()})
REPEATED = (
    "one value of 'who' stands in 4 rows: rows are protected, not who they are about; "
    "person='who' in the schema protects those"
)


def test_an_identifier_that_repeats_is_told_by_every_way_in(tmp_path: Path) -> None:
    dask = pytest.importorskip("dask.dataframe")
    ages = list(range(8))
    written = pd.DataFrame({"age": ages, "who": [None if who is None else str(who) for who in WHO]})
    written.to_csv(tmp_path / "rows.csv", index=False)
    written.to_parquet(tmp_path / "rows.parquet")

    tables = [
        Table.from_frame({"age": ages, "who": WHO}, NAMED),
        Table.from_frame(dask.from_pandas(written, npartitions=3), NAMED),
        *(
            Table.read(tmp_path / f"rows.{kind}", NAMED, stream=on)
            for kind in ("csv", "parquet")
            for on in (False, True)
        ),
    ]
    assert [table.notes for table in tables] == [(REPEATED,)] * len(tables)


def test_an_identifier_that_tells_rows_apart_or_is_the_person_is_not_told() -> None:
    frame = {"age": [1, 2, 3], "who": ["a", "b", None], "visit": [1, 2, 2]}
    assert Table.from_frame(frame, NAMED).notes == ()
    of_persons = Schema({"age": Numeric(0, 100), "who": Identifier()}, person="who")
    assert Table.from_frame({"age": [1, 2], "who": ["a", "a"]}, of_persons).notes == ()
    other = Schema({"age": Numeric(0, 100), "visit": Identifier()}, person="who")
    assert "one value of 'visit' stands in 2 rows: who 'who' names is protected, and no other" in (
        Table.from_frame(frame, other).notes
    )


@given(st.lists(st.lists(st.sampled_from([*"abcdefgh", None]), max_size=9), max_size=6))
def test_repeats_are_counted_whole_in_whatever_pieces(pieces: list[list[str | None]]) -> None:
    """With room for three values: those of the three smallest hashes, each with all its cells."""
    with pytest.MonkeyPatch.context() as patch:
        whole = Repeats.of([cell for piece in pieces for cell in piece])
        patch.setattr(persons, "MOST_COUNTED", 3)
        parts = Repeats()
        for piece in pieces:
            parts = parts.merged(Repeats.of(piece))
    assert (parts.marks.tolist(), parts.counts.tolist()) == (whole.marks[:3].tolist(), whole.counts[:3].tolist())
