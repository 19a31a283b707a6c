"""Mechanisms: the closed list of ways in which anything computed from rows may leave.

A mechanism says which kernel it tallies, which event that is, and how the tally becomes an answer. Releasing means
looking at an un-noised tally, so mechanisms are descriptions from a closed list (`mechanism_list`), each with its proof
in its docstring; a subclass, or one made elsewhere, is refused at the door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import NoiseError, ProbeError, TableError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import Event, Laplace, PermuteAndFlip
from jostle.privacy.measurements import Measurement, measured
from jostle.privacy.noise import LARGEST, LARGEST_SCALE, LARGEST_THRESHOLD, Noise
from jostle.privacy.reals import Tail
from jostle.privacy.score_lists import SCORES
from jostle.privacy.scores import Score, pick_rate
from jostle.tables.engines import Partial
from jostle.tables.fields import Component, Within, whole
from jostle.tables.kernel_list import DENSE_KERNELS
from jostle.tables.kernels import Counts, DenseKernel, Kernel, SparseCounts, SparseTally
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema

__all__ = [
    "AddNoise",
    "AddNoiseAbove",
    "Mechanism",
    "Pick",
    "SparseAnswer",
    "check_scale",
    "check_tally",
    "sensitivity",
]


MOST_KEPT = 10**8
"""Cells of a sparse answer that are held at once."""


class Mechanism(ABC):
    """How one tally becomes an answer that may be seen."""

    @abstractmethod
    def kernel(self, schema: Schema) -> Kernel:
        """The kernel that is tallied."""

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: B027 - most have nothing to refuse
        """Refuse a request that makes no sense, before any charge."""

    @abstractmethod
    def event(self, epsilon: Fraction) -> Event:
        """The event of this."""

    @abstractmethod
    def release(self, tally: Any, schema: Schema, epsilon: Fraction, noise: Noise) -> Any:
        """The answer."""

    @abstractmethod
    def shown(self, answer: Any) -> NDArray[np.int64]:
        """The released numbers, for the trace."""

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction | None:  # noqa: ARG002 - only some have one
        """The scale of the noise, where there is one."""
        return None

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The scales of all the noise there is."""
        scale = self.scale(schema, epsilon)
        return () if scale is None else (scale,)

    def measured(self, answer: Any, schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:  # noqa: ARG002
        """The answer as measurements, as far as it tells how many rows fall where."""
        return ()


def sensitivity(kernel: Kernel, schema: Schema) -> int:
    """The most that all cells of a kernel change, summed, between neighbours of the schema's kind."""
    return kernel.bound(schema) if schema.neighbours == "add_remove" else kernel.replaced(schema)


@frozen
class AddNoise(Mechanism):
    """Discrete Laplace noise on every cell.

    Between neighbours the tally changes by at most the sensitivity in sum, and each unit of change in a cell changes
    the probability of any noisy value by a factor of at most exp(1/scale) = exp(epsilon/sensitivity).
    """

    tallied: DenseKernel = field(validator=Component(DENSE_KERNELS, what="a dense kernel", error=ProbeError))

    def kernel(self, schema: Schema) -> Kernel:  # noqa: ARG002 - the same for every schema
        """The kernel that is tallied."""
        return self.tallied

    def event(self, epsilon: Fraction) -> Event:
        """A Laplace event."""
        return Laplace(epsilon)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """Sensitivity / epsilon."""
        return sensitivity(self.tallied, schema) / epsilon

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> NDArray[np.int64]:
        """The noisy tally."""
        answer = noise.discrete_laplace(self.scale(schema, epsilon), len(tally))
        answer += tally
        return answer

    def shown(self, answer: NDArray[np.int64]) -> NDArray[np.int64]:
        """The noisy tally."""
        return answer

    def measured(self, answer: NDArray[np.int64], schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The noisy counts of each group of columns, or each partition of a grid."""
        kernel = self.tallied
        if not isinstance(kernel, Counts | Regions):
            return ()
        sizes = kernel.sizes(schema) if isinstance(kernel, Regions) else [schema.size(*each) for each in kernel.groups]
        numbers = np.split(answer, np.cumsum(sizes)[:-1])
        return measured(kernel, numbers, [self.scale(schema, epsilon)] * len(numbers), schema)


@frozen(eq=False, repr=False)
class SparseAnswer:
    """Cells whose noisy count passed a threshold, by key, in rising order."""

    keys: NDArray[np.int64]
    values: NDArray[np.int64]


@frozen
class AddNoiseAbove(Mechanism):
    """Discrete Laplace noise on every cell of a domain too large to visit, keeping those above a threshold >= 0.

    The answer has exactly the distribution of noising every cell and keeping those above the threshold, which is a
    function of `AddNoise`'s answer and costs what that costs: an empty cell passes by itself with chance P(noise >
    threshold), drawn for all cells at once by the waits between successes; given that it passes, its value is
    distributed as noise above the threshold. Flags that fall on occupied cells are ignored: those have noise of their
    own.
    """

    tallied: SparseCounts = field(validator=Component((SparseCounts,), what="a sparse kernel", error=ProbeError))
    threshold: int = field(converter=whole, validator=Within(0, LARGEST_THRESHOLD))

    def kernel(self, schema: Schema) -> Kernel:  # noqa: ARG002 - the same for every schema
        """The kernel that is tallied."""
        return self.tallied

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse a threshold that more empty cells would pass than fit in memory, and too many cells to go over."""
        if self.tallied.cells(schema) > LARGEST:
            raise ProbeError("there are 2**63 cells, one more than are gone over", fix="use fewer columns or bins")
        _, most = Tail(self.scale(schema, epsilon), self.threshold).enclose(128)
        expected = self.tallied.cells(schema) * most >> 128
        if expected > MOST_KEPT:
            raise ProbeError(
                f"about {expected:,} empty cells would pass the threshold {self.threshold}",
                why=f"more than {MOST_KEPT:,} are not held at once",
                fix="raise the threshold or epsilon, or use fewer columns",
            )

    def event(self, epsilon: Fraction) -> Event:
        """A Laplace event."""
        return Laplace(epsilon)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """Sensitivity / epsilon."""
        return sensitivity(self.tallied, schema) / epsilon

    def release(self, tally: SparseTally, schema: Schema, epsilon: Fraction, noise: Noise) -> SparseAnswer:
        """The cells that passed."""
        scale = self.scale(schema, epsilon)
        flagged = noise.successes(self.tallied.cells(schema), Tail(scale, self.threshold))
        noisy = tally.counts + noise.discrete_laplace(scale, len(tally.counts))
        passed = noisy > self.threshold
        empty = flagged[~np.isin(flagged, tally.keys, assume_unique=True)]
        keys = np.concatenate([tally.keys[passed], empty])
        values = np.concatenate([noisy[passed], noise.laplace_above(scale, self.threshold, len(empty))])
        order = np.argsort(keys)
        return SparseAnswer(keys[order], values[order])

    def shown(self, answer: SparseAnswer) -> NDArray[np.int64]:
        """The values of the cells that passed."""
        return answer.values


@frozen
class Pick(Mechanism):
    """Permute-and-flip over the candidates of one score (see `pick_rate`, and `Noise.permute_and_flip`)."""

    score: Score = field(validator=Component(SCORES.members, what="a known score", error=ProbeError))

    def kernel(self, schema: Schema) -> Kernel:
        """The kernel that is tallied."""
        return self.score.kernel(schema)

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse an epsilon so small that the pick could not be drawn exactly."""
        if self._rate(schema, epsilon) * LARGEST_SCALE < 1:
            raise ProbeError(f"epsilon {show_amount(epsilon)} is too little for a pick", fix="epsilon=0.1")

    def _rate(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return pick_rate(epsilon, self.score.sensitivity(schema), monotone=self.score.monotone(schema))

    def event(self, epsilon: Fraction) -> Event:
        """A permute-and-flip event."""
        return PermuteAndFlip(epsilon)

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        """The index of the candidate picked."""
        return noise.permute_and_flip(self.score.scores(tally, schema), self._rate(schema, epsilon))

    def shown(self, answer: int) -> NDArray[np.int64]:
        """The index."""
        return np.array([answer], dtype=np.int64)


def check_scale(scale: Fraction) -> None:
    """Refuse before any charge what the samplers would refuse after it."""
    if not 0 < scale <= LARGEST_SCALE:
        raise NoiseError(
            f"the noise would have scale {show_amount(scale)}, which must be above 0 and at most 2**52",
            why="the scale is what a row can change, over epsilon",
            fix="ask about at least one thing, with a larger epsilon",
        )


def check_tally(tally: Partial, kernel: Kernel, cells: int) -> None:
    """Refuse a tally that is not of the kernel's cells: noise would be added to something else."""
    if isinstance(tally, SparseTally):
        fits = not isinstance(kernel, DenseKernel) and (
            not tally.keys.size or bool(tally.keys[0] >= 0 and tally.keys[-1] < cells)
        )
    else:
        fits = isinstance(kernel, DenseKernel) and tally.shape == (cells,) and tally.dtype == np.int64
    if not fits:
        raise TableError("a tally does not have the cells that its kernel declares")
