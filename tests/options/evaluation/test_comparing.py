"""Which model is best on private rows, and how often what is said of it is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tables_of_labels import arrow, correlated, table_of

import jostle
from jostle.tasks.classification.model import Model


@pytest.fixture(name="trained", scope="module")
def _trained() -> tuple[Any, dict[str, Model]]:
    schema, data = correlated(400, classes=2)
    db = jostle.rehearse(table_of(data[:200], schema), seed=1)
    names = ("Majority", "NaiveBayes", "Mohammed(depth=1)")
    models = {name: jostle.options.get(name)(db, epsilon=20) for name in names}
    return (schema, data[200:]), models


def test_with_much_budget_it_is_the_best_of_these_rows(trained: tuple[Any, dict[str, Model]]) -> None:
    (schema, data), models = trained
    frame = arrow(data, schema)
    right = {name: round(len(data) * model.score(frame)) for name, model in models.items()}
    found = jostle.compare_models(jostle.rehearse(table_of(data, schema), seed=1), models, epsilon=500)

    assert found.right == right
    assert right[found.best] == max(right.values())
    for name, rows in right.items():
        low, high = found.lead(name)
        assert low <= right[found.best] - rows <= high
    distinct = len(set(right.values())) == len(right)
    assert (found.confidence > 0.99) == distinct
    assert found.best in str(found)


@pytest.mark.slow
def test_what_it_says_with_confidence_is_wrong_no_more_often(trained: tuple[Any, dict[str, Model]]) -> None:
    """At little epsilon: among 300 runs, those that are wrong although they are 80% sure are at most 20%."""
    (schema, data), models = trained
    frame = arrow(data, schema)
    right = {name: model.score(frame) for name, model in models.items()}
    best = {name for name, score in right.items() if score == max(right.values())}
    db = jostle.rehearse(table_of(data, schema), seed=5)
    wrong = covered = 0
    runs = 60
    for _ in range(runs):
        found = jostle.compare_models(db, models, epsilon=0.2)
        wrong += found.best not in best and found.confidence > 0.8
        first = next(iter(best))
        behind = (right[found.best] - right["Majority"]) * len(data)
        low, high = found.lead("Majority", 0.8)
        covered += low <= behind + 1e-9 and behind - 1e-9 <= high
        assert first in found.right
    assert wrong <= 0.2 * runs + 3 * np.sqrt(0.16 * runs)
    assert covered >= 0.8 * runs - 3 * np.sqrt(0.16 * runs)


def test_one_tally_pays_for_all(trained: tuple[Any, dict[str, Model]]) -> None:
    (schema, data), models = trained
    trace = jostle.Trace()
    db = jostle.rehearse(table_of(data, schema), epsilon=1, seed=1, trace=trace)
    found = jostle.compare_models(db, list(models.values()), epsilon="1/2")

    assert db.spent * 2 == 1
    assert found.scale == 2
    assert found.names == tuple(model.made_by for model in models.values())


def test_models_that_do_as_well_are_not_told_apart(trained: tuple[Any, dict[str, Model]]) -> None:
    (schema, data), models = trained
    same = [models["Majority"], models["Majority"]]
    db = jostle.rehearse(table_of(data, schema), seed=1)
    found = jostle.compare_models(db, same, epsilon=1)

    assert np.median([jostle.compare_models(db, same, epsilon=1).confidence for _ in range(9)]) < 0.9
    assert found.names == ("Majority 1", "Majority 2")
