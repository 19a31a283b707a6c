"""How Options and shipped makers do on databases of a role, as rows that a measure of choosing reads.

    python benchmarks/fresh.py tables|lines|maps|selectors tune|learn|judge FOLDER OUT.csv
        [--trials T] [--judges error auc] [--also PublishedTree]

FOLDER is the one that `benchmarks/roles.py` reads. OUT.csv gets a row for each run: group, database, epsilon, trial,
way, loss. With several judges, each but the first has a file of its own: OUT-auc.csv. Tables are asked at epsilon 0.1,
0.5 and 2, for classifiers or by selectors; of a grid's shape as many records are drawn as make records times epsilon
100, 1,000, 10,000 and 100,000 at epsilon 0.1. On what makers learned from, each chooses by what it learns without the
group at hand. Databases to be judged by are for the printed figures, once a release. Files called KIND-ROLE.csv in one
folder are shown side by side by `--roles` of choosing.py, histograms.py and trees.py. What refuses to run has an
infinite loss, and is said.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from left_out import maker
from roles import KINDS, ROLES, database_of, listed

from jostle.choice.learning.rehearse import seed_of
from jostle.choice.makers.shipped import CLASSIFIERS, GRIDS, SELECTORS
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import JostleError
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks import CLASSIFICATION, RANGES, SELECTION, Task

EPSILONS = ("1/10", "1/2", "2")
RECORDS = (1000, 10_000, 100_000, 1_000_000)
MAKERS = {
    "tables": ("classification", "classification-auc"),
    "selectors": ("selection", "selection-auc"),
    "lines": ("ranges",),
    "maps": ("ranges",),
}
ASKED: dict[str, tuple[Task[Any], tuple[str, ...]]] = {
    "tables": (CLASSIFICATION, CLASSIFIERS),
    "selectors": (SELECTION, SELECTORS),
}
"""Tasks and fixed Options, where they are not those of grids."""


def cells(kind: str, trial: int) -> Iterator[tuple[TableSpec | GridSpec, str, str]]:
    """Yield what is run in a trial: a part of a database, what it is called, and epsilon."""
    if kind in ASKED:
        yield from ((TableSpec(seed=1000 + trial), "", epsilon) for epsilon in EPSILONS)
    else:
        yield from ((GridSpec(records=records, seed=trial), f" {records}", "1/10") for records in RECORDS)


def tried(
    kind: str, database: PublicDatabase, group: str, trial: int, *, judges: list[str], also: list[str]
) -> list[list[Any]]:
    """Return the rows of one trial on one database, each with the losses by all judges at its end."""
    task, names = ASKED.get(kind, (RANGES, GRIDS))
    ways: dict[str, Any] = {
        **{name: get(name) for name in (*names, *also)},
        **{name: maker(name, group) for name in MAKERS[kind]},
    }
    losses = [task.judge(name) for name in judges] or [task.rehearsal.judges[0]]
    rows = []
    for spec, size, epsilon in cells(kind, trial):
        instance = task.rehearsal.instance(database, spec)
        for name, way in ways.items():
            seed = seed_of(instance.key, name, epsilon, trial)
            db = rehearse(instance.table, epsilon=epsilon, seed=seed)
            try:
                answer = way(db, *instance.questions, epsilon=Fraction(epsilon))
            except JostleError as mistake:
                print(f"{name} on {instance.key} at epsilon {epsilon}: {mistake.title}", file=sys.stderr)
                found = [math.inf] * len(losses)
            else:
                found = [judge.loss(instance, answer) for judge in losses]
            rows.append([group, database.name + size, epsilon, trial, name, *found])
    return rows


def main() -> int:
    """Write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("role", choices=ROLES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--judges", nargs="*", default=[], help="Judges of the task, instead of its own.")
    parser.add_argument("--also", nargs="*", default=[], help="Options beside those with shipped rehearsals.")
    given = parser.parse_args()
    inside = KINDS[given.kind]
    jobs = [
        (database_of(given.folder / inside, each.name), each.group, trial)
        for each in listed(given.folder, inside, given.role)
        for trial in range(given.trials)
    ]
    found = Parallel(n_jobs=-1, return_as="generator", verbose=1)(
        delayed(tried)(given.kind, *job, judges=given.judges, also=given.also) for job in jobs
    )
    names = given.judges or [""]
    outs = [given.out, *(given.out.with_stem(f"{given.out.stem}-{name}") for name in names[1:])]
    with ExitStack() as files:
        writers = [csv.writer(files.enter_context(out.open("w", newline="", encoding="utf-8"))) for out in outs]
        for writer in writers:
            writer.writerow(["group", "database", "epsilon", "trial", "way", "loss"])
        for rows in found:
            for row in rows:
                for writer, loss in zip(writers, row[5:], strict=True):
                    writer.writerow([*row[:5], loss])
    return 0


if __name__ == "__main__":
    sys.exit(main())
