"""DAWA's private partition: cut a line of cells into runs of nearly equal counts, without showing a count.

Li, Hay, Miklau, Wang, PVLDB 7(5), 2014. The proof is ours: with the median in place of the mean a run's cost moves by
1 per record, where the paper has 2, and with one-sided noise the factor 2 buys less noise than the paper's Laplace.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import Event, PermuteAndFlip
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.noise import Noise
from jostle.privacy.public_numbers import public_number
from jostle.privacy.reals import Exponential
from jostle.tables.fields import Sides, Within, int64s, names, whole
from jostle.tables.kernels import Kernel
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema

__all__ = ["PickPartition", "cheapest_partition", "deviations", "run_starts"]

Places = NDArray[np.int64]

LARGEST_PENALTY = 2**40
LARGEST_COST = 2**61
DENSE_SIDE = 8
"""Runs begin at every place or, once longer than this many, at every eighth of their length."""


def run_starts(cells: int, length: int) -> Places:
    """Where runs of a length, a power of two, may begin."""
    return np.arange(0, cells - length + 1, max(1, length // DENSE_SIDE), dtype=np.int64)


def deviations(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """For each run of a length the sum of its counts' distances from their median.

    That is the sum of the upper half less that of the lower half, a whole number.
    """
    starts = run_starts(len(counts), length)
    if length == 1:
        return np.zeros(len(starts), dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(counts, length)[:: max(1, length // DENSE_SIDE)]
    halves = np.partition(windows, length // 2, axis=1)
    upper = halves[:, length // 2 :].sum(axis=1)
    found: NDArray[np.int64] = 2 * upper - windows.sum(axis=1)
    return found


def cheapest_partition(cells: int, costs: dict[int, NDArray[np.int64]]) -> Places:
    """Where the runs of the cheapest partition begin; *costs* has, per length, the runs' costs in order.

    Of equally cheap partitions, the one whose last run is shortest; of those, the one whose last but one is; and so on.
    """
    ending: list[list[tuple[int, int]]] = [[] for _ in range(cells + 1)]
    for length, priced in sorted(costs.items()):
        for end, cost in zip((run_starts(cells, length) + length).tolist(), priced.tolist(), strict=True):
            ending[end].append((length, cost))
    best = [0] * (cells + 1)
    last = [0] * (cells + 1)
    for end in range(1, cells + 1):
        lowest, chosen = None, 0
        for length, cost in ending[end]:
            total = best[end - length] + cost
            if lowest is None or total < lowest:
                lowest, chosen = total, length
        best[end], last[end] = lowest or 0, chosen
    starts = []
    end = cells
    while end:
        end -= last[end]
        starts.append(end)
    return np.array(starts[::-1], dtype=np.int64)


@frozen(eq=False)
class PickPartition(Mechanism):
    """Pick the partition of a line of cells into runs that has the least noisy cost.

    The runs are those of `run_starts` for all powers of two: single cells, so that there always is a partition, and
    longer ones. A run's cost is its `deviations` plus the penalty, in steps of 1/grain, less noise Z >= 0 of its own,
    with P(Z >= z) = exp(-z / scale), z whole steps.

    *Proof, add_remove.* Let D' have one record more than D, in cell j. The distances from the median are the least sum
    of distances from any one number, and moving one count by 1 moves each such sum by at most 1: so it moves the cost
    of the runs that hold j by at most `grain` steps, and no other cost. Fix a partition P, and let I be its one run
    that holds j. Fix the noise of all other runs. With it, P is picked exactly when it comes before every other
    partition in the order of (noisy cost, the order in which `cheapest_partition` settles ties), a total order that
    does not depend on the data. Against a partition that also has I, Z_I and the record cancel: it loses under both D
    and D', or under neither. Against one that has another run J around j instead, P comes first exactly when Z_I >=
    t, with t = cost(I) - cost(J) plus a whole number, which depends on other runs' costs and noise, and on who wins
    ties, only. So P is picked exactly when Z_I >= t for the largest such t (or never, or always if there is none),
    and between D and D' that t moves by at most 2 * grain, since cost(I) and cost(J) each move by at most grain.
    Because P(Z >= t + s) >= exp(-s / scale) * P(Z >= t) for all t and s >= 0, the probability of P changes by a
    factor of at most exp(2 * grain / scale), for every value of the other noises and so on average. scale = 2 * grain
    / epsilon.

    *Proof, replace_one.* Replacing a record is removing one, then adding one: two steps of the above, each with half of
    epsilon. scale = 4 * grain / epsilon. A row that enters or leaves a part of the table is one step.
    """

    columns: tuple[str, ...] = field(converter=names)
    order: Places = field(converter=int64s, validator=Sides(1))
    """The cells of the grid as a line: their numbers, each once."""
    penalty: Fraction = field(converter=public_number)
    """What a run costs beside its deviations, so that there are not too many."""
    grain: int = field(default=1, converter=whole, validator=Within(1, LARGEST_PENALTY))
    """Steps per unit of cost, a whole number of them: noise comes in whole steps."""

    def kernel(self, schema: Schema) -> Kernel:  # noqa: ARG002 - the same for every schema
        """The counts of the cells, in line."""
        return Regions(self.columns, self.order, (np.arange(len(self.order)),))

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: ARG002 - whatever the schema
        """Refuse a penalty that makes no sense."""
        if not 0 <= self.penalty * self.grain <= LARGEST_PENALTY:
            raise ProbeError(
                f"the penalty is {show_amount(self.penalty)}, with {self.grain} steps to one",
                why="it is at least 0, and at most 2**40 steps",
            )

    def event(self, epsilon: Fraction) -> Event:
        """The event of a selection."""
        return PermuteAndFlip(epsilon)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in steps."""
        return (2 if schema.neighbours == "add_remove" else 4) * self.grain / epsilon

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> Places:
        """Where the runs of the picked partition begin, in the line."""
        ratio = Exponential(self.scale(schema, epsilon))
        penalty = round(self.penalty * self.grain)
        costs = {}
        length = 1
        while length <= len(tally):
            # Cut off where steps would not fit 64 bits; what is cut off moves no further than what is not.
            whole = np.minimum(deviations(tally, length), LARGEST_COST // self.grain)
            costs[length] = self.grain * whole + penalty
            costs[length] -= noise.geometric(ratio, len(costs[length]))
            length *= 2
        return cheapest_partition(len(tally), costs)

    def shown(self, answer: Places) -> Places:
        """Where the runs begin."""
        return answer

    @staticmethod
    def lengths(starts: Places, cells: int) -> Places:
        """How long the runs are."""
        return np.array([right - left for left, right in pairwise([*starts.tolist(), cells])], dtype=np.int64)
