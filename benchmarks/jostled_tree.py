"""Measure what learning JostledTree's two choices is worth, against every fixed policy.

    python benchmarks/jostled_tree.py DIRECTORY [--results FILE] [--ship]

DIRECTORY holds public tables, NAME.csv.gz, whose last column is `label`. Those named here are measured on; learned from
are all of them but the wide and the tiny. Tables that share people are in one group; groups are dealt into folds, and
what is learned for a fold was learned on the others. A results file that is there is gone on with.
`benchmarks/jostled_tree_report.py` makes the document of it. With --ship, policies are learned on all of the tables and
written to where JostledTree finds them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import jostle
from jostle.choice.learning.learners import Lesson
from jostle.choice.policies.learn import Grounds, train_labels
from jostle.corpora.corpus import BEGINNING, Corpus
from jostle.corpora.folders import read_folder
from jostle.corpora.parts import TableSpec, possible_rows
from jostle.learned.files import shipped_folder
from jostle.learned.policies import write_policies
from jostle.options import get
from jostle.options.classification.jostled_tree import SPLIT_BY, BranchUpTo, ExpectedSupport, SizeAboveNoise
from jostle.sites import Policy, follow
from jostle.tasks import make_instance
from jostle.tasks.classification.instances import TableInstance

NAMES = (
    "abalone",
    "adult",
    "bank_additional_full",
    "banknote",
    "breast_w",
    "car",
    "churn",
    "cmc",
    "compas",
    "credit_g",
    "diabetes",
    "hiv1625",
    "kr_vs_kp",
    "led7digit",
    "magic",
    "monks1",
    "mushroom",
    "nass_cds",
    "nursery",
    "pendigits",
    "phoneme",
    "satellite",
    "spambase",
    "splice",
    "student_por",
    "tic_tac_toe",
    "titanic2201",
    "weather_noaa",
)
EPSILONS = ("3/100", "1/10", "3/10", "1", "3")
SIZES = (300, 1000, 3000)
MOST_ROWS = 10_000
FOLDS = 4
OPTION = "JostledTree(policies=published)"
PUBLISHED = ("FriedmanSchuster", "Mohammed", "JostledTree(policies=published, sizes_share=1/2)")
STOPS: dict[str, Policy] = {
    **{f"{levels} levels": BranchUpTo(levels) for levels in (1, 2, 3, 4)},
    "size >= 0.1 noise": SizeAboveNoise(0.1),
    "size >= 0.3 noise": SizeAboveNoise(0.3),
    "size >= noise": SizeAboveNoise(1.0),
    "expected support": ExpectedSupport(),
}
INPUTS = {"L1": ("signal", "level", "t"), "L2": ("signal", "level")}
"""More inputs say more about the tables learned from than about others."""
CAUTION = {"L2": 1.0}
"""Max is best on the whole."""
FIXED_TRIALS, TRIALS = 2, 4
ROUNDS, RUNS = 2, 8
MOST_ATTRIBUTES, LEAST_ROWS = 40, 150
FLOOR = 0.01

Named = tuple[str, TableInstance]


def main() -> None:
    """Measure what the results file does not hold yet; learn what is shipped, if so wished."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/jostled_tree.json"))
    parser.add_argument("--ship", action="store_true")
    given = parser.parse_args()
    start = time.process_time()
    whole = read_folder(given.data)
    corpus = Corpus([table for table in whole.tables if table.name in NAMES])
    instances = [(table.name, _instance(table, rows)) for table in corpus.tables for rows in _sizes(table)]
    others = [table for table in whole.tables if table.name not in NAMES and _fits(table)]
    more = [(table.name, _instance(table, _sizes(table)[-1])) for table in others]
    held: dict[str, Any] = json.loads(given.results.read_text()) if given.results.exists() else {}
    folds = dealt(corpus)
    held["cells"] = [[name, each.rows, epsilon] for name, each in instances for epsilon in EPSILONS]
    held["folds"] = folds
    held["groups"] = {name: group for group, names in whole.groups.items() for name in names}
    held["learned from"] = sorted({name for name, _ in (*instances, *more)})

    def keep() -> None:
        held["seconds"] = held.get("seconds", 0) + time.process_time() - keep.since  # type: ignore[attr-defined]
        keep.since = time.process_time()  # type: ignore[attr-defined]
        given.results.write_text(json.dumps(held))

    keep.since = start  # type: ignore[attr-defined]
    fixed = held.setdefault("fixed", {})
    for stop, first in STOPS.items():
        for rule, second in SPLIT_BY.items():
            if f"{stop}, {rule}" not in fixed:
                fixed[f"{stop}, {rule}"] = losses(instances, OPTION, {"L1": first, "L2": second}, FIXED_TRIALS)
        keep()
    for name in PUBLISHED:
        if name not in held.setdefault("published", {}):
            held["published"][name] = losses(instances, name, {}, FIXED_TRIALS)
            keep()
    if "learned" not in held:
        held["learned"] = learned(instances, more, held)
        keep()
    if given.ship:
        ship([*instances, *more])


