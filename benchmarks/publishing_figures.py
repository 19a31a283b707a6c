"""Vinterbo's figures 1 and 2 again, drawn of what `benchmarks/publishing.py` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

__all__ = ["BINARY", "SWEPT", "TABLES", "areas", "draw", "estimated"]

Facts = Mapping[str, Mapping[str, Any]]

TABLES = ("iris", "satellite", "adult")
BINARY = ("adult",)
SWEPT = {
    "epsilon": ("0.1", "0.3", "1", "3", "10"),
    "k": ("1", "2", "3", "4", "6"),
    "gamma": ("1/10", "1/4", "1/2", "3/4", "9/10"),
}


def areas(known: Facts, name: str, end: str) -> list[float]:
    """The areas under the curve of a table's folds, by what a key ends with."""
    return [float(f["auc"]) for key, f in known.items() if key.startswith(f"vinterbo {name} ") and key.endswith(end)]


def estimated(known: Facts, name: str, swept: str) -> float:
    """What the paper's rules estimate of a table, and epsilon 1."""
    return 1.0 if swept == "epsilon" else float(known[f"vinterbo {name} estimated"][swept])


def draw(known: Facts, folder: Path) -> None:
    """Write publishing_1.png and publishing_2.png."""
    _boxes(known).savefig(folder / "publishing_1.png", dpi=110)
    _sweeps(known).savefig(folder / "publishing_2.png", dpi=110)


def _boxes(known: Facts) -> Figure:
    """Areas over the folds at epsilon 1: without privacy, of private models, of published rows."""
    figure = Figure(figsize=(9, 3.4), layout="tight")
    for place, name in enumerate(TABLES):
        binary = name in BINARY
        ends = {
            "OLR" if binary else "OMLR": " OLR",
            "PLR" if binary else "PMLR": " PrivateLogistic" if binary else " PMLR",
            "HLR" if binary else "HMLR": " epsilon=1",
        }
        axes = figure.add_subplot(1, len(TABLES), place + 1)
        # The whiskers are matplotlib's own: the most extreme within 1.5 interquartile ranges, as in the paper.
        axes.boxplot([areas(known, name, end) for end in ends.values()], tick_labels=list(ends))
        axes.set_title(f"{name}, epsilon = 1", fontsize=9)
        axes.set_ylabel("area under the curve" if not place else "")
    return figure


def _sweeps(known: Facts) -> Figure:
    """Median areas by each parameter, the others as estimated, and where the estimate is."""
    figure = Figure(figsize=(9, 7.5), layout="tight")
    for down, name in enumerate(TABLES):
        for across, (swept, values) in enumerate(SWEPT.items()):
            found = {value: areas(known, name, f" {swept}={value}") for value in values}
            medians = {float(Fraction(value)): float(np.median(each)) for value, each in found.items() if each}
            axes = figure.add_subplot(len(TABLES), len(SWEPT), down * len(SWEPT) + across + 1)
            axes.plot(list(medians), list(medians.values()), color="#333333", marker=".", linewidth=1)
            here = float(np.median(areas(known, name, " epsilon=1")))
            axes.plot([estimated(known, name, swept)], [here], "o", color="#8c2d04", label="estimated")
            axes.set_xlabel(swept, fontsize=8)
            axes.tick_params(labelsize=7)
            if swept == "epsilon":
                axes.set_xscale("log")
                axes.set_ylabel(name, fontsize=9)
            _zoom(axes, [*medians.values(), here])
    return figure


def _zoom(axes: Any, values: Sequence[float]) -> None:
    margin = max(0.01, (max(values) - min(values)) / 10)
    axes.set_ylim(min(values) - margin, max(values) + margin)
