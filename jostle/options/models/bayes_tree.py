"""A tree with a naive Bayes model at each leaf."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.files.damage import DamageError
from jostle.files.structure import structured
from jostle.options.models.plot import plot_tree
from jostle.options.models.trees import TreeModel
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model, apart, check_numbers

__all__ = ["BayesTreeModel"]

MOST_LINES = 400


@frozen(eq=False)
class BayesTreeFacts:
    """What a file holds of a tree with a model at each leaf."""

    tree: Mapping[str, Any]
    start: NDArray[np.float64]
    weights: NDArray[np.float64]


@frozen(eq=False, repr=False, kw_only=True)
class BayesTreeModel(Model):
    """Each row goes to a leaf of the tree, whose own start and terms give the log-odds."""

    kind: ClassVar[str] = "bayes tree"

    tree: TreeModel
    start: NDArray[np.float64] = field()
    """Leaves, in rising order of their nodes, by classes."""
    weights: NDArray[np.float64] = field()
    """Leaves by values, those of all attributes one after the other, by classes."""

    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chances. A row with an unknown value at a split goes on by its first branch."""
        slot = self._slots()[self.tree.nodes_of(codes)[:, 0]]
        total = self.start[slot].copy()
        begin = 0
        for place, name in enumerate(self.schema.attributes):
            code = codes[:, place]
            added = self.weights[slot, begin + np.maximum(code, 0)]
            total += np.where((code >= 0)[:, None], added, 0.0)
            begin += self.schema[name].size
        total -= total.max(axis=1, keepdims=True)
        np.exp(total, out=total)
        total /= total.sum(axis=1, keepdims=True)
        return total

    def _slots(self) -> NDArray[np.int64]:
        """For every node the place of a leaf: its own, or for an inner node that of a leaf below it."""
        routing = self.tree.routing
        slots = np.zeros(len(routing.attribute), dtype=np.int64)
        slots[routing.leaves] = np.arange(len(routing.leaves))
        for node in np.flatnonzero(routing.attribute >= 0)[::-1]:
            slots[node] = slots[routing.children[routing.first[node]]]
        return slots

    def leads(self) -> NDArray[np.float64]:
        """The least of the leaves' leads, each the sum of its start's and of those of its attributes."""
        found = np.full((len(self.classes),) * 2, np.inf)
        for start, weights in zip(self.start, self.weights, strict=True):
            here, begin = apart(start[None, :]), 0
            for name in self.schema.attributes:
                end = begin + self.schema[name].size
                here, begin = here + apart(weights[begin:end]), end
            found = np.minimum(found, here)
        return found

    def text(self) -> str:
        """The tree, and for each leaf how its start leans; the terms are too many to read."""
        lines = self.tree.text().split("\n")
        terms = self.weights.shape[1]
        return "\n".join([*lines[:MOST_LINES], f"each leaf has a naive Bayes model of its own, of {terms} values"])

    def plot(self) -> Any:
        """A matplotlib figure of the tree, with how the leaves lean; needs the `report` extra."""
        return plot_tree(self.tree)

    def facts(self) -> dict[str, Any]:
        """The tree's facts, and the log-odds."""
        return {"tree": self.tree.facts(), "start": self.start.tolist(), "weights": self.weights.tolist()}

    @classmethod
    def from_facts(
        cls, schema: Schema, facts: Mapping[str, Any], made_by: str, epsilon: Fraction | None
    ) -> BayesTreeModel:
        """The model that `facts` came from."""
        held = structured(facts, BayesTreeFacts)
        try:
            tree = TreeModel.from_facts(schema, held.tree, made_by, epsilon)
        except DamageError as damage:
            raise damage.inside("tree") from None
        leaves, classes = len(tree.routing.leaves), len(schema.classes)
        values = sum(schema[name].size for name in schema.attributes)
        check_numbers(held.start, "start", leaves, classes)
        weights = held.weights if values else held.weights.reshape(leaves, 0, classes)
        check_numbers(weights, "weights", leaves, values, classes)
        return cls(schema=schema, made_by=made_by, epsilon=epsilon, tree=tree, start=held.start, weights=weights)
