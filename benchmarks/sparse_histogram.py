"""Time ThresholdedHistogram on a million rows in a space of 2**60 cells, and show that memory goes with the rows.

python benchmarks/sparse_histogram.py [--rows 1000000]
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc

import numpy as np
import pyarrow as pa

from jostle import Numeric, Schema, Table, rehearse
from jostle.options.ranges.cells import ThresholdedHistogram


def main() -> int:
    """Print seconds and peak memory for one, two and four quarters of the rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    schema = Schema({name: Numeric(0, 1, bins=2**20) for name in "abc"})
    print("| rows | seconds | peak MB | kept cells |")
    print("|---|---|---|---|")
    for rows in (given.rows // 4, given.rows // 2, given.rows):
        generator = np.random.default_rng(0)
        frame = pa.table({name: generator.beta(2, 5, rows) for name in "abc"})
        table = Table.from_frame(frame, schema)
        start = time.perf_counter()
        estimate = ThresholdedHistogram()(rehearse(table, epsilon=1, seed=0), epsilon=1)
        seconds = time.perf_counter() - start
        tracemalloc.start()
        ThresholdedHistogram()(rehearse(table, epsilon=1, seed=0), epsilon=1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"| {rows:,} | {seconds:.2f} | {peak / 2**20:.0f} | {len(estimate.records()):,} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
