"""Ways to the mean, the sum and the variance of a column, under the bounds it was declared with or narrower ones."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.statistics.base import Asked, OfColumn, declared_numbers
from jostle.parameters import share
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.evidence import Look, MeanEvidence, SpreadEvidence, SumEvidence, VarianceEvidence, WindowEvidence
from jostle.privacy.measured import MeasuredNumber
from jostle.privacy.mechanisms import AddNoise, AddNoiseToSpread, Mechanism, sensitivity
from jostle.privacy.probe import Probe
from jostle.tables.block import grain_in
from jostle.tables.columns import Numeric
from jostle.tables.kernels import LARGEST_WEIGHT, Counts
from jostle.tables.number_kernels import Moments, NumberSum
from jostle.tables.schema import Schema
from jostle.tasks.statistics import MEANS, SUMS, VARIANCES

Window = tuple[int, int]
STANDS_OUT = 5.0
"""Deviations by which a noisy count is above 0 where rows surely fall."""


@frozen(kw_only=True)
class Bounded(OfColumn):
    """A way by one question, with noise for the declared bounds."""

    def check(self, schema: Schema, asked: Asked, epsilon: Fraction) -> None:
        """Refuse nothing: the door does, before it charges the only question."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)


@option
@frozen(kw_only=True)
class BoundedMean(Bounded):
    """Sums of how far numbers are from both bounds: one row adds the width of the bounds, whatever its number is.

    With A the sum of distances from the greatest number and B of those from the least, the mean lies B / (A + B) of the
    way. So one tally of sensitivity R, the width, tells the number of rows as well, where a sum and a count take half
    of the budget each. Where the number of rows is public, B alone is bought.

    *Privacy.* One tally with noise (`Moments`, `NumberSum`).
    """

    task = MEANS

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        return ((AddNoise(self.kernel(schema, *asked)), epsilon),)

    def kernel(self, schema: Schema, column: str) -> NumberSum | Moments:
        """Distances from the least number, where it is public how many they are; else from both ends."""
        grain = grain_in(schema, column)
        if declared_numbers(schema, column):
            return NumberSum(column, grain.first)
        return in_all_steps(column, grain.span)

    def run(self, db: Probe, *asked: Any) -> MeasuredNumber:
        column, epsilon = asked
        schema = db.schema
        grain, kernel = grain_in(schema, column), self.kernel(schema, column)
        noisy = db.measure(kernel, epsilon, site="sums").tolist()
        low, high, noise = grain.number(0), grain.number(grain.span), sensitivity(kernel, schema) / epsilon
        if isinstance(kernel, NumberSum):
            most, rows = grain.span, declared_numbers(schema, column)
            return MeasuredNumber(
                MeanEvidence((rows or 0) * most - noisy[0], noisy[0], noise, most, low, high, epsilon, rows)
            )
        return MeasuredNumber(MeanEvidence(noisy[0], noisy[1], noise, kernel.most, low, high, epsilon))


@option
@frozen(kw_only=True)
class BoundedSum(Bounded):
    """The sum itself: one row adds no more than the farther bound.

    Where their number is public, what is noised is their sum less the least number times it, of which one row that
    becomes another changes less.

    *Privacy.* One tally with noise (`NumberSum`).
    """

    task = SUMS

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        return ((AddNoise(self.kernel(schema, *asked)), epsilon),)

    def kernel(self, schema: Schema, column: str) -> NumberSum:
        """The sum from 0, or from the least number."""
        return NumberSum(column, 0 if declared_numbers(schema, column) is None else grain_in(schema, column).first)

    def run(self, db: Probe, *asked: Any) -> MeasuredNumber:
        column, epsilon = asked
        schema, kernel = db.schema, self.kernel(db.schema, column)
        (noisy,) = db.measure(kernel, epsilon, site="sums").tolist()
        units = noisy + kernel.origin * (declared_numbers(schema, column) or 0)
        unit = grain_in(schema, column).unit
        return MeasuredNumber(SumEvidence(units, unit, sensitivity(kernel, schema) / epsilon, epsilon))


