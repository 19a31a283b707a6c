"""What a look costs an Option that runs after it, thrown away and used, on public databases of a role.

    python benchmarks/looks.py tables|lines|maps tune|learn FOLDER [--shares 1/50 1/10] [--databases 6] [--trials 2]

FOLDER is the one that `benchmarks/roles.py` reads. For each Option and share of epsilon: by how much its loss changes,
in the geometric mean over databases and trials, if that share buys a look first and the Option has the rest, once in an
allotment where the look is not known, and once where it is. The look is what makers buy: a grid's 16 regions, or a
table's class counts.
"""

from __future__ import annotations

import argparse
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from fresh import cells
from roles import KINDS, database_of, listed

from jostle.choice.learning.rehearse import seed_of
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.tasks import CLASSIFICATION, RANGES
from jostle.tasks.base import make_instance
from jostle.tasks.classification.metafeatures import classes_of
from jostle.tasks.ranges.metafeatures import groups_of

OPTIONS = {
    "lines": ("Uniform", "UniformGrid", "MWEM", "DAWA", "ShrunkTree", "RefinedTree"),
    "maps": ("Uniform", "UniformGrid", "AdaptiveGrid", "MWEM", "DAWA", "ShrunkTree", "RefinedTree"),
    "tables": ("Majority", "NaiveBayes", "PooledTree", "PooledBayes"),
}
FLOOR = {"tables": 0.01, "lines": 1e-12, "maps": 1e-12}


def looked(db: Probe, epsilon: Fraction) -> None:
    """Buy the look that makers buy."""
    schema = db.schema
    if schema.label is None:
        wanted = groups_of(tuple((name, schema[name].size) for name in schema.names))
    else:
        wanted = classes_of(schema.label)
    db.release_cells(wanted, epsilon, site="look")


def loss(name: str, instance: Any, epsilon: Fraction, share: Fraction, *, used: bool, seed: int) -> float:
    """The loss of an Option after a look that took a share."""
    db = rehearse(instance.table, epsilon=epsilon, seed=seed)
    if share:
        looked(db if used else db.allot(share * epsilon), share * epsilon)
    answer = get(name)(db, *instance.questions, epsilon=epsilon * (1 - share))
    return float(instance.loss(answer))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("role", choices=("tune", "learn"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shares", nargs="*", type=Fraction, default=[Fraction(1, 50), Fraction(1, 10)])
    parser.add_argument("--databases", type=int, default=6)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--options", nargs="*")
    given = parser.parse_args()
    task = CLASSIFICATION if given.kind == "tables" else RANGES
    inside = KINDS[given.kind]
    wanted = [each.name for each in listed(given.folder, inside, given.role)]
    step = max(1, len(wanted) // given.databases)
    ratios: dict[tuple[str, str, Fraction, bool], list[float]] = {}
    for trial in range(given.trials):
        for database in (database_of(given.folder / inside, name) for name in wanted[::step][: given.databases]):
            for spec, size, epsilon in cells(given.kind, trial):
                instance = make_instance(database, spec)
                place = size.strip() or f"epsilon {epsilon}"
                for name in given.options or OPTIONS[given.kind]:
                    amount = Fraction(epsilon)
                    alone = loss(
                        name,
                        instance,
                        amount,
                        Fraction(0),
                        used=False,
                        seed=seed_of(instance.key, name, epsilon, trial),
                    )
                    for share in given.shares:
                        for used in (False, True):
                            seed = seed_of(instance.key, f"{name} {share} {used}", epsilon, trial)
                            found = loss(name, instance, amount, share, used=used, seed=seed)
                            ratios.setdefault((name, place, share, used), []).append(
                                math.log(max(found, FLOOR[given.kind]) / max(alone, FLOOR[given.kind]))
                            )
    places = list(dict.fromkeys(place for _, place, _, _ in ratios))
    print(f"{task.name}, {given.role}: change of loss, thrown away / used")
    print("| Option | look | " + " | ".join(places) + " | all |")
    for name, share in dict.fromkeys((name, share) for name, _, share, _ in ratios):
        columns = []
        for keys in (*([place] for place in places), places):
            both = [np.concatenate([ratios[name, place, share, used] for place in keys]) for used in (False, True)]
            columns.append(" / ".join(f"{math.expm1(each.mean()):+.1%}" for each in both))
        print(f"| {name} | {share} | " + " | ".join(columns) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
