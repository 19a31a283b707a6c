"""The error of Jostle's choice beside the best of diffprivlib's four classifiers, picked in hindsight.

    python benchmarks/choosing_peers.py DIRECTORY_OF_TABLES

On the tables, budgets and splits of docs/benchmarks/trees.json, which has what diffprivlib's models do there
(benchmarks/trees.py). For each table the shipped maker's way of choosing is learned anew from the shipped rehearsals
without that table and those that share people with it; then it chooses and runs, everything it spends being charged.
Prints the table for docs/benchmarks/choosing.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import Any

from trees import NAMES, read, split

import jostle
from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.learning.learners import LEARNERS, ConstantLearner
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of, shipped_maker
from jostle.choice.makers.trained import Trained, trained_on
from jostle.choice.makers.training import Way, foresee
from jostle.figures.accuracy import EPSILONS
from jostle.options import get
from jostle.options.base import Option
from jostle.tasks import task_of
from jostle.tasks.metafeature import named

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "trees.json"
PEERS = ("tree", "forest", "GaussianNB", "LogisticRegression")


def way_of(trained: Trained) -> Way:
    """Return the way of choosing that a maker was trained in."""
    known = named(task_of(trained.task).rehearsal.metafeatures)
    learners = {learner.name: learner for learner in (*LEARNERS, ConstantLearner())}
    looked_at = [known[name] for name, _ in trained.metafeatures]
    return Way(looked_at, trained.share, learners[trained.learner], trained.lead)


def maker_without(group: str, cases: Cases, groups: dict[str, str], options: Sequence[Option], way: Way) -> ChoiceMaker:
    """Return a maker that learned from all other groups of databases."""
    others = cases.only(lambda instance: groups[instance.database] != group)
    judged = foresee(others, way, folds=2, draws=1).judged(way)
    trained = trained_on(others, options, [judged])
    return ChoiceMaker(among=options, informed_by=task_of(trained.task).rehearsal.metafeatures).with_trained(trained)


def errors(maker: Option, single: Option, path: Path, trials: int) -> dict[float, tuple[float, float]]:
    """Return for each budget the mean error of the maker's choice, and of the single best Option."""
    frame = read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # texts with too many different values are left out
        schema = jostle.Schema.infer_public(frame, label="label")
    found: dict[float, list[tuple[float, float]]] = {epsilon: [] for epsilon in EPSILONS}
    for trial in range(trials):
        train, test = split(frame, trial)
        table = jostle.Table.from_frame(train, schema)
        for epsilon in EPSILONS:
            pair = tuple(
                1 - option(jostle.rehearse(table, seed=trial), epsilon=Fraction(str(epsilon))).score(test)
                for option in (maker, single)
            )
            found[epsilon].append((pair[0], pair[1]))
    return {epsilon: (mean(ours for ours, _ in both), mean(one for _, one in both)) for epsilon, both in found.items()}


def best_of_peers(held: dict[str, Any], epsilon: float) -> float:
    """Return the mean error of the best of diffprivlib's models at a budget."""
    means: list[float] = [
        mean(each["accuracies"]) for each in held["results"] if each["epsilon"] == epsilon and is_peer(each)
    ]
    return 1.0 - max(means)


def is_peer(result: dict[str, Any]) -> bool:
    """Return whether a result is one of diffprivlib's."""
    return any(result["option"].removeprefix("diffprivlib ") == name for name in PEERS)


def main() -> int:
    """Print mean errors for each budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trials", type=int, default=10)
    arguments = parser.parse_args()
    held = json.loads(RESULTS.read_text(encoding="utf-8"))
    history = rehearsals_of("classification")
    groups = {digest: database.group for digest, database in history.databases.items()}
    of_table = {database.name: database.group for database in history.databases.values()}
    options = [get(name) for name in SHIPPED["classification"].among]
    cases = cases_of(history, options)
    trained = shipped_maker("classification")
    way, single = way_of(trained), options[trained.single]
    rows: dict[float, list[tuple[float, float, float]]] = {epsilon: [] for epsilon in EPSILONS}
    for name in NAMES:
        maker = maker_without(of_table[name], cases, groups, options, way)
        for epsilon, (ours, one) in errors(maker, single, arguments.data / f"{name}.csv.gz", arguments.trials).items():
            rows[epsilon].append((ours, one, best_of_peers(held[name], epsilon)))
        print(f"  {name}: done", file=sys.stderr, flush=True)
    print(f"{len(NAMES)} tables, {arguments.trials} splits of each.\n")
    print(f"| ε | Jostle's choice | {single.name} always | diffprivlib's best, in hindsight | Jostle is better on |")
    print("|---|---|---|---|---|")
    for epsilon, cells in rows.items():
        ours, one, theirs = (mean(column) for column in zip(*cells, strict=True))
        better = sum(ours < theirs for ours, _, theirs in cells)
        print(f"| {epsilon:g} | {ours:.3f} | {one:.3f} | {theirs:.3f} | {better} of {len(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
