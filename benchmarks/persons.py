"""What it costs to bound the rows of a person, and how far off answers about persons are, beside OpenDP's.

    python benchmarks/persons.py [--only cost accuracy models others] [--rows 10000000] [--trials 100] [--data FOLDER]

*Cost*: the same Parquet file read with a person and without one, and asked for a count and a histogram, by a fresh
process each time. *Accuracy*: a count, a mean and a histogram of tables with several rows a person, for several bounds
on these rows, by Jostle and by OpenDP (`unit_of(contributions=1, identifier=...)`, `truncate_per_group(m)`), which runs
in an environment of its own. *Others*: the same beside PipelineDP. *Models*: how often these are wrong, beside
diffprivlib's for the same promise. What `benchmarks/persons_look.py` found is on the page as well. All is kept in
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
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from peers import run
from persons_look import EPSILONS, over_groups
from tally import machine
from trees import PEER, PEER_SCRIPT, _column

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.figures.thesis import fitted
from jostle.options.rows_of_persons import LOOK
from jostle.sites import force

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
MODELS = ("PooledTree", "MarginalRegression")
MODEL_TABLES = {
    "party_id": "public (role *judge*), rows dealt to made-up persons, geometric with mean 8",
    "okcupid_sex": "the same, lognormal with median 4 and deviation 1.2",
    "museum_kind": "public (role *judge*), districts taken for persons",
}
TRAIN_SHARE = 0.7
PIPELINE = ("pipeline-dp==0.3.1", "pandas", "pyarrow")
PIPELINE_SCRIPT = Path(__file__).with_name("persons_pipeline.py")
OURS_BESIDE = 400
"""Our runs beside theirs."""
SEEMS_WORSE = 1.1
"""From so many times OpenDP's error on, it is asked ten times as often."""
NAMED_ANEW = 20
"""Of our runs, so many times persons are named anew: which rows stay hangs on names, and OpenDP draws it each time."""
CELLS = 20
PARTS = ("cost", "accuracy", "models", "others")
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
    found: dict[str, list[Any]] = {question: [] for question in QUESTIONS}
    for number in range(NAMED_ANEW):
        named = frame.assign(who=frame["who"] * NAMED_ANEW + number)
        db = jostle.rehearse(Table.from_frame(named, schema.with_persons("who", most)), seed=number)
        for _ in range(trials // NAMED_ANEW):
            found["count"].append(float(db.count(EPSILON)))
            found["mean"].append(float(db.mean("x", epsilon=EPSILON)))
            found["histogram"].append(np.asarray(db.histogram("c", epsilon=EPSILON)).tolist())
    return found


def accuracy(folder: Path, trials: int) -> list[dict[str, Any]]:
    """How far answers are off, by table, bound, question and library: a few times, and often where we seem worse."""
    found: list[dict[str, Any]] = []
    for name, about, frame, schema in tables(folder):
        rows = frame.groupby("who").size()
        known = {"table": name, "about": about, "persons": len(rows), "rows": len(frame)}
        for most, question in product(BOUNDS, QUESTIONS):
            line: dict[str, Any] = known | {
                "m": most,
                "question": question,
                "dropped": int((rows - most).clip(lower=0).sum()),
            }
            for times in (trials // 10, trials):
                line |= compared(frame, schema, most, question, times)
                if "refused" in line or line["jostle"] < SEEMS_WORSE * line["opendp"]:
                    break
            found.append(line)
            print(json.dumps(line), flush=True)
    return found


def compared(frame: pd.DataFrame, schema: Schema, most: int, question: str, trials: int) -> dict[str, Any]:
    """How far answers to one question are off, of Jostle and of OpenDP, so many times."""
    numbers: Any = schema["x"]
    truth: dict[str, Any] = {
        "count": len(frame),
        "mean": frame["x"].mean(),
        "histogram": np.bincount(frame["c"], minlength=schema["c"].size),
    }
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "rows.parquet"
        frame.to_parquet(path)
        request: dict[str, Any] = {"path": str(path), "cells": schema["c"].size, "low": numbers.low}
        request |= {"high": numbers.high, "trials": trials, "bounds": [most], "questions": [question]}
        request |= {"epsilon": EPSILON, "rows": len(frame)}
        theirs = run("opendp", OPENDP, OPENDP_SCRIPT, request)[str(most)][question]
    found = {"trials": trials} | _facts("jostle", ours(frame, schema, most, OURS_BESIDE)[question], truth[question])
    return found | ({"refused": theirs} if isinstance(theirs, str) else _facts("opendp", theirs, truth[question]))


def labelled(folder: Path) -> Iterator[tuple[str, str, pd.DataFrame, Schema]]:
    """Yield tables to learn from with several rows a person: name, what it is, rows, schema without a person."""
    chance = np.random.default_rng(11)
    for name, about in MODEL_TABLES.items():
        frame = pd.read_csv(folder / "tabular" / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
        if name == "museum_kind":
            who = frame.pop("Admin_area").astype("category").cat.codes.to_numpy()
        else:
            # Rows of a person tend to be of one class.
            codes = frame["label"].astype("category").cat.codes
            frame = frame.iloc[np.argsort(codes + chance.uniform(0, 2, len(frame)))].reset_index(drop=True)
            rows = (
                chance.geometric(1 / 8, len(frame))
                if name == "party_id"
                else np.ceil(chance.lognormal(np.log(4), 1.2, len(frame))).astype(int)
            )
            who = np.repeat(np.arange(len(frame)), rows)[: len(frame)]
        schema = Schema.infer_public(frame, label="label")
        yield name, about, frame.assign(who=who), schema


def models(folder: Path, trials: int) -> list[dict[str, Any]]:
    """How often models are wrong on rows of other persons, by table and bound."""
    found: list[dict[str, Any]] = []
    for name, about, frame, schema in labelled(folder):
        persons = frame["who"].unique()
        splits = []
        for trial in range(trials):
            order = np.random.default_rng(trial).permutation(persons)
            learned = frame["who"].isin(order[: int(TRAIN_SHARE * len(order))])
            splits.append((np.flatnonzero(learned), np.flatnonzero(~learned)))
        for most in BOUNDS:
            line: dict[str, Any] = {
                "table": name,
                "about": about,
                "persons": len(persons),
                "rows": len(frame),
                "m": most,
            }
            wrong: dict[str, list[float]] = {}
            for trial, (learned, tested) in enumerate(splits):
                table = Table.from_frame(frame.iloc[learned], schema.with_persons("who", most))
                for option, looks in product(MODELS, ("", ", no look")):
                    with force({LOOK: "as declared"}, must_occur=False) if looks else nullcontext():
                        answer = fitted(option, EPSILON, table, frame.iloc[tested], trial)
                    wrong.setdefault(f"{option}{looks}", []).append(1 - answer.accuracy)
            for each in theirs_of(frame, schema, most, splits):
                if "accuracy" in each and each["option"].startswith("diffprivlib"):
                    wrong.setdefault(each["option"], []).append(1 - each["accuracy"])
            found.append(line | {"wrong": wrong})
            print(name, most, {way: round(float(np.mean(each)), 3) for way, each in wrong.items()}, flush=True)
    return found


def theirs_of(frame: pd.DataFrame, schema: Schema, most: int, splits: list[Any]) -> list[dict[str, Any]]:
    """What diffprivlib's models do at as many times less epsilon, on so many rows of each person drawn at random."""
    drawn = []
    for trial, (learned, tested) in enumerate(splits):
        mixed = frame.iloc[np.random.default_rng(trial).permutation(learned)]
        kept = mixed[mixed.groupby("who").cumcount() < most].index
        drawn.append((kept.tolist(), tested.tolist()))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "rows.csv"
        frame.drop(columns="who").to_csv(path, index=False)
        request: dict[str, Any] = {"path": str(path), "columns": [_column(schema, name) for name in schema.attributes]}
        request |= {"label": "label", "classes": list(schema.classes), "trials": len(splits), "splits": drawn}
        found: list[dict[str, Any]] = run("diffprivlib", PEER, PEER_SCRIPT, request | {"epsilons": [EPSILON / most]})
    return found


def others(folder: Path, trials: int) -> list[dict[str, Any]]:
    """How far counts and means of one table are off by PipelineDP, and by us."""
    found: list[dict[str, Any]] = []
    name, _, frame, schema = next(tables(folder))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "rows.parquet"
        frame.to_parquet(path)
        request: dict[str, Any] = {
            "path": str(path),
            "trials": trials,
            "bounds": BOUNDS,
            "epsilon": EPSILON,
            "low": 0,
            "high": 100,
        }
        theirs = run("pipelinedp", PIPELINE, PIPELINE_SCRIPT, request)
    truth = {"count": len(frame), "mean": frame["x"].mean()}
    for most in BOUNDS:
        mine = ours(frame, schema, most, OURS_BESIDE)
        for question, true in truth.items():
            line: dict[str, Any] = {"table": name, "m": most, "question": question, "trials": trials}
            line |= _facts("jostle", mine[question], true)
            line |= _facts("PipelineDP", theirs[str(most)][question], true)
            found.append(line)
            print(json.dumps(line), flush=True)
    return found


def _facts(library: str, answers: Any, truth: Any) -> dict[str, float]:
    """How far answers are off in the mean, of a histogram in the sum over its cells, with the error of that mean."""
    off = np.abs(np.asarray(answers, dtype=float) - truth)
    off = off.reshape(len(off), -1).sum(axis=1)
    return {library: float(off.mean()), f"{library} error": float(off.std(ddof=1) / np.sqrt(len(off)))}


def page(found: dict[str, Any]) -> str:
    """The page."""
    parts = ["# Persons: what a bound on their rows costs\n\n```\npython benchmarks/persons.py --data FOLDER\n```\n"]
    written: dict[str, Any] = {
        "cost": _cost_words,
        "accuracy": _accuracy_words,
        "others": _others_words,
        "models": _models_words,
        "look judge": partial(_look_words, found.get("look learn")),
    }
    parts += [words(found[part]) for part, words in written.items() if part in found]
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
    least, most = (end(each["trials"] for each in lines) for end in (min, max))
    more = f", {most} where Jostle seemed worse by a tenth then" if most > least else ""
    about = {each["table"]: each for each in lines}
    said = "".join(
        f"- *{name}*: {each['about']}; {each['rows']:,} rows of {each['persons']:,} persons\n"
        for name, each in about.items()
    )
    parts = [
        f"""## Accuracy

How far answers are off what is true of *all* rows, at ε = {EPSILON} for a person, on average over
{OURS_BESIDE} runs of Jostle and {least} of OpenDP{more}: noise, and the rows that are left out.
Of a histogram it is the sum over its cells. OpenDP 0.16 makes the same promise
(`unit_of(contributions=1, identifier=...)`, `truncate_per_group(m)`, pure ε) and has the same bounds of numbers and
the same list of values. Its mean also needs a public bound on the number of rows (`max_length`). It was told
twice as many as there are. Jostle needs none. OpenDP draws the rows that stay anew for each answer; for Jostle, persons
are named anew {NAMED_ANEW} times. In brackets are the ends between which a ratio is, 19 times of 20.

{said}"""
    ]
    for question in QUESTIONS:
        parts.append(f"### {question.capitalize()}\n")
        parts.append("| table | m | rows left out | Jostle | OpenDP | Jostle / OpenDP |")
        parts.append("|---|---:|---:|---:|---:|---:|")
        for each in lines:
            if each["question"] == question:
                head = f"| {each['table']} | {each['m']} | {each['dropped']:,} | {_number(each['jostle'])} |"
                theirs = f" {_number(each['opendp'])} | {_ratio(each, 'opendp')} |" if each in both else " refused | |"
                parts.append(head + theirs)
        parts.append("")
    worse = [each for each in both if _ends(each, "opendp")[0] > 1]
    which = "; ".join(f"{each['question']} of {each['table']}, m = {each['m']}" for each in worse)
    better = sum(_ends(each, "opendp")[1] < 1 for each in both)
    parts.append(
        f"Of {len(both)} ratios, {better} are surely below 1, and {len(worse) or 'none'} surely above"
        f"{f' ({which})' if worse else ''}; of as many equal ones, {0.025 * len(both):.1f} would seem to be."
    )
    if refused := sorted({each["refused"] for each in lines if "refused" in each}):
        parts.append(f"\nWhere OpenDP refused, it said: {'; '.join(refused)}.")
    return "\n".join(parts) + "\n"


def _others_words(lines: list[dict[str, Any]]) -> str:
    rows = "".join(
        f"| {each['question']} | {each['m']} | {_number(each['jostle'])} | {_number(each['PipelineDP'])} "
        f"| {_ratio(each, 'PipelineDP')} |\n"
        for each in lines
    )
    return f"""## Beside PipelineDP

The same for the table *{lines[0]["table"]}*, and PipelineDP 0.3.1 (`max_contributions_per_partition=m`, one public
partition, Laplace noise, no δ): {OURS_BESIDE:,} runs of Jostle, {lines[0]["trials"]} of PipelineDP, which goes through
all rows in Python for each.

| question | m | Jostle | PipelineDP | Jostle / PipelineDP |
|---|---:|---:|---:|---:|
{rows}
Tumult Analytics 0.21 (`AddRowsWithID`, `MaxRowsPerID(m)`) runs as well. One count of these rows took it 21 s on these
two cores, which others used, so that it was asked four times and no more: 35,464, 35,444, 35,430 and 35,443 for m = 16
of a table of the same shape.
"""


def _models_words(lines: list[dict[str, Any]]) -> str:
    about = "".join(
        f"- *{each['table']}*: {each['about']}; {each['rows']:,} rows of {each['persons']:,} persons\n"
        for each in lines
        if each["m"] == BOUNDS[0]
    )
    heads = [*MODELS, *(f"{option}, no look" for option in MODELS)]
    splits = len(lines[0]["wrong"][MODELS[0]])
    table = f"| table | m | {' | '.join(heads)} | diffprivlib's best |\n|---|---:|{'---:|' * (len(heads) + 1)}\n"
    for each in lines:
        wrong = {way: (float(np.mean(rates)), float(np.std(rates, ddof=1))) for way, rates in each["wrong"].items()}
        theirs = {way: rate for way, rate in wrong.items() if way.startswith("diffprivlib")}
        best = min(theirs, key=lambda way: theirs[way][0])
        shown = " | ".join(f"{wrong[way][0]:.3f}" for way in heads)
        table += f"| {each['table']} | {each['m']} | {shown} | {wrong[best][0]:.3f} ({best.split()[1]}) |\n"
    return f"""## Models

How often a model is wrong on rows of persons that it was not learned from, at ε = {EPSILON} for a person, in
the mean over {splits} splits. diffprivlib 0.6.6 knows no persons: it has m rows of each, drawn at random, and ε / m,
which is the same promise. Shown is the best of its four models, picked in hindsight. *No look* reads all m rows;
otherwise m is declared, and a look may take fewer.

{about}
{table}"""


def _look_words(learned: dict[str, Any] | None, judged: dict[str, Any]) -> str:
    ways, groups = judged["ways"], judged["groups"]
    logs, seen = np.array(judged["logs"]), np.array(judged["seen"])
    by_hand = (seen[:, 1] >= 100) & (seen[:, 2] >= 8) & (seen[:, 3] >= 0.05)
    columns = {way: logs[:, place] for place, way in enumerate(ways)}
    fixed, none = columns["5%"], columns["as declared"]
    columns["5% where there are 100 cells and m is 8 or more"] = np.where(by_hand, fixed, none)
    real = np.array([" " not in group or not group.split()[-1].isdecimal() for group in groups])

    def shown(way: str, kept: Any) -> str:
        rise, error = over_groups((columns[way] - columns["learned"])[kept], list(np.array(groups)[kept]))
        return _rise(rise, error)

    lines = "".join(f"| {way} | {shown(way, ~real)} | {shown(way, real)} |\n" for way in columns if way != "learned")
    bands = ""
    for low, high in pairwise((0, 100, 1000, 10_000, np.inf)):
        kept = (seen[:, 0] >= low) & (seen[:, 0] < high)
        head = f"{low:,.0f} to {high:,.0f}" if np.isfinite(high) else f"{low:,.0f} and more"
        bands += f"| {head} | {kept.sum()} | {shown('as declared', kept)} | {shown('5%', kept)} |\n"
    found = ""
    if learned is not None:
        formulas = "\n".join(f"{way:<12} {text}" for way, text in learned["formulas"].items())
        gains = learned["gains"]
        over = "; ".join(f"{way} everywhere {_rise(rise, error)}" for way, (rise, error) in gains.items())
        found = f"""
The logarithm of what each share of ε loses over 5%, as it was learned in {len(learned["logs"])} situations of
{len(set(learned["groups"]))} groups: shapes that are geometric, Zipf's or lognormal, and 12 tables of the roles
tune and learn, of which a column of many values is taken for who each row is of; at ε {", ".join(EPSILONS)}, of
2 to 256 rows declared and 10 to 8,000 cells. `noise` is cells times m over ε.

```
{formulas}
```

So 5% is taken, wherever persons have several rows and an answer rests on counts. On groups left out, others lose more
than what formulas choose: {over}.

That bands of few persons count as others do was learned likewise: where they count
only if they stand out by 1, 2, 3 or 4 scales of noise, 0.0% ± 0.1%, 0.6% ± 0.3%, 1.4% ± 0.6% and 2.2% ± 0.9% more is
lost.
"""
    return f"""## A look at how many rows persons have

    python benchmarks/persons_look.py learn|judge FOLDER

A share of ε buys a noisy histogram of how many persons have 1 row, 2, 3 or 4, 5 to 8 and so on, and as many rows of a
person are read as cost least by it. What is lost is by how much counts of a grid are off, in sum.
{found}
On other shapes (two kinds of persons, negative binomial, level) and on tables of the role judge, what is lost over what
was learned; geometric means, with standard errors over groups:

| instead | {len(set(np.array(groups)[~real]))} generated | {len(set(np.array(groups)[real]))} public tables |
|---|---:|---:|
{lines}
The last line is the rule that stood there before, set by hand. By the noise:

| cells times m / ε | situations | as declared | 5% |
|---|---:|---:|---:|
{bands}"""


def _rise(rise: float, error: float) -> str:
    return f"{np.exp(rise):.2f} times" if rise > 0.5 else f"{np.expm1(rise):+.1%} ± {error:.1%}"


def _ends(line: dict[str, Any], other: str) -> tuple[float, float]:
    """Between which the ratio of our error to another's is, 19 times of 20."""
    logs = np.log(line["jostle"] / line[other])
    error = np.hypot(line["jostle error"] / line["jostle"], line[f"{other} error"] / line[other])
    return float(np.exp(logs - 1.96 * error)), float(np.exp(logs + 1.96 * error))


def _ratio(line: dict[str, Any], other: str) -> str:
    low, high = _ends(line, other)
    return f"{line['jostle'] / line[other]:.2f} ({low:.2f} to {high:.2f})"


def _number(off: float) -> str:
    return f"{off:,.0f}" if off >= 100 else f"{off:.3g}"


def main() -> int:
    """Measure, keep it, and write the page."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    words.add_argument("--rows", type=int, default=10**7)
    words.add_argument("--trials", type=int, default=100, help="of each, in each setting")
    words.add_argument("--data", type=Path, default=DATA, help="a folder of public tables")
    words.add_argument("--page", type=Path, default=PAGE, help="where to write")
    options = words.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    results = options.page.with_suffix(".json")
    for part in options.only:
        if part == "cost":
            measured: Any = cost(options.rows)
        elif part in {"models", "others"}:
            measured = {"models": models, "others": others}[part](options.data, options.trials)
        else:
            measured = [{**each, "trials": options.trials} for each in accuracy(options.data, options.trials)]
        found = json.loads(results.read_text("utf-8")) if results.exists() else {}
        results.write_text(json.dumps({**found, part: measured}, indent=1) + "\n", encoding="utf-8")
    options.page.write_text(page(json.loads(results.read_text("utf-8"))), encoding="utf-8")
    print(options.page.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
