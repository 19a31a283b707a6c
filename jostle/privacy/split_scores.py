"""Scores of splits: for many picks at once, one for each group of rows, where groups share no row.

A group score gives every candidate of every group a whole number. What matters for privacy is how far one row that
enters or leaves a group can move that group's scores *apart*: `spread`.

*Splits.* The candidates of a leaf are attributes: one that splits by value, or one that is ordered and cut in two.
The score of a candidate is minus the impurity of the parts it makes, summed. With class counts t_c and t = sum t_c
in a part, impurity is

- Max: t - max_c t_c, how many rows the commonest class is wrong about;
- Gini: t - sum_c t_c**2 / t;
- InfoGain: sum_c t_c * log2(t / t_c).

Since all candidates split the same t rows, ranking by the first is ranking by sum max_c t_c, and by the last is ranking
by information gain.

*A row that enters lowers every score, by at most `spread`.* It goes to one part of each candidate, with one class
c, so a score falls by the growth of one impurity, I(t + e_c) - I(t). For each of the three, 0 <= growth <= D:

- Max: t grows by 1, max_c t_c by 0 or 1. D = 1.
- Gini: with S = sum t_c**2, the growth is 1 + (S - 2*t*t_c - t) / (t*(t+1)). As S >= t_c**2 and t_c <= t, S - 2*t*t_c
  >= -t**2, so it is at least 0; as S <= t**2 and t_c >= 0, it is at most 2*t / (t+1) < 2. Rounded up to a multiple of
  2**-10, it still does not fall, and grows by at most 2, which is such a multiple. D = 2.
- InfoGain: I = g(t) - sum_c g(t_c), with g(m) = m*log2(m). The growth is d(t) - d(t_c), d(m) = g(m+1) - g(m). Here d is
  a table of whole numbers, multiples of 2**-10, made non-decreasing and, from N-1 on, constant; g is their running sum,
  so nothing is rounded afterwards. As t_c <= t, the growth is at least 0, and at most d(N-1). D = d(N-1), which is
  about N*log2(N) - (N-1)*log2(N-1) <= log2(N) + 1/ln 2. N is a public bound on the rows; with more rows than N the
  score loses sense for large parts, but D stays true.

So scores of one group move apart by at most D when a row enters or leaves it, which the picks make use of (Theorem: see
`PickEach`). The impurities are concave and homogeneous of degree 1, which is why a row never lowers them.

*Handicaps.* A candidate may be held back by a public whole number, taken off all its scores. What a row does to a score
is a difference of two of its values, from which that number is gone: D stays what it is.

Counts are cut off at a public number so large that squares and sums fit 64 bits; a row beyond it moves nothing,
which is within [0, D] too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from attrs import field, frozen

from jostle.errors import ProbeError
from jostle.privacy.scores import CountScore
from jostle.tables.fields import (
    Component,
    Components,
    Integers,
    OneOf,
    Sides,
    Truths,
    Within,
    int64_arrays,
    int64s,
    listed,
    truth_arrays,
    truths,
    whole,
    word,
    words,
)
from jostle.tables.kernels import DenseKernel
from jostle.tables.pools import Layer, Stack
from jostle.tables.routes import LeafCounts, Routing, SplitCounts
from jostle.tables.rules import Margins
from jostle.tables.schema import Schema

Utility = Literal["Max", "Gini", "InfoGain"]

GRID = 2**10
"""Scores of Gini and InfoGain are multiples of 1/GRID."""
LARGEST_BOUND = 2**22
"""Beyond so many rows in one part, g is continued as a straight line: its table ends."""
LARGEST_SUM = 2**62
LARGEST_HANDICAP = 2**40
CHUNK_CELLS = 2**22
"""Cells looked at together, so that what is needed beside the tally stays small."""


class GroupScore(ABC):
    """Whole numbers for each candidate of each group, computed from one tally."""

    @abstractmethod
    def kernel(self, schema: Schema) -> DenseKernel:
        """The kernel that is tallied."""

    def check(self, schema: Schema) -> None:  # noqa: B027 - most have nothing to refuse
        """Refuse a score that makes no sense, before any charge."""

    @abstractmethod
    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """The scores, a row per group."""

    def allowed(self, schema: Schema) -> Truths | None:
        """Which candidates each group has; None if all of them. A public fact."""
        return None

    @abstractmethod
    def spread(self, schema: Schema) -> int:
        """How far a group's scores move apart, at most, when a row enters or leaves the group."""

    def spreads(self, schema: Schema, groups: int) -> Integers:
        """The spread of each group, where groups differ in it; none is above `spread`."""
        return np.full(groups, self.spread(schema), dtype=np.int64)

    @abstractmethod
    def touched(self, schema: Schema) -> int:
        """Number of groups a row is in, at most."""


