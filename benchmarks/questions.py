"""Rehearse what users ask of grids: questions drawn evenly over all kinds, domains and numbers of records.

    python benchmarks/questions.py FOLDER HISTORY.jsonl [--role learn] [--count 120 120 60] [--repeats 2]

FOLDER is the one that `benchmarks/roles.py` reads. Each question is of one database of the role: a line, a map, or
three columns of numbers of a table. Which kinds, domains and records are for learning and which for judging alone
stands in jostle/corpora/questions.json. What HISTORY has is not run again, so more questions may be asked of it later.
`benchmarks/ship_makers.py HISTORY.jsonl --only ranges` makes the maker.

    python benchmarks/questions.py FOLDER OUT.csv --role judge --measure ranges [--count 40 40 20] [--repeats 8]

writes how Options and a maker do, a row a run, as a measure of choosing reads it: databases are called by their slice,
which is the axes, the kind, the decade of cells and that of records times epsilon.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path

from attrs import evolve
from joblib import Parallel, delayed
from roles import asked_of, question_roles, spread

from jostle import pretrained
from jostle.choice.learning.history import History, Runs
from jostle.choice.learning.rehearse import Plan, rehearse_all, seed_of
from jostle.choice.makers.shipped import ASKED_GRIDS
from jostle.corpora.databases import PublicGrid
from jostle.corpora.parts import GridSpec
from jostle.options import get
from jostle.options.base import Option
from jostle.options.ranges.asked_cells import tells_all
from jostle.privacy.opening import rehearse
from jostle.tasks import RANGES
from jostle.tasks.ranges.questions import RangeQuestion, workload_of

EPSILONS = ("1/10", "1")
LOG_RECORDS = (1.5, 7.0)
LOG_CELLS = (4, 16, 18)
"""Powers of two of the number of cells: from the first to the second, 4% up to the third."""
SEED = 2
Job = tuple[PublicGrid, GridSpec]
Asked = tuple[str, str]
"""A budget, and the name of an Option or a maker."""


def questions(databases: list[PublicGrid], count: int, role: str) -> Iterator[tuple[PublicGrid, GridSpec]]:
    """Yield parts of databases with what is asked of them, of a role, evenly spread."""
    roles = question_roles()
    kinds = roles.kinds(role)
    for number, (at, kind, size, aspect, many, how_many) in enumerate(spread(count, 6, SEED)):
        database = databases[int(at * len(databases))]
        name = kinds[int(kind * len(kinds))]
        low, usual, most = LOG_CELLS
        bits = low + (usual - low) * size / 0.96 if size < 0.96 else usual + (most - usual) * (size - 0.96) / 0.04
        shape = roles.sides(role, sides(database.shape, 2**bits, aspect))
        records = roles.records(role, LOG_RECORDS[0] + (LOG_RECORDS[1] - LOG_RECORDS[0]) * many)
        queries = round(3 * 20**how_many) if name == "few" else round(200 * 10**how_many)
        asks = RangeQuestion(name, queries, number)
        yield database, GridSpec(records=records, shape=shape, seed=number, asks=str(asks))


def sides(whole: tuple[int, ...], cells: float, aspect: float) -> tuple[float, ...]:
    """Return sides of a grid with about so many cells: equal in the middle, unlike towards both ends."""
    axes = len(whole)
    equal = cells ** (1 / axes)
    tilt = equal ** (1.5 * (aspect - 0.5)) if axes > 1 else 1.0
    wanted = [equal * tilt, equal / tilt, *([equal] * (axes - 2))]
    return tuple(min(max(2.0, side), float(most)) for side, most in zip(wanted[:axes], whole, strict=True))


def measured(database: PublicGrid, spec: GridSpec, trial: int, ways: dict[Asked, Option]) -> list[list[object]]:
    """Return the rows of one trial of one question, of some ways at some budgets."""
    instance = RANGES.rehearsal.instance(database, spec)
    rows: list[list[object]] = []
    for (epsilon, way), option in ways.items():
        seed = seed_of(instance.key, way, epsilon, 100 + trial)
        db = rehearse(instance.table, epsilon=epsilon, seed=seed)
        answer = option(db, *instance.questions, epsilon=Fraction(epsilon))
        rows.append([database.group, slice_of(database, spec, epsilon), epsilon, trial, way, instance.loss(answer)])
    return rows


def slice_of(database: PublicGrid, spec: GridSpec, epsilon: str) -> str:
    """Return what a question is called: axes, kind, sides, records times epsilon, and its number."""
    kind, _, number = str(spec.asks).split()
    signal = math.log10((spec.records or 0) * Fraction(epsilon))
    return f"{database.axes}-D {kind} {'x'.join(map(str, spec.shape or ()))} 10^{signal:.1f} {number}"


def measure(jobs: list[Job], file: Path, makers: list[str], trials: int, workers: int) -> None:
    """Add to a file the rows that it does not have, trial by trial, so that it can be stopped and gone on with."""
    options: dict[str, Option] = {
        **{name: get(name) for name in ASKED_GRIDS},
        **{name: pretrained(name) for name in makers},
    }
    rows: list[list[object]] = []
    if file.exists():
        with file.open(newline="", encoding="utf-8") as there:
            rows = [list(row.values()) for row in csv.DictReader(there)]
    done = {tuple(map(str, row[1:5])) for row in rows}
    alike = {slice_of(*job, epsilon) for job in jobs if told(*job) for epsilon in EPSILONS}

    def by_other_names(rows: list[list[object]]) -> Iterator[list[object]]:
        """Yield rows of what an Option of these is by another name, which is not run twice."""
        for group, question, epsilon, trial, way, loss in rows:
            for name, plain in PLAIN.items():
                if plain == way and question in alike and (question, epsilon, str(trial), name) not in done:
                    yield [group, question, epsilon, trial, name, loss]

    missing = [
        (database, spec, trial, ways)
        for trial in range(trials)
        for database, spec in jobs
        if (
            ways := {
                (epsilon, name): option
                for epsilon in EPSILONS
                for name, option in options.items()
                if ((question := slice_of(database, spec, epsilon)), epsilon, str(trial), name) not in done
                and not (name in PLAIN and question in alike)
            }
        )
    ]
    with file.open("a", newline="", encoding="utf-8", buffering=1) as added:
        writer = csv.writer(added)
        if not rows:
            writer.writerow(["group", "database", "epsilon", "trial", "way", "loss"])
        writer.writerows(by_other_names(rows))
        found = Parallel(n_jobs=workers, return_as="generator")(delayed(measured)(*each) for each in missing)
        for each in found:
            writer.writerows(each)
            writer.writerows(by_other_names(each))


def main() -> int:
    """Rehearse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("history", type=Path)
    parser.add_argument("--role", default="learn")
    parser.add_argument("--count", type=int, nargs=3, default=(120, 120, 60), help="Questions of 1, 2 and 3 axes.")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--measure", nargs="*", help="Makers to be measured beside the Options.")
    parser.add_argument("--workers", type=int, default=-1)
    given = parser.parse_args()
    jobs = [
        job
        for axes, count in enumerate(given.count, start=1)
        for job in (questions(asked_of(given.folder, axes, given.role), count, given.role) if count else ())
    ]
    jobs.sort(key=lambda job: prod(job[1].shape or ()) > 2**14)  # the long ones last
    if given.measure is not None:
        measure(jobs, given.history, given.measure, given.repeats, given.workers)
        return 0
    history = History.open(given.history)
    apart = [job for job in jobs if not told(*job)]
    for options, some in ((set(ASKED_GRIDS) - set(PLAIN), jobs), (set(PLAIN), apart)):
        plan = Plan(
            options=[get(name) for name in ASKED_GRIDS if name in options],
            epsilons=EPSILONS,
            repeats=given.repeats,
            metafeatures=RANGES.rehearsal.metafeatures,
        )
        rehearse_all(some, plan, history, workers=None if given.workers < 0 else given.workers)
    stood_for(
        history, {database.key(spec) for database, spec in jobs} - {database.key(spec) for database, spec in apart}
    )
    return 0


PLAIN = {"AskedCells": "ShrunkTree", "AskedCells(tree=refined)": "RefinedTree"}
"""What an Option is, by another name, where the queries tell all cells apart."""


def told(database: PublicGrid, spec: GridSpec) -> bool:
    """Whether a question tells all cells apart."""
    return tells_all(workload_of(str(spec.asks), spec.shape or database.shape))


def stood_for(history: History, keys: set[str]) -> None:
    """Add the losses of what Options are by another name, which are not run twice."""
    known = {(run.instance, run.option, run.repeat) for run in history.lines() if isinstance(run, Runs)}
    history.add(
        *(
            evolve(run, option=name, version=get(name).version)
            for run in list(history.lines())
            if isinstance(run, Runs) and run.instance in keys
            for name, plain in PLAIN.items()
            if plain == run.option and (run.instance, name, run.repeat) not in known
        )
    )


if __name__ == "__main__":
    sys.exit(main())
