"""From noisy counts at the leaves to class shares at every node. All of it works on released numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.options.growing.grove import Grove
from jostle.options.models.trees import TreeModel
from jostle.tables.routes import Routing

__all__ = ["add_upwards", "leaf_counts", "shares_of", "without_twigs"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def leaf_counts(routing: Routing, noisy: NDArray[Any], classes: int) -> Floats:
    """The noisy counts at their nodes, nodes by classes; inner nodes hold zeros."""
    counts = np.zeros((len(routing.attribute), classes))
    counts[routing.leaves] = noisy.reshape(-1, classes)
    return counts


def add_upwards(grove: Grove, values: Floats) -> Floats:
    """The values with every inner node holding the sum of its children's."""
    totals = values.copy()
    for level in range(int(grove.level.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(grove.level == level)
        np.add.at(totals, grove.parent[nodes], totals[nodes])
    return totals


def shares_of(grove: Grove, counts: Floats) -> Floats:
    """Each node's class shares: of its counts above 0, or its parent's shares where there are none."""
    shares = np.maximum(counts, 0)
    totals = shares.sum(axis=1)
    empty = totals <= 0
    shares /= np.where(empty, 1, totals)[:, None]
    shares[empty & (grove.parent < 0)] = 1 / counts.shape[1]
    for level in range(1, int(grove.level.max(initial=0)) + 1):
        nodes = np.flatnonzero((grove.level == level) & empty)
        shares[nodes] = shares[grove.parent[nodes]]
    return shares


def without_twigs(model: TreeModel, cut: NDArray[np.bool_]) -> TreeModel:
    """The model with the nodes marked made leaves, and what was below them gone."""
    routing = model.routing
    attribute = np.where(cut, -1, routing.attribute)
    sizes = np.array([model.schema[name].size for name in routing.columns], dtype=np.int64)
    kept = np.zeros(len(attribute), dtype=np.bool_)
    reached = np.unique(routing.roots)
    kept[reached] = True
    while (inner := reached[attribute[reached] >= 0]).size:
        reached = np.unique(routing.children[_places(routing.first[inner], sizes[attribute[inner]])])
        kept[reached] = True
    number = np.cumsum(kept) - 1
    nodes = np.flatnonzero(kept)
    inner = nodes[attribute[nodes] >= 0]
    lengths = sizes[attribute[inner]]
    first = np.zeros(len(nodes), dtype=np.int64)
    first[number[inner]] = np.cumsum(lengths) - lengths
    children = number[routing.children[_places(routing.first[inner], lengths)]]
    smaller = Routing(routing.columns, number[routing.roots], attribute[nodes], first, children, depth=routing.depth)
    return TreeModel(
        schema=model.schema,
        made_by=model.made_by,
        epsilon=model.epsilon,
        routing=smaller,
        shares=model.shares[nodes],
        combine=model.combine,
    )


def _places(starts: Integers, lengths: Integers) -> Integers:
    ends = np.cumsum(lengths)
    return (
        np.repeat(starts, lengths) + np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    )
