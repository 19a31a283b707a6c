"""Where the scores of rows are cut in half: the score that recursive medians are picked by."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.split_scores import GroupScore
from jostle.tables.fields import Component, Sides, int64s
from jostle.tables.kernels import DenseKernel
from jostle.tables.margins import Margins
from jostle.tables.schema import Schema

__all__ = ["Halves"]

Integers = NDArray[np.int64]

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

    def kernel(self, schema: Schema) -> DenseKernel:  # noqa: ARG002 - the same for every schema
        """The counts by interval."""
        return self.margins

    def check(self, schema: Schema) -> None:  # noqa: ARG002 - its kernel looks at the schema
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

    def allowed(self, schema: Schema) -> NDArray[np.bool_]:  # noqa: ARG002 - the same for every schema
        """Which cuts are inside each stretch."""
        places = np.arange(1, len(self.margins.cuts) + 1)
        inside: NDArray[np.bool_] = (places > self.begins[:, None]) & (places < self.ends[:, None])
        return inside

    def spread(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """The spread, 2."""
        return 2

    def touched(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """1: stretches share no margin."""
        return 1
