"""Intervals for what a grid's estimate answers: how far it may be off, noise, bias and all.

*By theory*, where an estimate is linear in noisy counts: its errors are sums of Laplace noise, of which the standard
deviation is known. Such a sum lies between one Laplace number and a normal one, so the larger of their quantiles is
taken.

*By calibration*, where an Option looks at its noisy counts before it decides what to count or what to believe. The
noise says little then: what is left out, evened out or believed beforehand is off as well, by as much as the private
grid is unlike what was expected. How far such an Option was off on public grids, all noise and bias together, is
known from trying (`benchmarks/grid_intervals.py`): a scale, from what is public or released (the query's size, its
answer, how many records there seem to be), times a factor that so many of the errors were below. With K groups of
public databases, each counting the same, and the next one as likely to be anywhere among them as any other, the
factor holds at its level for a new group: Lee, Barber, Willett, Distribution-free inference with hierarchical data,
2023. It is a statement about grids as public ones are; no theory makes it one about all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Protocol

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.tasks.ranges.boxes import Boxes

Floats = NDArray[np.float64]
AT_LEAST_SOME = 0.5
CLOSE = 1e-9
FAR = 4
"""How many times more or fewer cells than were tried, or more records, are too far from it."""


def noise_factor(level: float) -> float:
    """Number of standard deviations that hold a sum of Laplace noise at a level, whatever its parts weigh.

    >>> round(noise_factor(0.95), 3)
    2.118
    """
    return max(NormalDist().inv_cdf((1 + level) / 2), -math.log(1 - level) / math.sqrt(2))


@frozen(eq=False)
class Asking:
    """Queries, what a grid's estimate answers, and how many records it has in all."""

    workload: Boxes
    answers: Floats
    total: float


class Bars(Protocol):
    """What knows how far answers of an estimate may be off."""

    def half(self, asking: Asking, level: float) -> Floats:
        """Half the width of each answer's interval; refuse where nothing is known."""
        ...


@frozen
class NoBars:
    """What made an estimate is not known."""

    def half(self, asking: Asking, level: float) -> Floats:
        """Refuse."""
        raise OptionError(
            "no interval of this estimate is known", why="what made it was not tried on public grids", fix=ELSEWHERE
        )


ELSEWHERE = "Privelet or Identity, whose errors theory gives; or estimate.deviations, where it is not None"


def scale_inputs(
    sizes: Floats,
    answers: Floats,
    *,
    total: float | Floats,
    cells: float | Floats,
    axes: int | Floats,
    epsilon: float | Floats,
) -> Floats:
    """The features that the scale of an answer's error goes by, a row per query: all of it public or released.

    *sizes* are the queries' numbers of cells. Amounts of records count in units of noise, 1 / epsilon.
    """
    records = np.maximum(total, 0.0) * epsilon
    held = np.clip(answers * epsilon, 0.0, None)
    inside = np.log1p(held)
    even = np.log1p(np.minimum(held, np.clip(records - held, 0.0, None)))
    beside = np.log1p(np.minimum(sizes, cells - sizes))
    signal, large = np.log1p(records), np.log(cells)
    flat = np.asarray(axes) > 1
    columns = (
        *(np.ones(1), beside, inside, even, signal, large, flat, flat * beside, flat * inside),
        *(beside**2, inside**2, even**2, signal**2),
        *(beside * inside, beside * signal, inside * signal, beside * large, inside > AT_LEAST_SOME),
    )
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.float64)


@frozen(eq=False)
class SummedBars:
    """What is known of an estimate of fewer axes, of which the others were added up."""

    bars: Bars
    lifted: Callable[[Boxes], Boxes]
    """The same queries of the grid with all axes."""

    def half(self, asking: Asking, level: float) -> Floats:
        """Half the width of each answer's interval."""
        return self.bars.half(evolve(asking, workload=self.lifted(asking.workload)), level)


@frozen
class Kinds:
    """Kinds of queries that have factors of their own."""

    shares: tuple[float, ...]
    """Where they begin, as shares of the grid that are asked for."""
    signals: tuple[float, ...]
    """The same as records times epsilon."""

    def of(self, shares: Floats, signals: float | Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The kind of each query, as two places."""
        places = np.searchsorted(np.array(self.shares), shares, side="right")
        return places, np.broadcast_to(np.searchsorted(np.array(self.signals), signals, side="right"), places.shape)


@frozen
class Calibrated:
    """How far one version of an Option was off on public grids."""

    version: int
    weights: tuple[float, ...]
    """Of `scale_inputs`: they give the logarithm of the scale of an error times epsilon."""
    factors: tuple[tuple[tuple[float, ...], ...], ...]
    """By how much of the grid is asked for and by records times epsilon, for each level: how often that scale."""
    least_cells: int
    most_cells: int
    most_signal: float
    """Records times epsilon."""
    groups: int
    """Of public databases."""


@frozen
class CalibratedBars:
    """What is known of an Option's errors, for one estimate."""

    option: str
    known: Calibrated
    levels: tuple[float, ...]
    kinds: Kinds
    epsilon: float

    def half(self, asking: Asking, level: float) -> Floats:
        """Half the width of each answer's interval; refuse what is far from all that was tried."""
        self._check(asking, level)
        shape, sizes = asking.workload.shape, asking.workload.sizes()
        cells, axes = float(math.prod(shape)), len(shape)
        inputs = scale_inputs(sizes, asking.answers, total=asking.total, cells=cells, axes=axes, epsilon=self.epsilon)
        scales = np.exp(inputs @ np.array(self.known.weights)) / self.epsilon
        place = next(index for index, known in enumerate(self.levels) if known >= level - CLOSE)
        factors = np.array(self.known.factors)[self.kinds.of(sizes / cells, asking.total * self.epsilon)]
        return np.asarray(scales * factors[:, place])

    def _check(self, asking: Asking, level: float) -> None:
        if level > self.levels[-1] + CLOSE:
            raise OptionError(
                f"no interval of {self.option} is known at level {level:g}",
                why=f"its errors are known from {self.known.groups} groups of public databases, too few for that",
                fix=f"a level of at most {self.levels[-1]:g}; or {ELSEWHERE}",
            )
        shape, known = asking.workload.shape, self.known
        if len(shape) > 2 or not known.least_cells / FAR <= math.prod(shape) <= known.most_cells * FAR:
            raise OptionError(
                f"no interval of {self.option} is known on a grid of {' x '.join(map(str, shape))} cells",
                why=f"its errors are known from public grids of one or two axes and {known.least_cells:,} to "
                f"{known.most_cells:,} cells",
                fix=ELSEWHERE,
            )
        if asking.total * self.epsilon > known.most_signal * FAR:
            signal = f"{asking.total * self.epsilon:,.0f}"
            raise OptionError(
                f"no interval of {self.option} is known where records times epsilon is {signal}",
                why=f"its errors are known up to {known.most_signal:,.0f}; beyond, little of them is noise",
                fix=ELSEWHERE,
            )
