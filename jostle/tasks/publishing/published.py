"""Published data: rows in place of private ones, made of released numbers alone, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError, shown
from jostle.files.kinds import writing
from jostle.markup import bar_table, fact_table, in_picture, words
from jostle.privacy.amounts import show_amount
from jostle.tables.columns import MISSING, Numeric
from jostle.tables.frames import Frames, as_frame, write_frame
from jostle.tables.schema import Schema
from jostle.tasks.answers import new_figure

ACROSS = 3
MOST_NAMED = 20
"""Groups of a column that are named below their bars."""
MOST_LETTERS = 20
"""Of a longer name, its beginning."""


def _short(name: str) -> str:
    return in_picture(name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…")


Integers = NDArray[np.int64]

SPREAD_SEED = 0
"""Which value of a group a row gets is drawn anew, but the same each time: it says nothing of the rows."""
MOST_DRAWN, MOST_GROUPS = 12, 24
"""Columns, and groups of one, that are drawn."""
SHOWN_ROWS = 10
MOST_JOINED = 3
"""Values of a group that are named each, where they do not stand side by side."""


@frozen(eq=False, repr=False)
class PublishedColumn:
    """What is published of one column: which codes go together, and the noisy counts that the rows were made from."""

    name: str
    groups: Integers
    """The group of each of the column's codes, from 0 up."""
    counts: NDArray[np.float64]
    """The noisy number of rows of each group, as it was released or as sums of what was."""


