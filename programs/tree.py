"""Grow a private C4.5 decision tree as tree.jst does, question by question: the same program in Python.

Run: python programs/tree.py
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

import jostle
from jostle.choice.generators import generated_tables
from jostle.choice.instances import TableInstance, make_instance
from jostle.choice.specs import TableSpec
from jostle.lang.tree_values import pruned, to_model
from jostle.lang.values import Leaf, Node, attribute_of
from jostle.options.model_trees import TreeModel
from jostle.privacy.pick_each import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import SplitScore
from jostle.tables.routes import Routing


def grow(db: Probe, attributes: list[str], depth: int, epsilon: Fraction) -> Leaf | Node:
    """Return a tree for the rows of a probe, each query of a level costing half of *epsilon*."""
    schema, classes = db.schema, db.schema.classes
    widest = max((schema[name].size for name in attributes), default=1)
    rows = db.count(epsilon / 2)
    if depth == 0 or not attributes or rows / (widest * len(classes)) < sqrt(2) / (epsilon / 2):
        votes = {c: part.count(epsilon / 2) for c, part in zip(classes, db.parts(str(schema.label)), strict=True)}
        return Leaf(pred=max(votes, key=votes.__getitem__), size=rows, votes=votes)
    best = best_split(db, attributes, epsilon / 2)
    left = [name for name in attributes if name != best]
    children = {
        value: grow(part, left, depth - 1, epsilon)
        for value, part in zip(schema[best].labels, db.parts(best), strict=True)
    }
    return Node(att=attribute_of(schema, best), children=children)


def best_split(db: Probe, attributes: list[str], epsilon: Fraction) -> str:
    """Return the attribute whose split predicts most rows right, nearly."""
    names = db.schema.attributes
    one_leaf = Routing(names, np.array([0]), np.array([-1]), np.array([0]), np.zeros(0, dtype=np.int64), depth=0)
    score = SplitScore(
        one_leaf,
        np.array([0]),
        "Max",
        np.array([names.index(name) for name in attributes]),
        np.zeros(len(attributes), dtype=np.int64),
        np.ones((1, len(attributes)), dtype=np.bool_),
    )
    return attributes[int(db.perform(PickEach(score), epsilon, site="split")[0])]


def friedman_schuster(db: Probe, epsilon: Fraction, depth: int = 5) -> TreeModel:
    """Return a pruned tree, for a budget."""
    allotted = db.allot(epsilon, site="FriedmanSchuster")
    tree = grow(allotted, list(db.schema.attributes), depth, epsilon / (depth + 1))
    return to_model(pruned(tree), db.schema, "FriedmanSchuster", epsilon)


def main() -> None:
    """Grow a tree on a made-up table."""
    instance = make_instance(next(iter(generated_tables(1))), TableSpec())
    assert isinstance(instance, TableInstance)  # noqa: S101 - tables give these
    db = jostle.rehearse(instance.table, epsilon=1, seed=1)
    model = friedman_schuster(db, Fraction(1))
    print(model)
    wrong = np.argmax(model.chances(instance.codes), axis=1) != instance.labels
    print(f"NOT PRIVATE, a rehearsal: wrong about {wrong.mean():.1%} of held-out rows")


if __name__ == "__main__":
    main()
