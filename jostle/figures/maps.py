"""A map as it is and as each grid Option estimates it, side by side: the thesis's figure 1.1, DPComp's picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicGrid, coarsened, drawn
from jostle.corpora.folders import points_grid
from jostle.corpora.generators import generated_grids
from jostle.errors import CorpusError
from jostle.options import get, names
from jostle.privacy.amounts import Amount
from jostle.privacy.opening import rehearse
from jostle.progress import stage
from jostle.tables.table import Table
from jostle.tasks import RANGES
from jostle.tasks.answers import new_figure
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.instances import scaled_l2

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
    found = made_up_map() if folder is None else points_grid(folder, (SIDE, SIDE), columns=("lat", "lon"))
    pictures = pictures_of(found.counts, EPSILON)
    title = f"{found.name}: {found.total:,} points, {SIDE} x {SIDE} cells, epsilon {EPSILON}"
    draw_maps(pictures, f"{title}; scaled error of 2,000 random ranges", out)
    errors = ", ".join(f"{picture.name} {picture.error:.2g}" for picture in pictures if picture.error is not None)
    said = f"{title}; scaled errors: {errors}"
    return (said,) if folder is not None else (said, "the map is made up; --data FILE.csv.gz draws one of points")
