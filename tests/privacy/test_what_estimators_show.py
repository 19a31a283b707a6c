"""Estimators for scikit-learn show of neighbouring rows, which released the same, the same: however rows come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pandas as pd
import pytest
from attrs import fields
from replayed import Seen, compared
from scipy.sparse import csr_matrix
from sklearn.pipeline import Pipeline
from test_what_an_asker_sees import PEOPLE, SOME, Row, frame, schema

from jostle import Categorical, Schema
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector
from jostle.tables.features import SparseFeatures
from jostle.tables.schema import Neighbours
from jostle.trace.records import Trace

Parts = tuple[Any, Any]
"""Attributes, and labels."""


def objects(rows: list[Row]) -> Parts:
    table = frame(rows)
    return table[["size", "colour", "odd"]], table["ill"]


def typed(rows: list[Row]) -> Parts:
    cells, labels = objects(rows)
    texts = cells.astype({"colour": "string", "odd": "string"})
    return texts.assign(size=pd.to_numeric(cells["size"])), labels.astype("string")


def arrays(rows: list[Row]) -> Parts:
    cells, labels = objects(rows)
    return cells.to_numpy(dtype=object), labels.to_numpy(dtype=object)


def lists(rows: list[Row]) -> Parts:
    return [list(row[:-1]) for row in rows], [row[-1] for row in rows]


def same(run: Callable[[Any, Trace], Any], first: Any, second: Any) -> Seen:
    one, other, _ = compared(run, first, second)
    for facet in fields(Seen):
        assert getattr(one, facet.name) == getattr(other, facet.name), facet.name
    assert one.answer[0] != "raised", one.answer[:3]
    return one


def account_and_shown(fitted: Any) -> list[Any]:
    return [fitted.account().left, fitted.n_features_in_, getattr(fitted, "feature_names_in_", None), repr(fitted)]


@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("given", [objects, typed, arrays, lists])
def test_a_classifier(given: Callable[[list[Row]], Parts], relation: Neighbours) -> None:
    def run(rows: list[Row], _: Trace) -> list[Any]:
        cells, labels = given(rows)
        fitted = PrivateClassifier("NaiveBayes", epsilon=1, schema=schema(relation), promise=2).fit(cells, labels)
        asked = given(SOME)[0]
        score = fitted.score(cells, labels)
        return [*account_and_shown(fitted), fitted.classes_, fitted.predict(asked), fitted.predict_proba(asked), score]

    for rows in PEOPLE.values():
        same(run, *rows)


@pytest.mark.parametrize("given", [objects, typed])
def test_a_selector_and_a_classifier_behind_it(given: Callable[[list[Row]], Parts]) -> None:
    def run(rows: list[Row], _: Trace) -> list[Any]:
        cells, labels = given(rows)
        selector = PrivateFeatureSelector("Peeling(top=1)", epsilon=1, schema=schema(), promise=3)
        classifier = PrivateClassifier("NaiveBayes", epsilon=1, schema=schema())
        pipe = Pipeline([("select", selector), ("learn", classifier)]).fit(cells, labels)
        return [
            *map(account_and_shown, pipe.named_steps.values()),
            pipe[0].get_feature_names_out(),
            pipe.score(cells, labels),
            pipe.predict(given(SOME)[0]),
        ]

    for rows in PEOPLE.values():
        assert "AddNoise" in same(run, *rows).asked


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (([], []), ([[1, 0, 1]], ["yes"])),
        (([[1, 0, 0], [0, 0, 0]], ["yes", None]), ([[1, 0, 0], [0, 0, 0]], ["yes", "no"])),
        (([[1.0, 0, 0]], ["no"]), ([[1.0, 0, 0], [float("nan"), -0.0, float("inf")]], ["no", "perhaps"])),
    ],
)
def test_a_selector_of_the_columns_of_a_sparse_matrix(first: Parts, second: Parts) -> None:
    columns = Schema(
        {"ill": Categorical(["no", "yes"])}, label="ill", features=SparseFeatures("text", words=["a", "b", "c"])
    )

    def run(rows: Parts, _: Trace) -> list[Any]:
        matrix = csr_matrix(rows[0]) if rows[0] else csr_matrix((0, 3))
        fitted = PrivateFeatureSelector("Peeling(top=1)", epsilon=1, schema=columns, promise=1).fit(matrix, rows[1])
        return [*account_and_shown(fitted), fitted.get_support(), fitted.get_feature_names_out()]

    same(run, first, second)
