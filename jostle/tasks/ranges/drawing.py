"""Draw an estimate of a grid: as text (SVG), or with matplotlib."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.markup import in_picture, words
from jostle.tables.columns import Column, Numeric
from jostle.tables.schema import Schema
from jostle.tasks.answers import new_figure
from jostle.tasks.ranges.boxes import MOST_BINS, Boxes, edges_of

Floats = NDArray[np.float64]
WIDTH, HEIGHT, EDGE = 640, 240, 24
MOST_BARS, MOST_SQUARES = 128, 48
"""More cells than this along an axis are drawn by sums of neighbours."""
MOST_AXES = 8
BLUE = "#31567b"
LEVEL = 0.95


class DrawnBars(Protocol):
    """What intervals are drawn of."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The grid's sides."""

    def interval(self, workload: Boxes, level: float) -> tuple[Floats, Floats]:
        """The least and greatest count that each query may have; refused where that is not known."""


class DrawnCells(DrawnBars, Protocol):
    """What is drawn of an estimate."""

    @property
    def schema(self) -> Schema | None:
        """The columns that the axes are, where they are known."""

    @property
    def cells(self) -> Floats:
        """The counts."""

    @property
    def total(self) -> float:
        """The estimated number of records."""

    def along(self, axis: int) -> Floats:
        """The counts along an axis, all others added up."""


def ends_of(estimate: DrawnBars) -> tuple[Floats, Floats] | None:
    """Between which counts each cell lies, each by itself; None where that is not known."""
    try:
        return estimate.interval(Boxes.identity(estimate.shape), LEVEL)
    except OptionError:
        return None


def drawn(estimate: DrawnCells) -> str:
    """A picture of a grid: a map of two axes, and otherwise the counts along each, the others added up."""
    shape = estimate.shape
    sides = " x ".join(f"{side:,}" for side in shape)
    head = f"<p>an estimate of {sides} cells, {estimate.total:.6g} records in all</p>"
    if len(shape) == 2 and max(shape) <= MOST_BINS and shape[0] * shape[1] <= MOST_BINS:
        return head + _map(estimate)
    axes = [axis for axis in range(len(shape)) if shape[axis] <= MOST_BINS][:MOST_AXES]
    return head + "".join(_bars(estimate, axis) for axis in axes)


def _ends(estimate: DrawnCells, axis: int) -> tuple[str, str, str]:
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


def _bars(estimate: DrawnCells, axis: int) -> str:
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
        f'<rect x="{place * wide:.2f}" y="{ground - max(count, 0.0) * scale:.2f}" width="{wide * 0.9:.2f}" '
        f'height="{abs(count) * scale:.2f}"/>'
        for place, count in enumerate(counts.tolist())
    ]
    lines = (
        []
        if ends is None
        else [
            f'<line x1="{(place + 0.45) * wide:.2f}" x2="{(place + 0.45) * wide:.2f}" y1="{ground - most * scale:.2f}" '
            f'y2="{ground - least * scale:.2f}"/>'
            for place, (least, most) in enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
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


def _map(estimate: DrawnCells) -> str:
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


class DrawnGrid(DrawnBars, Protocol):
    """What is drawn of an estimate."""

    @property
    def columns(self) -> Schema:
        """The columns that the axes are."""

    @property
    def cells(self) -> NDArray[np.float64]:
        """The counts."""


def plot_estimate(estimate: DrawnGrid) -> Any:
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
