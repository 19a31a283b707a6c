"""Mechanisms: the closed list of ways in which anything computed from rows may leave.

A mechanism says which kernel it tallies, which event that is, and how the tally becomes an answer. Releasing means
looking at an un-noised tally, so mechanisms are descriptions from a closed list (`mechanism_list`), each with its proof
in its docstring; a subclass, or one made elsewhere, is refused at the door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import NoiseError, ProbeError, TableError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import AboveThreshold, Event, Laplace, PermuteAndFlip
from jostle.privacy.evidence import Measurement, measured
from jostle.privacy.fields import fractions, public_number
from jostle.privacy.noise import LARGEST, LARGEST_SCALE, LARGEST_THRESHOLD, Noise
from jostle.privacy.reals import Exponential, Tail
from jostle.privacy.score_lists import SCORES
from jostle.privacy.scores import Score, pick_rate
from jostle.tables.engines import Partial
from jostle.tables.fields import Component, Sides, Within, int64s, names, whole
from jostle.tables.kernel_list import DENSE_KERNELS, LEVEL_KERNELS
from jostle.tables.kernels import Counts, DenseKernel, Kernel, SparseCounts, SparseTally
from jostle.tables.number_kernels import Moments
from jostle.tables.persons import OfPersons
from jostle.tables.regions import LevelKernel, Regions
from jostle.tables.schema import Schema

MOST_KEPT = 10**8
"""Cells of a sparse answer that are held at once."""


class Mechanism(ABC):
    """How one tally becomes an answer that may be seen."""

    tallied: Kernel
    """Of most, the kernel that is tallied."""
    events: ClassVar[type[Laplace | PermuteAndFlip | AboveThreshold]]
    """Of which kind its event is, where that is a single one; each class says it."""

    def kernel(self, schema: Schema) -> Kernel:
        """The kernel that is tallied."""
        return self.tallied

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: B027 - most have nothing to refuse
        """Refuse a request that makes no sense, before any charge."""

    def collect(self, tally: Callable[[Kernel], Partial], schema: Schema) -> Any:
        """What is found among the rows, before noise: one tally, or what several lead to of which none is released."""
        return tally(self.kernel(schema))

    def event(self, epsilon: Fraction) -> Event:
        """The event of this."""
        return self.events(epsilon)

    @abstractmethod
    def release(self, tally: Any, schema: Schema, epsilon: Fraction, noise: Noise) -> Any:
        """The answer."""

    def shown(self, answer: Any) -> NDArray[np.int64]:
        """The released numbers, for the trace."""
        return np.asarray(answer, dtype=np.int64).ravel()

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction | None:
        """The scale of the noise, where there is one."""
        return None

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The scales of all the noise there is."""
        scale = self.scale(schema, epsilon)
        return () if scale is None else (scale,)

    def measured(self, answer: Any, schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The answer as measurements, as far as it tells how many rows fall where."""
        return ()


class PickByScore(Mechanism):
    """A mechanism that goes by a score of candidates."""

    score: Any

    def kernel(self, schema: Schema) -> Kernel:
        kernel: Kernel = self.score.kernel(schema)
        return kernel


def sensitivity(kernel: Kernel, schema: Schema) -> int | Fraction:
    """The most that all cells of a kernel change, summed, between neighbours of the schema's kind, for each row.

    What counts a person once changes by a share of that for each row a person may have.
    """
    most = kernel.bound(schema) if schema.neighbours == "add_remove" else kernel.replaced(schema)
    return Fraction(most, schema.rows_per_person or 1) if isinstance(kernel, OfPersons) and kernel.once else most


@frozen
class AddNoise(Mechanism):
    """Discrete Laplace noise on every cell.

    Between neighbours the tally changes by at most the sensitivity in sum, and each unit of change in a cell changes
    the probability of any noisy value by a factor of at most exp(1/scale) = exp(epsilon/sensitivity).
    """

    events = Laplace
    tallied: DenseKernel = field(validator=Component(DENSE_KERNELS, what="a dense kernel", error=ProbeError))

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return sensitivity(self.tallied, schema) / epsilon

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> NDArray[np.int64]:
        answer = noise.discrete_laplace(self.scale(schema, epsilon), len(tally))
        answer += tally
        return answer

    def measured(self, answer: NDArray[np.int64], schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The noisy counts of each group of columns, or each partition of a grid."""
        kernel = self.tallied
        if not isinstance(kernel, Counts | Regions):
            return ()
        sizes = kernel.sizes(schema) if isinstance(kernel, Regions) else [schema.size(*each) for each in kernel.groups]
        numbers = np.split(answer, np.cumsum(sizes)[:-1])
        return measured(kernel, numbers, [self.scale(schema, epsilon)] * len(numbers), schema)


@frozen
class AddNoiseToSpread(Mechanism):
    """Discrete Laplace noise on how far apart the numbers of a column are, where the number of rows n is public.

    With u_1, u_2, ... the numbers as whole ones from 0 to m, and S their sum, at most n*m, it is the sum of u**2 less
    S**2 / n, rounded down to a whole number: with n rows, n times the variance. One row changes it by at most m**2.

    *Proof.* Look at n times it, before it is rounded: n * (the sum of u**2) - S**2. Let a row's u become v > u. The
    first part grows by n*(v**2 - u**2), and S by at most d = v - u, to no more than n*m: so S**2 grows by at least 0,
    and at most 2*n*m*d. What is left lies between n*d*(u + v) - 2*n*m*d and n*d*(u + v). As u + v is at most 2*m - d
    and at least d, neither is farther from 0 than n*d*(2*m - d), which is at most n*m**2. A row that enters has u = 0
    before. (S is cut off at n*m, so that this holds with any number of rows.)
    Of whole numbers a <= b <= a + n*m**2, the parts a // n and b // n are at most m**2 apart.
    """

    events = Laplace
    tallied: Moments = field(validator=Component((Moments,), what="moments of numbers", error=ProbeError))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse other moments than second ones of all numbers, and what is too large, or has no public rows."""
        if self.tallied.degree != 2 or self.tallied.window:
            raise ProbeError("how far numbers are apart is told by their second moments", fix='Moments("age", 2, 80)')
        if not schema.rows:
            raise ProbeError("the number of rows is not declared", fix="Moments and AddNoise")

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return self.tallied.bound(schema) / epsilon

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        return self.spread(tally, schema) + int(noise.discrete_laplace(self.scale(schema, epsilon), 1)[0])

    def spread(self, tally: NDArray[np.int64], schema: Schema) -> int:
        """The number itself, of an un-noised tally."""
        _, mixed, squares = map(int, tally)
        rows, most = schema.rows or 1, self.tallied.most
        return (rows * squares - min((mixed + 2 * squares) // (2 * most), rows * most) ** 2) // rows


@frozen(eq=False, repr=False)
class SparseAnswer:
    """Cells whose noisy count passed a threshold, by key, in rising order."""

    keys: NDArray[np.int64]
    values: NDArray[np.int64]


@frozen
class AddNoiseAbove(Mechanism):
    """Discrete Laplace noise on every cell of a domain too large to visit, keeping those above a threshold >= 0.

    The answer has exactly the distribution of noising every cell and keeping those above the threshold, which is a
    function of `AddNoise`'s answer and costs what that costs: an empty cell passes by itself with chance P(noise >
    threshold), drawn for all cells at once by the waits between successes; given that it passes, its value is
    distributed as noise above the threshold. Flags that fall on occupied cells are ignored: those have noise of their
    own.
    """

    events = Laplace
    tallied: SparseCounts = field(validator=Component((SparseCounts,), what="a sparse kernel", error=ProbeError))
    threshold: int = field(converter=whole, validator=Within(0, LARGEST_THRESHOLD))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse a threshold that more empty cells would pass than fit in memory, and too many cells to go over."""
        if self.tallied.cells(schema) > LARGEST:
            raise ProbeError("there are 2**63 cells, one more than are gone over", fix="use fewer columns or bins")
        _, most = Tail(self.scale(schema, epsilon), self.threshold).enclose(128)
        expected = self.tallied.cells(schema) * most >> 128
        if expected > MOST_KEPT:
            raise ProbeError(
                f"about {expected:,} empty cells would pass the threshold {self.threshold}",
                why=f"more than {MOST_KEPT:,} are not held at once",
                fix="raise the threshold or epsilon, or use fewer columns",
            )

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return sensitivity(self.tallied, schema) / epsilon

    def release(self, tally: SparseTally, schema: Schema, epsilon: Fraction, noise: Noise) -> SparseAnswer:
        """The cells that passed."""
        scale = self.scale(schema, epsilon)
        flagged = noise.successes(self.tallied.cells(schema), Tail(scale, self.threshold))
        noisy = tally.counts + noise.discrete_laplace(scale, len(tally.counts))
        passed = noisy > self.threshold
        empty = flagged[~np.isin(flagged, tally.keys, assume_unique=True)]
        keys = np.concatenate([tally.keys[passed], empty])
        values = np.concatenate([noisy[passed], noise.laplace_above(scale, self.threshold, len(empty))])
        order = np.argsort(keys)
        return SparseAnswer(keys[order], values[order])

    def shown(self, answer: SparseAnswer) -> NDArray[np.int64]:
        """The values of the cells that passed."""
        return answer.values


