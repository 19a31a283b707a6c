"""Split scores where every open leaf has a utility of its own: one tally, one pick per leaf, one price.

*Proof.* The open leaves of one tree share no row, and each is a group of `PickEach`. In a group the scores are those of
one utility, so by `split_scores` a row that enters or leaves it moves them apart by at most that utility's D. Which
leaf has which utility is a part of the question: public, or decided from released values. So this is a group score
whose spread differs from group to group, and `PickEach` picks in each group at the rate its own spread allows. The
cost is that of one pick, however many utilities there are: nothing is looked at twice, since a leaf that was
named under two utilities would be refused before any charge (`SplitCounts.cells`).
"""

from __future__ import annotations

from typing import get_args

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.split_scores import ROWS_BOUND, GroupScore, SplitScore, Utility
from jostle.tables.fields import Component, OneOf, Sides, int64_arrays, int64s, truth_arrays, whole, words
from jostle.tables.kernels import DenseKernel
from jostle.tables.routes import Routing, SplitCounts
from jostle.tables.schema import Schema

__all__ = ["MixedSplitScore"]

Integers = NDArray[np.int64]


@frozen(eq=False, repr=False)
class MixedSplitScore(GroupScore):
    """How well each candidate splits each open leaf, by the utility that the leaf was given."""

    routing: Routing = field(validator=Component((Routing,)))
    utilities: tuple[Utility, ...] = field(converter=words, validator=OneOf(get_args(Utility)))
    """One for each part of the open leaves; each at most once."""
    open: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(1))
    """For each utility the leaves that are split by it; groups are numbered along all of them."""
    columns: Integers = field(converter=int64s, validator=Sides(1))
    """As in `SplitScore`."""
    cuts: Integers = field(converter=int64s, validator=Sides(1))
    may: tuple[NDArray[np.bool_], ...] = field(converter=truth_arrays, validator=Sides(2))
    """For each utility, its leaves by candidates."""
    rows_bound: int = field(default=1, converter=whole, validator=ROWS_BOUND)

    def kernel(self, schema: Schema) -> DenseKernel:  # noqa: ARG002 - the same for every schema
        """The counts by open leaf, value and class, for the leaves of all utilities."""
        self._check_parts()
        return SplitCounts(self.routing, np.concatenate(self.open))

    def check(self, schema: Schema) -> None:
        """Refuse what would make no sense for one of the utilities."""
        self._check_parts()
        for part in self._parts():
            part.check(schema)

    def allowed(self, schema: Schema) -> NDArray[np.bool_]:  # noqa: ARG002 - the same for every schema
        """Which candidates each open leaf has."""
        return np.concatenate(self.may)

    def spread(self, schema: Schema) -> int:
        """The largest spread of any group."""
        return max(part.spread(schema) for part in self._parts())

    def spreads(self, schema: Schema, groups: int) -> Integers:  # noqa: ARG002 - they are counted here
        """Each leaf's spread, by its utility."""
        return np.repeat([part.spread(schema) for part in self._parts()], [len(part) for part in self.open])

    def touched(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """One group per tree that a row is in."""
        return self.routing.touched

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """The scores, each part of the leaves by its utility."""
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
