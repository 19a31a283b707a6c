"""What was released of a table so far, and what that says of a statistic: post-processing of released numbers.

*Measurements* are kept so that whoever asks next need not buy them again. A measurement is the numbers of one partition
of the rows, with noise, as a mechanism released them, and how much noise that was. Only a room makes them (`Room`), of
its own answers, so that nobody can put down a number that was not released; what is told of them is copies. To look at
them costs nothing and touches no row: it is post-processing.

*Evidence* about a statistic is made of them. Each kind knows the statistic's best value and, for any chance to miss,
where the statistic of the table lies, and where that of a population lies of which the rows are independent draws.
Chances to miss add up over what has to hold together; where several released numbers say one thing, their noise is
looked at together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Any

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.tails import (
    NEGLIGIBLE,
    bisected,
    combined_reach,
    count_from,
    ends_around,
    mean_from,
    most_reach,
    rank_apart,
    reach,
)
from jostle.tables.closed import Closed
from jostle.tables.fields import Floats, Integers, int64s
from jostle.tables.kernels import Counts
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema, may_be_blank

PARTITIONS = Closed(
    "kernel of which it can be told what is known",
    (Counts, Regions),
    why="what is known is told of how many rows fall where",
    error=ProbeError,
)
MOST_KEPT = 2**16
"""A measurement of more numbers is none to look at: each would tell little, and all of them take room."""
MOST_COMPARED = 2**22
"""Of a domain with more cells than this, what is known is not compared cell by cell; the total of it is told."""
SURE = 20
"""A number of rows counts as known where it is so many standard deviations of its noise: to about a twentieth."""


def noise_variance(scale: Fraction) -> float:
    """Variance of discrete Laplace noise: 2q / (1-q)**2 with q = exp(-1/scale)."""
    rate = float(1 / scale)
    # So little that it never matters, but not 0: variances are divided by.
    least = 1e-200
    return max(least, 0.5 / math.sinh(rate / 2) ** 2) if rate < 700 else least


def _unchanging(given: NDArray[Any]) -> Floats:
    copy = np.array(given, dtype=np.float64)
    copy.setflags(write=False)
    return copy


@frozen(eq=False)
class Look:
    """What is known of some numbers of rows: an estimate of each, and the variance of the noise in it."""

    counts: Floats = field(converter=_unchanging)
    variance: Floats = field(converter=_unchanging)


@frozen(eq=False)
class Measurement:
    """Numbers of rows, one for each cell of a partition, each with noise of its own of one variance."""

    kernel: Counts | Regions
    """Of one group, or one partition of a grid."""
    sizes: tuple[int, ...]
    """How many codes each of its columns has."""
    counts: Integers = field(converter=int64s)
    """A copy: whoever asked holds the answer, and may change it."""
    variance: float
    among: frozenset[str]
    """Columns that may be blank: only rows with a value in all of them were counted."""
    total: int = field(init=False, default=Factory(lambda measurement: int(measurement.counts.sum()), takes_self=True))

    def of_rows(self) -> Look:
        """What this tells of the number of all rows that were counted."""
        return Look(np.array([float(self.total)]), np.array([len(self.counts) * self.variance]))

    def at(self, wanted: Counts | Regions, schema: Schema) -> Look | None:
        """What this tells of each cell of a coarser partition; None if its cells do not lie in those.

        Nor if it left out other rows than that does, for what is blank in them.
        """
        columns = columns_of(wanted)
        own_columns = columns_of(self.kernel)
        if self.among != may_be_blank(schema, columns):
            return None  # it is about other rows
        sizes = tuple(schema[name].size for name in columns)
        count = math.prod(sizes) if isinstance(wanted, Counts) else len(wanted.starts[0])
        if count == 1:
            return self.of_rows()
        if not set(columns) <= set(own_columns) or len(set(columns)) < len(columns):
            return None
        cells = _cells(wanted, sizes)
        # Which wanted cell each combination of one's own columns is in.
        grid = cells.reshape(sizes).transpose([columns.index(name) for name in own_columns if name in columns])
        shape = [size if name in columns else 1 for name, size in zip(own_columns, self.sizes, strict=True)]
        inside = np.broadcast_to(grid.reshape(shape), self.sizes).ravel()
        own = _cells(self.kernel, self.sizes)
        lies_in = np.zeros(len(self.counts), dtype=np.int64)
        lies_in[own] = inside
        if not np.array_equal(lies_in[own], inside):
            return None
        parts = np.bincount(lies_in, minlength=count)
        sums = np.bincount(lies_in, weights=self.counts.astype(np.float64), minlength=count)
        return Look(sums, parts * self.variance)


def measured(
    kernel: Counts | Regions, numbers: Sequence[Integers], scales: Sequence[Fraction], schema: Schema
) -> tuple[Measurement, ...]:
    """Measurements that noisy numbers are, group by group or level by level, with the scale of the noise on each."""
    measurements = []
    for part, values, scale in zip(_one_by_one(kernel), numbers, scales, strict=True):
        columns, variance = columns_of(part), noise_variance(scale)
        sizes = tuple(schema[name].size for name in columns)
        if len(values) > MOST_KEPT or len(set(columns)) < len(columns):
            continue
        among = may_be_blank(schema, columns)
        if math.prod(sizes) > MOST_COMPARED:
            measurements.append(Measurement(Counts.of(), (), values.sum(keepdims=True), len(values) * variance, among))
        else:
            measurements.append(Measurement(part, sizes, values, variance, among))
    return tuple(measurements)


def look_at(measurements: Sequence[Measurement], kernel: Counts | Regions, schema: Schema) -> tuple[Look | None, ...]:
    """What measurements tell of each group, or level, of a kernel: their mean, weighted by 1 / variance.

    Each measurement tells of one alone, the last that it refines: so what is told of several, coarse ones first, is as
    independent as if each had been bought by itself.
    """
    if not measurements:
        return (None,) * len(kernel.groups if isinstance(kernel, Counts) else kernel.starts)
    parts = _one_by_one(kernel)
    looks_at: list[list[Look]] = [[] for _ in parts]
    for measurement in measurements:
        for index in reversed(range(len(parts))):
            told = measurement.at(parts[index], schema)
            if told is not None:
                looks_at[index].append(told)
                break
    return tuple(together(looks) if looks else None for looks in looks_at)


def known_rows(measurements: Iterable[Measurement], label: str | None) -> int | None:
    """Number of rows, if measurements tell it to about a twentieth; else None.

    Where rows that have a label were counted, of those: the others are not learnt from. A measurement that left rows
    out for what is blank in another column tells nothing of it.
    """
    given = list(measurements)
    totals = [measurement.of_rows() for measurement in given if measurement.among == {label}]
    totals = totals or [measurement.of_rows() for measurement in given if not measurement.among]
    if not totals:
        return None
    look = together(totals)
    rows, deviation = float(look.counts[0]), math.sqrt(look.variance[0])
    return round(rows) if rows >= max(1.0, SURE * deviation) else None


def together(looks: Sequence[Look]) -> Look:
    """Mean of what several looks tell of the same numbers, weighted by 1 / variance."""
    first, *others = looks
    if not others:
        return first
    weights = [1 / look.variance for look in looks]
    precision: Floats = np.sum(weights, axis=0)
    counts: Floats = np.sum([weight * look.counts for weight, look in zip(weights, looks, strict=True)], axis=0)
    return Look(counts / precision, 1 / precision)


def _one_by_one(kernel: Counts | Regions) -> tuple[Counts | Regions, ...]:
    """A kernel for each group, or each level."""
    if isinstance(kernel, Counts):
        return tuple(Counts((group,)) for group in kernel.groups)
    return tuple(Regions(kernel.columns, kernel.order, (starts,)) for starts in kernel.starts)


def columns_of(kernel: Counts | Regions) -> tuple[str, ...]:
    """Columns that a kernel of one group, or one level, goes by."""
    return kernel.groups[0] if isinstance(kernel, Counts) else kernel.columns


def _cells(kernel: Counts | Regions, sizes: tuple[int, ...]) -> Integers:
    """The cell that each combination of codes is in."""
    domain = math.prod(sizes)
    if isinstance(kernel, Counts):
        return np.arange(domain, dtype=np.int64)
    (starts,) = kernel.starts
    cells = np.empty(domain, dtype=np.int64)
    cells[kernel.order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=domain))
    return cells


Ends = tuple[float, float]
USUAL_MISS = math.exp(-1)
"""How often Laplace noise goes beyond its scale."""
FOR_NOISE, FOR_ROWS = 0.45, 0.05
"""Parts of the chance to miss that go to noise and to the number of rows, where there is sampling as well."""
FEW = 0.05
"""Numbers beyond a window count where noise makes up as many as seldom as this."""


class Evidence(ABC):
    """Released numbers that say something of one statistic."""

    noise: Fraction
    """Scale of the noise on each number."""
    cost: Fraction

    @property
    @abstractmethod
    def value(self) -> float:
        """Best value of the statistic."""

    @property
    def scale(self) -> float:
        """How far the value is usually off: a distance that it keeps to with chance 1 - 1/e, as noise to its scale."""
        low, high = self.own(USUAL_MISS)
        return (high - low) / 2

    @abstractmethod
    def own(self, miss: float) -> Ends:
        """Where the table's statistic lies, but for this chance."""

    def own_and_scale(self, miss: float) -> tuple[Ends, float]:
        """Both at once, where that is less work."""
        return self.own(miss), self.scale

    @abstractmethod
    def population(self, miss: float) -> Ends:
        """Where the statistic of a population lies that the rows were drawn from, but for this chance."""


