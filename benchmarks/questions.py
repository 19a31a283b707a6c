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

from joblib import Parallel, delayed
from roles import asked_of

from jostle import pretrained
from jostle.choice.learning.history import History
from jostle.choice.learning.rehearse import Plan, rehearse_all, seed_of
from jostle.choice.makers.shipped import ASKED_GRIDS
from jostle.corpora.databases import PublicGrid
from jostle.corpora.parts import GridSpec
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks import RANGES
from jostle.tasks.ranges.questions import RangeQuestion, question_roles, spread

EPSILONS = ("1/10", "1")
LOG_RECORDS = (1.5, 7.0)
LOG_CELLS = (4, 16, 18)
"""Powers of two of the number of cells: from the first to the second, 4% up to the third."""
SEED = 2


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


def measured(database: PublicGrid, spec: GridSpec, makers: list[str], trials: int) -> list[list[object]]:
    """Return the rows of all trials of one question."""
    ways = {**{name: get(name) for name in ASKED_GRIDS}, **{name: pretrained(name) for name in makers}}
    instance = RANGES.rehearsal.instance(database, spec)
    kind, _, number = str(spec.asks).split()
    rows: list[list[object]] = []
    for epsilon in EPSILONS:
        signal = math.log10(instance.rows * Fraction(epsilon))
        sides = "x".join(map(str, spec.shape or ()))
        name = f"{database.axes}-D {kind} {sides} 10^{signal:.1f} {number}"
        for trial in range(trials):
            for way, option in ways.items():
                seed = seed_of(instance.key, way, epsilon, 100 + trial)
                db = rehearse(instance.table, epsilon=epsilon, seed=seed)
                answer = option(db, *instance.questions, epsilon=Fraction(epsilon))
                rows.append([database.group, name, epsilon, trial, way, instance.loss(answer)])
    return rows


def main() -> int:
    """Rehearse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("history", type=Path)
    parser.add_argument("--role", default="learn")
    parser.add_argument("--count", type=int, nargs=3, default=(120, 120, 60), help="Questions of 1, 2 and 3 axes.")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--measure", nargs="*", help="Makers to be measured beside the Options.")
    given = parser.parse_args()
    jobs = [
        job
        for axes, count in enumerate(given.count, start=1)
        for job in (questions(asked_of(given.folder, axes, given.role), count, given.role) if count else ())
    ]
    jobs.sort(key=lambda job: prod(job[1].shape or ()) > 2**14)  # the long ones last
    if given.measure is not None:
        rows = Parallel(n_jobs=-1, return_as="generator", verbose=1)(
            delayed(measured)(*job, given.measure, given.repeats) for job in jobs
        )
        with given.history.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["group", "database", "epsilon", "trial", "way", "loss"])
            for found in rows:
                writer.writerows(found)
        return 0
    plan = Plan(
        options=[get(name) for name in ASKED_GRIDS],
        epsilons=EPSILONS,
        repeats=given.repeats,
        metafeatures=RANGES.rehearsal.metafeatures,
    )
    rehearse_all(jobs, plan, History.open(given.history))
    return 0


if __name__ == "__main__":
    sys.exit(main())
