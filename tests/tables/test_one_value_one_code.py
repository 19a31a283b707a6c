"""A row never changes the code of another, whatever library holds them."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import SMALL, SMALL_ROWS, objects, small_frame, source_of

from jostle import Categorical, Dates, Numeric, Schema, Table
from jostle.errors import SchemaError, TableError
from jostle.tables.dask_source import DaskSource
from jostle.tables.encode import encode_column
from jostle.tables.engines import MemorySource

KEPT: Any = {"outside": "other", "missing": "value"}
SCHEMA = Schema(
    {
        "truth": Categorical(["FALSE", "TRUE"], **KEPT),
        "bit": Categorical([0, 1], **KEPT),
        "digits": Categorical(["01", "2", "10"], **KEPT),
        "long": Categorical(["5", "x"], **KEPT),
        "half": Categorical(["0.5", "1.50"], **KEPT),
        "day": Categorical(["2024-01-02", "2024-09-01 03:00:00"], **KEPT),
        "born": Dates("2024-01-01", "2024-12-31", bins=4, missing="value"),
        "stamp": Dates("2024-01-01", "2024-12-31", bins=4, missing="value"),
        "amount": Numeric(0, 4, bins=4, missing="value"),
        "flag": Numeric(0, 1, bins=2, missing="value"),
        "hour": Categorical(["12:30", "09:15:00"], **KEPT),
        "mask": Categorical(["0x10", "0X1f"], **KEPT),
        "bits": Numeric(0, 32, bins=4, missing="value"),
        "void": Categorical(["5", "7"], **KEPT),
    }
)
NAMES = SCHEMA.names
ROWS = [
    ["TRUE", "1", "01", "5", "0.5", "2024-01-02", "2024-01-02", "20240102", "1", "TRUE", "12:30", "0x10", "0x10", "5"],
    [
        "FALSE",
        "0",
        "2",
        "9007199254740993",
        "1.5",
        "2024-01-02",
        "2024-09-01",
        "20240901",
        "2.5",
        "FALSE",
        "09:15",
        "0x1f",
        "0x1f",
        "NA",
    ],
    [
        "TRUE",
        "1",
        "10",
        "5",
        "0.5",
        "2024-09-01 03:00:00",
        "2024-12-31",
        "20241231",
        "3",
        "TRUE",
        "12:30",
        "0x10",
        "0x10",
        "7",
    ],
]
"""As a file has them."""
CODES = [
    (1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 2, 0),
    (0, 0, 1, 2, 1, 0, 2, 2, 2, 0, 1, 1, 3, 3),
    (1, 1, 2, 0, 0, 1, 3, 3, 3, 1, 0, 0, 2, 1),
]
STRANGERS = ["maybe", "", "2.5", "true", "1e400", "99999999999999999999", "NaN", "2024-09-01"]


def text_of(rows: list[list[str]]) -> io.StringIO:
    return io.StringIO("\n".join(map(",".join, [list(NAMES), *rows])) + "\n")


def pandas_frame(rows: list[list[str]], **how: Any) -> pd.DataFrame:
    return pd.read_csv(text_of(rows), **how)


def arrow_table(rows: list[list[str]]) -> pa.Table:
    return pa_csv.read_csv(pa.BufferReader(text_of(rows).getvalue().encode()))


def numpy_columns(rows: list[list[str]]) -> dict[str, Any]:
    """Return columns whose types numpy finds among objects of Python."""
    return {name: np.array(cells) for name, cells in zip(NAMES, objects_of(rows), strict=True)}


def objects_of(rows: list[list[str]]) -> list[list[Any]]:
    return [[read(row[place]) for row in rows] for place in range(len(NAMES))]


def read(text: str) -> Any:
    """Return a cell as whoever types a list would have it."""
    if not text:
        return np.nan
    for of in (int, float):
        try:
            return of(text)
        except ValueError:
            continue
    return {"TRUE": True, "FALSE": False, "true": True}.get(text, text)


def dask_parts(rows: list[list[str]]) -> Any:
    parts = [rows[:2], rows[2:]]
    return dask_frame.from_map(  # type: ignore[no-untyped-call]  # Dask has no types
        lambda place: pandas_frame(parts[place]), [0, 1], meta=pandas_frame(ROWS)[:0]
    )


def features(rows: list[list[str]], array: Callable[[pd.DataFrame], Any]) -> Table:
    """Return the table as scikit-learn's arguments: attributes, and a column as labels."""
    frame = pandas_frame(rows)
    schema = Schema(dict(SCHEMA.columns), label="truth")
    return Table.from_features(array(frame[list(schema.attributes)]), frame["truth"], schema)


