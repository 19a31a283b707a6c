"""What a grid Option is asked, a workload, and what it gives back: estimated cells, and how far off answers may be."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.errors import OptionError, shown
from jostle.files.kinds import writing
from jostle.tables.columns import Numeric
from jostle.tables.made_frames import PARQUET, Frames, as_frame, write_frame
from jostle.tables.schema import Schema
from jostle.tasks.answers import level_of
from jostle.tasks.ranges.boxes import MOST_BINS, Asked, Boxes, bins_at, edges_of
from jostle.tasks.ranges.drawing import drawn, plot_estimate
from jostle.tasks.ranges.intervals import Asking, Bars, NoBars, SummedBars, noise_factor

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


Integers = NDArray[np.int64]
ENDINGS = (".json", ".csv", *PARQUET, ".npy")
"""Of files that an estimate is written to."""
MOST_CELLS = 2**24
"""Of an array."""
HAIR = 1e-6
MOST_DEVIATIONS = 2**16
"""Cells of a frame that has their deviations: each is worked out by itself."""


@frozen(eq=False, repr=False)
class GridEstimate:
    """Estimated counts of a grid's cells, made of released numbers and public facts only."""

    schema: Schema | None = field(default=None, kw_only=True)
    """The columns that the axes are, where they are known."""
    bars: Bars = field(default=NoBars(), kw_only=True)
    """How far answers may be off, where theory does not give it."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The grid's sides."""

    @property
    @abstractmethod
    def total(self) -> float:
        """The estimated number of records."""

    @property
    @abstractmethod
    def cells(self) -> Floats:
        """The counts, in the grid's shape."""

    @abstractmethod
    def listed(self) -> tuple[Integers, Floats]:
        """The codes of the cells that are listed, a row each, and their counts."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """This as plain data."""

    @abstractmethod
    def deviations(self, workload: Boxes | Asked) -> Floats | None:
        """Each answer's standard deviation, or None where theory does not give it."""

    @abstractmethod
    def answers(self, workload: Boxes | Asked) -> Floats:
        """An estimate of each query's count."""

    def interval(self, workload: Boxes | Asked, level: float = 0.95) -> tuple[Floats, Floats]:
        """The least and the greatest count that each query may have, at a level of confidence.

        The ends are whole numbers from 0 up, as counts are. They are by theory where the estimate is linear in noisy
        counts, and otherwise from how far what made it was off on public grids; refused where it was not tried so.
        """
        sure, wanted = level_of(level, fix="interval(..., 0.9)"), self.workload(workload)
        answers = self.answers(wanted)
        # A hair less, so that a number that is whole but for rounding is taken for it.
        half = np.maximum(self.half(Asking(wanted, answers, self.total), sure) - HAIR, 0)
        return np.maximum(np.floor(answers - half), 0), np.maximum(np.ceil(answers + half), 0)

    def half(self, asking: Asking, level: float) -> Floats:
        """Half the width of each answer's interval."""
        return self.bars.half(asking, level)

    @property
    def columns(self) -> Schema:
        """The columns that the axes are; refuse where they are not known."""
        if self.schema is None:
            raise OptionError(
                "the estimate does not know which columns its axes are",
                why="it was made of cells alone",
                fix="attrs.evolve(estimate, schema=schema)",
            )
        return self.schema

    def workload(self, asked: Boxes | Asked) -> Boxes:
        """Queries, however they are written."""
        return asked if isinstance(asked, Boxes) else Boxes.in_units(self.columns, asked)

    def axis(self, name: str | None = None) -> int:
        """The axis of a column; without a name, the only one."""
        names = self.columns.names
        if name is None and len(names) == 1:
            return 0
        if not isinstance(name, str) or name not in names:
            asked = "which column is meant is not said" if name is None else f"the grid has no column {shown(name)}"
            raise OptionError(asked, fix=f"one of {', '.join(map(shown, names))}")
        return names.index(name)

    def along(self, axis: int) -> Floats:
        """The counts along an axis, all others added up."""
        codes, counts = self.listed()
        side = self.shape[axis]
        if side > MOST_BINS:
            raise OptionError(f"an axis of {side:,} cells is too long for a curve", fix="estimate.answers")
        return np.bincount(codes[:, axis], weights=counts, minlength=side).astype(np.float64)

    def cumulative(self, name: str | None = None) -> Cumulative:
        """How many records lie below each edge of a numeric column: a curve that never falls.

        Records with no number there, missing or out of bounds, are left out.
        """
        axis = self.axis(name)
        column = self.columns[self.columns.names[axis]]
        if not isinstance(column, Numeric):
            raise OptionError(
                f"{shown(self.columns.names[axis])} is not numeric", why="its values have no order", fix="to_frame()"
            )
        return cumulative(column, self.along(axis))

    def quantile(self, share: float, name: str | None = None) -> float:
        """Where a share of the records of a numeric column lies below; in a bin, as if they were even."""
        return self.cumulative(name).quantile(share)

    def to_frame(self, library: Frames = "pyarrow") -> Any:
        """A row per cell as a frame: values, or where a bin begins and ends; the count; perhaps its deviation.

        Where a bin stands for no range, missing numbers say, both ends are empty cells.
        """
        return as_frame(self._arrow(), library)

    def _arrow(self) -> pa.Table:
        codes, counts = self.listed()
        held: dict[str, Any] = {}
        for axis in range(len(self.shape)):
            own = codes[:, axis]
            if self.schema is None:
                held[f"axis{axis}"] = pa.array(own)
                continue
            name = self.schema.names[axis]
            column = self.schema[name]
            if isinstance(column, Numeric):
                low, high = bins_at(column, own)
                held[_free(f"{name}_from", held)] = pa.array(low, from_pandas=True)
                held[_free(f"{name}_to", held)] = pa.array(high, from_pandas=True)
            else:
                held[_free(name, held)] = pa.array(column.labels, pa.string()).take(pa.array(own))
        held[_free("count", held)] = pa.array(counts)
        if len(counts) <= MOST_DEVIATIONS and math.prod(self.shape) == len(counts):
            deviations = self.deviations(Boxes.identity(self.shape))
            if deviations is not None:
                held[_free("deviation", held)] = pa.array(deviations)
        return pa.table(held)

    def write(self, path: str | Path) -> None:
        """Write it to a file as the ending says: .csv or .parquet a row per cell, .npy the counts, .json everything."""
        with writing(path, OptionError) as place:
            ending = place.suffix.lower()
            if ending in {".csv", *PARQUET}:
                write_frame(self._arrow(), place)
            elif ending == ".npy":
                np.save(place, self.cells)
            elif ending in {".json", ""}:
                place.write_text(json.dumps(self.data(), indent=2) + "\n", encoding="utf-8")
            else:
                raise OptionError(f"no estimate is written to a file {ending}", fix=f"one of {', '.join(ENDINGS)}")

    def _repr_html_(self) -> str:
        return drawn(self)

    def plot(self) -> Any:
        """A matplotlib figure of a grid of one or two axes; needs the `report` extra."""
        return plot_estimate(self)


