"""Whether reading noisy counts by Bayes' rule does harm: grid Options by what they make of the same counts.

    python benchmarks/reading.py FOLDER [--role learn] [--trials 2]

FOLDER is the one that `benchmarks/roles.py` reads. Each Option runs on each column and map of a role, and what it
counted is read by Bayes' rule, fitted by least squares with no count below 0, and half of each. The tables, in
docs/benchmarks/histograms.md, have the error over that of least squares: the geometric mean over databases and, in
brackets, the 95th percentile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
from attrs import field, frozen
from joblib import Parallel, delayed
from numpy.typing import NDArray
from roles import KINDS, ROLES, database_of, listed

from jostle.choice.learning.rehearse import seed_of
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.parts import GridSpec
from jostle.options import get
from jostle.options.ranges import hierarchies, partitions, refined_tree
from jostle.options.ranges.reading import read_leaves
from jostle.options.ranges.tree import Tree, least_squares, nonnegative
from jostle.privacy.opening import rehearse
from jostle.tasks.base import make_instance
from jostle.tasks.ranges.estimate import Estimate

Floats = NDArray[np.float64]

Losses = dict[tuple[str, int, str], float]

EPSILON = "1/10"
RECORDS = (1000, 10_000, 100_000, 1_000_000)
READ_BY: dict[str, tuple[ModuleType, str]] = {
    "RefinedTree": (refined_tree, "careful_leaves"),
    "ShrunkTree": (hierarchies, "read_leaves"),
    "DAWA": (partitions, "read_leaves"),
}
"""Options, and the function that each makes its estimate with."""
WAYS = "least squares", "read", "half of each"


def plain_leaves(
    tree: Tree, counts: Sequence[NDArray[np.int64] | Floats | None], noise: Sequence[float | Floats]
) -> Floats:
    """Return the least-squares counts of a tree's leaves, none below 0."""
    return nonnegative(tree, *least_squares(tree, counts, noise))


@frozen
class Recorder:
    """Reads counts, and keeps what was read."""

    kept: list[tuple[Tree, dict[str, Floats]]] = field(factory=list)

    def __call__(
        self, tree: Tree, counts: Sequence[NDArray[np.int64] | Floats | None], noise: Sequence[float | Floats]
    ) -> Floats:
        """Return the counts of a tree's leaves as they are read."""
        plain, read = plain_leaves(tree, counts, noise), read_leaves(tree, counts, noise)
        self.kept.append((tree, dict(zip(WAYS, (plain, read, (plain + read) / 2), strict=True))))
        return read


def tried(database: PublicDatabase, trial: int) -> Losses:
    """Return the loss of each Option, number of records and way."""
    losses = {}
    for records in RECORDS:
        instance = make_instance(database, GridSpec(records=records, seed=trial))
        for name, (module, function) in READ_BY.items():
            db = rehearse(instance.table, epsilon=EPSILON, seed=seed_of(instance.key, name, EPSILON, trial))
            recorder = Recorder()
            with patch.object(module, function, recorder):
                get(name)(db, *instance.questions, epsilon=Fraction(EPSILON))
            ((tree, found),) = recorder.kept
            for way, leaves in found.items():
                losses[name, records, way] = instance.loss(Estimate(tree.spread(leaves)))
    return losses


def table(losses: Sequence[Sequence[Losses]]) -> list[str]:
    """Return a table, from the losses of databases and trials."""
    plain, *others = WAYS
    sizes = [f"{records * Fraction(EPSILON)}" for records in RECORDS]
    lines = [
        f"| Option | way | all | {' | '.join(f'{int(size):,}' for size in sizes)} |",
        f"|---|---{'|---' * (1 + len(RECORDS))}|",
    ]
    for name in READ_BY:
        for way in others:
            ratios = np.array(
                [
                    [
                        np.mean([t[name, n, way] for t in each]) / np.mean([t[name, n, plain] for t in each])
                        for n in RECORDS
                    ]
                    for each in losses
                ]
            )
            shown = [f"{_mean(each):.2f} ({np.quantile(each, 0.95):.2f})" for each in (ratios, *ratios.T)]
            lines.append(f"| `{name}` | {way} | {' | '.join(shown)} |")
    return lines


def _mean(ratios: Floats) -> float:
    return float(np.exp(np.log(ratios).mean()))


def main() -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--role", choices=ROLES, default="learn")
    parser.add_argument("--trials", type=int, default=2)
    given = parser.parse_args()
    for kind in ("lines", "maps"):
        inside = KINDS[kind]
        databases = [database_of(given.folder / inside, each.name) for each in listed(given.folder, inside, given.role)]
        jobs = [(database, trial) for database in databases for trial in range(given.trials)]
        found = Parallel(n_jobs=-1)(delayed(tried)(*job) for job in jobs)
        by_database = [found[first : first + given.trials] for first in range(0, len(found), given.trials)]
        print(f"\n{len(databases)} {kind} of the role {given.role}, {given.trials} trials:\n")
        print("\n".join(table(by_database)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
