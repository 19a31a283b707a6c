"""Compare the grid Options with DPBench's own code, cell by cell: the tables of docs/benchmarks/histograms.md.

    python benchmarks/histograms.py --peers dpcomp_cells.csv --data dpbench [--trials 10] [--only DAWA,MWEM]

Every cell is made as the peer's was: s records drawn from the data set's shape, coarsened to the cell's grid; 2,000
random ranges (the peer's own: sizes uniform, places uniform, seed 9001) or all prefixes; error |Wx - Wx^|_2 /
(queries * s), mean of the trials. Results are added to a CSV as they come (--results), and runs already there are not
repeated. With --roles RESULTS, a folder of what `benchmarks/fresh.py` wrote, there is a section on databases by role.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sides import by_role

import jostle
from jostle import options
from jostle.options.ranges.base import GridOption
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.instances import scaled_l2

FILES = {
    "ADULT": "1D/ADULTFRANK.n4096.npy",
    "NETTRACE": "1D/NETTRACE.n4096.npy",
    "PATENT": "1D/PATENT.n4096.npy",
    "BIDS-ALL": "1D/bids.npy",
    "ADULT-2D": "2D/Adult_2D_256_256.npy",
    "SF-CABS-E": "2D/cabspottingE_256_256.npy",
    "GOWALLA": "2D/checkin_256_256.npy",
}
SHAPES = {"1d1024": (1024,), "1d4096": (4096,), "1dprefix": (1024,), "2d64": (64, 64), "2d128": (128, 128)}
PEERS = {
    "AHP": ("AHP", "AHP*"),
    "AdaptiveGrid": ("AGrid",),
    "DAWA": ("DAWA", "DAWA(float)"),
    "GreedyH": ("GreedyH",),
    "HierarchicalB": ("HB", "H"),
    "Identity": ("Identity",),
    "MWEM": ("MWEM", "MWEM*"),
    "Privelet": ("Privelet",),
    "QuadTree": ("QuadTree",),
    "Uniform": ("Uniform",),
    "UniformGrid": ("UGrid",),
}
FREE_TOTAL = {"MWEM", "MWEM*", "AHP*", "UGrid", "AGrid", "SF"}
UNSOUND = {"EFPA", "DPCube"}


class Cell(NamedTuple):
    """One line of the comparison."""

    grid: str
    data: str
    scale: int
    epsilon: str


class Figure(NamedTuple):
    """What was measured in a cell."""

    error: float
    seconds: float


Figures = dict[tuple[Cell, str], Figure]


def mean_ratio(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def read_peers(path: Path) -> Figures:
    """Return the peer's errors and seconds."""
    with path.open(newline="") as file:
        return {
            (Cell(row["grid"], row["dataset"], int(float(row["scale"])), row["eps"]), row["algorithm"]): Figure(
                float(row["L2"]), float(row["seconds_median"])
            )
            for row in csv.DictReader(file)
        }


@lru_cache(maxsize=8)
def peer_workload(grid: str) -> Workload:
    """Return the queries the peer was asked."""
    shape = SHAPES[grid]
    if grid == "1dprefix":
        return Workload.prefixes(shape)
    generator = np.random.RandomState(9001)  # the peer's generator, for its queries
    low, high = [], []
    for _ in range(2000):
        sides = [generator.randint(1, side + 1) for side in shape]
        corner = [generator.randint(0, side - length + 1) for side, length in zip(shape, sides, strict=True)]
        low.append(corner)
        high.append([place + length for place, length in zip(corner, sides, strict=True)])
    return Workload(shape, np.array(low), np.array(high))


@lru_cache(maxsize=1)
def trials_of(grid: str, data: str, scale: int, trials: int, folder: Path) -> list[tuple[jostle.Table, np.ndarray]]:
    """Return the tables of a cell's trials, each with the true answers."""
    shape = SHAPES[grid]
    counts = np.load(folder / FILES[data]).astype(np.float64)
    for axis, side in enumerate(shape):
        counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], counts.shape[axis] // side), axis=axis)
    chances = (counts / counts.sum()).ravel()
    made = []
    for trial in range(trials):
        generator = np.random.default_rng([trial, scale, zlib.crc32(f"{grid} {data}".encode())])
        drawn = generator.multinomial(scale, chances).reshape(shape)
        made.append((jostle.Table.from_grid(drawn), peer_workload(grid).answers(drawn)))
    return made


def measure(option: GridOption, cell: Cell, trials: int, folder: Path) -> Figure:
    """Return an Option's mean error and median seconds in a cell."""
    workload = peer_workload(cell.grid)
    errors, seconds = [], []
    for trial, (table, truth) in enumerate(trials_of(cell.grid, cell.data, cell.scale, trials, folder)):
        seed = zlib.crc32(f"{cell} {trial} {option.name}".encode())
        db = jostle.rehearse(table, epsilon=cell.epsilon, seed=seed)
        start = time.perf_counter()
        answers = option(db, workload, epsilon=cell.epsilon).answers(workload)
        seconds.append(time.perf_counter() - start)
        errors.append(scaled_l2(truth, answers, cell.scale))
    return Figure(float(np.mean(errors)), float(np.median(seconds)))