def _free(name: str, held: dict[str, Any]) -> str:
    """A name that no column has yet."""
    while name in held:
        name += "_"
    return name


@frozen(eq=False, repr=False)
class Estimate(GridEstimate):
    """Estimated counts of all cells of a grid."""

    cells: Floats = field()
    """The counts, in the grid's shape; not whole numbers in general, and below 0 where noise took them there."""
    variances: Callable[[Boxes], Floats] | None = None
    """Each answer's variance, where theory gives it."""
    linear: bool = field(default=False)
    """Whether the estimate is linear in the noisy counts, so that the variances are those of its own answers.

    Otherwise, where there are variances, they are those of the linear estimate before negative counts were taken out.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The grid's sides."""
        return self.cells.shape

    @property
    def total(self) -> float:
        """The estimated number of records."""
        return float(self.cells.sum())

    def answers(self, workload: Boxes | Asked) -> Floats:
        """An estimate of each query's count; queries may be in units: {"income": (20_000, 50_000)}."""
        return self.workload(workload).answers(self.cells)

    def deviations(self, workload: Boxes | Asked) -> Floats | None:
        """Each answer's standard deviation, or None where theory does not give it."""
        return None if self.variances is None else np.sqrt(self.variances(self.workload(workload)))

    def half(self, asking: Asking, level: float) -> Floats:
        """Half the width of each answer's interval."""
        deviations = self.deviations(asking.workload) if self.linear else None
        return self.bars.half(asking, level) if deviations is None else noise_factor(level) * deviations

    def records(self) -> Integers:
        """Whole counts of a data set made from the estimate: each count less one half, rounded up, from 0 on."""
        return np.maximum(np.ceil(self.cells - 0.5), 0).astype(np.int64)

    def listed(self) -> tuple[Integers, Floats]:
        """The codes of all cells, a row each, and their counts."""
        return np.indices(self.shape).reshape(len(self.shape), -1).T, self.cells.ravel()

    def data(self) -> dict[str, Any]:
        """This as plain data."""
        return {"shape": list(self.shape), "cells": self.cells.tolist()}

    def marginal(self, *names: str) -> Estimate:
        """The estimate of fewer columns, the others added up; its deviations are those of the sums."""
        kept = sorted({self.axis(name) for name in names})
        if not kept:
            raise OptionError("no columns are named", fix="estimate.marginal('age')")
        schema, shape, variances = self.columns, self.shape, self.variances
        left = tuple(schema.names[axis] for axis in kept)

        def lifted(workload: Boxes) -> Boxes:
            low = np.zeros((len(workload), len(shape)), dtype=np.int64)
            high = np.broadcast_to(np.array(shape), low.shape).copy()
            low[:, kept], high[:, kept] = workload.low, workload.high
            return Boxes(shape, low, high)

        label = schema.label if schema.label in left else None
        return Estimate(
            self.cells.sum(axis=tuple(axis for axis in range(len(shape)) if axis not in kept)),
            None if variances is None else lambda workload: variances(lifted(workload)),
            linear=self.linear,
            bars=SummedBars(self.bars, lifted),
            schema=evolve(schema, columns=tuple((name, schema[name]) for name in left), label=label, features=None),
        )

    def __repr__(self) -> str:
        return f"<Estimate of a grid of {' x '.join(map(str, self.shape))} cells>"


