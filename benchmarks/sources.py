"""Memory of reading a Parquet file through any library, and time of counting in PostgreSQL.

    python benchmarks/sources.py [--rows 10000000] [--only memory|postgres|engines|large|options]

The file has 6 million rows of 13 columns, 107 MB, in row groups of 2**20 rows; what each way peaks at is measured in a
process of its own. In PostgreSQL, started here, a histogram of two columns is timed beside the bare GROUP BY that
anybody would write. A large file has 5 GB of the same columns, not compressed. Writes docs/benchmarks/sources.md, and
fails if what is required there is not reached.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from attrs import evolve

from jostle.options import get, names
from jostle.tables import Categorical, Counts, Numeric, Schema, Table

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests" / "tables"))
PAGE = ROOT / "docs" / "benchmarks" / "sources.md"
FILE_ROWS = 6_000_000
REQUIRED_MEGABYTES, REQUIRED_RATIO = 500, 1.5
REPEATS, LONGEST = 5, 3600
WARDS = ["north", "south", "east", "west"]
SCHEMA = Schema(
    {
        **{f"a{place}": Categorical(range(10)) for place in range(10)},
        "real": Numeric(0, 100),
        "ward": Categorical(WARDS),
        "whole": Numeric(0, 1_000_000, unit=1),
    }
)
WAYS = {
    "`Table.read(path, schema)`": "Table.read(path, SCHEMA)",
    "`Table.read(path, schema, stream=True)`": "Table.read(path, SCHEMA, stream=True)",
    "`polars.scan_parquet`": "Table.from_frame(__import__('polars').scan_parquet(path), SCHEMA)",
    "a relation of DuckDB": "Table.from_frame(__import__('duckdb').read_parquet(path), SCHEMA)",
    "Dask, by row group": (
        "Table.from_frame(__import__('dask.dataframe').dataframe.read_parquet(path, split_row_groups=True), SCHEMA)"
    ),
}
MEASURED = """
import json, re, sys, time
from pathlib import Path
from sources import SCHEMA, Counts, Table
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
path, start = sys.argv[1], time.perf_counter()
found = eval(sys.argv[2])._source.tally(Counts.of("a0", "ward"), ())
print(json.dumps({"peak": peak(), "seconds": time.perf_counter() - start, "sum": int(found.sum())}))
"""
BARE_DASK = "Dask alone, which counts its rows"
"""What its own pieces need, two at a time."""
ALONE = """
import json, re, sys, time
from pathlib import Path
import dask.dataframe
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
start = time.perf_counter()
pieces = dask.dataframe.read_parquet(sys.argv[1], split_row_groups=True).map_partitions(lambda piece: piece.shape[0])
print(json.dumps({"sum": int(pieces.compute().sum()), "peak": peak(), "seconds": time.perf_counter() - start}))
"""


def made_up(rows: int, seed: int = 1) -> pa.Table:
    """Return random rows."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"a{place}": chance.integers(0, 10, rows) for place in range(10)}
    columns["real"] = chance.normal(50, 10, rows)
    columns["ward"] = pa.array(np.array(WARDS)[chance.integers(0, 4, rows)])
    columns["whole"] = chance.integers(0, 10**6, rows)
    return pa.table(columns)


