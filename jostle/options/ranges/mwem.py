"""MWEM: multiplicative weights, steered by a private pick of the query that is answered worst."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, GridTotal, count_tree, known_levels, total_cost, total_of
from jostle.options.ranges.tree import Tree, halving_tree
from jostle.parameters import share, whole
from jostle.privacy.events import Allotment, Event, in_turn
from jostle.privacy.evidence import noise_variance
from jostle.privacy.probe import Probe
from jostle.privacy.scores import Misfit
from jostle.tables.regions import box_sums
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import grid_shape

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

LARGEST_STEP = 1.0
"""Newton steps, in a weight's logarithm, are cut off at this so that they do not overshoot."""
LEAST_VARIANCE = 1e-12
"""Counts of less variance than this are taken for this noisy: it is divided by."""


@define
class _Bought:
    """A partition of the atoms, its noisy counts, and what its parts' weights were multiplied by so far."""

    part: Places
    """Which part each atom is in."""
    counts: Floats
    variance: float
    raised: Floats
    """The logarithms of the factors."""


@define
class Weights:
    """Weights of a grid's cells that add up to about the number of records.

    Weights of a grid's cells, bent by multiplication until they agree with noisy counts of partitions.

    The cells start with equal weights. Each bought partition multiplies the weights in every part of it by one number,
    so the weights are equal wherever no partition tells cells apart: they are held once per such *atom*. The numbers
    are those that maximise entropy less the squared misfit; they are found part by part, in Newton steps, partition
    after partition.

    It looks at released counts only.
    """

    shape: tuple[int, ...]
    firmness: float
    """How far weights go to meet the counts: a misfit of one deviation of the last counts is worth so much, as a
    logarithm of a weight."""
    atom: Places
    """Which atom each cell is in."""
    cells: Floats
    """How many cells each atom has."""
    mass: Floats
    """The weight of each atom's cells together."""
    bought: list[_Bought] = field(factory=list)

    @classmethod
    def flat(cls, shape: tuple[int, ...], total: float, variance: float, firmness: float) -> Weights:
        """Equal weights that add up to a total, known with a variance."""
        cells = float(math.prod(shape))
        one = np.zeros(math.prod(shape), dtype=np.int64)
        made = cls(shape, firmness, one, np.array([cells]), np.array([float(total)]))
        made.learn(one, np.array([float(total)]), variance)
        return made

    def grid(self) -> Floats:
        """The weights, cell by cell."""
        each: Floats = self.mass / self.cells
        return each[self.atom].reshape(self.shape)

    def learn(self, part: Places, counts: Floats, variance: float) -> None:
        """Take in a partition, given as each cell's part, with the noisy counts of its parts."""
        key = self.atom * len(counts) + part
        _, first, atom, cells = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        before = self.atom[first]
        self.mass = self.mass[before] * cells / self.cells[before]
        self.atom, self.cells = atom.reshape(-1), cells.astype(np.float64)
        for purchase in self.bought:
            purchase.part = purchase.part[before]
        self.bought.append(_Bought(part[first], counts, max(variance, LEAST_VARIANCE), np.zeros(len(counts))))

    def fit(self, replays: int) -> None:
        """Replay all partitions so many times.

        With h the weight of a part, c its count and v its variance, the weights go to where the sum of
        pull * (c - h)**2 / 2 over all parts plus the Kullback-Leibler divergence from equal weights is least, for a
        pull of firmness * d / v, d being the deviation of the counts that were bought last. There each part's factor
        has the logarithm pull * (c - h). So a count that is mostly noise bends the weights little.
        """
        deviation = math.sqrt(self.bought[-1].variance)
        for _ in range(replays):
            for purchase in self.bought:
                pull = self.firmness * deviation / purchase.variance
                held = np.bincount(purchase.part, self.mass, len(purchase.counts))
                step = (pull * (purchase.counts - held) - purchase.raised) / (1 + pull * held)
                np.clip(step, -LARGEST_STEP, LARGEST_STEP, out=step)
                purchase.raised += step
                self.mass *= np.exp(step)[purchase.part]


