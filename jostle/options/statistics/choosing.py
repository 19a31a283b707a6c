"""Which way a probe goes to a statistic: by a rule over free facts, which says so in the trace.

Facts are public: what is asked, the schema, what was released before. The number of quantiles and that of the look were
set on a few made-up columns, the others by hand; how near to the best way they come is on the page that
`python benchmarks/column_statistics.py` writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from attrs import frozen

from jostle.options.statistics.base import Statistic, bought, declared_numbers
from jostle.options.statistics.moments import (
    BoundedMean,
    BoundedSum,
    ClippedMean,
    ClippedSum,
    MomentVariance,
    SpreadVariance,
    window_of,
)
from jostle.options.statistics.quantiles import CountedQuantiles, PickedQuantiles
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.measured import Measured
from jostle.privacy.probe import Probe
from jostle.tables.block import grain_in
from jostle.tables.kernels import Counts
from jostle.tasks import MEANS, QUANTILES, SUMS, VARIANCES
from jostle.trace.records import Chosen


@frozen
class Fact:
    """A number that is free: of a probe, what is asked of it and the budget."""

    name: str
    look: Callable[..., float]


@frozen
class Bands:
    """One of several Options: the first whose fact reaches a number, else the last one."""

    cases: tuple[tuple[Statistic[Any], Fact, float], ...]
    last: Statistic[Any]

    @cached_property
    def formula(self) -> str:
        """The rule, as it is printed."""
        cases = (f"{option.name} where {fact.name} >= {least:g}" for option, fact, least in self.cases)
        return f"{', '.join(cases)}, else {self.last.name}"

    def seen(self, db: Probe, asked: tuple[Any, ...], epsilon: Fraction) -> dict[str, float]:
        """The facts."""
        return {fact.name: fact.look(db, *asked, epsilon) for _, fact, _ in self.cases}

    def chosen(self, seen: Mapping[str, float]) -> Statistic[Any]:
        """The Option for such facts."""
        for option, fact, least in self.cases:
            if seen[fact.name] >= least:
                return option
        return self.last


def narrower(db: Probe, column: str, epsilon: Fraction, *, summed: bool) -> float:
    """How many times less far off a narrower window takes a mean, or a sum, as far as bins are known; 0 where none is.

    For the bounds, noise alone counts; for the window, noise and what rows beyond it come to: what their bins' counts
    say, at their far ends, and twice the deviation of that.
    """
    (seen,) = db.known(Counts(((column,),)), so_far=True)
    window = None if seen is None else window_of(seen, db.schema, column)
    if seen is None or window is None:
        return 0.0
    grain, declared, own = grain_in(db.schema, column), db.schema[column], float(epsilon / db.unit)
    low, high, least, most = (float(grain.number(step)) for step in (*window, 0, grain.span))
    cuts = np.array(getattr(declared, "cut_points", ()), dtype=np.float64)
    far = np.maximum(np.maximum(low - cuts[:-1], cuts[1:] - high), 0)
    counts, variance = seen.counts[: len(far)], seen.variance[: len(far)]
    beyond = max(0.0, float(far @ counts)) + 2 * math.sqrt(float(far * far @ variance))
    wide, narrow = (max(map(abs, ends)) if summed else ends[1] - ends[0] for ends in ((least, most), (low, high)))
    moved = 1 if db.neighbours == "add_remove" else 2
    if declared_numbers(db.schema, column):
        wide = (most - least) / moved
    return moved * wide / own / (moved * narrow / own + beyond)


def public_rows(db: Probe, column: str, epsilon: Fraction) -> float:
    """Number of rows with a number times epsilon, where it is declared; else 0."""
    return float((declared_numbers(db.schema, column) or 0) * epsilon / db.unit)


def how_many(db: Probe, column: str, shares: tuple[Fraction, ...], _: Fraction) -> float:  # noqa: ARG001 - what is asked
    """Number of quantiles."""
    return float(len(shares))


def to_a_step(db: Probe, column: str, shares: tuple[Fraction, ...], epsilon: Fraction) -> float:
    """Rows times epsilon for each quantile and step of the column; 0 where nobody knows how many rows there are."""
    steps = len(shares) * (grain_in(db.schema, column).span + 1)
    return float((db.rows or 0) * epsilon / db.unit / steps)


DECLARED = Fact("declared rows x epsilon", public_rows)
RULES: Mapping[str, Bands] = {
    MEANS.name: Bands(((ClippedMean(), Fact("narrower", partial(narrower, summed=False)), 2),), BoundedMean()),
    SUMS.name: Bands(((ClippedSum(), Fact("narrower", partial(narrower, summed=True)), 2),), BoundedSum()),
    VARIANCES.name: Bands(
        (
            (SpreadVariance(look=Fraction(1, 25)), DECLARED, 2000),
            (SpreadVariance(), DECLARED, 1),
        ),
        MomentVariance(),
    ),
    QUANTILES.name: Bands(
        (
            (CountedQuantiles(), Fact("quantiles", how_many), 9),
            # Picks hit the step as it is: what is left makes their intervals narrow.
            (PickedQuantiles(counting=Fraction(1, 2)), Fact("rows x epsilon to a step", to_a_step), 50),
        ),
        PickedQuantiles(),
    ),
}
"""The rule of each statistic."""


def answer(what: str, db: Probe, asked: tuple[Any, ...], epsilon: Amount, site: str) -> Measured:
    """A statistic by the way that its rule takes, which the trace says with the reason, and what it comes to."""
    rule, schema = RULES[what], db.schema
    read, budget = rule.last.task.question.read(schema, asked), epsilon_amount(epsilon)
    seen = rule.seen(db, read, budget)
    option = rule.chosen(seen)
    option.check(schema, read, budget / db.unit)
    db.note_choice(Chosen.one(site, what, option.name, seen=seen, why=rule.formula))
    statistic: Measured = bought(option, db, read, budget, site)
    db.note_answer(statistic.said, site=site)
    return statistic
