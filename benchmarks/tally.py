"""Time and memory of tallies: class counts of all attributes, 14 of them, of up to 10 million rows.

    python benchmarks/tally.py [--rows 10000000] [--only cluster | options]

Compared with a bare numpy loop over the same coded arrays, for 2 to 5 classes, and from 10**5 rows up; streamed from
Parquet in a process of its own, for its memory; on Dask clusters of one and two worker processes; from CSV beside
pyarrow's own reader. Also what Options take that ask for many tallies, of 3 million rows. Writes
docs/benchmarks/tally.md, and fails if what is required there is not reached.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from jostle.tables import Categorical, Counts, Numeric, Schema, Table
from jostle.tables.engines import MemorySource

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "tally.md"
ATTRIBUTES, VALUES = 14, 10
REQUIRED_RATIO, REQUIRED_MEGABYTES = 1.3, 1000
CLASSES = 3
"""Where not all of 2 to 5 are measured."""
GROUP_ROWS = 1 << 18
CSV_ROWS = 10**6
REPEATS = 9
STREAMED_HERE = "streamed, one process"
CLUSTERS = {
    workers: tuple(f"Dask, {many}, {state}" for state in ("new", "used before"))
    for workers, many in ((1, "one worker"), (2, "two workers"))
}
CLUSTER_HEAD = "## On a Dask cluster"
OPTIONS_HEAD = "## Options, 3,000,000 rows"
OPTION_ROWS = 3 * 10**6
OPTION_TURNS = 3
REQUIRED_SECONDS = {"PrivPfC": 8, "PublishedTree": 10, "PrivBayes": 10}
CLUSTER_WORDS = """
At most 1.2 times streaming was asked for, of two workers, and 0.5 times for further questions. A first one is the same
work as streaming's, shared by the workers. Beside it there is

- encoding what is kept: Dask starts workers with `MALLOC_TRIM_THRESHOLD_=65536`, by which memory that was free for a
  moment has to be asked for anew. In one process, of 5,000,000 rows, encoding takes 0.53 s of the processors with that
  and 0.38 s without, and a tally of what is kept 0.08 s; streaming does both in 0.48 s. Whoever starts the workers can
  set it: `dask.config.set({"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 26})`.
- hashing all rows, by which they are known to be the same for the next question: 0.12 s of the processors, in pieces
  that fit the cache. It was 0.2 to 0.7 s;
- what a new worker loads: about 0.3 s of the processors, most of it pandas, which pyarrow asks for where it is
  installed;
- what scheduler, client and workers do by themselves, which grows with the time that passes.

For the same reason a tally reads 32,768 rows at once: of 65,536, workers asked for the memory of each column's keys
anew, and a question took 0.85 s of the processors in place of 0.21.

Workers that are new load libraries first. Others reach what was asked for with two workers, which share two cores here
with the scheduler, the client and other processes.
"""


# The greatest resident size is read from the process's own status: what the operating system tells of a child's
# resources may include its parent's memory at the time of the fork.
STREAMED = """
import json, re, sys, time
from pathlib import Path
from tally import Table, kernel, schema
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before, facts = peak(), schema(int(sys.argv[2]))
start = time.perf_counter()
total = Table.read(sys.argv[1], facts, stream=True)._source.tally(kernel(facts), ())
print(json.dumps({"before": before, "after": peak(), "seconds": time.perf_counter() - start, "sum": int(total.sum())}))
"""

ASKED = """
import json, re, sys, time, warnings
from pathlib import Path
from statistics import median
import jostle
from tally import Table, bare, mixed_rows, mixed_schema
from jostle.options import get
warnings.simplefilter("ignore")
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
def db(rows): return jostle.rehearse(Table(mixed_rows(rows)))
option, rows = get(sys.argv[1]), int(sys.argv[2])
option(db(1000), epsilon=1)  # loads what it needs
few, many, source = db(5000), db(rows), mixed_rows(rows)
def times(work):
    taken = []
    for _ in range(51):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return median(taken)
