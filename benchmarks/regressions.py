"""Hold private regressions against each other, and against diffprivlib's, on public tables; time a step of a descent.

    python benchmarks/regressions.py FOLDER [--role judge] [--trials 2] [--only speed] [--page FILE]

FOLDER is the one that `benchmarks/roles.py` reads. Of its tables of a role those of 1,000 to 10,000 rows and at most
five classes are taken, twelve at most. What was measured is kept in the results file, so that a run that was stopped
goes on where it was; the page is made of it. diffprivlib runs in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from peers import PeerError, run
from roles import ROLES, database_of, listed

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.corpora.parts import TableSpec
from jostle.figures.vinterbo import LinearFeatures
from jostle.options import get
from jostle.options.classification.linear_rules import line_numbers
from jostle.privacy.descent import Descent
from jostle.tables.slopes import UNIT
from jostle.tasks import CLASSIFICATION
from jostle.tasks.classification.instances import error, one_less_auc

EPSILONS = ("0.1", "0.5", "2")
WAYS = ("PLR", "PrivateERM", "PrivGene", "FunctionalLogistic", "MarginalRegression", "Majority")
PEER, PLAIN = "diffprivlib", "no privacy"
LIBRARY = ("diffprivlib==0.6.6", "scikit-learn<1.8")
TABLES, LEAST, MOST, CLASSES = 12, 1000, 10_000, 5
JUDGES = {"error": "share of rows predicted wrong", "auc": "1 less the area under the curve"}
ROWS, COLUMNS, STEPS = 100_000, 100, 30
Facts = dict[str, Any]

FIT = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
request = json.load(sys.stdin)
held = np.load(request["path"])
if request["epsilon"] is None:
    from sklearn.linear_model import LogisticRegression
    model = LogisticRegression(max_iter=500)
else:
    from diffprivlib.models import LogisticRegression
    model = LogisticRegression(epsilon=request["epsilon"], data_norm=1.0, max_iter=500, random_state=request["seed"])
model.fit(held["seen"], held["labels"])
chances = np.zeros((len(held["asked"]), request["classes"]))
chances[:, model.classes_] = model.predict_proba(held["asked"])
print(json.dumps(chances.tolist()))
"""


def tables(folder: Path, role: str) -> Iterator[str]:
    """Yield the names of the tables that are taken."""
    found = 0
    for each in listed(folder, "tabular", role):
        held: Any = database_of(folder / "tabular", each.name)
        classes = len(set(held.columns[held.label].to_pylist()))
        if LEAST <= held.columns.num_rows <= MOST and classes <= CLASSES and found < TABLES:
            found += 1
            yield each.name


def measured(folder: Path, name: str, trial: int, kept: Callable[[str, Callable[[], Facts]], Facts]) -> None:
    """Measure all ways on one part of a table."""
    instance: Any = CLASSIFICATION.rehearsal.instance(
        database_of(folder / "tabular", name), TableSpec(seed=2000 + trial)
    )

    def losses(chances: NDArray[np.float64]) -> Facts:
        return {"error": error(instance.labels, chances), "auc": one_less_auc(instance.labels, chances)}

    def ours(way: str, epsilon: str) -> Facts:
        start = time.process_time()
        model: Any = get(way)(jostle.rehearse(instance.table, epsilon=epsilon, seed=trial), epsilon=epsilon)
        seconds = time.process_time() - start
        return {**losses(model.chances(instance.codes)), "seconds": seconds}

    def theirs(epsilon: str | None) -> Facts:
        block = instance.table._source  # noqa: SLF001 - public rows, in memory
        schema, features = instance.schema, LinearFeatures.of_schema(instance.schema)
        seen = np.stack([block.columns[each].astype(np.int64) for each in schema.attributes], axis=1)
        held = {each: features.of_codes(codes) for each, codes in (("seen", seen), ("asked", instance.codes))}
        # Every row has norm 1 at most, by public facts: numbers lie between -2 and 2, and a value is one of several.
        norm = np.sqrt(sum(4.0 if isinstance(schema[each], Numeric) else 1.0 for each in schema.attributes))
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            labels = block.columns[schema.label].astype(np.int64)
            scaled = held if epsilon is None else {each: values / norm for each, values in held.items()}
            np.savez(file.name, labels=labels, **scaled)
            request = {"path": file.name, "epsilon": epsilon and float(epsilon), "seed": trial}
            found = run("diffprivlib", LIBRARY, FIT, {**request, "classes": len(schema.classes)})
        return losses(np.array(found))

    for epsilon in EPSILONS:
        for way in WAYS:
            kept(f"{name} {trial} {way} {epsilon}", lambda: ours(way, epsilon))  # noqa: B023 - run at once
        kept(f"{name} {trial} {PEER} {epsilon}", lambda: theirs(epsilon))  # noqa: B023 - run at once
    kept(f"{name} {trial} {PLAIN}", lambda: theirs(None))


