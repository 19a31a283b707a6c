"""Ways to quantiles of a column: a pick for each, or a tree of noisy counts for all of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.statistics.base import Asked, OfQuantiles
from jostle.parameters import share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.evidence import QuantileEvidence
from jostle.privacy.measured import MeasuredNumber, MeasuredNumbers
from jostle.privacy.mechanisms import AddNoise, Mechanism, sensitivity
from jostle.privacy.picks import Pick
from jostle.privacy.probe import Probe
from jostle.privacy.scores import QuantileScore
from jostle.tables.block import grain_in
from jostle.tables.number_kernels import Ranks
from jostle.tables.schema import Schema
from jostle.tables.values import Grain
from jostle.tasks.statistics import QUANTILES

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
WIDER, MUCH_WIDER = 2, 16
"""How many times as wide as the one before it an interval is, where numbers around a quantile are counted."""
COARSE = 2**10
"""Of a column's width; narrower intervals are fewer, since noise on all of them makes all less sure."""
PER_ROW = 128
"""Leaves for each row that counts, a row counting epsilon at most 1: fewer cut off more than noise does."""
LEAST_LEAVES, MOST_LEAVES = 2**10, 2**16
"""Of a tree of counts."""


@option
@frozen(kw_only=True)
class PickedQuantiles(OfQuantiles):
    """A pick among many even intervals for each quantile, with all of the budget but what tells how sure it is.

    The score of an interval is how many rows would have to change sides for it to hold the quantile, so a pick is off
    by ranks of about 2 max(q, 1 - q) / epsilon, however far apart the numbers are. It is by permute-and-flip, which is
    never worse than the exponential mechanism at the same epsilon. (McKenna, Sheldon, NeurIPS 2020; Smith, STOC 2011.)

    What is left counts the numbers in a few intervals around the picks, the farther the wider: that says where the
    quantiles could be, and nothing else.

    *Privacy.* Picks in turn (`QuantileScore`), and one tally with noise (`Ranks`), whose intervals hang on what was
    picked alone: one row adds 1 to one of them, wherever they begin.
    """

    task = QUANTILES

    paper = "Smith, STOC 2011"
    counting: Fraction = share("1/20")
    """Part of the budget that counts what is around the picks."""
    intervals: int = whole(2**20, least=2)
    """How many are picked among, if there are as many steps: fewer take less time, and cut off more."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return in_turn([PermuteAndFlip(epsilon - self.counting * epsilon), Laplace(self.counting * epsilon)])

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        """Each pick and the tally: what a row changes is the same wherever intervals begin."""
        column, shares = asked
        starts = even_starts(grain_in(schema, column), 2)
        each = (epsilon - self.counting * epsilon) / len(shares)
        picks = ((Pick(_score(column, starts, part)), each) for part in shares)
        return (*picks, (AddNoise(Ranks(column, starts)), self.counting * epsilon))

    def run(self, db: Probe, *asked: Any) -> MeasuredNumbers:
        column, shares, epsilon = asked
        schema, grain = db.schema, grain_in(db.schema, column)
        counting = self.counting * epsilon
        each = (epsilon - counting) / len(shares)
        starts = even_starts(grain, self.intervals)
        ends = np.append(starts[1:], grain.span + 1)
        picks = [db.pick(_score(column, starts, part), each, site="pick") for part in shares]
        held = [(int(starts[pick]), int(ends[pick])) for pick in picks]
        kernel = Ranks(column, starts_around(held, grain))
        counts = tuple(db.measure(kernel, counting, site="ranks").tolist())
        around = _ends(kernel.starts, grain)
        noise = sensitivity(kernel, schema) / counting
        return MeasuredNumbers(
            MeasuredNumber(
                QuantileEvidence(
                    roundest(grain.number(first), grain.number(end - 1), grain.unit),
                    part,
                    counts,
                    around,
                    noise,
                    epsilon,
                )
            )
            for part, (first, end) in zip(shares, held, strict=True)
        )


@option
@frozen(kw_only=True)
class CountedQuantiles(OfQuantiles):
    """A tree of noisy counts, of which any number of quantiles can be read.

    Each level cuts the intervals of the one above into *branches*, and gets an equal part of the budget. The counts are
    made to agree by least squares, and a quantile is looked for in the counts of the finest level, added up. (Hay,
    Rastogi, Miklau, Suciu, PVLDB 3(1), 2010; Qardaji, Yang, Li, PVLDB 6(14), 2013 on branches.)

    *Privacy.* A row adds 1 to one count of each level (`Ranks`), and levels are asked in turn.
    """

    task = QUANTILES

    paper = "Qardaji, Yang, Li, PVLDB 6(14), 2013"
    branches: int = whole(16, least=2)
    """Into how many an interval is cut."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return in_turn([Laplace(epsilon)])

    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        column, _ = asked
        levels = self.levels(grain_in(schema, column), schema.rows, epsilon)
        return tuple((AddNoise(Ranks(column, starts)), epsilon / len(levels)) for starts in levels)

    def levels(self, grain: Grain, rows: int | None, epsilon: Fraction) -> tuple[Integers, ...]:
        """Steps where the intervals of each level begin, the coarsest first."""
        wanted = min(grain.span + 1, leaves_for(rows, epsilon))
        depth = max(1, round(math.log(wanted, self.branches)))
        leaves = even_starts(grain, min(wanted, self.branches**depth))
        strides = (self.branches**level for level in reversed(range(depth)))
        return tuple(leaves[::stride] for stride in strides if stride < len(leaves)) or (leaves,)

    def run(self, db: Probe, *asked: Any) -> MeasuredNumbers:
        column, shares, epsilon = asked
        schema, grain = db.schema, grain_in(db.schema, column)
        levels = self.levels(grain, schema.rows, epsilon)
        each = epsilon / len(levels)
        counts = [db.measure(Ranks(column, starts), each, site="counts") for starts in levels]
        noise = sensitivity(Ranks(column, levels[-1]), schema) / each
        below = rising(np.cumsum(agreed(levels, counts)))
        released = tuple(zip(levels, counts, strict=True))
        return MeasuredNumbers(
            MeasuredNumber(evolve(_read(below, part, released, grain, noise), cost=epsilon)) for part in shares
        )


