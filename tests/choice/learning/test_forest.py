"""Forests: what scikit-learn says, from arrays; written as JSON, read back, and never walked through damaged."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

from jostle.errors import ChoiceError
from jostle.files.structure import structured
from jostle.files.texts import DamageError
from jostle.learned.policies import LEAF, Forest, fit_forest

CHANCE = np.random.default_rng(7)
ROWS = CHANCE.random((200, 4))
WANTED = np.stack([ROWS[:, 0] > 0.5, ROWS[:, 1] * ROWS[:, 2], CHANCE.random(200)], axis=1).astype(np.float64)
WEIGHTS = CHANCE.random(200)


@pytest.mark.parametrize("outputs", [1, 3])
def test_it_predicts_what_scikit_learn_does(outputs: int) -> None:
    ours = fit_forest(
        ROWS,
        WANTED[:, :outputs],
        weights=WEIGHTS,
        trees=7,
        least_rows=3,
        most_leaves=20,
        inputs_tried=0.5,
        seed=5,
    )
    theirs = RandomForestRegressor(
        n_estimators=7, min_samples_leaf=3, max_leaf_nodes=20, max_features=0.5, random_state=5
    ).fit(ROWS, WANTED[:, :outputs].squeeze(), sample_weight=WEIGHTS)
    # scikit-learn compares inputs as 32-bit floats.
    asked = CHANCE.random((500, 4)).astype(np.float32).astype(np.float64)
    mean, spread = ours.predict(asked)
    np.testing.assert_allclose(mean, theirs.predict(asked).reshape(500, outputs))
    each = np.stack([tree.predict(asked).reshape(500, outputs) for tree in theirs.estimators_])
    np.testing.assert_allclose(spread, each.std(axis=0), atol=1e-12)
    assert ours.outputs == outputs


def test_it_survives_json_to_the_digits_that_are_kept() -> None:
    forest = fit_forest(ROWS, WANTED, trees=5)
    again = structured(json.loads(json.dumps(forest.facts())), Forest)
    assert again.facts() == forest.facts()
    np.testing.assert_array_equal(again.left, forest.left)
    asked = forest.threshold.max() + np.zeros((3, 4)) + 1  # away from thresholds, which are rounded
    np.testing.assert_allclose(again.predict(asked)[0], forest.predict(asked)[0], rtol=1e-3, atol=1e-4)


def stump() -> dict[str, Any]:
    return {
        "inputs": 1,
        "roots": [0],
        "feature": [0, LEAF, LEAF],
        "threshold": [0.5, 0.0, 0.0],
        "left": [1, 0, 0],
        "right": [2, 0, 0],
        "values": [[1.0], [3.0]],
    }


@given(st.lists(st.integers(-3, 8), min_size=3, max_size=3), st.lists(st.integers(-3, 8), min_size=3, max_size=3))
@example([1, 2, -1], [2, 2, -1])
def test_whatever_the_links_are_a_walk_ends_or_is_refused(left: list[int], right: list[int]) -> None:
    facts = {**stump(), "feature": [0, 0, LEAF], "values": [[1.0]], "left": left, "right": right}
    with suppress(DamageError):
        assert structured(facts, Forest).predict([[0.2], [0.9]])[0].tolist() == [[1.0], [1.0]]


def test_rows_of_another_shape_are_refused() -> None:
    forest = structured(stump(), Forest)
    for wrong in ([[0.0, 1.0]], [0.0]):
        with pytest.raises(ChoiceError, match="forest of 1 inputs"):
            forest.predict(wrong)
    with pytest.raises(ChoiceError, match="not fitted"):
        fit_forest(np.empty((0, 2)), np.empty((0, 1)))
    with pytest.raises(ChoiceError, match="not fitted"):
        fit_forest(ROWS, WANTED[:3])
