"""Vinterbo's figures 1 and 2 (ECML PKDD 2012): areas under the curve of models on published rows, and on the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle.corpora.databases import PublicTable
from jostle.errors import ChoiceError, FewRowsWarning
from jostle.figures.areas import (
    FOLDS,
    PLAIN,
    PUBLISHED,
    SWEPT,
    TableAreas,
    estimated_plan,
    folds_of,
    private_model,
    swept_ways,
)
from jostle.figures.sources import Wanted, found_tables
from jostle.progress import stage
from jostle.tables.infer import infer_public
from jostle.tables.schema import Schema
from jostle.tasks.figure import new_figure

__all__ = ["BOX_FOLDS", "SWEEP_FOLDS", "boxes_figure", "draw_boxes", "draw_sweeps", "sweeps_figure"]

TABLES = (Wanted("iris", "iris"), Wanted("satellite", "satimage"), Wanted("adult", stand_in="ada"))
BOX_FOLDS, SWEEP_FOLDS = 5, 3
"""How many of the ten folds are gone through unless more are asked for: all of them take several minutes."""

Ways = Callable[[Schema], Sequence[str]]


def draw_boxes(tables: Mapping[str, TableAreas], path: Path) -> None:
    """Draw areas over the folds at epsilon 1: without privacy, of private models, of published rows."""
    figure = new_figure(3 * len(tables), 3.4, layout="tight")
    for place, (name, table) in enumerate(tables.items()):
        several = "" if table.binary else "M"
        ways = {f"O{several}LR": PLAIN, f"P{several}LR": table.model, f"H{several}LR": PUBLISHED}
        axes = figure.add_subplot(1, len(tables), place + 1)
        # The whiskers are matplotlib's own: the most extreme within 1.5 interquartile ranges, as in the paper.
        axes.boxplot([table.areas[way] for way in ways.values()], tick_labels=list(ways))
        axes.set_title(f"{name}, epsilon = 1", fontsize=9)
        axes.set_ylabel("area under the curve" if not place else "")
    figure.savefig(path, dpi=110)


def draw_sweeps(tables: Mapping[str, TableAreas], path: Path) -> None:
    """Draw median areas by each parameter, the others as estimated, and where the estimate is."""
    figure = new_figure(9, 2.5 * len(tables), layout="tight")
    for down, (name, table) in enumerate(tables.items()):
        for across, (swept, values) in enumerate(SWEPT.items()):
            found = {Fraction(value): table.areas.get(f"{swept}={value}", ()) for value in values}
            medians = {float(value): float(np.median(areas)) for value, areas in found.items() if len(areas)}
            axes = figure.add_subplot(len(tables), len(SWEPT), down * len(SWEPT) + across + 1)
            axes.plot(list(medians), list(medians.values()), color="#333333", marker=".", linewidth=1)
            here = float(np.median(table.areas[PUBLISHED]))
            at = 1.0 if swept == "epsilon" else float(table.estimated[swept])
            axes.plot([at], [here], "o", color="#8c2d04", label="estimated")
            axes.set_xlabel(swept, fontsize=8)
            axes.tick_params(labelsize=7)
            if swept == "epsilon":
                axes.set_xscale("log")
                axes.set_ylabel(name, fontsize=9)
            _zoom(axes, [*medians.values(), here])
    figure.savefig(path, dpi=110)


def _zoom(axes: Any, values: Sequence[float]) -> None:
    margin = max(0.01, (max(values) - min(values)) / 10)
    axes.set_ylim(min(values) - margin, max(values) + margin)


def boxes_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
    """Draw figure 1, and return what is to be said of it."""
    folds = _folds(trials, BOX_FOLDS)
    tables, missing = _measured(folder, folds, _boxed)
    draw_boxes(tables, out)
    said = [
        f"{name}: median area at epsilon 1: {PLAIN} {np.median(table.areas[PLAIN]):.3f}, {table.model} "
        f"{np.median(table.areas[table.model]):.3f}, on published rows {np.median(table.areas[PUBLISHED]):.3f}"
        for name, table in tables.items()
    ]
    return (*said, _of_folds(folds), *missing)


def sweeps_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
    """Draw figure 2, and return what is to be said of it."""
    folds = _folds(trials, SWEEP_FOLDS)
    tables, missing = _measured(folder, folds, swept_ways)
    draw_sweeps(tables, out)
    said = [
        f"{name}: median area on published rows {np.median(table.areas[PUBLISHED]):.3f} with k estimated as "
        f"{table.estimated['k']:.0f} and gamma as {table.estimated['gamma']:.3g}; the best of those tried "
        f"{max(float(np.median(areas)) for way, areas in table.areas.items() if not way.startswith('epsilon')):.3f}"
        for name, table in tables.items()
    ]
    return (*said, _of_folds(folds), *missing)


def _boxed(schema: Schema) -> list[str]:
    return [PLAIN, private_model(binary=len(schema.classes) == 2), PUBLISHED]


def _folds(trials: int | None, default: int) -> int:
    if trials is not None and trials > FOLDS:
        raise ChoiceError(f"there are {FOLDS} folds, not {trials}", fix=f"--trials {FOLDS}, or fewer")
    return default if trials is None else trials


def _of_folds(folds: int) -> str:
    return (
        "all ten folds" if folds == FOLDS else f"{folds} of ten folds; --trials {FOLDS} goes through all, as the paper"
    )


def _measured(folder: Path | None, folds: int, ways: Ways) -> tuple[dict[str, TableAreas], tuple[str, ...]]:
    found, missing = found_tables(TABLES, folder)
    made = {}
    for name, table in found.items():
        made[name] = _areas(name, table, folds, ways)
    return made, missing


def _areas(name: str, table: PublicTable, folds: int, ways: Ways) -> TableAreas:
    """The areas on a public table: bounds and values are taken off the whole of it, as public."""
    rows = table.columns.drop_null()  # as the paper, which leaves rows with unknown cells out
    schema = infer_public(rows, label=table.label)
    wanted = ways(schema)
    areas: dict[str, list[float]] = {way: [] for way in wanted}
    with warnings.catch_warnings(), stage(name) as said:
        warnings.simplefilter("ignore", FewRowsWarning)  # of few rows, which is what is measured
        for fold in folds_of(rows, schema, folds):
            for place, way in enumerate(wanted):
                areas[way].append(fold.area(way).area)
                said.at(fold.number * len(wanted) + place + 1, folds * len(wanted))
    return TableAreas(len(schema.classes) == 2, areas, estimated_plan(schema, len(rows)))
