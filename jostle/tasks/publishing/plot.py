"""Draw published data: its marginals beside the noisy counts they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.markup import in_picture
from jostle.tasks.figure import new_figure

__all__ = ["plot_marginals"]

ACROSS = 3
MOST_NAMED = 20
"""Groups of a column that are named below their bars."""
MOST_LETTERS = 20
"""Of a longer name, its beginning."""


class DrawnColumn(Protocol):
    """What is drawn of a column."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def counts(self) -> NDArray[np.float64]:
        """The noisy number of rows of each group."""


class DrawnData(Protocol):
    """What is drawn of published data."""

    @property
    def columns(self) -> Sequence[DrawnColumn]:
        """The columns."""

    @property
    def made_by(self) -> str:
        """The Option."""

    def marginal(self, name: str) -> NDArray[np.int64]:
        """Number of published rows in each group of a column."""

    def group_names(self, name: str) -> Sequence[str]:
        """The name of each group of a column."""


def plot_marginals(published: DrawnData) -> Any:
    """A matplotlib figure with a panel for each column."""
    count = len(published.columns)
    down = -(-count // ACROSS)
    figure = new_figure(4.2 * min(count, ACROSS), 0.6 + 2.9 * down)
    figure.suptitle(in_picture(published.made_by))
    for place, column in enumerate(published.columns):
        axes = figure.add_subplot(down, min(count, ACROSS), place + 1)
        places = np.arange(len(column.counts))
        axes.bar(places, published.marginal(column.name), width=0.8, color="#9ebcda", label="published rows")
        axes.plot(places, column.counts, "o", color="#8c2d04", markersize=3, label="noisy counts")
        axes.set_title(in_picture(column.name), fontsize=9)
        axes.tick_params(labelsize=6)
        if len(places) <= MOST_NAMED:
            names = [_short(name) for name in published.group_names(column.name)]
            axes.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor")
        if not place:
            axes.legend(fontsize=6)
    return figure


def _short(name: str) -> str:
    return in_picture(name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…")