def _printed(words: list[str]) -> dict[str, float]:
    """Return what a process of its own prints at last."""
    done = subprocess.run(
        words, cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=LONGEST,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    found: dict[str, float] = json.loads(re.findall(r"\{.*\}", done.stdout)[-1])  # DuckDB draws a bar
    return found


def peaks() -> dict[str, dict[str, float]]:
    """Return what each way needs."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pa_parquet.write_table(made_up(FILE_ROWS), path)
        print(f"{path.stat().st_size / 2**20:.0f} MB", flush=True)
        for way, code in {**WAYS, BARE_DASK: ""}.items():
            words = [sys.executable, "-c", MEASURED if code else ALONE, str(path), code]
            found[way] = _printed(words)
            same(int(found[way]["sum"]), FILE_ROWS)
            print(f"{way}: {found[way]['peak']:.0f} MB, {found[way]['seconds']:.1f} s", flush=True)
    return found


LARGE_ROWS, LARGE_GROUPS, REQUIRED_LARGE = 48 << 20, 48, 1024
LARGE_WAYS = {
    "kept as codes": "Table.read(path, SCHEMA)",
    "read anew for each question": "Table.read(path, SCHEMA, stream=True)",
}
OPTIONS_HEAD = "## Options on a Parquet file that is read anew for each question"
PARTS_OF_ROWS = (48, 6, 1)
"""Options are asked of files of a part of the rows, of a larger part, and of all where that is done soon."""
SOON = 40
"""Seconds."""
LABELLED = Schema(
    {**dict(SCHEMA.columns), "score": Numeric(-1, 1, bins=256), "label": Categorical(["no", "yes"])}, label="label"
)
WHOLE = Numeric(0, 1_000_000, unit=1, missing="drop")
ASKED_OF = {
    "evaluation": [Schema({name: LABELLED[name] for name in ("score", "label")}, label="label")],
    "grid": [
        Schema({"real": Numeric(0, 100, bins=64), "score": Numeric(-1, 1, bins=64)}),
        Schema({"score": Numeric(-1, 1, bins=1024)}),
    ],
    **{
        task: [Schema({"whole": WHOLE}), Schema({"whole": WHOLE}, neighbours="replace_one", rows=1)]
        for task in ("means", "quantiles", "sums", "variances")
    },
}
"""Public facts about the columns that a task asks of, where they are not all."""
STREAMED_BY = """
import json, re, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import jostle
from jostle.options import get
from sources import Table, schema_for
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
path, option, rows = sys.argv[1], get(sys.argv[2]), int(sys.argv[3])
db = jostle.rehearse(Table.read(path, schema_for(option, rows), stream=True))
start, busy = time.perf_counter(), time.process_time()
option(db, epsilon=4)
print(json.dumps({"peak": peak(), "busy": time.process_time() - busy, "seconds": time.perf_counter() - start}))
"""


def schema_for(option: Any, rows: int) -> Schema:
    """Return public facts about a table that the Option does not refuse."""
    schemas = ASKED_OF.get(option.task.name, [LABELLED])
    accepted = next(schema for schema in schemas if option.refuses(schema) is None)
    return evolve(accepted, rows=rows) if accepted.rows else accepted


def labelled(rows: int, seed: int) -> pa.Table:
    """Return random rows with a label that follows from two columns and chance, and a score that tells of it."""
    made, chance = made_up(rows, seed), np.random.default_rng([seed, 1])
    score = (made["a0"].to_numpy() - 4.5) / 20 + (made["real"].to_numpy() - 50) / 50 + chance.normal(0, 0.2, rows)
    label = np.array(["no", "yes"])[(score + chance.normal(0, 0.2, rows) > 0).astype(np.int64)]
    return made.append_column("score", pa.array(np.clip(score, -1, 1))).append_column("label", pa.array(label))


def write_labelled(path: Path, rows: int) -> None:
    """Write so many rows of these, not compressed, in row groups of a million."""
    with pa_parquet.ParquetWriter(path, labelled(1, 0).schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, rows, 1 << 20):
            writer.write_table(labelled(min(1 << 20, rows - start), start))


def streamed_by_options(rows: int, only: list[str]) -> Iterator[tuple[str, list[dict[str, float]], list[float]]]:
    """Yield what each Option needs of files of more and more rows, as far as that is done soon, and their gigabytes."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = [rows // part for part in PARTS_OF_ROWS]
        paths = [Path(folder) / f"{size}.parquet" for size in sizes]
        for path, size in zip(paths, sizes, strict=True):
            write_labelled(path, size)
        for name in only or sorted(names(), key=lambda each: get(each).task.name, reverse=True):
            found: list[dict[str, float]] = []
            for path, size in zip(paths, sizes, strict=True):
                if size == rows and found[-1]["seconds"] * size / sizes[-2] > SOON:
                    break
                found.append(_printed([sys.executable, "-c", STREAMED_BY, str(path), name, str(size)]))
                print(name, size, found[-1], flush=True)
            yield name, found, [path.stat().st_size / 1e9 for path in paths]


LARGE_SHOWN = ("peak", "opened", "asked", "busy")
LARGE = """
import json, re, sys, time
from pathlib import Path
import jostle
from sources import SCHEMA, Table
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
path, start, busy = sys.argv[1], time.perf_counter(), time.process_time()
db = jostle.rehearse(eval(sys.argv[2]), epsilon=4)
total, opened = int(db.count(1)), time.perf_counter()
db.histogram("a0", "ward", epsilon=1)
found = {"peak": peak(), "opened": opened - start, "asked": time.perf_counter() - opened}
print(json.dumps(found | {"busy": time.process_time() - busy, "sum": total}))
"""


def large() -> tuple[float, dict[str, dict[str, float]]]:
    """Return the gigabytes of a large file, and what each way of reading it takes."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        part = made_up(LARGE_ROWS // LARGE_GROUPS)
        with pa_parquet.ParquetWriter(path, part.schema, use_dictionary=False, compression="none") as writer:
            for _ in range(LARGE_GROUPS):
                writer.write_table(part)
        size = path.stat().st_size / 1e9
        print(f"{size:.2f} GB", flush=True)
        for way, code in LARGE_WAYS.items():
            found[way] = _printed([sys.executable, "-c", LARGE, str(path), code])
            print(way, found[way], flush=True)
    return size, found


SPARK = (
    "Table.from_frame(__import__('pyspark.sql').sql.SparkSession.builder.master('local[2]')"
    ".config('spark.ui.enabled', 'false').config('spark.driver.memory', '4g').getOrCreate().read.parquet(path), SCHEMA)"
)
ENGINES = {
    "in memory": "Table.read(path, SCHEMA)",
    "streamed": "Table.read(path, SCHEMA, stream=True)",
    "Dask, threads": WAYS["Dask, by row group"],
    "Spark, two threads": SPARK,
}
TIMED = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from sources import SCHEMA, Counts, Table
path, start = sys.argv[1], time.perf_counter()
source = eval(sys.argv[2])._source
opened = time.perf_counter()
total = int(source.tally(Counts.of("a0", "ward"), ()).sum())
first = time.perf_counter()
source.tally(Counts.of("a1", "ward"), ())
print(json.dumps({"open": opened - start, "first": first - opened, "later": time.perf_counter() - first, "sum": total}))
"""


def engines(sizes: list[int]) -> dict[str, list[dict[str, float]]]:
    """Return how long each engine takes, by the number of rows."""
    found: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for rows in sizes:
            pa_parquet.write_table(made_up(rows), path)
            for engine, code in ENGINES.items():
                found[engine].append(_printed([sys.executable, "-c", TIMED, str(path), code]))
                same(int(found[engine][-1]["sum"]), rows)
                print(rows, engine, found[engine][-1], flush=True)
    return found


def extrapolated(sizes: list[int], seconds: list[float], rows: int) -> float:
    """Return the seconds of so many rows, on a line through the first and the last size."""
    slope = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])
    return seconds[-1] + max(0.0, slope) * (rows - sizes[-1])


