"""Accuracy over epsilon of classification Options on public tables: the thesis's figure 4.2."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable
from jostle.figures.sources import Wanted, found_tables
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.progress import Stage, stage
from jostle.tables.infer import infer_public
from jostle.tables.table import Table
from jostle.tasks.answers import new_figure

EPSILONS = (0.05, 0.1, 0.5, 1, 2, 5)
FIVE = {
    "FriedmanSchuster": "A1 Friedman & Schuster",
    "Mohammed": "A2 Mohammed et al.",
    "Jagannathan": "A3 Jagannathan et al.",
    "PatilSingh": "A4 Patil & Singh",
    "FletcherIslam": "A5 Fletcher & Islam",
}
FLOOR = "Majority"
TABLES = (Wanted("hiv1625"), Wanted("nursery", "nursery"), Wanted("cmc", "contraceptive"))
TRAIN_SHARE = 0.7
TRIALS = 10

Accuracies = Mapping[tuple[str, float], Sequence[float]]
"""Of each Option at each epsilon, in the order of trials."""


@frozen
class FitScore:
    """What an Option's model got right on rows held out, and how long it took to learn."""

    accuracy: float
    seconds: float


def split_places(rows: int, trial: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that are learned from in a trial, and those that are tested on: seven in ten, and the rest."""
    order = np.random.default_rng(trial).permutation(rows).astype(np.int64)
    size = int(TRAIN_SHARE * rows)
    return order[:size], order[size:]


def fitted(option: str, epsilon: float, table: Table, test: Any, trial: int) -> FitScore:
    """The results of an Option on public rows; its noise comes from the trial's number."""
    db = rehearse(table, epsilon=epsilon, seed=trial)
    start = time.perf_counter()
    model = get(option)(db, epsilon=epsilon)
    seconds = time.perf_counter() - start
    return FitScore(float(model.score(test)), seconds)


def measured(
    table: PublicTable, options: Sequence[str], trials: int, said: Stage
) -> dict[tuple[str, float], list[float]]:
    """Accuracies on a public table: bounds and values are taken off the whole of it, as public."""
    frame = table.columns
    schema = infer_public(frame, label=table.label)
    found: dict[tuple[str, float], list[float]] = {(name, epsilon): [] for name in options for epsilon in EPSILONS}
    for trial in range(trials):
        learned, tested = (frame.take(places) for places in split_places(len(frame), trial))
        rows = Table.from_frame(learned, schema)
        for (name, epsilon), kept in found.items():
            kept.append(fitted(name, epsilon, rows, tested, trial).accuracy)
        said.at(trial + 1, trials)
    return found


def draw_accuracy(tables: Mapping[str, Accuracies], path: Path) -> None:
    """Draw accuracy over epsilon for the five published algorithms, a part for each table."""
    figure = new_figure(4.6 * len(tables), 4.2, layout="constrained")
    for axes, (name, cells) in zip(np.atleast_1d(figure.subplots(1, len(tables))), tables.items(), strict=True):
        at = sorted({epsilon for _, epsilon in cells})
        for option, label in FIVE.items():
            means = [float(np.mean(cells[option, epsilon])) for epsilon in at]
            errors = [float(np.std(cells[option, epsilon], ddof=1)) for epsilon in at]
            axes.errorbar(at, means, yerr=errors, marker="o", markersize=3, capsize=2, linewidth=1.2, label=label)
        floor = [float(np.mean(cells[FLOOR, epsilon])) for epsilon in at]
        axes.plot(at, floor, color="0.6", linestyle=":", label=FLOOR)
        axes.set(xscale="log", title=name, xlabel="epsilon", ylabel="held-out accuracy")
        axes.grid(visible=True, color="0.9")
    figure.get_axes()[0].legend(fontsize=7)
    figure.savefig(path, dpi=130)


def thesis_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
    """Draw the figure, and return what is to be said of it."""
    found, missing = found_tables(TABLES, folder)
    times, measures = trials or TRIALS, {}
    for name, table in found.items():
        with stage(name) as going:
            measures[name] = measured(table, (*FIVE, FLOOR), times, going)
    draw_accuracy(measures, out)
    said = [
        f"{name}: at epsilon 1, {', '.join(f'{option} {np.mean(cells[option, 1]):.3f}' for option in (*FIVE, FLOOR))}"
        for name, cells in measures.items()
    ]
    return (*said, *missing)
