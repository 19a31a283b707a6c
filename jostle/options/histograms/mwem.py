"""MWEM: multiplicative weights, steered by a private pick of the query that is answered worst.

Hardt, Ligett, McSherry, A simple and practical algorithm for differentially private data release, NIPS 2012.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from jostle.options.base import option, share
from jostle.options.histograms.estimate import Estimate
from jostle.options.histograms.grid import GridOption, noise_variance, paid_total, total_cost
from jostle.options.histograms.workload import Workload
from jostle.privacy.events import Allotment, Event, in_turn
from jostle.privacy.levels import AddNoiseByLevel
from jostle.privacy.misfit import Misfit
from jostle.privacy.probe import Probe
from jostle.tables.regions import Box
from jostle.tables.schema import Schema

__all__ = ["MWEM", "suitable_rounds"]

Floats = NDArray[np.float64]

SPREAD = 2.0
"""How far, as a logarithm, a box's weight is expected to be from that of a flat grid."""
MOST_ROUNDS = 2000
LARGEST_STEP = 1.0
"""Newton steps are cut off at this, so that they do not overshoot."""


def suitable_rounds(signal: float) -> int:
    """Return how many rounds suit so many records times epsilon: few where each answer is mostly noise.

    Found on public grids: 5 rounds at 100, about twice as many for every tenfold.

    >>> suitable_rounds(100), suitable_rounds(10_000), suitable_rounds(10**7)
    (5, 18, 126)
    """
    wanted = 5 * math.pow(max(signal, 1.0) / 100, 0.28)
    return max(5, min(MOST_ROUNDS, round(wanted)))


@option
@frozen
class MWEM(GridOption):
    """Starts flat; in each round picks a badly answered query, buys its answer and reweights: for few records.

    Privacy: each round is one `Misfit` pick and one count of a box (`AddNoiseByLevel`), each with its part of
    epsilon. All that happens in between looks at what these released. After each round all answers bought so far are
    replayed.
    """

    looks_at_workload = True

    rounds: int = field(default=0, validator=ge(0))
    """How often to pick a query and buy its answer; 0 for `suitable_rounds` of the bought total."""
    total_share: Fraction = share("1/20")
    """Part of epsilon that buys the number of records, unless it is public."""
    answer_share: Fraction = share("1/2")
    """Part of a round's epsilon that buys the answer; the rest picks the query."""
    replays: int = field(default=3, validator=ge(1))
    """How often all answers are replayed after each round."""
    paper = "Hardt, Ligett, McSherry 2012"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Return the total and the rounds."""
        bought = total_cost(schema, epsilon * self.total_share)
        left = epsilon * (1 - self.total_share) if bought else epsilon
        return in_turn([*bought, Allotment(left)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """Return the weights after the last round."""
        wanted = workload or Workload.random_ranges([db.schema[name].size for name in db.schema.names])
        columns = db.schema.names
        paid = paid_total(db, epsilon * self.total_share)
        total = max(1, paid)
        left = epsilon if db.schema.rows is not None else epsilon * (1 - self.total_share)
        rounds = self.rounds or suitable_rounds(total * float(left))
        buy = left / rounds * self.answer_share
        pick = left / rounds - buy
        grid = np.full(wanted.shape, total / math.prod(wanted.shape))
        variance = noise_variance(1 / buy)
        bought: list[_Bought] = []
        for _ in range(rounds):
            guesses = np.rint(wanted.answers(grid)).astype(np.int64)
            worst = db.pick(Misfit(columns, wanted.low, wanted.high, guesses), pick, site="worst query")
            low, high = wanted.low[worst], wanted.high[worst]
            box = Box(columns, tuple(low.tolist()), tuple(high.tolist()))
            (answer,) = db.perform(AddNoiseByLevel(box, (Fraction(1),)), buy, site="answer")
            bought.append(_Bought(tuple(map(slice, low.tolist(), high.tolist())), int(answer[0])))
            for _ in range(self.replays):
                for each in bought:
                    each.reweight(grid, total, variance)
        return Estimate(grid if paid else 0 * grid)


@define
class _Bought:
    """A box, its bought count, and by how much the weights in it were raised so far, as a logarithm."""

    inside: tuple[slice, ...]
    count: int
    raised: float = 0.0

    def reweight(self, grid: Floats, total: int, variance: float) -> None:
        """Take one Newton step in the weight of the box, towards its count but not further than its noise allows.

        The step maximises -(count - held)**2 / (2 * variance) - raised**2 / (2 * SPREAD**2), whose second term
        keeps counts that are mostly noise from bending the grid: with little noise it goes nearly all the way.
        """
        part = grid[self.inside]
        held = float(part.sum())
        slope = held * (1 - held / total)
        if slope <= 0:
            return
        pull = SPREAD**2 * slope / variance if variance else math.inf
        if math.isinf(pull):
            step = (self.count - held) / slope
        else:
            step = (pull * (self.count - held) - self.raised) / (1 + pull * slope)
        step = max(-LARGEST_STEP, min(LARGEST_STEP, step))
        self.raised += step
        part *= math.exp(step)
        grid *= total / (total + held * math.expm1(step))