@frozen(eq=False, repr=False)
class RoutedScore(GroupScore):
    """A score whose groups are leaves of a routing."""

    routing: Routing = field(validator=Component((Routing,)))

    def touched(self, schema: Schema) -> int:
        return self.routing.touched


ROWS_BOUND = Within(1, 2**63 - 1)


@frozen(eq=False, repr=False)
class SplitScore(RoutedScore):
    """How well each candidate splits each open leaf of a routing."""

    open: Integers = field(converter=int64s, validator=Sides(1))
    """The leaves to be split; each is a group."""
    utility: Utility = field(converter=word, validator=OneOf(get_args(Utility)))
    columns: Integers = field(converter=int64s, validator=Sides(1))
    """Each candidate's place among the routing's columns."""
    cuts: Integers = field(converter=int64s, validator=Sides(1))
    """Where each candidate cuts its column in two, codes below it to the left; 0 if it splits by value."""
    may: Truths = field(converter=truths, validator=Sides(2))
    """Open leaves by candidates."""
    rows_bound: int = field(default=1, converter=whole, validator=ROWS_BOUND)
    """For InfoGain: a public bound on the number of rows."""
    handicaps: Integers = field(default=(), converter=int64s, validator=Sides(1))
    """What is taken off each candidate's scores, in the utility's own units; nothing if empty."""

    def kernel(self, schema: Schema) -> DenseKernel:
        return SplitCounts(self.routing, self.open)

    def check(self, schema: Schema) -> None:
        sizes = np.array([schema[name].size for name in self.routing.columns], dtype=np.int64)
        there = (self.columns >= 0) & (self.columns < len(sizes))
        if not len(self.columns) or len(self.columns) != len(self.cuts) or not there.all():
            raise ProbeError("a candidate's column is none of the routing's")
        if np.any((self.cuts < 0) | (self.cuts >= sizes[self.columns])):
            raise ProbeError("a candidate's cut is not inside its column")
        if self.may.shape != (len(self.open), len(self.columns)):
            raise ProbeError("the candidates allowed are not given as open leaves by candidates")
        if not self.may.any(axis=1).all():
            raise ProbeError("an open leaf has no candidate")
        if len(self.handicaps) and (
            self.handicaps.shape != self.columns.shape
            or np.any((self.handicaps < 0) | (self.handicaps > LARGEST_HANDICAP))
        ):
            raise ProbeError("the handicaps are not one for each candidate, from 0 to 2**40")

    def allowed(self, schema: Schema) -> Truths:
        return self.may

    def spread(self, schema: Schema) -> int:
        """D, in units of 1/GRID (of 1, for Max)."""
        return spread_of(self.utility, self.rows_bound)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """Minus the impurity of each split of each open leaf, 0 for leaves without rows, less the handicaps."""
        classes = len(schema.classes)
        counts = tally.reshape(len(self.open), -1, classes)
        scores = np.zeros((len(self.open), len(self.columns)), dtype=np.int64)
        occupied = np.flatnonzero(tally.reshape(len(self.open), -1).any(axis=1))
        step = max(1, CHUNK_CELLS // max(1, counts[0].size))
        for start in range(0, len(occupied), step):
            some = occupied[start : start + step]
            scores[some] = self._scored(counts[some], schema)
        return scores - self.handicaps if len(self.handicaps) else scores

    def _scored(self, counts: Integers, schema: Schema) -> Integers:
        scores = np.zeros((len(counts), len(self.columns)), dtype=np.int64)
        for column, values in self._slices(schema):
            candidates = np.flatnonzero(self.columns == column)
            by_value = candidates[self.cuts[candidates] == 0]
            by_cut = candidates[self.cuts[candidates] > 0]
            held = counts[:, values]
            if by_value.size:
                scores[:, by_value] = -self._impurity(held).sum(axis=1)[:, None]
            if by_cut.size:
                running = np.cumsum(held, axis=1)
                left = running[:, self.cuts[by_cut] - 1]
                scores[:, by_cut] = -self._impurity(left) - self._impurity(running[:, -1:] - left)
        return scores

    def _slices(self, schema: Schema) -> Iterator[tuple[int, slice]]:
        start = 0
        for column, name in enumerate(self.routing.columns):
            size = schema[name].size
            yield column, slice(start, start + size)
            start += size

    def _impurity(self, counts: Integers) -> Integers:
        """The impurity of each part, its class counts along the last axis."""
        counts = np.minimum(counts, math.isqrt(LARGEST_SUM // counts.shape[-1]))
        totals = counts.sum(axis=-1)
        if self.utility == "Max":
            return np.asarray(totals - counts.max(axis=-1))
        if self.utility == "Gini":
            whole, rest = np.divmod((counts**2).sum(axis=-1), np.maximum(totals, 1))
            return np.asarray(GRID * totals - GRID * whole - GRID * rest // np.maximum(totals, 1))
        return np.asarray(entropies(totals, self.rows_bound) - entropies(counts, self.rows_bound).sum(axis=-1))


@frozen(eq=False, repr=False)
class LeafMajority(RoutedScore):
    """How many rows of each class come to each leaf. A row that enters raises one class's score by 1: spread 1."""

    def kernel(self, schema: Schema) -> DenseKernel:
        return LeafCounts(self.routing)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        return tally.reshape(-1, len(schema.classes))

    def spread(self, schema: Schema) -> int:
        return 1


def units_of(utility: Utility) -> int:
    """Units of a utility's scores that stand for one row."""
    return 1 if utility == "Max" else GRID


def spread_of(utility: Utility, rows_bound: int) -> int:
    """D in the utility's own units: what a row that comes or goes can change between candidates.

    >>> spread_of("Max", 1000), spread_of("Gini", 1000) / GRID, round(spread_of("InfoGain", 1000) / GRID, 2)
    (1, 2.0, 11.41)
    """
    if utility == "Max":
        return 1
    if utility == "Gini":
        return 2 * GRID
    return max(1, int(_steps(_table_size(rows_bound))[0][min(rows_bound, LARGEST_BOUND) - 1]))


def _table_size(rows_bound: int) -> int:
    """A power of two, so that bounds near each other share a table."""
    return int(1 << (min(rows_bound, LARGEST_BOUND) - 1).bit_length())


@lru_cache(maxsize=8)
def _steps(size: int) -> tuple[Integers, Integers]:
    """The steps d(0) .. d(size-1), non-decreasing whole numbers, and their running sums g(0) .. g(size)."""
    values = np.arange(size + 1, dtype=np.float64)
    entropy = GRID * values * np.log2(np.maximum(values, 1))
    steps = np.maximum.accumulate(np.rint(np.diff(entropy)).astype(np.int64))
    return steps, np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(steps)])


def entropies(counts: Integers, rows_bound: int) -> Integers:
    """The values g(m) = m*log2(m) of each count: from the table up to the bound, straight on from there."""
    bound = min(rows_bound, LARGEST_BOUND)
    steps, sums = _steps(_table_size(bound))
    beyond = np.maximum(counts - bound, 0)
    return np.asarray(sums[counts - beyond] + beyond * steps[bound - 1])


@frozen(eq=False, repr=False)
class MixedSplitScore(RoutedScore):
    """How well each candidate splits each open leaf, by the utility that the leaf was given.

    *Proof.* The open leaves of one tree share no row, and each is a group of `PickEach`. In a group the scores are
    those of one utility, so by `split_scores` a row that enters or leaves it moves them apart by at most that utility's
    D. Which leaf has which utility is a part of the question: public, or decided from released values. So this is a
    group score whose spread differs from group to group, and `PickEach` picks in each group at the rate its own spread
    allows. The cost is that of one pick, however many utilities there are: nothing is looked at twice, since a leaf
    that was named under two utilities would be refused before any charge (`SplitCounts.cells`).
    """

    utilities: tuple[Utility, ...] = field(converter=words, validator=OneOf(get_args(Utility)))
    """One for each part of the open leaves; each at most once."""
    open: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(1))
    """For each utility the leaves that are split by it; groups are numbered along all of them."""
    columns: Integers = field(converter=int64s, validator=Sides(1))
    """As in `SplitScore`."""
    cuts: Integers = field(converter=int64s, validator=Sides(1))
    may: tuple[Truths, ...] = field(converter=truth_arrays, validator=Sides(2))
    """For each utility, its leaves by candidates."""
    rows_bound: int = field(default=1, converter=whole, validator=ROWS_BOUND)

    def kernel(self, schema: Schema) -> DenseKernel:
        self._check_parts()
        return SplitCounts(self.routing, np.concatenate(self.open))

    def check(self, schema: Schema) -> None:
        self._check_parts()
        for part in self._parts():
            part.check(schema)

    def allowed(self, schema: Schema) -> Truths:
        return np.concatenate(self.may)

    def spread(self, schema: Schema) -> int:
        return max(part.spread(schema) for part in self._parts())

    def spreads(self, schema: Schema, groups: int) -> Integers:
        return np.repeat([part.spread(schema) for part in self._parts()], [len(part) for part in self.open])

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        ends = np.cumsum([len(part) for part in self.open])
        pieces = np.split(tally.reshape(int(ends[-1]), -1), ends[:-1])
        return np.concatenate(
            [part.scores(piece.ravel(), schema) for part, piece in zip(self._parts(), pieces, strict=True)]
        )

    def _parts(self) -> list[SplitScore]:
        return [
            SplitScore(self.routing, leaves, utility, self.columns, self.cuts, may, self.rows_bound)
            for utility, leaves, may in zip(self.utilities, self.open, self.may, strict=True)
        ]

    def _check_parts(self) -> None:
        count = len(self.utilities)
        if not count or len(set(self.utilities)) < count or len(self.open) != count or len(self.may) != count:
            raise ProbeError("utilities, open leaves and candidates are not given once for each utility")
        if not all(map(len, self.open)):
            raise ProbeError("a utility has no open leaves", fix="leave it out")


@frozen
class MajoritiesBelow(CountScore):
    """For each layer, a column's groups by the label among the rows of a node: how many rows majorities have.

    Mohammed, Chen, Fung, Yu. Differentially private data release for data mining. KDD 2011: the function Max. A layer
    counts the rows of a node by child and class; its score is the sum, over children, of the largest class's count.

    *How far a row moves it.* A row that comes is in one cell of each layer, or in none. The largest count of its child
    then grows by 1 or stays, so each score grows by 1 or stays: they are monotone, with sensitivity 1. A row replaced
    is one row less and one more, which moves a score by at most 1 either way, and not all the same way.
    """

    layers: tuple[Layer, ...] = field(converter=listed, validator=Components((Layer,)))

    def kernel(self, schema: Schema) -> Stack:
        """The counts by child and class; refuse layers that count otherwise than each row of a node once."""
        for layer in self.layers:
            if layer.weighted is not None or len(layer.columns) != 2 or layer.columns[-1] != schema.label:
                raise ProbeError("a candidate is about other columns than one and the label, or about weights")
            layer.shape(schema)
        if not self.layers:
            raise ProbeError("there is nothing to pick from", fix="give at least one candidate")
        return Stack(self.layers)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        scores, start = [], 0
        for layer in self.layers:
            children, classes = layer.shape(schema)
            end = start + children * classes
            scores.append(int(tally[start:end].reshape(children, classes).max(axis=1).sum()))
            start = end
        return np.array(scores, dtype=np.int64)


MOST_SCORES = 2**27
"""Scores, of all cuts in all stretches, that are held at once: 1 GB of them."""


@frozen(eq=False, repr=False)
class Halves(GroupScore):
    """How evenly each cut of a stretch of margins parts the rows there: minus |rows below it - rows above it|.

    The groups are stretches of intervals, none of which share any, with all rows there whatever their class; the
    candidates of a stretch are the cuts inside it. The score is largest where rows are halved: at a median.

    *A row that enters a stretch moves its scores apart by at most 2.* It lies below or above a cut, so it changes
    (rows below - rows above) by 1 or -1, and the magnitude by at most 1 either way. A row is in one stretch.
    """

    margins: Margins = field(validator=Component((Margins,)))
    """What is tallied: its cuts are the candidates."""
    begins: Integers = field(converter=int64s, validator=Sides(1))
    """The places among the intervals where stretches begin, rising."""
    ends: Integers = field(converter=int64s, validator=Sides(1))
    """The place after each stretch's last interval."""

    def kernel(self, schema: Schema) -> DenseKernel:
        return self.margins

    def check(self, schema: Schema) -> None:
        """Refuse stretches that are none, share rows or have nothing to pick."""
        intervals = len(self.margins.cuts) + 1
        if not len(self.begins) or len(self.begins) != len(self.ends):
            raise ProbeError("there are no stretches, or some do not begin or end")
        # All of them first: of numbers within the intervals, differences do not run over.
        ends = np.concatenate([self.begins, self.ends])
        if ends.min() < 0 or ends.max() > intervals or np.any(self.ends[:-1] > self.begins[1:]):
            raise ProbeError(f"stretches overlap, or lie outside of the {intervals} intervals")
        if np.any(self.ends - self.begins < 2):
            raise ProbeError("a stretch of fewer than two intervals has no cut inside")
        if len(self.begins) * intervals > MOST_SCORES:
            raise ProbeError(f"more than {MOST_SCORES:,} scores are not held at once", fix="fewer cuts, or stretches")

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """Minus the magnitudes, a row per stretch, a column per cut; 0 for cuts that are not inside."""
        below = np.concatenate([[0], np.cumsum(tally.reshape(2, -1).sum(axis=0))])
        uneven = np.abs(2 * below[None, 1:-1] - below[self.begins, None] - below[self.ends, None])
        return np.where(self.allowed(schema), -uneven, 0)

    def allowed(self, schema: Schema) -> Truths:
        places = np.arange(1, len(self.margins.cuts) + 1)
        inside: Truths = (places > self.begins[:, None]) & (places < self.ends[:, None])
        return inside

    def spread(self, schema: Schema) -> int:
        return 2

    def touched(self, schema: Schema) -> int:
        """1: stretches share no margin."""
        return 1
