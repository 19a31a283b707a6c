"""Learners find what was planted: forests, trees of regret, formulas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from small import budget, first_share, options, planted, size

from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.formulas import Formula, FormulaTerm, TermSum, synthesize
from jostle.choice.learning.learners import (
    MOST_LOG,
    ConstantLearner,
    Example,
    ForestLearner,
    Learner,
    LineLearner,
    PriorLearner,
    TreeLearner,
    from_facts,
    log_regret,
)
from jostle.choice.learning.regret import LEAST_GAIN, fit_regret_tree, path_of
from jostle.errors import ChoiceError, DamageError, ProgramError, Source
from jostle.files.structure import structured
from jostle.lang.program import load_source
from jostle.learned.policies import LEAF, Forest, fit_forest
from jostle.tasks.metafeature import ChangedMetafeature, Metafeature

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


# Forests: what scikit-learn says, from arrays; written as JSON, read back, and never walked through damaged.


CHANCE_OF_FOREST = np.random.default_rng(7)
ROWS = CHANCE_OF_FOREST.random((200, 4))
WANTED = np.stack([ROWS[:, 0] > 0.5, ROWS[:, 1] * ROWS[:, 2], CHANCE_OF_FOREST.random(200)], axis=1).astype(np.float64)
WEIGHTS = CHANCE_OF_FOREST.random(200)


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
    asked = CHANCE_OF_FOREST.random((500, 4)).astype(np.float32).astype(np.float64)
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


# Formulas that are searched: what is planted is found, and what is printed can be pasted into a program.


PROGRAM = Path(__file__).parents[3] / "programs" / "dawa_class.jst"
AMONG = options()


def crossing(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
    """One Option's loss falls with the number of rows, the other's is the same everywhere."""
    return 0.2, float(0.9 * np.exp(-0.7 * (facts["rows"] / 1000)))


def test_what_is_planted_is_found_and_chosen_by() -> None:
    cases = cases_of(planted(crossing, AMONG, count=40), AMONG)
    found = synthesize(cases, [size, budget], Fraction(1, 50))
    constant, falling = found.formulas
    assert constant.log.terms == (), "nothing explains what does not change"
    assert np.exp(constant.log.start) == pytest.approx(0.2, rel=0.01)
    assert {name for term in falling.log.terms for name in term.names} == {"size"}
    (over_single,) = found.gains
    assert found.by_formulas < over_single.loss - 0.05
    assert over_single.gain > 3 * over_single.error
    assert found.by_formulas < 1.1


def test_what_is_noise_gives_no_terms() -> None:
    generator = np.random.default_rng(3)
    noise = lambda *_: tuple(generator.uniform(0.2, 0.4, 2))  # noqa: E731 - one line
    cases = cases_of(planted(noise, AMONG, count=40), AMONG)
    found = synthesize(cases, [size, budget], Fraction(1, 50))
    assert sum(len(formula.log.terms) for formula in found.formulas) <= 1


def test_a_definition_is_changed_where_formulas_fit_much_better_with_the_other() -> None:
    """Losses hang on the first class's share; the number of rows is looked at, and may be that share instead."""

    def by_share(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return 0.2, float(0.05 * np.exp(3 * facts["first"]))

    other = Metafeature(size.name, first_share.measure, low="", high="", version="changed")
    change = ChangedMetafeature(other, "the share in the place of the number", "def size(db):")
    found = synthesize(cases_of(planted(by_share, AMONG, count=40), AMONG), [size], Fraction(1, 50), (), [change])
    assert found.changes == (change,)
    over_single, as_it_is = found.gains
    assert over_single.gain > 0.05
    assert as_it_is.gain > 0.05
    assert "# In the place of size: the share in the place of the number\ndef size(db):" in found.as_text()
    kept = synthesize(cases_of(planted(crossing, AMONG, count=40), AMONG), [size], Fraction(1, 50), (), [change])
    assert kept.changes == ()
    assert "None of 1 small changes" in kept.as_text()


def test_small_changes_of_a_definition_are_programs_that_pass_the_check() -> None:
    """Numbers, aggregates and widths; what is changed is named, and stands in the text."""
    program = load_source(Source("dawa_class.jst", PROGRAM.read_text()), say=None)
    changes = [change for each in program.makers["histChoice"].informed_by for change in each.changes()]
    assert {change.metafeature.name for change in changes} == {"uniformity", "sparsity"}
    assert len({change.metafeature.version for change in changes}) == len(changes)
    said = {change.what: change.definition for change in changes}
    assert "where values > 3 }}" in said["3 in the place of 0"]
    assert any("xgrp = sqrt(db.x_range) / 2\n    ygrp = sqrt(db.y_range) / 2" in each for each in said.values())
    assert any("{{ max(select sum(values)" in each for each in said.values())


TERMS = (
    FormulaTerm("itself", ("sparsity",)),
    FormulaTerm("square", ("uniformity",)),
    FormulaTerm("log", ("uniformity",), 0.00125),
    FormulaTerm("above", ("sparsity",), 0.25),
    FormulaTerm("above", ("sparsity",), -0.25),
    FormulaTerm("product", ("uniformity", "sparsity")),
)


@pytest.mark.parametrize("number", range(len(TERMS)))
def test_what_is_printed_is_accepted_and_means_the_same(number: int) -> None:
    """Pasted in the place of the programmer's own predictions, it passes the check and gives the same numbers."""
    formula = Formula(TermSum(-1.25, (TERMS[number], TERMS[0]), (-0.00004567, 1.5)))
    text = PROGRAM.read_text()
    pasted = re.sub(r"    def predict\(F\):\n(        .*\n)+", f"    def predict(F):\n        return {formula}\n", text)
    assert pasted.count(str(formula)) == 2
    program = load_source(Source("pasted.jst", pasted), say=None)
    names = ["uniformity", "sparsity"]
    for row in ([12.5, 0.5], [0.0, 0.0], [3.0, -2.0], [1e9, 1.0]):
        for option in program.makers["histChoice"].priors():
            assert option is not None
            logs = formula.logs(np.array([row]), names)[0]
            assert np.log(option(dict(zip(names, row, strict=True)))) == pytest.approx(logs, rel=1e-3)


def test_a_prediction_may_look_at_public_facts_of_its_task_without_a_definition() -> None:
    """Formulas may have found them: makers have them for nothing. Facts of other tasks are no metafeatures here."""
    text = PROGRAM.read_text()
    load_source(
        Source("facts.jst", text.replace("max(1 - F.sparsity ** 2, 0)", "F.log_cells - F.log_epsilon")), say=None
    )
    with pytest.raises(ProgramError, match="no metafeature `log_classes`"):
        load_source(Source("facts.jst", text.replace("max(1 - F.sparsity ** 2, 0)", "F.log_classes")), say=None)


# The regret tree: its first split is the best there is, by brute force.


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
