"""Schemas: what may be declared, what is refused and how, and that they survive being written down."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import numpy as np
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
