"""Decision trees that a program grows question by question: leaves, nodes, noisy choices of splits, pruning.

All of it is what Jostle's language has built in, for programs in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from jostle.errors import OptionError
from jostle.lang.tree_values import pruned, to_model
from jostle.lang.values import Leaf, attribute_of
from jostle.lang.values import Node as _Node
from jostle.options.model_trees import TreeModel
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.pick_each import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import SplitScore, Utility
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema

__all__ = ["RULES", "Leaf", "Node", "Rule", "best_split", "model", "prune"]

Rule = Literal["maxScore", "gini", "infoGain", "random"]
Tree = Leaf | _Node
RULES: tuple[Rule, ...] = get_args(Rule)
"""What splits are scored by; `random` looks at nothing and costs nothing."""
UTILITIES: dict[str, Utility] = {"maxScore": "Max", "gini": "Gini", "infoGain": "InfoGain"}
UNKNOWN_ROWS = 2**22
"""The bound on rows that infoGain goes by where none was bought: with it, the pick is private whatever the rows."""
SURE = 3
"""A bound on rows that was bought lies so many scales of its noise above the noisy number."""
DRAWN_BELOW = 2**40
"""Random picks are remainders of numbers below this: uneven by less than 2**-20, and public anyway."""


def Node(schema: Schema, attribute: str, children: Mapping[str, Tree]) -> _Node:  # noqa: N802 - the word of the language
    """Return an inner node: the attribute it splits by, and a tree for each of the attribute's values."""
    return _Node(att=attribute_of(schema, attribute), children=children)


def prune(tree: Tree) -> Tree:
    """Return a tree without the branches that C4.5 expects to err no less than a leaf in their place would."""
    return pruned(tree)


def model(tree: Tree, schema: Schema, made_by: str, epsilon: Amount) -> TreeModel:
    """Return a tree as a model, which predicts."""
    return to_model(tree, schema, made_by, epsilon_amount(epsilon))


def best_split(
    db: Probe,
    attributes: list[str],
    epsilon: Amount,
    *,
    rule: str = "maxScore",
    counted: tuple[int, Amount] | None = None,
    site: str = "split",
) -> str:
    """Return the attribute whose split is nearly the best, as permute-and-flip picks it from scores of the rows.

    *rule* is how splits are scored. *counted* is a noisy number of these rows, or of more, and what it cost: infoGain
    needs a bound on them, for how far a row can move its scores.
    """
    if rule not in RULES:
        raise OptionError(f"splits are not scored by {rule!r}", fix=f"one of {', '.join(RULES)}")
    if rule == "random":
        return attributes[int(db.below(DRAWN_BELOW, 1)[0]) % len(attributes)]
    names = db.schema.attributes
    count = len(attributes)
    one_leaf = Routing(names, np.array([0]), np.array([-1]), np.array([0]), np.zeros(0, dtype=np.int64), depth=0)
    score = SplitScore(
        one_leaf,
        np.array([0]),
        UTILITIES[rule],
        np.array([names.index(name) for name in attributes]),
        np.zeros(count, dtype=np.int64),
        np.ones((1, count), dtype=np.bool_),
        db.schema.rows or _rows_at_most(counted),
    )
    return attributes[int(db.perform(PickEach(score), epsilon, site=site)[0])]


def _rows_at_most(counted: tuple[int, Amount] | None) -> int:
    if counted is None:
        return UNKNOWN_ROWS
    found, spent = counted
    return max(1, found + int(SURE / Fraction(epsilon_amount(spent))) + 1)