def passed():
    start = time.process_time()
    bare(dict(source.columns), 2, 17)
    return time.process_time() - start
loop = [passed() for _ in range(3)]
before, start, busy = peak(), time.perf_counter(), time.process_time()
option(many, epsilon=1)
seconds, busy = time.perf_counter() - start, time.process_time() - busy
loop += [passed() for _ in range(3)]
print(json.dumps({
    "seconds": seconds, "busy": busy, "loop": median(loop), "before": before, "after": peak(),
    "count": times(lambda: many.count(1)), "count of few": times(lambda: few.count(1)),
}))
"""

Columns = dict[str, NDArray[np.uint8]]


def schema(classes: int) -> Schema:
    """Return what is public about the rows."""
    attributes = {f"a{place}": Categorical(range(VALUES)) for place in range(ATTRIBUTES)}
    return Schema({**attributes, "label": Categorical(range(classes))}, label="label")


def kernel(facts: Schema) -> Counts:
    """Return the class counts of all attributes."""
    return Counts([(name, "label") for name in facts.attributes])


def made_up(rows: int, classes: int) -> Columns:
    """Return random codes, column by column."""
    facts, chance = schema(classes), np.random.default_rng(1)
    return {name: chance.integers(0, facts[name].size, rows, dtype=np.uint8) for name in facts.names}


def bare(columns: Columns, classes: int, values: int = VALUES) -> NDArray[np.int64]:
    """Return the same counts by the loop anybody would write."""
    label = columns["label"]
    return np.concatenate(
        [
            np.bincount(codes * np.uint8(classes) + label, minlength=values * classes)
            for name, codes in columns.items()
            if name != "label"
        ]
    )


def mixed_schema() -> Schema:
    """Return attributes by turns numeric and of 8 values."""
    attributes = {f"a{place}": Categorical(range(8)) if place % 2 else Numeric(0, 1) for place in range(ATTRIBUTES)}
    return Schema({**attributes, "label": Categorical(range(2))}, label="label")


def mixed_rows(rows: int) -> MemorySource:
    """Return rows of these, whose label follows from two of them."""
    facts, chance = mixed_schema(), np.random.default_rng(0)
    columns = {name: chance.integers(0, facts[name].size, rows, dtype=np.uint8) for name in facts.attributes}
    score = columns["a0"] / 16 + 0.2 * columns["a1"] + chance.normal(0, 0.3, rows)
    return MemorySource(facts, {**columns, "label": (score > 1).astype(np.uint8)}, rows)


def in_turn(*works: Callable[[], object], times: int = REPEATS) -> list[list[float]]:
    """Return how long each work took, each time, one after the other so that all meet the same disturbances."""
    found: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(times):
        for seconds, work in zip(found, works, strict=True):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
    return found


def in_memory(rows: int, classes: int) -> tuple[int, int, float, float]:
    """Return rows, classes, and the medians of our seconds and the bare loop's, once they agree."""
    columns, facts = made_up(rows, classes), schema(classes)
    source, question = MemorySource(facts, columns, rows), kernel(facts)
    if not np.array_equal(np.asarray(source.tally(question, ())), bare(columns, classes)):
        raise SystemExit("the counts differ")
    ours, theirs = in_turn(lambda: source.tally(question, ()), lambda: bare(columns, classes))
    print(f"{rows:,} rows, {classes} classes: {median(ours):.4f} s, bare {median(theirs):.4f} s", flush=True)
    return rows, classes, median(ours), median(theirs)


def batches(rows: int) -> Iterator[pa.Table]:
    """Yield rows of texts, a row group's worth at a time, as they would come from elsewhere."""
    texts = pa.array([str(value) for value in range(VALUES)])
    columns = made_up(rows, CLASSES)
    for start in range(0, rows, GROUP_ROWS):
        yield pa.table(
            {name: texts.take(pa.array(codes[start : start + GROUP_ROWS])) for name, codes in columns.items()}
        )