COLUMNS = Schema({"a": Categorical(range(10)), "ward": Categorical(WARDS)})
FILLED = """CREATE UNLOGGED TABLE t AS SELECT (random() * 9)::int AS a,
(ARRAY['north', 'south', 'east', 'west'])[1 + (random() * 3)::int] AS ward FROM generate_series(1, {rows})"""
BARE = "SELECT a, ward, count(*) FROM t GROUP BY a, ward"


@contextmanager
def filled(rows: int) -> Iterator[str]:
    """Start PostgreSQL with so many rows."""
    from some_databases import in_postgres, started_postgres  # noqa: PLC0415 - of the tests

    with started_postgres() as url:
        in_postgres(url, FILLED.format(rows=rows), "VACUUM ANALYZE t")
        yield url


def counted(rows: int) -> tuple[list[float], list[float]]:
    """Return how long a histogram takes, and the bare GROUP BY, in turn."""
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - for this part alone

    ours: list[float] = []
    bare: list[float] = []
    with filled(rows) as url, dbapi.connect(url) as connection, connection.cursor() as cursor:
        source = Table.query(url, "SELECT * FROM t", COLUMNS)._source  # noqa: SLF001 - what a probe asks
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            found: Any = source.tally(Counts.of("a", "ward"), ())
            middle = time.perf_counter()
            cursor.execute(BARE)
            total = sum(row[2] for row in cursor.fetchall())
            ours.append(middle - start)
            bare.append(time.perf_counter() - middle)
            same(int(found.sum()), total)
        del source
    return ours[1:], bare[1:]


