"""Schemas are written, read, inferred of public data, and made rows of."""

from __future__ import annotations

import contextlib
import datetime as dt
import pickle
import warnings
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from some_tables import SMALL, categoricals, letters, numerics, schemas, small_frame, source_of, tally

import jostle
from jostle import Categorical, Dates, JostleError, Numeric, Schema, Table, options, rehearse
from jostle.errors import PrivateDataError, SchemaError, TableError
from jostle.tables.columns import Column
from jostle.tables.kernels import Counts
from jostle.tables.made_up import made_up, write_made_up
from jostle.tables.origins import vault_beside


@given(schemas())
def test_a_schema_is_the_same_after_toml_and_pickle(schema: Schema) -> None:
    assert Schema.from_toml(schema.to_toml()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_a_written_schema_reads_well(tmp_path: Path) -> None:
    SMALL.write(tmp_path / "small.toml")

    assert (tmp_path / "small.toml").read_text(encoding="utf-8") == (
        'label = "ill"\n'
        'neighbours = "add_remove"\n'
        "\n"
        '[columns."colour"]\n'
        'kind = "categorical"\n'
        'values = ["red", "green", "blue"]\n'
        'outside = "other"\n'
        'missing = "value"\n'
        "\n"
        '[columns."age"]\n'
        'kind = "numeric"\n'
        "low = 0\n"
        "high = 100\n"
        "bins = 4\n"
        'outside = "clamp"\n'
        'missing = "value"\n'
        "\n"
        '[columns."ill"]\n'
        'kind = "categorical"\n'
        'values = ["no", "yes"]\n'
        'outside = "drop"\n'
        'missing = "drop"\n'
    )
    assert Schema.read(tmp_path / "small.toml") == SMALL


def test_a_column_may_have_any_name_that_can_be_written() -> None:
    schema = Schema({'a "b".c\\d\u200b\xa0': Numeric(0, 1), "": Categorical(['"""', "\\", "#"])})

    assert Schema.from_toml(schema.to_toml()) == schema


@given(st.one_of(categoricals(), numerics()))
def test_codes_are_as_many_as_their_labels_and_all_differ(column: Column) -> None:
    assert len(column.labels) == column.size
    assert len(set(column.labels)) == column.size
    assert column.missing_code in {None, column.blank} or column.labels[column.missing_code or 0] == "(missing)"


def test_labels_of_narrow_bins_are_told_apart() -> None:
    assert Numeric(1_000_000, 1_000_001, bins=2).labels == (
        "[1000000, 1000000.5)",
        "[1000000.5, 1000001]",
    )


def test_values_are_texts_as_a_cell_of_their_type_is_read() -> None:
    column = Categorical([1, 2.0, 2.5, False, np.int8(3), np.str_("x")])

    assert column.labels == ("1", "2", "2.5", "False", "3", "x")


@given(st.text(st.sampled_from('[]{}columns.abkind="\n 0123,'), max_size=60))
def test_any_text_gives_a_schema_or_a_refusal(text: str) -> None:
    with contextlib.suppress(JostleError):
        schema = Schema.from_toml("[columns.a]\n" + text)
        assert Schema.from_toml(schema.to_toml()) == schema


def test_a_schema_that_cannot_be_read_or_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'label = "\xe9"')

    with pytest.raises(SchemaError, match=r"none\.toml: No such file or directory"):
        Schema.read(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="it is not UTF-8 text"):
        Schema.read(tmp_path / "latin.toml")
    with pytest.raises(SchemaError, match="cannot write the schema"):
        SMALL.write(tmp_path / "none" / "small.toml")


# Taxonomies: which trees are refused, and what groups they give.


VALUES = ("a", "b", "c", "d")


def test_levels_go_from_all_together_to_each_by_itself() -> None:
    column = Categorical(VALUES, taxonomy=[["a", ["b", "c"]], "d"], missing="value")
    assert column.levels == (
        (0, 0, 0, 0, 0),
        (0, 0, 0, 0, 1),  # there, and missing
        (0, 0, 0, 1, 2),
        (0, 1, 1, 2, 3),
        (0, 1, 2, 3, 4),
    )
    assert Categorical(VALUES).levels == ((0, 0, 0, 0), (0, 1, 2, 3))
    assert Categorical(["a"]).levels == ((0,),)
    assert Numeric(0, 1, bins=6).levels == ((0,) * 6, (0, 0, 0, 1, 1, 1), (0, 0, 1, 2, 2, 3), (0, 1, 2, 3, 4, 5))