@frozen
class Pick(PickByScore):
    """Permute-and-flip over the candidates of one score (see `pick_rate`, and `Noise.permute_and_flip`)."""

    events = PermuteAndFlip
    score: Score = field(validator=Component(SCORES.members, what="a known score", error=ProbeError))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse an epsilon so small that the pick could not be drawn exactly."""
        if self._rate(schema, epsilon) * LARGEST_SCALE < 1:
            raise ProbeError(f"epsilon {show_amount(epsilon)} is too little for a pick", fix="epsilon=0.1")

    def _rate(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return pick_rate(epsilon, self.score.sensitivity(schema), monotone=self.score.monotone(schema))

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        return noise.permute_and_flip(self.score.scores(tally, schema), self._rate(schema, epsilon))


def check_scale(scale: Fraction) -> None:
    """Refuse before any charge what the samplers would refuse after it."""
    if not 0 < scale <= LARGEST_SCALE:
        raise NoiseError(
            f"the noise would have scale {show_amount(scale)}, which must be above 0 and at most 2**52",
            why="the scale is what a row can change, over epsilon",
            fix="ask about at least one thing, with a larger epsilon",
        )


def check_tally(tally: Partial, kernel: Kernel, cells: int) -> None:
    """Refuse a tally that is not of the kernel's cells: noise would be added to something else."""
    if isinstance(tally, SparseTally):
        fits = not isinstance(kernel, DenseKernel) and (
            not tally.keys.size or bool(tally.keys[0] >= 0 and tally.keys[-1] < cells)
        )
    else:
        fits = isinstance(kernel, DenseKernel) and tally.shape == (cells,) and tally.dtype == np.int64
    if not fits:
        raise TableError("a tally does not have the cells that its kernel declares")


