"""Publish rows, train classifiers on them, and hold these against classifiers on the rows themselves.

    python benchmarks/publishing.py DIRECTORY [--trials 2] [--folds 10] [--only slides] [--tables adult] [--page FILE]

DIRECTORY holds adult.csv.gz, bank_additional_full.csv.gz, acs_national_income.csv.gz, acs_ma_tenure.csv.gz,
satellite.csv.gz, iris.csv.gz, car.csv.gz, cmc.csv.gz, nursery.csv.gz, smoke_ban.csv.gz and the tables named in
`UNSEEN`, whose last column is `label`. What was measured is kept in the results file, so that a run that was stopped
goes on where it was; the page and its figures are made of it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from attrs import evolve
from publishing_figures import draw
from publishing_report import page
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import jostle
from jostle import Numeric, Schema, Table
from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.learning.learners import LEARNERS
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of
from jostle.choice.makers.training import SINGLE_BEST, Judged, Way, free_and_paid, judge
from jostle.figures.vinterbo import (
    FOLDS,
    PLAIN,
    PRIVATE,
    FoldRows,
    LinearFeatures,
    estimated_plan,
    fitted_or_label,
    folds_of,
    published_features,
    swept_ways,
)
from jostle.options import get
from jostle.options.publishing.projected_histogram import mda
from jostle.privacy.column_scores import Discernibility
from jostle.tables.attributes import attribute_codes, label_codes
from jostle.tasks.publishing import Published
from jostle.tasks.publishing.task import learn

EPSILONS = (0.05, 0.1, 0.25, 0.5, 0.75, 1)
PUBLISHERS = ("PrivPfC", "PrivBayes", "ProjectedHistogram", "DiffGen")
SEERS = (
    "SuLQID3",
    "Mohammed",
    "PooledTree",
    "NaiveBayes",
    "FunctionalLogistic",
    "PLR",
    "PrivateERM",
    "PrivGene",
    "Majority",
)
"""Options that see the rows themselves, and publish a model."""
SLIDES = ("adult", "bank_additional_full", "acs_national_income", "acs_ma_tenure")
FIGURES = ("iris", "satellite", "adult")
WAYS = ("iris", "car", "cmc", "nursery", "smoke_ban", "satellite", *SLIDES)
"""The tables that ways to choose k are held against each other on."""
UNSEEN = (
    "called_strike",
    "car_claim_au",
    "card_overdue",
    "chem_score",
    "contraception_botswana",
    "crime_victims",
    "fire_brigade_animals",
    "fire_cause",
    "grade_retained",
    "health_relation",
    "high_school_grad",
    "houston_offense",
    "k401_eligible",
    "monica",
    "online_shoppers",
    "pitch_type",
    "pumpkin_seeds",
    "school_fights",
    "shooting_flee",
    "sky_class",
    "speed_dating",
    "telco_churn",
    "track_genre",
    "violent_communities",
)
"""All tables of the role *learn* that have a label: partition-and-select was made without them."""
PARTITION = "ProjectedHistogram(choose_k=partition)"
WAYS_EPSILONS = (0.1, 1)
WAYS_TRIALS = 3
TRAIN_SHARE = 0.7
Facts = dict[str, Any]
Integers = np.ndarray[Any, np.dtype[np.int64]]


def read(folder: Path, name: str) -> pd.DataFrame:
    """Return a table; of Adult, the rows without unknown values, as the papers have it."""
    frame = pd.read_csv(folder / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
    return frame[~(frame == "?").any(axis=1)].reset_index(drop=True) if name == "adult" else frame


def schema_of(frame: pd.DataFrame) -> Schema:
    """Return what is public of a table: read off all of its rows, which are public."""
    return Schema.infer_public(frame, label="label")


def wrong(fitted: Any, features: np.ndarray[Any, Any], truth: Integers) -> float:
    """Return the share of rows that are predicted wrongly."""
    return float(np.mean((fitted if isinstance(fitted, int) else fitted.predict(features)) != truth))


# The slides' task


def slides(folder: Path, tables: Iterable[str], trials: int, kept: Callable[[str, Callable[[], Facts]], Facts]) -> None:
    """Measure errors of decision trees and SVMs on published rows, and of classifiers that see the rows."""
    for name in tables:
        frame = read(folder, name)
        schema = schema_of(frame)
        for trial in range(trials):
            order = np.random.default_rng(trial).permutation(len(frame))
            cut = int(TRAIN_SHARE * len(frame))
            train, test = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
            held = attribute_codes(test, schema), label_codes(test, schema)
            kept(f"slides {name} noise-free {trial}", lambda: _noise_free(schema, train, held))  # noqa: B023 - at once
            table = Table.from_frame(train, schema)
            for epsilon in EPSILONS:
                for option in (*PUBLISHERS, *SEERS):
                    key = f"slides {name} {option} {epsilon} {trial}"
                    kept(key, lambda: _errors(option, table, epsilon, trial, held))  # noqa: B023 - run at once


def _noise_free(schema: Schema, train: pd.DataFrame, held: tuple[Integers, Integers]) -> Facts:
    codes, labels = attribute_codes(train, schema), label_codes(train, schema)
    features = LinearFeatures.of_schema(schema)
    seen, asked = features.of_codes(codes), features.of_codes(held[0])
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=0.002, random_state=0)
    svm = LinearSVC(dual=False)
    return {"tree": wrong(tree.fit(seen, labels), asked, held[1]), "svm": wrong(svm.fit(seen, labels), asked, held[1])}


def _errors(option: str, table: Table, epsilon: float, trial: int, held: tuple[Integers, Integers]) -> Facts:
    db = jostle.rehearse(table, epsilon=epsilon, seed=trial)
    start = time.perf_counter()
    answer: Any = get(option)(db, epsilon=epsilon)
    seconds = time.perf_counter() - start
    codes, labels = held
    if not isinstance(answer, Published):
        return {"tree": float(np.mean(np.argmax(answer.chances(codes), axis=1) != labels)), "seconds": seconds}
    tree = float(np.mean(np.argmax(learn(answer).chances(codes), axis=1) != labels))
    features, seen, own = published_features(answer)
    svm = fitted_or_label(LinearSVC(dual=False), seen, own, answer.counts)
    return {"tree": tree, "svm": wrong(svm, features.of_codes(codes), labels), "seconds": seconds}


# Vinterbo's figures


def vinterbo(
    folder: Path, tables: Iterable[str], folds: int, kept: Callable[[str, Callable[[], Facts]], Facts]
) -> None:
    """Measure the area under the curve of logistic regressions, on rows and on projected histograms of them."""
    for name in tables:
        frame = read(folder, name)
        schema = schema_of(frame)
        kept(f"vinterbo {name} estimated", lambda: estimated_plan(schema, len(frame)))  # noqa: B023 - run at once
        kept(f"vinterbo {name} as if public", lambda: {"k": len(mda(frame, schema))})  # noqa: B023 - run at once
        ways = [PLAIN, PRIVATE, "NaiveBayes", *swept_ways(schema)]
        rows = pa.Table.from_pandas(frame, preserve_index=False)
        for fold in folds_of(rows, schema, FOLDS if name == "iris" else folds):
            for way in ways:
                kept(f"vinterbo {name} {fold.number} {way}", lambda: _area(fold, way))  # noqa: B023 - run at once


def _area(fold: FoldRows, way: str) -> Facts:
    found = fold.area(way)
    return {"auc": found.area} if found.k is None else {"auc": found.area, "k": found.k}


# Ways to choose k


def ways_to_k(folder: Path, kept: Callable[[str, Callable[[], Facts]], Facts]) -> None:
    """Measure errors of the default tree on projected histograms by how the number of their columns is chosen."""
    for name in (*WAYS, *UNSEEN):
        frame = read(folder, name)
        schema = schema_of(frame)
        for trial in range(WAYS_TRIALS):
            order = np.random.default_rng(trial).permutation(len(frame))
            cut = int(TRAIN_SHARE * len(frame))
            train, test = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
            held = attribute_codes(test, schema), label_codes(test, schema)
            table = Table.from_frame(train, schema)
            options = {"simulated": "ProjectedHistogram", "partition": PARTITION, "k=2": _with_k(2)}
            if name in WAYS:
                options |= {"as if public": _with_k(len(mda(train, schema)))}
                options |= {f"k={k}": _with_k(min(k, len(schema.attributes))) for k in (1, 2, 3, 4)}
            for epsilon in WAYS_EPSILONS:
                for way, option in options.items():
                    key = f"{'ways' if name in WAYS else 'unseen'} {name} {way} {epsilon} {trial}"
                    kept(key, lambda: {"tree": _errors(option, table, epsilon, trial, held)["tree"]})  # noqa: B023


def _with_k(k: int) -> str:
    return f"ProjectedHistogram(k={k})"


# Choosing


def choosing(kept: Callable[[str, Callable[[], Facts]], Facts]) -> None:
    """Measure what choosing among publishers is worth, on groups of learning tables left out."""
    shipped = SHIPPED["publishing"]
    cases = cases_of(rehearsals_of("publishing"), [get(name) for name in shipped.among])
    known = shipped.task.rehearsal.metafeatures
    free, _ = free_and_paid(cases, known)
    ways = {
        "a forest on public facts, whatever looks best": Way(free, Fraction(0), LEARNERS[0]),
        "a forest on public facts, with a lead of 20%": Way(free, Fraction(0), LEARNERS[0], lead=0.2),
        "a forest on all that may be bought, for 2%": Way(known, Fraction(1, 50), LEARNERS[0]),
    }
    fixed = judge(cases, SINGLE_BEST)
    for place, name in enumerate(shipped.among):
        always = evolve(fixed, losses=cases.mean[:, place])
        kept(f"choosing always {name}", lambda: _regrets(always, cases))  # noqa: B023 - run at once
    for name, way in ways.items():
        kept(f"choosing {name}", lambda: _regrets(judge(cases, way), cases))  # noqa: B023 - run at once


def _regrets(judged: Judged, cases: Cases) -> Facts:
    found = judged.figures(cases)
    return {
        "cells": found.cells,
        "regret": found.regret_mean,
        "p95": found.regret_p95,
        "worst": found.regret_max,
        "worse": found.worse_share,
        "loss": found.loss_mean,
    }


# Seconds


def speed(folder: Path, kept: Callable[[str, Callable[[], Facts]], Facts]) -> None:
    """Measure k-discernibility on many rows, and a pool of 10,000 grids on Adult, in processor time."""
    for rows, columns in ((250_000, 20), (1_000_000, 10), (1_000_000, 20)):
        kept(f"speed discernibility {rows} {columns}", lambda: _discernibility(rows, columns))  # noqa: B023 - at once
    kept("speed pool", lambda: _pool(folder))


def _discernibility(rows: int, columns: int) -> Facts:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{place}": random.normal(size=rows) for place in range(columns)})
    frame["label"] = np.where(frame["a0"] + frame["a1"] + random.normal(size=rows) > 0, "y", "n")
    schema = Schema(
        {**{f"a{p}": Numeric(-6, 6, bins=6) for p in range(columns)}, "label": jostle.Categorical(["n", "y"])},
        label="label",
    )
    db = jostle.rehearse(Table.from_frame(frame, schema), seed=0)
    start = time.process_time()
    chosen: list[str] = []
    for _ in range(4):
        left = tuple(name for name in schema.attributes if name not in chosen)
        chosen.append(left[db.pick(Discernibility(tuple(chosen), left), "1/4")])
    return {"seconds": time.process_time() - start, "chosen": chosen}


def _pool(folder: Path) -> Facts:
    frame = read(folder, "adult")
    db = jostle.rehearse(Table.from_frame(frame, schema_of(frame)), seed=0)
    start = time.process_time()
    get("PrivPfC")(db, epsilon=1)
    return {"seconds": time.process_time() - start}


def main() -> None:
    """Measure what is not known yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--folds", type=int, default=FOLDS, help="How many of the ten are gone through; of iris, all.")
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/publishing.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks/publishing.md"))
    parser.add_argument("--only", choices=("slides", "vinterbo", "ways", "choosing", "speed", "page"))
    parser.add_argument("--tables", nargs="*", default=[*SLIDES, *FIGURES])
    given = parser.parse_args()
    known: dict[str, Facts] = json.loads(given.results.read_text("utf-8")) if given.results.exists() else {}

    def kept(key: str, measure: Callable[[], Facts]) -> Facts:
        if key not in known:
            known[key] = {name: round(v, 4) if isinstance(v, float) else v for name, v in measure().items()}
            given.results.write_text(json.dumps(known, indent=0) + "\n", "utf-8")
            print(key, known[key], flush=True)
        return known[key]

    warnings.filterwarnings("ignore", category=UserWarning)  # of few rows, which is what is measured
    if given.only in {None, "speed"}:
        speed(given.folder, kept)
    if given.only in {None, "choosing"}:
        choosing(kept)
    if given.only in {None, "vinterbo"}:
        vinterbo(given.folder, [name for name in FIGURES if name in given.tables], given.folds, kept)
    if given.only in {None, "ways"}:
        ways_to_k(given.folder, kept)
    if given.only in {None, "slides"}:
        slides(given.folder, [name for name in SLIDES if name in given.tables], given.trials, kept)
    given.page.write_text(page(known), "utf-8")
    if any(key.startswith("vinterbo") for key in known):
        draw(known, given.page.parent)


if __name__ == "__main__":
    main()
