"""Measurements: what was released of a table so far, kept so that whoever asks next need not buy it again.

A measurement is the numbers of one partition of the rows, with noise, as a mechanism released them, and how much noise
that was. Only a room makes them (`Room`), of its own answers, so that nobody can put down a number that was not
released; what is told of them is copies. To look at them costs nothing and touches no row: it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.tables.closed import Closed
from jostle.tables.kernels import Counts
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema

__all__ = [
    "MOST_COMPARED",
    "PARTITIONS",
    "Look",
    "Measurement",
    "known_rows",
    "look_at",
    "measured",
    "noise_variance",
    "together",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PARTITIONS = Closed(
    "kernel of which it can be told what is known",
    (Counts, Regions),
    why="what is known is told of how many rows fall where",
    error=ProbeError,
)
MOST_KEPT = 2**16
"""A measurement of more numbers is none to look at: each would tell little, and all of them take room."""
MOST_COMPARED = 2**22
"""Of a domain with more cells than this, what is known is not compared cell by cell; the total of it is told."""
SURE = 20
"""A number of rows counts as known where it is so many standard deviations of its noise: to about a twentieth."""


def noise_variance(scale: Fraction) -> float:
    """Variance of discrete Laplace noise: 2q / (1-q)**2 with q = exp(-1/scale)."""
    rate = float(1 / scale)
    # So little that it never matters, but not 0: variances are divided by.
    least = 1e-200
    return max(least, 0.5 / math.sinh(rate / 2) ** 2) if rate < 700 else least


def _unchanging(given: NDArray[Any]) -> Floats:
    copy = np.array(given, dtype=np.float64)
    copy.setflags(write=False)
    return copy


@frozen(eq=False)
class Look:
    """What is known of some numbers of rows: an estimate of each, and the variance of the noise in it."""

    counts: Floats = field(converter=_unchanging)
    variance: Floats = field(converter=_unchanging)


@frozen(eq=False)
class Measurement:
    """Numbers of rows, one for each cell of a partition, each with noise of its own of one variance."""

    kernel: Counts | Regions
    """Of one group, or one partition of a grid."""
    sizes: tuple[int, ...]
    """How many codes each of its columns has."""
    counts: Integers
    variance: float
    total: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Take a copy: whoever asked holds the answer, and may change it."""
        copy = np.array(self.counts, dtype=np.int64)
        copy.setflags(write=False)
        object.__setattr__(self, "counts", copy)
        object.__setattr__(self, "total", int(copy.sum()))

    def of_rows(self) -> Look:
        """What this tells of the number of all rows."""
        return Look(np.array([float(self.total)]), np.array([len(self.counts) * self.variance]))

    def at(self, wanted: Counts | Regions, schema: Schema) -> Look | None:
        """What this tells of each cell of a coarser partition; None if its cells do not lie in those."""
        columns = columns_of(wanted)
        own_columns = columns_of(self.kernel)
        sizes = tuple(schema[name].size for name in columns)
        count = _count(wanted, sizes)
        if count == 1:
            return self.of_rows()
        if not set(columns) <= set(own_columns) or len(set(columns)) < len(columns):
            return None
        cells = _cells(wanted, sizes)
        # Which wanted cell each combination of one's own columns is in.
        grid = cells.reshape(sizes).transpose([columns.index(name) for name in own_columns if name in columns])
        shape = [size if name in columns else 1 for name, size in zip(own_columns, self.sizes, strict=True)]
        inside = np.broadcast_to(grid.reshape(shape), self.sizes).ravel()
        own = _cells(self.kernel, self.sizes)
        lies_in = np.zeros(len(self.counts), dtype=np.int64)
        lies_in[own] = inside
        if not np.array_equal(lies_in[own], inside):
            return None
        parts = np.bincount(lies_in, minlength=count)
        sums = np.bincount(lies_in, weights=self.counts.astype(np.float64), minlength=count)
        return Look(sums, parts * self.variance)


def measured(
    kernel: Counts | Regions, numbers: Sequence[Integers], scales: Sequence[Fraction], schema: Schema
) -> tuple[Measurement, ...]:
    """Measurements that noisy numbers are, group by group or level by level, with the scale of the noise on each."""
    found = []
    for part, values, scale in zip(_one_by_one(kernel), numbers, scales, strict=True):
        columns, variance = columns_of(part), noise_variance(scale)
        sizes = tuple(schema[name].size for name in columns)
        if len(values) > MOST_KEPT or len(set(columns)) < len(columns):
            continue
        if math.prod(sizes) > MOST_COMPARED:
            found.append(Measurement(Counts.of(), (), values.sum(keepdims=True), len(values) * variance))
        else:
            found.append(Measurement(part, sizes, values, variance))
    return tuple(found)


def look_at(measurements: Iterable[Measurement], kernel: Counts | Regions, schema: Schema) -> tuple[Look | None, ...]:
    """What measurements tell of each group, or level, of a kernel: their mean, weighted by 1 / variance.

    Each measurement tells of one alone, the last that it refines: so what is told of several, coarse ones first, is as
    independent as if each had been bought by itself.
    """
    parts = _one_by_one(kernel)
    found: list[list[Look]] = [[] for _ in parts]
    for each in measurements:
        for place in reversed(range(len(parts))):
            told = each.at(parts[place], schema)
            if told is not None:
                found[place].append(told)
                break
    return tuple(together(looks) if looks else None for looks in found)


def known_rows(measurements: Iterable[Measurement]) -> int | None:
    """Number of rows, if measurements tell it to about a twentieth; else None."""
    found = [each.of_rows() for each in measurements]
    if not found:
        return None
    look = together(found)
    rows, deviation = float(look.counts[0]), math.sqrt(look.variance[0])
    return round(rows) if rows >= max(1.0, SURE * deviation) else None


def together(looks: Sequence[Look]) -> Look:
    """Mean of what several looks tell of the same numbers, weighted by 1 / variance."""
    first, *others = looks
    if not others:
        return first
    weights = [1 / each.variance for each in looks]
    precision: Floats = np.sum(weights, axis=0)
    counts: Floats = np.sum([weight * each.counts for weight, each in zip(weights, looks, strict=True)], axis=0)
    return Look(counts / precision, 1 / precision)


def _one_by_one(kernel: Counts | Regions) -> tuple[Counts | Regions, ...]:
    """A kernel for each group, or each level."""
    if isinstance(kernel, Counts):
        return tuple(Counts((group,)) for group in kernel.groups)
    return tuple(Regions(kernel.columns, kernel.order, (starts,)) for starts in kernel.starts)


def columns_of(kernel: Counts | Regions) -> tuple[str, ...]:
    """Columns that a kernel of one group, or one level, goes by."""
    return kernel.groups[0] if isinstance(kernel, Counts) else kernel.columns


def _count(kernel: Counts | Regions, sizes: tuple[int, ...]) -> int:
    """How many cells there are."""
    return math.prod(sizes) if isinstance(kernel, Counts) else len(kernel.starts[0])


def _cells(kernel: Counts | Regions, sizes: tuple[int, ...]) -> Integers:
    """The cell that each combination of codes is in."""
    domain = math.prod(sizes)
    if isinstance(kernel, Counts):
        return np.arange(domain, dtype=np.int64)
    (starts,) = kernel.starts
    cells = np.empty(domain, dtype=np.int64)
    cells[kernel.order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=domain))
    return cells
