"""Draw a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from jostle.errors import OptionError
from jostle.tables.routes import Routing
from jostle.tasks.figure import new_figure

__all__ = ["plot_tree"]

MOST_LEAVES = 120
"""More leaves than this cannot be read side by side."""
MOST_LEVELS = 40


class Drawn(Protocol):
    """What is drawn of a model: its trees, and their nodes and branches in words."""

    @property
    def routing(self) -> Routing:
        """The trees."""
        ...

    @property
    def made_by(self) -> str:
        """What is written above."""
        ...

    def verdict(self, node: int) -> str:
        """What a leaf says."""
        ...

    def branches(self, node: int) -> Iterator[tuple[str, int]]:
        """The branches of a node, each with where it leads."""
        ...


def plot_tree(model: Drawn, tree: int = 0) -> Any:
    """A matplotlib figure: nodes from left to right by depth, leaves one below the other."""
    if not 0 <= tree < model.routing.trees:
        raise OptionError(f"there is no tree {tree}", fix=f"tree = 0 to {model.routing.trees - 1}")
    places: dict[int, tuple[int, float]] = {}
    edges: list[tuple[int, int, str]] = []
    leaves = _place(model, int(model.routing.roots[tree]), 0, [0], places, edges)
    depth = max(level for level, _ in places.values())
    figure = new_figure(2.5 + 3.2 * depth, 0.8 + 0.32 * leaves)
    axes = figure.add_subplot()
    axes.axis("off")
    axes.set_title(model.made_by)
    axes.invert_yaxis()
    for parent, child, label in edges:
        (x0, y0), (x1, y1) = places[parent], places[child]
        axes.plot([x0, x1], [y0, y1], color="0.7", linewidth=0.8, zorder=1)
        axes.text(x0 + 0.62 * (x1 - x0), y0 + 0.62 * (y1 - y0), label, fontsize=6, color="0.3", va="center")
    for node, (x, y) in places.items():
        inner = model.routing.attribute[node] >= 0
        words = model.routing.columns[int(model.routing.attribute[node])] if inner else model.verdict(node)
        box = {"boxstyle": "round", "facecolor": "white" if inner else "#dde8f4", "edgecolor": "0.5", "linewidth": 0.6}
        axes.text(x, y, words, fontsize=7, ha="center", va="center", bbox=box, zorder=2)
    return figure


def _place(  # noqa: PLR0917 - one call site, all of it state of one walk
    model: Drawn,
    node: int,
    level: int,
    leaves: list[int],
    places: dict[int, tuple[int, float]],
    edges: list[tuple[int, int, str]],
) -> int:
    if model.routing.attribute[node] < 0:
        places[node] = (level, float(leaves[0]))
        leaves[0] += 1
        if leaves[0] > MOST_LEAVES:
            raise OptionError(f"the tree has more than {MOST_LEAVES} leaves", fix="print(model), or a smaller depth")
        return leaves[0]
    if level >= MOST_LEVELS:
        raise OptionError(f"the tree has more than {MOST_LEVELS} levels", fix="print(model), or a smaller depth")
    below = []
    for branch, child in model.branches(node):
        edges.append((node, child, branch.partition(" = ")[2]))
        _place(model, child, level + 1, leaves, places, edges)
        below.append(places[child][1])
    places[node] = (level, sum(below) / len(below))
    return leaves[0]
