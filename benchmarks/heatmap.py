"""Draw a map of points as it is and as each grid Option estimates it, side by side.

    python benchmarks/heatmap.py POINTS.csv.gz --out docs/benchmarks/heatmap.png \
        [--bounds WEST EAST SOUTH NORTH] [--bins 128] [--epsilon 0.1]

The points are public; the bounds are given, not read off them. Colours are the same in all pictures, on a logarithmic
scale. `jostle reproduce figure-1.1` draws the same of a map that is made up, or of points within their own bounds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv

from jostle.figures.maps import draw_maps, pictures_of


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
    columns = (frame[given.y].to_numpy(), frame[given.x].to_numpy())
    counts, _, _ = np.histogram2d(*columns, bins=given.bins, range=[[south, north], [west, east]])
    pictures = pictures_of(counts.astype(np.int64), given.epsilon)
    title = f"{given.points.name.partition('.')[0]}: {counts.sum():,.0f} points, {given.bins} x {given.bins} cells"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    draw_maps(pictures, f"{title}, epsilon {given.epsilon}; scaled error of 2,000 random ranges", given.out)
    errors = (f"{each.name} {each.error:.2g}" for each in pictures if each.error is not None)
    print(f"{given.out}: {', '.join(errors)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
