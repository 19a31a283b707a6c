"""Attributes and labels that come apart: what a row becomes is a matter of that row, whatever holds it."""

from __future__ import annotations

from collections import deque

import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import polars as pl
import pytest

from jostle import Categorical, Numeric, Schema
from jostle.errors import TableError
from jostle.tables.attributes import feature_columns, joined
from jostle.tables.frames import encode_frame

SCHEMA = Schema(
    {
        "share": Numeric(0, 1, bins=2),
        "smokes": Categorical([False, True], outside="other", missing="value"),
        "ill": Categorical(["no", "yes"]),
    },
    label="ill",
)


def codes(features: object, labels: list[str]) -> list[list[int]]:
    source = encode_frame(joined(features, labels, SCHEMA), SCHEMA)
    return [source.columns[name].tolist() for name in SCHEMA.names]


def test_a_row_more_changes_no_other_row_of_lists() -> None:
    """A number, a truth and an empty cell have no type in common that each row keeps its meaning in."""
    rows: list[list[object]] = [[0.2, True], [0.9, False], [0.6, True]]
    without = codes(rows, ["no", "yes", "no"])
    for more in ([0.1, None], ["", True], [7, "odd"], [2**70, 0.5]):
        with_it = codes([*rows, more], ["no", "yes", "no", "no"])
        assert [column[:3] for column in with_it] == without


def test_an_array_and_a_list_of_its_rows_are_the_same() -> None:
    array = np.array([[0.2, 1.0], [0.9, 0.0]])
    assert codes(array, ["no", "yes"]) == codes(array.tolist(), ["no", "yes"])


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
    assert codes([], []) == [[], [], []]


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
            codes(features, ["no", "yes"])
    assert codes(frame, ["no", "yes"]) == [[0, 1], [1, 0], [0, 1]]
