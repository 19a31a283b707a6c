"""Regression forests with several outputs, as arrays: fitted with scikit-learn, read and asked with numpy alone.

Shipped makers hold them as JSON, and a newcomer's first choice does not wait for scikit-learn to be imported.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.errors import ChoiceError

__all__ = ["Forest", "fit_forest"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LEAF = -1
LARGEST = 1e9
"""Of what leaves say: logarithms of losses, or losses in units of their mean."""
DIGITS = 4
"""Significant digits of what a file holds: losses are known to fewer."""


def _integers(values: ArrayLike) -> Integers:
    return np.asarray(values, dtype=np.int64)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


@frozen(eq=False)
class ForestFacts:
    """What a file holds of a forest."""

    inputs: int
    roots: Integers
    feature: Integers
    threshold: Floats
    left: Integers
    right: Integers
    values: Floats
    """Of the leaves alone."""


@frozen(eq=False, repr=False)
class Forest:
    """Trees one after the other in common arrays, a row per node.

    >>> stump = Forest([0], [0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [[0.0], [1.0], [3.0]], inputs=1)
    >>> stump.predict([[0.2], [0.9]])[0].tolist()
    [[1.0], [3.0]]
    """

    stored: ClassVar = ForestFacts

    roots: Integers = field(converter=_integers)
    feature: Integers = field(converter=_integers)
    """What a node looks at; LEAF at a leaf."""
    threshold: Floats = field(converter=_floats)
    """Up to it, rows go left."""
    left: Integers = field(converter=_integers)
    right: Integers = field(converter=_integers)
    values: Floats = field(converter=_floats)
    """What a leaf says, a column per output."""
    inputs: int = field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Refuse arrays that are no trees, so that a damaged file is not walked through."""
        count = len(self.feature)
        inner = self.feature != LEAF
        flat = (self.roots, self.feature, self.threshold, self.left, self.right)
        if not len(self.roots) or any(part.ndim != 1 for part in flat) or any(len(part) != count for part in flat[2:]):
            raise ChoiceError("a forest's arrays differ in length")
        if self.values.ndim != 2 or len(self.values) != count or not (np.abs(self.values) <= LARGEST).all():
            raise ChoiceError("a forest's leaves do not hold numbers")
        nodes = np.arange(count)[inner]
        below = np.concatenate([self.left[inner] - nodes, self.right[inner] - nodes, np.ones(1, dtype=np.int64)])
        ends = np.concatenate([self.left[inner], self.right[inner], self.roots])
        # Children come after their parents, so no walk goes round in circles.
        if below.min() < 1 or ends.min() < 0 or ends.max() >= count:
            raise ChoiceError("a forest's nodes do not form trees")
        if (self.feature < LEAF).any() or (self.feature >= self.inputs).any():
            raise ChoiceError("a forest looks at inputs that it does not have")

    @property
    def outputs(self) -> int:
        """How many numbers a prediction has."""
        return int(self.values.shape[1])

    def predict(self, inputs: ArrayLike) -> tuple[Floats, Floats]:
        """For each row and output the trees' mean, and the standard deviation of their answers."""
        rows = np.asarray(inputs, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise ChoiceError(f"a forest of {self.inputs} inputs is asked about rows of shape {rows.shape}")
        node = np.tile(self.roots, (len(rows), 1))
        place = np.arange(len(rows))[:, None]
        while (inner := self.feature[node] != LEAF).any():
            looked_at = rows[place, np.where(inner, self.feature[node], 0)]
            below = np.where(looked_at <= self.threshold[node], self.left[node], self.right[node])
            node = np.where(inner, below, node)
        answers = self.values[node]
        return answers.mean(axis=1), answers.std(axis=1)

    def facts(self) -> dict[str, Any]:
        """The facts that a file of JSON holds of the forest."""
        return {
            "inputs": self.inputs,
            "roots": self.roots.tolist(),
            "feature": self.feature.tolist(),
            "threshold": _short(self.threshold),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            # Only leaves say anything.
            "values": [_short(row) for row in self.values[self.feature == LEAF]],
        }

    @classmethod
    def from_facts(cls, facts: ForestFacts) -> Forest:
        """The forest that `facts` came from."""
        leaves = facts.feature == LEAF
        if facts.values.ndim != 2 or len(facts.values) != np.count_nonzero(leaves):
            raise ChoiceError("a forest has not as many values as leaves")
        values = np.zeros((len(facts.feature), facts.values.shape[1]))
        values[leaves] = facts.values
        return cls(facts.roots, facts.feature, facts.threshold, facts.left, facts.right, values, inputs=facts.inputs)

    def __repr__(self) -> str:
        return f"<Forest of {len(self.roots)} trees, {len(self.feature):,} nodes>"


def fit_forest(
    inputs: ArrayLike,
    outputs: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    trees: int = 40,
    least_rows: int = 5,
    most_leaves: int | None = 64,
    inputs_tried: float = 0.5,
    seed: int = 0,
) -> Forest:
    """A forest fitted to rows of inputs and outputs; the same for the same arguments."""
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - a second's import, for training only

    rows, wanted = np.asarray(inputs, dtype=np.float64), np.asarray(outputs, dtype=np.float64)
    if rows.ndim != 2 or wanted.ndim != 2 or len(rows) != len(wanted) or not len(rows):
        raise ChoiceError(f"a forest is not fitted to {len(rows)} rows of inputs and {len(wanted)} of outputs")
    fitted = RandomForestRegressor(
        n_estimators=trees,
        min_samples_leaf=least_rows,
        max_leaf_nodes=most_leaves,
        max_features=inputs_tried,
        random_state=seed,
        n_jobs=1,
    ).fit(rows, wanted if wanted.shape[1] > 1 else wanted[:, 0], sample_weight=weights)
    return _joined([_numbered(each.tree_) for each in fitted.estimators_], rows.shape[1])


Arrays = tuple[Integers, Floats, Integers, Integers, Floats]


def _numbered(tree: Any) -> Arrays:
    """A scikit-learn tree's arrays, numbered so that children come after their parents."""
    inner = tree.children_left >= 0
    order = [0]
    for node in order:  # grows as it is gone through: breadth first
        if inner[node]:
            order.extend([int(tree.children_left[node]), int(tree.children_right[node])])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    kept = inner[order]
    return (
        np.where(kept, tree.feature[order], LEAF),
        np.where(kept, tree.threshold[order], 0.0),
        np.where(kept, number[tree.children_left[order]], 0),
        np.where(kept, number[tree.children_right[order]], 0),
        tree.value[order, :, 0],
    )


def _joined(trees: list[Arrays], inputs: int) -> Forest:
    sizes = [len(tree[0]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    feature, threshold, left, right, values = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    shift = np.where(feature == LEAF, 0, np.repeat(roots, sizes))
    return Forest(roots, feature, threshold, left + shift, right + shift, values, inputs=inputs)


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]
