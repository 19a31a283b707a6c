"""How far an interval of numbers is from holding a quantile, in rows: what a quantile is picked by."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.scores import Score
from jostle.tables.fields import ANY_WHOLE, Sides, Within, int64s, name, whole
from jostle.tables.kernels import DenseKernel
from jostle.tables.number_kernels import Ranks
from jostle.tables.schema import Schema

__all__ = ["MOST_PARTS", "QuantileScore"]

Integers = NDArray[np.int64]
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

    def kernel(self, schema: Schema) -> DenseKernel:  # noqa: ARG002 - the same for every schema
        """How many numbers lie in each interval."""
        if self.part > self.of:
            raise ProbeError(f"the quantile {self.part}/{self.of} is above 1", fix="0.5")
        return Ranks(self.column, self.starts)

    def scores(self, tally: Integers, schema: Schema) -> Integers:  # noqa: ARG002 - as above
        """How far each interval is off."""
        upto = np.cumsum(tally)
        target = self.part * (upto[-1] if len(upto) else 0)
        below = upto - tally
        off: Integers = np.maximum(np.maximum(target - self.of * upto, self.of * below - target), 0)
        return -off

    def sensitivity(self, schema: Schema) -> Fraction:
        """The most that a score changes."""
        return Fraction(max(self.part, self.of - self.part) if schema.neighbours == "add_remove" else self.of)

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - as above
        """False: the scores need not move the same way."""
        return False
