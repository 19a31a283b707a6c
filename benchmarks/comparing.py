"""Measure how often a private comparison of models names the best one, and how often its confidence holds.

    python benchmarks/comparing.py FOLDER

prints the section of docs/benchmarks/evaluation.md that `benchmarks/evaluation.py` writes. FOLDER is the one that
`benchmarks/roles.py` reads; tables are some whose role is to be tuned on. Models are learned from some rows, and
compared on others.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from roles import database_of

import jostle
from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.options import get
from jostle.tables.engines import MemorySource
from jostle.tables.table import Table
from jostle.tasks.classification.instances import table_instance
from jostle.tasks.classification.model import Model

__all__ = ["compared_models", "wilson"]

TABLES = ("adult", "bank_additional_full", "compas", "car", "churn", "hmda", "nursery", "page_blocks")
OPTIONS = ("PooledTree", "NaiveBayes", "Mohammed(depth=2)", "FriedmanSchuster", "Majority")
TESTED = 1000
"""Rows that models are compared on."""
EPSILONS = ("0.03", "0.1", "0.3", "1")
TRAININGS, RUNS = 5, 20
LEVELS = (0.95, 0.8)
EXACT = 10**7
"""An epsilon at which no count is off."""


@frozen(eq=False)
class Contest:
    """Models, and rows that none was learned from."""

    models: dict[str, Model]
    rows: Table
    tested: int
    """How many these are."""
    seed: int

    @property
    def right(self) -> dict[str, int]:
        """How many rows each gets right."""
        db = jostle.rehearse(self.rows, epsilon=EXACT, seed=0)
        return jostle.compare_models(db, self.models, epsilon=EXACT).right

    def of(self, names: tuple[str, ...]) -> Contest:
        """Between some of them."""
        return Contest({name: self.models[name] for name in names}, self.rows, self.tested, self.seed)


def contests(folder: Path) -> Iterator[Contest]:
    """Yield models that were learned at epsilon 1, and other rows of the same table."""
    for number, name in enumerate(TABLES):
        table = cast("PublicTable", database_of(folder / "tabular", name))
        for training in range(TRAININGS):
            instance = table_instance(table, TableSpec(rows=TESTED, seed=training))
            schema, held = instance.schema, min(TESTED, len(instance.labels))
            columns: dict[str, Any] = {
                name: instance.codes[:held, place] for place, name in enumerate(schema.attributes)
            }
            columns[str(schema.label)] = instance.labels[:held]
            source = MemorySource(schema, columns, held, identity=f"{instance.key} held out".encode())
            db = jostle.rehearse(instance.table, epsilon=len(OPTIONS), seed=training)
            models = {name: get(name)(db, epsilon=1) for name in OPTIONS}
            yield Contest(models, Table(source), held, 100 * number + training)


@define
class Counted:
    """What came of runs at an epsilon."""

    runs: int = 0
    best: int = 0
    lost: float = 0.0
    """Rows that what was named gets less right than the best, in all, as shares of the rows."""
    covered: int = 0
    sure: NDArray[np.int64] = field(factory=lambda: np.zeros(len(LEVELS), dtype=np.int64))
    wrong: NDArray[np.int64] = field(factory=lambda: np.zeros(len(LEVELS), dtype=np.int64))
    """By level, runs that were so sure, and those of them that named another than the best."""


def counted(found: list[Contest], epsilon: str) -> Counted:
    """Compare again and again."""
    total = Counted()
    for contest in found:
        right = contest.right
        most = max(right.values())
        db = jostle.rehearse(contest.rows, epsilon=RUNS, seed=contest.seed)
        for _ in range(RUNS):
            named = jostle.compare_models(db, contest.models, epsilon=epsilon)
            behind = most - right[named.best]
            low, high = named.lead(next(name for name in right if name != named.best))
            lead = right[named.best] - next(count for name, count in right.items() if name != named.best)
            sure = named.confidence >= np.array(LEVELS)
            total.runs += 1
            total.best += behind == 0
            total.lost += behind / contest.tested
            total.covered += low <= lead <= high
            total.sure += sure
            total.wrong += sure & (behind > 0)
    return total


def closest(contest: Contest) -> tuple[str, ...]:
    """The two models that are right about equally often, but not equally."""
    right = sorted((count, name) for name, count in contest.right.items())
    apart = [(more - less, (one, other)) for (less, one), (more, other) in pairwise(right) if more > less]
    return min(apart)[1]


def ahead(contest: Contest) -> int:
    """By how many rows the best leads the second."""
    *_, second, first = sorted(contest.right.values())
    return first - second


def compared_models(folder: Path) -> Iterator[str]:
    """Yield a table of how often comparisons are right."""
    all_of_them = list(contests(folder))
    ways = {
        f"{len(OPTIONS)} models": all_of_them,
        "the two that are most alike": [contest.of(closest(contest)) for contest in all_of_them],
    }
    gaps = {name: [ahead(each) for each in held] for name, held in ways.items()}
    yield (
        "| compared | ε | the best was named | rows lost | at least 95% sure | wrong, though so sure "
        "| at least 80% sure | wrong, though so sure |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    covered = {}
    for name, held in ways.items():
        for epsilon in EPSILONS:
            total = counted(held, epsilon)
            levels = (
                f"{sure / total.runs:.1%} | {wrong / total.runs:.1%} (to {wilson(wrong, total.runs)[1]:.1%})"
                for sure, wrong in zip(total.sure.tolist(), total.wrong.tolist(), strict=True)
            )
            shares = f"{total.best / total.runs:.1%} | {total.lost / total.runs:.2%}"
            yield f"| {name} | {epsilon} | {shares} | {' | '.join(levels)} |"
            covered[epsilon] = total.covered / total.runs
    leads = ", ".join(f"{share:.1%} at {epsilon}" for epsilon, share in covered.items())
    middle = {name: int(np.median(each)) for name, each in gaps.items()}
    yield ""
    many, two = middle.values()
    yield f"The best leads the second by {many} rows of {TESTED:,} in the median of {len(all_of_them)} contests; of the"
    yield f"two most alike, by {two}. How many rows these two are apart, `lead` at 95% held in {leads}."


def wilson(held: int, runs: int) -> tuple[float, float]:
    """The 95% interval of a share."""
    z, share = 1.96, held / runs
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return middle - half, middle + half


def main() -> int:
    """Print the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print("\n".join(compared_models(parser.parse_args().folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
