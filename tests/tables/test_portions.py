"""Portions: each row is in one of them, whatever other rows there are and however they are read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle import Categorical, Numeric, Schema, SparseFeatures, Table
from jostle.errors import BudgetError, ProbeError
from jostle.privacy.probe import Probe
from jostle.tables.engines import ViewSource
from jostle.tables.hashes import Portion
from jostle.tables.kernels import Counts, SparseCounts
from jostle.tables.schema import Neighbours

SURE = 10**6
SCHEMA = Schema(
    {"n": Numeric(0, 40, bins=40), "c": Categorical(list("xyz")), "l": Categorical(["no", "yes"])}, label="l"
)
Row = tuple[int, str, str]
rows_of = st.lists(st.tuples(st.integers(0, 39), st.sampled_from("xyz"), st.sampled_from(["no", "yes"])), max_size=30)


def table(rows: list[Row], schema: Schema = SCHEMA) -> Table:
    return Table.from_frame(
        pd.DataFrame(rows, columns=["n", "c", "l"]).astype({"n": float, "c": str, "l": str}), schema
    )


def many() -> list[Row]:
    random = np.random.default_rng(3)
    return [
        (int(random.integers(40)), "xyz"[random.integers(3)], ["no", "yes"][random.integers(2)]) for _ in range(3000)
    ]


def cells(rows: list[Row], key: int, place: int, of: int = 3) -> Counter[int]:
    """Return how many of a portion's rows are in which cell of all columns."""
    source = ViewSource(SCHEMA, table(rows)._source, Portion(SCHEMA, key, place, of))
    found = source.tally(Counts.of("n", "c", "l"), ())
    assert isinstance(found, np.ndarray)
    return Counter({int(cell): int(found[cell]) for cell in np.flatnonzero(found)})


@given(
    rows_of,
    st.tuples(st.integers(0, 39), st.sampled_from("xyz"), st.sampled_from(["no", "yes"])),
    st.integers(0, 2**62),
)
def test_a_row_more_is_one_row_more_in_one_portion(rows: list[Row], row: Row, key: int) -> None:
    """What parallel composition hangs on, for every key: all other portions are what they were, row by row."""
    before = [cells(rows, key, place) for place in range(3)]
    for more in ([*rows, row], [row, *rows]):
        come = [
            after - then for then, after in zip(before, (cells(more, key, place) for place in range(3)), strict=True)
        ]
        assert sorted(each.total() for each in come) == [0, 0, 1]
    assert sum(before, Counter[int]()).total() == len(rows)


def counted(db: Probe, *columns: str) -> np.ndarray:
    """Return counts without noise."""
    return np.array(db.histogram(*columns, epsilon=SURE).tolist())


def test_portions_share_no_row_and_hold_all_of_them() -> None:
    rows = many()
    db = jostle.rehearse(table(rows), seed=5)
    portions = db.portions(4)
    found = np.stack([counted(portion, "n", "c", "l") for portion in portions])
    assert np.array_equal(found.sum(axis=0), counted(db, "n", "c", "l"))
    # Each cell's rows are alike in all columns, and so in one portion.
    assert np.count_nonzero(found, axis=0).max() == 1
    assert found.reshape(4, -1).sum(axis=1).min() > len(rows) / 8
    assert all(portion.rows is None for portion in portions)


def test_a_portion_is_the_same_however_it_is_asked() -> None:
    db = jostle.rehearse(table(many()), seed=5)
    portion = db.portions(3)[1]
    whole = counted(portion, "n", "c")
    assert np.array_equal(counted(portion.only("c"), "c"), whole.sum(axis=0))
    assert np.array_equal(counted(portion.where("c", "y"), "n"), whole[:, 1])
    assert np.array_equal(counted(portion.parts("c")[2], "n"), whole[:, 2])
    sparse = portion.measure_sparse(SparseCounts(("n", "c")), SURE, threshold=0)
    assert np.array_equal(sparse.values, whole[whole > 0])
    smaller = [int(counted(each, "c").sum()) for each in portion.portions(2)]
    assert sum(smaller) == whole.sum()
    assert min(smaller) > 0
    some = db.where("c", "y")
    assert sum(int(counted(each, "n").sum()) for each in some.portions(5)) == counted(some, "n").sum()


def test_every_draw_deals_the_rows_out_anew() -> None:
    db = jostle.rehearse(table(many()), seed=5)
    one, other = (counted(db.portions(2)[0], "n", "c") for _ in range(2))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("way", ["stream", "read", "dask", "reversed"])
def test_all_ways_to_read_a_table_deal_its_rows_out_alike(way: str, tmp_path: Path) -> None:
    rows = many()
    frame = pd.DataFrame(rows, columns=["n", "c", "l"])
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    other: Any = {
        "stream": lambda: Table.read(path, SCHEMA, stream=True),
        "read": lambda: Table.read(path, SCHEMA),
        "dask": lambda: Table.from_frame(
            pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=7), SCHEMA
        ),
        "reversed": lambda: table(rows[::-1]),
    }[way]()
    found: list[Any] = [
        ViewSource(SCHEMA, source, Portion(SCHEMA, 77, 1, 3)).tally(kernel, (("c", (0, 2)),))
        for kernel in (Counts.of("n", "l"), SparseCounts(("n", "l")))
        for source in (table(rows)._source, other._source)
    ]
    assert np.array_equal(found[0], found[1])
    assert all(np.array_equal(getattr(found[2], part), getattr(found[3], part)) for part in ("keys", "counts"))


def test_rows_that_differ_in_their_texts_alone_are_dealt_out() -> None:
    schema = Schema(
        {"l": Categorical(["no", "yes"])}, label="l", features=SparseFeatures("t", words=[f"w{i}" for i in range(9)])
    )
    frame = pd.DataFrame({"t": [f"w{i % 9} w{i // 9 % 9}" for i in range(81)], "l": "no"})
    db = jostle.rehearse(Table.from_frame(frame, schema), seed=1)
    assert min(int(each.count(SURE)) for each in db.portions(3)) > 9


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_portions_cost_what_the_dearest_does_or_under_replace_one_the_two_dearest(relation: Neighbours) -> None:
    schema = Schema(dict(SCHEMA.columns), label="l", neighbours=relation)
    db = jostle.protect(table(many(), schema), epsilon=2)
    first, second, third = db.portions(3)
    first.count("0.5")
    second.count("0.25")
    third.count("0.25")
    assert db.spent == (0.5 if relation == "add_remove" else 0.75)
    db.portions(3)[0].count("0.5")
    assert db.spent == (1 if relation == "add_remove" else 1.25)
    with pytest.raises(BudgetError):
        third.count(2)


def test_a_number_of_portions_is_from_1_to_1000() -> None:
    db = jostle.protect(table(many()), epsilon=1)
    (whole,) = db.portions(1)
    assert whole.count("0.5") > 0
    for wrong in (0, -2, 1001):
        with pytest.raises(ProbeError, match="portions"):
            db.portions(wrong)
    assert db.spent == 0.5