def speed() -> Facts:
    """Time a step over many rows in memory, beside a pass of bare numpy over the same numbers as floats."""
    random = np.random.default_rng(0)
    names = [f"c{place}" for place in range(COLUMNS)]
    codes = random.integers(0, 16, (ROWS, COLUMNS))
    schema = Schema({**{name: Numeric(0, 16, bins=16) for name in names}, "y": Categorical(["n", "y"])}, label="y")
    label = np.where(codes[:, 0] + random.normal(0, 4, ROWS) > 8, "y", "n")
    data = {name: codes[:, place] + 0.5 for place, name in enumerate(names)}
    table = Table.from_frame(pa.table({**data, "y": label}), schema)
    side = UNIT // 11
    numbers = [line_numbers(schema, name, side) for name in names]
    steps = Descent(names, numbers, (), 0, 1, side, (1,), "logistic", "1/100", ROWS, STEPS, 24)
    ours = min(_seconds(lambda: jostle.rehearse(table, seed=1).perform(steps, 1, site="w")) for _ in range(3)) / STEPS
    tracemalloc.start()
    jostle.rehearse(table, seed=1).perform(steps, 1, site="w")
    memory = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    rows, sign, weights = codes / 176.0, np.where(label == "y", 1.0, -1.0), random.normal(size=COLUMNS)
    bare = min(_seconds(lambda: rows.T @ (sign / (1 + np.exp(sign * (rows @ weights))))) for _ in range(20))
    return {"step": ours, "bare": bare, "times": ours / bare, "MB beside": memory, "MB of floats": rows.nbytes / 2**20}


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


HEAD = """# Regressions

`python benchmarks/regressions.py FOLDER`: {count} {role} tables of 1,000 to 10,000 rows and at most five classes,
{trials} cut{s} each, epsilon .1, .5 and 2 under `add_remove`. Figures are of rows held out, means over cuts.
diffprivlib 0.6.6's `LogisticRegression` perturbs the objective in floating point, whose claim does not survive it
([why](../options/classification.md)). It gets the same features, scaled publicly to norm 1, and its own penalty.
*No privacy* is scikit-learn's logistic regression on these features. The best of each line with privacy is in bold.
"""


def page(known: Facts, role: str) -> str:
    """Return the page."""
    names = list(dict.fromkeys(key.split(" ")[0] for key in known if key != "speed"))
    trials = len({key.split(" ")[1] for key in known if key != "speed"})
    parts = [HEAD.format(count=len(names), role=f"*{role}*", trials=trials, s="s" * (trials > 1))]
    ways = [*WAYS, PEER]
    for judge, said in JUDGES.items():
        parts += [f"## By {said}", "", _line(["table", "epsilon", *ways, PLAIN]), _line(["---"] * (len(ways) + 3))]
        sums: dict[str, list[list[float]]] = {epsilon: [] for epsilon in EPSILONS}
        for name in names:
            for epsilon in EPSILONS:
                found = [_mean(known, name, f" {way} {epsilon}", judge) for way in ways]
                sums[epsilon].append([*found, _mean(known, name, f" {PLAIN}", judge)])
                parts.append(_shown(name, epsilon, sums[epsilon][-1]))
        parts += [_shown("*mean*", epsilon, np.nanmean(sums[epsilon], axis=0).tolist()) for epsilon in EPSILONS]
        parts.append("")
    if "speed" in known:
        facts = {key.replace(" ", "_"): value for key, value in known["speed"].items()}
        parts.append(SPEED.format(rows=ROWS, columns=COLUMNS, **facts))
    return "\n".join(parts) + "\n"


SPEED = """## Time

A step over {rows:,} rows of {columns} columns of numbers takes {step:.3f} s of a processor, a pass of bare numpy over
the same numbers as floats {bare:.3f} s: {times:.1f} times as much. Beside the table's codes it takes
{MB_beside:.0f} MB; the floats alone are {MB_of_floats:.0f} MB. A descent has 200 steps at most."""


def _mean(known: Facts, name: str, ending: str, judge: str) -> float:
    found = [facts[judge] for key, facts in known.items() if key.startswith(f"{name} ") and key.endswith(ending)]
    return float(np.mean(found)) if found else float("nan")


def _shown(name: str, epsilon: str, values: Sequence[float]) -> str:
    best = np.nanmin(values[:-1])
    said = [f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in values[:-1]]
    return _line([name, epsilon, *said, f"{values[-1]:.3f}"])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure what is not known yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--role", choices=ROLES, default="judge")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/regressions.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks/regressions.md"))
    parser.add_argument("--only", choices=("tables", "speed", "page"))
    given = parser.parse_args()
    known: Facts = json.loads(given.results.read_text("utf-8")) if given.results.exists() else {}

    def kept(key: str, measure: Callable[[], Facts]) -> Facts:
        if key not in known:
            try:
                facts = measure()
            except PeerError as problem:
                print(key, str(problem)[-300:], flush=True)
                return {}
            known[key] = {each: round(value, 4) for each, value in facts.items()}
            given.results.write_text(json.dumps(known, indent=0) + "\n", "utf-8")
            print(key, known[key], flush=True)
        kept_facts: Facts = known[key]
        return kept_facts

    if given.only in {None, "speed"}:
        kept("speed", speed)
    if given.only in {None, "tables"}:
        for trial in range(given.trials):
            for name in tables(given.folder, given.role):
                measured(given.folder, name, trial, kept)
    given.page.write_text(page(known, given.role), "utf-8")


if __name__ == "__main__":
    main()
