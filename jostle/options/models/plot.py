"""Draw trees, and what the values of attributes say in additive models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.markup import in_picture
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema
from jostle.tasks.answers import new_figure

MOST_LEAVES = 120
"""More leaves than this cannot be read side by side."""
MOST_LEVELS = 40
MOST_TERMS, ACROSS = 24, 4
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
"""Behind a branch's words, so that its line does not run through them."""
MOST_NAMED = 20
"""Values of an attribute that are named below what they add."""


class DrawnTree(Protocol):
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


def plot_tree(model: DrawnTree, tree: int = 0) -> Any:
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
    many = model.routing.trees
    axes.set_title(in_picture(model.made_by) + (f", tree {tree + 1} of {many:,}" if many > 1 else ""))
    axes.invert_yaxis()
    for parent, child, label in edges:
        (x0, y0), (x1, y1) = places[parent], places[child]
        axes.plot([x0, x1], [y0, y1], color="0.7", linewidth=0.8, zorder=1)
        at = (x0 + 0.62 * (x1 - x0), y0 + 0.62 * (y1 - y0))
        axes.text(*at, in_picture(label), fontsize=6, color="0.3", va="center", ha="center", bbox=PAPER, zorder=2)
    for node, (x, y) in places.items():
        inner = model.routing.attribute[node] >= 0
        words = model.routing.columns[int(model.routing.attribute[node])] if inner else model.verdict(node)
        box = {"boxstyle": "round", "facecolor": "white" if inner else "#dde8f4", "edgecolor": "0.5", "linewidth": 0.6}
        axes.text(x, y, in_picture(words), fontsize=7, ha="center", va="center", bbox=box, zorder=3)
    return figure


class DrawnTerm(Protocol):
    """What the codes of one or more attributes add to each class."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes."""
        ...

    @property
    def weights(self) -> NDArray[np.float64]:
        """Cells by classes."""
        ...


class DrawnTerms(Protocol):
    """What is drawn of an additive model."""

    @property
    def schema(self) -> Schema:
        """The columns."""
        ...

    @property
    def classes(self) -> tuple[str, ...]:
        """What is predicted."""
        ...

    @property
    def made_by(self) -> str:
        """What is written above."""
        ...

    @property
    def start(self) -> NDArray[np.float64]:
        """What each class begins with: a logarithm of odds."""
        ...

    @property
    def terms(self) -> Sequence[DrawnTerm]:
        """What is added up."""
        ...


def plot_terms(model: DrawnTerms) -> Any:
    """A matplotlib figure with a panel for each term, those that say most first: what each value adds to each class.

    What it adds is a logarithm of odds, beside its mean over the classes: blue speaks for a class, red against it.
    """
    added = [(term, term.weights - term.weights.mean(axis=1, keepdims=True)) for term in model.terms]
    added.sort(key=lambda each: -float(np.ptp(each[1])) if each[1].size else 0.0)
    shown = added[:MOST_TERMS]
    down = max(1, -(-len(shown) // ACROSS))
    figure = new_figure(0.8 + 4.2 * min(max(len(shown), 1), ACROSS), 0.8 + 2.9 * down, layout="constrained")
    rest = len(added) - len(shown)
    figure.suptitle(in_picture(model.made_by) + ("" if shown else ": the same for every row"))
    if not shown:
        chances = np.exp(model.start - model.start.max())
        axes = figure.add_subplot()
        axes.barh(list(map(in_picture, model.classes)), chances / chances.sum(), color="#9ebcda")
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("chance")
        return figure
    most = max((float(np.abs(weights).max()) for _, weights in shown if weights.size), default=0.0) or 1.0
    for index, (term, weights) in enumerate(shown):
        axes = figure.add_subplot(down, min(len(shown), ACROSS), index + 1)
        image = axes.imshow(weights.T, cmap="RdBu", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
        axes.set_title(in_picture(", ".join(term.columns)), fontsize=9)
        axes.set_yticks(range(len(model.classes)), list(map(in_picture, model.classes)), fontsize=6)
        labels = model.schema[term.columns[0]].labels if len(term.columns) == 1 else ()
        if 0 < len(labels) <= MOST_NAMED:
            axes.set_xticks(range(len(labels)), list(map(in_picture, labels)), rotation=60, ha="right", fontsize=6)
        else:
            axes.set_xticks([])
    figure.colorbar(image, ax=figure.axes, label="added to the log-odds of a class", shrink=0.9)
    if rest:
        figure.text(0.01, 0.005, f"and {rest:,} more, which say less", fontsize=7)
    return figure


def _place(  # noqa: PLR0917 - one call site, all of it state of one walk
    model: DrawnTree,
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