def write_parquet(path: Path, rows: int) -> None:
    """Write rows in row groups."""
    facts = pa.schema([(name, pa.string()) for name in schema(CLASSES).names])
    with pa_parquet.ParquetWriter(path, facts) as writer:
        for batch in batches(rows):
            writer.write_table(batch)


def streamed(path: Path, rows: int) -> tuple[float, float, float]:
    """Tally the file in a fresh process; return its seconds, and its memory in megabytes before and at most."""
    found = fresh(STREAMED, str(path), str(CLASSES))
    if found["sum"] != rows * ATTRIBUTES:
        raise SystemExit("the streamed counts differ")
    return found["seconds"], found["before"], found["after"]


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Yield the address of so many worker processes, each with one thread."""
    from distributed import LocalCluster  # noqa: PLC0415 - an extra

    with LocalCluster(  # type: ignore[no-untyped-call]  # Dask has no types
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as made:
        yield made.scheduler_address.replace("tcp://", "dask://")


class Asked(NamedTuple):
    """Of one way of asking, each time: seconds of opening the table and its first question, and of one more question.

    Beside each, seconds of the processors, of all processes together.
    """

    first: list[float]
    more: list[float]
    first_busy: list[float]
    more_busy: list[float]

    @classmethod
    def never(cls) -> Asked:
        """Nothing was asked yet."""
        return cls([], [], [], [])


def asked(found: Asked, path: Path, client: Any = None, **how: Any) -> Any:
    """Open the file, ask it, ask it again, and note how long that took; return its source."""
    facts = schema(CLASSES)
    question = kernel(facts)

    def now() -> tuple[float, float]:
        workers = {} if client is None else client.run(time.process_time)
        return time.perf_counter(), time.process_time() + sum(workers.values())

    begin, busy = now()
    source: Any = Table.read(path, facts, **how)._source  # noqa: SLF001 - the tally alone is measured
    source.tally(question, ())
    between, busy_between = now()
    again = time.perf_counter()
    source.tally(question, ())
    end, busy_end = now()
    found.first.append(between - begin)
    found.more.append(end - again)
    found.first_busy.append(busy_between - busy)
    found.more_busy.append(busy_end - busy_between)
    return source


def on_clusters(path: Path, rounds: int) -> dict[str, Asked]:
    """Return seconds of one process that streams, and of clusters of one and two workers, new ones and used ones."""
    from distributed import Client  # noqa: PLC0415 - an extra

    here = Asked.never()
    found: dict[str, Asked] = {STREAMED_HERE: here}
    asked(Asked.never(), path, stream=True)
    for _ in range(rounds):
        for workers in (1, 2):
            new, used = (found.setdefault(title, Asked.never()) for title in CLUSTERS[workers])
            with cluster(workers) as address, Client(address.replace("dask://", "tcp://")) as client:  # type: ignore[no-untyped-call]  # as above
                asked(here, path, stream=True)
                asked(new, path, client, engine=address)
                for _ in range(2):
                    asked(here, path, stream=True)
                    source = asked(used, path, client, engine=address)
                source.client.close()
    for title, times in found.items():
        print(title, *(round(median(each), 2) for each in times), flush=True)
    return found


def cluster_section(found: dict[str, Asked], rows: int, rounds: int) -> str:
    """Return the page's part on clusters."""
    here = found[STREAMED_HERE]
    lines = "".join(
        f"| {title} | {spread(each.first)} | {median(each.first) / median(here.first):.2f} "
        f"| {median(each.first_busy):.2f} | {spread(each.more)} | {median(each.more) / median(here.more):.2f} "
        f"| {median(each.more_busy):.2f} |\n"
        for title, each in found.items()
    )
    return f"""{CLUSTER_HEAD}

`python benchmarks/tally.py --only cluster --rows {rows} --rounds {rounds}` measured this on
{datetime.now(tz=UTC).date().isoformat()}; {machine()}.

| {rows:,} rows | opened, first question, s | to streaming | busy, s | one more, s | to streaming | busy, s |
|---|---:|---:|---:|---:|---:|---:|
{lines}
*Busy* are the processors, of all processes together. A cluster's workers begin to read and encode the rows when the
table is opened, and keep them: further questions read nothing. New workers have loaded no library before. Workers have
one thread each. Medians, with the least and the most,
on which a table is opened once anew and twice more, streaming in turn with them; clusters of each kind: {rounds}.
{CLUSTER_WORDS}"""


