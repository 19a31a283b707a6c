"""How good a grid is to learn a label from: the score by which PrivPfC picks one of many.

Su, Cao, Li, Lyu, PrivPfC: differentially private data publication for classification. VLDB Journal, 2018. The quality
of a grid is how many rows are expected to be in the majority of their cell once the counts have noise: for a cell whose
two largest classes have n_1 >= n_2 rows, with d = n_1 - n_2 and x = d over the noise's scale,

    n_1 - h(d),  h(d) = d * exp(-x) * (1 + x/2) / 2,

since the sum of two Laplace variables passes d with chance exp(-x) (1 + x/2) / 2. With two classes it is the paper's;
with more, the largest class is held against the one after it alone.

*How far a row moves two grids' scores apart.* The row is in one cell of each grid. Where its class is the largest
there, or becomes it, n_1 and d grow by 1: the score grows by 1 - (h(d+1) - h(d)). Where it is the one after it, d
shrinks by 1: the score grows by h(d) - h(d-1). Where it is neither, nothing changes. (Of equally large classes, any may
be called the largest.) As h'(t) = exp(-x) (1 - x**2/2) / 2 with x = t over the scale, its greatest value is 1/2 at 0;
its least is -c with c = (1 + sqrt 3)/2 * exp(-(1 + sqrt 3)) = 0.08890..., at x = 1 + sqrt 3, where h'' is 0. So
differences of h lie between -c and 1/2, and the score grows by between -c and 1 + c, for any number of classes. Hence
two grids' scores move apart by at most 1 + 2c < 1.17784 when a row comes, and by twice that when one is replaced, which
is a row less and a row more. (The slides' 1.1 for one score, and 2 * 1.1 for two under replacement, are too little.)

Scores count in units of 1/UNIT; h is a table of whole numbers, each within 1 of UNIT * h, for scales of up to
LARGEST_SCALE. Nothing is rounded after that, and a row changes one cell: so it moves a score by a difference of two
neighbouring entries, each off by 1 at most, which widens the span by 4 units.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.fields import fraction
from jostle.privacy.scores import Score
from jostle.tables.fields import Component
from jostle.tables.pools import GridCounts, Pool
from jostle.tables.schema import Schema

__all__ = ["LARGEST_SCALE", "SPAN", "GridQuality"]

Integers = NDArray[np.int64]

UNIT = 2**16
"""Scores are multiples of 1/UNIT."""
SPAN = 1 + 2 * Fraction(8892, 100_000)
"""How far two scores move apart when a row comes: an upper bound of 1 + 2c."""
SLACK = 4
"""Units that the table's rounding adds."""
LARGEST_SCALE = 2**20
FARTHEST = 2**40
"""Beyond so many scales of noise, a majority is never lost."""


@frozen(eq=False, repr=False)
class GridQuality(Score):
    """For each grid of a pool, how many rows would be in the majority of their cell, counts having noise."""

    pool: Pool = field(validator=Component((Pool,)))
    scale: Fraction = field(converter=fraction)
    """The scale of the noise that the picked grid's counts will have."""

    def kernel(self, schema: Schema) -> GridCounts:  # noqa: ARG002 - the same for every schema
        """The counts of all grids."""
        if not 0 < self.scale <= LARGEST_SCALE:
            raise ProbeError(f"the noise has scale {float(self.scale):g}, which must be above 0 and at most 2**20")
        return GridCounts(self.pool)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """The grids' qualities, in units of 1/UNIT."""
        by_class = tally.reshape(-1, len(schema.classes))
        largest = by_class.max(axis=1)
        gaps = largest - np.partition(by_class, -2, axis=1)[:, -2] if by_class.shape[1] > 1 else largest
        sizes = np.array(self.pool.sizes, dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        quality: Integers = np.add.reduceat(UNIT * largest - lost(gaps, self.scale), starts)
        return quality

    def sensitivity(self, schema: Schema) -> Fraction:
        """Half of how far two scores move apart."""
        span = SPAN * UNIT + SLACK
        return span / 2 if schema.neighbours == "add_remove" else span

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - the same for every schema
        """False: a row may raise one score and lower another."""
        return False


def lost(gaps: Integers, scale: Fraction) -> Integers:
    """The values h of each gap in units of 1/UNIT, as whole numbers no more than 1 off.

    What numpy does about numbers that come out as 0 is for its users to say elsewhere; here it depends on rows, so it
    does nothing.
    """
    with np.errstate(all="ignore"):
        # No less than what takes a gap of 1 as far as any: as a float, a smaller one may be 0.
        x = np.minimum(gaps / float(max(scale, Fraction(1, FARTHEST))), FARTHEST)
        return np.rint(UNIT * (gaps * np.exp(-x) * (1 + x / 2) / 2)).astype(np.int64)
