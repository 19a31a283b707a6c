"""Slopes of a loss, added up over rows: what a step of a linear model goes by.

A row's *points* are a whole number for each of some models: what its codes and marks stand for. How far its points are
on the right side of 0, is its margin. The loss of a model falls with the margin, by a slope between 0 and 1: here a
broken line over margins, of whole numbers, which is part of the question. So what a row adds is a function of that row
and of public whole numbers, and sums are the same whatever the order, machine or library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.fields import ANY_WHOLE, Integers, Sides, Within, int64_arrays, int64s, names, whole, wholes
from jostle.tables.kernels import DenseKernel, add_up, checked_cells
from jostle.tables.schema import Schema

STEEPEST = 2**29
"""What a slope of 1 counts as."""
MOST_POINTS = 2**50
"""Points of a code, at most."""
MOST_COLUMNS = 2**11
"""So many times MOST_POINTS add up within 63 bits."""
UNIT_BITS = 14
UNIT = 2**UNIT_BITS
"""A mark counts at most so much."""
MOST_MARKS = 2**22
MOST_SHIFT = 40
ROWS_AT_ONCE = 2**13
"""So many slopes add up to less than 2**53, in floats as exactly as in whole numbers."""


@frozen(eq=False, repr=False)
class Slopes(DenseKernel):
    """Sums of slopes for each of some models, by code of each column and by mark; and how many rows there are.

    A model tells rows of one class from the others. A row of that class has its points as margin, another row less its
    points. The sums are of slopes, less slopes for rows that are not of the class: over all rows, over those with each
    code of each column, and over those with each mark.

    *Marks* are columns of two codes that few rows have the second of. A row with k marks has x = isqrt(mark**2 //
    max(k, few)) for each of them, so that the squares add up to mark**2 at most. A mark of weight w gives x * w points,
    and what is added to its sum is slope * x // UNIT.

    A row with a blank in a column, or for a mark, has no points for it and is in none of its sums; one with a blank for
    a label is in no sum, and is not counted.

    *Bound.* A slope lies between 0 and STEEPEST, the largest number in the line. A row adds one slope to the sum over
    all rows and to one code of each column. It adds k * x / UNIT <= sqrt(k) slopes to its marks, and 1 for each of them
    as the next lower whole number may be farther from 0. All this for each model, and 1 row.
    """

    columns: tuple[str, ...] = field(converter=names)
    points: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(2, Within(-MOST_POINTS, MOST_POINTS)))
    """For each column, codes by models."""
    marks: tuple[str, ...] = field(converter=names)
    weights: Integers = field(converter=int64s, validator=Sides(2, Within(-(MOST_POINTS // UNIT), MOST_POINTS // UNIT)))
    """Marks by models."""
    mark: int = field(converter=whole, validator=Within(0, UNIT))
    """The norm of a row's marks, where it has *few* or more."""
    few: int = field(converter=whole, validator=Within(1, MOST_MARKS))
    start: Integers = field(converter=int64s, validator=Sides(1, Within(-MOST_POINTS, MOST_POINTS)))
    """What every row has, for each model."""
    classes: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """The class that each model is for."""
    line: Integers = field(converter=int64s, validator=Sides(1, Within(0, STEEPEST)))
    """Slopes at margins one after the other, falling. Beyond both ends they are as there, between them on a line."""
    first: int = field(converter=whole, validator=Within(-(2**61), 2**61))
    """The margin of the first of them."""
    shift: int = field(converter=whole, validator=Within(0, MOST_SHIFT))
    """They are 2**shift apart."""

    def cells(self, schema: Schema) -> int:
        classes, used, models = len(schema.classes), (*self.columns, *self.marks), len(self.classes)
        sizes = [(schema[name].size, models) for name in self.columns]
        fits = (
            0 < models == len(self.start)
            and all(0 <= code < classes for code in self.classes)
            and len(self.columns) == len(self.points) < MOST_COLUMNS
            and len(set(used)) == len(used)
            and schema.label not in used
            and [own.shape for own in self.points] == sizes
            and all(schema[name].size == 2 for name in self.marks)
            and self.weights.shape == (len(self.marks), models)
        )
        if not fits:
            raise TableError("points and classes do not fit the schema")
        falls = -np.diff(self.line)
        if not len(self.line) or (len(falls) and (falls.min() < 0 or int(falls.max()) << self.shift >= 2**62)):
            raise TableError("slopes do not fall, or by too much at once")
        heaviest = int(np.abs(self.weights).max(initial=0)) * UNIT * (math.isqrt(len(self.marks)) + 1)
        if heaviest >= 2**61 or (len(self.line) << self.shift) >= 2**61:
            raise TableError("points of all marks, or margins, do not fit 63 bits")
        return checked_cells(models * (1 + sum(size for size, _ in sizes) + len(self.marks)) + 1)

    def bound(self, schema: Schema) -> int:
        marked = (math.isqrt(len(self.marks)) + 1) * STEEPEST + len(self.marks) if self.marks else 0
        return 1 + len(self.classes) * ((1 + len(self.columns)) * STEEPEST + marked)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        block = block.labelled(schema)
        of_models = totals[:-1].reshape(len(self.classes), -1)
        for start in range(0, block.length, ROWS_AT_ONCE):
            rows = slice(start, min(block.length, start + ROWS_AT_ONCE))
            times = None if block.multiplicity is None else block.multiplicity[rows]
            self._add(block, schema, rows, times, of_models)
            totals[-1] += rows.stop - rows.start if times is None else int(times.sum())

    def _add(self, block: Block, schema: Schema, rows: slice, times: Integers | None, totals: Integers) -> None:
        codes = [block.columns[name][rows].astype(np.intp) for name in self.columns]
        labels = block.columns[schema.target][rows]
        marked = _Marked.of(block, self.marks, self.mark**2, self.few, rows) if self.marks else None
        for model, code in enumerate(self.classes):
            points = np.full(len(labels), self.start[model], dtype=np.int64)
            for own, code_of in zip(self.points, codes, strict=True):
                points += np.append(own[:, model], 0)[code_of]  # a blank has none
            if marked is not None:
                points += marked.points(self.weights[:, model])
            own_class = labels == code
            slopes = self.slopes(np.where(own_class, points, -points))
            signed = np.where(own_class, slopes, -slopes)
            if times is not None:
                signed *= times
            totals[model, 0] += signed.sum()
            begin = 1
            for own, code_of in zip(self.points, codes, strict=True):
                _add_up(code_of, signed, totals[model, begin : begin + len(own)], several=times is not None)
                begin += len(own)
            if marked is not None:
                marked.add(np.where(own_class, slopes, -slopes), times, totals[model, begin:])

    def slopes(self, margins: Integers) -> Integers:
        """The slope at each margin: the next lower whole number on the line."""
        last = len(self.line) - 1
        along = np.clip(margins - self.first, 0, last << self.shift)
        knot = along >> self.shift
        falls = -np.diff(self.line, append=self.line[-1:])
        since = along - (knot << self.shift)
        on_line: Integers = self.line[knot] - ((falls[knot] * since + (1 << self.shift) - 1) >> self.shift)
        return on_line


