"""Statistics of a table, bought through a probe: counts, sums, means, variances, quantiles, histograms.

Each is a few questions to a probe, and post-processing of what they release. What a statistic costs is what it is asked
with, to the last digit: the ledger has one charge for it, and the answer says the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from jostle.errors import ProbeError, shown
from jostle.privacy.amounts import Amount, epsilon_amount, exact
from jostle.privacy.chains import Refinable
from jostle.privacy.evidence import CountEvidence, MeanEvidence, QuantileEvidence, SumEvidence, VarianceEvidence
from jostle.privacy.measured import MeasuredCells, MeasuredCount, MeasuredNumber, MeasuredTop
from jostle.privacy.mechanisms import Pick, check_scale, sensitivity
from jostle.privacy.scores import MOST_PARTS, QuantileScore, Score
from jostle.tables.block import grain_in
from jostle.tables.fields import name, names
from jostle.tables.kernels import LARGEST_WEIGHT, Counts, DenseKernel
from jostle.tables.number_kernels import Moments, NumberSum, Ranks
from jostle.tables.persons import PersonCount
from jostle.tables.schema import Schema
from jostle.tables.values import Grain

Found = TypeVar("Found", MeasuredNumber, MeasuredTop)
FINE = 2**15 - 1
"""Steps are scaled up to this many where that is exact; products of two of them still fit what a row may add."""
MOST_INTERVALS = 2**14
"""A quantile is picked among so many intervals: more would take the noise farther than they bring it nearer."""


class Asks(Protocol):
    """What statistics ask: a probe."""

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""

    @property
    def unit(self) -> int:
        """How many rows of a person each epsilon is for."""

    def measure(self, kernel: DenseKernel, epsilon: Amount, *, site: str) -> NDArray[np.int64]:
        """A tally with noise on every cell."""

    def measure_refinable(self, kernel: DenseKernel, epsilon: Amount, *, site: str) -> Refinable:
        """A tally with noise on every cell, which may be had with less noise."""

    def refine(self, answer: Refinable, epsilon: Amount, *, site: str) -> Refinable:
        """The same tally with less noise."""

    def pick(self, score: Score, epsilon: Amount, *, site: str) -> int:
        """The index of a candidate with a high score."""

    def allot(self, epsilon: Amount, *, site: str) -> Self:
        """A probe on the same rows with a budget of its own, spent here at once."""

    def note_answer(self, answer: str, *, site: str) -> None:
        """Leave in the trace what an answer comes to, in its own units."""


def _most(db: Asks, kernel: DenseKernel) -> int | Fraction:
    """The most that whoever is protected changes: over epsilon, the scale of the noise."""
    return sensitivity(kernel, db.schema) * db.unit


def _stated(db: Asks, found: Found, site: str) -> Found:
    """An answer, which the trace states in its own units."""
    db.note_answer(found.said, site=site)
    return found


def count(db: Asks, epsilon: Amount, site: str) -> MeasuredCount:
    """How many rows there are."""
    return _counted(db, Counts.of(), epsilon, site)


def _counted(db: Asks, kernel: DenseKernel, epsilon: Amount, site: str) -> MeasuredCount:
    """What a kernel of a single cell counts."""
    found = db.measure_refinable(kernel, epsilon_amount(epsilon), site=site)
    most = _most(db, kernel)

    def measured(found: Refinable) -> MeasuredCount:
        (noisy,) = found.cells
        evidence = CountEvidence(noisy, most / found.epsilon, found.epsilon)
        return MeasuredCount(evidence, lambda more, place: measured(db.refine(found, more, site=place or site)))

    return measured(found)


def persons(db: Asks, epsilon: Amount, site: str, *, more_than: int, once: bool) -> MeasuredCount:
    """How many persons there are, of those with more than so many rows."""
    return _counted(db, PersonCount(more_than=more_than, once=once), epsilon, site)


def number_sum(db: Asks, column: str, epsilon: Amount, site: str) -> MeasuredNumber:
    """Sum of a column's numbers.

    Where their number is public, what is noised is their sum less the least number times it, of which one row that
    becomes another changes less.
    """
    schema, cost = db.schema, epsilon_amount(epsilon)
    grain, rows = grain_in(schema, name(column)), _known_rows(schema, column)
    kernel = NumberSum(column, 0 if rows is None else grain.first)
    (noisy,) = db.measure(kernel, cost, site=site).tolist()
    units = noisy + kernel.origin * (rows or 0)
    found = MeasuredNumber(SumEvidence(units, grain.unit, _most(db, kernel) / cost, cost))
    return _stated(db, found, site)


def mean(db: Asks, column: str, epsilon: Amount, site: str) -> MeasuredNumber:
    """Mean of a column's numbers."""
    schema, cost = db.schema, epsilon_amount(epsilon)
    grain, rows = grain_in(schema, name(column)), _known_rows(schema, column)
    low, high = grain.number(0), grain.number(grain.span)
    if rows:
        kernel = NumberSum(column, grain.first)
        (noisy,) = db.measure(kernel, cost, site=site).tolist()
        noise, most = _most(db, kernel) / cost, grain.span
        found = MeasuredNumber(MeanEvidence(rows * most - noisy, noisy, noise, most, low, high, cost, rows))
        return _stated(db, found, site)
    moments = Moments(column, 1, _scaled(grain, LARGEST_WEIGHT))
    from_high, from_low = db.measure(moments, cost, site=site).tolist()
    noise = _most(db, moments) / cost
    found = MeasuredNumber(MeanEvidence(from_high, from_low, noise, moments.most, low, high, cost))
    return _stated(db, found, site)


