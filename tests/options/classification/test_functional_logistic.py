"""Logistic regression from noisy sums: what it computes, and that classes are no dearer together than two are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables_of_labels import arrow, correlated, schema_of, table_of

import jostle
from jostle import Categorical, Numeric, Schema
from jostle.options import get
from jostle.options.classification.linear_models import UNIT, FunctionalLogistic, NoisySums
from jostle.privacy.events import Laplace

SCHEMA = Schema(
    {
        "n": Numeric(0, 4, bins=4, missing="value"),
        "two": Categorical(["x", "y"]),
        "three": Categorical(["p", "q", "r"]),
        "label": Categorical(["no", "yes"]),
    },
    label="label",
)


def test_features_lie_between_minus_one_and_one() -> None:
    numbers = {name: own.tolist() for name, own in FunctionalLogistic()._numbers(SCHEMA).items()}
    assert numbers["n"] == [[-UNIT * 3 // 4], [-UNIT // 4], [UNIT // 4], [UNIT * 3 // 4], [0]], "no number counts as 0"
    assert numbers["two"] == [[-UNIT], [UNIT]]
    assert numbers["three"] == (UNIT * np.eye(3, dtype=int)).tolist()


def test_weights_minimise_the_quadratic_that_stands_for_the_loss() -> None:
    """Against numpy's least squares: the loss of w is that of regressing 2 y on x, up to a factor and a constant."""
    random = np.random.default_rng(1)
    x = np.hstack([np.ones((200, 1)), random.integers(-4, 5, (200, 3)) / 4])
    y = np.where(x[:, 1] + random.normal(size=200) > 0, 1, -1)
    by_class = np.stack([x[y < 0].sum(axis=0), x[y > 0].sum(axis=0)])
    weights = NoisySums({}, x.T @ x, by_class, 1e-12).weights(1.0)
    assert np.allclose(weights[:, 1], np.linalg.lstsq(x, 2 * y, rcond=None)[0])
    assert np.allclose(weights[:, 0], -weights[:, 1])
    found = weights[:, 1]

    def loss(w: Any) -> float:
        return float((-y * (x @ w) / 2 + (x @ w) ** 2 / 8).sum())

    for step in np.vstack([np.eye(4), -np.eye(4)]) / 100:
        assert loss(found + step) > loss(found)


def test_noise_that_leaves_products_of_no_rows_does_no_harm() -> None:
    products = np.array([[5.0, 40.0], [40.0, -30.0]])
    weights = NoisySums({}, products, np.array([[3.0, -9.0], [2.0, 8.0]]), 2.0).weights(1.0)
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() < 100


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_many_classes_cost_one_tally(relation: Any) -> None:
    schema = schema_of(3, 4, 5, neighbours=relation)
    rows = [(value % 3, value % 4, value % 5) for value in range(300)]
    assert get("FunctionalLogistic").cost(schema, Fraction(1)) == Laplace(1)
    db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=3)
    model: Any = get("FunctionalLogistic")(db, epsilon=1)
    assert db.spent == 1
    assert np.allclose(model.predict_proba(arrow(rows, schema)).sum(axis=1), 1)


def test_it_learns_what_a_line_can_tell() -> None:
    schema, rows = correlated(3000)
    model: Any = get("FunctionalLogistic")(jostle.rehearse(table_of(rows, schema), epsilon=20, seed=1), epsilon=20)
    assert model.score(arrow(rows, schema)) > 0.75
