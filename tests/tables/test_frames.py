"""Dataframes: the same rows give the same codes whatever library, type or layout they come in."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import SMALL, SMALL_ROWS, objects, small_frame, source_of

from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import TableError
from jostle.tables.engines import MemorySource


def rows_in(frame: Any, schema: Schema = SMALL) -> list[tuple[int, ...]]:
    source = source_of(Table.from_frame(frame, schema))
    assert isinstance(source, MemorySource)
    return [tuple(int(source.columns[name][row]) for name in schema.names) for row in range(source.length)]


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(SMALL_ROWS, schema=list(SMALL.names), orient="row", strict=False)


ANY = Schema(
    {
        "a": Categorical(["1", "1.5", "False", "x"], outside="other", missing="value"),
        "b": Numeric(-2, 2, bins=8, missing="value"),
    }
)


@given(st.lists(st.tuples(objects, objects), max_size=5))
def test_one_object_does_not_change_how_another_is_read(rows: list[tuple[object, object]]) -> None:
    """Pandas and Arrow give a column of objects a type by looking at all of them; here, each speaks for itself."""

    def frame(some: list[tuple[object, object]]) -> pd.DataFrame:
        return pd.DataFrame(
            {"a": pd.Series([a for a, _ in some], dtype=object), "b": pd.Series([b for _, b in some], dtype=object)}
        )

    assert rows_in(frame(rows), ANY) == [code for row in rows for code in rows_in(frame([row]), ANY)]


@pytest.mark.parametrize(
    "stranger", ["x", 2**70, None, pd.NA, 1.5, b"\xff", "\ud800", Decimal(1), [1], dt.date(2024, 1, 1)]
)
def test_a_stranger_among_whole_numbers(stranger: object) -> None:
    alone = pd.DataFrame({"a": pd.Series([1, True, 1.0], dtype=object), "b": pd.Series([1, True, 1.0], dtype=object)})
    mixed = pd.concat(
        [alone, pd.DataFrame({"a": pd.Series([stranger], dtype=object), "b": pd.Series([0], dtype=object)})]
    )

    assert rows_in(alone, ANY) == rows_in(mixed, ANY)[:3]


@pytest.mark.parametrize("bytes_of", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("stranger", ["x", 1, None, b"\xff", pd.NA, Decimal(1), dt.date(2024, 1, 1)])
def test_a_stranger_among_bytes(bytes_of: Any, stranger: object) -> None:
    """Databases hand out bytes in types that Arrow takes for texts, as long as all cells are texts to it."""
    cells = [bytes_of(b"x"), bytes_of(b"1.5")]

    for column in (cells, [*cells, stranger]):
        assert rows_in({"a": column, "b": [0] * len(column)}, ANY)[:2] == [(3, 4), (1, 4)]
        assert rows_in(pd.DataFrame({"a": pd.Series(column, dtype=object), "b": 0}), ANY)[:2] == [(3, 4), (1, 4)]


@pytest.mark.parametrize("stranger", [dt.date(2024, 1, 1), 0.5, None, "x"])
def test_a_stranger_after_a_long_row_of_nothing(stranger: object) -> None:
    """Where the first cells are empty, narwhals says that a column has texts, and Arrow looks at what comes next."""
    schema = Schema({"a": Categorical(["2024-01-02 03:00:00"], outside="other", missing="value")})
    moment = dt.datetime(2024, 1, 2, 3)  # noqa: DTZ001 - as a table has it
    frame = pd.DataFrame({"a": pd.Series([None] * 200 + [stranger, moment], dtype=object)})

    assert rows_in(frame, schema)[-1] == (0,)


def test_categories_of_objects_are_read_one_by_one() -> None:
    """Arrow takes all categories for dates when the first one is, and times lose their hours."""
    day, moment = dt.date(2024, 1, 1), dt.datetime(2024, 1, 2, 3)  # noqa: DTZ001 - as a table has it
    schema = Schema({"a": Categorical(["2024-01-02 03:00:00", "1"], outside="other", missing="value")})

    for categories in ([moment], [day, moment], ["x", moment], [1, moment, 0.5]):
        cells = pd.Categorical.from_codes([categories.index(moment), -1], pd.Index(categories, dtype=object))
        assert rows_in(pd.DataFrame({"a": cells}), schema) == [(0,), (3,)]


# What is refused


def message(frame: Any, schema: Schema = SMALL) -> str:
    with pytest.raises(TableError) as refusal:
        Table.from_frame(frame, schema)
    return str(refusal.value)


def test_a_column_that_is_missing() -> None:
    frame = small_frame().drop(columns=["age", "ill"]).assign(secret=1)

    assert message(frame) == (
        "the frame has no column 'age', 'ill'\n"
        "  why: every column that the schema declares is read\n"
        "  fix: compare the schema with the names of its 2 columns"
    )


def test_a_frame_that_fails_quotes_nothing() -> None:
    """Polars says which values could not be converted; that is not passed on."""
    frame = polars_frame().lazy().with_columns(age=pl.col("colour").cast(pl.Int64))

    assert message(frame) == (
        "the LazyFrame could not be computed\n  why: the reason is kept back, since it could quote private rows"
    )
