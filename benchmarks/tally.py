"""Time and memory of tallies: class counts of all attributes, 14 of them, of up to 10 million rows.

    python benchmarks/tally.py [--rows 10000000]

Compared with a bare numpy loop over the same coded arrays, from 10**5 rows up; streamed from Parquet in a process of
its own, for its memory; on a Dask cluster of two worker processes beside one. Writes docs/benchmarks/tally.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from jostle.tables import Categorical, Counts, Schema, Table
from jostle.tables.engines import MemorySource

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks" / "tally.md"
ATTRIBUTES, VALUES, CLASSES = 14, 10, 3
GROUP_ROWS = 1 << 18
SCHEMA = Schema(
    {
        **{f"a{place}": Categorical([str(value) for value in range(VALUES)]) for place in range(ATTRIBUTES)},
        "label": Categorical([str(value) for value in range(CLASSES)]),
    },
    label="label",
)
KERNEL = Counts([(name, "label") for name in SCHEMA.attributes])

STREAMED = r"""
import json, re, sys
from benchmarks_tally import KERNEL, SCHEMA, Table
def peak(): return int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1]) / 1024
before = peak()
source = Table.read(sys.argv[1], SCHEMA, stream=True)._source
import time
start = time.perf_counter()
total = source.tally(KERNEL, ())
print(json.dumps({"before": before, "after": peak(), "seconds": time.perf_counter() - start, "sum": int(total.sum())}))
"""


def made_up(rows: int) -> dict[str, NDArray[np.uint8]]:
    """Return random codes, column by column."""
    chance = np.random.default_rng(1)
    return {name: chance.integers(0, SCHEMA[name].size, rows, dtype=np.uint8) for name in SCHEMA.names}


def bare(columns: dict[str, NDArray[np.uint8]]) -> NDArray[np.int64]:
    """Return the same counts by the loop anybody would write."""
    label = columns["label"].astype(np.intp)
    counts = [
        np.bincount(columns[name].astype(np.intp) * CLASSES + label, minlength=VALUES * CLASSES)
        for name in SCHEMA.attributes
    ]
    return np.concatenate(counts)


def seconds(work: Callable[[], object], times: int) -> list[float]:
    """Return how long the work took, each time."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return found


def beside(size: int, times: int) -> tuple[int, float, float]:
    """Return the size and the medians of our seconds and the bare loop's, measured in turn, once they agree."""
    columns = made_up(size)
    source = MemorySource(SCHEMA, columns, size)
    if not np.array_equal(np.asarray(source.tally(KERNEL, ())), bare(columns)):
        raise SystemExit("the counts differ")
    pairs = [
        (seconds(lambda: source.tally(KERNEL, ()), 1)[0], seconds(lambda: bare(columns), 1)[0]) for _ in range(times)
    ]
    return size, statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def write_parquet(path: Path, columns: dict[str, NDArray[np.uint8]]) -> None:
    """Write the codes as the texts they stand for."""
    texts = pa.array([str(value) for value in range(VALUES)])
    table = pa.table({name: pa.DictionaryArray.from_arrays(pa.array(codes), texts) for name, codes in columns.items()})
    plain = pa.schema([(name, pa.string()) for name in columns])
    with pa_parquet.ParquetWriter(path, plain) as writer:
        for start in range(0, table.num_rows, GROUP_ROWS):
            writer.write_table(table.slice(start, GROUP_ROWS).cast(plain))


def streamed(path: Path) -> dict[str, float]:
    """Tally the file in a fresh process; return its time and its memory before and after."""
    code = STREAMED.replace("benchmarks_tally", Path(__file__).stem)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, env=environment
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def on_cluster(path: Path) -> tuple[float, float]:
    """Return the seconds of a tally on one worker process, and on two."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - an extra

    found = []
    for workers in (1, 2):
        with (
            LocalCluster(  # type: ignore[no-untyped-call]  # Dask has no types
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster),  # type: ignore[no-untyped-call]  # Dask has no types
        ):
            address = cluster.scheduler_address.replace("tcp://", "dask://")
            source: Any = Table.read(path, SCHEMA, engine=address)._source  # noqa: SLF001 - the tally alone is measured
            source.tally(KERNEL, ())  # workers import and warm up
            found.append(statistics.median(seconds(partial(source.tally, KERNEL, ()), 5)))
            source.client.close()
    return found[0], found[1]


def main() -> None:
    """Measure, and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rows", type=int, default=10**7)
    rows = words.parse_args().rows
    sizes = [size for size in (10**5, 10**6, 10**7) if size < rows] + [rows]
    growth = [beside(size, 9) for size in sizes]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_parquet(path, made_up(rows))
        stream = streamed(path)
        one, two = on_cluster(path)
    if stream["sum"] != rows * ATTRIBUTES:
        raise SystemExit("the streamed counts differ")
    lines = [
        f"| {size:,} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} | {ours / size * 1e9:.1f} |"
        for size, ours, theirs in growth
    ]
    memory = f"peak {stream['after']:.0f} MB, of which {stream['before']:.0f} MB for the interpreter and its imports"
    text = f"""# Tallies

Class counts of {ATTRIBUTES} attributes ({VALUES} values, {CLASSES} classes) in one pass. The bare loop is
`np.bincount(column * classes + label)` for each attribute, over the same arrays of codes. Medians of 9 runs in turn;
{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}.

| rows | Jostle, s | bare numpy loop, s | ratio | Jostle, ns a row |
|---|---|---|---|---|
{chr(10).join(lines)}

{rows:,} rows of texts in Parquet, read in batches:

| how | seconds | note |
|---|---|---|
| streamed, one process | {stream["seconds"]:.2f} | {memory} |
| Dask, one worker process | {one:.2f} | |
| Dask, two worker processes | {two:.2f} | {one / two:.2f} times as fast as one |

Made by `python benchmarks/tally.py`.
"""
    DOCS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