@frozen
class CountEvidence(Evidence):
    """A count of rows, noised."""

    noisy: int
    noise: Fraction
    cost: Fraction
    among: int = 1
    """Of so many counts, it was looked for as one of the largest: all of them are to be covered."""
    rows_each: int = 1
    """The most rows of a person that are counted, where rows are."""

    @property
    def value(self) -> float:
        return self.noisy

    @property
    def scale(self) -> float:
        return float(self.noise)

    def own(self, miss: float) -> Ends:
        """The count, as far as noise goes; not below 0."""
        far = reach(self.noise, miss / self.among)
        return max(0, self.noisy - far), max(0, self.noisy + far)

    def population(self, miss: float) -> Ends:
        low, high = self.own(miss / 2)
        one_end = miss / 4 / self.among
        return count_from(low, one_end, upward=False), count_from(high, one_end, upward=True)


@frozen
class SumEvidence(Evidence):
    """A sum of whole numbers of units, noised."""

    units: int
    unit: Fraction
    noise: Fraction
    """Scale of the noise, in units."""
    cost: Fraction

    @property
    def value(self) -> float:
        return float(self.units * self.unit)

    @property
    def scale(self) -> float:
        return float(self.noise * self.unit)

    def own(self, miss: float) -> Ends:
        far = reach(self.noise, miss)
        return float((self.units - far) * self.unit), float((self.units + far) * self.unit)

    def population(self, miss: float) -> Ends:
        raise ProbeError(
            "a population's sum is asked for",
            why="it is as large as the population, of which the rows do not tell the size",
            fix="db.mean(column, epsilon=...).interval(0.95, population=True)",
        )


