"""Draw an estimate of a grid of one axis, or of two."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.markup import in_picture
from jostle.tables.columns import Column, Numeric
from jostle.tables.schema import Schema
from jostle.tasks.figure import new_figure
from jostle.tasks.ranges.drawing import LEVEL, DrawnBars, ends_of
from jostle.tasks.ranges.units import edges_of

__all__ = ["plot_estimate"]

MOST_BARS = 4096
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
        ends = ends_of(estimate) if cells.size <= MOST_BARS else None
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
