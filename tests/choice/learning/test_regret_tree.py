"""The regret tree: its first split is the best there is, by brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.choice.learning.regret import LEAST_GAIN, fit_regret_tree, path_of
from jostle.learned.policies import LEAF

LEAST_SHARE = 0.1


def cost(regrets: np.ndarray, weights: np.ndarray) -> float:
    """Return what one Option for all these cases costs, at best."""
    return float((regrets * weights[:, None]).sum(axis=0).min()) if len(regrets) else 0.0


def gains(inputs: np.ndarray, regrets: np.ndarray, weights: np.ndarray) -> dict[tuple[int, int], float]:
    """Return what every split saves that leaves enough on both sides, by input and how many cases go left."""
    whole = cost(regrets, weights)
    found = {}
    for feature in range(inputs.shape[1]):
        values = sorted(set(inputs[:, feature].tolist()))
        for below, above in pairwise(values):
            left = inputs[:, feature] <= (below + above) / 2
            if min(weights[left].sum(), weights[~left].sum()) >= LEAST_SHARE - 1e-12:
                parts = cost(regrets[left], weights[left]) + cost(regrets[~left], weights[~left])
                found[feature, int(left.sum())] = whole - parts
    return found


@settings(max_examples=200)
@given(st.integers(2, 14), st.integers(1, 3), st.integers(2, 3), st.integers(0, 10**6))
def test_the_first_split_is_the_best_there_is(cases: int, inputs: int, options: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.integers(0, 5, (cases, inputs)).astype(np.float64)
    regrets, weights = chance.random((cases, options)), chance.random(cases) + 0.2
    share = weights / weights.sum()
    tree = fit_regret_tree(rows, regrets, np.zeros((cases, 1)), weights, most_leaves=2, least_share=LEAST_SHARE)
    possible = gains(rows, regrets, share)
    best = max(possible.values(), default=0.0)
    if tree.feature[0] == LEAF:
        assert best < LEAST_GAIN + 1e-9
    else:
        feature = int(tree.feature[0])
        left = rows[:, feature] <= tree.threshold[0]
        assert possible[feature, int(left.sum())] == pytest.approx(best, abs=1e-9)


def test_a_planted_rule_is_found_and_its_leaves_hold_means_and_spreads() -> None:
    rows = np.array([[x, 0.3] for x in np.linspace(0, 1, 40)])
    good_left = rows[:, 0] <= 0.5
    regrets = np.stack([np.where(good_left, 0.0, 1.0), np.where(good_left, 2.0, 0.0)], axis=1)
    best = np.log(np.where(good_left, 0.1, 0.2))[:, None]
    tree = fit_regret_tree(rows, regrets, best, np.ones(40), most_leaves=8, least_share=0.02)
    assert tree.feature.tolist() == [0, LEAF, LEAF], "further splits save nothing, and are not made"
    ((feature, threshold, above),) = path_of(tree, np.array([0.9, 0.3]))
    assert (feature, above) == (0, True)
    assert 0.48 < threshold < 0.52
    np.testing.assert_allclose(tree.predict([[0.1, 0.3]])[0], [[0, 2, 0, 0, np.log(0.1)]], atol=1e-12)
    np.testing.assert_allclose(tree.predict([[0.9, 0.3]])[0], [[1, 0, 0, 0, np.log(0.2)]], atol=1e-12)
    assert path_of(tree, np.array([0.1, 0.3])) == [(0, threshold, False)]


def test_an_input_of_few_values_is_split_between_them_however_many_cases_there_are() -> None:
    rows = np.repeat([[0.0], [1.0], [2.0]], [333, 334, 350], axis=0)
    regrets = np.stack([rows[:, 0] > 0.5, rows[:, 0] < 0.5], axis=1).astype(np.float64)
    tree = fit_regret_tree(rows, regrets, np.zeros((1017, 1)), np.ones(1017), most_leaves=4, least_share=0.02)
    assert tree.threshold[0] == 0.5


def test_no_leaf_is_smaller_than_asked_for() -> None:
    chance = np.random.default_rng(3)
    rows, regrets = chance.random((60, 3)), chance.random((60, 4))
    tree = fit_regret_tree(rows, regrets, np.zeros((60, 1)), np.ones(60), most_leaves=30, least_share=0.15)
    paths = [tuple(path_of(tree, row)) for row in rows]
    counts = [paths.count(path) for path in set(paths)]
    assert min(counts) >= 9
    assert len(counts) == int((tree.feature == LEAF).sum())
