"""Mechanisms that pick: a candidate, one in each group, a partition, the largest expression, or several features."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import field, frozen

from jostle.errors import ExpressionError, ProbeError
from jostle.privacy.amounts import show_amount
from jostle.privacy.column_scores import (
    Dependence,
    Discernibility,
    FeatureDiscernibility,
    FeatureScore,
    GridQuality,
    SetDiscernibility,
)
from jostle.privacy.events import AboveThreshold, Event, Laplace, PermuteAndFlip, Repeated
from jostle.privacy.expressions import NODES, known_of
from jostle.privacy.fields import TYPES, fraction, public_number
from jostle.privacy.mechanisms import MOST_CELLS, MOST_UNITS, Mechanism, evaluated, stack_of
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import LARGEST_SCALE, Noise
from jostle.privacy.reals import Exponential
from jostle.privacy.scores import Fullest, Misfit, MostHits, QuantileScore, Score, pick_rate
from jostle.privacy.sensitivity import Change, Known
from jostle.privacy.split_scores import GroupScore, Halves, LeafMajority, MajoritiesBelow, MixedSplitScore, SplitScore
from jostle.tables.closed import Closed
from jostle.tables.feature_kernels import feature_count
from jostle.tables.fields import Component, Components, Integers, Sides, Truths, Within, int64s, listed, names, whole
from jostle.tables.kernels import Kernel
from jostle.tables.pools import Stack
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema

WHY = "a score sees un-noised tallies, so only those proved beforehand may be used"

SCORES = Closed(
    "score",
    (
        Dependence,
        Discernibility,
        FeatureDiscernibility,
        FeatureScore,
        Fullest,
        GridQuality,
        MajoritiesBelow,
        Misfit,
        MostHits,
        QuantileScore,
        SetDiscernibility,
    ),
    why=WHY,
    error=ProbeError,
    types=TYPES,
)
"""Scores of which one candidate is picked."""
GROUP_SCORES = Closed(
    "score for groups", (Halves, LeafMajority, MixedSplitScore, SplitScore), why=WHY, error=ProbeError, types=TYPES
)
"""Scores of which one candidate is picked in each of many groups."""


class PickByScore(Mechanism):
    """A mechanism that goes by a score of candidates."""

    score: Any

    def kernel(self, schema: Schema) -> Kernel:
        kernel: Kernel = self.score.kernel(schema)
        return kernel

    def _rate(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """The rate of each pick."""
        return pick_rate(epsilon, self.score.sensitivity(schema), monotone=self.score.monotone(schema))


@frozen
class Pick(PickByScore):
    """Permute-and-flip over the candidates of one score (see `pick_rate`, and `Noise.permute_and_flip`)."""

    events = PermuteAndFlip
    score: Score = field(validator=Component(SCORES.members, what="a known score", error=ProbeError))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse an epsilon so small that the pick could not be drawn exactly."""
        if self._rate(schema, epsilon) * LARGEST_SCALE < 1:
            raise ProbeError(f"epsilon {show_amount(epsilon)} is too little for a pick", fix="epsilon=0.1")

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        return noise.permute_and_flip(self.score.scores(tally, schema), self._rate(schema, epsilon))


@frozen(eq=False, repr=False)
class PickEach(PickByScore):
    """Permute-and-flip once in every group.

    *Proof.* Permute-and-flip at rate r does not change when all scores of a group are shifted by the same number,
    so if a row moves the scores apart by at most D, they may be taken to move by at most D/2 each way, and the pick
    is r*D-private with respect to that row entering or leaving the group. A row is in at most t groups, the picks
    of different groups are drawn independently, and those of the other groups do not see it: all picks together are
    t*r*D-private under add_remove. Under replace_one a row is taken out and another put in, where the table between
    the two is a table as well: 2*t*r*D, whether the new row falls into the same groups or others. The rate is
    epsilon / (t*D) or epsilon / (2*t*D), so both cost epsilon, of which each of the t groups takes its share.

    That covers a routing's disjoint parts (t = 1) and whole forests (t = number of trees) alike.

    D may differ from group to group: each group g is picked in at a rate of its own, epsilon / (t*D_g) or half that. Of
    a row that enters or leaves, group g then takes a share of r_g*D_g = epsilon / t, whatever its D_g is, and so do
    all of the at most t groups the row is in. Which group has which spread is public.
    """

    events = PermuteAndFlip
    score: GroupScore = field(validator=Component(GROUP_SCORES.members, what="a score for groups", error=ProbeError))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        self.score.check(schema)

    def rate(self, schema: Schema, epsilon: Fraction, spread: int | None = None) -> Fraction:
        """The rate at which a gap in score lowers the chance of being picked, in groups of this spread."""
        rows_changed = 1 if schema.neighbours == "add_remove" else 2
        apart = self.score.spread(schema) if spread is None else spread
        return epsilon / (rows_changed * self.score.touched(schema) * apart)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        scores, allowed = self.score.scores(tally, schema), self.score.allowed(schema)
        spreads = self.score.spreads(schema, len(scores))
        picks = np.zeros(len(scores), dtype=np.int64)
        for spread in dict.fromkeys(spreads.tolist()):
            alike = np.flatnonzero(spreads == spread)
            may = None if allowed is None else allowed[alike]
            picks[alike] = permute_and_flip_each(noise, scores[alike], may, self.rate(schema, epsilon, spread))
        return picks


