"""Scores: what a pick maximises, with what one row can change of it.

Like kernels, scores are descriptions from a closed list (`SCORES`): computing one means looking at un-noised
tallies, which only code written for that may do. A score says for itself how far neighbours can move it, and whether
all candidates' scores move the same way when a row is added (*monotone*), which halves the noise a pick needs.

Under replace_one, what a score says must hold for a part of a table as well, which a row may move into or out of: so
for a row that becomes another, and for one that enters or leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen

from jostle.errors import ProbeError
from jostle.tables.fields import ANY_WHOLE, Component, Integers, Sides, Within, int64s, name, names, whole
from jostle.tables.kernels import Counts, DenseKernel, Kernel
from jostle.tables.number_kernels import Ranks
from jostle.tables.regions import box_sums, check_sides
from jostle.tables.rules import ManyHits
from jostle.tables.schema import Schema


class Score(ABC):
    """Whole numbers, one per candidate, computed from one tally."""

    @abstractmethod
    def kernel(self, schema: Schema) -> Kernel:
        """The kernel that is tallied."""

    @abstractmethod
    def scores(self, tally: Any, schema: Schema) -> Integers:
        """The candidates' scores."""

    @abstractmethod
    def sensitivity(self, schema: Schema) -> Fraction:
        """The most that any candidate's score changes between neighbours of the schema's kind, or of a part.

        Where all scores may move together, half of the most that two of them move apart is enough: what is added to all
        of them changes no pick.
        """

    def monotone(self, schema: Schema) -> bool:
        """Whether between neighbours all scores move the same way, or stay: False where a row may move some apart."""
        return False


class CountScore(Score):
    """How many rows each candidate has: a row adds 0 or 1 to each.

    So a row that comes or goes changes no score by more than 1, and all the same way; one that is replaced changes each
    by 1 at most, some up and some down.
    """

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        return tally

    def sensitivity(self, schema: Schema) -> Fraction:
        return Fraction(1)

    def monotone(self, schema: Schema) -> bool:
        return schema.neighbours == "add_remove"


@frozen
class Fullest(CountScore):
    """How many rows have each combination of codes: picks the commonest."""

    columns: tuple[str, ...] = field(converter=names)

    def kernel(self, schema: Schema) -> DenseKernel:
        return Counts.of(*self.columns)


@frozen(eq=False)
class MostHits(CountScore):
    """How many rows each of many linear rules gets right: picks the best."""

    hits: ManyHits = field(validator=Component((ManyHits,)))

    def kernel(self, schema: Schema) -> DenseKernel:
        return self.hits


def pick_rate(epsilon: Fraction, sensitivity: Fraction, *, monotone: bool) -> Fraction:
    """The rate at which a gap in score lowers the chance of being picked.

    *Proof.* Permute-and-flip picks like the largest of score + X, all X independent reals with P(X > x) = exp(-rate *
    x) for x >= 0 (Ding et al. 2021). Fix the X of all but one candidate: it is picked when its own X passes the best
    of the others less its own score. Between neighbours this threshold moves by at most twice the sensitivity, the
    best of the others going one way and its own score the other; by at most the sensitivity where all scores move the
    same way. A shift by s changes P(X > x) by a factor of at most exp(rate * s), in either direction. So the pick is
    (2 * rate * sensitivity)-private, and (rate * sensitivity)-private where scores are monotone.
    """
    return epsilon / sensitivity if monotone else epsilon / (2 * sensitivity)


MOST_PARTS = 2**20
"""So many times as many rows as a table may have fit in 63 bits."""


@frozen(eq=False, repr=False)
class QuantileScore(Score):
    """For each interval, minus of-times how many rows would have to change sides for it to hold the quantile.

    With n numbers, *below* of them in earlier intervals and *upto* in these and this one, an interval holds the
    quantile part/of if of * below <= part * n <= of * upto. Its score is minus the most of part * n - of * upto, of *
    below - part * n, and 0.

    *Sensitivity.* A row that enters with a number changes n by 1, and below and upto by 0 or 1: so the first by part or
    part - of, the second by -part or of - part. The most of several numbers changes by no more than the one that
    changes most, here max(part, of - part). A row that becomes another keeps n, and changes below and upto by at most 1
    either way: by at most *of*. One that enters or leaves a part, or loses its number, changes it as one that enters.
    Scores of intervals on both sides of a row that enters move in different ways: it is not monotone.
    """

    column: str = field(converter=name)
    starts: Integers = field(converter=int64s, validator=Sides(1, ANY_WHOLE))
    """The steps where the intervals begin."""
    part: int = field(converter=whole, validator=Within(0, MOST_PARTS))
    of: int = field(converter=whole, validator=Within(1, MOST_PARTS))

    def kernel(self, schema: Schema) -> DenseKernel:
        if self.part > self.of:
            raise ProbeError(f"the quantile {self.part}/{self.of} is above 1", fix="0.5")
        return Ranks(self.column, self.starts)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        upto = np.cumsum(tally)
        target = self.part * (upto[-1] if len(upto) else 0)
        below = upto - tally
        off: Integers = np.maximum(np.maximum(target - self.of * upto, self.of * below - target), 0)
        return -off

    def sensitivity(self, schema: Schema) -> Fraction:
        return Fraction(max(self.part, self.of - self.part) if schema.neighbours == "add_remove" else self.of)


FARTHEST = 2**62
"""Answers further from 0 than this could be so far from a count that the distance does not fit 64 bits."""


@frozen(eq=False)
class Misfit(Score):
    """For each box of a grid, how far its count is from a public whole number.

    A row that comes or goes changes the count of a box by 0 or 1, and one that becomes another by at most 1 either
    way; so the distance from a fixed number changes by at most 1 under both relations. Some grow while others shrink:
    not monotone.
    """

    columns: tuple[str, ...] = field(converter=names)
    low: Integers = field(converter=int64s, validator=Sides(2))
    """Boxes by columns."""
    high: Integers = field(converter=int64s, validator=Sides(2))
    answers: Integers = field(converter=int64s, validator=Sides(1, Within(-FARTHEST, FARTHEST)))
    """One for each box."""

    def kernel(self, schema: Schema) -> DenseKernel:
        """The counts of the cells; refuse boxes that do not lie in the grid, and answers that are not theirs."""
        check_sides(self.columns)
        shape = [schema[name].size for name in self.columns]
        inside = self.low.shape == self.high.shape == (len(self.answers), len(shape)) and not np.any(
            (self.low < 0) | (self.low >= self.high) | (self.high > shape)
        )
        if not inside or not len(self.answers):
            raise ProbeError("the boxes to pick from do not lie in the grid, one whole-numbered answer each")
        return Counts.of(*self.columns)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        grid = tally.reshape([schema[name].size for name in self.columns])
        distances: Integers = np.abs(box_sums(grid, self.low, self.high) - self.answers)
        return distances

    def sensitivity(self, schema: Schema) -> Fraction:
        return Fraction(1)
