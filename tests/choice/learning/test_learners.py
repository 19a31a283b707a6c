"""Learners: each learns a planted rule, predicts what it predicted after a trip through JSON, and refuses damage."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from jostle.choice.learning.learners import (
    MOST_LOG,
    ConstantLearner,
    Example,
    ForestLearner,
    Learner,
    LineLearner,
    NearestLearner,
    PriorLearner,
    TreeLearner,
    from_facts,
    log_regret,
)
from jostle.files.texts import DamageError

CHANCE = np.random.default_rng(11)
INPUTS = CHANCE.random((300, 3))
GOOD_LEFT = INPUTS[:, 1] < 0.4
LOSSES = np.stack([np.where(GOOD_LEFT, 0.1, 0.4), np.where(GOOD_LEFT, 0.3, 0.15), np.full(300, 0.35)], axis=1) * np.exp(
    0.05 * CHANCE.standard_normal((300, 3))
)
EXAMPLE = Example(INPUTS, LOSSES, np.ones(300), 0.01)
ASKED = np.array([[x, y, 0.5] for x in (0.1, 0.9) for y in (0.1, 0.2, 0.6, 0.8)])
NAMES = ("a", "b", "c")


def guess(seen: Mapping[str, float]) -> float:
    """Return a programmer's guess of the first Option's loss: right in kind, wrong in size."""
    return 0.05 if seen["b"] < 0.4 else 0.2


PRIORS = (guess, None, None)
LEARNERS: tuple[Learner, ...] = (
    LineLearner(),
    TreeLearner(),
    ForestLearner(),
    NearestLearner(),
    PriorLearner(NAMES, PRIORS),
)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: each.name)
def test_a_planted_rule_is_learned(learner: Learner) -> None:
    fitted = learner.fit(EXAMPLE)
    mean, spread = fitted.predict(ASKED)
    assert np.argmin(mean, axis=1).tolist() == [0, 0, 1, 1] * 2
    assert spread.shape == mean.shape == (8, 3)
    assert (spread >= 0).all()
    np.testing.assert_allclose(fitted.best_loss(ASKED), [0.1, 0.1, 0.15, 0.15] * 2, rtol=0.15)


@pytest.mark.parametrize("learner", [*LEARNERS, ConstantLearner()], ids=lambda each: each.name)
def test_what_is_fitted_reads_back(learner: Learner) -> None:
    fitted = learner.fit(EXAMPLE)
    text = json.dumps(fitted.facts())
    again = from_facts(fitted.kind, json.loads(text), NAMES, PRIORS)
    for before, after in zip(fitted.predict(ASKED), again.predict(ASKED), strict=True):
        np.testing.assert_allclose(after, before, atol=0.01)
    np.testing.assert_allclose(again.best_loss(ASKED), fitted.best_loss(ASKED), rtol=0.01)
    assert json.dumps(again.facts()) == text
    same = learner.fit(EXAMPLE)
    assert json.dumps(same.facts()) == text, "the same example gives the same file"
    facts = json.loads(text)
    for name in facts:
        with pytest.raises(DamageError, match=f"missing required field `{name}`"):
            from_facts(fitted.kind, {key: value for key, value in facts.items() if key != name}, NAMES, PRIORS)


def test_a_line_goes_on_a_little_beyond_the_cases_and_no_farther() -> None:
    """From cases in which one Option is always better, a line tells where the other one is; a tree does not."""
    seen = np.linspace(1, 2, 50)[:, None]
    losses = np.exp(np.concatenate([np.zeros_like(seen), seen - 0.95], axis=1))
    example = Example(seen, losses, np.ones(50), 0.0)
    line, tree = (learner.fit(example) for learner in (LineLearner(ridge=1e-6), TreeLearner()))
    beyond = np.array([[0.93], [0.5], [-5.0]])
    (near, far, farther), _ = line.predict(beyond)
    assert near[1] == pytest.approx(-0.02, abs=0.005)
    assert np.argmin(far) == 1
    assert far.tolist() == farther.tolist(), "nobody was there"
    assert (np.argmin(tree.predict(beyond)[0], axis=1) == 0).all()


def test_the_best_on_average_is_so_by_regret() -> None:
    """One Option is a little worse nearly everywhere, the other a hundred times worse once: the first is better."""
    losses = np.array([[0.11, 0.10]] * 9 + [[0.1, 10.0]])
    fitted = ConstantLearner().fit(Example(np.zeros((10, 1)), losses, np.ones(10), 0.0))
    mean, _ = fitted.predict(np.zeros((1, 1)))
    assert int(np.argmin(mean)) == 0
    assert int(np.argmin(np.log(losses).mean(axis=0))) == 0
    weighted = ConstantLearner().fit(Example(np.zeros((10, 1)), losses, np.array([1.0] * 9 + [0.0]), 0.0))
    assert int(np.argmin(weighted.predict(np.zeros((1, 1)))[0])) == 1, "cases count by their weights"


def test_log_regret_by_hand() -> None:
    regrets, best = log_regret(np.array([[0.2, 0.1, 0.001], [0.0, 0.0, 1.0]]), 0.01)
    np.testing.assert_allclose(regrets[0], np.log([20, 10, 1]))
    np.testing.assert_allclose(regrets[1], [0, 0, min(MOST_LOG, np.log(100))])
    np.testing.assert_allclose(best[:, 0], np.log([0.01, 0.01]))