@frozen
class MeanEvidence(Evidence):
    """How far numbers are from the least and from the greatest they can be, added up and noised.

    With A the sum of distances from the greatest and B of those from the least, the mean lies B / (A + B) of the way. A
    place p is that of the mean if (1 - p) B = p A; what is released of (1 - p) B - p A has a known noise for each p,
    and all p at which it is no farther from 0 than that noise goes are an interval that covers exactly as often.
    """

    from_high: int
    from_low: int
    noise: Fraction
    most: int
    """What a row adds to both together."""
    low: Fraction
    """Least number there can be."""
    high: Fraction
    cost: Fraction
    known: int | None = None
    """Number of rows, where it is public: then only B was released, and A is what is left."""

    @property
    def value(self) -> float:
        return self._number(self._place)

    def own(self, miss: float) -> Ends:
        ((low, high),) = self._places(miss)
        return self._number(low), self._number(high)

    def own_and_scale(self, miss: float) -> tuple[Ends, float]:
        """Both at once: the work is in finding places, of whatever chance."""
        (low, high), (least, most) = self._places(miss, USUAL_MISS)
        start, width = float(self.low), float(self.high - self.low)
        return (start + low * width, start + high * width), ((start + most * width) - (start + least * width)) / 2

    def population(self, miss: float) -> Ends:
        ((low, high),) = self._places(miss * FOR_NOISE)
        far = 0.0 if self.known else combined_reach([1, 1], float(self.noise), 2 * miss * FOR_ROWS)
        rows = max(0.0, (self.from_low + self.from_high - far) / self.most)
        one_end = miss * (1 - FOR_NOISE - FOR_ROWS) / 2
        return (
            self._number(mean_from(low, rows, one_end, upward=False)),
            self._number(mean_from(high, rows, one_end, upward=True)),
        )

    @property
    def _place(self) -> float:
        total = self.from_low + self.from_high
        return min(1.0, max(0.0, self.from_low / total)) if total > 0 else 0.5

    def _number(self, share: float) -> float:
        return float(self.low) + share * float(self.high - self.low)

    def _places(self, *misses: float) -> list[Ends]:
        scale = float(self.noise)

        def chance(share: Floats) -> Floats:
            apart = np.abs((1 - share) * self.from_low - share * self.from_high) - 0.5
            if self.known:
                return np.exp(-apart / scale)
            # P(|aX + bY| > t) for independent Laplace noise X, Y of scale 1, a >= b >= 0.
            wide, narrow = np.maximum(share, 1 - share), np.minimum(share, 1 - share)
            alike, t = wide - narrow < 1e-6 * wide, np.maximum(apart / scale, 0)
            square = np.where(alike, 1.0, wide * wide - narrow * narrow)
            with np.errstate(divide="ignore", invalid="ignore"):
                lesser = np.where(narrow > NEGLIGIBLE, narrow * narrow * np.exp(-t / narrow), 0.0)
            far = np.exp(-t / wide)
            return np.where(alike, (1 + t / (2 * wide)) * far, (wide * wide * far - lesser) / square)

        return ends_around(self._place, (0.0, 1.0), chance, misses)


