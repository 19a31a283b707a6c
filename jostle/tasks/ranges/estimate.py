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
from jostle.markup import in_picture, words
from jostle.tables.columns import Column, Numeric
from jostle.tables.frames import PARQUET_ENDINGS, Frames, as_frame, write_frame
from jostle.tables.schema import Schema
from jostle.tasks.answers import level_of, new_figure
from jostle.tasks.ranges.boxes import MOST_BINS, Asked, Boxes, bins_at, edges_of
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
ENDINGS = (".json", ".csv", *PARQUET_ENDINGS, ".npy")
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
            if ending in {".csv", *PARQUET_ENDINGS}:
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
        return self.cells.shape

    @property
    def total(self) -> float:
        return float(self.cells.sum())

    def answers(self, workload: Boxes | Asked) -> Floats:
        """An estimate of each query's count; queries may be in units: {"income": (20_000, 50_000)}."""
        return self.workload(workload).answers(self.cells)

    def deviations(self, workload: Boxes | Asked) -> Floats | None:
        return None if self.variances is None else np.sqrt(self.variances(self.workload(workload)))

    def half(self, asking: Asking, level: float) -> Floats:
        deviations = self.deviations(asking.workload) if self.linear else None
        return self.bars.half(asking, level) if deviations is None else noise_factor(level) * deviations

    def records(self) -> Integers:
        """Whole counts of a data set made from the estimate: each count less one half, rounded up, from 0 on."""
        return np.maximum(np.ceil(self.cells - 0.5), 0).astype(np.int64)

    def listed(self) -> tuple[Integers, Floats]:
        """The codes of all cells, a row each, and their counts."""
        return np.indices(self.shape).reshape(len(self.shape), -1).T, self.cells.ravel()

    def data(self) -> dict[str, Any]:
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

    def deviations(self, workload: Boxes | Asked) -> None:
        """None: cells below the threshold leave a bias that theory does not give."""
        return

    def records(self) -> Integers:
        """Whole counts of the listed cells, from 0 on."""
        return np.maximum(self.values, 0)

    def listed(self) -> tuple[Integers, Floats]:
        return self.coordinates(), self.values.astype(np.float64)

    def data(self) -> dict[str, Any]:
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


# Pictures of a grid: as text (SVG), or with matplotlib

WIDTH, HEIGHT, EDGE = 640, 240, 24
MOST_BARS, MOST_SQUARES = 128, 48
"""More cells than this along an axis are drawn by sums of neighbours."""
MOST_AXES = 8
BLUE = "#31567b"
LEVEL = 0.95


def ends_of(estimate: GridEstimate) -> tuple[Floats, Floats] | None:
    """Between which counts each cell lies, each by itself; None where that is not known."""
    try:
        return estimate.interval(Boxes.identity(estimate.shape), LEVEL)
    except OptionError:
        return None


def drawn(estimate: GridEstimate) -> str:
    """A picture of a grid: a map of two axes, and otherwise the counts along each, the others added up."""
    shape = estimate.shape
    sides = " x ".join(f"{side:,}" for side in shape)
    head = f"<p>an estimate of {sides} cells, {estimate.total:.6g} records in all</p>"
    if len(shape) == 2 and max(shape) <= MOST_BINS and shape[0] * shape[1] <= MOST_BINS:
        return head + _map(estimate)
    axes = [axis for axis in range(len(shape)) if shape[axis] <= MOST_BINS][:MOST_AXES]
    return head + "".join(_bars(estimate, axis) for axis in axes)


def _ends(estimate: GridEstimate, axis: int) -> tuple[str, str, str]:
    """A column's name, and its first and last label."""
    if estimate.schema is None:
        return f"axis {axis}", "0", str(estimate.shape[axis] - 1)
    name = estimate.schema.names[axis]
    labels = estimate.schema[name].labels
    return name, labels[0], labels[-1]


