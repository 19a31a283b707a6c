"""Answers to statistics: numbers that also say how far noise may have taken them, and what they cost.

An answer is a number of Python's, or an array of numpy's, and computes as one; what is computed from it is a plain
number, since what noise it has is another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite, log10
from numbers import Real
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from jostle.errors import ProbeError, shown
from jostle.privacy.amounts import Amount, show_amount
from jostle.privacy.evidence import CountEvidence, Evidence
from jostle.privacy.tails import reach
from jostle.tables.fields import Floats, Integers
from jostle.tables.frames import Frames, as_frame
from jostle.visible import visible

Answer = TypeVar("Answer")
Refining = Callable[[Amount, str | None], Answer]
"""How an answer is had with less noise: at an epsilon, charged to a site."""
MOST_SHOWN = 40
"""Lines of a table that is printed."""
LEVEL = 0.95
"""Of intervals that are shown."""
EVEN = 1.1
"""An interval goes as far down as up where the one is no more times the other."""
WIDTH = 30
"""Letters of the longest bar."""


class Measured(ABC):
    """What a statistic gave: a value, and how sure it is."""

    __slots__ = ()

    @property
    @abstractmethod
    def value(self) -> Any:
        """The value by itself, as a plain number, array or tuple."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """How far noise usually takes the value: the scale of Laplace noise that would take it as far."""

    @property
    @abstractmethod
    def cost(self) -> Fraction:
        """Epsilon that was spent."""

    @property
    @abstractmethod
    def said(self) -> str:
        """It in words: how far it may be off, and how surely."""

    @abstractmethod
    def interval(self, level: float = LEVEL, *, population: bool = False) -> Any:
        """Least and greatest value that the table's own statistic could have, at a level of confidence.

        With *population*, of a population that the rows were drawn from, one by one.
        """

    def refine(self, *, epsilon: Amount, site: str | None = None) -> Self:
        """The same answer with less noise, at a larger epsilon, of which only the difference is charged.

        Of counts and histograms, in the process and by the probe that asked for them.
        """
        raise ProbeError(
            "this answer cannot be refined",
            why="noise is taken off in steps from counts and histograms alone, as the probe that was asked gave them",
            fix="db.count(epsilon).refine(epsilon=...), or db.histogram(...).refine(epsilon=...)",
        )

    def __repr__(self) -> str:
        return self.said

    def _repr_html_(self) -> str:
        from jostle.markup import words  # noqa: PLC0415 - for notebooks alone

        return words(self.said)


class _Single(Measured):
    """A number with the evidence for it."""

    evidence: Evidence

    @property
    def scale(self) -> float:
        return self.evidence.scale

    @property
    def cost(self) -> Fraction:
        return self.evidence.cost

    def interval(self, level: float = LEVEL, *, population: bool = False) -> Any:
        miss = _miss(level)
        return self.evidence.population(miss) if population else self.evidence.own(miss)

    @property
    def said(self) -> str:
        return f"{_give_or_take(self.value, *self.evidence.own_and_scale(1 - LEVEL))} ({LEVEL:.0%})"


class MeasuredCount(int, _Single):
    """A count of rows: a whole number, which noise may take below 0."""

    evidence: CountEvidence
    _refined: Refining[MeasuredCount] | None

    def __new__(cls, evidence: CountEvidence, refined: Refining[MeasuredCount] | None = None) -> Self:
        made = super().__new__(cls, evidence.noisy)
        made.evidence = evidence
        made._refined = refined
        return made

    @property
    def said(self) -> str:
        """It in words: of persons, how many rows of each are counted at most."""
        rows_each = self.evidence.rows_each
        return super().said if rows_each == 1 else f"{super().said}, of at most {rows_each:,} a person"

    def refine(self, *, epsilon: Amount, site: str | None = None) -> MeasuredCount:
        return super().refine(epsilon=epsilon) if self._refined is None else self._refined(epsilon, site)

    __repr__ = Measured.__repr__

    def __str__(self) -> str:
        return str(int(self))

    @property
    def value(self) -> int:
        return int(self)

    def __reduce__(self) -> tuple[object, ...]:
        return MeasuredCount, (self.evidence,)


class MeasuredNumber(float, _Single):
    """A sum, mean, variance or quantile."""

    def __new__(cls, evidence: Evidence) -> Self:
        made = super().__new__(cls, evidence.value)
        made.evidence = evidence
        return made

    __repr__ = Measured.__repr__

    @property
    def value(self) -> float:
        return float(self)

    def __str__(self) -> str:
        """The number, to the digit that noise leaves some of."""
        return _rounded(float(self), self.scale)

    def __reduce__(self) -> tuple[object, ...]:
        return MeasuredNumber, (self.evidence,)


class MeasuredCells(np.ndarray[Any, np.dtype[np.int64]], Measured):
    """Counts of rows for each combination of the values of some columns: an array with one axis per column."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """What the places along each axis stand for."""
    _whole: bool
    _noise: Fraction
    _cost: Fraction
    _refined: Refining[MeasuredCells] | None

    @classmethod
    def of(
        cls,
        counts: Integers,
        columns: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
        *,
        noise: Fraction,
        cost: Fraction,
        refined: Refining[MeasuredCells] | None = None,
    ) -> MeasuredCells:
        """Make one of noisy counts."""
        made = counts.view(cls)
        made.columns, made.labels, made._refined = columns, labels, refined  # noqa: SLF001 - it is of this class
        made._whole, made._noise, made._cost = True, noise, cost  # noqa: SLF001 - it is of this class
        return made

    def __array_finalize__(self, source: object) -> None:
        """Know nothing of the noise in what was made from it: a part, another shape."""
        self._whole = False

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_plain, inputs), **{key: _plain(value) for key, value in kwargs.items()})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _plain(super().__array_function__(function, types, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    @property
    def value(self) -> Integers:
        return np.asarray(self).view(np.ndarray)

    @property
    def scale(self) -> float:
        return float(self.noise)

    @property
    def cost(self) -> Fraction:
        self._check_whole()
        return self._cost

    def interval(self, level: float = LEVEL, *, population: bool = False) -> tuple[Floats, Floats]:
        """Least and greatest value of each count; each of them is covered by itself at this level."""
        miss, noise = _miss(level), self.noise
        ends = {}
        for count in np.unique(self.value).tolist():
            evidence = CountEvidence(count, noise, self._cost)
            ends[count] = evidence.population(miss) if population else evidence.own(miss)
        intervals = np.array([ends[count] for count in self.value.ravel().tolist()], dtype=np.float64).reshape(-1, 2)
        return intervals[:, 0].reshape(self.shape), intervals[:, 1].reshape(self.shape)

    def refine(self, *, epsilon: Amount, site: str | None = None) -> MeasuredCells:
        self._check_whole()
        return super().refine(epsilon=epsilon) if self._refined is None else self._refined(epsilon, site)

    @property
    def noise(self) -> Fraction:
        """Exact scale of the noise on each count."""
        self._check_whole()
        return self._noise

    def _check_whole(self) -> None:
        if not self._whole:
            raise ProbeError(
                "these are parts of an answer, or in another shape",
                why="what noise there is was said of the answer",
                fix="ask the answer itself, as it was given: answer.interval(0.95), answer.refine(epsilon=...)",
            )

    def __reduce__(self) -> Any:
        return self.value.__reduce__()

    def __str__(self) -> str:
        """A table, where there are one or two columns that fit; else the array."""
        if not self._fits:
            return str(self.value)
        rows = zip(self.labels[0], self.value.tolist(), strict=True)
        if len(self.labels) == 1:
            return _table([[label, str(count)] for label, count in rows])
        return _table([["", *self.labels[1]], *([label, *map(str, counts)] for label, counts in rows)])

    def __repr__(self) -> str:
        """The table, with bars where it is of one column, and how far noise takes a count."""
        if not self._whole:
            return repr(self.value)
        if not self._fits or len(self.labels) > 1:
            return f"{self}\n{self.said}"
        return f"{_barred(self.labels[0], self.value.tolist())}\n{self.said}"

    def _repr_html_(self) -> str:
        """The table, with bars or shades; of one that is too long or too wide, what is printed."""
        from jostle.markup import bar_table, pre, shaded_table, words  # noqa: PLC0415 - for notebooks alone

        if not self._fits:
            return pre(repr(self))
        down, counts = self.labels[0], self.value.tolist()
        if len(self.labels) == 1:
            drawn = bar_table(self.columns[0], list(zip(down, counts, strict=True)))
        else:
            drawn = shaded_table(" by ".join(self.columns), down, self.labels[1], counts)
        return f"{drawn}<p>{words(self.said)}</p>"

    @property
    def _fits(self) -> bool:
        """Whether it is whole, and a table of it is no longer or wider than is printed."""
        sides = tuple(map(len, self.labels)) if self._whole else ()
        return sides == self.shape and 1 <= len(sides) <= 2 and max(sides) <= MOST_SHOWN

    @property
    def said(self) -> str:
        far = reach(self.noise, 1 - LEVEL)
        return f"each count ± {far:,.0f} ({LEVEL:.0%}); epsilon {show_amount(self.cost)}"

    def to_frame(self, library: Frames = "pyarrow") -> Any:
        """A row for each combination of the columns' values, with its count and the ends of its interval.

        Raises:
            ProbeError: it is a part of an answer, or the library is not installed.
        """
        self._check_whole()
        low, high = self.interval()
        places = np.unravel_index(np.arange(self.size), self.shape)
        columns = {
            name: np.array(labels)[codes] for name, labels, codes in zip(self.columns, self.labels, places, strict=True)
        }
        ends = {"low": low.ravel(), "high": high.ravel()}
        return as_frame(pa.table({**columns, "count": self.value.ravel(), **ends}), library)


class MeasuredNumbers(tuple[MeasuredNumber, ...], Measured):
    """Several numbers that were asked for together: quantiles of a column, in the order they were named in."""

    __slots__ = ()

    @property
    def value(self) -> tuple[float, ...]:
        return tuple(number.value for number in self)

    @property
    def scale(self) -> float:
        """How far noise usually takes the one that it takes farthest."""
        return max(number.scale for number in self)

    @property
    def cost(self) -> Fraction:
        return self[0].cost

    def interval(self, level: float = LEVEL, *, population: bool = False) -> tuple[tuple[float, float], ...]:
        """Least and greatest value of each number; each of them is covered by itself at this level."""
        return tuple(number.interval(level, population=population) for number in self)

    @property
    def said(self) -> str:
        return ", ".join(number.said for number in self)

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    __repr__ = Measured.__repr__

    def to_frame(self, library: Frames = "pyarrow") -> Any:
        """A row for each of the numbers, with the ends of its interval.

        Raises:
            ProbeError: the library is not installed.
        """
        return _framed([({"value": number.value}, number) for number in self], library)


class MeasuredTop(tuple[tuple[str, MeasuredCount], ...], Measured):
    """The commonest values of a column with their counts, in order."""

    __slots__ = ()

    @property
    def value(self) -> tuple[str, ...]:
        return tuple(label for label, _ in self)

    @property
    def scale(self) -> float:
        return self[0][1].scale

    @property
    def cost(self) -> Fraction:
        return self[0][1].cost

    def interval(self, level: float = LEVEL, *, population: bool = False) -> Mapping[str, tuple[float, float]]:
        """Least and greatest value of each count; all of them are covered together at this level."""
        return {label: count.interval(level, population=population) for label, count in self}

    @property
    def said(self) -> str:
        """It in words: how far each count may be off, and how surely all of them keep to that."""
        counts = (f"{label} {_give_or_take(int(count), count.interval(), count.scale)}" for label, count in self)
        return f"{', '.join(counts)} ({LEVEL:.0%})"

    def __str__(self) -> str:
        return _table([[label, str(int(count))] for label, count in self])

    def __repr__(self) -> str:
        labels, counts = zip(*((label, int(count)) for label, count in self), strict=True)
        return _barred(labels, counts)

    def _repr_html_(self) -> str:
        from jostle.markup import bar_table, words  # noqa: PLC0415 - for notebooks alone

        return f"{bar_table('', [(label, int(count)) for label, count in self])}<p>{words(self.said)}</p>"

    def to_frame(self, library: Frames = "pyarrow") -> Any:
        """A row for each of the values, with its count and the ends of its interval.

        Raises:
            ProbeError: the library is not installed.
        """
        return _framed([({"value": label, "count": int(count)}, count) for label, count in self], library)


def _framed(rows: Iterable[tuple[dict[str, Any], _Single]], library: Frames) -> Any:
    """A frame of rows, with the ends of the interval of what each is about."""
    ends = [{**cells, **dict(zip(("low", "high"), number.interval(), strict=True))} for cells, number in rows]
    return as_frame(pa.Table.from_pylist(ends), library)


def _give_or_take(value: float, ends: tuple[float, float], scale: float) -> str:
    """A number with how far it may be off: by as much either way, or from where to where."""
    low, high = ends
    below, above = value - low, high - value
    if max(below, above) <= EVEN * min(below, above):
        return f"{_rounded(value, scale)} ± {_rounded(max(below, above), scale)}"
    return f"{_rounded(value, scale)}, from {_rounded(low, scale)} to {_rounded(high, scale)}"


def _barred(labels: Sequence[str], counts: Sequence[int]) -> str:
    """Rows of labels and counts, with a bar as long as the count."""
    most = max([1, *counts])
    bars = ["#" * round(WIDTH * max(0, count) / most) for count in counts]
    return _table([[label, str(count)] for label, count in zip(labels, counts, strict=True)], bars)


def _miss(level: object) -> float:
    given: Any = level if not isinstance(level, bool) and isinstance(level, Real | Decimal) else None
    if given is None or not 0 < given < 1:
        raise ProbeError(
            f"the level of an interval is {shown(level)}", why="it is a chance between 0 and 1", fix="interval(0.95)"
        )
    return 1 - float(given)


def _rounded(number: float, scale: float) -> str:
    if not isfinite(scale) or scale <= 0:
        return float.__repr__(number)
    digits = 1 - floor(log10(scale))
    return f"{number:.{digits}f}" if digits > 0 else f"{round(number, digits):.0f}"


def _plain(given: Any) -> Any:
    if isinstance(given, tuple | list):
        return type(given)(map(_plain, given))
    return given.value if isinstance(given, MeasuredCells) else given


def _table(rows: Sequence[Sequence[str]], ends: Sequence[str] = ()) -> str:
    """Rows of cells as lines of text, numbers set to the right; at the end of each line, what is to stand there."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = (
        [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)), end]
        for (first, *cells), end in zip(shown, ends or [""] * len(shown), strict=True)
    )
    return "\n".join("  ".join(line).rstrip() for line in lines)