@frozen(kw_only=True)
class Clipped(OfColumn):
    """A way with noise for narrower bounds: a window of bins beyond which next to no row was seen to fall.

    The window comes from what was released of the column's bins before (`db.known`), which costs nothing; where nothing
    was, *look* of the budget buys it. Numbers in it are summed as their distances from its two ends, w apart; a number
    beyond it adds w to a cell of its own, below or above, and is counted as the end that it is beyond. So whatever a
    row's number is, it adds w in all: noise is for w, and what lies beyond is counted no worse than what lies within.

    *Privacy.* Two tallies with noise, in turn: which window the second one has, the first one released; and whatever it
    is, the noise is that of what a row can add (`Moments`).
    """

    look: Fraction = share("1/20")
    """Part of the budget that buys the bins' counts where nobody has bought them."""

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        """Both tallies; the second in all steps, which costs what it costs in a window."""
        (column,) = asked
        kernel = in_all_steps(column, grain_in(schema, column).span)
        return (
            (AddNoise(Counts.of(column)), self.look * epsilon),
            (AddNoise(kernel), epsilon - self.look * epsilon),
        )

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Two tallies; where the bins are known, one, for all of it."""
        return in_turn([Laplace(self.look * epsilon), Laplace(epsilon - self.look * epsilon)])

    def run(self, db: Probe, *asked: Any) -> MeasuredNumber:
        column, epsilon = asked
        schema = db.schema
        grain = grain_in(schema, column)
        (seen,) = db.known(Counts.of(column))
        left = epsilon
        if seen is None:
            kernel = Counts.of(column)
            bins = db.measure(kernel, self.look * epsilon, site="bins")
            scale = float(sensitivity(kernel, schema) / (self.look * epsilon))
            seen, left = Look(bins, np.full(len(bins), 2 * scale * scale)), epsilon - self.look * epsilon
        window = window_of(seen, schema, column) or (0, grain.span)
        moments = Moments(column, 1, scaled(window[1] - window[0], LARGEST_WEIGHT), window)
        cells = tuple(db.measure(moments, left, site="sums").tolist())
        return MeasuredNumber(
            WindowEvidence(
                cells,
                sensitivity(moments, schema) / left,
                moments.most,
                (grain.number(window[0]), grain.number(window[1])),
                (grain.number(0), grain.number(grain.span)),
                epsilon,
                summed=self.task is SUMS,
            )
        )


@option
@frozen(kw_only=True)
class ClippedMean(Clipped):
    """The mean, with noise for bounds that were found narrower than the declared ones (see `Clipped`)."""

    task = MEANS


@option
@frozen(kw_only=True)
class ClippedSum(Clipped):
    """The sum, with noise for bounds that were found narrower than the declared ones (see `Clipped`)."""

    task = SUMS


def window_of(seen: Look, schema: Schema, column: str) -> Window | None:
    """The steps from the first to the last bin where rows surely fall, with as much again on either side; or None."""
    declared: Any = schema[column]
    if not isinstance(declared, Numeric):
        return None
    grain = grain_in(schema, column)
    surely = np.flatnonzero((seen.counts > STANDS_OUT * np.sqrt(seen.variance))[: declared.bin_count])
    if not len(surely):
        return None
    cuts = [Fraction(cut) for cut in declared.cut_points]
    first, last = int(surely[0]), int(surely[-1]) + 1
    room = (cuts[last] - cuts[first]) / 2
    low, high = cuts[first] - room, cuts[last] + room
    ends = [min(max((end - grain.number(0)) / grain.unit, Fraction(0)), Fraction(grain.span)) for end in (low, high)]
    least, most = int(ends[0]), -int(-ends[1] // 1)
    return (least, most) if least < most else None


@lru_cache(maxsize=1024)
def in_all_steps(column: str, span: int) -> Moments:
    """What tells the mean of a column of so many steps."""
    return Moments(column, 1, scaled(span, LARGEST_WEIGHT))


def scaled(span: int, most: int) -> int:
    """What steps are scaled to, exactly where it can be: noise on whole numbers is finer, the larger they are."""
    fine = 2**15 - 1
    return fine // span * span if span <= fine else min(span, most)


FINE = 2**15 - 1
"""Steps are scaled up to this many where that is exact; products of two of them still fit what a row may add."""


@frozen(kw_only=True)
class OfVariance(OfColumn):
    """A way to the variance."""

    task = VARIANCES

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)


@option
@frozen(kw_only=True)
class MomentVariance(OfVariance):
    """Three sums of products that tell number, mean and variance together.

    *Privacy.* One tally with noise (`Moments`): a row adds the squared width to the three sums together.
    """

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        return ((AddNoise(self.kernel(schema, *asked)), epsilon),)

    def kernel(self, schema: Schema, column: str) -> Moments:
        """The sums."""
        return Moments(column, 2, scaled(grain_in(schema, column).span, FINE))

    def run(self, db: Probe, *asked: Any) -> MeasuredNumber:
        column, epsilon = asked
        schema, kernel = db.schema, self.kernel(db.schema, column)
        grain = grain_in(schema, column)
        first, second, third = db.measure(kernel, epsilon, site="sums").tolist()
        return MeasuredNumber(
            VarianceEvidence(
                (first, second, third),
                sensitivity(kernel, schema) / epsilon,
                kernel.bound(schema),
                grain.number(grain.span) - grain.number(0),
                0.0 if kernel.most % grain.span == 0 else 0.5 / kernel.most,
                epsilon,
            )
        )


@option
@frozen(kw_only=True)
class SpreadVariance(OfVariance):
    """The variance itself, where the number of rows is public: one number, with noise for what one row changes of it.

    The three sums of `MomentVariance` change by twice as much when a row becomes another. Their noise counts for more
    than that of the one number where the mean is near a bound, and for less where it is half-way: with a *look*, they
    are bought first with a part of the budget, and the rest goes to whichever they say has the less noise.

    *Privacy.* `AddNoiseToSpread`; before it, one tally with noise (`Moments`), on whose answer alone hangs what is
    bought next.
    """

    look: Fraction = share("0", zero=True)
    """Part of the budget that finds out which of both has the less noise."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        looks = (Laplace(self.look * epsilon),) if self.look else ()
        return in_turn([*looks, Laplace(epsilon - self.look * epsilon)])

    def refuses(self, schema: Schema) -> str | None:
        return super().refuses(schema) or (None if schema.rows else "the number of rows is not declared")

    def refuses_column(self, schema: Schema, column: str) -> str | None:
        return None if declared_numbers(schema, column) else "not every row has a number in the column"

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        left, sums = epsilon - self.look * epsilon, AddNoise(MomentVariance().kernel(schema, *asked))
        looks = ((sums, self.look * epsilon), (sums, left)) if self.look else ()
        return (*looks, (self.mechanism(schema, *asked), left))

    def mechanism(self, schema: Schema, column: str) -> AddNoiseToSpread:
        """The variance times the number of rows."""
        return AddNoiseToSpread(MomentVariance().kernel(schema, column))

    def run(self, db: Probe, *asked: Any) -> MeasuredNumber:
        column, epsilon = asked
        schema, left = db.schema, epsilon - self.look * epsilon
        if self.look and _sums_are_better(MomentVariance().run(db, column, self.look * epsilon), schema.rows or 1):
            return MomentVariance().run(db, column, left)
        mechanism, grain = self.mechanism(schema, column), grain_in(schema, column)
        most, rows = mechanism.tallied.most, schema.rows or 1
        noisy = db.perform(mechanism, left, site="spread")
        return MeasuredNumber(
            SpreadEvidence(
                noisy,
                rows,
                mechanism.scale(schema, left),
                most,
                grain.number(grain.span) - grain.number(0),
                0.0 if most % grain.span == 0 else 0.5 / most,
                epsilon,
            )
        )


def _sums_are_better(seen: MeasuredNumber, rows: int) -> bool:
    """Whether the noise of three sums, each for two squared widths, moves the variance less than noise for one does.

    With the cells' shares p, the variance is p0 p2 - p1**2 / 4, and what each share moves it by is its derivative.
    """
    evidence = seen.evidence
    if not isinstance(evidence, VarianceEvidence):
        return False
    first, mixed, last = (min(1.0, max(0.0, cell / (rows * evidence.most))) for cell in evidence.cells)
    twice = 2 * max(0.0, first * last - mixed * mixed / 4)
    return 2 * math.hypot(last - twice, mixed / 2 + twice, first - twice) < 1
