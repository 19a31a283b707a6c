"""Fit diffprivlib's classifiers, and scikit-learn's as a ceiling, on one table; runs in an environment of its own.

Reads a request (JSON) from standard input, prints the results as JSON on the last line. Everyone gets the same
splits and the same public facts: numeric bounds, and the values of categorical columns in declared order, which
become ordinal codes here. An empty numeric cell becomes the middle of the bounds.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import diffprivlib.models as private
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

Arrays = tuple[Any, Any, Any]


def main() -> None:
    """Answer one request."""
    warnings.simplefilter("ignore")
    request = json.load(sys.stdin)
    frame = pd.read_csv(request["path"], keep_default_na=False, na_values=[""], dtype=str)
    columns, low, high = encode(frame, request["columns"])
    labels = pd.Categorical(frame[request["label"]], categories=request["classes"]).codes.astype(int)
    results = []
    for trial in range(request["trials"]):
        order = np.random.default_rng(trial).permutation(len(frame))
        train, test = np.split(order, [int(request.get("train_share", 1) * len(frame))])
        if "splits" in request:
            train, test = map(np.array, request["splits"][trial])
        majority = np.bincount(labels[train]).argmax()
        facts = {"trial": trial, "option": "majority (not private)", "epsilon": None}
        results.append({**facts, "accuracy": float(np.mean(labels[test] == majority)), "seconds": 0.0})
        for name, epsilon, make, scaled in models(request["epsilons"], low, high, len(request["classes"]), trial):
            if epsilon is None and "splits" in request:
                continue
            x = (columns - low) / (high - low) if scaled else columns
            model = make()
            start = time.perf_counter()
            try:
                model.fit(x[train], labels[train])
                seconds = time.perf_counter() - start
                accuracy = float(np.mean(model.predict(x[test]) == labels[test]))
            except (ValueError, FloatingPointError, IndexError) as mistake:
                results.append({"trial": trial, "option": name, "epsilon": epsilon, "error": str(mistake)[:200]})
                continue
            results.append(
                {"trial": trial, "option": name, "epsilon": epsilon, "accuracy": accuracy, "seconds": seconds}
            )
    print(json.dumps(results))


def encode(frame: Any, columns: list[dict[str, Any]]) -> Arrays:
    """Return the attributes as numbers, and their public bounds."""
    arrays, low, high = [], [], []
    for column in columns:
        values = frame[column["name"]]
        if "values" in column:
            codes = pd.Categorical(values, categories=column["values"]).codes.astype(float)
            arrays.append(np.where(codes < 0, len(column["values"]), codes))
            low.append(0.0)
            high.append(float(max(len(column["values"]), 1)))
        else:
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
            middle = (column["low"] + column["high"]) / 2
            arrays.append(np.clip(np.where(np.isnan(numbers), middle, numbers), column["low"], column["high"]))
            low.append(float(column["low"]))
            high.append(float(column["high"]))
    return np.column_stack(arrays), np.array(low), np.array(high)


def models(
    epsilons: list[float], low: Any, high: Any, classes: int, seed: int
) -> list[tuple[str, float | None, Callable[[], Any], bool]]:
    """Return name, epsilon, how to make the model, and whether it gets its attributes scaled to 0..1."""
    known = list(range(classes))
    bounds, unit = (low, high), (np.zeros(len(low)), np.ones(len(low)))
    found: list[tuple[str, float | None, Callable[[], Any], bool]] = [
        ("tree, depth 5 (not private)", None, lambda: DecisionTreeClassifier(max_depth=5, random_state=seed), False),
        ("forest (not private)", None, lambda: RandomForestClassifier(10, max_depth=5, random_state=seed), False),
        ("naive Bayes (not private)", None, GaussianNB, True),
        ("logistic regression (not private)", None, lambda: LogisticRegression(max_iter=500), True),
    ]
    norm = math.sqrt(len(low))
    for epsilon in epsilons:
        settings: dict[str, Any] = {"epsilon": epsilon, "random_state": seed}
        tree = {**settings, "bounds": bounds, "classes": known}
        found += [
            ("diffprivlib tree", epsilon, partial(private.DecisionTreeClassifier, **tree), False),
            ("diffprivlib forest", epsilon, partial(private.RandomForestClassifier, **tree), False),
            ("diffprivlib GaussianNB", epsilon, partial(private.GaussianNB, bounds=unit, **settings), True),
            (
                "diffprivlib LogisticRegression",
                epsilon,
                partial(private.LogisticRegression, data_norm=norm, max_iter=200, **settings),
                True,
            ),
        ]
    return found


if __name__ == "__main__":
    main()