def level_scales(
    kernel: LevelKernel, shares: Iterable[Fraction], schema: Schema, epsilon: Fraction
) -> tuple[Fraction, ...]:
    """The scale of each level's noise, given its share of epsilon."""
    return tuple(change / (part * epsilon) for change, part in zip(kernel.changes(schema), shares, strict=True))


@frozen(eq=False)
class AddNoiseByLevel(Mechanism):
    """Discrete Laplace noise on every number of every level, of scale (change of the level) / (share * epsilon).

    A row changes one number of each level by one. Under add_remove each level thus changes by 1 in sum, and what is
    released of it is share * epsilon private; under replace_one it changes by 2, or 1 (`LevelKernel.replaced_in`),
    and its noise is as much wider. The levels' noises are independent, so their losses add up: to epsilon, as the
    shares add up to 1.
    """

    events = Laplace
    tallied: LevelKernel = field(validator=Component(LEVEL_KERNELS, what="a kernel made of levels", error=ProbeError))
    shares: tuple[Fraction, ...] = field(converter=fractions)

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse shares that are not one per level, all above 0, that add up to 1, or too little for their noise."""
        levels = len(self.tallied.sizes(schema))
        if not levels or len(self.shares) != levels or min(self.shares) <= 0 or sum(self.shares) != 1:
            raise ProbeError(
                f"{len(self.shares)} shares of a budget do not split it among {levels} levels",
                why="each level needs a share above 0, and together they are 1",
            )
        if max(level_scales(self.tallied, self.shares, schema, epsilon)) > LARGEST_SCALE:
            raise ProbeError("a level's share of epsilon is too little for its noise", fix="use a larger share")

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction | None:
        """The scale where there is one level; several have several."""
        scales = self.scales(schema, epsilon)
        return scales[0] if len(scales) == 1 else None

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        return level_scales(self.tallied, self.shares, schema, epsilon)

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> Any:
        """The noisy numbers, an array per level."""
        levels = []
        place = 0
        for size, scale in zip(self.tallied.sizes(schema), self.scales(schema, epsilon), strict=True):
            drawn = noise.discrete_laplace(scale, size)
            drawn += tally[place : place + size]
            levels.append(drawn)
            place += size
        return tuple(levels)

    def shown(self, answer: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
        """The noisy numbers of all levels in turn."""
        return np.concatenate(answer)

    def measured(
        self, answer: tuple[NDArray[np.int64], ...], schema: Schema, epsilon: Fraction
    ) -> tuple[Measurement, ...]:
        """The noisy counts of each partition of a grid."""
        if not isinstance(self.tallied, Regions):
            return ()
        return measured(self.tallied, answer, self.scales(schema, epsilon), schema)


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

    Li, Hay, Miklau, Wang, PVLDB 7(5), 2014. The proof is ours: with the median in place of the mean a run's cost moves
    by 1 per record, where the paper has 2, and with one-sided noise the factor 2 buys less noise than the paper's
    Laplace.
    """

    events = PermuteAndFlip
    columns: tuple[str, ...] = field(converter=names)
    order: Places = field(converter=int64s, validator=Sides(1))
    """The cells of the grid as a line: their numbers, each once."""
    penalty: Fraction = field(converter=public_number)
    """What a run costs beside its deviations, so that there are not too many."""
    grain: int = field(default=1, converter=whole, validator=Within(1, LARGEST_PENALTY))
    """Steps per unit of cost, a whole number of them: noise comes in whole steps."""

    def kernel(self, schema: Schema) -> Kernel:
        """The counts of the cells, in line."""
        return Regions(self.columns, self.order, (np.arange(len(self.order)),))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse a penalty that makes no sense."""
        if not 0 <= self.penalty * self.grain <= LARGEST_PENALTY:
            raise ProbeError(
                f"the penalty is {show_amount(self.penalty)}, with {self.grain} steps to one",
                why="it is at least 0, and at most 2**40 steps",
            )

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
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

    @staticmethod
    def lengths(starts: Places, cells: int) -> Places:
        """How long the runs are."""
        return np.array([right - left for left, right in pairwise([*starts.tolist(), cells])], dtype=np.int64)
