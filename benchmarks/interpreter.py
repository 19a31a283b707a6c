"""Time a tree program against the same program in Python, question by question through the same probe.

    python benchmarks/interpreter.py DIRECTORY [--pairs 40] [--only nursery,adult] [--markdown FILE]

DIRECTORY holds NAME.csv.gz files whose last column is `label`. `programs/tree.jst` is loaded once; every pair of runs
rehearses on the same table with the same seed, once as the program and once as its twin, `programs/tree.py`, by turns
first. Both must grow the same tree and be charged the same, and what is timed is the processor's time of this process
alone. The figure of a row is the ratio of the fastest runs of each: whatever else runs on the machine only adds to a
run. Writes docs/benchmarks/interpreter.md.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
from attrs import frozen

import jostle
from jostle import Schema, Table
from jostle.trace.records import Charged, Released, Trace

HERE = Path(__file__).parent.parent
sys.path.insert(0, str(HERE))
from programs import tree as twin  # noqa: E402 - a script beside the program it is the twin of

DOCS = HERE / "docs" / "benchmarks" / "interpreter.md"
PROGRAM = HERE / "programs" / "tree.jst"
TABLES = ("nursery", "adult", "car", "mushroom")
SETTINGS = (("1/10", 5), ("1", 3), ("1", 5), ("5", 5))
"""Epsilon and depth."""
ALLOWED = 1.05

Run = Callable[[jostle.Probe], Any]


@frozen
class Timing:
    """What the pairs of one table, epsilon and depth took, in seconds."""

    table: str
    epsilon: str
    depth: int
    questions: int
    """How many were asked in one run."""
    python: tuple[float, ...]
    program: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Return how many times as long the program takes, by the fastest runs of each."""
        return min(self.program) / min(self.python)

    @property
    def median_ratio(self) -> float:
        """Return the same by the pairs: the median of their ratios."""
        return statistics.median(mine / other for mine, other in zip(self.program, self.python, strict=True))


COLUMNS: dict[str, Callable[[Timing], str]] = {
    "table": lambda each: each.table,
    "epsilon": lambda each: each.epsilon,
    "depth": lambda each: f"{each.depth}",
    "questions": lambda each: f"{each.questions:,}",
    "ms Python": lambda each: f"{1000 * min(each.python):.1f}",
    "ms Jostle program": lambda each: f"{1000 * min(each.program):.1f}",
    "ratio": lambda each: f"{each.ratio:.3f}",
    "median ratio of pairs": lambda each: f"{each.median_ratio:.3f}",
}


def main() -> None:
    """Time every table and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--only", default=",".join(TABLES))
    parser.add_argument("--markdown", type=Path, default=DOCS)
    given = parser.parse_args()
    option = jostle.load(PROGRAM).options["FriedmanSchuster"]
    found = []
    for name in given.only.split(","):
        table = read(given.data / f"{name}.csv.gz")
        for epsilon, depth in SETTINGS:
            found.append(measured(option, name, table, epsilon, depth, given.pairs))
            print(" ".join(f"{title} {show(found[-1])}" for title, show in COLUMNS.items()), flush=True)
    given.markdown.write_text(document(found, given.pairs), encoding="utf-8")


def read(path: Path) -> Table:
    """Return a table; only empty cells are missing, and numbers are binned as the schema says."""
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return Table.from_frame(frame, Schema.infer_public(frame, label="label"))


def measured(option: Any, name: str, table: Table, epsilon: str, depth: int, pairs: int) -> Timing:  # noqa: PLR0917 - one setting
    """Return the times of pairs of runs, each pair with a seed of its own but the same number of questions."""
    budget = Fraction(epsilon)

    def in_jostle(db: jostle.Probe) -> Any:
        return option(db, d=depth, epsilon=budget)

    def in_python(db: jostle.Probe) -> Any:
        return twin.friedman_schuster(db, budget, depth=depth)

    questions = check_same(table, epsilon, in_jostle, in_python)
    times: dict[Run, list[float]] = {in_jostle: [], in_python: []}
    for pair in range(pairs):
        for run in (in_jostle, in_python) if pair % 2 else (in_python, in_jostle):
            times[run].append(timed(table, epsilon, run))
    return Timing(name, epsilon, depth, questions, tuple(times[in_python]), tuple(times[in_jostle]))


def check_same(table: Table, epsilon: str, *runs: Run) -> int:
    """Return how many questions a run asks; stop unless all runs are charged alike and grow one tree."""
    seen = []
    for run in runs:
        trace = Trace()
        model = run(jostle.rehearse(table, epsilon=epsilon, seed=1, trace=trace))
        charged = [(each.mechanism, each.epsilon, each.spent) for each in trace.records if isinstance(each, Charged)]
        released = [each.values for each in trace.records if isinstance(each, Released)]  # noqa: PD011 - no frame
        seen.append((dict(model.facts()), charged, released))
    if any(each != seen[0] for each in seen[1:]):
        raise RuntimeError("the program and its twin are not the same")
    return len(seen[0][2])


def timed(table: Table, epsilon: str, run: Run) -> float:
    """Return the processor's seconds of one run, the table being in memory already."""
    db = jostle.rehearse(table, epsilon=epsilon, seed=1)
    gc.collect()
    start = time.process_time()
    run(db)
    return time.process_time() - start


def document(found: Iterable[Timing], pairs: int) -> str:
    """Return the figures as a document."""
    found = list(found)
    rows = [list(COLUMNS), ["---"] * len(COLUMNS), *([show(each) for show in COLUMNS.values()] for each in found)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    most = max(found, key=lambda each: each.ratio)
    overall = sum(min(each.program) for each in found) / sum(min(each.python) for each in found)
    return f"""# What the interpreter adds

`programs/tree.jst` against its twin in Python, `programs/tree.py`: the same questions to the same kind of probe, with
the same seed. Before timing, their trees, their charges and what was released to them are compared, and must be equal.
Each row is {pairs} pairs of runs, by turns first, in processor time; a table is in memory, and the program
loaded, before the clock starts. *Questions* are those of one run. The ratio is that of the fastest runs; the last
column, for comparison, is the median over pairs.

All rows together: **{overall:.3f}**; {ALLOWED} is allowed. The largest ratio is {most.ratio:.3f} ({most.table}, epsilon
{most.epsilon}, depth {most.depth}, {most.questions:,} questions): what an Option does once, whatever it asks, is
counted as well, and the twin is no Option.

{table}

Made by `python benchmarks/interpreter.py DIRECTORY`.
"""


if __name__ == "__main__":
    main()
