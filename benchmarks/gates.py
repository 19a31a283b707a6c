"""What choices inside Options are worth: their rules beside each fixed alternative, on public databases of a role.

    python benchmarks/gates.py tables|lines|maps tune|learn FOLDER [--gates ...] [--databases 16] [--trials 2]

FOLDER is the one that `benchmarks/roles.py` reads. A gate is a choice that an Option makes by a rule, of what was
released and of public facts; here the Option also runs with each alternative taken everywhere, with the same seeds.
What is printed is by how much the loss rises with the alternative where the two answer differently: geometric means
over databases and trials, with standard errors over groups of databases. Tables are taken whole and in parts of 300 to
10,000 rows, at epsilon .03 to 3; grids with 10 to 1,000,000 records times epsilon, at epsilon 0.1.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from attrs import evolve, frozen
from joblib import Parallel, delayed
from numpy.typing import NDArray
from roles import KINDS, Listed, database_of, listed

from jostle.choice.learning.rehearse import seed_of
from jostle.corpora.databases import PublicDatabase, default_jobs
from jostle.corpora.parts import GridSpec, Spec
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks import CLASSIFICATION, RANGES
from jostle.tasks.base import make_instance

Floats = NDArray[np.float64]
MANY = 3.0
"""From so many times on, a factor says more than percents."""
EVERYTHING = (0.0, math.inf)
NEVER, ALWAYS = 1e12, 1e-6


class Band(NamedTuple):
    """Between which rows times epsilon a column is."""

    said: str
    least: float = 0.0
    below: float = math.inf


class Rise(NamedTuple):
    """By how much the logarithms of losses are higher with an alternative, in one cell."""

    signal: float
    """Rows times epsilon."""
    by: Floats


@frozen
class Gate:
    """A choice that an Option makes by a rule, and what it may always take instead."""

    option: str
    rule: str
    """What it takes when, in words."""
    instead: tuple[tuple[str, dict[str, Any], tuple[float, float]], ...]
    """What is taken instead, by which parameters, and between which rows times epsilon."""


GATES = {
    "splits": Gate(
        "PooledTree",
        "random where n·ε < 20, Gini where n·ε ≥ 5,000, Max between",
        (
            ("always Max", {"gini_from": NEVER}, (5000, math.inf)),
            ("always Gini", {"gini_from": 20.0}, (20, 5000)),
            ("Gini from 2,000 on", {"gini_from": 2000.0}, (2000, 5000)),
            ("never random", {"random_below": ALWAYS}, (0, 20)),
            ("random up to 60", {"random_below": 60.0}, (20, 60)),
        ),
    ),
    "numeric": Gate(
        "PooledTree",
        "each column by value and in order are candidates of one pick",
        (
            ("always in order", {"numeric": "ordered"}, EVERYTHING),
            ("categories by value, numbers cut", {"numeric": "cuts"}, EVERYTHING),
        ),
    ),
    "depth": Gate(
        "PooledTree",
        "as deep as leaves keep 10 scales of noise",
        (
            ("one level", {"most_depth": 1, "most_gini_depth": 1}, EVERYTHING),
            ("two levels", {"most_depth": 2, "most_gini_depth": 2}, EVERYTHING),
            ("half as sure", {"least_rows": 5.0}, EVERYTHING),
            ("twice as sure", {"least_rows": 20.0}, EVERYTHING),
        ),
    ),
    "pairs": Gate(
        "MarginalRegression",
        "pairs are counted where n·ε ≥ 1,000",
        (
            ("never pairs", {"pairs_from": NEVER}, (1000, math.inf)),
            ("always pairs", {"pairs_from": ALWAYS}, (0, 1000)),
        ),
    ),
    "cuts": Gate(
        "RefinedTree",
        "a region is cut where it seems to hold 3 standard deviations of the last round's noise",
        (
            ("where it holds 1.5", {"threshold": 1.5}, EVERYTHING),
            ("where it holds 6", {"threshold": 6.0}, EVERYTHING),
            ("never: the first regions, evenly", {"threshold": NEVER}, EVERYTHING),
            ("always: every cell", {"threshold": ALWAYS}, EVERYTHING),
            ("no round between", {"second_share": Fraction(0)}, EVERYTHING),
        ),
    ),
    "parts": Gate(
        "UniformGrid",
        "as many parts as n·ε / 10",
        (
            ("one part, evenly", {"c": NEVER}, EVERYTHING),
            ("n·ε / 5", {"c": 5.0}, EVERYTHING),
            ("n·ε / 20", {"c": 20.0}, EVERYTHING),
        ),
    ),
    "rounds": Gate(
        "MWEM",
        "more rounds, the larger n·ε",
        (
            ("5 rounds", {"rounds": 5}, EVERYTHING),
            ("10 rounds", {"rounds": 10}, EVERYTHING),
            ("20 rounds", {"rounds": 20}, EVERYTHING),
        ),
    ),
    "branching": Gate(
        "HierarchicalB",
        "children by the published rule, in two dimensions by least error",
        (
            ("2 children", {"branching": 2}, EVERYTHING),
            ("4 children", {"branching": 4}, EVERYTHING),
            ("16 children", {"branching": 16}, EVERYTHING),
        ),
    ),
}
USUAL = {
    "tables": ("splits", "numeric", "depth", "pairs"),
    "lines": ("cuts", "parts", "rounds", "branching"),
    "maps": ("cuts", "parts", "rounds", "branching"),
}
JUDGES = {"tables": ("error", "auc"), "lines": ("l2",), "maps": ("l2",)}
HEADS = {"tables": ("more error", "more 1 - area"), "lines": ("more error",), "maps": ("more error",)}
FLOOR = {"tables": 0.01, "lines": 1e-12, "maps": 1e-12}
OF_GRIDS = (Band(" below 300", 0, 300), Band(" to 30,000", 300, 30_000), Band(" above", 30_000), Band(", all"))
BANDS = {"tables": (Band(""),), "lines": OF_GRIDS, "maps": OF_GRIDS}
EPSILONS = ("3/100", "1/10", "3/10", "1", "3")
RECORDS = tuple(10**power for power in range(2, 8))


def cells(kind: str, database: PublicDatabase, trial: int) -> Iterator[tuple[Spec, str]]:
    """Yield the parts of a database that are run on, with epsilon."""
    if kind == "tables":
        specs: list[Any] = [spec for _, spec in default_jobs([database])]
        yield from ((evolve(spec, seed=3000 + trial), epsilon) for spec in specs for epsilon in EPSILONS)
    else:
        yield from ((GridSpec(records=records, seed=trial), "1/10") for records in RECORDS)


def losses(kind: str, option: Any, instance: Any, epsilon: str, seed: int) -> Floats:
    """What an Option's answer loses by each judge, at least the floor."""
    task = CLASSIFICATION if kind == "tables" else RANGES
    db = rehearse(instance.table, epsilon=epsilon, seed=seed)
    answer = option(db, *instance.questions, epsilon=Fraction(epsilon))
    return np.array([max(task.judge(name).loss(instance, answer), FLOOR[kind]) for name in JUDGES[kind]])


