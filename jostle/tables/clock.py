"""Clocks: dates and times as numbers, counted in whole units since a public moment.

What a cell becomes depends on that cell alone. A time without a zone is taken for one of the same zone as the start;
one with a zone is brought to Greenwich first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import SchemaError, shown
from jostle.tables.values import as_texts, is_number, is_text, moment_in

__all__ = ["UNITS", "Clock", "moment_of"]

UNITS: Mapping[str, timedelta] = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
"""Months and years are not among them, as they are not all as long."""
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - moments here have no zone
SECOND = timedelta(seconds=1)
SECONDS_OF_A_DAY = 86_400
TICKS: Mapping[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of the units that times are stored in make a second."""


def moment_of(name: str, given: object) -> datetime:
    """Read a public date or time, as an object of Python's or a text such as "2024-12-31"."""
    if isinstance(given, np.datetime64):
        given = given.astype("datetime64[us]").item()  # None for a date that is none
    if isinstance(given, date) and not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day)  # noqa: DTZ001 - as above
    empty = isinstance(given, datetime) and math.isnan(given.year)  # pandas has a moment that is none
    read = None if empty or not isinstance(given, datetime | str) else moment_in(str(given))
    if read is None:
        raise SchemaError(f"{name} is {shown(given)}, not a date", fix=f'{name}="2024-12-31"')
    return read.replace(microsecond=0)


def _unit(given: str) -> str:
    if not isinstance(given, str) or given not in UNITS:
        raise SchemaError(f"unit is {shown(given)}", fix=f"unit = one of {', '.join(map(repr, UNITS))}")
    return given


@frozen
class Clock:
    """Whole units since a start."""

    start: datetime
    unit: str = field(default="day", converter=_unit)

    def count(self, moment: datetime) -> int:
        """Whole units from the start to a moment."""
        return (moment - self.start) // UNITS[self.unit]

    def moment(self, number: float) -> datetime:
        """When so many units are over."""
        return self.start + float(number) * UNITS[self.unit]

    def moments(self, numbers: NDArray[np.float64]) -> pa.Array:
        """When so many units are over: dates, or of units below a day times; none for not-a-number."""
        found = [None if np.isnan(number) else self.moment(number) for number in numbers.tolist()]
        times = pa.array(found, pa.timestamp("us")).cast(pa.timestamp("s"), safe=False)
        return times.cast(pa.date32(), safe=False) if UNITS[self.unit] >= UNITS["day"] else times

    def written(self, number: float) -> str:
        """When so many units are over, as a text: of days, the date alone."""
        text = self.moment(number).isoformat(timespec="seconds")
        return text.removesuffix("T00:00:00") if UNITS[self.unit] >= UNITS["day"] else text

    def numbers(self, values: pa.Array) -> NDArray[np.float64]:
        """Units at which the cells lie, not-a-number where they say no time."""
        if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
            seconds = _whole_seconds(values)
        elif is_text(values.type) or is_number(values.type):
            distinct = as_texts(values).dictionary_encode()
            table = np.array([_seconds(text) for text in distinct.dictionary.to_pylist()] + [np.nan])
            seconds = table[distinct.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)]
        else:
            return np.full(len(values), np.nan)
        found: NDArray[np.float64] = np.floor((seconds - (self.start - EPOCH) / SECOND) / (UNITS[self.unit] / SECOND))
        return found


def _whole_seconds(values: pa.Array) -> NDArray[np.float64]:
    """Seconds since 1970 of dates and times of a type of their own, rounded down in whole numbers: none runs over."""
    days = pa.types.is_date32(values.type)
    raw = pc.cast(pc.cast(values, pa.int32()) if days else values, pa.int64())
    ticks = raw.fill_null(0).to_numpy(zero_copy_only=False)
    parts = 1 if days else TICKS["ms" if pa.types.is_date64(values.type) else values.type.unit]
    seconds: NDArray[np.float64] = (ticks // parts).astype(np.float64) * (SECONDS_OF_A_DAY if days else 1)
    seconds[raw.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return seconds


def _seconds(text: str | None) -> float:
    moment = None if text is None else moment_in(text)
    return np.nan if moment is None else (moment - EPOCH) / SECOND
