"""Rehearse classifiers on tables of all kinds, as the maker for classification learns from and is measured on.

    python benchmarks/table_questions.py FOLDER HISTORY.jsonl [--count 500] [--repeats 2]

FOLDER is the one that `benchmarks/roles.py` reads. A design that fills space evenly says which table, which of its
columns is the label, how many rows and how many attributes; all judges score one answer. What a role may draw is in
jostle/corpora/questions.json. `benchmarks/ship_makers.py HISTORY.jsonl --only classification` makes the makers.

    python benchmarks/table_questions.py FOLDER RESULTS --role judge --measure options makers [--count 60] [--repeats 8]

writes how they do into files of RESULTS, OPTIONS-JUDGE.csv and so on, a row a run, as a measure of choosing reads them.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from roles import QuestionRoles, labelled_of, spread

from jostle import corpora, pretrained
from jostle.choice.learning.history import History
from jostle.choice.learning.rehearse import Plan, judged_run, rehearse_all, seed_of
from jostle.choice.makers.shipped import ASKED_CLASSIFIERS
from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks import CLASSIFICATION

ROLES = json.loads((Path(corpora.__file__).parent / "questions.json").read_text(encoding="utf-8"))["classification"]
LEAST_ROWS, MOST_ROWS = 100, 60_000
OWN_LABEL, ALL_ATTRIBUTES = 0.5, 0.4
"""How often a table's own label is asked for, and all that it has is looked at."""
SEED = 3


def questions(tables: list[list[PublicTable]], count: int, role: str) -> Iterator[tuple[PublicTable, TableSpec]]:
    """Yield tables with the parts that are asked of them, of a role, evenly spread."""
    roles = QuestionRoles({}, {}, ROLES["half decades of rows"])
    for number, (at, label, many, wide) in enumerate(spread(count, 4, SEED)):
        own, *others = tables[int(at * len(tables))]
        place = int((label - OWN_LABEL) / (1 - OWN_LABEL) * len(others))
        table = own if label < OWN_LABEL or not others else others[place]
        most = min(MOST_ROWS, len(table) * 4 // 5)
        low, high = math.log10(LEAST_ROWS), math.log10(most)
        # The logarithm's share is a root: next to no rows teach little, whoever chooses.
        rows = roles.records(role, low + (high - low) * math.sqrt(many))
        # A decade further in is of the same role.
        rows = rows * 10 if rows < LEAST_ROWS else rows // 10 if rows > most else rows
        attributes = len(table.attributes)
        if wide > ALL_ATTRIBUTES:
            attributes = round(attributes ** ((wide - ALL_ATTRIBUTES) / (1 - ALL_ATTRIBUTES)))
        yield table, TableSpec(rows=rows, attributes=attributes, seed=number)


def ways_of(kind: str) -> dict[str, Any]:
    """Return the Options, or the makers, that are measured."""
    if kind == "options":
        return {name: get(name) for name in ASKED_CLASSIFIERS}
    judges = CLASSIFICATION.rehearsal.judges
    return {f"maker {judge.name}": pretrained("classification", judged_by=judge.name) for judge in judges}


def measured(table: PublicTable, spec: TableSpec, number: int, trials: int, kind: str) -> list[list[object]]:
    """Return the rows of all trials of one question, each with the losses by all judges at its end."""
    judges, ways = CLASSIFICATION.rehearsal.judges, ways_of(kind)
    instance = CLASSIFICATION.rehearsal.instance(table, spec)
    shape = f"{instance.rows} rows, {len(instance.schema.attributes)} columns, {len(instance.schema.classes)} classes"
    name = f"{number} {table.name} {table.label}: {shape}"
    rows: list[list[object]] = []
    for epsilon in ROLES["epsilons"]["judge"]:
        for trial in range(trials):
            for way, option in ways.items():
                db = rehearse(instance.table, epsilon=epsilon, seed=seed_of(instance.key, way, epsilon, 100 + trial))
                run = judged_run(partial(option, db, epsilon=Fraction(epsilon)), instance.loss)
                found = [judge.loss(instance, run.answer) if run.failure is None else math.inf for judge in judges]
                rows.append([table.group, name, epsilon, trial, way, *found])
    return rows


def main() -> int:
    """Rehearse, or measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--role", default="learn")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--also", nargs="*", default=[], help="Options beside those with shipped rehearsals.")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--measure", nargs="*", choices=("options", "makers"), default=[])
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of few rows, which are asked for
    jobs = list(questions(labelled_of(given.folder, given.role), given.count, given.role))
    if not given.measure:
        epsilons = ROLES["epsilons"][given.role]
        plan = Plan(
            options=[get(name) for name in (*ASKED_CLASSIFIERS, *given.also)],
            epsilons=epsilons,
            repeats=given.repeats,
            metafeatures=CLASSIFICATION.rehearsal.metafeatures,
        )
        rehearse_all(jobs, plan, History.open(given.out), workers=given.workers)
        return 0
    given.out.mkdir(exist_ok=True)
    for kind in given.measure:
        found = Parallel(n_jobs=given.workers, return_as="generator", verbose=1)(
            delayed(measured)(*job, number, given.repeats, kind) for number, job in enumerate(jobs)
        )
        with ExitStack() as files:
            places = [given.out / f"{kind}-{judge.name}.csv" for judge in CLASSIFICATION.rehearsal.judges]
            opened = [files.enter_context(place.open("w", newline="", encoding="utf-8")) for place in places]
            writers = [csv.writer(file) for file in opened]
            for writer in writers:
                writer.writerow(["group", "database", "epsilon", "trial", "way", "loss"])
            for rows in found:
                for row in rows:
                    for writer, loss in zip(writers, row[5:], strict=True):
                        writer.writerow([*row[:5], loss])
                for file in opened:
                    file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
