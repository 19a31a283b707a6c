"""Draw a map of points as it is and as each grid Option estimates it, side by side.

    python benchmarks/heatmap.py POINTS.csv.gz --out docs/benchmarks/heatmap.png \
        [--bounds WEST EAST SOUTH NORTH] [--bins 128] [--epsilon 0.1]

The points are public; the bounds are given, not read off them. Colours are the same in all pictures, on a logarithmic
scale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.csv

import jostle
from jostle import Numeric, Schema, Table, options
from jostle.options.ranges.base import GridOption
from jostle.tasks.ranges.metrics import scaled_l2
from jostle.tasks.ranges.workload import Workload


def main() -> int:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("points", type=Path)
    parser.add_argument("--x", default="lon")
    parser.add_argument("--y", default="lat")
    parser.add_argument("--bounds", type=float, nargs=4, default=(-180.0, 180.0, -90.0, 90.0))
    parser.add_argument("--bins", type=int, default=128)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/heatmap.png"))
    given = parser.parse_args()
    west, east, south, north = given.bounds
    wanted = pyarrow.csv.ConvertOptions(include_columns=[given.x, given.y])
    frame = pyarrow.csv.read_csv(given.points, convert_options=wanted)
    schema = Schema(
        {
            given.y: Numeric(south, north, bins=given.bins, outside="drop"),
            given.x: Numeric(west, east, bins=given.bins, outside="drop"),
        }
    )
    table = Table.from_frame(frame, schema)
    columns = (frame[given.y].to_numpy(), frame[given.x].to_numpy())
    truth, _, _ = np.histogram2d(*columns, bins=given.bins, range=[[south, north], [west, east]])
    workload = Workload.random_ranges(truth.shape)
    answers, scale = workload.answers(truth), truth.sum()
    names = [name for name in options.names("grid") if name not in {"PerturbedHistogram", "Uniform"}]
    rows = -(-(len(names) + 1) // 4)
    figure, axes = plt.subplots(rows, 4, figsize=(13, 3.5 * rows), squeeze=False)
    pictures = [("true counts", truth, 0.0)]
    for name in names:
        option = options.get(name)
        if not isinstance(option, GridOption):
            raise SystemExit(f"{name} is not an Option of the grid task")
        estimate = option(jostle.rehearse(table, epsilon=given.epsilon, seed=1), workload, epsilon=given.epsilon)
        pictures.append((name, np.asarray(estimate.cells), scaled_l2(answers, estimate.answers(workload), scale)))
    brightest = np.log1p(truth.max())
    for axis, (name, cells, error) in zip(axes.flat, pictures, strict=False):
        axis.imshow(np.log1p(np.maximum(cells, 0)), origin="lower", vmin=0, vmax=brightest, cmap="magma")
        axis.set_title(name if not error else f"{name}: {error:.2g}", fontsize=10)
    for axis in axes.flat:
        axis.axis("off")
    figure.suptitle(
        f"{given.points.name.partition('.')[0]}: {scale:,.0f} points, {given.bins} x {given.bins} cells, "
        f"epsilon {given.epsilon}; scaled error of 2,000 random ranges"
    )
    figure.tight_layout()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.out, dpi=80)
    print(f"{given.out}: {', '.join(f'{name} {error:.2g}' for name, _, error in pictures[1:])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