def changes(kind: str, row: Listed, given: argparse.Namespace) -> dict[tuple[str, str], list[Rise]]:
    """By gate and alternative: rises of the logarithms of losses, cell by cell, where answers differ."""
    database = database_of(given.folder / row.folder, row.name)
    found: dict[tuple[str, str], list[Rise]] = {}
    for trial in range(given.trials):
        for spec, epsilon in cells(kind, database, trial):
            instance = make_instance(database, spec)
            signal = instance.rows * float(Fraction(epsilon))
            for name in given.gates or USUAL[kind]:
                gate = GATES[name]
                option: Any = get(gate.option)
                seed = seed_of(instance.key, gate.option, epsilon, trial)
                by_rule: Floats | None = None
                for said, parameters, (least, below) in gate.instead:
                    if not least <= signal < below:
                        continue
                    if by_rule is None:
                        by_rule = losses(kind, option, instance, epsilon, seed)
                    other = losses(kind, evolve(option, **parameters), instance, epsilon, seed)
                    if (other != by_rule).any():
                        found.setdefault((name, said), []).append(Rise(signal, np.log(other / by_rule)))
    return found


def shown(rises: list[tuple[str, float]]) -> str:
    """A change in percent, or by which factor, with the standard error of its logarithm over groups."""
    if not rises:
        return ""
    groups: dict[str, list[float]] = {}
    for group, rise in rises:
        groups.setdefault(group, []).append(rise)
    by_group = np.array([np.mean(each) for each in groups.values()])
    error = by_group.std(ddof=1) / math.sqrt(len(by_group)) if len(by_group) > 1 else 0.0
    mean = float(by_group.mean())
    return f"{math.exp(mean):,.1f} times" if mean > math.log(MANY) else f"{math.expm1(mean):+.1%} ± {error:.1%}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("role", choices=("tune", "learn"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gates", nargs="*", choices=tuple(GATES))
    parser.add_argument("--databases", type=int, default=64)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--workers", type=int, default=-1)
    given = parser.parse_args()
    rows = listed(given.folder, KINDS[given.kind], given.role)
    rows = rows[:: max(1, len(rows) // given.databases)][: given.databases]
    parts = Parallel(n_jobs=given.workers)(delayed(changes)(given.kind, row, given) for row in rows)
    print(f"{given.kind}, {given.role}: {len(rows)} databases, {given.trials} trials")
    bands = BANDS[given.kind]
    heads = [f"{judge}{band.said}" for band in bands for judge in HEADS[given.kind]]
    print(f"| instead of the rule | n·ε | cells | {' | '.join(heads)} |")
    print("|---|---|---|" + "---|" * len(heads))
    for name in given.gates or USUAL[given.kind]:
        gate = GATES[name]
        print(f"| **`{gate.option}`: {gate.rule}** |" + " |" * (len(heads) + 2))
        for said, _, (least, below) in gate.instead:
            rises = [
                (row.group, each) for row, part in zip(rows, parts, strict=True) for each in part.get((name, said), [])
            ]
            where = (
                "any" if (least, below) == EVERYTHING else f"{least:,.0f} to {below:,.0f}".replace("to inf", "and more")
            )
            columns = [
                shown(
                    [(group, float(each.by[judge])) for group, each in rises if band.least <= each.signal < band.below]
                )
                for band in bands
                for judge in range(len(HEADS[given.kind]))
            ]
            print(f"| {said} | {where} | {len(rises)} | {' | '.join(columns)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
