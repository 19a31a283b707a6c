"""Grow a private decision tree whose nodes choose, as jostled_tree.jst does: the same program in Python.

Run: python programs/jostled_tree.py
Unlearned, first alternatives are taken; jostle train programs/jostled_tree.py --entry ChosenTree learns better ones.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jostle
from jostle.lang.values import Leaf
from jostle.trees import Node, best_split, model, prune

DEPTH = 5


def leaf(db: jostle.Probe, rows: int, epsilon: Fraction) -> Any:
    """Return a leaf that keeps its noisy votes."""
    votes = {
        c: part.count(epsilon / 2) for c, part in zip(db.schema.classes, db.parts(str(db.schema.label)), strict=True)
    }
    return Leaf(pred=max(votes, key=votes.__getitem__), size=rows, votes=votes)


def grow(db: jostle.Probe, attributes: list[str], depth: int, epsilon: Fraction) -> Any:
    """Return a tree for the rows of a probe; whether it goes on, and by what score, is chosen node by node."""
    schema = db.schema
    rows = db.count(epsilon / 2)
    if depth == 0 or not attributes:
        return leaf(db, rows, epsilon)
    seen = {"n": rows, "d": depth, "e": epsilon}
    action = jostle.choose("L1", among=("branch", "stop"), informed_by={**seen, "size(clss)": len(schema.classes)})
    if action == "stop":
        return leaf(db, rows, epsilon)
    widest = max(schema[name].size for name in attributes)
    rule = jostle.choose("L2", among=("maxScore", "gini", "infoGain", "random"), informed_by={**seen, "t": widest})
    best = best_split(db, attributes, epsilon / 2, rule=rule, counted=(rows, epsilon / 2))
    left = [name for name in attributes if name != best]
    children = {
        value: grow(part, left, depth - 1, epsilon)
        for value, part in zip(schema[best].labels, db.parts(best), strict=True)
    }
    return Node(schema, best, children)


@jostle.option(task="classification")
def ChosenTree(db: jostle.Probe, *, epsilon: Fraction) -> Any:  # noqa: N802 - Options have such names
    """Return a pruned tree, as a model."""
    tree = grow(db, list(db.schema.attributes), DEPTH, epsilon / (DEPTH + 1))
    return model(prune(tree), db.schema, "JostledTree", epsilon)


def main() -> None:
    """Grow a tree on a public example."""
    example = jostle.public.example("classification")
    grown = ChosenTree(jostle.rehearse(example.table, epsilon=1, seed=1), epsilon=1)
    print(grown)
    print(f"NOT PRIVATE, a rehearsal: wrong about {example.loss(grown):.1%} of held-out rows")


if __name__ == "__main__":
    main()
