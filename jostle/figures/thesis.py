"""The thesis's figures: 1.1, a map as each grid Option estimates it, and 4.2, accuracy over epsilon of five trees."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicGrid, PublicTable, coarsened, drawn
from jostle.corpora.folders import points_grid
from jostle.corpora.generators import generated_grids
from jostle.errors import CorpusError
from jostle.figures.sources import Wanted, found_tables
from jostle.options import get, names
from jostle.privacy.amounts import Amount
from jostle.privacy.opening import rehearse
from jostle.progress import Stage, stage
from jostle.tables.infer import infer_public
from jostle.tables.table import Table
from jostle.tasks import RANGES
from jostle.tasks.answers import new_figure
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.instances import scaled_l2

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
    accuracies: dict[tuple[str, float], list[float]] = {(name, epsilon): [] for name in options for epsilon in EPSILONS}
    for trial in range(trials):
        learned, tested = (frame.take(places) for places in split_places(len(frame), trial))
        rows = Table.from_frame(learned, schema)
        for (name, epsilon), kept in accuracies.items():
            kept.append(fitted(name, epsilon, rows, tested, trial).accuracy)
        said.at(trial + 1, trials)
    return accuracies


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


def accuracy_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
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


Floats = NDArray[np.float64]
SHOWN = tuple(name for name in names("grid") if name not in {"PerturbedHistogram", "Uniform"})
SIDE, RECORDS, EPSILON = 64, 40_000, "0.1"
ACROSS = 4


@frozen(eq=False)
class Picture:
    """A map, and how far its random ranges are off: the scaled error of 2,000 of them; None for the true one."""

    name: str
    cells: Floats
    error: float | None = None


def pictures_of(counts: NDArray[np.int64], epsilon: Amount, options: Sequence[str] = SHOWN) -> list[Picture]:
    """The true map, and what each Option makes of it."""
    table, workload = Table.from_grid(counts), Workload.random_ranges(counts.shape)
    truth, records = workload.answers(counts), int(counts.sum())
    made = [Picture("true counts", counts.astype(np.float64))]
    with stage("estimating a map") as said:
        for name in options:
            said.at(len(made) - 1, len(options))
            estimate = get(name, task=RANGES)(rehearse(table, epsilon=epsilon, seed=1), workload, epsilon=epsilon)
            error = scaled_l2(truth, estimate.answers(workload), records)
            made.append(Picture(name, np.asarray(estimate.cells), error))
    return made


def draw_maps(pictures: Sequence[Picture], title: str, path: Path) -> None:
    """Draw maps in the same colours, on a logarithmic scale; the first axis goes up."""
    rows = -(-len(pictures) // ACROSS)
    figure = new_figure(13, 3.5 * rows, layout="constrained")
    parts = figure.subplots(rows, ACROSS, squeeze=False).ravel()
    brightest = float(np.log1p(pictures[0].cells.max()))
    for axes, picture in zip(parts, pictures, strict=False):
        axes.imshow(np.log1p(np.maximum(picture.cells, 0)), origin="lower", vmin=0, vmax=brightest, cmap="magma")
        axes.set_title(picture.name if picture.error is None else f"{picture.name}: {picture.error:.2g}", fontsize=10)
    for axes in parts:
        axes.axis("off")
    figure.suptitle(title)
    figure.savefig(path, dpi=80)


def made_up_map() -> PublicGrid:
    """The map that everybody has: bells of many widths, of so many records, made by a generator."""
    grid = next(
        each for each in generated_grids(12).grids if each.name.startswith("mixture") and "256x256" in each.name
    )
    counts = coarsened(grid.counts, (SIDE, SIDE))
    return PublicGrid.of("made up", drawn(counts, RECORDS, np.random.default_rng(0)))


def map_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:  # noqa: ARG001 - one run of each
    """Draw the figure of a file of points, or of a map that is made up, and return what is to be said of it."""
    if folder is not None and not folder.is_file():
        raise CorpusError(f"{folder} is no file of points", fix="--data FILE.csv.gz, with the columns lat and lon")
    grid = made_up_map() if folder is None else points_grid(folder, (SIDE, SIDE), columns=("lat", "lon"))
    pictures = pictures_of(grid.counts, EPSILON)
    title = f"{grid.name}: {grid.total:,} points, {SIDE} x {SIDE} cells, epsilon {EPSILON}"
    draw_maps(pictures, f"{title}; scaled error of 2,000 random ranges", out)
    errors = ", ".join(f"{picture.name} {picture.error:.2g}" for picture in pictures if picture.error is not None)
    said = f"{title}; scaled errors: {errors}"
    return (said,) if folder is not None else (said, "the map is made up; --data FILE.csv.gz draws one of points")
