"""What single cells say, as texts, numbers, dates and times, and the grain that numbers are rounded to.

A column's type is no public fact: libraries look at all cells for it. A word among truths or numbers makes texts of
them all, an empty cell makes floats of whole numbers. So what a cell says depends on its value alone: 1, 1.0, "01" and
True are one number, "2024-01-02" and that date's midnight one moment. No type is refused, and nothing here fails
because of a cell: an error that a row can cause is an answer about that row.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import SchemaError, TableError, shown
from jostle.tables.fields import Floats, Integers

NUMBER = r"^[\s\v]*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|(?i:inf|infinity))[\s\v]*$"
"""What counts as a number in text, beside HEXADECIMAL; anything else is an empty cell to a numeric column."""
HEXADECIMAL = r"^\s*0[xX][0-9a-fA-F]{1,16}\s*$"
"""What Arrow reads as a whole number of 64 bits where all others of a column are such numbers."""
TRUTHS = {"true": 1.0, "false": 0.0}
"""Words that libraries read as truths, which are numbers to others, in capitals or not."""
EMPTY = frozenset({"", "nan", "NaN", "NAN", "-nan", "-NaN", "NaT"})
"""Texts that say nothing: among texts, numpy writes so what is no number or no time."""
UNSAID = frozenset(
    {"NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""Texts that Arrow takes for empty cells among numbers, and for texts among texts: they say nothing if not declared."""
