"""Inference: a schema read off public data, which then reads all of their rows."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import SMALL, letters, small_frame, source_of, tally

import jostle
from jostle import Categorical, Dates, Numeric, Schema, Table
from jostle.errors import SchemaError
from jostle.tables.kernels import Counts


def infer(frame: Any, **how: Any) -> Schema:
    return Schema.infer_public(frame, **how)


def column(values: list[Any]) -> Any:
    return infer(pd.DataFrame({"a": pd.Series(values)}))["a"]


def test_few_values_are_categories_and_many_numbers_are_binned() -> None:
    frame = pd.DataFrame({"n": range(20), "few": [1, 10, 2, 9] * 5, "word": ["b", "a"] * 10})

    assert infer(frame, label="word", bins=4).columns == (
        ("n", Numeric(0, 19, bins=4)),
        ("few", Categorical(["1", "2", "9", "10"])),
        ("word", Categorical(["a", "b"])),
    )


def test_empty_cells_become_a_value() -> None:
    assert column(["a", None, "b"]) == Categorical(["a", "b"], missing="value")
    assert column([*range(20), None]) == Numeric(0, 19, missing="value")
    assert column([1.5, np.nan]) == Categorical(["1.5"], missing="value")
    assert column([None, None]) == Categorical(["?"], missing="value")


def test_a_label_of_numbers_is_still_categorical() -> None:
    frame = pd.DataFrame({"a": range(20)})

    assert infer(frame, label="a")["a"] == Categorical(range(20))


def test_numbers_in_texts_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f" {n}.50 ,{'x' if n else '?'}\n" for n in range(12)))

    assert infer(tmp_path / "t.csv").columns == (("a", Numeric(0.5, 11.5)), ("b", Categorical(["?", "x"])))


def test_one_word_among_numbers_makes_categories() -> None:
    assert column([*map(str, range(12)), "x"]) == Categorical([*map(str, range(12)), "x"])
    assert column([*range(12), "x"]) == Categorical([*map(str, range(12)), "x"])


def test_many_ways_to_write_one_number_are_no_interval() -> None:
    assert column([f"1.{'0' * zeros}" for zeros in range(12)]) == Categorical(["1."])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("place", [f"{number:05d}" for number in range(900, 1100)]),
        ("customer", range(41_000_000, 41_000_200)),
        ("zip", range(10_000, 10_200)),
        ("postal_code", [*map(float, range(9_900, 10_100)), None]),
        ("homeZip", range(99_900, 100_100)),
    ],
)
def test_digits_that_are_codes_are_no_numbers(name: str, values: Any, tmp_path: Path) -> None:
    """Postcodes have no mean."""
    frame = pd.DataFrame({name: pd.Series(values)})
    frame.to_csv(tmp_path / "t.csv", index=False)

    for found in (infer(frame)[name], infer(tmp_path / "t.csv")[name]):
        assert isinstance(found, Categorical)
        assert len(found.values) == 200
    assert not Table.from_frame(frame, Schema({name: infer(tmp_path / "t.csv")[name]})).notes


@pytest.mark.parametrize(
    ("name", "values"),
    [("year", range(1900, 2020)), ("salary", range(20_000, 90_000, 500)), ("zip", [n + 0.5 for n in range(50)]),
     ("zipper_length", range(100)), ("balance", range(-50_000_000, -10_000_000, 10**5))],
)  # fmt: skip
def test_digits_that_are_amounts_are_numbers(name: str, values: Any) -> None:
    assert isinstance(infer(pd.DataFrame({name: values}))[name], Numeric)


def test_codes_of_more_values_than_are_listed_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("plz,b\n" + "".join(f"{n:05d},x\n" for n in range(500, 2000)))

    with pytest.warns(UserWarning, match="'plz' has more than 1000 different texts and is left out"):
        assert infer(tmp_path / "t.csv").names == ("b",)


def test_texts_that_tell_all_rows_apart_are_no_label() -> None:
    frame = pd.DataFrame({"name": [f"n{row}" for row in range(1001)], "b": ["x"] * 1001})

    with pytest.raises(SchemaError, match="the label 'name' has more than 1000 values"):
        infer(frame, label="name")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([True, False], ("False", "True")),
        ([Decimal("1.50"), Decimal("2.25")], ("1.5", "2.25")),
        ([dt.date(2024, 1, 2)], ("2024-01-02",)),
        ([b"x", "y", 1], ("1", "x", "y")),
        (pd.Categorical(["b", "a"]), ("a", "b")),
        (pd.period_range("2024-01", periods=2, freq="M"), ("2024-01", "2024-02")),
    ],
)
def test_columns_of_other_types(values: Any, texts: tuple[str, ...]) -> None:
    assert column(values) == Categorical(texts)


cells = st.one_of(st.none(), st.integers(-20, 20), st.floats(), st.text(letters, max_size=3), st.booleans())


@given(st.lists(cells, min_size=1, max_size=30))
def test_what_was_inferred_reads_all_rows(values: list[Any]) -> None:
    """But for rows with a text that Jostle keeps for itself, which are none here."""
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that are too large to be declared
        schema = infer(frame)

    assert tally(Table.from_frame(frame, schema), Counts.of()) == [len(values)]


def test_files_and_frames_give_the_same_schema(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [*range(20)], "f": [0.5, 1.0] * 10, "w": ["a", None] * 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    found = [infer(given) for given in (frame, pl.from_pandas(frame), tmp_path / "t.parquet", str(tmp_path / "t.csv"))]

    assert found[0] == found[1] == found[2]
    assert (found[3]["n"], found[3]["w"]) == (found[0]["n"], found[0]["w"])
    assert (found[0]["f"], found[3]["f"]) == (Categorical(["0.5", "1"]), Categorical(["0.5", "1.0"]))
    for schema in found:  # which differ in how a value is written, not in what it is
        for path in tmp_path.iterdir():
            assert tally(Table.read(path, schema), Counts.of("f")) == [10, 10]


# What is refused


def test_a_probe_is_not_read() -> None:
    probe = jostle.protect(Table.from_frame(small_frame(), SMALL), epsilon=1)

    for private in (probe, Table.from_frame(small_frame(), SMALL), source_of(Table.from_frame(small_frame(), SMALL))):
        with pytest.raises(
            SchemaError, match=f"a schema is not read off a {type(private).__name__}, which may be priv"
        ):
            infer(private)


def test_dates_are_dates_from_the_first_to_the_last() -> None:
    days = pd.date_range("2024-01-30", periods=40)
    for values in (days, days.strftime("%Y-%m-%d"), days.strftime("%Y/%m/%d"), [*map(str, days), None]):
        missing = "value" if len(values) > 40 else "blank"
        assert column(list(values)) == Dates("2024-01-30", "2024-03-09", missing=missing)  # type: ignore[arg-type]  # one of two
    hours = pd.date_range("2024-01-30", periods=40, freq="h")
    assert column(list(hours)) == Dates("2024-01-30", "2024-01-31 15:00:00", unit="second")
    assert isinstance(column([*map(str, days), "soon"]), Categorical)
    assert isinstance(column(list(days[:5])), Categorical)
    frame = pd.DataFrame({"a": days})
    assert not Table.from_frame(frame, Schema({"a": infer(frame)["a"]})).notes


def test_what_is_called_an_identifier_becomes_one_and_is_proposed_as_the_person_where_it_repeats(
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame({"visit_id": range(60), "patientId": [f"p{n // 3}" for n in range(60)], "b": ["x", "y"] * 30})
    proposal = 'person = "patientId"  # one value stands in 3 rows: if it says whose each row is, this protects persons'
    frame.to_csv(tmp_path / "t.csv", index=False)
    for given_ in (frame, tmp_path / "t.csv"):
        with pytest.warns(UserWarning, match="person") as told:
            schema = infer(given_)
        assert [str(each.message) for each in told] == [proposal]
        assert (schema.names, schema.identifiers, schema.person) == (("b",), ("visit_id", "patientId"), None)
    assert Schema.from_toml(f"{proposal}\n{schema.to_toml()}").person == "patientId"  # once its mark is taken away


def test_texts_that_tell_all_rows_apart_are_an_identifier() -> None:
    frame = pd.DataFrame({"name": [f"n{row}" for row in range(1001)], "b": ["x"] * 1001})
    assert infer(frame).identifiers == ("name",)
    with pytest.warns(UserWarning, match="'name' has more than 1000 different texts and is left out"):
        assert infer(pd.concat([frame, frame[:1]])).identifiers == ()


def test_a_few_values_called_ids_are_kinds_and_not_persons() -> None:
    """Of 26 values in 10,000 rows each stands in hundreds: there is a code for it; of 2,000 patients there is none."""
    frame = {
        "admission_id": [place % 26 for place in range(10_000)],
        "patient_id": [place % 2000 for place in range(10_000)],
    }
    with pytest.warns(UserWarning, match="patient_id"):
        schema = Schema.infer_public(frame)
    assert schema.names == ("admission_id",)
    assert isinstance(schema["admission_id"], Categorical)
