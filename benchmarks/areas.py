"""The area under the curve on tables of two classes: the maker that is judged by it, beside Options always.

    python benchmarks/areas.py FOLDER [--role judge] [--tables 20] [--trials 2]

FOLDER is the one that `benchmarks/roles.py` reads. Of a role's tables those whose own label has two classes are taken,
and where these are too few, other columns of two values as labels, one of each table. Up to 20,000 rows are learned
from. Prints which tables, and the mean area at epsilon 0.1, 0.5 and 2.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import defaultdict
from fractions import Fraction
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from roles import ROLES, labelled_of

from jostle import pretrained
from jostle.choice.learning.rehearse import seed_of
from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks import CLASSIFICATION

EPSILONS = ("1/10", "1/2", "2")
OPTIONS = ("NaiveBayes", "PooledBayes", "PooledTree")
MOST = 20_000


def of_two_classes(tables: list[list[PublicTable]], wanted: int) -> list[PublicTable]:
    """Return tables whose label has two classes: own labels first."""

    def two(table: PublicTable) -> bool:
        return len(table.columns[table.label].drop_null().unique()) == 2

    others = (next((table for table in rest if two(table)), None) for _, *rest in tables)
    found = chain((own for own, *_ in tables if two(own)), (table for table in others if table is not None))
    return [table for table, _ in zip(found, range(wanted), strict=False)]


def main() -> int:
    """Print the tables and the areas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--role", choices=ROLES, default="judge")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--trials", type=int, default=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of few rows
    maker = 'pretrained("classification", judged_by="auc")'
    ways: dict[str, Any] = {
        maker: pretrained("classification", judged_by="auc"),
        **{f"always {name}": get(name) for name in OPTIONS},
    }
    (judge,) = [each for each in CLASSIFICATION.rehearsal.judges if each.name == "auc"]
    areas = defaultdict(list)
    tables = of_two_classes(labelled_of(given.folder, given.role), given.tables)
    for table in tables:
        spec = TableSpec(rows=min(MOST, len(table) * 4 // 5))
        instance = CLASSIFICATION.rehearsal.instance(table, spec)
        for epsilon, trial, (way, option) in product(EPSILONS, range(given.trials), ways.items()):
            db = rehearse(instance.table, epsilon=epsilon, seed=seed_of(instance.key, way, epsilon, trial))
            areas[way, epsilon].append(1 - judge.loss(instance, option(db, epsilon=Fraction(epsilon))))
        print(f"{table.name} ({table.label})", file=sys.stderr, flush=True)
    print(", ".join(f"{table.name} ({table.label}, {len(table):,} rows)" for table in tables))
    print(f"\n| mean area | {' | '.join(f'ε = {float(Fraction(each)):g}' for each in EPSILONS)} |\n|---|---|---|---|")
    for way in ways:
        means = [np.array(areas[way, epsilon]).reshape(len(tables), -1).mean(axis=1) for epsilon in EPSILONS]
        shown = " | ".join(f"{each.mean():.3f} ± {each.std(ddof=1) / math.sqrt(len(each)):.3f}" for each in means)
        print(f"| {way} | {shown} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