FIRST_DATE, LAST_DATE = 10**7, 10**8 - 1
"""Whole numbers between may be a date, 20241231 say."""
LONGEST_INTEGER = 2**1024
"""Beyond the numbers that a float can hold."""


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_encoded_text(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_encoded_text(kind: pa.DataType) -> bool:
    """Whether cells are texts after a cast, perhaps with bytes that are not UTF-8."""
    kinds = (pa.types.is_string_view, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(is_kind(kind) for is_kind in kinds)


def check_readable(name: str, kind: pa.DataType) -> None:
    """Refuse a public column whose type says that its cells are not single values."""
    if _has_no_texts(kind):
        raise TableError(
            f"the cells of column {name!r} are {kind}, not single values", fix="split or convert the column"
        )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    return kind


def chunks(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """A column as arrays."""
    return values.chunks if hasattr(values, "chunks") else [values]


def plain(values: pa.Array) -> pa.Array:
    """The cells without an extension or run lengths around them; a dictionary stays."""
    if isinstance(values.type, pa.BaseExtensionType):
        return plain(values.storage)
    if pa.types.is_run_end_encoded(values.type):
        return plain(pc.run_end_decode(values))
    return values


def one_by_one(values: pa.Array) -> list[object] | None:
    """The cells as objects, where they are of a type that has no texts of its own; None where it has."""
    return [_object(cell) for cell in values] if _has_no_texts(values.type) else None


def _has_no_texts(kind: pa.DataType) -> bool:
    kind = _plain_type(kind)
    return bool(pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_interval(kind))


def _object(cell: pa.Scalar) -> object:
    try:
        return cell.as_py()
    except (pa.ArrowException, ValueError, OverflowError, TypeError):  # a date that Python has none for
        return None


def as_texts(values: pa.Array) -> pa.Array:
    """The cells as they would be written: 1 for an integer or 1.0, True for a truth; null for not-a-number."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "True", "False")
    if pa.types.is_duration(kind):
        return _spans(values)
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    elif _is_encoded_text(kind):
        values = pc.cast(values, pa.large_string(), safe=False)
    elif pa.types.is_timestamp(kind) and kind.tz is not None:
        return pc.binary_join_element_wise(as_texts(values.view(pa.timestamp(kind.unit))), "Z", "")
    texts = values if is_text(values.type) else pc.cast(values, pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):  # the same whatever the unit
        texts = pc.replace_substring_regex(pc.replace_substring_regex(texts, r"(\.\d*?)0+$", r"\1"), r"\.$", "")
    return _readable(texts)


def _spans(values: pa.Array) -> pa.Array:
    """Lengths of time as they would be written."""
    spans = values.view(pa.int64()).to_pylist()
    ticks = TICKS[values.type.unit]
    return pa.array([None if span is None else _span(span * 10**6 // ticks) for span in spans], pa.large_string())


def _span(microseconds: int) -> str:
    try:
        return str(timedelta(microseconds=microseconds))
    except OverflowError:
        return f"{microseconds} us"


def span_text(span: timedelta | np.timedelta64) -> str | None:
    """A length of time as it would be written, whatever library it is of."""
    if isinstance(span, np.timedelta64):
        return None if np.isnat(span) else _span(int(span.astype("timedelta64[us]").astype(np.int64)))
    return _span(
        timedelta(days=span.days, seconds=span.seconds, microseconds=span.microseconds) // timedelta.resolution
    )


def number_in(text: str) -> float | None:
    """The number that a text is, truths included; None if it is none."""
    truth = TRUTHS.get(text.lower())
    if truth is None and re.match(HEXADECIMAL, text, re.ASCII):
        return float((int(text, 16) + 2**63) % 2**64 - 2**63)
    if truth is not None or re.match(NUMBER, text, re.ASCII) is None:
        return truth
    return float(text) + 0.0  # which makes zero of minus zero


def moment_in(text: str) -> datetime | None:
    """The date or time that a text is, brought to Greenwich; None if it is none.

    Of numbers, eight digits are a date, however a library writes them.
    """
    number = number_in(text)
    if number is not None:
        text = str(int(number)) if FIRST_DATE <= number <= LAST_DATE and number.is_integer() else ""
    try:
        moment = datetime.fromisoformat(re.sub(SLASHES, r"\1-\2-\3", text.strip(), count=1, flags=re.ASCII))
    except ValueError:
        return None
    try:
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:  # in the first or last hours that there are
        return moment.replace(tzinfo=None)


def time_in(text: str) -> datetime | time | None:
    """The moment or the time of day that a text is; None if it is none."""
    if re.fullmatch(TIME_OF_DAY, text, re.ASCII) is None:
        return moment_in(text)
    try:
        return time.fromisoformat(text.strip())
    except ValueError:
        return None


def same_however_written(text: str | None) -> str | None:
    """The text, or in place of a number or a moment the one way to write it; None for an empty one.

    >>> same_however_written("007"), same_however_written("2024-01-02T00:00Z"), same_however_written("007 ")
    ('7', '2024-01-02 00:00:00', '7')
    """
    if text is None or text in EMPTY or text in UNSAID:
        return None
    moment, number = time_in(text), number_in(text)
    if moment is not None:
        return str(moment)
    return text if number is None else f"{number:.17g}"


def _readable(texts: pa.Array) -> pa.Array:
    """The texts with a replacement character for whatever is not UTF-8."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raw = texts.cast(pa.large_binary()).to_pylist()
        return pa.array([None if text is None else text.decode(errors="replace") for text in raw], pa.large_string())
    return texts


def as_numbers(values: pa.Array) -> Floats:
    """The cells as numbers, not-a-number where they are empty or no numbers."""
    if is_text(values.type):
        values = _parsed(as_texts(values))
    elif pa.types.is_decimal(values.type):
        values = _parsed(pc.cast(values, pa.string()))  # to the nearest float, as texts are
    elif pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    elif not is_number(values.type):
        return np.full(len(values), np.nan)
    numbers = pc.cast(values, pa.float64(), safe=False)
    return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)


def _parsed(texts: pa.Array) -> pa.Array:
    try:  # reads nothing as a number that the slower way does not, and the same numbers
        return pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        readable = pc.match_substring_regex(texts, NUMBER)
        trimmed = pc.utf8_trim_whitespace(texts)
        numbers = pc.cast(pc.if_else(readable, trimmed, pa.scalar(None, trimmed.type)), pa.float64())
        words = pa.array(list(TRUTHS), trimmed.type)
        truths = pa.array(list(TRUTHS.values())).take(pc.index_in(pc.utf8_lower(texts), words, skip_nulls=True))
        bits = pc.if_else(pc.match_substring_regex(texts, HEXADECIMAL), texts, pa.scalar(None, texts.type))
        if bits.null_count < len(bits):
            whole = [None if text is None else number_in(text) for text in bits.to_pylist()]
            numbers = pc.coalesce(numbers, pa.array(whole, pa.float64()))
        return pc.coalesce(numbers, truths)


def by_type(objects: list[object]) -> Iterator[tuple[NDArray[np.intp], pa.Array]]:
    """Yield objects of one type after the other, with the places they came from; empty ones are left out."""
    places: dict[pa.DataType, list[int]] = {}
    cells: dict[pa.DataType, list[object]] = {}
    for index, value in enumerate(objects):
        cell = _cell(value)
        if cell is not None:
            kind = TYPES[type(cell)]
            places.setdefault(kind, []).append(index)
            cells.setdefault(kind, []).append(cell)
    for kind, group in cells.items():
        yield np.array(places[kind], dtype=np.intp), pa.array(group, kind)


TYPES: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.large_string(),
}


def _cell(value: object) -> bool | int | float | str | None:
    """An object's value as one of four exact types, or None where it says nothing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    try:
        read = next((read for kinds, read in READERS if isinstance(value, kinds)), str)
        cell = read(value)
    except Exception:  # noqa: BLE001 - a class of anybody's making; that it fails must not show
        return None
    return str.encode(cell, "utf-8", "surrogatepass").decode("utf-8", "replace") if isinstance(cell, str) else cell


def _time(value: np.datetime64) -> str | None:
    return None if np.isnat(value) else str(value.astype("datetime64[us]"))


def _complex(value: complex | np.complexfloating[Any, Any]) -> float | str | None:
    return str(value) if value.imag else _real(value.real)


def _integer(given: int | np.integer) -> int | float | str:
    value = int(operator.index(given))
    if -(2**63) <= value < 2**63:
        return value
    if abs(value) < LONGEST_INTEGER:
        return str(value)
    return math.inf if value > 0 else -math.inf


def _real(value: float | np.floating | Decimal) -> float | None:
    if isinstance(value, Decimal) and value.is_nan():  # a signalling one does not become a float
        return None
    number = float(value)
    return None if math.isnan(number) else number


READERS: tuple[tuple[tuple[type, ...], Callable[[Any], bool | int | float | str | None]], ...] = (
    ((str,), str.__str__),
    ((bytes, bytearray, memoryview), lambda value: bytes(value).decode("utf-8", "replace")),
    ((timedelta, np.timedelta64), span_text),  # numpy's is one of its integers
    ((bool, np.bool_), bool),
    ((int, np.integer), _integer),
    ((float, np.floating, Decimal), _real),
    ((complex, np.complexfloating), _complex),
    ((np.datetime64,), _time),
)
"""What objects of these types say; of others, what they are as text."""


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
SLASHES = r"^(\d{4})/(\d\d)/(\d\d)(?!\d)"
"""The one order of parts that all libraries read a date with slashes in."""
TIME_OF_DAY = r"\s*\d\d:\d\d(:\d\d(\.\d+)?)?\s*"
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
    """Whole units since a start.

    What a cell becomes depends on that cell alone. A time without a zone is taken for one of the same zone as the
    start; one with a zone is brought to Greenwich first.
    """

    start: datetime
    unit: str = field(default="day", converter=_unit)

    def count(self, moment: datetime) -> int:
        """Whole units from the start to a moment."""
        return (moment - self.start) // UNITS[self.unit]

    def moment(self, number: float) -> datetime:
        """When so many units are over."""
        return self.start + float(number) * UNITS[self.unit]

    def moments(self, numbers: Floats) -> pa.Array:
        """When so many units are over: dates, or of units below a day times; none for not-a-number."""
        moments = [None if np.isnan(number) else self.moment(number) for number in numbers.tolist()]
        times = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("s"), safe=False)
        return times.cast(pa.date32(), safe=False) if UNITS[self.unit] >= UNITS["day"] else times

    def written(self, number: float) -> str:
        """When so many units are over, as a text: of days, the date alone."""
        text = self.moment(number).isoformat(timespec="seconds")
        return text.removesuffix("T00:00:00") if UNITS[self.unit] >= UNITS["day"] else text

    def numbers(self, values: pa.Array) -> Floats:
        """Units at which the cells lie, not-a-number where they say no time."""
        if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
            seconds = _whole_seconds(values)
        elif is_text(values.type) or is_number(values.type):
            distinct = as_texts(values).dictionary_encode()
            table = np.array([_seconds(text) for text in distinct.dictionary.to_pylist()] + [np.nan])
            seconds = table[distinct.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)]
        else:
            return np.full(len(values), np.nan)
        units: Floats = np.floor((seconds - (self.start - EPOCH) / SECOND) / (UNITS[self.unit] / SECOND))
        return units


def _whole_seconds(values: pa.Array) -> Floats:
    """Seconds since 1970 of dates and times of a type of their own, rounded down in whole numbers: none runs over."""
    days = pa.types.is_date32(values.type)
    raw = pc.cast(pc.cast(values, pa.int32()) if days else values, pa.int64())
    ticks = raw.fill_null(0).to_numpy(zero_copy_only=False)
    parts = 1 if days else TICKS["ms" if pa.types.is_date64(values.type) else values.type.unit]
    seconds: Floats = (ticks // parts).astype(np.float64) * (SECONDS_OF_A_DAY if days else 1)
    seconds[raw.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return seconds


def _seconds(text: str | None) -> float:
    moment = None if text is None else moment_in(text)
    return np.nan if moment is None else (moment - EPOCH) / SECOND


LARGEST_MULTIPLE = 2**30 - 1
"""A number is no farther from 0 than so many units: then as many rows as a table may have add up within 63 bits."""
MOST_BITS = 1023
"""Whole numbers of so many bits are below the largest float."""
USUAL_STEPS = 2**24
"""Where no unit is declared, it is the power of ten that gives the most steps up to this many."""


@frozen
class Grain:
    """The multiples of a unit that lie between a column's bounds. A *step* is the place of one among them, from 0.

    Bins are for what looks at a column as a few values; a sum, a mean or a quantile of it is of the numbers themselves,
    as whole multiples of a unit between the column's bounds. What a number becomes depends on that number alone.
    """

    unit: Fraction
    first: int
    """The least multiple: the number of step 0 is first * unit."""
    last: int

    @cached_property
    def span(self) -> int:
        """Number of the last step."""
        return self.last - self.first

    @property
    def none(self) -> int:
        """What stands in place of a step where there is no number."""
        return self.span + 1

    def number(self, step: int) -> Fraction:
        """Exact number that a step stands for."""
        return (self.first + step) * self.unit

    def steps(self, numbers: Floats) -> Integers:
        """Nearest step of each number; of one out of bounds, the first or last; `none` for not-a-number."""
        numerator, denominator = float(self.unit.numerator), float(self.unit.denominator)
        with np.errstate(over="ignore", invalid="ignore"):
            multiples = np.rint(numbers * denominator / numerator)
        places = np.clip(multiples, self.first, self.last) - self.first
        places[np.isnan(multiples)] = self.none
        return places.astype(np.int64)


@lru_cache(maxsize=4096)
def grain_of(low: float, high: float, unit: float) -> Grain | None:
    """Grain of a declared unit; None where it has fewer than two multiples between the bounds, or too large ones."""
    step = Fraction(repr(unit))
    grain = Grain(step, math.ceil(_exact(low) / step), math.floor(_exact(high) / step))
    fits = grain.span >= 1 and max(abs(grain.first), abs(grain.last)) <= LARGEST_MULTIPLE
    return grain if fits and _is_of_floats(step) else None


@lru_cache(maxsize=4096)
def finest_grain(low: float, high: float) -> Grain | None:
    """Grain of the finest power of ten that gives no more steps than is usual; None where bounds are too close."""
    exact_low, exact_high = _exact(low), _exact(high)
    most = max((exact_high - exact_low) / USUAL_STEPS, max(abs(exact_low), abs(exact_high)) / LARGEST_MULTIPLE)
    power = math.floor(math.log10(most.numerator) - math.log10(most.denominator)) - 1
    while Fraction(10) ** power < most:
        power += 1
    unit = Fraction(10) ** power
    grain = Grain(unit, math.ceil(exact_low / unit), math.floor(exact_high / unit))
    return grain if grain.span >= 1 and _is_of_floats(unit) else None


def _is_of_floats(unit: Fraction) -> bool:
    """Whether both parts of a unit fit floats, which numbers are multiplied and divided by."""
    return max(unit.numerator, unit.denominator).bit_length() <= MOST_BITS


def _exact(number: float) -> Fraction:
    """The number as it is written."""
    return Fraction(repr(number))
