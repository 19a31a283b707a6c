"""Decision trees of a program: pruning them, and making models of them. All of it is made of released numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import evolve

from jostle.lang.messages import Stop
from jostle.lang.values import Leaf, TreeNode
from jostle.options.growing import expected_errors
from jostle.options.models.kinds import TreeModel
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema

Tree = Leaf | TreeNode


def _checked(tree: object) -> Tree:
    if isinstance(tree, Leaf | TreeNode):
        return tree
    raise Stop("J501 tree")


def _votes(leaf: Leaf) -> dict[Any, float]:
    """A leaf's rows by class, at least 0; without votes, all of its size in its own class."""
    if leaf.votes is None:
        return {leaf.pred: max(0.0, float(leaf.size or 0))}
    return {name: max(0.0, float(count)) for name, count in leaf.votes.items()}


def pruned(tree: object) -> Tree:
    """A tree without the branches that C4.5 expects to err no less than a leaf in their place would.

    Leaves that keep their votes, Leaf(pred=..., votes=...), say how many of their rows are of other classes.
    """
    return _prune(_checked(tree))[0]


def _prune(tree: Tree) -> tuple[Tree, dict[Any, float], float]:
    """A pruned tree, its rows by class, and the errors expected of it."""
    if isinstance(tree, Leaf):
        votes = _votes(tree)
        return tree, votes, _expected(votes)
    children, votes, below = {}, dict[Any, float](), 0.0
    for name, child in tree.children.items():
        kept, found, errors = _prune(_checked(child))
        children[name] = kept
        below += errors
        for label, count in found.items():
            votes[label] = votes.get(label, 0.0) + count
    as_leaf = _expected(votes)
    if as_leaf <= below:
        best = max(votes, key=votes.__getitem__)
        return Leaf(best, sum(votes.values()), votes), votes, as_leaf
    return evolve(tree, children=children), votes, below


def _expected(votes: Mapping[Any, float]) -> float:
    total = sum(votes.values())
    wrong = total - max(votes.values(), default=0.0)
    return float(expected_errors(np.array([total]), np.array([wrong]))[0])


def to_model(tree: Tree, schema: Schema, made_by: str, epsilon: Fraction | None) -> TreeModel:
    """A tree as a model, which predicts."""
    columns, classes = schema.attributes, schema.classes
    places = {name: index for index, name in enumerate(columns)}
    attribute, first, children, shares = list[int](), list[int](), list[int](), list[list[float]]()

    def add(node: Tree, level: int, above: list[float]) -> tuple[int, int]:
        """The number that a node is given, with all below it, and how deep it goes."""
        number = len(attribute)
        held = _class_counts(node, classes)
        shown = [count / sum(held) for count in held] if sum(held) > 0 else above
        attribute.append(-1)
        first.append(0)
        shares.append(shown)
        if isinstance(node, Leaf):
            return number, level
        name = str(node.att)
        if name not in places:
            raise Stop("J501 split", name=name)
        attribute[number], first[number] = places[name], len(children)
        labels = schema[name].labels
        start = len(children)
        children.extend([0] * len(labels))
        deepest = level
        for code, label in enumerate(labels):
            if label not in node.children:
                raise Stop("J501 child", value=f"{label!r}")
            child, depth = add(_checked(node.children[label]), level + 1, shown)
            children[start + code] = child
            deepest = max(deepest, depth)
        return number, deepest

    _, depth = add(tree, 0, [1 / len(classes)] * len(classes))
    routing = Routing(
        columns,
        np.array([0]),
        np.array(attribute, dtype=np.int64),
        np.array(first, dtype=np.int64),
        np.array(children, dtype=np.int64),
        depth=depth,
    )
    return TreeModel(schema=schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=np.array(shares))


def _class_counts(tree: Tree, classes: tuple[str, ...]) -> list[float]:
    if isinstance(tree, Leaf):
        votes = _votes(tree)
        counts = [votes.get(name, 0.0) for name in classes]
        if not sum(counts) and tree.pred in classes:
            return [float(name == tree.pred) for name in classes]
        return counts
    below = [_class_counts(_checked(child), classes) for child in tree.children.values()]
    return [float(sum(column)) for column in zip(*below, strict=True)]