def variance(db: Asks, column: str, epsilon: Amount, site: str) -> MeasuredNumber:
    """Variance of a column's numbers: the mean square of how far they are from their mean."""
    schema, cost = db.schema, epsilon_amount(epsilon)
    grain = grain_in(schema, name(column))
    kernel = Moments(column, 2, _scaled(grain, FINE))
    first, second, third = db.measure(kernel, cost, site=site).tolist()
    found = MeasuredNumber(
        VarianceEvidence(
            (first, second, third),
            _most(db, kernel) / cost,
            kernel.bound(schema),
            grain.number(grain.span) - grain.number(0),
            0.0 if kernel.most % grain.span == 0 else 0.5 / kernel.most,
            cost,
        )
    )
    return _stated(db, found, site)


def quantile(db: Asks, column: str, share: Amount, epsilon: Amount, site: str) -> MeasuredNumber:
    """Number that this share of a column's numbers is no greater than: of 1/2, the median.

    One half of epsilon picks one of many intervals, the other counts the numbers in a few intervals around it, each
    twice as wide as the one before: that says where the quantile could be.
    """
    schema, cost = db.schema, epsilon_amount(epsilon)
    grain, part = grain_in(schema, name(column)), _checked_share(share)
    starts = _even_starts(grain)
    score = QuantileScore(column, starts, part.numerator, part.denominator)
    # Both questions, before the allotment is charged: what a row changes is the same wherever ranks begin.
    Pick(score).check(schema, cost / 2 / db.unit)
    check_scale(_most(db, Ranks(column, starts)) / (cost / 2))
    inner = db.allot(cost, site=site)
    picked = inner.pick(score, cost / 2, site="pick")
    first, end = int(starts[picked]), int([*starts[1:], grain.span + 1][picked])
    around = _starts_around(first, end, grain)
    kernel = Ranks(column, around)
    counts = inner.measure(kernel, cost / 2, site="ranks").tolist()
    lasts = [*(around[1:] - 1).tolist(), grain.span]
    found = MeasuredNumber(
        QuantileEvidence(
            _roundest(grain.number(first), grain.number(end - 1), grain.unit),
            part,
            tuple(counts),
            tuple((grain.number(low), grain.number(high)) for low, high in zip(around.tolist(), lasts, strict=True)),
            _most(db, kernel) / (cost / 2),
            cost,
        )
    )
    return _stated(db, found, site)