def fresh(code: str, *words: str) -> dict[str, float]:
    """Run Python code in a process of its own, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, env=environment
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def options_section() -> str:
    """Measure Options that ask for many tallies, and return the page's part on them."""
    lines, counts = "", []
    for name, asked_for in REQUIRED_SECONDS.items():
        turns = [fresh(ASKED, name, str(OPTION_ROWS)) for _ in range(OPTION_TURNS)]
        print(name, turns, flush=True)
        counts += [(turn["count"], turn["count of few"]) for turn in turns]
        seconds, busy = ([turn[each] for turn in turns] for each in ("seconds", "busy"))
        to_loop = median(turn["busy"] / turn["loop"] for turn in turns)
        above, most = (max(turn["after"] - less * turn["before"] for turn in turns) for less in (1, 0))
        figures = (spread(seconds), spread(busy), f"{to_loop:.0f}", str(asked_for), f"{above:.0f}", f"{most:.0f}")
        lines += f"| {name} | {' | '.join(figures)} |\n"
    many, few = (1000 * median(each) for each in zip(*counts, strict=True))
    return f"""{OPTIONS_HEAD}

`python benchmarks/tally.py --only options` measured this on {datetime.now(tz=UTC).date().isoformat()}; {machine()}.

| Option, epsilon 1 | seconds | busy, s | to a bare pass | asked for, s | memory above the rows, MB | at most, MB |
|---|---:|---:|---:|---:|---:|---:|
{lines}
{ATTRIBUTES} attributes in memory, by turns of 16 bins and of 8 values, and a label of 2. The bare pass is the loop
above: class counts of each attribute once. Seconds of the processors are held against its. A fresh
process each time has loaded what it needs. Medians of {OPTION_TURNS}, with the least and the most. PrivPfC
counts 10,000 grids of these attributes. PrivBayes asks for 300 sets of them for most of its 14 picks,
2,482 in all, of which 1,126 are different: these are counted once, which takes 0.62 times as long as to count all.

The number of these rows takes {many:.2f} ms with its noise, and of 5,000 rows {few:.2f} ms.
"""


def from_csv(path: Path) -> list[list[float]]:
    """Return the seconds of a tally from CSV, and of pyarrow's reader on one thread and on all."""
    facts = schema(CLASSES)
    question, source = kernel(facts), Table.read(path, facts, stream=True)._source  # noqa: SLF001 - as above
    one_thread = pa_csv.ReadOptions(use_threads=False)
    return in_turn(
        lambda: source.tally(question, ()),
        lambda: pa_csv.read_csv(path, read_options=one_thread),
        lambda: pa_csv.read_csv(path),
    )


def csv_files(folder: Path) -> dict[str, Path]:
    """Write the same rows of texts without quotes, and with all cells quoted."""
    table = pa.concat_tables(batches(CSV_ROWS))
    found = {}
    for title, style in (("no quotes", "none"), ("all cells quoted", "all_valid")):
        found[title] = folder / f"{style}.csv"
        pa_csv.write_csv(table, found[title], pa_csv.WriteOptions(quoting_style=style))
    return found


def machine() -> str:
    """Return what the figures depend on."""
    info = Path("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in info.open() if "model name" in line] if info.exists() else []
    return (
        f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pa.__version__};\n"
        f"load average {os.getloadavg()[0]:.1f} in the last minute, this benchmark's own included"
    )


def spread(seconds: list[float]) -> str:
    """Return median (least to most) seconds."""
    return f"{median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def put(page: Path, head: str, section: str) -> None:
    """Write a part of the page anew, at its place."""
    before, _, after = page.read_text(encoding="utf-8").partition(head)
    page.write_text(f"{before}{section}\n## {after.partition(chr(10) + '## ')[2]}", encoding="utf-8")
    print(section)