@frozen
class WindowEvidence(Evidence):
    """Distances from both ends of a window, added up and noised, and what stands for numbers below it and above.

    A number beyond the window counts as its end, where enough of them stand out of noise. Where it really is, between
    the end and the bound, nothing tells: so the least that the mean could be has all of those below at the least number
    there can be, and those above at the window's end, and the greatest the other way round. Each of these two is a mean
    of four places, weighted by the four cells, and has an interval as in `MeanEvidence`.
    """

    cells: tuple[int, int, int, int]
    """Distances from the window's greatest number and from its least; numbers below, and above."""
    noise: Fraction
    most: int
    """What a row adds to all together."""
    window: tuple[Fraction, Fraction]
    bounds: tuple[Fraction, Fraction]
    cost: Fraction
    summed: bool = False
    """Whether it is about the sum, not the mean."""

    @property
    def value(self) -> float:
        far = reach(self.noise, FEW)
        cells = [*self.cells[:2], *(cell if cell > far else 0 for cell in self.cells[2:])]
        low, high = map(float, self.window)
        total = cells[0] * low + cells[1] * high + cells[2] * low + cells[3] * high
        if self.summed:
            return total / self.most
        return min(high, max(low, total / sum(cells))) if sum(cells) > 0 else (low + high) / 2

    def own(self, miss: float) -> Ends:
        least, most = map(float, self.bounds)
        low, high = map(float, self.window)
        lowest, highest = (low, high, least, high), (low, high, low, most)
        if not self.summed:
            return self._mean(lowest, miss, upward=False), self._mean(highest, miss, upward=True)
        ends = []
        for places, way in ((lowest, -1), (highest, 1)):
            far = combined_reach(places, float(self.noise), miss) + 0.5 * sum(map(abs, places))
            ends.append((sum(map(mul, places, self.cells)) + way * far) / self.most)
        return min(ends[0], self.value), max(ends[1], self.value)

    def population(self, miss: float) -> Ends:
        if self.summed:
            return SumEvidence(0, Fraction(1), self.noise, self.cost).population(miss)
        least, most = map(float, self.bounds)
        low, high = ((end - least) / (most - least) for end in self.own(miss * FOR_NOISE))
        far = combined_reach([1] * 4, float(self.noise), 2 * miss * FOR_ROWS)
        rows = max(0.0, (sum(self.cells) - far) / self.most)
        one_end = miss * (1 - FOR_NOISE - FOR_ROWS) / 2
        ends = mean_from(low, rows, one_end, upward=False), mean_from(high, rows, one_end, upward=True)
        return least + ends[0] * (most - least), least + ends[1] * (most - least)

    def _mean(self, places: Sequence[float], miss: float, *, upward: bool) -> float:
        """The farthest mean of places, with weights of which the cells are noisy ones."""
        here, way = self.value, 1 if upward else -1
        end = float(self.bounds[1 if upward else 0])

        def beyond(distance: float) -> bool:
            apart = [number - (here + way * distance) for number in places]
            far = combined_reach(apart, float(self.noise), miss) + 0.5 * sum(map(abs, apart))
            return bool(-way * sum(map(mul, apart, self.cells)) > far)

        room = abs(end - here)
        return end if not beyond(room) else here + way * bisected(beyond, 0.0, room)