def histogram(db: Asks, columns: Iterable[str | Iterable[str]], epsilon: Amount, site: str) -> MeasuredCells:
    """Number of rows for each combination of the columns' values or bins, named one by one or in a list."""
    schema, cost = db.schema, epsilon_amount(epsilon)
    given = tuple(each for group in columns for each in names(group))
    kernel = Counts.of(*given)
    labels = tuple(schema[each].labels for each in given)
    sides, most = tuple(map(len, labels)), _most(db, kernel)

    def measured(found: Refinable) -> MeasuredCells:
        return MeasuredCells.of(
            np.array(found.cells, dtype=np.int64).reshape(sides),
            given,
            labels,
            noise=most / found.epsilon,
            cost=found.epsilon,
            refined=lambda more, place: measured(db.refine(found, more, site=place or site)),
        )

    return measured(db.measure_refinable(kernel, cost, site=site))


def top_k(db: Asks, column: str, most: int, epsilon: Amount, site: str) -> MeasuredTop:
    """The commonest values of a column, with their counts: of all counts, noised, the largest."""
    size = db.schema[name(column)].size
    given: object = most
    if isinstance(given, bool) or not isinstance(given, Integral) or not 1 <= int(given) <= size:
        raise ProbeError(
            f"the {shown(most)} commonest values of {column!r} are asked for",
            why=f"it has {size} values or bins, and the number of those that are asked for is a whole one from 1",
            fix=f'db.top_k("{column}", {min(3, size)}, epsilon=0.1)',
        )
    cells = histogram(db, (column,), epsilon, site)
    counts, noise = cells.value, cells.noise
    order = np.argsort(-counts, kind="stable")[: int(given)].tolist()
    (labels,) = cells.labels
    found = MeasuredTop(
        (labels[place], MeasuredCount(CountEvidence(int(counts[place]), noise, cells.cost, among=size)))
        for place in order
    )
    return _stated(db, found, site)


def _known_rows(schema: Schema, column: str) -> int | None:
    """Number of rows with a number in a column, where that is public: declared, and none without one."""
    return schema.rows if schema[column].missing_code is None and schema[column].other_code is None else None


def _scaled(grain: Grain, most: int) -> int:
    """What steps are scaled to, exactly where it can be: noise on whole numbers is finer, the larger they are."""
    return FINE // grain.span * grain.span if grain.span <= FINE else min(grain.span, most)


def _checked_share(given: Amount) -> Fraction:
    share = exact(given, "share").limit_denominator(MOST_PARTS)
    if not 0 <= share <= 1:
        raise ProbeError(
            f"the quantile {shown(given)} is asked for", why="it is a share of the rows, from 0 to 1", fix="0.5"
        )
    return share


def _even_starts(grain: Grain) -> NDArray[np.int64]:
    steps = grain.span + 1
    intervals = min(steps, MOST_INTERVALS)
    return np.arange(intervals, dtype=np.int64) * steps // intervals


def _starts_around(first: int, end: int, grain: Grain) -> NDArray[np.int64]:
    """Steps where intervals around a given one begin, each twice as wide as the one before."""
    widths = [(end - first) << power for power in range(grain.span.bit_length() + 1)]
    places = [0, first, end, *(first - width for width in widths), *(end + width for width in widths)]
    return np.array(sorted({place for place in places if 0 <= place <= grain.span}), dtype=np.int64)


def _roundest(low: Fraction, high: Fraction, unit: Fraction) -> Fraction:
    """Multiple of the greatest power of ten that rounds to a number between two: 62, rather than 61.998."""
    least, most = low - unit / 2, high + unit / 2
    power = len(str(math.ceil(max(abs(least), abs(most)))))
    while True:
        step = Fraction(10) ** power
        multiple = round((least + most) / 2 / step) * step
        if least <= multiple <= most:
            return min(max(multiple, low), high)
        power -= 1