def codes_of(table: Table) -> list[tuple[int, ...]]:
    source = source_of(table)
    if isinstance(source, DaskSource):
        blocks = [block for piece in source.pieces for block in source.blocks(piece.compute(), source.schema, None)]
        return [row for block in blocks for row in rows_of(block.columns)]
    return rows_of(source.columns)  # type: ignore[attr-defined]  # rows in memory


def rows_of(columns: Any) -> list[tuple[int, ...]]:
    return list(zip(*(columns[name].tolist() for name in NAMES), strict=True))


def written(rows: list[list[str]], folder: Path, name: str, **how: Any) -> Table:
    path = folder / name
    if name.endswith(".csv"):
        path.write_text(text_of(rows).getvalue())
    else:
        pa_parquet.write_table(arrow_table(rows), path)
    return Table.read(path, SCHEMA, **how)


def frames(make: Callable[[list[list[str]]], Any]) -> Callable[[list[list[str]], Path], Table]:
    return lambda rows, _: Table.from_frame(make(rows), SCHEMA)


DAYS = ["day", "born"]
WAYS: dict[str, Callable[[list[list[str]], Path], Table]] = {
    "pandas": frames(pandas_frame),
    "pandas nullable": frames(lambda rows: pandas_frame(rows, dtype_backend="numpy_nullable")),
    "pandas arrow": frames(lambda rows: pandas_frame(rows).convert_dtypes(dtype_backend="pyarrow")),
    "pandas arrow engine": frames(lambda rows: pandas_frame(rows, engine="pyarrow")),
    "pandas dates": frames(lambda rows: pandas_frame(rows, parse_dates=DAYS)),
    "pandas categories": frames(lambda rows: pandas_frame(rows).astype("category")),
    "pandas objects": frames(lambda rows: pandas_frame(rows).astype(object)),
    "pandas of objects": frames(lambda rows: pd.DataFrame(dict(zip(NAMES, objects_of(rows), strict=True)))),
    "pandas in parts": frames(lambda rows: pd.concat([pandas_frame(rows[:2]), pandas_frame(rows[2:])])),
    "polars": frames(lambda rows: pl.read_csv(text_of(rows).getvalue().encode())),
    "polars dates": frames(lambda rows: pl.read_csv(text_of(rows).getvalue().encode(), try_parse_dates=True)),
    "polars of objects": frames(
        lambda rows: pl.DataFrame(dict(zip(NAMES, objects_of(rows), strict=True)), strict=False)
    ),
    "arrow": frames(arrow_table),
    "a dict of lists": frames(lambda rows: dict(zip(NAMES, objects_of(rows), strict=True))),
    "a dict of arrays": frames(numpy_columns),
    "dask": frames(dask_parts),
    "csv": lambda rows, folder: written(rows, folder, "t.csv"),
    "parquet": lambda rows, folder: written(rows, folder, "t.parquet"),
    "features of a frame": lambda rows, _: features(rows, lambda frame: frame),
    "features of an array": lambda rows, _: features(rows, lambda frame: frame.to_numpy()),
    "features of texts": lambda rows, _: features(rows, lambda frame: np.array(frame.to_numpy(), dtype=str)),
    "features of rows": lambda rows, _: features(rows, lambda frame: frame.to_numpy().tolist()),
}


@pytest.mark.filterwarnings("ignore:Could not infer format", "ignore:invalid value encountered in cast")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_row_never_changes_the_code_of_another(way: Any, tmp_path: Path) -> None:
    """A stranger in every column of one row, wherever that row is."""
    assert codes_of(way(ROWS, tmp_path)) == CODES
    for number, stranger in enumerate(STRANGERS):
        place = number % (len(ROWS) + 1)
        codes = codes_of(way([*ROWS[:place], [stranger] * len(NAMES), *ROWS[place:]], tmp_path))
        del codes[place]
        assert codes == CODES, (stranger, place)


SAME: dict[str, list[Any]] = {
    "1": [1, 1.0, "1", "1.0", "01", "+1", " 1 ", "1e0", True, "TRUE", "true", np.int8(1), np.uint64(1), np.float32(1),
          np.bool_(True), Decimal(1), Decimal("1.00"), 1 + 0j, b"1"],
    "0.7": [0.7, "0.7", ".70", "7e-1", np.float64(0.7), np.float32(0.7), Decimal("0.7")],
    "2024-01-02": [
        "2024-01-02", "2024-01-02 00:00:00", "2024-01-02T00:00:00Z", "2024-01-02 01:00:00+01:00", "20240102", 20240102,
        20240102.0, "2024/01/02", dt.date(2024, 1, 2), dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2, tzinfo=dt.UTC),  # noqa: DTZ001
        pd.Timestamp("2024-01-02"), pd.Timestamp("2024-01-02", tz="UTC"), np.datetime64("2024-01-02"),
        np.datetime64("2024-01-02T00:00:00", "ns"),
    ],
    "1 day, 0:00:00": [dt.timedelta(1), pd.Timedelta(days=1), np.timedelta64(1, "D"), np.timedelta64(24, "h")],
    "3:00": ["3:00"],
    "03:00:00": [dt.time(3), "03:00:00", "03:00", "03:00:00.000"],
    "16": [16, "0x10", "0X10"],
}  # fmt: skip
"""What a declared value is found as."""


