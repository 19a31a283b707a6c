"""Learned policies: what they take, how they are kept in files, and what does not fit them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle.errors import ChoiceError
from jostle.learned.policies import Forest, LearnedPolicy, read_policies, shipped_policies, write_policies
from jostle.options.classification.jostled_tree import ACTIONS, RULES
from jostle.sites import Choice, choose, choose_each, follow

SIZES = ("small", "large")


def stump(at: float, left: float, right: float, *, inputs: int = 1) -> Forest:
    """Return a forest of one tree that says *left* up to *at* of the first input, and *right* above."""
    return Forest([0], [0, -1, -1], [at, 0, 0], [1, 0, 0], [2, 0, 0], [[left], [right]], inputs=inputs)


def pair(first: float, second: float) -> Forest:
    """Return a forest of two trees that say these, whatever they see: their mean, and half the gap as spread."""
    return Forest([0, 1], [-1, -1], [0, 0], [0, 0], [0, 0], [[first], [second]], inputs=1)


def policy(**changed: Any) -> LearnedPolicy:
    facts: dict[str, Any] = {
        "label": "Size",
        "among": SIZES,
        "inputs": ("n",),
        "forests": (stump(10, 0.8, 1.2), stump(10, 1.1, 0.9)),
        "usual": "small",
    }
    return LearnedPolicy(**{**facts, **changed})


def test_the_least_expected_loss_is_taken_at_each_site() -> None:
    taken = choose_each("Size", among=SIZES, informed_by={"n": [3, 30, 10, 11], "other": 7}, policy=policy())
    assert taken.tolist() == [0, 1, 0, 1]


def test_what_was_expected_is_in_the_decision() -> None:
    decision = policy().decide(Choice("Size", "Size#1", SIZES, {"n": np.array([3.0, 30.0, 3.0])}, 3))
    assert decision.losses is not None
    assert decision.losses.tolist() == [[0.8, 1.1], [1.2, 0.9], [0.8, 1.1]]
    assert decision.why == "least expected loss"


def test_a_cautious_policy_leaves_the_usual_alternative_only_where_another_is_clearly_better() -> None:
    """Large is expected at 0.9 with a spread of 0.05; small, the usual one, at 1."""
    forests = (pair(1, 1), pair(0.85, 0.95))
    for caution, taken in ((0.0, "large"), (1.0, "large"), (3.0, "small")):
        cautious = policy(forests=forests, caution=caution)
        assert choose("Size", among=SIZES, informed_by={"n": 1}, policy=cautious) == taken


def test_a_fixed_policy_takes_the_usual_alternative_everywhere_and_still_says_what_it_expects() -> None:
    fixed = policy(usual="large", fixed=True)
    assert choose_each("Size", among=SIZES, informed_by={"n": [3, 30]}, policy=fixed).tolist() == [1, 1]
    decision = fixed.decide(Choice("Size", "Size#1", SIZES, {"n": np.array([3.0])}, 1))
    assert decision.why == "large everywhere: nothing learned did better"
    assert decision.losses is not None
    assert decision.losses.tolist() == [[0.8, 1.1]]


def test_policies_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "policies.json"
    written = policy(caution=0.5, label="Size")
    write_policies(path, {"Size": written, "Fixed": policy(label="Fixed", fixed=True)}, about="a test")
    read = read_policies(path)["Size"]
    assert read.facts() == written.facts()
    assert read_policies(path)["Fixed"].fixed
    assert json.loads(path.read_text(encoding="utf-8"))["about"] == "a test"
    with follow({"Size": read}):
        assert choose("Size", among=SIZES, informed_by={"n": 30}) == "large"


def test_a_policy_answers_the_choice_it_was_learned_for_and_no_other() -> None:
    with pytest.raises(ChoiceError, match="was learned among small, large, and is asked to choose among huge, tiny"):
        choose("Size", among=("huge", "tiny"), informed_by={"n": 1}, policy=policy())
    with pytest.raises(ChoiceError, match="looks at 'n', which the choice does not see"):
        choose("Size", among=SIZES, informed_by={"m": 1}, policy=policy())


def test_the_policies_that_come_with_jostle_fit_the_tree() -> None:
    policies = shipped_policies("JostledTree")
    assert set(policies) == {"L1", "L2"}
    first, second = policies["L1"], policies["L2"]
    assert isinstance(first, LearnedPolicy)
    assert isinstance(second, LearnedPolicy)
    assert first.among == ACTIONS
    assert second.among == RULES
    assert shipped_policies("no such program") == {}