def _summed(cells: Floats, axis: int, most: int) -> Floats:
    """Cells in which so many neighbours along an axis are added up that no more than *most* are left."""
    step = -(-cells.shape[axis] // most)
    starts = np.arange(0, cells.shape[axis], step)
    return cells if step == 1 else np.add.reduceat(cells, starts, axis=axis)


def _bars(estimate: GridEstimate, axis: int) -> str:
    counts = _summed(estimate.along(axis), 0, MOST_BARS)
    whole = len(estimate.shape) == 1 and len(counts) == estimate.shape[0]
    ends = ends_of(estimate) if whole else None
    top, low = max(float(counts.max()), 0.0), min(float(counts.min()), 0.0)
    if ends is not None:
        top, low = max(top, float(ends[1].max())), min(low, float(ends[0].min()))
    scale = (HEIGHT - 2 * EDGE) / (top - low or 1.0)
    ground = EDGE + top * scale
    wide = WIDTH / len(counts)
    bars = [
        f'<rect x="{index * wide:.2f}" y="{ground - max(count, 0.0) * scale:.2f}" width="{wide * 0.9:.2f}" '
        f'height="{abs(count) * scale:.2f}"/>'
        for index, count in enumerate(counts.tolist())
    ]
    lines = (
        []
        if ends is None
        else [
            f'<line x1="{(index + 0.45) * wide:.2f}" x2="{(index + 0.45) * wide:.2f}" y1="{ground - most * scale:.2f}" '
            f'y2="{ground - least * scale:.2f}"/>'
            for index, (least, most) in enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
        ]
    )
    said = f"; lines: {LEVEL:.0%} intervals, each by itself" if lines else ""
    name, first, last = _ends(estimate, axis)
    return _picture(
        f"records by {name}",
        (f"{name}: {first}", last),
        f"most: {float(counts.max()):.6g}{said}",
        f'<g fill="{BLUE}" fill-opacity="0.7">{"".join(bars)}</g><g stroke="currentColor">{"".join(lines)}</g>',
        HEIGHT,
    )


def _map(estimate: GridEstimate) -> str:
    cells = _summed(_summed(estimate.cells, 0, MOST_SQUARES), 1, MOST_SQUARES)
    top = max(float(cells.max()), 0.0)
    rows, columns = cells.shape
    wide = WIDTH / columns
    tall = min(wide, 480 / rows)
    squares = [
        f'<rect x="{column * wide:.2f}" y="{EDGE + row * tall:.2f}" width="{wide:.2f}" height="{tall:.2f}" '
        f'fill-opacity="{max(0.0, count) / (top or 1.0):.3f}"/>'
        for row, line in enumerate(cells.tolist())
        for column, count in enumerate(line)
    ]
    (down, first, last), (across, left, right) = _ends(estimate, 0), _ends(estimate, 1)
    height = rows * tall + 2 * EDGE
    above = f"down: {down}, {first} to {last}; most: {top:.6g}"
    return _picture(
        f"records by {down} and {across}",
        (f"{across}: {left}", right),
        above,
        f'<g fill="{BLUE}">{"".join(squares)}</g>',
        height,
    )


def _picture(title: str, ends: tuple[str, str], above: str, inside: str, height: float) -> str:
    left, right = ends
    text = 'font-family="system-ui,sans-serif" font-size="13" fill="currentColor"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{words(title)}">{inside}<text x="0" y="14" {text}>{words(above)}</text>'
        f'<text x="0" y="{height - 6:.0f}" {text}>{words(left)}</text>'
        f'<text x="{WIDTH}" y="{height - 6:.0f}" text-anchor="end" {text}>{words(right)}</text></svg>'
    )


MOST_INTERVALS = 4096
"""Intervals are drawn for up to so many cells."""
MOST_NAMES = 40
"""Values written beside an axis."""


def plot_estimate(estimate: GridEstimate) -> Any:
    """A matplotlib figure: counts as steps, with 95% intervals where they are known, or as a map."""
    schema, cells = estimate.columns, estimate.cells
    if cells.ndim > 2:
        raise OptionError(
            f"a grid of {cells.ndim} axes is not drawn",
            fix=f"estimate.marginal({', '.join(map(repr, schema.names[:2]))}).plot()",
        )
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    edges = [_edges(schema[name]) for name in schema.names]
    if cells.ndim == 1:
        axes.stairs(cells, edges[0], fill=True, color="#9dbbd8", edgecolor="#31567b")
        ends = ends_of(estimate) if cells.size <= MOST_INTERVALS else None
        if ends is not None:
            axes.vlines((edges[0][1:] + edges[0][:-1]) / 2, *ends, color="0.3", linewidth=0.8)
            axes.set_title(f"lines: {LEVEL:.0%} intervals, each by itself", fontsize=9)
        axes.set_ylabel("records, as estimated")
    else:
        found = axes.pcolormesh(edges[1], edges[0], cells, cmap="viridis", rasterized=True)
        figure.colorbar(found, ax=axes, label="records, as estimated")
        _name(axes.yaxis, schema[schema.names[0]], schema.names[0])
    _name(axes.xaxis, schema[schema.names[-1]], schema.names[-1])
    return figure


def _edges(column: Column) -> NDArray[np.float64]:
    """Where cells begin and end: those that stand for no range lie behind the last bin, as wide as it."""
    if not isinstance(column, Numeric):
        return np.arange(column.size + 1, dtype=np.float64) - 0.5
    edges = edges_of(column, np.arange(column.bin_count + 1))
    behind = edges[-1] + (edges[-1] - edges[-2]) * np.arange(1.0, column.size - column.bins + 1)
    return np.concatenate([edges, behind]).astype(np.float64)


def _name(axis: Any, column: Column, name: str) -> None:
    axis.set_label_text(in_picture(name))
    if not isinstance(column, Numeric) and column.size <= MOST_NAMES:
        axis.set_ticks(range(column.size), [in_picture(label) for label in column.labels])