@pytest.mark.parametrize("declared", SAME)
def test_a_value_is_the_same_alone_among_others_and_in_a_type_of_its_own(declared: str) -> None:
    column = Categorical([declared, "x"], outside="other")
    for value in SAME[declared]:
        found: list[Any] = [[value], ["x", value, None], np.array([value], dtype=object), pd.Series([value])]
        for cells in (*found, np.array([value]), pd.Series([value, None]), pd.Series([value], dtype="category")):
            assert 0 in codes_in(cells, column), (value, cells)


def codes_in(cells: Any, column: Categorical) -> list[int]:
    source = source_of(Table.from_frame({"a": cells}, Schema({"a": column})))
    return [int(code) for code in source.columns["a"]]  # type: ignore[attr-defined]  # rows in memory


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.uint64(), pa.decimal128(30, 2), pa.string()], ids=str)
def test_whole_numbers_that_floats_do_not_tell_apart_are_not_declared(kind: pa.DataType) -> None:
    column = Categorical([str(2**53 - 1), "x"], outside="other")
    cells = pa.array([str(2**53 - 1), str(2**53), str(2**60)]).cast(kind)

    assert encode_column(cells, column).tolist() == [0, 2, 2]
    assert encode_column(cells.to_pylist(), column).tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    "values",
    [["1", "1.0"], [1, "01"], ["TRUE", "true"], [True, "True"], [1, True], ["2024-01-02", "2024-01-02 00:00:00"],
     ["2024-01-02", 20240102], ["12:30", "12:30:00"], ["0x10", "16"], ["0", "-0"], ["5e-1", 0.5]],
)  # fmt: skip
def test_values_that_are_the_same_are_not_both_declared(values: list[Any]) -> None:
    with pytest.raises(SchemaError, match=r"is the same as|is declared twice"):
        Categorical(values)


@pytest.mark.parametrize("value", [2**53, "9007199254740993", 10**17, "9" * 30, -(2**60)])
def test_a_number_that_cannot_be_found_is_not_declared(value: Any) -> None:
    with pytest.raises(SchemaError, match=r"is a number of 2\*\*53 or more"):
        Categorical([value, "x"])


def test_a_code_that_looks_like_a_large_number_is_found() -> None:
    """As police beats do."""
    column = Categorical(["15E10", "15E30", "15F30"], outside="other")

    for cells in (["15E10", "15E30", "15F30"], [15e10, 15e30, "15F30"], pa.array([15e10, 15e30]), [15e10, 15 * 10**30]):
        assert codes_in(cells, column) == [0, 1, 2][: len(cells)]


@pytest.mark.parametrize("value", ["nan", "NaN", "NaT"])
def test_what_libraries_write_for_an_empty_cell_is_one(value: str) -> None:
    """As numpy makes texts of numbers beside a text."""
    with pytest.raises(SchemaError, match="an empty cell is declared"):
        Categorical([value])
    assert codes_in([value, "x"], Categorical(["x"], missing="value")) == [1, 0]


def test_times_and_lists_where_numbers_are_declared_are_empty_cells() -> None:
    """They are not refused: a type that all cells have is gone with one of another."""
    column = Numeric(0, 1, missing="value")
    moment = pd.Timestamp("2024-01-02")

    for cells in (pd.Series([moment, moment]), pl.Series([[1], [2]]), pa.array([{"a": 1}, None]), [moment, "x"]):
        source = source_of(Table.from_frame({"a": cells}, Schema({"a": column})))
        assert set(source.columns["a"].tolist()) == {column.missing_code}  # type: ignore[attr-defined]  # as above


def test_the_owner_is_told_of_times_where_numbers_are_declared() -> None:
    frame = {"a": pd.Series([pd.Timestamp("2024-01-02")] * 2)}

    for missing in ("value", "blank", "drop"):
        notes = Table.from_frame(frame, Schema({"a": Numeric(0, 1, missing=missing)})).notes
        assert "'a' has no numbers; dates and times are declared as Dates(start, end)" in notes


# Dataframes: the same rows give the same codes whatever library, type or layout they come in.


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
