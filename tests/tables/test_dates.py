"""Dates as numbers since a public start, in every form they come in; and identifiers, which nobody asks about."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import tally

import jostle
from jostle import Dates, Identifier, Schema, Table
from jostle.errors import JostleError
from jostle.tables.kernels import Counts
from jostle.tables.number_kernels import Ranks

SCHEMA = Schema({"when": Dates("2024-01-30", "2024-02-02", bins=3, missing="value"), "who": Identifier()})
DAYS = ["2024-01-30", "2024-01-31", "2024-02-01 23:59:59", None, "2025-01-01", "2023-01-01"]
"""What is beyond an end counts as that end."""

FORMS: dict[str, Callable[[pd.Series], Any]] = {
    "texts": lambda days: days,
    "timestamps": lambda days: pd.to_datetime(days, format="ISO8601"),
    "nanoseconds": lambda days: pd.to_datetime(days, format="ISO8601").astype("datetime64[ns]"),
    "days": lambda days: pd.to_datetime(days, format="ISO8601").dt.date,
    "in Greenwich": lambda days: pd.to_datetime(days, format="ISO8601").dt.tz_localize("UTC"),
    "categories": lambda days: days.astype("category"),
}


def steps(table: Table) -> list[int]:
    return tally(table, Ranks("when", [0, 1, 2, 3]))


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_days_since_the_start(form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"when": FORMS[form](pd.Series(DAYS)), "who": range(6)})
    tables = [Table.from_frame(frame, SCHEMA)]
    for name in ("rows.csv", "rows.parquet"):
        if name.endswith("csv") or form != "days":
            frame.to_csv(tmp_path / name, index=False) if name.endswith("csv") else frame.to_parquet(tmp_path / name)
            tables.append(Table.read(tmp_path / name, SCHEMA))

    for table in tables:
        assert steps(table) == [2, 1, 1, 1]
        assert tally(table, Counts.of("when")) == [2, 1, 2, 1]


@given(st.datetimes(dt.datetime(2024, 1, 29), dt.datetime(2024, 2, 3)), st.sampled_from(["hour", "minute", "day"]))  # noqa: DTZ001 - moments here have no zone
def test_a_moment_belongs_to_the_unit_that_it_lies_in(moment: dt.datetime, unit: str) -> None:
    column = Dates("2024-01-30", "2024-02-02", unit=unit, bins=1)
    table = Table.from_frame(pd.DataFrame({"when": [moment]}), Schema({"when": column}))
    assert column.clock is not None
    assert column.grain is not None
    place = min(max(column.clock.count(moment), 0), column.grain.span)

    assert tally(table, Ranks("when", list(range(column.grain.span + 1)))).index(1) == place
    if 0 < place < column.grain.span:
        assert column.moment(place) <= moment < column.moment(place + 1)


@pytest.mark.parametrize("cell", ["", "soon", "2024-02-30", "5", 5, True, "24-01-30", "9999-99-99"])
def test_what_is_no_date_is_an_empty_cell(cell: Any) -> None:
    table = Table.from_frame(pd.DataFrame({"when": pd.Series([cell], dtype=object), "who": [1]}), SCHEMA)

    assert tally(table, Counts.of("when")) == [0, 0, 0, 1]
    assert steps(table) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "ticks", "told"),
    [
        (pa.date32(), [-(2**31), 2**31 - 1, 19753], [1, 1, 0, 1]),
        (pa.date64(), [-(2**63), 2**63 - 1, 19753 * 86_400_000], [1, 1, 0, 1]),
        (pa.timestamp("s"), [-(2**63), 2**63 - 1, 19753 * 86_400], [1, 1, 0, 1]),
        (pa.timestamp("ns"), [-(2**63), 2**63 - 1, 19753 * 86_400 * 10**9], [1, 1, 0, 1]),
        (pa.timestamp("ns"), [19753 * 86_400 * 10**9 - 1, 19753 * 86_400 * 10**9 + 1], [1, 1, 0, 0]),
    ],
)
def test_no_moment_is_too_far_away_to_be_read(kind: pa.DataType, ticks: list[int], told: list[int]) -> None:
    """An error that one row can cause would be an answer about that row."""
    stored = pa.array(ticks, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
    table = Table.from_frame(pa.table({"when": stored}), SCHEMA)

    assert steps(table) == told


def test_schemas_with_dates_and_identifiers_are_kept() -> None:
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA == pickle.loads(pickle.dumps(SCHEMA))
    assert 'kind = "dates"\nstart = "2024-01-30"\nend = "2024-02-02"\nunit = "day"\nbins = 3' in SCHEMA.to_toml()
    assert SCHEMA["when"].labels == (
        "[2024-01-30, 2024-01-31)",
        "[2024-01-31, 2024-02-01)",
        "[2024-02-01, 2024-02-02]",
        "(missing)",
    )
    assert SCHEMA.with_neighbours("replace_one").identifiers == ("who",)
    hours = Schema({"at": Dates("2024-01-30T06:00", "2024-01-30T18:00", unit="hour", bins=2)})
    assert Schema.from_toml(hours.to_toml()) == hours
    assert hours["at"].labels == (
        "[2024-01-30T06:00:00, 2024-01-30T12:00:00)",
        "[2024-01-30T12:00:00, 2024-01-30T18:00:00]",
    )


def test_statistics_of_dates_are_numbers_that_stand_for_moments() -> None:
    days = pd.date_range("2024-01-01", "2024-12-31")
    schema = Schema({"when": Dates("2024-01-01", "2024-12-31")})
    db = jostle.rehearse(Table.from_frame(pd.DataFrame({"when": days}), schema), epsilon=10**7, seed=1)

    assert db.median("when", epsilon=10**6).value in {182, 183}
    assert db.mean("when", epsilon=10**6) == pytest.approx(182.5, abs=0.01)
    assert schema["when"].moment(db.quantile("when", 1, epsilon=10**6)).year == 2024  # type: ignore[union-attr]  # a date


def test_an_identifier_is_not_asked_about() -> None:
    table = Table.from_frame(pd.DataFrame({"when": ["2024-01-30"]}), SCHEMA)  # it need not even be there
    db = jostle.rehearse(table, epsilon=1)
    for ask in (
        lambda: db.histogram("who", epsilon=1),
        lambda: db.parts("who"),
        lambda: db.mean("who", epsilon=1),
        lambda: db.where("who", "me"),
        lambda: db.top_k("who", 1, epsilon=1),
    ):
        with pytest.raises(JostleError, match="'who' is a column of identifiers"):
            ask()
    assert db.spent == 0
    assert "who" not in SCHEMA
    assert SCHEMA.names == ("when",)
