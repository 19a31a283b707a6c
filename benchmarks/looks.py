"""What a look costs an Option that runs after it, thrown away and used, on public databases of a role.

    python benchmarks/looks.py tables|lines|maps tune|learn FOLDER [--looks ...] [--shares 1/50 1/10] [--databases 16]

FOLDER is the one that `benchmarks/roles.py` reads. For each Option, look and share of epsilon: by how much its loss
changes if that share buys a look first and the Option has the rest, once in an allotment where the look is not known
(thrown away), and once where it is (used); geometric means over databases and trials, with standard errors over
databases. Looks are what makers buy: a grid's 16 regions or its total, a table's class counts, or its counts of values
by class.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from fresh import cells
from joblib import Parallel, delayed
from numpy.typing import NDArray
from roles import KINDS, database_of, listed

from jostle.choice.learning.rehearse import seed_of
from jostle.corpora.databases import PublicDatabase
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tasks import CLASSIFICATION, RANGES
from jostle.tasks.base import make_instance
from jostle.tasks.classification.task import classes_of
from jostle.tasks.ranges.task import groups_of

OPTIONS = {
    "lines": ("Uniform", "UniformGrid", "MWEM", "DAWA", "ShrunkTree", "RefinedTree"),
    "maps": ("Uniform", "UniformGrid", "AdaptiveGrid", "MWEM", "DAWA", "ShrunkTree", "RefinedTree"),
    "tables": ("Majority", "NaiveBayes", "PooledTree", "PooledBayes", "MarginalRegression"),
}
FLOOR = {"tables": 0.01, "lines": 1e-12, "maps": 1e-12}
Floats = NDArray[np.float64]


def regions(db: Probe, epsilon: Fraction) -> None:
    """Buy the records of 16 regions of a grid."""
    schema = db.schema
    db.release_cells(groups_of(tuple((name, schema[name].size) for name in schema.names)), epsilon, site="look")


def total(db: Probe, epsilon: Fraction) -> None:
    """Buy the number of records."""
    db.count(epsilon, site="look")


def classes(db: Probe, epsilon: Fraction) -> None:
    """Buy the rows of each class."""
    db.release_cells(classes_of(db.schema.label or ""), epsilon, site="look")


def values(db: Probe, epsilon: Fraction) -> None:
    """Buy the rows of each value of each attribute and class."""
    label = db.schema.label or ""
    db.measure(Counts([(name, label) for name in db.schema.attributes]), epsilon, site="look")


LOOKS: dict[str, Callable[[Probe, Fraction], None]] = {
    "regions": regions,
    "total": total,
    "classes": classes,
    "values": values,
}
USUAL = {"lines": ("regions",), "maps": ("regions",), "tables": ("classes", "values")}


def loss(
    name: str, instance: Any, epsilon: Fraction, seed: int, look: str = "", *, spent: Fraction, known: bool
) -> float:
    """The loss of an Option after a look that took a share, if there was one."""
    db = rehearse(instance.table, epsilon=epsilon, seed=seed)
    if look:
        LOOKS[look](db if known else db.allot(spent * epsilon), spent * epsilon)
    answer = get(name)(db, *instance.questions, epsilon=epsilon * (1 - spent))
    return float(instance.loss(answer))


def changes(kind: str, database: PublicDatabase, given: argparse.Namespace) -> dict[tuple[str, ...], Floats]:
    """By Option, look and share: by how much the logarithm of the loss rises, cells by two (thrown away, used)."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for trial in range(given.trials):
        for spec, _, budget in cells(kind, trial):
            instance, epsilon = make_instance(database, spec), Fraction(budget)
            for name in given.options or OPTIONS[kind]:
                seed = seed_of(instance.key, name, budget, trial)
                alone = loss(name, instance, epsilon, seed, spent=Fraction(0), known=False)
                for look in given.looks or USUAL[kind]:
                    for share in given.shares:
                        both = [
                            loss(name, instance, epsilon, seed + 1 + known, look, spent=share, known=bool(known))
                            for known in range(2)
                        ]
                        thrown_away, used = (np.log(max(each, FLOOR[kind]) / max(alone, FLOOR[kind])) for each in both)
                        found.setdefault((name, look, str(share)), []).append((thrown_away, used))
    return {key: np.array(each) for key, each in found.items()}


def shown(by_database: Floats) -> str:
    """A change in percent, with its standard error."""
    error = by_database.std(ddof=1) / np.sqrt(len(by_database)) if len(by_database) > 1 else 0.0
    return f"{np.expm1(by_database.mean()):+.1%} ± {error:.1%}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("role", choices=("tune", "learn"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--looks", nargs="*", choices=tuple(LOOKS))
    parser.add_argument("--shares", nargs="*", type=Fraction, default=[Fraction(1, 50), Fraction(1, 10)])
    parser.add_argument("--databases", type=int, default=16)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--options", nargs="*")
    parser.add_argument("--workers", type=int, default=-1)
    given = parser.parse_args()
    inside = KINDS[given.kind]
    names = [each.name for each in listed(given.folder, inside, given.role)]
    step = max(1, len(names) // given.databases)
    chosen = [database_of(given.folder / inside, name) for name in names[::step][: given.databases]]
    parts = Parallel(n_jobs=given.workers)(delayed(changes)(given.kind, each, given) for each in chosen)
    task = CLASSIFICATION if given.kind == "tables" else RANGES
    print(f"{task.name}, {given.kind}, {given.role}: {len(chosen)} databases, {given.trials} trials")
    print("| Option | look | share | thrown away | used | used beside thrown away |")
    print("|---|---|---|---|---|---|")
    for key in parts[0]:
        means = np.stack([part[key].mean(axis=0) for part in parts])
        columns = [means[:, 0], means[:, 1], means[:, 1] - means[:, 0]]
        name, look, share = key
        print(f"| `{name}` | {look} | {share} | " + " | ".join(map(shown, columns)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
