"""Trees that programs in Python grow: splits that are picked, leaves and nodes that become models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tables_of_labels import correlated, table_of

import jostle
from jostle.errors import OptionError
from jostle.lang.values import Leaf
from jostle.trace.records import Charged, Trace
from jostle.trees import RULES, Node, best_split, model, prune

SCHEMA, ROWS = correlated(400)


def probe(epsilon: object = 20, trace: Trace | None = None) -> jostle.Probe:
    return jostle.rehearse(table_of(ROWS, SCHEMA), epsilon=epsilon, seed=3, trace=trace)  # type: ignore[arg-type]  # an amount


@pytest.mark.parametrize("rule", RULES)
def test_a_split_is_picked_for_its_price(rule: str) -> None:
    trace = Trace()
    db = probe(trace=trace)
    found = best_split(db, list(SCHEMA.attributes), 1, rule=rule, counted=(400, 1))
    assert found in SCHEMA.attributes
    assert db.spent == (0 if rule == "random" else 1)
    assert [each.mechanism for each in trace.records if isinstance(each, Charged)] == ["PermuteAndFlip"] * int(db.spent)


def test_with_much_to_spend_the_best_attribute_is_picked() -> None:
    """The one whose values' commonest labels are right most often."""
    codes = np.array(ROWS)
    right = {}
    for place, name in enumerate(SCHEMA.attributes):
        parts = [codes[codes[:, place] == code, -1] for code in range(SCHEMA[name].size)]
        right[name] = sum(int(np.bincount(part).max()) for part in parts if len(part))
    assert best_split(probe(), list(SCHEMA.attributes), 20) == max(right, key=right.__getitem__)


def test_a_tree_becomes_a_model() -> None:
    first = SCHEMA.attributes[0]
    labels, classes = SCHEMA[first].labels, SCHEMA.classes
    children = {value: Leaf(pred=classes[place % 2], size=9) for place, value in enumerate(labels)}
    grown = model(prune(Node(SCHEMA, first, children)), SCHEMA, "Mine", 1)
    rows = np.zeros((len(labels), len(SCHEMA.attributes)), dtype=np.int64)
    rows[:, 0] = range(len(labels))
    assert np.argmax(grown.chances(rows), axis=1).tolist() == [place % 2 for place in range(len(labels))]


def test_public_examples_have_what_is_asked_and_a_loss() -> None:
    example: Any = jostle.public.example("grid")
    estimate = example.questions[0].over([example.rows / example.schema.size(*example.schema.names)])
    assert estimate.total == pytest.approx(example.rows)
    assert example.loss(estimate) > 0
    with pytest.raises(OptionError, match="3 numbers for"):
        example.questions[0].over([1, 2, 3])
    assert jostle.free_facts("classification")[0].name == "log_epsilon"
    with pytest.raises(OptionError, match="there is no task 'other'"):
        jostle.free_facts("other")
