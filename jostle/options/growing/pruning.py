"""C4.5's pessimistic pruning, on noisy counts.

Quinlan. C4.5: Programs for Machine Learning, 1993. A node with N rows, E of them not of its commonest class, is
expected to err on N * U(E, N) new rows, U being the upper confidence limit of a binomial chance. Where a node as a
leaf is expected to err no more than the leaves below it together, these go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from jostle.options.growing.grove import Grove

__all__ = ["expected_errors", "pessimistic"]

Floats = NDArray[np.float64]

CONFIDENCE = 0.25
"""C4.5's own."""


def expected_errors(rows: Floats, errors: Floats) -> Floats:
    """N * U(E, N), 0 where there are no rows: the chance p with P(at most E errors of N) = CONFIDENCE."""
    some = np.maximum(rows, 1e-9)
    wrong = np.clip(errors, 0, some)
    # P(Binomial(N, p) <= E) is the regularised incomplete beta function, which takes noisy, fractional counts as well.
    limit = np.where(wrong >= some, 1.0, special.betaincinv(wrong + 1, np.maximum(some - wrong, 1e-9), 1 - CONFIDENCE))
    return np.where(rows > 0, some * limit, 0.0)


def pessimistic(grove: Grove, counts: Floats) -> NDArray[np.bool_]:
    """Which inner nodes are to become leaves; *counts* are noisy class counts of all nodes."""
    clipped = np.maximum(counts, 0)
    rows = clipped.sum(axis=1)
    as_leaf = expected_errors(rows, rows - clipped.max(axis=1))
    attribute = grove.routing().attribute
    below = np.where(attribute < 0, as_leaf, 0.0)
    cut = np.zeros(len(grove), dtype=np.bool_)
    for level in range(int(grove.level.max(initial=0)), -1, -1):
        nodes = np.flatnonzero((grove.level == level) & (attribute >= 0))
        cut[nodes] = as_leaf[nodes] <= below[nodes]
        below[nodes] = np.minimum(as_leaf[nodes], below[nodes])
        everyone = np.flatnonzero(grove.level == level)
        inner = everyone[grove.parent[everyone] >= 0]
        np.add.at(below, grove.parent[inner], below[inner])
    return cut