@frozen(eq=False, repr=False)
class SparseEstimate(GridEstimate):
    """Estimated counts of the few cells that are not 0, of a grid that may be far too large to hold."""

    shape: tuple[int, ...]
    keys: Integers
    """The cells' numbers in row-major order, rising."""
    values: Integers

    linear = False

    @property
    def total(self) -> float:
        """The estimated number of records."""
        return float(self.values.sum())

    def coordinates(self) -> Integers:
        """The listed cells' codes, a row per cell."""
        rest = self.keys
        codes = []
        for side in reversed(self.shape):
            rest, code = np.divmod(rest, side)
            codes.append(code)
        return np.stack(codes[::-1], axis=1)

    @property
    def cells(self) -> Floats:
        """The counts as an array of the grid's shape, where that is small enough to hold."""
        count = math.prod(self.shape)
        if count > MOST_CELLS:
            raise OptionError(f"{count:,} cells are too many for an array", fix="estimate.keys and estimate.values")
        grid = np.zeros(count)
        grid[self.keys] = self.values
        return grid.reshape(self.shape)

    def answers(self, workload: Boxes | Asked) -> Floats:
        """An estimate of each query's count, looking at the listed cells only."""
        asked = self.workload(workload)
        if asked.shape != self.shape:
            raise OptionError(f"the workload is for a grid of shape {asked.shape}, not {self.shape}")
        codes = self.coordinates()
        totals = np.empty(len(asked))
        for query, (low, high) in enumerate(zip(asked.low, asked.high, strict=True)):
            inside = np.all((codes >= low) & (codes < high), axis=1)
            totals[query] = self.values[inside].sum()
        return totals

    def deviations(self, workload: Boxes | Asked) -> None:  # noqa: ARG002 - as for other estimates
        """None: cells below the threshold leave a bias that theory does not give."""
        return

    def records(self) -> Integers:
        """Whole counts of the listed cells, from 0 on."""
        return np.maximum(self.values, 0)

    def listed(self) -> tuple[Integers, Floats]:
        """The codes of the cells that are not 0, a row each, and their counts."""
        return self.coordinates(), self.values.astype(np.float64)

    def data(self) -> dict[str, Any]:
        """This as plain data."""
        return {"shape": list(self.shape), "keys": self.keys.tolist(), "values": self.values.tolist()}

    def __repr__(self) -> str:
        return f"<SparseEstimate of {len(self.keys):,} cells of a grid of {' x '.join(map(str, self.shape))} cells>"


@frozen(eq=False, repr=False)
class Workload(Boxes):
    """Boxes whose counts are wanted.

    >>> Workload.prefixes(4).answers(np.array([1, 2, 3, 4]))
    array([ 1.,  3.,  6., 10.])
    """

    def over(self, cells: ArrayLike) -> Estimate:
        """An estimate that answers it: of cells in row-major order, or of one number that stands for each.

        >>> Workload.prefixes(4).over([2]).answers(Workload.prefixes(4))
        array([2., 4., 6., 8.])
        """
        numbers, count = np.asarray(cells, dtype=np.float64).ravel(), int(np.prod(self.shape, dtype=object))
        if len(numbers) not in {1, count}:
            raise OptionError(
                f"{len(numbers)} numbers for {count} cells", fix="each cell has one, or all have the same"
            )
        return Estimate(np.full(self.shape, numbers[0]) if len(numbers) == 1 else numbers.reshape(self.shape))