class SquareEvidence(Evidence):
    """Of a variance: what is released tells the deviation, as a part of the width."""

    width: Fraction
    """From the least number to the greatest."""
    rounding: float
    """How far, of the width, a number may be from what stands for it in what is released."""

    @abstractmethod
    def _deviations(self, miss: float) -> Ends:
        """Least and greatest deviation, as far as noise goes; where numbers were rounded, as far as that goes too."""

    def own(self, miss: float) -> Ends:
        low, high = self._deviations(miss)
        return self._square(low), self._square(high)

    def _square(self, deviation: float) -> float:
        return (deviation * float(self.width)) ** 2

    def _drawn(self, low: float, high: float, rows: float, miss: float) -> Ends:
        """The variance of what so many rows of these deviations were drawn from.

        With m the population's mean, it is that of (u - m)**2, of which the rows have the mean V + (mean - m)**2. That
        lies between V and V + d**2, with d how far the sample's mean can be from m, and is a mean of bounded numbers.
        """
        one_end = miss * (1 - FOR_NOISE - FOR_ROWS) / 4
        square = min(1.0, math.log(1 / one_end) / (2 * max(rows, 1e-9)))
        return (
            self._square(math.sqrt(mean_from(low * low, rows, one_end, upward=False))),
            self._square(math.sqrt(min(0.25, mean_from(min(1.0, high * high + square), rows, one_end, upward=True)))),
        )


@frozen
class VarianceEvidence(SquareEvidence):
    """Three sums of products, noised, of which number, mean and variance are made (see `Moments`).

    With C0, C1, C2 and their sum N, the variance is (C0 C2 - C1**2 / 4) / N**2 of the squared width.
    """

    cells: tuple[int, int, int]
    noise: Fraction
    most: int
    """What a row adds to all."""
    width: Fraction
    rounding: float
    cost: Fraction

    @property
    def value(self) -> float:
        """The variance; that of numbers spread evenly, where noise is all there is."""
        share = _variance(*map(float, self.cells)) if sum(self.cells) > 0 else 1 / 12
        return min(0.25, max(0.0, share)) * float(self.width) ** 2

    def population(self, miss: float) -> Ends:
        low, high = self._deviations(miss * FOR_NOISE)
        far = combined_reach([1, 1, 1], float(self.noise), 2 * miss * FOR_ROWS)
        rows = max(0.0, (sum(self.cells) - far) / self.most)
        return self._drawn(low, high, rows, miss)

    def _deviations(self, miss: float) -> Ends:
        far = reach(self.noise, miss / 3)
        boxes = [(max(0.0, float(cell - far)), max(0.0, float(cell + far))) for cell in self.cells]
        low, high = _variances(*boxes)
        return max(0.0, math.sqrt(low) - self.rounding), min(0.5, math.sqrt(high) + self.rounding)


