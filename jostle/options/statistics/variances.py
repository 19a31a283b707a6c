"""Ways to the variance of a column."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from attrs import frozen

from jostle.options.base import option
from jostle.options.statistics.base import Asked, OfColumn, declared_numbers
from jostle.options.statistics.totals import scaled
from jostle.parameters import share
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.evidence import SpreadEvidence, VarianceEvidence
from jostle.privacy.measured import MeasuredNumber
from jostle.privacy.mechanisms import AddNoise, AddNoiseToSpread, Mechanism, sensitivity
from jostle.privacy.probe import Probe
from jostle.tables.block import grain_in
from jostle.tables.number_kernels import Moments
from jostle.tables.schema import Schema
from jostle.tasks.statistics import VARIANCES

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
