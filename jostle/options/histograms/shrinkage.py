"""Estimates of a tree's counts that learn from the tree itself how uneven its nodes are.

Downwards from the root, each node's count T is split among two children. What the noisy counts say of the first child's
part c, with variance V, is weighed against what the other splits of the same level look like: all in one child,
nearly as the numbers of cells are (more or less nearly), or anywhere. How common each is on a level is fitted to the
level's splits (by expectation maximisation), and the part is its mean given all that: an empirical Bayes estimate.
Where splits are even, noise is averaged away as a coarser grid would; where they are not, the counts are left as they
are.

It looks at released counts only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from jostle.options.histograms.tree import Tree, least_squares

__all__ = ["shrunk_leaves", "split_down"]

Floats = NDArray[np.float64]

WIDTHS = (0.0, 0.02, 0.1, 0.3)
"""How far, relative to T, parts that are nearly even are from even, beside chance: one kind of split for each."""
ROUNDS = 10
PRIOR = 3.0
"""Splits of each kind that are taken as seen beforehand."""
SPIKE = 5.0
"""A leaf's count above so many standard deviations of its noise is taken for a leaf that stands out."""
FLOOR = 0.1
"""Least variance that a leaf's count is given beforehand, in variances of its noise."""
HALF_DENSITY = 0.3989422804014327


def _normal(distance: Floats, variance: Floats) -> Floats:
    density: Floats = HALF_DENSITY * np.exp(np.maximum(-0.5 * distance**2 / variance, -300)) / np.sqrt(variance)
    return density


def _splits(total: Floats, part: Floats, variance: Floats, even: Floats) -> tuple[Floats, Floats]:
    """Return for each node (rows) and kind of split (columns) how likely its noisy part is, and the part's mean."""
    nothing = np.zeros_like(total)
    likely = [_normal(part, variance), _normal(part - total, variance)]
    means = [nothing, total]
    for width in WIDTHS:
        spread = even * (1 - even) * total + (width * total) ** 2
        likely.append(_normal(part - even * total, variance + spread))
        means.append(even * total + (part - even * total) * spread / (spread + variance))
    deviation = np.sqrt(variance)
    near = np.clip(part, -6 * deviation, total + 6 * deviation)
    mass = np.maximum(ndtr((total - near) / deviation) - ndtr(-near / deviation), 1e-12)
    edges = np.exp(-0.5 * (near / deviation) ** 2) - np.exp(-0.5 * ((total - near) / deviation) ** 2)
    likely.append(mass / total)
    means.append(near + deviation * HALF_DENSITY * edges / mass)
    return np.stack(likely, axis=1) + 1e-300, np.clip(np.stack(means, axis=1), 0, total[:, None])


def _expected(likely: Floats, means: Floats) -> Floats:
    """Return each node's expected part, the kinds of split being as common as these nodes show."""
    flat = np.full(likely.shape[1], 1 / likely.shape[1])
    common = flat
    for _ in range(ROUNDS):
        weights = likely * common
        seen = (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0)
        seen[:2] = seen[:2].mean()  # all in the first child is as common as all in the second
        common = seen + PRIOR * flat
        common /= common.sum()
    weights = likely * common
    weights /= weights.sum(axis=1, keepdims=True)
    expected: Floats = (weights * means).sum(axis=1)
    return expected


def split_down(tree: Tree, found: Sequence[Floats], spread: Sequence[Floats]) -> Floats:
    """Return the leaves' counts, none below 0, each node's split among its two children as the level's splits suggest.

    *found* and *spread* are the estimates from below, and their variances, of `least_squares`.
    """
    counts = np.maximum(found[0], 0)
    cells = [np.diff(starts, append=len(tree.order)) for starts in tree.starts]
    for level in range(len(tree.starts) - 1):
        first, children = tree.first_children[level], tree.children(level)
        lower = np.zeros(len(tree.starts[level + 1]))
        lower[first[children == 1]] = counts[children == 1]
        split = np.flatnonzero((children == 2) & (counts > 1e-9))
        if split.size:
            total, left = counts[split], first[split]
            noise_left, noise_right = spread[level + 1][left], spread[level + 1][left + 1]
            both = np.maximum(noise_left + noise_right, 1e-12)
            missing = total - found[level + 1][left] - found[level + 1][left + 1]
            part = found[level + 1][left] + noise_left / both * missing
            variance = np.maximum(noise_left * noise_right / both, 1e-12)
            even = cells[level + 1][left] / cells[level][split]
            expected = _expected(*_splits(total, part, variance, even))
            lower[left], lower[left + 1] = expected, total - expected
        counts = lower
    return counts


def shrunk_leaves(tree: Tree, counts: Sequence[NDArray[np.int64] | Floats | None], noise: Sequence[float]) -> Floats:
    """Return the leaves' counts in two passes of `split_down`.

    First, leaves that stand out from their noise are set aside and the rest is split. Second, that result m says how
    large each leaf may be: its noisy count is weighed against m as if the count had been m, give or take m (and some
    noise).
    """
    leaves = np.asarray(counts[-1], dtype=np.float64)
    deviation = float(noise[-1]) ** 0.5
    aside = np.where(leaves > SPIKE * deviation, leaves, 0)
    places = [np.searchsorted(tree.starts[-1], starts) for starts in tree.starts]
    rest = [
        None if count is None else count - np.add.reduceat(aside, place)
        for count, place in zip(counts, places, strict=True)
    ]
    guess = split_down(tree, *least_squares(tree, rest, noise)) + aside
    known = guess**2 + FLOOR * noise[-1] + 1e-12
    weight = known / (known + noise[-1])
    refined = [*counts[:-1], weight * leaves + (1 - weight) * guess]
    return split_down(tree, *least_squares(tree, refined, [*noise[:-1], np.maximum(weight * noise[-1], 1e-12)]))
