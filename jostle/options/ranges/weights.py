"""Weights of a grid's cells, bent by multiplication until they agree with noisy counts of partitions.

The cells start with equal weights. Each bought partition multiplies the weights in every part of it by one number, so
the weights are equal wherever no partition tells cells apart: they are held once per such *atom*. The numbers are those
that maximise entropy less the squared misfit; they are found part by part, in Newton steps, partition after partition.

It looks at released counts only.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from jostle.tables.regions import box_sums

__all__ = ["Weights", "cut_around"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

LARGEST_STEP = 1.0
"""Newton steps, in a weight's logarithm, are cut off at this so that they do not overshoot."""
LEAST_VARIANCE = 1e-12
"""Counts of less variance than this are taken for this noisy: it is divided by."""


@define
class _Bought:
    """A partition of the atoms, its noisy counts, and what its parts' weights were multiplied by so far."""

    part: Places
    """Which part each atom is in."""
    counts: Floats
    variance: float
    raised: Floats
    """The logarithms of the factors."""


@define
class Weights:
    """Weights of a grid's cells that add up to about the number of records."""

    shape: tuple[int, ...]
    firmness: float
    """How far weights go to meet the counts: a misfit of one deviation of the last counts is worth so much, as a
    logarithm of a weight."""
    atom: Places
    """Which atom each cell is in."""
    cells: Floats
    """How many cells each atom has."""
    mass: Floats
    """The weight of each atom's cells together."""
    bought: list[_Bought] = field(factory=list)

    @classmethod
    def flat(cls, shape: tuple[int, ...], total: float, variance: float, firmness: float) -> Weights:
        """Equal weights that add up to a total, known with a variance."""
        cells = float(math.prod(shape))
        one = np.zeros(math.prod(shape), dtype=np.int64)
        made = cls(shape, firmness, one, np.array([cells]), np.array([float(total)]))
        made.learn(one, np.array([float(total)]), variance)
        return made

    def grid(self) -> Floats:
        """The weights, cell by cell."""
        each: Floats = self.mass / self.cells
        return each[self.atom].reshape(self.shape)

    def learn(self, part: Places, counts: Floats, variance: float) -> None:
        """Take in a partition, given as each cell's part, with the noisy counts of its parts."""
        key = self.atom * len(counts) + part
        _, first, atom, cells = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        before = self.atom[first]
        self.mass = self.mass[before] * cells / self.cells[before]
        self.atom, self.cells = atom.reshape(-1), cells.astype(np.float64)
        for each in self.bought:
            each.part = each.part[before]
        self.bought.append(_Bought(part[first], counts, max(variance, LEAST_VARIANCE), np.zeros(len(counts))))

    def fit(self, replays: int) -> None:
        """Replay all partitions so many times.

        With h the weight of a part, c its count and v its variance, the weights go to where the sum of
        pull * (c - h)**2 / 2 over all parts plus the Kullback-Leibler divergence from equal weights is least, for a
        pull of firmness * d / v, d being the deviation of the counts that were bought last. There each part's factor
        has the logarithm pull * (c - h). So a count that is mostly noise bends the weights little.
        """
        deviation = math.sqrt(self.bought[-1].variance)
        for _ in range(replays):
            for each in self.bought:
                pull = self.firmness * deviation / each.variance
                held = np.bincount(each.part, self.mass, len(each.counts))
                step = (pull * (each.counts - held) - each.raised) / (1 + pull * held)
                np.clip(step, -LARGEST_STEP, LARGEST_STEP, out=step)
                each.raised += step
                self.mass *= np.exp(step)[each.part]


def cut_around(grid: Floats, low: Places, high: Places, least: float) -> tuple[Places, int]:
    """A partition of which a box is one part, or several: each cell's part, and how many parts there are.

    The box and the slabs beside it are halved, each where it is longest, while the grid has twice *least* in them.
    """
    lows, highs = _slabs(grid.shape, low, high)
    done: list[tuple[Places, Places]] = []
    while len(lows):
        sides = highs - lows
        axis = sides.argmax(axis=1)
        rows = np.arange(len(lows))
        split = (sides[rows, axis] > 1) & (box_sums(grid, lows, highs) >= 2 * least)
        done.append((lows[~split], highs[~split]))
        rows, axis, lows, highs = np.arange(int(split.sum())), axis[split], lows[split], highs[split]
        upper, lower = lows.copy(), highs.copy()
        upper[rows, axis] = lower[rows, axis] = (lows[rows, axis] + highs[rows, axis]) // 2
        lows, highs = np.concatenate([lows, upper]), np.concatenate([lower, highs])
    lows, highs = (np.concatenate(corners) for corners in zip(*done, strict=True))
    return _painted(grid.shape, lows, highs), len(lows)


def _slabs(shape: tuple[int, ...], low: Places, high: Places) -> tuple[Places, Places]:
    """The corners of a box and of the slabs that fill the grid around it, axis after axis."""
    lows, highs = [], []
    start, end = np.zeros(len(shape), dtype=np.int64), np.array(shape, dtype=np.int64)
    for axis in range(len(shape)):
        for here, there in ((start[axis], low[axis]), (high[axis], end[axis])):
            if here < there:
                first, last = start.copy(), end.copy()
                first[axis], last[axis] = here, there
                lows.append(first)
                highs.append(last)
        start[axis], end[axis] = low[axis], high[axis]
    return np.array([*lows, start]), np.array([*highs, end])


def _painted(shape: tuple[int, ...], lows: Places, highs: Places) -> Places:
    """For each cell, in row-major order, which of some boxes that fill the grid it is in."""
    steps = np.zeros([side + 1 for side in shape], dtype=np.int64)
    for corner in range(1 << len(shape)):
        at_high = [bool(corner >> axis & 1) for axis in range(len(shape))]
        index = tuple((highs if up else lows)[:, axis] for axis, up in enumerate(at_high))
        np.add.at(steps, index, (-1) ** sum(at_high) * np.arange(len(lows)))
    for axis in range(len(shape)):
        np.cumsum(steps, axis=axis, out=steps)
    return steps[tuple(slice(side) for side in shape)].ravel()
