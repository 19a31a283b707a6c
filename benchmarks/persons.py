"""What it costs to bound the rows of a person, and how far off answers about persons are, beside OpenDP's.

    python benchmarks/persons.py [--only cost accuracy looks] [--rows 10000000] [--trials 10] [--data FOLDER]

*Cost*: the same Parquet file read with a person and without one, and asked for a count and a histogram, by a fresh
process each time. *Accuracy*: a count, a mean and a histogram of tables with several rows a person, for several bounds
on these rows, by Jostle and by OpenDP (`unit_of(contributions=1, identifier=...)`, `truncate_per_group(m)`), which runs
in an environment of its own. *Looks*: how far counts of a grid are off where as many rows of a person are read as the
schema says, as a bought look says, and as would have been best. What was measured is kept in
docs/benchmarks/persons.json, from which docs/benchmarks/persons.md is written. FOLDER is the one that
`benchmarks/roles.py` reads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from peers import run
from tally import machine

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.options.rows_of_persons import with_fewer_rows

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "persons.md"
DATA = Path(__file__).parents[2] / "shared" / "data"
OPENDP = ("opendp==0.16.0", "polars==1.36.1", "pyarrow==26.0.1", "numpy==2.4.6")
OPENDP_SCRIPT = Path(__file__).with_name("persons_opendp.py")

MOST = 16
TURNS = 2
REQUIRED_RATIO = 2
GROUP_ROWS = 1 << 18
WARDS, ILLS = [f"ward {number}" for number in range(12)], [f"code {number}" for number in range(40)]
VISITS = {
    "age": Numeric(0, 100, bins=20, unit=1),
    "days": Numeric(0, 63, bins=16, unit=1),
    "paid": Numeric(0, 1000, bins=20),
    "ward": Categorical(WARDS),
    "ill": Categorical(ILLS),
    "fall": Categorical(["no", "yes"]),
}

BOUNDS = (1, 4, 16, 64)
EPSILON = 1
PERSONS = 5_000
OF_OURS = 20
"""How many times we run for each run of OpenDP, which takes longer."""
CELLS = 20
GRID = (10, 20)
LOOK_MOST = 64
LOOK_EPSILONS = ("0.1", "1", "10")
PARTS = ("cost", "accuracy", "looks")
QUESTIONS = ("count", "mean", "histogram")


# As in `tally.py`, the greatest resident size is the process's own.
READ = """
import json, re, sys, time
from pathlib import Path
import jostle
from persons import visits_schema
from jostle.tables import readers  # loaded before the clock begins
def peak(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before, most, stream = peak(), int(sys.argv[2]), sys.argv[3] == "streamed"
start, busy = time.perf_counter(), time.process_time()
db = jostle.rehearse(jostle.Table.read(sys.argv[1], visits_schema(most), stream=stream))
db.count(1)
opened = time.perf_counter() - start
db.histogram("ward", epsilon=1)
print(json.dumps({
    "seconds": time.perf_counter() - start, "opened": opened, "busy": time.process_time() - busy,
    "before": before, "after": peak(),
}))
"""


def visits_schema(most: int) -> Schema:
    """What is public about visits; of a person at most so many, or, of none, about rows alone."""
    return Schema(VISITS, person="patient", rows_per_person=most) if most else Schema(VISITS)


def write_visits(path: Path, rows: int) -> None:
    """Write rows of a tenth as many persons, in any order, a row group at a time."""
    chance = np.random.default_rng(1)
    facts = [("patient", pa.int64()), ("age", pa.int64()), ("days", pa.int64()), ("paid", pa.float64())]
    kinds = pa.schema([*facts, ("ward", pa.string()), ("ill", pa.string()), ("fall", pa.string())])
    with pa_parquet.ParquetWriter(path, kinds) as writer:
        for start in range(0, rows, GROUP_ROWS):
            size = min(GROUP_ROWS, rows - start)
            texts = {
                name: pa.array(values).take(pa.array(chance.integers(0, len(values), size)))
                for name, values in (("ward", WARDS), ("ill", ILLS), ("fall", ["no", "yes"]))
            }
            numbers = {
                "patient": chance.integers(0, rows // 10, size),
                "age": chance.integers(0, 101, size),
                "days": chance.integers(0, 64, size),
                "paid": chance.uniform(0, 1000, size),
            }
            writer.write_table(pa.table({**numbers, **texts}, schema=kinds))


def cost(rows: int) -> dict[str, Any]:
    """Seconds and megabytes of reading with persons and without, in turn."""
    found: dict[str, Any] = {"rows": rows, "machine": machine(), "date": str(datetime.now(UTC).date())}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.parquet"
        write_visits(path, rows)
        for how in ("memory", "streamed"):
            for _ in range(TURNS):
                for most in (0, MOST):
                    words = [sys.executable, "-c", READ, str(path), str(most), how]
                    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
                    found.setdefault(f"{how} {most}", []).append(json.loads(done.stdout))
                    print(how, most, done.stdout, flush=True)
    return found


def tables(folder: Path) -> Iterator[tuple[str, str, pd.DataFrame, Schema]]:
    """Yield tables with several rows a person: a name, what it is, rows (who, x, c) and the schema without a person."""
    chance = np.random.default_rng(7)
    ranks = np.arange(1, PERSONS + 1)
    shapes = {
        "geometric": ("mean 8", chance.geometric(1 / 8, PERSONS)),
        "Zipf": ("the k-th has 1,500 / k", np.maximum(1, 1500 // ranks)),
        "lognormal": ("median 4, deviation 1.2", np.ceil(chance.lognormal(np.log(4), 1.2, PERSONS)).astype(int)),
    }
    columns = {"x": Numeric(0, 100, unit=1), "c": Categorical(range(CELLS))}
    for name, (about, rows) in shapes.items():
        # Whoever has more rows has larger numbers, so that rows which are left out are not like those that stay.
        centre = 30 + 8 * np.log2(rows) + chance.normal(0, 10, PERSONS)
        who = np.repeat(np.arange(PERSONS), rows)
        x = np.clip(np.rint(centre[who] + chance.normal(0, 10, len(who))), 0, 100).astype(int)
        c = np.minimum(CELLS - 1, chance.geometric(0.15, len(who)) - 1 + rows[who] // 64)
        yield name, f"generated, {about}", pd.DataFrame({"who": who, "x": x, "c": c}), Schema(columns)
    path = folder / "tabular" / "climb_success.csv.gz"
    climbs = pd.read_csv(path, keep_default_na=False, na_values=[""])
    codes = {name: code for code, name in enumerate(sorted(climbs["season"].unique()))}
    frame = pd.DataFrame({"who": climbs["peak_id"].astype("category").cat.codes, "x": climbs["year"] - 1900})
    frame["c"] = climbs["season"].map(codes)
    public = Schema({"x": Numeric(0, 127, unit=1), "c": Categorical(range(len(codes)))})
    yield "climbs", "public (role *judge*), peaks taken for persons", frame, public


def ours(frame: pd.DataFrame, schema: Schema, most: int, trials: int) -> dict[str, list[Any]]:
    """Answers of Jostle."""
    table = Table.from_frame(frame, schema.with_persons("who", most))
    db = jostle.rehearse(table, seed=most)
    return {
        "count": [float(db.count(EPSILON)) for _ in range(trials)],
        "mean": [float(db.mean("x", epsilon=EPSILON)) for _ in range(trials)],
        "histogram": [np.asarray(db.histogram("c", epsilon=EPSILON)).tolist() for _ in range(trials)],
    }


def accuracy(folder: Path, trials: int) -> list[dict[str, Any]]:
    """How far answers are off, by table, bound, question and library."""
    found: list[dict[str, Any]] = []
    for name, about, frame, schema in tables(folder):
        numbers: Any = schema["x"]
        cells, (low, high) = schema["c"].size, (numbers.low, numbers.high)
        truth: dict[str, Any] = {
            "count": len(frame),
            "mean": frame["x"].mean(),
            "histogram": np.bincount(frame["c"], minlength=cells),
        }
        rows = frame.groupby("who").size()
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "rows.parquet"
            frame.to_parquet(path)
            request = {"path": str(path), "cells": cells, "low": low, "high": high, "trials": trials}
            request |= {"bounds": BOUNDS, "epsilon": EPSILON, "rows": len(frame)}
            theirs = run("opendp", OPENDP, OPENDP_SCRIPT, request)
        for most in BOUNDS:
            mine = ours(frame, schema, most, OF_OURS * trials)
            for question in QUESTIONS:
                line = {"table": name, "about": about, "persons": len(rows), "rows": len(frame), "m": most}
                line |= {"dropped": int((rows - most).clip(lower=0).sum()), "question": question}
                their = theirs[str(most)][question]
                line |= {"jostle": _off(mine[question], truth[question]), "jostle noise": _noise(mine[question])}
                if isinstance(their, str):
                    found.append({**line, "refused": their})
                else:
                    off = {"opendp": _off(their, truth[question]), "opendp noise": _noise(their)}
                    found.append({**line, **off})
                print(json.dumps(found[-1]), flush=True)
    return found


def looks(folder: Path, trials: int) -> list[dict[str, Any]]:
    """How far grids are off and models are wrong with a look, beside the bound as declared and the best one."""
    found: list[dict[str, Any]] = []
    for name, about, frame, _ in tables(folder):
        if name == "climbs":
            continue  # which has no more columns
        truth = np.histogramdd(frame[["x", "c"]].to_numpy(), bins=GRID, range=[(0, 101), (0, CELLS)])[0]
        bins = {"x": Numeric(0, 101, bins=GRID[0]), "c": Numeric(0, CELLS, bins=GRID[1])}
        for epsilon in LOOK_EPSILONS:
            off: dict[str, list[float]] = {}
            for trial in range(trials):
                for most in (MOST, LOOK_MOST):
                    table = Table.from_frame(frame, Schema(bins).with_persons("who", most))
                    db = jostle.rehearse(table, epsilon=epsilon, seed=trial)
                    probe, rest = with_fewer_rows(db, Fraction(epsilon), truth.size, "grid")
                    answer = np.asarray(probe.histogram("x", "c", epsilon=rest))
                    off.setdefault(f"look, {most} declared", []).append(float(np.abs(answer - truth).sum()))
                    for bound in [1 << power for power in range(most.bit_length())]:
                        db = jostle.rehearse(table, epsilon=epsilon, seed=trial)
                        answer = np.asarray(db.bounded(bound, epsilon).histogram("x", "c", epsilon=epsilon))
                        off.setdefault(f"{bound}", []).append(float(np.abs(answer - truth).sum()))
            means = {way: float(np.mean(each)) for way, each in off.items()}
            found.append({"table": name, "about": about, "epsilon": epsilon, "cells": truth.size, "off": means})
            print(json.dumps(found[-1]), flush=True)
    return found


def _off(answers: Any, truth: Any) -> float:
    """The mean of how far answers are off; of a histogram, of the sum over its cells."""
    off = np.abs(np.asarray(answers, dtype=float) - truth)
    return float(off.reshape(len(off), -1).sum(axis=1).mean())


def _noise(answers: Any) -> float:
    """The mean of how far answers are off their own middle."""
    return _off(answers, np.median(np.asarray(answers, dtype=float), axis=0))


def page(found: dict[str, Any]) -> str:
    """The page."""
    parts = ["# Persons: what a bound on their rows costs\n\n```\npython benchmarks/persons.py --data FOLDER\n```\n"]
    if cost := found.get("cost"):
        parts.append(_cost_words(cost))
    if lines := found.get("accuracy"):
        parts.append(_accuracy_words(lines))
    if lines := found.get("looks"):
        parts.append(_looks_words(lines))
    return "\n".join(parts)


def _cost_words(cost: dict[str, Any]) -> str:
    def middle(how: str, most: int, what: str) -> float:
        return float(median(each[what] for each in cost[f"{how} {most}"]))

    lines = ""
    for how, title in (("memory", "in memory"), ("streamed", "streamed")):
        for most in (0, MOST):
            seconds, busy, after = (middle(how, most, what) for what in ("seconds", "busy", "after"))
            ratios = [middle(how, most, what) / middle(how, 0, what) for what in ("seconds", "busy")]
            name = f"{title}, persons (m = {most})" if most else f"{title}, rows"
            lines += f"| {name} | {seconds:.2f} | {ratios[0]:.2f} | {busy:.2f} | {ratios[1]:.2f} | {after:,.0f} |\n"
    return f"""## Cost

{cost["rows"]:,} rows of {cost["rows"] // 10:,} persons, in any order, in one Parquet file with
{len(VISITS)} columns beside the person. They are read and counted, and one histogram is made, by
`jostle.rehearse`. At most {REQUIRED_RATIO} times the seconds without persons were asked for.

| how | seconds | to rows | busy, s | to rows | most memory, MB |
|---|---:|---:|---:|---:|---:|
{lines}
*Busy* are the processors, of all threads together. A fresh process each time; medians of {TURNS}, in turn. Memory
is the greatest resident size, of which {middle("memory", 0, "before"):.0f} MB are there before the file is read.
Measured on {cost["date"]};
{cost["machine"]}.
"""


def _accuracy_words(lines: list[dict[str, Any]]) -> str:
    both = [each for each in lines if "opendp" in each]
    about = {each["table"]: each for each in lines}
    said = "".join(
        f"- *{name}*: {each['about']}; {each['rows']:,} rows of {each['persons']:,} persons\n"
        for name, each in about.items()
    )
    parts = [
        f"""## Accuracy

How far answers are off what is true of *all* rows, at ε = {EPSILON} for a person, on average over
{OF_OURS * lines[0]["trials"]} runs of Jostle and {lines[0]["trials"]} of OpenDP: noise, and the rows that are left out.
Of a histogram it is the sum over its cells. OpenDP 0.16 makes the same promise
(`unit_of(contributions=1, identifier=...)`, `truncate_per_group(m)`, pure ε) and has the same bounds of numbers and
the same list of values. Its mean also needs a public bound on the number of rows (`max_length`). It was told
twice as many as there are. Jostle needs none.

{said}"""
    ]
    for question in QUESTIONS:
        parts.append(f"### {question.capitalize()}\n")
        parts.append("| table | m | rows left out | Jostle | OpenDP | Jostle / OpenDP |")
        parts.append("|---|---:|---:|---:|---:|---:|")
        for each in lines:
            if each["question"] == question:
                theirs = (
                    f"{_number(each['opendp'])} | {each['jostle'] / each['opendp']:.2f}"
                    if each in both
                    else "refused | "
                )
                parts.append(
                    f"| {each['table']} | {each['m']} | {each['dropped']:,} | {_number(each['jostle'])} | {theirs} |"
                )
        parts.append("")
    whole, noise = (_ratios(both, kind) for kind in ("", " noise"))
    parts.append(
        f"Jostle's error over OpenDP's, geometric mean over tables and m: {whole}.\n"
        "Where rows that are left out are most of it, nothing else can be seen in that. How far answers are off "
        f"their own\nmiddle, Jostle's over OpenDP's: {noise}.\n"
        "OpenDP draws the rows that stay anew each time, which is in its means and histograms; Jostle's stay the same."
    )
    if refused := sorted({each["refused"] for each in lines if "refused" in each}):
        parts.append(f"\nWhere OpenDP refused, it said: {'; '.join(refused)}.")
    return "\n".join(parts) + "\n"


def _looks_words(lines: list[dict[str, Any]]) -> str:
    rows = ""
    for each in lines:
        off = each["off"]
        best = min((way for way in off if way.isdecimal()), key=lambda way: off[way])
        ratios = " | ".join(
            f"{off[f'look, {most} declared'] / off[best]:.2f} | {off[f'{most}'] / off[best]:.2f}"
            for most in (MOST, LOOK_MOST)
        )
        rows += f"| {each['table']} | {each['epsilon']} | {best} | {ratios} |\n"
    return f"""## A look at how many rows persons have

How far {lines[0]["cells"]} counts of a grid are off in sum, beside the best number of rows of a person, which nobody
knows beforehand. With a look, 5% of ε buys a noisy histogram of rows per person, which decides.

| table | ε | best m | {MOST} declared: look | all {MOST} | {LOOK_MOST} declared: look | all {LOOK_MOST} |
|---|---|---:|---:|---:|---:|---:|
{rows}"""


def _number(off: float) -> str:
    return f"{off:,.0f}" if off >= 100 else f"{off:.3g}"


def _ratios(lines: list[dict[str, Any]], kind: str) -> str:
    """Our error over theirs by question, in words."""
    shown = []
    for question in QUESTIONS:
        logs = [np.log(each[f"jostle{kind}"] / each[f"opendp{kind}"]) for each in lines if each["question"] == question]
        if logs:
            shown.append(
                f"{np.exp(np.mean(logs)):.2f} (give or take {np.std(logs) / np.sqrt(len(logs)):.2f}) for a {question}"
            )
    return ", ".join(shown)


def main() -> int:
    """Measure, keep it, and write the page."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    words.add_argument("--rows", type=int, default=10**7)
    words.add_argument("--trials", type=int, default=10, help="runs of OpenDP, and a twentieth of ours")
    words.add_argument("--data", type=Path, default=DATA, help="a folder of public tables")
    words.add_argument("--page", type=Path, default=PAGE, help="where to write")
    options = words.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    results = options.page.with_suffix(".json")
    for part in options.only:
        if part == "cost":
            measured: Any = cost(options.rows)
        elif part == "looks":
            measured = looks(options.data, options.trials)
        else:
            measured = [{**each, "trials": options.trials} for each in accuracy(options.data, options.trials)]
        found = json.loads(results.read_text("utf-8")) if results.exists() else {}
        results.write_text(json.dumps({**found, part: measured}, indent=1) + "\n", encoding="utf-8")
    options.page.write_text(page(json.loads(results.read_text("utf-8"))), encoding="utf-8")
    print(options.page.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
