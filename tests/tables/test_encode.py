"""Cells become codes, one by one and by no other row: texts, numbers, dates, objects of any type."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from some_tables import SMALL, categoricals, columns, numerics, objects, said, tally, values, words

import jostle
from jostle import Categorical, Dates, Identifier, Numeric, Schema, Table
from jostle.errors import JostleError, TableError
from jostle.tables.attributes import feature_columns, joined
from jostle.tables.block import Block
from jostle.tables.columns import Column
from jostle.tables.encode import encode_block, encode_column
from jostle.tables.frames import encode_frame
from jostle.tables.kernels import Counts
from jostle.tables.number_kernels import Ranks
from jostle.tables.values import EMPTY

DROPPED = -1


def codes(cells: Any, column: Column) -> list[int]:
    return [int(code) for code in encode_column(cells, column)]


# The slow, obvious way


def number_in(text: str) -> float | None:
    if text.lower() in {"true", "false"}:
        return float(text.lower() == "true")
    if re.fullmatch(r"\s*0[xX][0-9a-fA-F]{1,16}\s*", text, re.ASCII):  # 64 bits, of which the first is a sign
        return float((int(text, 16) + 2**63) % 2**64 - 2**63)
    if set(text) - set("0123456789+-.eEinftyINFTY \t\n\v\f\r"):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def expected(text: str | None, number: float | None, column: Column) -> int:
    """Return the code of a cell that is written as *text* and stands for *number*, either of which it may not have."""
    if isinstance(column, Numeric):
        return expected_bin(number, column)
    missing = DROPPED if column.missing_code is None else column.missing_code
    other = DROPPED if column.other_code is None else column.other_code
    if not text or text in {"nan", "NaN", "NAN", "-nan", "-NaN", "NaT"}:
        return missing
    written = column.values  # noqa: PD011 - as the schema declares them
    if text in written:
        return written.index(text)
    declared = [number_in(value) for value in written]
    if number is not None and number in declared:
        return declared.index(number)
    days = [day_in(value) for value in written]
    return days.index(day_in(text)) if day_in(text) and day_in(text) in days else other


def day_in(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def expected_bin(number: float | None, column: Numeric) -> int:
    missing = DROPPED if column.missing_code is None else column.missing_code
    other = DROPPED if column.other_code is None else column.other_code
    if number is None or math.isnan(number):
        return missing
    if not column.low <= number <= column.high and column.outside != "clamp":
        return other
    return min(max(bisect_right(column.cut_points, number) - 1, 0), column.bin_count - 1)


numerals = st.from_regex(r"\A\s?[+-]?[0-9]{0,3}\.?[0-9]{0,2}([eE][+-]?[0-9]{1,3})?\s?\Z") | st.sampled_from(
    [
        "inf",
        "-Infinity",
        "nan",
        "NaN",
        "-nan(1)",
        "1_0",
        "0x10",
        "٣",
        "1e400",
        "1" * 400,
        "+5",
        "5.",
        ".5",
        ".",
        "e1",
        "",
    ]
)


@given(st.lists(st.none() | words | numerals), columns)
@example(["1.0", "01", "+1", "1e0", " 1"], Categorical(["1"]))
@example(["9007199254740993", "9007199254740991"], Categorical(["9007199254740991"]))
def test_texts(cells: list[str | None], column: Column) -> None:
    told = [expected(cell, None if cell is None else number_in(cell), column) for cell in cells]

    assert codes(pa.array(cells, pa.string()), column) == told
    assert codes(pa.array(cells, pa.large_string()), column) == told
    assert codes(pa.array(cells, pa.string_view()), column) == told
    assert codes(list(cells), column) == told
    assert codes(pa.array(cells, pa.string()).dictionary_encode(), column) == told


@given(
    st.data(),
    st.lists(
        (values | numerals.filter(lambda text: text.strip() and abs(number_in(text) or 0) < 2**53)).filter(
            str.isprintable
        ),
        min_size=1,
        max_size=5,
        unique_by=said,
    ).filter(lambda texts: not EMPTY.intersection(texts)),
)
def test_declared_values_keep_their_codes(data: st.DataObject, declared: list[str]) -> None:
    column = Categorical(declared)
    cells = data.draw(st.lists(st.sampled_from(declared)))

    assert codes(pa.array(cells, pa.string()), column) == [declared.index(cell) for cell in cells]


@given(st.lists(st.floats()), columns)
def test_floats(cells: list[float], column: Column) -> None:
    told = [
        expected(None if math.isnan(cell) else pa.scalar(cell).cast(pa.string()).as_py(), cell, column)
        for cell in cells
    ]

    assert codes(pa.array(cells, pa.float64()), column) == told
    assert codes(list(cells), column) == told


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)), columns)
def test_integers(cells: list[int], column: Column) -> None:
    told = [expected(str(cell), float(cell), column) for cell in cells]

    assert codes(pa.array(cells, pa.int64()), column) == told
    assert codes(list(cells), column) == told


@given(numerics(), st.data())
def test_bins_hold_their_lower_edge_and_not_their_upper_one(column: Numeric, data: st.DataObject) -> None:
    """Right at an edge, and at the nearest floats on both sides of it."""
    edge = data.draw(st.sampled_from(column.cut_points))
    cells = [edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf)]

    assert codes(pa.array(cells), column) == [expected_bin(cell, column) for cell in cells]


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**12), st.integers(1, 2**12), st.data())
def test_narrow_bins_are_as_exact_as_wide_ones(low: int, width: int, bins: int, data: st.DataObject) -> None:
    """Down to where numbers of this size can hardly be told apart."""
    narrowest = 4 * math.ulp(abs(low) + 1)
    column = Numeric(low, low + max(width / 1024, bins * narrowest * 1.01), bins=bins)
    cell = data.draw(st.floats(column.low, column.high))
    cuts = column.cut_points

    assert codes(pa.array([cell, *cuts[:-1]]), column) == [
        min(bisect_right(cuts, cell) - 1, column.bins - 1),
        *range(column.bins),
    ]


def test_as_many_bins_as_may_be_need_no_table_of_edges() -> None:
    column = Numeric(0, 2**30, bins=2**30, outside="other", missing="value")

    assert codes(pa.array([0.5, 2.0**30, 2.0**30 - 1, -1, None]), column) == [0, 2**30 - 1, 2**30 - 1, 2**30, 2**30 + 1]


# One row at a time


@given(st.lists(objects), columns)
def test_objects_are_read_one_by_one(cells: list[object], column: Column) -> None:
    """No object changes how another is read, and none makes reading fail."""
    assert codes(list(cells), column) == [code for cell in cells for code in codes([cell], column)]


FIXED_TYPES: dict[pa.DataType, type] = {
    pa.date32(): np.int32,
    pa.date64(): np.int64,
    pa.time32("s"): np.int32,
    pa.time64("ns"): np.int64,
    pa.timestamp("s"): np.int64,
    pa.timestamp("ns"): np.int64,
    pa.timestamp("us", tz="UTC"): np.int64,
    pa.timestamp("ms", tz="+02:00"): np.int64,
    pa.duration("us"): np.int64,
    pa.decimal32(9, 3): np.int16,
    pa.decimal64(18, 3): np.int16,
    pa.decimal128(38, 3): np.int64,
    pa.decimal256(60, 3): np.int64,
}
DIRECT_TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64, np.float16, np.float32]


def of_type(numbers: Any, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(int(number)).scaleb(-3) for number in numbers], kind)
    return pa.array(numbers).view(kind)


@given(st.data())
@settings(max_examples=4 * len(FIXED_TYPES))
def test_cells_of_any_type_are_read_one_by_one(data: st.DataObject) -> None:
    kind: Any = data.draw(st.sampled_from([*FIXED_TYPES, *DIRECT_TYPES]))
    numbers = data.draw(arrays.arrays(FIXED_TYPES.get(kind, kind), st.integers(0, 5)))
    column = data.draw(columns if kind in DIRECT_TYPES or pa.types.is_decimal(kind) else categoricals())
    cells = pa.array(numbers) if kind in DIRECT_TYPES else of_type(numbers, kind)

    assert codes(cells, column) == [
        code for place in range(len(cells)) for code in codes(cells[place : place + 1], column)
    ]


@given(st.lists(st.binary(max_size=4) | st.none()), columns)
def test_bytes_that_are_no_text_are_read_one_by_one(cells: list[bytes | None], column: Column) -> None:
    told = [code for cell in cells for code in codes([cell], column)]

    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert codes(pa.array(cells, kind), column) == told


@given(st.lists(st.tuples(objects, objects, objects)))
def test_coding_a_table_is_coding_each_of_its_rows(rows: list[tuple[object, object, object]]) -> None:
    """A row that is dropped takes no other with it."""
    alone = [code for row in rows for code in coded([row])]

    assert coded(rows) == alone


def coded(rows: list[tuple[object, object, object]]) -> list[tuple[int, ...]]:
    cells = {name: [row[place] for row in rows] for place, name in enumerate(SMALL.names)}
    return rows_of(encode_block(cells, SMALL, len(rows)))


def rows_of(block: Block) -> list[tuple[int, ...]]:
    return [tuple(int(block.columns[name][row]) for name in SMALL.names) for row in range(block.length)]


@pytest.mark.parametrize(
    ("outside", "missing", "told"),
    [
        ("clamp", "drop", [0, 0, 1, 1, 1, -1, -1]),
        ("clamp", "value", [0, 0, 1, 1, 1, 2, 2]),
        ("clamp", "blank", [0, 0, 1, 1, 1, 2, 2]),
        ("other", "blank", [2, 0, 1, 1, 2, 3, 3]),
        ("other", "value", [2, 0, 1, 1, 2, 3, 3]),
        ("blank", "value", [3, 0, 1, 1, 3, 2, 2]),
        ("blank", "blank", [2, 0, 1, 1, 2, 2, 2]),
        ("drop", "drop", [-1, 0, 1, 1, -1, -1, -1]),
        ("drop", "value", [-1, 0, 1, 1, -1, 2, 2]),
    ],
)
def test_numbers_out_of_bounds_and_no_numbers(outside: Any, missing: Any, told: list[int]) -> None:
    column = Numeric(0, 10, bins=2, outside=outside, missing=missing)

    assert codes(pa.array([-1, 0, 5, 10, 11, None, math.nan], from_pandas=False), column) == told
    assert codes(pa.array(["-inf", "0", " 5 ", "1e1", "inf", None, "ten"]), column) == told
    assert codes(pa.array(["-1", "0", "5", "10", "11", "", "nan"]), column) == told


@pytest.mark.parametrize(
    ("outside", "missing", "told"),
    [
        ("drop", "drop", [0, -1, -1, -1]),
        ("drop", "value", [0, -1, 2, 2]),
        ("blank", "blank", [0, 2, 2, 2]),
        ("blank", "drop", [0, 2, -1, -1]),
        ("blank", "value", [0, 3, 2, 2]),
        ("other", "blank", [0, 2, 3, 3]),
        ("other", "value", [0, 2, 3, 3]),
    ],
)
def test_values_that_are_not_declared(outside: Any, missing: Any, told: list[int]) -> None:
    column = Categorical(["a", "b"], outside=outside, missing=missing)

    assert codes(pa.array(["a", "c", None, ""]), column) == told


def test_a_value_is_matched_as_a_text_first_and_then_as_a_number() -> None:
    column = Categorical(["1", "1.50", "2024-01-02", "b'x'"], outside="other")

    assert codes(pa.array(["1", "1.0", "1.5", "+1"]), column) == [0, 0, 1, 0]
    assert codes(pa.array([1.0, 1.5, 2.0]), column) == [0, 1, 4]
    assert codes(pa.array([Decimal("1.500")]), column) == [1]
    assert codes([1, 1.5, Decimal("1.5"), "1.5", np.float32(1.5), True], column) == [0, 1, 1, 1, 1, 0]
    assert codes(pa.array([dt.date(2024, 1, 2)]), column) == [2]
    assert codes([dt.date(2024, 1, 2), b"1", b"x"], column) == [2, 0, 4]


@pytest.mark.parametrize(("no", "yes"), [("False", "True"), ("false", "true"), ("0", "1")])
def test_truths_are_found_however_they_are_declared(no: str, yes: str) -> None:
    column = Categorical([no, yes], missing="value")

    assert codes(pa.array([True, False, None]), column) == [1, 0, 2]
    assert codes([True, False, None, np.bool_(True)], column) == [1, 0, 2, 1]
    assert codes(pa.array([True, False]), Numeric(0, 1, bins=2)) == [1, 0]


def test_times_are_the_same_in_any_unit() -> None:
    column = Categorical(["2024-01-02 00:00:00", "2024-01-02 03:00:00.25"])
    moments = [dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2, 3, microsecond=250_000)]  # noqa: DTZ001 - local

    for unit in ("s", "ms", "us", "ns"):
        assert codes(pa.array(moments[:1], pa.timestamp(unit)), column) == [0]
    assert codes(pa.array(moments[:1]), column) == codes(list(moments[:1]), column) == [0]


def test_run_lengths_and_extensions_are_looked_through() -> None:
    column = Categorical(["a", "7"], missing="value")
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 4]), pa.array(["a", "7", None]))
    flags = pa.array([7, None], pa.int8())

    assert codes(runs, column) == [0, 0, 1, 2]
    assert codes(pa.ExtensionArray.from_storage(pa.bool8(), flags), column) == [1, 2]
    assert codes(pa.nulls(2), column) == [2, 2]
    assert codes(pa.nulls(2), Numeric(0, 1, missing="drop")) == [-1, -1]


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.int8()), pa.struct({"a": pa.int8()}), pa.binary(4), pa.date32(), pa.timestamp("ns"), pa.duration("s")],
    ids=str,
)
def test_no_type_is_refused(kind: pa.DataType) -> None:
    """It is one that all cells of a column have, and none has once another row has a text."""
    assert codes(pa.nulls(1, kind), Categorical(["a"], missing="value")) == [1]
    assert codes(pa.nulls(1, kind), Numeric(0, 1, bins=1, missing="value")) == [1]


@given(st.lists(st.none() | st.integers(-3, 4)), categoricals())
def test_a_place_beyond_the_values_is_an_empty_cell(places: list[int | None], column: Column) -> None:
    """As damaged files have them: an error would tell of a row, and place -1 is not the last value."""
    values = ["x", "1"]
    cells = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(values), safe=False)
    there = [values[place] if place is not None and 0 <= place < len(values) else None for place in places]

    assert codes(cells, column) == codes(pa.array(there, pa.string()), column)


# Dates as numbers since a public start, in every form they come in; and identifiers, which nobody asks about.


SCHEMA = Schema({"when": Dates("2024-01-30", "2024-02-02", bins=3, missing="value"), "who": Identifier()})
DAYS = ["2024-01-30", "2024-01-31", "2024-02-01 23:59:59", None, "2025-01-01", "2023-01-01"]
"""What is beyond an end counts as that end."""

FORMS: dict[str, Callable[[pd.Series], Any]] = {
    "texts": lambda days: days,
    "timestamps": lambda days: pd.to_datetime(days, format="ISO8601"),
    "nanoseconds": lambda days: pd.to_datetime(days, format="ISO8601").astype("datetime64[ns]"),
    "days": lambda days: pd.to_datetime(days, format="ISO8601").dt.date,
    "in Greenwich": lambda days: pd.to_datetime(days, format="ISO8601").dt.tz_localize("UTC"),
    "categories": lambda days: days.astype("category"),
}


def steps(table: Table) -> list[int]:
    return tally(table, Ranks("when", [0, 1, 2, 3]))


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_days_since_the_start(form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"when": FORMS[form](pd.Series(DAYS)), "who": range(6)})
    tables = [Table.from_frame(frame, SCHEMA)]
    for name in ("rows.csv", "rows.parquet"):
        if name.endswith("csv") or form != "days":
            frame.to_csv(tmp_path / name, index=False) if name.endswith("csv") else frame.to_parquet(tmp_path / name)
            tables.append(Table.read(tmp_path / name, SCHEMA))

    for table in tables:
        assert steps(table) == [2, 1, 1, 1]
        assert tally(table, Counts.of("when")) == [2, 1, 2, 1]


@given(st.datetimes(dt.datetime(2024, 1, 29), dt.datetime(2024, 2, 3)), st.sampled_from(["hour", "minute", "day"]))  # noqa: DTZ001 - moments here have no zone
def test_a_moment_belongs_to_the_unit_that_it_lies_in(moment: dt.datetime, unit: str) -> None:
    column = Dates("2024-01-30", "2024-02-02", unit=unit, bins=1)
    table = Table.from_frame(pd.DataFrame({"when": [moment]}), Schema({"when": column}))
    assert column.clock is not None
    assert column.grain is not None
    place = min(max(column.clock.count(moment), 0), column.grain.span)

    assert tally(table, Ranks("when", list(range(column.grain.span + 1)))).index(1) == place
    if 0 < place < column.grain.span:
        assert column.moment(place) <= moment < column.moment(place + 1)


@pytest.mark.parametrize("cell", ["", "soon", "2024-02-30", "5", 5, True, "24-01-30", "9999-99-99"])
def test_what_is_no_date_is_an_empty_cell(cell: Any) -> None:
    table = Table.from_frame(pd.DataFrame({"when": pd.Series([cell], dtype=object), "who": [1]}), SCHEMA)

    assert tally(table, Counts.of("when")) == [0, 0, 0, 1]
    assert steps(table) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "ticks", "told"),
    [
        (pa.date32(), [-(2**31), 2**31 - 1, 19753], [1, 1, 0, 1]),
        (pa.date64(), [-(2**63), 2**63 - 1, 19753 * 86_400_000], [1, 1, 0, 1]),
        (pa.timestamp("s"), [-(2**63), 2**63 - 1, 19753 * 86_400], [1, 1, 0, 1]),
        (pa.timestamp("ns"), [-(2**63), 2**63 - 1, 19753 * 86_400 * 10**9], [1, 1, 0, 1]),
        (pa.timestamp("ns"), [19753 * 86_400 * 10**9 - 1, 19753 * 86_400 * 10**9 + 1], [1, 1, 0, 0]),
    ],
)
def test_no_moment_is_too_far_away_to_be_read(kind: pa.DataType, ticks: list[int], told: list[int]) -> None:
    """An error that one row can cause would be an answer about that row."""
    stored = pa.array(ticks, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
    table = Table.from_frame(pa.table({"when": stored}), SCHEMA)

    assert steps(table) == told


def test_schemas_with_dates_and_identifiers_are_kept() -> None:
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA == pickle.loads(pickle.dumps(SCHEMA))
    assert 'kind = "dates"\nstart = "2024-01-30"\nend = "2024-02-02"\nunit = "day"\nbins = 3' in SCHEMA.to_toml()
    assert SCHEMA["when"].labels == (
        "[2024-01-30, 2024-01-31)",
        "[2024-01-31, 2024-02-01)",
        "[2024-02-01, 2024-02-02]",
        "(missing)",
    )
    assert SCHEMA.with_neighbours("replace_one").identifiers == ("who",)
    hours = Schema({"at": Dates("2024-01-30T06:00", "2024-01-30T18:00", unit="hour", bins=2)})
    assert Schema.from_toml(hours.to_toml()) == hours
    assert hours["at"].labels == (
        "[2024-01-30T06:00:00, 2024-01-30T12:00:00)",
        "[2024-01-30T12:00:00, 2024-01-30T18:00:00]",
    )


def test_statistics_of_dates_are_numbers_that_stand_for_moments() -> None:
    days = pd.date_range("2024-01-01", "2024-12-31")
    schema = Schema({"when": Dates("2024-01-01", "2024-12-31")})
    db = jostle.rehearse(Table.from_frame(pd.DataFrame({"when": days}), schema), epsilon=10**7, seed=1)

    assert db.median("when", epsilon=10**6).value in {182, 183}
    assert db.mean("when", epsilon=10**6) == pytest.approx(182.5, abs=0.01)
    assert schema["when"].moment(db.quantile("when", 1, epsilon=10**6)).year == 2024  # type: ignore[union-attr]  # a date


def test_an_identifier_is_not_asked_about() -> None:
    table = Table.from_frame(pd.DataFrame({"when": ["2024-01-30"]}), SCHEMA)  # it need not even be there
    db = jostle.rehearse(table, epsilon=1)
    for ask in (
        lambda: db.histogram("who", epsilon=1),
        lambda: db.parts("who"),
        lambda: db.mean("who", epsilon=1),
        lambda: db.where("who", "me"),
        lambda: db.top_k("who", 1, epsilon=1),
    ):
        with pytest.raises(JostleError, match="'who' is a column of identifiers"):
            ask()
    assert db.spent == 0
    assert "who" not in SCHEMA
    assert SCHEMA.names == ("when",)


# Attributes and labels that come apart: what a row becomes is a matter of that row, whatever holds it.


SCHEMA_OF_ATTRIBUTES = Schema(
    {
        "share": Numeric(0, 1, bins=2),
        "smokes": Categorical([False, True], outside="other", missing="value"),
        "ill": Categorical(["no", "yes"]),
    },
    label="ill",
)


def codes_of_attributes(features: object, labels: list[str]) -> list[list[int]]:
    source = encode_frame(joined(features, labels, SCHEMA_OF_ATTRIBUTES), SCHEMA_OF_ATTRIBUTES)
    return [source.columns[name].tolist() for name in SCHEMA_OF_ATTRIBUTES.names]


def test_a_row_more_changes_no_other_row_of_lists() -> None:
    """A number, a truth and an empty cell have no type in common that each row keeps its meaning in."""
    rows: list[list[object]] = [[0.2, True], [0.9, False], [0.6, True]]
    without = codes_of_attributes(rows, ["no", "yes", "no"])
    for more in ([0.1, None], ["", True], [7, "odd"], [2**70, 0.5]):
        with_it = codes_of_attributes([*rows, more], ["no", "yes", "no", "no"])
        assert [column[:3] for column in with_it] == without


def test_a_row_of_another_length_has_empty_cells_and_stops_no_other() -> None:
    """Whether a list is a table must not hang on one row of it, nor on there being any."""
    for torn in ([1], [], [1, 2, 3], "ab", None, np.array([[1, 2]]), 7):
        assert feature_columns([[1, 2], torn, pd.Series([3, 4])], ("share", "smokes")) == {
            "share": [1, None, 3],
            "smokes": [2, None, 4],
        }
        assert feature_columns(deque([[1, 2], torn]), ("share", "smokes")) == {"share": [1, None], "smokes": [2, None]}
    assert feature_columns([deque([1, 2])], ("share", "smokes")) == {"share": [1], "smokes": [2]}
    assert feature_columns([], ("share", "smokes")) == {"share": [], "smokes": []}
    assert codes_of_attributes([], []) == [[], [], []]


@pytest.mark.parametrize(
    "features", [[[1]], [[1, 2, 3], [1, 2]], [1, 2], ["ab"], [[]], np.array([1, 2]), np.ones((1, 3))]
)
def test_how_many_columns_there_are_is_said_by_an_array_and_by_the_first_row_of_a_list(features: object) -> None:
    with pytest.raises(TableError, match=r"X is not a table|X has . columns?"):
        feature_columns(features, ("share", "smokes"))


def test_a_frame_that_is_not_computed_is_refused() -> None:
    """Numpy would read its columns by their places, and give them a type by a look at all rows."""
    frame = pd.DataFrame({"smokes": [True, False], "share": [0.2, 0.9]})
    parts = dask_frame.from_pandas(frame, npartitions=2)  # type: ignore[no-untyped-call]  # Dask has no types

    for features in (parts, pl.from_pandas(frame).lazy()):
        with pytest.raises(TableError, match="is not computed yet"):
            codes_of_attributes(features, ["no", "yes"])
    assert codes_of_attributes(frame, ["no", "yes"]) == [[0, 1], [1, 0], [0, 1]]
