"""Schemas: what may be declared, what is refused and how, and that they survive being written down."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import SMALL, categoricals, numerics, schemas

from jostle import Categorical, JostleError, Numeric, Schema
from jostle.errors import SchemaError
from jostle.tables.columns import Column


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


def test_numbers_of_other_libraries_become_python_s_own() -> None:
    column = Numeric(np.float32(0), np.int64(8), bins=cast("int", np.uint8(4)))
    halves = Numeric(0, Fraction(1, 2), bins=2)

    assert [type(fact) for fact in (column.low, column.high, column.bins)] == [float, int, int]
    assert halves.high == 0.5
    assert Schema({"a": column}, neighbours="replace_one", rows=cast("int", np.int64(7))).rows == 7


def test_bounds_may_be_decimals() -> None:
    column = Numeric(Decimal(0), Decimal("1.50"), unit=Decimal("0.01"))
    assert (column, type(column.low)) == (Numeric(0, 1.5, unit=0.01), int)
    with pytest.raises(SchemaError, match="low is Decimal"):
        Numeric(Decimal("NaN"), 1)


def test_values_are_texts_as_a_cell_of_their_type_is_read() -> None:
    column = Categorical([1, 2.0, 2.5, False, np.int8(3), np.str_("x")])

    assert column.labels == ("1", "2", "2.5", "False", "3", "x")


def test_edges_say_how_many_bins_there_are() -> None:
    column = Numeric(0, 10, bins=99, edges=[0, 1, 10])

    assert (column.bins, column.size, column.labels) == (2, 2, ("[0, 1)", "[1, 10]"))


def test_cut_points_rise_from_low_to_high() -> None:
    cuts = Numeric(-1, 1, bins=7).cut_points

    assert (cuts[0], cuts[-1], len(cuts)) == (-1, 1, 8)
    assert all(left < right for left, right in pairwise(cuts))


def test_sizes_multiply_and_nothing_at_all_has_one_combination() -> None:
    assert SMALL.size("colour", "age", "ill") == 50
    assert SMALL.size() == 1
    assert SMALL.attributes == ("colour", "age")
    assert SMALL.classes == ("no", "yes")
    assert list(SMALL) == ["colour", "age", "ill"]
    assert "age" in SMALL
    assert "Age" not in SMALL


def test_what_everybody_is_given_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        cast("dict[str, Column]", SMALL.by_name)["ill"] = Numeric(0, 1)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Schema({}),
        'a schema has no columns\n  fix: {"age": Numeric(0, 100)}',
    ),
    (
        lambda: Schema(cast("Any", ["age"])),
        'columns is not a mapping from names to columns\n  fix: {"age": Numeric(0, 100)}',
    ),
    (
        lambda: Schema(cast("Any", {"age": [0, 100]})),
        'column \'age\' is not declared\n  fix: "age": Categorical(["no", "yes"])',
    ),
    (
        lambda: Schema((("a", Numeric(0, 1)), ("a", Numeric(0, 2)))),
        "the column 'a' is declared twice\n  fix: declare it once",
    ),
    (
        lambda: Schema({"\ud800": Numeric(0, 1)}),
        "the column name '\\ud800' is not a text that can be written to a file",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}, label="age"),
        "the label 'age' is numeric\n  fix: name a categorical column as label",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}, label="ill"),
        "the label 'ill' is not a column\n  fix: name a categorical column as label",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}, label=cast("Any", ["age"])),
        "the label ['age'] is not a column\n  fix: name a categorical column as label",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}, neighbours=cast("Any", "bounded")),
        "neighbours is 'bounded'\n  fix: neighbours = add_remove or replace_one",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}, rows=-1),
        "rows is -1, not a whole number\n  fix: leave rows out unless it is public",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}, rows=True),
        "rows is True, not a whole number\n  fix: leave rows out unless it is public",
    ),
    (
        lambda: SMALL["Age"],
        "there is no column 'Age' in the schema\n  fix: one of 'colour', 'age', 'ill'",
    ),
    (
        lambda: Schema({"age": Numeric(0, 100)}).classes,
        'the schema names no label\n  fix: Schema(columns, label="...")',
    ),
    (
        lambda: Categorical([]),
        'a categorical column has no values\n  fix: values=["no", "yes"]',
    ),
    (
        lambda: Categorical("yes"),
        'values is \'yes\', not a list of values\n  fix: values=["no", "yes"]',
    ),
    (
        lambda: Categorical({"no", "yes"}),
        'values is a set, which has no order\n  fix: values=["no", "yes"]',
    ),
    (
        lambda: Categorical([["no"], "yes"]),
        'the value [\'no\'] is not a single value\n  fix: values=["no", "yes"]',
    ),
    (
        lambda: Categorical([1, "1"]),
        "the value '1' is declared twice\n  fix: declare it once",
    ),
    *(
        (lambda empty=empty: Categorical(["a", empty]), 'an empty cell is declared as a value\n  fix: missing="value"')
        for empty in (None, "", float("nan"), pd.NA, pd.NaT)
    ),
    (
        lambda: Categorical(["(other)"]),
        "the value '(other)' is declared, but the name is taken by Jostle",
    ),
    (
        lambda: Categorical(["\udcff"]),
        "the value '\\udcff' is not a text that can be written to a file",
    ),
    (
        lambda: Categorical(["a"], outside=cast("Any", "clamp")),
        "outside is 'clamp'\n  fix: outside = one of 'blank', 'other', 'drop'",
    ),
    (
        lambda: Categorical(["a"], missing=cast("Any", "outside")),
        "missing is 'outside'\n  fix: missing = one of 'blank', 'value', 'drop'",
    ),
    (
        lambda: Numeric(cast("Any", "0"), 1),
        "low is '0', not a finite number\n  fix: low=0",
    ),
    (
        lambda: Numeric(0, float("inf")),
        "high is inf, not a finite number\n  fix: high=100",
    ),
    (
        lambda: Numeric(0, 10**400),
        "high is too large, not a finite number\n  fix: high=100",
    ),
    (
        lambda: Numeric(5, 5),
        "low=5 is not below high=5\n  why: numbers lie between bounds that are public\n  fix: a larger high than 5",
    ),
    *(
        (
            lambda bins=bins: Numeric(0, 1, bins=bins),
            f"bins is {bins!r}, but must be a whole number from 1 to 2**30\n  fix: bins=16",
        )
        for bins in (0, 2**30 + 1, 2.5, True, "4")
    ),
    (
        lambda: Numeric(-1.7e308, 1.7e308),
        "low=-1.7e+308 and high=1.7e+308 are too far apart\n  fix: use bounds that can occur",
    ),
    (
        lambda: Numeric(2**52, 2**52 + 1, bins=4),
        (
            "4 bins from low=4503599627370496 to high=4503599627370497 are narrower than numbers can tell apart"
            "\n  fix: use fewer bins"
        ),
    ),
    (
        lambda: Numeric(0, 10, edges=[0, 5, 5, 10]),
        "edges do not rise strictly\n  fix: edges=[0, 10, 100]",
    ),
    (
        lambda: Numeric(0, 10, edges=[0, 5]),
        "edges run from 0 to 5, not from low to high",
    ),
    (
        lambda: Numeric(0, 10, edges=cast("Any", 5)),
        "edges is 5, not a list of numbers\n  fix: edges=[0, 10, 100]",
    ),
    (
        lambda: Numeric(0, 10, edges=[0, float("nan"), 10]),
        "an edge is nan, not a finite number\n  fix: edges=[0, 10, 100]",
    ),
]


@pytest.mark.parametrize(("declare", "message"), REFUSED)
def test_a_contradiction_is_refused_with_a_way_out(declare: Callable[[], object], message: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        declare()

    assert str(refusal.value) == message


ADVICE = "\n  fix: jostle schema infer PUBLIC.csv shows what one looks like"
BAD_TOML = [
    ("columns = [", f"the schema is not TOML: Invalid value (at end of document){ADVICE}"),
    ('label = "a"', "the schema has no [columns.NAME] tables\n  fix: jostle schema infer PUBLIC.csv"),
    (
        'epsilon = 1\n[columns.a]\nkind = "numeric"\nlow = 0\nhigh = 1',
        (
            "the schema has an unknown entry 'epsilon'\n"
            "  fix: label, neighbours, rows, person, rows_per_person, people, [columns.NAME] or [features]"
        ),
    ),
    (
        "[columns.a]\nlow = 0\nhigh = 1",
        'column \'a\' has no kind\n  fix: kind = "categorical" or kind = "numeric"',
    ),
    (
        '[columns.a]\nkind = ["numeric"]\nlow = 0\nhigh = 1',
        'column \'a\' has no kind\n  fix: kind = "categorical" or kind = "numeric"',
    ),
    (
        '[columns.a]\nkind = "numeric"\nlow = 0\nhigh = 1\nstep = 2',
        "column 'a' has an unknown entry 'step'\n  fix: one of bins, edges, high, low, missing, outside, unit",
    ),
    (
        '[columns.a]\nkind = "numeric"\nlow = 0',
        "column 'a' is not complete\n  fix: give low and high",
    ),
    (
        '[columns.a]\nkind = "categorical"',
        "column 'a' is not complete\n  fix: give values",
    ),
    (
        '[columns.a]\nkind = "categorical"\nvalues = "yes"',
        "column 'a': values is 'yes', not a list of values\n  fix: values=[\"no\", \"yes\"]",
    ),
    (
        '[columns.a]\nkind = "numeric"\nlow = 0\nhigh = 1\nedges = 3',
        "column 'a': edges is 3, not a list of numbers\n  fix: edges=[0, 10, 100]",
    ),
    (
        'rows = 2.5\n[columns.a]\nkind = "numeric"\nlow = 0\nhigh = 1',
        "rows is 2.5, not a whole number\n  fix: leave rows out unless it is public",
    ),
    (
        'inferred_from = 3\n[columns.a]\nkind = "numeric"\nlow = 0\nhigh = 1',
        "inferred_from is 3, not a path\n  fix: leave inferred_from out",
    ),
    ("columns = 3", "the schema has no [columns.NAME] tables\n  fix: jostle schema infer PUBLIC.csv"),
    ("[columns]\na = 3", 'column \'a\' has no kind\n  fix: kind = "categorical" or kind = "numeric"'),
]


@pytest.mark.parametrize(("text", "message"), BAD_TOML)
def test_a_file_that_declares_nonsense_is_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        Schema.from_toml(text)

    assert str(refusal.value) == message


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


def test_with_neighbours_changes_nothing_else() -> None:
    other = SMALL.with_neighbours("replace_one")

    assert other.neighbours == "replace_one"
    assert other.with_neighbours("add_remove") == SMALL
