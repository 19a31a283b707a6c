"""A real Spark, of two threads, and a real Ray: the same integers, and the same rows of persons."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from some_tables import source_of, tally

from jostle import Categorical, Dates, Numeric, Schema, Table
from jostle.errors import TableError
from jostle.tables.kernels import Counts, SparseCounts
from jostle.tables.number_kernels import NumberSum
from jostle.tables.persons import PUBLIC_KEY, PersonCount
from jostle.tables.pieces import PiecesSource

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Spark's own
ROWS = 20_000
COLUMNS: dict[str, Any] = {
    "a": Categorical(["x", "1", "é"], outside="other", missing="value"),
    "b": Numeric(0, 8, bins=5, missing="value", unit=0.01),
    "c": Dates("2024-01-01", "2024-12-31", bins=3, missing="value"),
}


KINDS = "who string, a string, b double, c date"
Give = Callable[[pd.DataFrame], Any]
"""Rows in three partitions, as lists: what frames of other libraries become is a matter of theirs."""


@contextmanager
def spark() -> Iterator[Give]:
    sql = pytest.importorskip("pyspark.sql")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.driver.host": "localhost"}
        builder = sql.SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield lambda rows: session.createDataFrame(list(rows.itertuples(index=False, name=None)), KINDS).repartition(3)
        session.stop()


@contextmanager
def ray() -> Iterator[Give]:
    there = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    there.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    data.DataContext.get_current().enable_progress_bars = False
    yield lambda rows: data.from_arrow(
        [pa.Table.from_pandas(rows[start::3], preserve_index=False) for start in range(3)]
    )
    there.shutdown()


@pytest.fixture(scope="module", params=[spark, ray])
def given(request: pytest.FixtureRequest) -> Iterator[Give]:
    with request.param() as give:
        yield give


def frame() -> pd.DataFrame:
    chance = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "who": chance.integers(0, 3000, ROWS).astype(str),
            "a": chance.choice(np.array(["x", "1", "1.0", "é", "y", None], dtype=object), ROWS),
            "b": chance.normal(4, 3, ROWS).round(3),
            "c": (pd.Timestamp("2024-01-01") + pd.to_timedelta(chance.integers(-9, 380, ROWS), "D")).date,
        }
    )


def test_partitions_add_up_to_the_frame(given: Give) -> None:
    rows, schema = frame(), Schema(COLUMNS)
    table, told = Table.from_frame(given(rows), schema), Table.from_frame(rows, schema)
    assert isinstance(source_of(table), PiecesSource)
    for kernel in (Counts.of("a", "b", "c"), SparseCounts(["a", "c"]), NumberSum("b"), NumberSum("c")):
        for where in ((), (("a", (0, 1)),)):
            assert tally(table, kernel, where) == tally(told, kernel, where)
    assert table.notes == told.notes


def test_the_same_rows_of_persons_are_held(given: Give) -> None:
    rows, schema = frame(), Schema(COLUMNS, person="who", rows_per_person=3)
    spelled = rows.assign(who=[who if place % 2 else f"{who}.0" for place, who in enumerate(rows["who"])])
    table, told = Table.from_frame(given(spelled), schema), Table.from_frame(rows, schema)
    for kernel in (Counts.of("a", "c"), PersonCount(), NumberSum("b")):
        held, expected = (source_of(each).bounded(PUBLIC_KEY).tally(kernel, ()) for each in (table, told))
        assert held.tolist() == expected.tolist()  # type: ignore[union-attr]  # dense


def test_what_fails_among_the_rows_is_not_quoted(given: Give) -> None:
    whole = given(frame()[:10])

    def fail(rows: Any) -> Any:
        raise ValueError(f"geheim {list(rows)}")

    spark = hasattr(whole, "mapInArrow")
    bad = whole.mapInArrow(fail, KINDS) if spark else whole.map_batches(fail, batch_format="pyarrow")
    with pytest.raises(
        TableError, match=r"a worker could not tally its part|the dataset could not be computed"
    ) as refused:
        tally(Table.from_frame(bad, Schema(COLUMNS)), Counts.of("a"))
    assert "geheim" not in str(refused.value)
    assert refused.value.__cause__ is None