def main() -> int:
    """Measure, write the page, and return whether what is required was not reached."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rows", type=int, default=10**7)
    words.add_argument("--page", type=Path, default=PAGE, help="where to write")
    words.add_argument(
        "--only", choices=["cluster", "options"], help="measure this alone, and put it in its place on the page"
    )
    words.add_argument("--rounds", type=int, default=3, help="how many clusters of each kind are made")
    options = words.parse_args()
    rows = options.rows
    if options.only == "options":
        put(options.page, OPTIONS_HEAD, options_section())
        return 0
    if options.only:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write_parquet(path, rows)
            put(options.page, CLUSTER_HEAD, cluster_section(on_clusters(path, options.rounds), rows, options.rounds))
        return 0
    sizes = [size for size in (10**5, 10**6) if size < rows] + [rows]
    growth = [in_memory(size, CLASSES) for size in sizes]
    by_classes = [growth[-1] if classes == CLASSES else in_memory(rows, classes) for classes in (2, 3, 4, 5)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_parquet(path, rows)
        alone, before, after = streamed(path, rows)
        clusters = on_clusters(path, options.rounds)
        tables = {title: from_csv(file) for title, file in csv_files(Path(folder)).items()}
    worst = max(ours / theirs for _, _, ours, theirs in by_classes)
    classes_table = "".join(
        f"| {classes} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |\n" for _, classes, ours, theirs in by_classes
    )
    growth_table = "".join(
        f"| {size:,} | {ours:.4f} | {theirs:.4f} | {ours / theirs:.2f} | {ours / size * 1e9:.1f} |\n"
        for size, _, ours, theirs in growth
    )
    csv_table = "".join(
        f"| {title} | {spread(ours)} | {spread(single)} | {spread(threads)} | {median(ours) / median(single):.1f} |\n"
        for title, (ours, single, threads) in tables.items()
    )
    text = f"""# Tallies

Class counts of {ATTRIBUTES} attributes ({VALUES} values each) in one pass over {rows:,} rows take at most **{worst:.2f}
times** as long as a bare numpy loop; {REQUIRED_RATIO} times are allowed. Streamed from Parquet, they take
**{after - before:.0f} MB** above the interpreter and its imports; {REQUIRED_MEGABYTES:,} MB are allowed.

```
python benchmarks/tally.py
```

wrote this page on {datetime.now(tz=UTC).date().isoformat()}.
{machine()}.

## In memory, {rows:,} rows

| classes | Jostle, s | bare numpy loop, s | ratio |
|---:|---:|---:|---:|
{classes_table}
The bare loop is `np.bincount(column * classes + label)` for each attribute, over the same arrays of 8-bit codes.
Medians of {REPEATS} runs each, in turn. Jostle can be the faster one because it goes through the rows in blocks whose
codes and keys stay in the processor's cache.

## Growth, {CLASSES} classes

| rows | Jostle, s | bare numpy loop, s | ratio | Jostle, ns a row |
|---:|---:|---:|---:|---:|
{growth_table}
## Streamed from Parquet, {rows:,} rows

| how | seconds | note |
|---|---:|---|
| one process | {spread(clusters[STREAMED_HERE].more)} | |
| the same, fresh, imports not counted | {alone:.2f} | at most {after:.0f} MB resident, {before:.0f} MB of them before |

Texts in row groups of {GROUP_ROWS:,} rows, read anew for each tally. Medians, with the least and the most.

{options_section()}
{cluster_section(clusters, rows, options.rounds)}
## Streamed from CSV, {CSV_ROWS:,} rows

| cells | Jostle, s | pyarrow's reader, one thread, s | all threads, s | Jostle to one thread |
|---|---:|---:|---:|---:|
{csv_table}
Pyarrow's reader only reads; Jostle judges every line by itself, reads, codes and counts.
"""
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(text, encoding="utf-8")
    print(text)
    return int(worst > REQUIRED_RATIO or after - before > REQUIRED_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