def test_a_taxonomy_stays_in_a_schema_file() -> None:
    schema = Schema({"x": Categorical(['a"', "b", "c"], taxonomy=[['a"', ["b"]], "c"])})
    assert Schema.from_toml(schema.to_toml()) == schema
    assert "taxonomy" not in Schema({"x": Categorical(VALUES)}).to_toml()


trees = st.recursive(st.just(0), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=8)


@given(trees.filter(lambda tree: isinstance(tree, list)))
def test_each_level_is_finer_than_the_one_before(tree: Any) -> None:
    names: list[str] = []

    def named(branch: Any) -> Any:
        if isinstance(branch, list):
            return [named(each) for each in branch]
        names.append(f"v{len(names)}")
        return names[-1]

    given_tree = named(tree)
    levels = Categorical(names, taxonomy=given_tree).levels
    assert set(levels[0]) == {0}
    assert sorted(levels[-1]) == list(range(len(names)))
    for coarse, fine in pairwise(levels):
        assert max(fine) > max(coarse)
        assert len(set(zip(coarse, fine, strict=True))) == len(set(fine))


# Inference: a schema read off public data, which then reads all of their rows.


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


# Rows that are made up from a schema.


SCHEMA = Schema(
    {
        "age": Numeric(18, 98, bins=8),
        "height": Numeric(0.5, 2.5, edges=[0.5, 1.5, 1.8, 2.5], missing="value"),
        "ward": Categorical(["a", "b", "c"], outside="other", missing="value"),
        "ill": Categorical(["no", "yes"]),
    },
    label="ill",
)


def test_every_row_fits_the_schema_and_every_declared_value_occurs(tmp_path: Path) -> None:
    write_made_up(SCHEMA, tmp_path / "rows.csv", 2000)
    table = Table.read(tmp_path / "rows.csv", SCHEMA)
    db = rehearse(table, epsilon=10_000)

    assert table.notes == ()
    assert db.count(100) == 2000
    for name in SCHEMA.names:
        counts = db.histogram(name, epsilon=1000)
        assert all(counts[code] for code, label in enumerate(SCHEMA[name].labels) if label != "(other)")


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.integers(1, 30), st.integers(0, 3))
def test_any_schema_gives_so_many_rows_again_and_again(
    values: int, bins: int, label: bool, rows: int, seed: int
) -> None:
    columns = {"a": Categorical(range(values)), "b": Numeric(-1, 1, bins=bins), "c": Numeric(0, 2, bins=bins)}
    schema = Schema(columns, label="a" if label else None)
    made = made_up(schema, rows, seed=seed)

    assert made.num_rows == rows
    assert made.equals(made_up(schema, rows, seed=seed))
    assert rehearse(Table.from_frame(made, schema), epsilon=10_000).count(1000) == rows


def test_there_is_something_to_learn_and_another_seed_makes_other_rows() -> None:
    made = made_up(SCHEMA, 3000, seed=1)
    db = rehearse(Table.from_frame(made, SCHEMA), epsilon=1000)
    model, guess = (options.get(name)(db, epsilon=100) for name in ("PooledTree", "Majority"))
    assert model.score(made) > guess.score(made)
    assert not made.equals(made_up(SCHEMA, 3000, seed=2))


def test_no_file_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("somebody's", "utf-8")
    with pytest.raises(TableError, match="there is a file"):
        write_made_up(SCHEMA, path, 3)
    assert path.read_text("utf-8") == "somebody's"
    path.unlink()
    vault_beside(path).touch()
    with pytest.raises(PrivateDataError):
        write_made_up(SCHEMA, path, 3)
    with pytest.raises(TableError, match="cannot write"):
        write_made_up(SCHEMA, tmp_path / "no" / "rows.csv", 3)
    with pytest.raises(TableError, match="rows is 0"):
        made_up(SCHEMA, 0)