def run(cells: list[Cell], names: list[str], trials: int, folder: Path, results: Path) -> Figures:
    """Return all figures, those of earlier runs read from the results file."""
    done: Figures = {}
    if results.exists():
        with results.open(newline="") as file:
            for row in csv.DictReader(file):
                cell = Cell(row["grid"], row["data"], int(row["scale"]), row["epsilon"])
                done[cell, row["option"]] = Figure(float(row["error"]), float(row["seconds"]))
    else:
        results.write_text("grid,data,scale,epsilon,option,error,seconds\n")
    with results.open("a", newline="") as file:
        writer = csv.writer(file)
        for cell in cells:
            for name in names:
                if (cell, name) not in done:
                    option = options.get(name)
                    if not isinstance(option, GridOption):
                        raise SystemExit(f"{name} is not an Option of the grid task")
                    figure = done[cell, name] = measure(option, cell, trials, folder)
                    writer.writerow([*cell, name, figure.error, figure.seconds])
                    file.flush()
    return done


def ratio_table(ours: Figures, peers: Figures, cells: list[Cell], names: list[str]) -> list[str]:
    """Return the table of error ratios per algorithm."""
    lines = [
        "| Option | peer | cells | ratio | 1-D | 2-D | cells won | ms ours | ms peer |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        for peer in PEERS.get(name, ()):
            shared = [cell for cell in cells if (cell, peer) in peers]
            ratios = {cell: ours[cell, name].error / peers[cell, peer].error for cell in shared}
            if not ratios:
                continue
            flat = [ratio for cell, ratio in ratios.items() if cell.grid.startswith("2")]
            line = [ratio for cell, ratio in ratios.items() if not cell.grid.startswith("2")]
            paid = " (total free)" if peer in FREE_TOTAL else ""
            mine = 1000 * float(np.median([ours[cell, name].seconds for cell in shared]))
            theirs = 1000 * float(np.median([peers[cell, peer].seconds for cell in shared]))
            won = sum(ratio < 1 for ratio in ratios.values())
            lines.append(
                f"| {name} | {peer}{paid} | {len(shared)} | **{mean_ratio(ratios.values()):.2f}** | "
                f"{_shown(line)} | {_shown(flat)} | {won} | {mine:.1f} | {theirs:.1f} |"
            )
    return lines


def _shown(ratios: list[float]) -> str:
    return f"{mean_ratio(ratios):.2f}" if ratios else ""


def regret_table(ours: Figures, peers: Figures, cells: list[Cell], names: list[str]) -> list[str]:
    """Return the table of regrets of one Option for all cells.

    Beside the peer's algorithms the Option counts as one of them, so that it has no regret where it is the best.
    """
    best_ours = {cell: min(ours[cell, name].error for name in names) for cell in cells}
    theirs: dict[Cell, float] = defaultdict(lambda: math.inf)
    for (cell, peer), figure in peers.items():
        if peer not in UNSOUND:
            theirs[cell] = min(theirs[cell], figure.error)
    lines = [
        "| always | the peer's | 1-D | 2-D | largest | ours | 1-D | 2-D | largest | all | 1-D | 2-D |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    for name in names:
        own = {cell: ours[cell, name].error for cell in cells}
        shown, means = [], []
        for beside in (theirs, best_ours, {cell: min(best_ours[cell], theirs[cell]) for cell in cells}):
            regrets = {cell: max(1.0, own[cell] / beside[cell]) for cell in cells}
            flat = [regret for cell, regret in regrets.items() if cell.grid.startswith("2")]
            line = [regret for cell, regret in regrets.items() if not cell.grid.startswith("2")]
            means.append(mean_ratio(regrets.values()))
            shown += [
                f"**{means[-1]:.2f}**",
                _shown(line),
                _shown(flat),
                f"{max(regrets.values()):.2f}",
            ]
        rows.append((means[1], f"| {name} | {' | '.join(shown[:-1])} |"))
    return lines + [row for _, row in sorted(rows)]


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", type=Path, required=True, help="the peer's cells, as CSV")
    parser.add_argument("--data", type=Path, required=True, help="the folder of DPBench's histograms")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--only", default="", help="names of Options, with commas")
    parser.add_argument("--results", type=Path, default=Path("histograms_results.csv"))
    parser.add_argument("--out", type=Path, default=Path("histograms_tables.md"))
    parser.add_argument("--roles", type=Path, help="what fresh.py wrote on lines and maps")
    given = parser.parse_args()
    peers = read_peers(given.peers)
    cells = list(dict.fromkeys(cell for cell, _ in peers))
    left_out = {"PerturbedHistogram", "ThresholdedHistogram"}  # Identity once more, and one for other work
    names = given.only.split(",") if given.only else [name for name in options.names("grid") if name not in left_out]
    ours = run(cells, names, given.trials, given.data, given.results)
    page = [
        f"{len(cells)} cells, {given.trials} trials each.",
        "",
        "## The same algorithm, ours and the peer's",
        "",
        *ratio_table(ours, peers, cells, names),
        "",
        "## Always the same Option",
        "",
        *regret_table(ours, peers, cells, names),
    ]
    if given.roles is not None:
        page += ["", "## On databases by role", "", by_role(given.roles, ("lines", "maps"))]
    given.out.write_text("\n".join(page) + "\n")
    print("\n".join(page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