@frozen(eq=False, repr=False, kw_only=True)
class Published:
    """Rows in place of private ones, with original column names and values.

    It holds the schema, which is public, and numbers released by mechanisms or computed from such, so all that is made
    of it is covered by the privacy claim of the run that made it, however often it is used.
    """

    schema: Schema
    columns: tuple[PublishedColumn, ...]
    """The columns that are published: some of the schema's, in its order."""
    cells: NDArray[np.integer[Any]]
    """Different rows, as groups of codes, a column for each that is published."""
    counts: Integers
    """How often each of them is there, from 1 up."""
    made_by: str = ""
    """The Option, with its parameters."""
    epsilon: Fraction | None = field(default=None)
    caution: str = ""
    """Where rows times epsilon are too few for the columns: that they are; else nothing."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def privacy(self) -> str:
        """The claim that covers the rows, and what they cost."""
        spent = "an unknown epsilon" if self.epsilon is None else f"epsilon {show_amount(self.epsilon)}"
        return (
            "These rows, and all that is made of them, are computed from numbers that "
            f"{self.made_by or 'an Option'} released at {spent} under {self.schema.neighbours}, and from public facts."
        )

    def codes(self) -> Integers:
        """A row of codes for each row: of a group of several, one of them by chance, all alike likely."""
        random = np.random.default_rng(SPREAD_SEED)
        groups = np.repeat(self.cells, self.counts, axis=0)
        codes = np.empty(groups.shape, dtype=np.int64)
        for index, column in enumerate(self.columns):
            order = np.argsort(column.groups, kind="stable")
            sizes = np.bincount(column.groups, minlength=len(column.counts))
            starts = np.cumsum(sizes) - sizes
            own = groups[:, index]
            codes[:, index] = order[starts[own] + random.integers(0, np.maximum(sizes[own], 1))]
        return codes

    def to_frame(self, library: Frames = "pyarrow") -> Any:
        """The rows as a frame: values as the schema declares them, the middle of a bin for a number or a date.

        A number that is in no bin, and an empty cell that is a value, are empty cells.
        """
        codes = self.codes()
        arrow = pa.table({name: self._values(index, codes[:, index]) for index, name in enumerate(self.names)})
        return as_frame(arrow, library)

    def _values(self, place: int, codes: Integers) -> pa.Array:
        released = self.columns[place]
        column = self.schema[released.name]
        if not isinstance(column, Numeric):
            labels = pa.array([None if label == MISSING else label for label in column.labels], pa.string())
            return labels.take(pa.array(codes))
        middles = np.full(column.size, np.nan)
        cuts, binned = column.cut_points, released.groups[: column.bin_count]
        for group in np.unique(binned).tolist():
            bins = np.flatnonzero(binned == group)
            middles[bins] = (cuts[bins[0]] + cuts[bins[-1] + 1]) / 2
        if column.clock is not None:
            return column.clock.moments(middles).take(pa.array(codes))
        return pa.array(middles[codes], from_pandas=True)

    def write(self, path: str | Path) -> None:
        """Write the rows to a file: Parquet if it is called so, else CSV."""
        with writing(path, OptionError) as place:
            write_frame(self.to_frame(), place)

    def marginal(self, name: str) -> Integers:
        """How many of the rows there are of each group of a column's codes."""
        place = self._place(name)
        held = np.zeros(len(self.columns[place].counts), dtype=np.int64)
        np.add.at(held, self.cells[:, place], self.counts)
        return held

    def _place(self, name: str) -> int:
        if not isinstance(name, str) or name not in self.names:
            raise OptionError(
                f"{shown(name)} is no published column", fix=f"one of {', '.join(map(shown, self.names))}"
            )
        return self.names.index(name)

    def group_names(self, name: str) -> tuple[str, ...]:
        """The name of each group of a column's codes: for bins side by side, from where to where they go."""
        released, column = self.columns[self._place(name)], self.schema[name]
        grouped = [np.flatnonzero(released.groups == group).tolist() for group in range(len(released.counts))]
        bins = range(column.bin_count) if isinstance(column, Numeric) else range(0)
        return tuple(_joined(codes, column.labels, bins) for codes in grouped)

    def text(self) -> str:
        """A text for people: what it is, and some of its rows."""
        rows = [list(self.names), *self._some()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*self._about(), "", *lines, *self._left()])

    def _about(self) -> list[str]:
        head = f"{self.rows:,} rows of {len(self.columns)} of {len(self.schema.names)} columns"
        return [head, *([self.caution] if self.caution else []), self.privacy]

    def _some(self) -> list[list[str]]:
        """Cells of some rows: like rows stand together, so those that are shown lie far apart."""
        shown = np.linspace(0, self.rows - 1, min(self.rows, SHOWN_ROWS)).astype(np.int64)
        return [[_cell(row[name]) for name in row] for row in self.to_frame().take(pa.array(shown)).to_pylist()]

    def _left(self) -> list[str]:
        more = self.rows - SHOWN_ROWS
        return [f"... and {more:,} more rows"] if more > 0 else []

    def data(self) -> dict[str, Any]:
        """The different rows, and how often each is there, as plain data."""
        return {
            "columns": list(self.names),
            "groups": {name: list(self.group_names(name)) for name in self.names},
            "cells": self.cells.tolist(),
            "counts": self.counts.tolist(),
            "made_by": self.made_by,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
        }

    def plot(self) -> Any:
        """A matplotlib figure: each column's counts among the rows beside the noisy ones; needs `report`."""
        count = len(self.columns)
        down = -(-count // ACROSS)
        figure = new_figure(4.2 * min(count, ACROSS), 0.6 + 2.9 * down)
        figure.suptitle(in_picture(self.made_by))
        for index, column in enumerate(self.columns):
            axes = figure.add_subplot(down, min(count, ACROSS), index + 1)
            places = np.arange(len(column.counts))
            axes.bar(places, self.marginal(column.name), width=0.8, color="#9ebcda", label="published rows")
            axes.plot(places, column.counts, "o", color="#8c2d04", markersize=3, label="noisy counts")
            axes.set_title(in_picture(column.name), fontsize=9)
            axes.tick_params(labelsize=6)
            if len(places) <= MOST_NAMED:
                names = [_short(name) for name in self.group_names(column.name)]
                axes.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor")
            if not index:
                axes.legend(fontsize=6)
        return figure

    def _repr_html_(self) -> str:
        about = "".join(f"<p>{words(line)}</p>" for line in self._about())
        some = f"{fact_table(self.names, self._some())}{''.join(map(words, self._left()))}"
        return f"{about}{some}{''.join(map(self._bars, self.names[:MOST_DRAWN]))}"

    def _bars(self, name: str) -> str:
        """How many of the rows there are of each group of a column, drawn."""
        groups, counts = self.group_names(name), self.marginal(name).tolist()
        rows = list(zip(groups[:MOST_GROUPS], counts, strict=False))
        more = len(groups) - MOST_GROUPS
        left = f"<p>and {more:,} more groups</p>" if more > 0 else ""
        return f"<h4>{words(name)}</h4>{bar_table('', rows)}{left}"

    def __repr__(self) -> str:
        return f"<Published: {self.rows:,} rows of {len(self.columns)} columns, by {self.made_by or 'an Option'}>"

    def __str__(self) -> str:
        return self.text()


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _joined(codes: Sequence[int], labels: Sequence[str], bins: range) -> str:
    """The name of a group of codes."""
    if len(codes) < 2:
        return labels[codes[0]] if codes else "none"
    first, last = labels[codes[0]], labels[codes[-1]]
    if codes[-1] - codes[0] >= len(codes):  # others lie between
        named = [labels[code] for code in codes[:MOST_JOINED]]
        return ", ".join(named) + (f" and {len(codes) - MOST_JOINED} more" if len(codes) > MOST_JOINED else "")
    if codes[-1] in bins:
        return f"{first.partition(', ')[0]}, {last.rpartition(', ')[2]}"
    return f"{first} to {last}"