def _sizes(table: Any) -> tuple[int, ...]:
    """Return the two largest numbers of rows that a table can give."""
    sizes = possible_rows(table, SIZES)[-2:]
    return tuple(min(MOST_ROWS, len(table) * 7 // 10) if size is None else size for size in sizes)


def _fits(table: Any) -> bool:
    return len(table.attributes) <= MOST_ATTRIBUTES and len(table) >= LEAST_ROWS


def _instance(table: Any, rows: int) -> TableInstance:
    instance = make_instance(table, TableSpec(rows=rows, seed=1))
    if not isinstance(instance, TableInstance):
        raise TypeError(table.name)
    return instance


def dealt(corpus: Corpus) -> dict[str, int]:
    """Return the fold of each table; groups are whole, and dealt in an order that has nothing to do with them."""
    groups = sorted(corpus.groups.items(), key=lambda item: hashlib.sha256(item[0].encode()).digest())
    return {name: place % FOLDS for place, (_, names) in enumerate(groups) for name in names}


def losses(
    instances: Sequence[Named], name: str, policies: Mapping[str, Policy], trials: int, start: int = 0
) -> list[list[float]]:
    """Return the loss of each trial in each cell. All policies have the same seeds."""
    option: Any = get(name)
    found: list[list[float]] = []
    for _, instance in instances:
        for epsilon in EPSILONS:
            found.append([])
            for trial in range(start, start + trials):
                seed = int.from_bytes(hashlib.sha256(f"{instance.key} {epsilon} {trial}".encode()).digest()[:6], "big")
                with follow(policies):
                    model = option(jostle.rehearse(instance.table, seed=seed), epsilon=epsilon)
                found[-1].append(round(instance.loss(model), 5))
    return found


def program(db: jostle.Probe, epsilon: Fraction) -> Any:
    """Grow the tree that is trained."""
    option: Any = get(OPTION)
    return option(db, epsilon=epsilon)


def learned(instances: Sequence[Named], more: Sequence[Named], held: Mapping[str, Any]) -> dict[str, Any]:
    """Return losses with L1 alone learned, L2 alone, both, and neither, each fold's by what the others taught."""
    kinds = ("best fixed", "L1", "L2", "both")
    folds, groups = held["folds"], held["groups"]
    found: dict[str, list[Any]] = {kind: [None] * len(held["cells"]) for kind in kinds}
    best: list[str] = []
    said: list[str] = []
    first: dict[str, list[Lesson]] = {}
    for name, instance in (*instances, *more):
        first.setdefault(name, []).extend(lessons([(name, instance)], 0))
    for fold in range(FOLDS):
        outside = [pair for pair in instances if folds[pair[0]] == fold]
        without = {groups[name] for name, _ in outside}
        inside = [pair for pair in (*instances, *more) if groups[pair[0]] not in without]
        best.append(best_fixed(held, fold))
        stop, rule = best[-1].split(", ")
        usual: dict[str, Policy] = {"L1": STOPS[stop], "L2": SPLIT_BY[rule]}
        known = [lesson for name in dict.fromkeys(name for name, _ in inside) for lesson in first[name]]
        taught = train_labels(
            program,
            [instance for _, instance in inside],
            EPSILONS,
            rounds=ROUNDS,
            runs=RUNS,
            inputs=INPUTS,
            caution=CAUTION,
            seed=fold + 1,
            first=known,
        )
        policies = {"best fixed": usual, "L1": {**usual, "L1": taught["L1"]}, "L2": {**usual, "L2": taught["L2"]}}
        policies["both"] = dict(taught)
        settled = [f"{label}: {policy.usual} everywhere" for label, policy in taught.items() if policy.fixed]
        places = [place for place, cell in enumerate(held["cells"]) if folds[cell[0]] == fold]
        for kind in kinds:
            trials = losses(outside, OPTION, policies[kind], TRIALS, FIXED_TRIALS)
            for place, each in zip(places, trials, strict=True):
                found[kind][place] = each
        said.append(", ".join(sorted(settled)) or "all learned")
        print(f"fold {fold}: {best[-1]}; {said[-1]}", flush=True)
    return {"best": best, "settled": said, **found}


def lessons(instances: Sequence[Named], seed: int) -> list[Lesson]:
    """Return what a first round teaches."""
    budgets = [Fraction(epsilon) for epsilon in EPSILONS]
    situations = [instance for _, instance in instances]
    ground = Grounds(program=program, situations=situations, epsilons=budgets, seed=(seed, 0))
    return ground.lessons({}, runs=RUNS, rate=Fraction(1, 2))


def best_fixed(held: Mapping[str, Any], fold: int) -> str:
    """Return the fixed policy of the least mean log loss over the other folds' tables."""
    inside = [place for place, cell in enumerate(held["cells"]) if held["folds"][cell[0]] != fold]

    def mean(name: str) -> float:
        trials = np.array(held["fixed"][name])[inside].mean(axis=1)
        return float(np.mean(np.log(trials + FLOOR)))

    names: list[str] = list(held["fixed"])
    return min(names, key=mean)


def ship(instances: Sequence[Named]) -> None:
    """Learn on all tables, and write what was learned to where it is found."""
    policies = train_labels(
        program,
        [instance for _, instance in instances],
        EPSILONS,
        rounds=ROUNDS,
        runs=RUNS,
        inputs=INPUTS,
        caution=CAUTION,
        seed=0,
    )
    tables, count = len(dict.fromkeys(name for name, _ in instances)), len(instances)
    about = (
        f"JostledTree's choices, learned on {tables} public tables ({count} instances, epsilon {', '.join(EPSILONS)}, "
        f"{ROUNDS} rounds of {RUNS} runs each); what they are worth: docs/benchmarks/jostled-tree.md"
    )
    fitted_on = sorted({instance.key[:BEGINNING] for _, instance in instances})
    write_policies(shipped_folder() / "jostled_tree.json", policies, about=about, facts={"fitted_on": fitted_on})


if __name__ == "__main__":
    main()