def _read(
    below: Floats, part: Fraction, released: tuple[tuple[Integers, Integers], ...], grain: Grain, noise: Fraction
) -> QuantileEvidence:
    """A quantile that agreed counts tell, with the counts on the way to it as they were released."""
    leaves = released[-1][0]
    target = float(part) * below[-1]
    leaf = min(int(np.searchsorted(below, target)), len(leaves) - 1)
    first, end = int(leaves[leaf]), int(np.append(leaves[1:], grain.span + 1)[leaf])
    before = below[leaf - 1] if leaf else 0.0
    way = (target - before) / (below[leaf] - before) if below[leaf] > before else 0.5
    step = min(first + int(way * (end - first)), end - 1)
    # The coarsest intervals, but the one that holds it; within that one the next finer, and so on.
    cover: dict[int, int] = {}
    low, high = 0, grain.span + 1
    for starts, counts in released:
        inside = (starts >= low) & (starts < high)
        cover |= dict(zip(starts[inside].tolist(), counts[inside].tolist(), strict=True))
        holding = int(np.searchsorted(starts, first, side="right")) - 1
        low, high = int(starts[holding]), int(np.append(starts[1:], grain.span + 1)[holding])
    around = np.array(sorted(cover), dtype=np.int64)
    return QuantileEvidence(
        grain.number(step),
        part,
        tuple(cover[start] for start in around.tolist()),
        _ends(around, grain),
        noise,
        Fraction(0),
    )


def agreed(levels: tuple[Integers, ...], counts: list[Integers]) -> Floats:
    """Counts of the finest level, such that sums of them agree with all levels as well as can be.

    Upwards, a count is averaged with the sum of those below it, by how sure each is; downwards, what a count is more
    than their sum is shared out among them, by how unsure each is.
    """
    bests: list[tuple[Floats, Floats]] = []
    parents = [np.searchsorted(upper, lower, side="right") - 1 for upper, lower in pairwise(levels)]
    best, variance = counts[-1].astype(np.float64), np.ones(len(counts[-1]))
    bests.append((best, variance))
    for parent, own in zip(reversed(parents), reversed(counts[:-1]), strict=True):
        sums = np.bincount(parent, weights=best, minlength=len(own))
        unsure = np.bincount(parent, weights=variance, minlength=len(own))
        best, variance = (unsure * own + sums) / (1 + unsure), unsure / (1 + unsure)
        bests.append((best, variance))
    final = bests.pop()[0]
    for parent, (lower, variance) in zip(parents, reversed(bests), strict=True):
        sums = np.bincount(parent, weights=lower, minlength=len(final))
        unsure = np.bincount(parent, weights=variance, minlength=len(final))
        final = lower + ((final - sums) / unsure)[parent] * variance
    return final


def rising(below: Floats) -> Floats:
    """Numbers that never fall: half-way between the least that are no less and the greatest that are no more."""
    upper = np.maximum.accumulate(below)
    lower = np.minimum.accumulate(below[::-1])[::-1]
    return np.asarray(np.maximum((upper + lower) / 2, 0))


def leaves_for(rows: int | None, epsilon: Fraction) -> int:
    """Number of leaves: as many as noise leaves a difference between; all where nobody knows how many rows."""
    if rows is None:
        return MOST_LEAVES
    wanted = PER_ROW * rows * min(Fraction(1), epsilon)
    return min(MOST_LEAVES, max(LEAST_LEAVES, 1 << max(0, math.ceil(wanted) - 1).bit_length()))


def even_starts(grain: Grain, count: int) -> Integers:
    """Steps where so many even intervals begin, or as many as there are steps."""
    steps = grain.span + 1
    places = np.arange(min(steps, count), dtype=np.int64)
    # Of places times steps, in parts that fit 63 bits.
    return places * (steps // len(places)) + places * (steps % len(places)) // len(places)


def starts_around(held: list[tuple[int, int]], grain: Grain) -> Integers:
    """Steps where intervals around given ones begin, each several times as wide as the one before."""
    places = {0}
    for first, end in held:
        width = end - first
        places |= {first, end}
        while width <= grain.span:
            places |= {first - width, end + width}
            width *= WIDER if width * COARSE > grain.span else MUCH_WIDER
    return np.array(sorted(place for place in places if 0 <= place <= grain.span), dtype=np.int64)


def roundest(low: Fraction, high: Fraction, unit: Fraction) -> Fraction:
    """Multiple of the greatest power of ten that rounds to a number between two: 62, rather than 61.998."""
    least, most = low - unit / 2, high + unit / 2
    power = len(str(math.ceil(max(abs(least), abs(most)))))
    while True:
        step = Fraction(10) ** power
        multiple = round((least + most) / 2 / step) * step
        if least <= multiple <= most:
            return min(max(multiple, low), high)
        power -= 1


def _score(column: str, starts: Integers, part: Fraction) -> QuantileScore:
    return QuantileScore(column, starts, part.numerator, part.denominator)


def _ends(starts: Integers, grain: Grain) -> tuple[tuple[Fraction, Fraction], ...]:
    """The least and the greatest number of each interval."""
    lasts = [*(starts[1:] - 1).tolist(), grain.span]
    return tuple((grain.number(first), grain.number(last)) for first, last in zip(starts.tolist(), lasts, strict=True))
