"""Models as rules of whole numbers, so that how many rows they predict right can be counted.

A model's chances are floats; a rule's points are whole multiples of 2**-30 of them, or of their logarithms. Where two
classes are closer than that, the rule may predict the other one than the model does: it is the rule that is scored.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.models.kinds import AdditiveModel, BayesTreeModel, TreeModel
from jostle.tables.routes import Routing
from jostle.tables.rules import MOST_POINTS, Hits, Points
from jostle.tasks.classification.model import Model

UNIT = 2**30
"""Points for a chance of 1, or for a unit of log-odds."""


def hits_of(model: Model, *, misses: bool = False) -> Hits:
    """The kernel that counts the rows a model predicts right; with *misses*, those it predicts wrong as well."""
    return Hits(*rule_of(model), misses=misses)


def rule_of(model: Model) -> tuple[tuple[Points, ...], Routing | None]:
    """A model's rule: what gives each class points, and the trees that some of it goes by."""
    kind = type(model)
    if isinstance(model, TreeModel) and kind is TreeModel:
        return (Points((), _tree_points(model), by_leaf=True),), _whole(model.routing)
    if isinstance(model, AdditiveModel) and kind is AdditiveModel:
        terms = (Points(term.columns, _rounded(term.weights)) for term in model.terms)
        return (Points((), _rounded(model.start[None, :])), *terms), None
    if isinstance(model, BayesTreeModel) and kind is BayesTreeModel:
        return tuple(_leaf_points(model)), _whole(model.tree.routing)
    raise OptionError(
        f"there is no rule of whole numbers for a {kind.__name__}", why="trees and additive models can be scored"
    )


def _whole(routing: Routing) -> Routing:
    """The routing with all rows in every tree, as for prediction."""
    return evolve(routing, part_key=None)


def _tree_points(model: TreeModel) -> NDArray[np.int64]:
    shares = model.shares[model.routing.leaves]
    if model.combine == "mean" or model.routing.trees == 1:
        return _rounded(shares)
    votes = np.zeros(shares.shape, dtype=np.int64)
    votes[np.arange(len(votes)), np.argmax(shares, axis=1)] = 1
    return votes


def _leaf_points(model: BayesTreeModel) -> Iterator[Points]:
    yield Points((), _rounded(model.start), by_leaf=True)
    begin, classes = 0, model.start.shape[1]
    for name in model.schema.attributes:
        end = begin + model.schema[name].size
        yield Points((name,), _rounded(model.weights[:, begin:end].reshape(-1, classes)), by_leaf=True)
        begin = end


def _rounded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    scaled = np.nan_to_num(np.rint(values * UNIT), nan=0.0, posinf=MOST_POINTS, neginf=-MOST_POINTS)
    points: NDArray[np.int64] = np.clip(scaled, -MOST_POINTS, MOST_POINTS).astype(np.int64)
    return points
