"""How badly an estimate answers each of many range queries: the score by which MWEM picks what to ask next."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.scores import Score
from jostle.tables.fields import Sides, Within, int64s, names
from jostle.tables.kernels import Counts, DenseKernel
from jostle.tables.regions import box_sums, check_sides
from jostle.tables.schema import Schema

__all__ = ["Misfit"]

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
    low: NDArray[np.int64] = field(converter=int64s, validator=Sides(2))
    """Boxes by columns."""
    high: NDArray[np.int64] = field(converter=int64s, validator=Sides(2))
    answers: NDArray[np.int64] = field(converter=int64s, validator=Sides(1, Within(-FARTHEST, FARTHEST)))
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

    def scores(self, tally: NDArray[np.int64], schema: Schema) -> NDArray[np.int64]:
        """Each box's distance."""
        grid = tally.reshape([schema[name].size for name in self.columns])
        distances: NDArray[np.int64] = np.abs(box_sums(grid, self.low, self.high) - self.answers)
        return distances

    def sensitivity(self, schema: Schema) -> Fraction:  # noqa: ARG002 - the same for every schema
        """The sensitivity, 1."""
        return Fraction(1)

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - as above
        """False: the scores need not move the same way."""
        return False
