"""Fingerprints: the same for the same rows however they come, and others for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from some_tables import source_of

from jostle import Categorical, Numeric, Schema, Table
from jostle.tables.block import Block
from jostle.tables.hashes import Fingerprint, RowHashes, fingerprint

SCHEMA = Schema({"a": Categorical(range(3)), "b": Numeric(0, 3, bins=3)})
Rows = list[tuple[int, int]]
some_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9)


def frame_of(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b"], dtype=int)


def marks(frame: Any, schema: Schema = SCHEMA) -> Fingerprint:
    return fingerprint(source_of(Table.from_frame(frame, schema)))


@given(some_rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: Rows, random: Any) -> None:
    shuffled = random.sample(rows, len(rows))

    assert marks(frame_of(rows)).rows == marks(frame_of(shuffled)).rows


@given(some_rows, some_rows)
def test_other_rows_have_another_mark(rows: Rows, others: Rows) -> None:
    same = sorted(rows) == sorted(others)

    assert (marks(frame_of(rows)).rows == marks(frame_of(others)).rows) == same


def test_a_grid_has_the_mark_of_its_records() -> None:
    counts = np.array([[1, 0, 2], [0, 3, 0]])
    grid = Table.from_grid(counts)
    records = pd.DataFrame(np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0), columns=["x", "y"])

    assert fingerprint(source_of(grid)).rows == marks(records, grid.schema).rows


def test_the_mark_of_the_data_as_they_came_is_the_same_under_any_schema(tmp_path: Path) -> None:
    frame = frame_of([(0, 1), (2, 2)])
    other = Schema({"b": Numeric(0, 2, bins=2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "same.csv", index=False)
    files = {
        fingerprint(source_of(Table.read(tmp_path / name, schema, stream=stream))).raw
        for name in ("t.csv", "same.csv")
        for schema in (SCHEMA, other)
        for stream in (False, True)
    }

    assert marks(frame).raw == marks(frame, other).raw == marks(frame.copy(), other).raw
    assert marks(frame).raw != marks(frame[::-1]).raw
    assert marks(frame).rows != marks(frame, other).rows
    assert len(files) == 1


def test_columns_under_other_names_in_another_order_and_of_other_numbers_have_the_same_mark() -> None:
    """What is whole comes back as floats where a cell is empty, and a program renames what it reads."""
    frame = pd.DataFrame({"a": [0, 2, 1], "b": [1, 2, 0], "c": ["x", None, "z"]})
    others = [
        frame.set_axis(["p", "q", "r"], axis=1),
        frame[["c", "a", "b"]],
        frame.astype({"a": float, "b": "Int8", "c": object}),
        {"x": [0, 2.0, True], "y": np.array([1, 2, 0], np.uint8), "z": ["x", None, "z"]},
        pl.from_pandas(frame),
    ]
    schema = Schema({"a": Categorical(range(3)), "b": Numeric(0, 3, bins=3)})
    renamed = [{"a": "p"}, {}, {}, {"a": "x"}, {}]
    for other, names in zip(others, renamed, strict=True):
        read = Schema({names.get("a", "a"): schema["a"]})
        assert marks(other, read).raw == marks(frame, schema).raw
    assert marks(frame.iloc[::-1], schema).raw != marks(frame, schema).raw
    assert marks(frame[["a", "c"]], Schema({"a": schema["a"]})).raw != marks(frame, schema).raw


def test_the_mark_of_rows_goes_by_codes_and_not_by_names() -> None:
    frame, other = frame_of([(0, 1), (2, 2)]), Schema({"p": SCHEMA["a"], "q": SCHEMA["b"]})

    assert marks(frame).rows == marks(frame.set_axis(["p", "q"], axis=1), other).rows


def test_objects_of_other_types_or_places_have_another_mark() -> None:
    columns = [[1, None, "x"], [1, "x", None], ["1", None, "x"], [1, None, b"x"], [True, None, "x"], [1.0, None, "x"]]
    frames = [pd.DataFrame({"a": pd.Series(column, dtype=object), "b": [0, 0, 0]}) for column in columns]

    assert (
        len({marks(frame).raw for frame in frames}) == len(columns) - 3
    )  # text and bytes say the same, and 1, 1.0 and True


def test_tables_without_a_row_left_are_known_by_their_data_alone() -> None:
    """All of them are read as the same rows, none: that must not make one table of them."""
    labelled = Schema({"a": Categorical(range(3)), "ill": Categorical(["no", "yes"])}, label="ill")
    first, other = (pd.DataFrame({"a": rows, "ill": [None] * len(rows)}, dtype=object) for rows in ([0, 1], [2, 2, 2]))
    found, again, another = (marks(frame, labelled) for frame in (first, first.copy(), other))

    assert found.salted(b"salt") == again.salted(b"salt")
    assert not found.salted(b"salt") & another.salted(b"salt")


def test_marks_are_useless_without_the_salt() -> None:
    found = marks(frame_of([(0, 1)]))

    assert found.salted(b"one") & found.salted(b"one") == found.salted(b"one")
    assert not found.salted(b"one") & found.salted(b"two")
    assert found.raw.hex() not in repr(found)


def test_a_row_that_stands_for_several_counts_so_often() -> None:
    kernel, twice, once = RowHashes(), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    kernel.add(Block({"a": np.array([1], np.uint8), "b": np.array([2], np.uint8)}, 1, np.array([2])), SCHEMA, twice)
    kernel.add(Block({"a": np.array([1, 1], np.uint8), "b": np.array([2, 2], np.uint8)}, 2), SCHEMA, once)

    assert twice.tolist() == once.tolist()