def permute_and_flip_each(noise: Noise, scores: Integers, allowed: Truths | None, rate: Fraction) -> Integers:
    """For each row of *scores* the index picked among those allowed.

    As in `Noise.permute_and_flip`: every candidate's coin comes up with chance exp(-gap * rate), and the pick is a
    uniform one among those whose coin did. The best one's always does.
    """
    if not scores.size:
        return np.zeros(len(scores), dtype=np.int64)
    least = np.iinfo(np.int64).min
    best = (scores if allowed is None else np.where(allowed, scores, least)).max(axis=1)
    gaps = np.maximum(best[:, None] - scores, 0)
    coins = noise.geometric(Exponential(1 / rate), scores.size).reshape(scores.shape) >= gaps
    if allowed is not None:
        coins &= allowed
    winners = coins.sum(axis=1)
    ranks = np.zeros(len(scores), dtype=np.int64)
    for count in np.unique(winners):
        tied = np.flatnonzero(winners == count)
        ranks[tied] = noise.below(int(count), len(tied))
    running = np.cumsum(coins, axis=1)
    picks: Integers = np.argmax(coins & (running == ranks[:, None] + 1), axis=1).astype(np.int64)
    return picks


@frozen
class PickLargest(Mechanism):
    """Permute-and-flip over the numbers of several expressions.

    *Proof.* Permute-and-flip at rate r depends on the gaps between scores alone, so it does not change when all scores
    are shifted by one number. Between neighbours let score i change by v_i. If v_i - v_j <= D for all i and j, then,
    shifted by the middle of the v_i, no score changes by more than D/2, and the pick is 2 * r * D/2 = (r * D)-private
    (see `pick_rate`). Each v_i lies between the bounds `low` and `high` that are inferred for its expression
    (`Change`), so D is at most the greatest `high` less the least `low`; for scores that all grow with a row, just the
    greatest `high`. Under add_remove these are the bounds for a row that enters (one that leaves changes the sign of
    every v_i, and D not at all); under replace_one also those for one that is swapped, and the larger D counts. The
    rate is epsilon / D.

    *Rounding.* Scores are compared as whole numbers of a common unit. Where the exact ones do not fit 62 bits they are
    rounded down to multiples of a power of two u: v_i then changes by less than u, and D by less than 2 * u.
    """

    events = PermuteAndFlip
    candidates: tuple[Expression, ...] = field(
        converter=listed, validator=Components(NODES.members, what="a known private expression", error=ExpressionError)
    )

    def kernel(self, schema: Schema) -> Stack:
        if not self.candidates:
            raise ExpressionError("there is nothing to pick from", fix="give at least one candidate")
        return stack_of(self.candidates, schema)

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse candidates that are no single numbers, or do not depend on rows, or are too large."""
        if self.kernel(schema).cells(schema) > MOST_CELLS:
            raise ExpressionError(
                f"the candidates are computed from more than {MOST_CELLS:,} cells",
                fix="use fewer candidates or columns",
            )
        for candidate in self.candidates:
            if shape := known_of(candidate, schema).shape:
                raise ExpressionError(
                    f"a candidate has {' by '.join(map(str, shape))} cells, not one number", fix="total(x), largest(x)"
                )
        if not self._spread(schema):
            raise ExpressionError(
                "the candidates are the same whatever the rows are", fix="compare them without a probe"
            )
        if self._steps(schema) / epsilon > LARGEST_SCALE:
            raise ExpressionError(
                "epsilon is too little for this pick", fix="use a larger epsilon, or scale scores down"
            )

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        unit = self._unit(schema)
        numbers = evaluated(self.candidates, tally, schema)
        scores = [
            int(next(iter(number.flat()))) * unit.denominator // (number.denominator * unit.numerator)
            for number in numbers
        ]
        return noise.permute_and_flip(np.array(scores, dtype=np.int64), epsilon / self._steps(schema))

    def _known(self, schema: Schema) -> tuple[Known, ...]:
        return tuple(known_of(candidate, schema) for candidate in self.candidates)

    def _spread(self, schema: Schema) -> Fraction:
        """The spread D."""
        facts = self._known(schema)
        spread = _apart(candidate.enter for candidate in facts)
        return (
            spread if schema.neighbours == "add_remove" else max(spread, _apart(candidate.swap for candidate in facts))
        )

    def _unit(self, schema: Schema) -> Fraction:
        facts = self._known(schema)
        exact = Fraction(1, math.lcm(*(candidate.denominator for candidate in facts)))
        largest = max(max(-candidate.least, candidate.most) for candidate in facts)
        if largest / exact <= MOST_UNITS:
            return exact
        # A power of two, and one to spare for rounding down; in whole numbers, which no denominator is too long for.
        over = largest / MOST_UNITS
        return Fraction(2) ** (over.numerator.bit_length() - over.denominator.bit_length() + 2)

    def _steps(self, schema: Schema) -> Fraction:
        """D in units."""
        unit, spread = self._unit(schema), self._spread(schema)
        exact = all((1 / unit) % candidate.denominator == 0 for candidate in self._known(schema))
        return spread / unit if exact else spread / unit + 2


def _apart(changes: Iterable[Change]) -> Fraction:
    given = list(changes)
    if len(given) == 1:
        return max(given[0].high, Fraction(0)) - min(given[0].low, Fraction(0))
    return max(change.high for change in given) - min(change.low for change in given)


LEAST_SHARE = Fraction(1, 10**6)
MOST_THRESHOLD = 2**50
MOST_PLACES = 2**22


@frozen
class FeatureTest(PickByScore):
    """What is asked of the scores of all features together."""

    score: FeatureScore = field(validator=Component((FeatureScore,)))


def _check_places(places: int, schema: Schema) -> None:
    """Refuse to look for more features than there are."""
    count = feature_count(schema)
    if places > count:
        raise ProbeError(f"{places:,} features are asked for, but the table has {count:,}", fix=f"at most {count:,}")


@frozen
class PickSeveral(FeatureTest):
    """The best features, one after the other, each by permute-and-flip among those not yet picked.

    *Proof.* Given the features picked before, each pick is `Pick` over the remaining ones: their scores are some of
    all scores, so they change by no more, and the same way where all do. Each costs epsilon / times, and they are
    asked in turn, so together they cost epsilon. All go by one tally, which is as good as one for each.
    """

    times: int = field(converter=whole, validator=Within(1, MOST_PLACES))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse more picks than features, and an epsilon too small to be drawn exactly."""
        _check_places(self.times, schema)
        if self._rate(schema, epsilon) * LARGEST_SCALE < 1:
            raise ProbeError(f"epsilon {show_amount(epsilon)} is too little for {self.times} picks", fix="epsilon=0.1")

    def _rate(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return super()._rate(schema, epsilon / self.times)

    def event(self, epsilon: Fraction) -> Event:
        return Repeated(PermuteAndFlip(epsilon / self.times), self.times)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        scores, rate = self.score.scores(tally, schema), self._rate(schema, epsilon)
        left = np.arange(len(scores))
        picked = np.empty(self.times, dtype=np.int64)
        for turn in range(self.times):
            index = noise.permute_and_flip(scores[left], rate)
            picked[turn] = left[index]
            left = np.delete(left, index)
        return picked


@frozen
class FindAbove(FeatureTest):
    """The sparse vector: features whose noisy score passes a noisy threshold, up to a number of them.

    Features are gone through in random order. With Delta the most that one score changes, c the number of features
    after which it stops, and shares s and 1 - s of epsilon: the threshold has noise of scale Delta / (s epsilon), drawn
    once; each score has noise of scale 2 c Delta / ((1 - s) epsilon), or of half that where all scores move the same
    way.

    *Proof* (after Lyu, Su and Li, PVLDB 2017, with noise on whole multiples of the scores' unit). The order has nothing
    to do with rows; fix it. What is released is a list of answers, of which at most c are "above". Given the noisy
    threshold T, answers are independent. Take neighbours, and compare T with T + Delta there: whatever is below T here
    is below T + Delta there for the same noise, since a score rises by at most Delta. That T + Delta has at least
    exp(-s epsilon) times the chance of T. For a feature to be above T + Delta there as it is above T here, its noise
    must be larger by Delta, and by Delta more as its score may have fallen: a shift of 2 Delta, which costs (1 - s)
    epsilon / c; for at most c of them, (1 - s) epsilon. Where all scores move the same way, and they fall: leave T as
    it is; below stays below, and above needs a shift of Delta. Where all rise: take T + Delta as before; above stays
    above with noise shifted by at most Delta, since the score has not fallen. So half the noise is enough. Shifts are
    whole units, as Delta is, and discrete Laplace noise of scale b changes its chances by at most exp(shift / b).
    """

    events = AboveThreshold
    threshold: int = field(converter=whole, validator=Within(-MOST_THRESHOLD, MOST_THRESHOLD))
    """In the score's units."""
    most: int = field(converter=whole, validator=Within(1, MOST_PLACES))
    """How many features are found before it stops."""
    share: Fraction = field(converter=fraction, validator=Within(LEAST_SHARE, 1 - LEAST_SHARE))
    """Of epsilon, for the threshold's noise."""

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        _check_places(self.most, schema)

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The scales of the noise of the threshold and of each score."""
        changes = self.score.changes(schema)
        shifts = self.most if self.score.rises(schema) else 2 * self.most
        return changes / (self.share * epsilon), shifts * changes / ((1 - self.share) * epsilon)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        values = self.score.values(tally, schema)
        order = noise.distinct(len(values), len(values))
        of_threshold, of_scores = self.scales(schema, epsilon)
        passing = self.threshold + int(noise.discrete_laplace(of_threshold, 1)[0])
        above = (values + noise.discrete_laplace(of_scores, len(values)) >= passing)[order]
        return order[np.flatnonzero(above)[: self.most]]


@frozen
class FindNthLargest(FeatureTest):
    """How good the n-th best feature is, with noise: in the score's units.

    *Proof.* If no score changes by more than Delta, the n-th largest does not either: n scores were at least as large
    as it, and are at least that less Delta now; and the other way round. So noise of scale Delta / epsilon is enough.
    """

    events = Laplace
    place: int = field(converter=whole, validator=Within(1, MOST_PLACES))
    """n: 1 for the best."""

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        _check_places(self.place, schema)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return self.score.changes(schema) / epsilon

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        values = self.score.values(tally, schema)
        largest = int(np.partition(values, len(values) - self.place)[len(values) - self.place])
        return largest + int(noise.discrete_laplace(self.scale(schema, epsilon), 1)[0])


Places = Integers

LARGEST_PENALTY = 2**40
LARGEST_COST = 2**61
DENSE_SIDE = 8
"""Runs begin at every place or, once longer than this many, at every eighth of their length."""


def run_starts(cells: int, length: int) -> Places:
    """Where runs of a length, a power of two, may begin."""
    return np.arange(0, cells - length + 1, max(1, length // DENSE_SIDE), dtype=np.int64)


def deviations(counts: Integers, length: int) -> Integers:
    """For each run of a length the sum of its counts' distances from their median.

    That is the sum of the upper half less that of the lower half, a whole number.
    """
    starts = run_starts(len(counts), length)
    if length == 1:
        return np.zeros(len(starts), dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(counts, length)[:: max(1, length // DENSE_SIDE)]
    halves = np.partition(windows, length // 2, axis=1)
    upper = halves[:, length // 2 :].sum(axis=1)
    distances: Integers = 2 * upper - windows.sum(axis=1)
    return distances


def cheapest_partition(cells: int, costs: dict[int, Integers]) -> Places:
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
        return Regions(self.columns, self.order, (np.arange(len(self.order)),))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        if not 0 <= self.penalty * self.grain <= LARGEST_PENALTY:
            raise ProbeError(
                f"the penalty is {show_amount(self.penalty)}, with {self.grain} steps to one",
                why="it is at least 0, and at most 2**40 steps",
            )

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return (2 if schema.neighbours == "add_remove" else 4) * self.grain / epsilon

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Places:
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