def cut_around(grid: Floats, low: Places, high: Places, least: float) -> tuple[Places, int]:
    """A partition of which a box is one part, or several: each cell's part, and how many parts there are.

    The box and the slabs beside it are halved, each where it is longest, while the grid has twice *least* in them.
    """
    lows, highs = _slabs(grid.shape, low, high)
    done: list[tuple[Places, Places]] = []
    while len(lows):
        sides = highs - lows
        axis = sides.argmax(axis=1)
        rows = np.arange(len(lows))
        split = (sides[rows, axis] > 1) & (box_sums(grid, lows, highs) >= 2 * least)
        done.append((lows[~split], highs[~split]))
        rows, axis, lows, highs = np.arange(int(split.sum())), axis[split], lows[split], highs[split]
        upper, lower = lows.copy(), highs.copy()
        upper[rows, axis] = lower[rows, axis] = (lows[rows, axis] + highs[rows, axis]) // 2
        lows, highs = np.concatenate([lows, upper]), np.concatenate([lower, highs])
    lows, highs = (np.concatenate(corners) for corners in zip(*done, strict=True))
    return _painted(grid.shape, lows, highs), len(lows)


def _slabs(shape: tuple[int, ...], low: Places, high: Places) -> tuple[Places, Places]:
    """The corners of a box and of the slabs that fill the grid around it, axis after axis."""
    lows, highs = [], []
    start, end = np.zeros(len(shape), dtype=np.int64), np.array(shape, dtype=np.int64)
    for axis in range(len(shape)):
        for here, there in ((start[axis], low[axis]), (high[axis], end[axis])):
            if here < there:
                first, last = start.copy(), end.copy()
                first[axis], last[axis] = here, there
                lows.append(first)
                highs.append(last)
        start[axis], end[axis] = low[axis], high[axis]
    return np.array([*lows, start]), np.array([*highs, end])


def _painted(shape: tuple[int, ...], lows: Places, highs: Places) -> Places:
    """For each cell, in row-major order, which of some boxes that fill the grid it is in."""
    steps = np.zeros([side + 1 for side in shape], dtype=np.int64)
    for corner in range(1 << len(shape)):
        at_high = [bool(corner >> axis & 1) for axis in range(len(shape))]
        index = tuple((highs if up else lows)[:, axis] for axis, up in enumerate(at_high))
        np.add.at(steps, index, (-1) ** sum(at_high) * np.arange(len(lows)))
    for axis in range(len(shape)):
        np.cumsum(steps, axis=axis, out=steps)
    return steps[tuple(slice(side) for side in shape)].ravel()


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

    Hardt, Ligett, McSherry, A simple and practical algorithm for differentially private data release, NIPS 2012; Zhang,
    McKenna, Kotsogiannis, Bissias, Hay, Machanavajjhala, Miklau, Ektelo, SIGMOD 2018, for buying counts of regions
    beside the picked query in the same round.
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
    version: ClassVar[int] = 3
    paper = "Hardt, Ligett, McSherry 2012"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        bought = total_cost(schema, epsilon * self.total_share)
        left = epsilon * (1 - self.total_share) if bought else epsilon
        return in_turn([*bought, Allotment(left)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        schema = db.schema
        columns, shape = schema.names, grid_shape(schema)
        wanted = workload or Workload.random_ranges(shape)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        signal = max(1, total.records) * float(left)
        weights = begun(db, total, suitable_firmness(signal))
        moved = 1 if schema.neighbours == "add_remove" else 2
        for part_of_left in round_shares(self.rounds or suitable_rounds(signal)):
            if len(weights.bought) > 1:
                weights.fit(self.replays)
            buy = left * part_of_left * self.answer_share
            grid = weights.grid()
            guesses = np.rint(wanted.answers(grid)).astype(np.int64)
            pick = left * part_of_left - buy
            worst = db.pick(Misfit(columns, wanted.low, wanted.high, guesses), pick, site="worst query")
            least = suitable_least(signal) * math.sqrt(noise_variance(moved / buy))
            part, parts = cut_around(grid, wanted.low[worst], wanted.high[worst], least)
            tree = _partition(part, parts, shape)
            counted = count_tree(db, tree, [Fraction(0), Fraction(1)], buy, site="counts")
            counts = np.asarray(counted.counts[-1], dtype=np.float64)
            weights.learn(part, counts, counted.mean_noise[-1])
        weights.fit(LAST_REPLAYS)
        return Estimate(0 * weights.grid() if schema.rows == 0 else weights.grid())
