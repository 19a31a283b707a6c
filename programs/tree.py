"""Grow a private C4.5 decision tree as tree.jst does, question by question: the same program in Python.

Run: python programs/tree.py
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import jostle
from jostle.lang.values import Leaf
from jostle.trees import Node, best_split, model, prune


def grow(db: jostle.Probe, attributes: list[str], depth: int, epsilon: Fraction) -> Any:
    """Return a tree for the rows of a probe, each query of a level costing half of *epsilon*."""
    schema, classes = db.schema, db.schema.classes
    widest = max((schema[name].size for name in attributes), default=1)
    rows = db.count(epsilon / 2)
    if depth == 0 or not attributes or rows / (widest * len(classes)) < sqrt(2) / (epsilon / 2):
        votes = {c: part.count(epsilon / 2) for c, part in zip(classes, db.parts(str(schema.label)), strict=True)}
        return Leaf(pred=max(votes, key=votes.__getitem__), size=rows, votes=votes)
    best = best_split(db, attributes, epsilon / 2, rule="maxScore")
    left = [name for name in attributes if name != best]
    children = {
        value: grow(part, left, depth - 1, epsilon)
        for value, part in zip(schema[best].labels, db.parts(best), strict=True)
    }
    return Node(schema, best, children)


def friedman_schuster(db: jostle.Probe, epsilon: Fraction, depth: int = 5) -> Any:
    """Return a pruned tree, for a budget."""
    allotted = db.allot(epsilon, site="FriedmanSchuster")
    tree = grow(allotted, list(db.schema.attributes), depth, epsilon / (depth + 1))
    return model(prune(tree), db.schema, "FriedmanSchuster", epsilon)


def main() -> None:
    """Grow a tree on a public example."""
    example = jostle.public.example("classification")
    grown = friedman_schuster(jostle.rehearse(example.table, epsilon=1, seed=1), Fraction(1))
    print(grown)
    print(f"NOT PRIVATE, a rehearsal: wrong about {example.loss(grown):.1%} of held-out rows")


if __name__ == "__main__":
    main()
