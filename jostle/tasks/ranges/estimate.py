"""What a grid Option gives back: estimated cells, and how far answers made of them are likely to be off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.tasks.ranges.workload import Workload

__all__ = ["Estimate", "SparseEstimate"]

Floats = NDArray[np.float64]


@frozen(eq=False, repr=False)
class Estimate:
    """Estimated counts of a grid's cells, made of released numbers only."""

    cells: Floats
    """The counts, in the grid's shape; not whole numbers in general, and below 0 where noise took them there."""
    variances: Callable[[Workload], Floats] | None = None
    """Each answer's variance, where theory gives it."""
    linear: bool = field(default=False)
    """Whether the estimate is linear in the noisy counts, so that the variances are those of its own answers.

    Otherwise, where there are variances, they are those of the linear estimate before negative counts were taken out.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the grid's sides."""
        return self.cells.shape

    @property
    def total(self) -> float:
        """Return the estimated number of records."""
        return float(self.cells.sum())

    def answers(self, workload: Workload) -> Floats:
        """Return an estimate of each query's count."""
        return workload.answers(self.cells)

    def deviations(self, workload: Workload) -> Floats | None:
        """Return each answer's standard deviation, or None where theory does not give it."""
        return None if self.variances is None else np.sqrt(self.variances(workload))

    def records(self) -> NDArray[np.int64]:
        """Return whole counts of a data set made from the estimate: each count less one half, rounded up, from 0 on."""
        return np.maximum(np.ceil(self.cells - 0.5), 0).astype(np.int64)

    def __repr__(self) -> str:
        return f"<Estimate of a grid of {' x '.join(map(str, self.shape))} cells>"


@frozen(eq=False, repr=False)
class SparseEstimate:
    """Estimated counts of the few cells that are not 0, of a grid that may be far too large to hold."""

    shape: tuple[int, ...]
    keys: NDArray[np.int64]
    """The cells' numbers in row-major order, rising."""
    values: NDArray[np.int64]

    linear = False

    @property
    def total(self) -> float:
        """Return the estimated number of records."""
        return float(self.values.sum())

    def coordinates(self) -> NDArray[np.int64]:
        """Return the listed cells' codes, a row per cell."""
        rest = self.keys
        codes = []
        for side in reversed(self.shape):
            rest, code = np.divmod(rest, side)
            codes.append(code)
        return np.stack(codes[::-1], axis=1)

    @property
    def cells(self) -> Floats:
        """Return the counts as an array of the grid's shape, where that is small enough to hold."""
        count = 1
        for side in self.shape:
            count *= side
        if count > 2**24:
            raise OptionError(f"{count:,} cells are too many for an array", fix="estimate.keys and estimate.values")
        grid = np.zeros(count)
        grid[self.keys] = self.values
        return grid.reshape(self.shape)

    def answers(self, workload: Workload) -> Floats:
        """Return an estimate of each query's count, looking at the listed cells only."""
        if workload.shape != self.shape:
            raise OptionError(f"the workload is for a grid of shape {workload.shape}, not {self.shape}")
        codes = self.coordinates()
        totals = np.empty(len(workload))
        for query, (low, high) in enumerate(zip(workload.low, workload.high, strict=True)):
            inside = np.all((codes >= low) & (codes < high), axis=1)
            totals[query] = self.values[inside].sum()
        return totals

    def deviations(self, workload: Workload) -> None:  # noqa: ARG002 - as for other estimates
        """Return None: cells below the threshold leave a bias that theory does not give."""
        return

    def records(self) -> NDArray[np.int64]:
        """Return whole counts of the listed cells, from 0 on."""
        return np.maximum(self.values, 0)

    def __repr__(self) -> str:
        return f"<SparseEstimate of {len(self.keys):,} cells of a grid of {' x '.join(map(str, self.shape))} cells>"
