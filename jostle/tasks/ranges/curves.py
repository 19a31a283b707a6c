"""Cumulative counts along a numeric column, and the quantiles that they give."""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import OptionError, shown
from jostle.tables.columns import Numeric
from jostle.tasks.ranges.units import edges_of

__all__ = ["Cumulative", "cumulative"]

Floats = NDArray[np.float64]


@frozen(eq=False, repr=False)
class Cumulative:
    """How many records lie below each edge of a numeric column, as estimated: a curve that never falls."""

    edges: Floats
    counts: Floats

    def below(self, value: float) -> float:
        """How many records lie below a value; in a bin, as if its records were even."""
        return float(np.interp(value, self.edges, self.counts))

    def quantile(self, share: float) -> float:
        """Where a share of the records lies below; in a bin, as if its records were even."""
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 <= share <= 1:
            raise OptionError(f"{shown(share)} is not a share", fix="0.5 for the median")
        total = float(self.counts[-1])
        if total <= 0:
            raise OptionError(
                "the estimate has no records, and so no quantiles",
                why="noise took all of them",
                fix="a larger epsilon, or fewer bins",
            )
        wanted = float(share) * total
        # The first bin that reaches it: flat stretches of the curve hold nobody.
        last = max(1, int(np.searchsorted(self.counts, wanted, side="left")))
        before, after = self.counts[last - 1], self.counts[last]
        part = (wanted - before) / (after - before) if after > before else 0.0
        return float(self.edges[last - 1] + part * (self.edges[last] - self.edges[last - 1]))

    def __repr__(self) -> str:
        return f"<Cumulative counts of {self.counts[-1]:.6g} records at {len(self.edges):,} edges>"


def cumulative(column: Numeric, counts: Floats) -> Cumulative:
    """The curve nearest to noisy counts of a column's codes that rises from 0.

    Counts below 0 would let it fall: the nearest one in least squares has them evened out with their neighbours.
    """
    from sklearn.isotonic import isotonic_regression  # noqa: PLC0415 - takes its time to load

    bins = column.bin_count
    edges = edges_of(column, np.arange(bins + 1))
    rising = isotonic_regression(np.cumsum(counts[:bins]), y_min=0.0, y_max=math.inf)
    return Cumulative(edges, np.concatenate([[0.0], np.asarray(rising, dtype=np.float64)]))
