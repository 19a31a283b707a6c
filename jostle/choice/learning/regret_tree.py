"""Trees split by regret: where one Option on each side is the least bad, summed over cases."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.learned.forest import LEAF, Forest

__all__ = ["fit_regret_tree", "path_of"]

Floats = NDArray[np.float64]
CUTS = 32
"""Thresholds that are tried for each input, at most; of more, evenly spread ones."""
LEAST_GAIN = 0.002
"""A split that saves less mean log regret than this, over all cases, is not made."""


@frozen
class Split:
    """The best split of a node."""

    gain: float
    feature: int
    threshold: float


def fit_regret_tree(
    inputs: Floats, regrets: Floats, best: Floats, weights: Floats, *, most_leaves: int, least_share: float
) -> Forest:
    """A tree whose leaves hold each Option's mean log regret, its spread, and the mean log of the best loss."""
    weights = weights / weights.sum()
    feature, threshold, left, right = [LEAF], [0.0], [0], [0]
    rows = [np.arange(len(inputs))]
    splits = [_best_split(inputs, regrets, weights, rows[0], least_share)]
    leaves = 1
    while leaves < most_leaves:
        node = int(np.argmax([split.gain if split else -1.0 for split in splits]))
        split = splits[node]
        if split is None or split.gain < LEAST_GAIN:
            break
        goes_left = inputs[rows[node], split.feature] <= split.threshold
        feature[node], threshold[node] = split.feature, split.threshold
        left[node], right[node] = len(feature), len(feature) + 1
        for part in (rows[node][goes_left], rows[node][~goes_left]):
            feature.append(LEAF)
            threshold.append(0.0)
            left.append(0)
            right.append(0)
            rows.append(part)
            splits.append(_best_split(inputs, regrets, weights, part, least_share))
        splits[node] = None
        leaves += 1
    values = np.stack([_summary(regrets[part], best[part], weights[part]) for part in rows])
    return Forest([0], feature, threshold, left, right, values, inputs=inputs.shape[1])


def path_of(tree: Forest, row: Floats) -> list[tuple[int, float, bool]]:
    """The questions on a row's way to its leaf: input, threshold, and whether the row is above it."""
    node, path = int(tree.roots[0]), []
    while (feature := int(tree.feature[node])) != LEAF:
        above = bool(row[feature] > tree.threshold[node])
        path.append((feature, float(tree.threshold[node]), above))
        node = int(tree.right[node] if above else tree.left[node])
    return path


def _summary(regrets: Floats, best: Floats, weights: Floats) -> Floats:
    mean = np.average(regrets, axis=0, weights=weights)
    spread = np.sqrt(np.average((regrets - mean) ** 2, axis=0, weights=weights))
    return np.concatenate([mean, spread, np.average(best, axis=0, weights=weights).reshape(1)])


def _best_split(
    inputs: Floats, regrets: Floats, weights: Floats, rows: NDArray[np.intp], least_share: float
) -> Split | None:
    """The split that saves the most regret, counted in all cases; None if there is none."""
    weight = weights[rows]
    if len(rows) < 2 or weight.sum() < 2 * least_share:
        return None
    lost = regrets[rows] * weight[:, None]
    whole = lost.sum(axis=0).min()
    found: Split | None = None
    for feature in range(inputs.shape[1]):
        values = inputs[rows, feature]
        order = np.argsort(values, kind="stable")
        ranked, running = values[order], np.cumsum(lost[order], axis=0)
        held = np.cumsum(weight[order])
        # Where values differ, since a budget, say, has few of them; then, if those are many, some of them.
        places = np.flatnonzero(ranked[:-1] < ranked[1:])
        places = places[(held[places] >= least_share) & (held[-1] - held[places] >= least_share)]
        if not places.size:
            continue
        places = places[np.unique(np.linspace(0, len(places) - 1, CUTS).astype(np.int64))]
        cost = running[places].min(axis=1) + (running[-1] - running[places]).min(axis=1)
        at = int(np.argmin(cost))
        if found is None or whole - cost[at] > found.gain:
            middle = (ranked[places[at]] + ranked[places[at] + 1]) / 2
            found = Split(float(whole - cost[at]), feature, float(middle))
    return found