@frozen
class SpreadEvidence(SquareEvidence):
    """A variance, noised, of a public number of rows: in squares of steps, times that number, rounded down."""

    noisy: int
    rows: int
    noise: Fraction
    most: int
    """What the widest distance is scaled to."""
    width: Fraction
    rounding: float
    cost: Fraction

    @property
    def value(self) -> float:
        return self._share(self.noisy) * float(self.width) ** 2

    def population(self, miss: float) -> Ends:
        return self._drawn(*self._deviations(miss * (FOR_NOISE + FOR_ROWS)), self.rows, miss)

    def _share(self, noisy: float) -> float:
        return min(0.25, max(0.0, noisy / (self.rows * self.most**2)))

    def _deviations(self, miss: float) -> Ends:
        far = reach(self.noise, miss)
        low, high = (math.sqrt(self._share(noisy)) for noisy in (self.noisy - far, self.noisy + far + 1))
        return max(0.0, low - self.rounding), min(0.5, high + self.rounding)


def _variance(first: float, second: float, third: float) -> float:
    return (first * third - second * second / 4) / (first + second + third) ** 2


def _variances(first: Ends, second: Ends, third: Ends) -> Ends:
    """Least and greatest variance of cells within these ends.

    It falls with the second cell. In the first it rises up to third + second + second**2 / (2 third) and falls from
    there, and likewise in the third: so it is least at corners, and greatest at one, or where one of both is at that
    place.
    """
    most = 0.25
    if first[1] + second[1] + third[1] == 0 or first[0] + second[0] + third[0] == 0:
        return 0.0, most
    least = min(_variance(one, second[1], three) for one, three in product(first, third))
    places = [
        *product(first, third),
        *((_peak(second[0], there, first), there) for there in third),
        *((there, _peak(second[0], there, third)) for there in first),
    ]
    greatest = max(_variance(one, second[0], three) for one, three in places if one + second[0] + three > 0)
    return min(most, max(0.0, least)), min(most, max(0.0, greatest))


def _peak(second: float, other: float, ends: Ends) -> float:
    return min(ends[1], max(ends[0], other + second + second * second / (2 * other) if other else ends[1]))


@frozen
class QuantileEvidence(Evidence):
    """An interval picked for a quantile, and counts of how many numbers lie in intervals around it, noised.

    A place is beyond the quantile if more numbers lie below than the quantile says, by more than noise goes. Places are
    gone through from the ends inwards, up to the first that is not surely beyond: the walk goes too far only if it is
    misled at the first place past the quantile, so chances to miss are those of a single place.
    """

    picked: Fraction
    share: Fraction
    """Which quantile: 1/2 is the median."""
    counts: tuple[int, ...]
    ends: tuple[tuple[Fraction, Fraction], ...]
    """Least and greatest number of each interval."""
    noise: Fraction
    cost: Fraction

    @property
    def value(self) -> float:
        return float(self.picked)

    def own(self, miss: float) -> Ends:
        share = float(self.share)
        return self._ends(share, share, miss)

    def population(self, miss: float) -> Ends:
        far = combined_reach([1] * len(self.counts), float(self.noise), 2 * miss * FOR_ROWS)
        rows = max(0.0, sum(self.counts) - far)
        one_end = miss * (1 - FOR_NOISE - FOR_ROWS) / 2
        share = float(self.share)
        low, high = (rank_apart(share, rows, one_end, upward=upward) for upward in (False, True))
        return self._ends(low, high, miss * FOR_NOISE)

    def _ends(self, low_share: float, high_share: float, miss: float) -> Ends:
        low, high = self.ends[0][0], self.ends[-1][1]
        for index in range(1, len(self.counts)):
            if not self._beyond(-self._surplus(index, low_share), index, low_share, miss):
                break
            low = self.ends[index][0]
        for index in range(len(self.counts) - 1, 0, -1):
            if not self._beyond(self._surplus(index, high_share), index, high_share, miss):
                break
            high = self.ends[index - 1][1]
        return float(min(low, self.picked)), float(max(high, self.picked))

    def _beyond(self, surplus: float, before: int, share: float, miss: float) -> bool:
        """Whether numbers are more than noise makes up; how far it goes is worked out where that is not plain."""
        weights = [1 - share] * before + [share] * (len(self.counts) - before)
        scale = float(self.noise)
        return surplus > 0 and (
            surplus > scale * most_reach(weights, miss) or surplus > combined_reach(weights, scale, miss)
        )

    def _surplus(self, before: int, share: float) -> float:
        """How many more numbers lie before a place than the share of all."""
        return sum(self.counts[:before]) - share * sum(self.counts)
