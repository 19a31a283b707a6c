"""MWEM: multiplicative weights, steered by a private pick of the query that is answered worst.

Hardt, Ligett, McSherry, A simple and practical algorithm for differentially private data release, NIPS 2012; Zhang,
McKenna, Kotsogiannis, Bissias, Hay, Machanavajjhala, Miklau, Ektelo, SIGMOD 2018, for buying counts of regions beside
the picked query in the same round.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import (
    GridOption,
    count_tree,
    grid_shape,
    noise_variance,
    total_cost,
)
from jostle.options.ranges.looks import GridTotal, known_levels, total_of
from jostle.options.ranges.tree import Tree, halving_tree
from jostle.options.ranges.weights import Weights, cut_around
from jostle.parameters import share, whole
from jostle.privacy.events import Allotment, Event, in_turn
from jostle.privacy.misfit import Misfit
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["MWEM", "begun", "suitable_rounds"]

MOST_ROUNDS = 30
LAST_REPLAYS = 60
"""How often all counts are replayed after the last round."""
KNOWN_LEVELS = 9
"""Of the tree of halvings, whose levels may be known before: the last of them has 256 parts."""
UNKNOWN = 1e18
"""Variance of what was not counted."""
GROWTH = 1.8
"""By how much each round's part of epsilon is larger than that of the round before."""


def suitable_rounds(signal: float) -> int:
    """How many rounds suit so many records times epsilon: few where each count is mostly noise.

    Found on public grids, as are `suitable_least` and `suitable_firmness`.

    >>> suitable_rounds(100), suitable_rounds(10_000), suitable_rounds(10**6)
    (4, 6, 12)
    """
    return min(MOST_ROUNDS, round(_power(signal, 3.5, 0.13)))


def suitable_least(signal: float) -> float:
    """How many deviations of its noise a part's count should be, for so many records times epsilon."""
    return min(20.0, _power(signal, 3.5, 0.12))


def suitable_firmness(signal: float) -> float:
    """How firmly weights are held to their counts, for so many records times epsilon."""
    return min(50.0, _power(signal, 6, 0.1))


def _power(signal: float, at_hundred: float, power: float) -> float:
    return at_hundred * math.pow(max(signal, 100.0) / 100, power)


def round_shares(rounds: int) -> list[Fraction]:
    """Each round's part of the budget, larger for later ones: the first only look for where the records are.

    >>> [str(share) for share in round_shares(3)]
    ['1/6', '3/10', '8/15']
    """
    parts = [round(10 * GROWTH**number) for number in range(rounds)]
    return [Fraction(part, sum(parts)) for part in parts]


def _partition(part: NDArray[np.int64], parts: int, shape: tuple[int, ...]) -> Tree:
    """The tree of two levels whose leaves are the parts."""
    sizes = np.bincount(part, minlength=parts)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(part, kind="stable").astype(np.int64)
    return Tree(shape, order, (np.zeros(1, dtype=np.int64), starts.astype(np.int64)))


def begun(db: Probe, total: GridTotal, firmness: float) -> Weights:
    """Weights that know the total and what was known of coarse levels of the grid, as if rounds had bought it."""
    whole = halving_tree(grid_shape(db.schema))
    tree = whole.only(range(min(KNOWN_LEVELS, len(whole.starts))))
    root, *finer = known_levels(db, tree)
    doubt = total.variance
    if any(finer):
        # The total is the sum of what is taken in below as well: here, only what else it is known by counts.
        precision = 1 / total.bought + (0.0 if root is None else 1 / float(root.variance[0]))
        doubt = 1 / max(precision, 1 / UNKNOWN)
    weights = Weights.flat(tree.shape, max(1, total.records), doubt, firmness)
    for starts, look in zip(tree.starts[1:], finer, strict=True):
        if look is not None:
            part = np.empty(len(tree.order), dtype=np.int64)
            part[tree.order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(tree.order)))
            weights.learn(part, look.counts, float(look.variance.mean()))
    return weights


@option
@frozen
class MWEM(GridOption):
    """Starts flat; in each round picks a badly answered query, buys counts around it and reweights: for few records.

    Privacy: each round is one `Misfit` pick and the counts of one partition of the grid (`AddNoiseByLevel`), each with
    its part of epsilon. The partition is the picked query's box and what lies beside it, cut further where the weights
    expect many records; as a record is in one part only, all of its counts cost as much as the box's alone. Which
    partition it is depends on the workload, on the pick and on the weights, and those only on what was released. After
    each round all counts bought so far are replayed.
    """

    looks_at_workload = True

    rounds: int = whole(0, least=0)
    """How often to pick a query and buy counts; 0 for `suitable_rounds` of the bought total."""
    total_share: Fraction = share("1/20")
    """Part of epsilon that buys the number of records, unless it is public."""
    answer_share: Fraction = share("14/15")
    """Part of a round's epsilon that buys the counts; the rest picks the query."""
    replays: int = whole(5, least=1)
    """How often all counts are replayed after each round but the last."""
    version: ClassVar[int] = 2
    paper = "Hardt, Ligett, McSherry 2012"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The total and the rounds."""
        bought = total_cost(schema, epsilon * self.total_share)
        left = epsilon * (1 - self.total_share) if bought else epsilon
        return in_turn([*bought, Allotment(left)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The weights after the last round."""
        schema = db.schema
        columns, shape = schema.names, grid_shape(schema)
        wanted = workload or Workload.random_ranges(shape)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        signal = max(1, total.records) * float(left)
        weights = begun(db, total, suitable_firmness(signal))
        known = 1 if schema.neighbours == "add_remove" else 2
        for part_of_left in round_shares(self.rounds or suitable_rounds(signal)):
            if len(weights.bought) > 1:
                weights.fit(self.replays)
            buy = left * part_of_left * self.answer_share
            grid = weights.grid()
            guesses = np.rint(wanted.answers(grid)).astype(np.int64)
            pick = left * part_of_left - buy
            worst = db.pick(Misfit(columns, wanted.low, wanted.high, guesses), pick, site="worst query")
            least = suitable_least(signal) * math.sqrt(noise_variance(known / buy))
            part, parts = cut_around(grid, wanted.low[worst], wanted.high[worst], least)
            tree = _partition(part, parts, shape)
            counted = count_tree(db, tree, [Fraction(0), Fraction(1)], buy, site="counts")
            counts = np.asarray(counted.counts[-1], dtype=np.float64)
            weights.learn(part, counts, counted.mean_noise[-1])
        weights.fit(LAST_REPLAYS)
        return Estimate(0 * weights.grid() if schema.rows == 0 else weights.grid())
