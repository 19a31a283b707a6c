"""Coding: what a cell becomes depends on that cell alone, on its column's type and on its column's declaration."""

from __future__ import annotations

import datetime as dt
import math
import re
from bisect import bisect_right
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from some_tables import SMALL, categoricals, columns, numerics, objects, said, values, words

from jostle import Categorical, Numeric
from jostle.tables.block import Block
from jostle.tables.columns import Column
from jostle.tables.encode import encode_block, encode_column
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
    if text in column.values:
        return column.values.index(text)
    declared = [number_in(value) for value in column.values]
    if number is not None and number in declared:
        return declared.index(number)
    days = [day_in(value) for value in column.values]
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


@pytest.mark.parametrize("kind", FIXED_TYPES, ids=str)
@given(st.data(), st.data())
def test_cells_of_any_type_are_read_one_by_one(kind: pa.DataType, data: st.DataObject, more: st.DataObject) -> None:
    numbers = data.draw(arrays.arrays(FIXED_TYPES[kind], st.integers(0, 5)))
    column = more.draw(columns if pa.types.is_decimal(kind) else categoricals())
    cells = of_type(numbers, kind)

    assert codes(cells, column) == [
        code for place in range(len(cells)) for code in codes(cells[place : place + 1], column)
    ]


@pytest.mark.parametrize("kind", DIRECT_TYPES)
@given(st.data(), columns)
def test_numbers_of_any_width_are_read_one_by_one(kind: type, data: st.DataObject, column: Column) -> None:
    cells = pa.array(data.draw(arrays.arrays(kind, st.integers(0, 5))))

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
