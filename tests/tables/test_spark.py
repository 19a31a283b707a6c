"""A real Spark, of two threads: the same integers, and the same rows of persons."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from some_tables import source_of, tally

from jostle import Categorical, Dates, Numeric, Schema, Table
from jostle.errors import TableError
from jostle.tables.kernels import Counts, SparseCounts
from jostle.tables.number_kernels import NumberSum
from jostle.tables.persons import PUBLIC_KEY, PersonCount
from jostle.tables.spark_source import SparkSource

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Spark's own
ROWS = 20_000
COLUMNS: dict[str, Any] = {
    "a": Categorical(["x", "1", "é"], outside="other", missing="value"),
    "b": Numeric(0, 8, bins=5, missing="value", unit=0.01),
    "c": Dates("2024-01-01", "2024-12-31", bins=3, missing="value"),
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
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
        yield session
        session.stop()


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


def given(spark: Any, rows: pd.DataFrame) -> Any:
    """Return the rows in three partitions, as lists: what frames of other libraries become is a matter of theirs."""
    cells = list(rows.itertuples(index=False, name=None))
    return spark.createDataFrame(cells, "who string, a string, b double, c date").repartition(3)


def test_partitions_add_up_to_the_frame(spark: Any) -> None:
    rows, schema = frame(), Schema(COLUMNS)
    table, told = Table.from_frame(given(spark, rows), schema), Table.from_frame(rows, schema)
    assert isinstance(source_of(table), SparkSource)
    for kernel in (Counts.of("a", "b", "c"), SparseCounts(["a", "c"]), NumberSum("b"), NumberSum("c")):
        for where in ((), (("a", (0, 1)),)):
            assert tally(table, kernel, where) == tally(told, kernel, where)
    assert table.notes == told.notes


def test_the_same_rows_of_persons_are_held(spark: Any) -> None:
    rows, schema = frame(), Schema(COLUMNS, person="who", rows_per_person=3)
    spelled = rows.assign(who=[who if place % 2 else f"{who}.0" for place, who in enumerate(rows["who"])])
    table, told = Table.from_frame(given(spark, spelled), schema), Table.from_frame(rows, schema)
    for kernel in (Counts.of("a", "c"), PersonCount(), NumberSum("b")):
        held, expected = (source_of(each).bounded(PUBLIC_KEY).tally(kernel, ()) for each in (table, told))
        assert held.tolist() == expected.tolist()  # type: ignore[union-attr]  # dense


def test_what_fails_among_the_rows_is_not_quoted(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    from pyspark.sql import functions  # noqa: PLC0415 - as the fixture

    bad = given(spark, frame()[:10]).withColumn("b", functions.raise_error(functions.lit("geheim")).cast("double"))
    with pytest.raises(TableError, match="a worker could not tally its part") as refused:
        tally(Table.from_frame(bad, Schema(COLUMNS)), Counts.of("a"))
    assert "geheim" not in str(refused.value)
    assert refused.value.__cause__ is None