def same(found: int, expected: int) -> None:
    """Refuse other integers than those of all ways."""
    if found != expected:
        sys.exit(f"{found:,} rows were counted, of {expected:,}")


def shared() -> str:
    """Return how many processes shared the seconds, where there were more of them than cores."""
    processes, cores = round(os.getloadavg()[1]), os.cpu_count() or 1
    return f"Seconds were shared: {processes} processes wanted one of {cores} cores." if processes > cores else ""


def replaced(page: str, head: str, lines: list[str]) -> str:
    """Return the page with a part written anew."""
    part = "\n".join([head, "", *lines, ""])
    pattern = re.compile(rf"{re.escape(head)}\n.*?(?=\n## |\Z)", re.DOTALL)
    return pattern.sub(lambda _: part, page) if pattern.search(page) else f"{page.rstrip()}\n\n{part}"


def options_lines(rows: int, gigabytes: list[float], lines_of: dict[str, str]) -> list[str]:
    """Return the page's part on Options, of a line for each."""
    sizes = [f"{size:.1f} GB" for size in gigabytes]
    counts = [f"{rows // part:,}" for part in PARTS_OF_ROWS]
    return [
        f"Of {', '.join(counts[:-1])} and {counts[-1]} rows, {len(LABELLED.names)} columns; epsilon 4. At most",
        f"{REQUIRED_LARGE:,} MB are wanted where memory does not hold more with more rows: peak of a process of its",
        "own, with what it imports. *Busy* are the processors, of all threads together, on the largest file that was",
        f"read. Where all rows would take more than {SOON} seconds, fewer stand for them.",
        "Statistics, curves and grids are asked of the columns that they are about.",
        "",
        f"| Option | {', MB | '.join(sizes)}, MB | busy, s | memory holds |",
        f"|---|{'---:|' * (len(sizes) + 1)}---|",
        *(f"| {name} {line}" for name, line in sorted(lines_of.items())),
    ]


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", choices=["memory", "postgres", "engines", "large", "options"])
    parser.add_argument("--option", action="append", default=[], help="of those that are streamed, these alone")
    given = parser.parse_args()
    page, failed = PAGE.read_text() if PAGE.exists() else "# Reading rows\n\nMade by `benchmarks/sources.py`.\n", False
    if given.only in {None, "memory"}:
        found = peaks()
        lines = [
            f"Peak of the whole process; at most {REQUIRED_MEGABYTES} MB is asked for. {shared()}",
            "",
        ]
        lines += ["| way in | MB | seconds, first question included |", "|---|---|---|"]
        lines += [f"| {way} | {each['peak']:.0f} | {each['seconds']:.1f} |" for way, each in found.items()]
        over = [way for way, each in found.items() if each["peak"] > REQUIRED_MEGABYTES]
        lines += ["", f"More than was asked for: {', '.join(over) or 'none'}."]
        lines += ["What Dask reads at once is up to it: the last line is no work of ours."]
        page = replaced(page, "## A Parquet file of 107 MB, 6 million rows", lines)
        most = max(REQUIRED_MEGABYTES, 1.25 * found[BARE_DASK]["peak"])
        failed |= any(each["peak"] > (most if "Dask" in way else REQUIRED_MEGABYTES) for way, each in found.items())
    if given.only in {None, "postgres"}:
        ours, bare = counted(given.rows)
        ratio = median(ours) / median(bare)
        said = f"{median(ours):.2f} s, the bare `GROUP BY` {median(bare):.2f} s: {ratio:.2f} times that"
        print(said, flush=True)
        lines = [
            f"Of {given.rows:,} rows, a histogram of two columns takes {said}; at most {REQUIRED_RATIO} is asked for.",
            f"Medians of {REPEATS}, in turn.",
        ]
        page = replaced(page, "## Counting in PostgreSQL", lines)
        failed |= ratio > REQUIRED_RATIO
    if given.only in {None, "engines"}:
        sizes = [given.rows // 10, given.rows]
        lines = [
            "Seconds to open, for the first question and for a later one; then, on a line through both sizes,",
            "what 10⁹ rows would take on these two cores: extrapolated, not measured.",
            "",
            f"| engine | {' | '.join(f'{rows:,}: open, first, later' for rows in sizes)} | 10⁹: first, later |",
            f"|---|{'---|' * (len(sizes) + 1)}",
        ]
        for engine, each in engines(sizes).items():
            shown = [f"{one['open']:.1f}, {one['first']:.1f}, {one['later']:.2f}" for one in each]
            both = extrapolated(sizes, [one["open"] + one["first"] for one in each], 10**9)
            later = extrapolated(sizes, [one["later"] for one in each], 10**9)
            lines.append(f"| {engine} | {' | '.join(shown)} | {both / 60:.0f} min, {later / 60:.1f} min |")
        page = replaced(page, "## Engines on one Parquet file of 13 columns", lines)
    if given.only in {None, "large"}:
        size, ways = large()
        lines = [
            f"{LARGE_ROWS:,} rows in row groups of {LARGE_ROWS // LARGE_GROUPS:,}. At most {REQUIRED_LARGE:,} MB are",
            "asked for. *Opened* is with the number of rows, *asked* a histogram of two columns. *Busy* are the",
            f"processors, of all threads together. {shared()}",
            "",
            "| how | MB | opened, s | asked, s | busy, s |",
            "|---|---:|---:|---:|---:|",
        ]
        for way, took in ways.items():
            lines.append(f"| {way} | {' | '.join(f'{took[what]:.0f}' for what in LARGE_SHOWN)} |")
        page = replaced(page, f"## A Parquet file of {size:.1f} GB", lines)
        failed |= any(each["peak"] > REQUIRED_LARGE for each in ways.values())
    if given.only == "options":
        there = re.findall(r"^\| (\w+) (\|.*)$", page.partition(OPTIONS_HEAD)[2], re.MULTILINE)
        lines_of = {name: line for name, line in there if name in names()}
        for name, needs, gigabytes in streamed_by_options(given.rows, given.option):
            peaks_of = [f"{each['peak']:.0f}" for each in needs] + ["-"] * (len(gigabytes) - len(needs))
            holds = get(name).holds
            lines_of[name] = f"| {' | '.join(peaks_of)} | {needs[-1]['busy']:.0f} | {holds} |"
            failed |= not holds and max(each["peak"] for each in needs) > REQUIRED_LARGE
            page = replaced(page, OPTIONS_HEAD, options_lines(given.rows, gigabytes, lines_of))
            PAGE.write_text(page)  # it takes long, and may be stopped
    PAGE.write_text(page)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
