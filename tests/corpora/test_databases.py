"""Public databases: one form whatever they were read from, and a digest that says so."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.corpora.databases import PublicDatabase, PublicGrid, PublicTable, changed
from jostle.errors import CorpusError

TEXTS = {
    "age": ["30", "41", "", "7.5"],
    "job": ["cook", "?", "", "clerk"],
    "code": ["1", "?", "2", "1"],
    "label": ["1", "0", "1", "1"],
}


def test_a_table_has_one_form_and_one_digest_whatever_types_it_comes_in() -> None:
    ages = [30.0, 41.0, None, 7.5]
    frames = [
        pd.DataFrame(TEXTS),
        pl.DataFrame(TEXTS),
        pa.table({**TEXTS, "age": pa.array(ages), "code": pa.array([1, None, 2, 1], pa.int16())}),
        pd.DataFrame(
            {**TEXTS, "age": ages, "label": [1, 0, 1, 1], "job": pd.Categorical(["cook", "?", None, "clerk"])}
        ),
        pd.DataFrame({**TEXTS, "label": [1.0, 0.0, 1.0, 1.0], "code": np.array([1, None, 2, 1.0], dtype=object)}),
        pl.DataFrame({**TEXTS, "label": [1, 0, 1, 1], "age": ["3e1", "41.0", None, " 7.50"]}),
    ]
    tables = [PublicTable.of("people", frame) for frame in frames]

    assert len({table.digest for table in tables}) == 1
    for table in tables:
        assert table.columns["age"].to_pylist() == [30.0, 41.0, None, 7.5]
        assert table.columns["code"].to_pylist() == [1.0, None, 2.0, 1.0]
        assert table.columns["job"].to_pylist() == ["cook", "?", None, "clerk"]
        assert table.columns["label"].to_pylist() == ["1", "0", "1", "1"]


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert PublicTable.of("people", pd.DataFrame(TEXTS)).digest == "31ff2599ca0c7f4327936a563496bd25"
    assert PublicGrid.of("grid", [[1, 2], [0, 4]]).digest == "242b938dc745a995dc66c0f8493356f5"


@pytest.mark.parametrize(
    "other",
    [
        {**TEXTS, "age": ["30", "41", "", "7.25"]},
        {**TEXTS, "job": ["cook", "?", "?", "clerk"]},
        {**TEXTS, "job": ["cook", "", "?", "clerk"]},
        {**TEXTS, "label": ["1", "0", "1", "0"]},
        {name: TEXTS[name] for name in ("job", "age", "code", "label")},
        {name: TEXTS[name][::-1] for name in TEXTS},
        {("years" if name == "age" else name): TEXTS[name] for name in TEXTS},
        {name: TEXTS[name] * 2 for name in TEXTS},
    ],
)
def test_the_digest_tells_other_tables_apart(other: dict[str, list[str]]) -> None:
    assert PublicTable.of("people", pd.DataFrame(other)).digest != PublicTable.of("people", pd.DataFrame(TEXTS)).digest


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.none()), min_size=1, max_size=30))
def test_numbers_are_hashed_as_numbers_and_minus_zero_as_zero(numbers: list[float | None]) -> None:
    written = [None if number is None else repr(number) for number in numbers]
    positive = [abs(number) if number == 0 else number for number in numbers]
    label = ["x"] * len(numbers)
    digests = {
        PublicTable.of("t", pa.table({"a": pa.array(cells, kind), "label": label})).digest
        for cells, kind in ((numbers, pa.float64()), (positive, pa.float64()), (written, pa.string()))
    }
    assert len(digests) == (1 if any(number is not None for number in numbers) else 2)  # no text says "number"


def test_rows_without_a_label_are_left_out() -> None:
    frame = pd.DataFrame({"a": ["1", "2", "3"], "label": ["yes", "", "?"]})
    table = PublicTable.of("t", frame)
    assert (len(table), table.columns["a"].to_pylist(), table.attributes) == (1, [1.0], ("a",))


def test_a_table_without_its_label_is_refused() -> None:
    with pytest.raises(CorpusError, match="there is no column 'label' to predict"):
        PublicTable.of("t", pd.DataFrame({"a": [1]}))


def test_a_database_travels_to_another_process_with_what_was_worked_out() -> None:
    table = PublicTable.of("people", pd.DataFrame(TEXTS))
    grid = PublicGrid.of("grid", np.arange(6).reshape(2, 3))
    databases: list[PublicDatabase] = [table, grid]
    for database in databases:
        digest = database.digest
        moved = pickle.loads(pickle.dumps(changed(database, group="others")))
        assert (vars(moved)["digest"], moved.group, moved.name) == (digest, "others", database.name)
    assert pickle.loads(pickle.dumps(grid)).counts.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert pickle.loads(pickle.dumps(table)).columns.equals(table.columns)


def test_a_grids_counts_are_whole_and_cannot_be_written_to() -> None:
    given_counts = np.array([1.0, 2.0])
    grid = PublicGrid.of("grid", given_counts)
    given_counts[0] = 5
    assert grid.counts.dtype == np.int64
    assert (grid.counts.tolist(), grid.total, grid.shape) == ([1, 2], 3, (2,))
    with pytest.raises(ValueError, match="read-only"):
        grid.counts[0] = 7