def _add_up(places: NDArray[np.intp], signed: Integers, totals: Integers, *, several: bool) -> None:
    """Add to each code's total what rows with it add; of rows that count once, in floats, which are exact here."""
    held = np.zeros(len(totals) + 1, dtype=np.int64)  # the last is of blanks
    if several:
        add_up(places, None, held, signed)
    else:
        held += np.bincount(places, signed.astype(np.float64), len(held)).astype(np.int64)
    totals += held[:-1]


@frozen(eq=False, repr=False)
class _Marked:
    """Which marks some rows have."""

    ends: Integers
    """Row r has the marks found[ends[r]:ends[r + 1]]."""
    found: Integers
    each: Integers
    """Of each row, what each of its marks counts."""

    @classmethod
    def of(cls, block: Block, marks: tuple[str, ...], squares: int, few: int, rows: slice) -> _Marked:
        """The marks of some rows of a block."""
        row, mark_of = _sparse(block, marks, rows) or _dense(block, marks, rows)
        counts = np.bincount(row, minlength=rows.stop - rows.start)
        by_count = np.array([math.isqrt(squares // max(count, few)) for count in range(int(counts.max(initial=0)) + 1)])
        return cls(np.concatenate([[0], np.cumsum(counts)]), mark_of, by_count[counts])

    def points(self, weights: Integers) -> Integers:
        """Each row's points."""
        running = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(weights[self.found])])
        sums: Integers = (running[self.ends[1:]] - running[self.ends[:-1]]) * self.each
        return sums

    def add(self, slopes: Integers, times: Integers | None, totals: Integers) -> None:
        """Add to each mark's total what rows with it add."""
        of_row = (slopes * self.each) >> UNIT_BITS
        if times is not None:
            of_row *= times
        _add_up(self.found, np.repeat(of_row, np.diff(self.ends)), totals, several=True)


def _sparse(block: Block, marks: tuple[str, ...], rows: slice) -> tuple[Integers, Integers] | None:
    """Rows, each as often as it has a mark, and which, where marks are a table's sparse features."""
    bits = block.bits
    if bits is None or not all(name in bits.facts.places for name in marks):
        return None
    number = np.full(bits.facts.size, -1, dtype=np.int64)
    number[[bits.facts.places[name] for name in marks]] = np.arange(len(marks))
    some = bits.part(rows.start, rows.stop)
    mark_of = number[some.found]
    row = np.repeat(np.arange(some.length), np.diff(some.ends))
    return row[mark_of >= 0], mark_of[mark_of >= 0]


def _dense(block: Block, marks: tuple[str, ...], rows: slice) -> tuple[Integers, Integers]:
    """The same where they are columns."""
    pairs = [(np.flatnonzero(block.columns[name][rows] == 1), mark) for mark, name in enumerate(marks)]
    row = np.concatenate([here for here, _ in pairs])
    mark_of = np.concatenate([np.full(len(here), mark) for here, mark in pairs])
    order = np.argsort(row, kind="stable")
    return row[order], mark_of[order]


def logistic_line(shift: int) -> tuple[Integers, int]:
    """Slopes of log(1 + exp(-m)), 1 / (1 + exp(m)), at margins KNOT apart; and the margin of the first of them.

    They are rounded from more digits than matter by whole numbers, so that all machines have the same.
    """
    count = LOGISTIC_REACH << KNOT_BITS
    powers = list(_exponentials(count))
    above = [STEEPEST * power // (ONE + power) for power in powers]  # 1 / (1 + exp(m)) of m >= 0
    below = [STEEPEST - slope for slope in above[:0:-1]]
    return np.array([*below, *above], dtype=np.int64), -count << shift


def huber_line(shift: int) -> tuple[Integers, int]:
    """Slopes of Huber's loss of half-width 1/2: 1 up to a margin of 1/2, and on a line to 0 at 3/2."""
    count = 1 << KNOT_BITS
    return np.array([STEEPEST * (count - knot) // count for knot in range(count + 1)]), (count // 2) << shift


KNOT_BITS = 7
"""Margins of a line are 2**-7 apart."""
LOGISTIC_REACH = 16
PRECISION = 128
ONE = 1 << PRECISION


def _exponentials(count: int) -> Iterator[int]:
    """Yield exp(-m) for so many margins from 0 on, and one more, in units of 2**-128, off by 2**-110 at most."""
    step = term = ONE
    for order in range(1, 40):  # exp(-2**-7) by its series
        term = -term // (order << KNOT_BITS)
        step += term
    power = ONE
    for _ in range(count + 1):
        yield power
        power = power * step >> PRECISION
