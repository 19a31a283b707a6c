"""What is known of the noise in released counts, and estimates that allow for it. All of it works on released numbers.

The scale of a mechanism's noise is a public number, so how far noise alone moves a count is too. An estimate that lies
between what was released and a steadier guess (all rows' class shares, a parent's) goes as far towards what was
released as the noise leaves room for: by signal / (signal + noise), both as variances.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jostle.options.growing.grove import Grove
from jostle.privacy.mechanisms import sensitivity
from jostle.tables.kernels import DenseKernel
from jostle.tables.schema import Schema

__all__ = ["SPREAD", "averaged", "noise_variance", "pooled_shares", "worthwhile_depth"]

Floats = NDArray[np.float64]

SPREAD = 0.5
"""How much of a class share's greatest variance, p * (1 - p), lies between the children of a split, as a guess."""
SMALLEST = 1e-9
AT_FIRST = 0.5
"""Rows that every class is given at the root."""
AFTER_PARENT = 0.01
"""Rows that every node is given with its parent's class shares."""


def noise_variance(kernel: DenseKernel, schema: Schema, epsilon: Fraction) -> float:
    """The variance of the noise that each number of a kernel's tally gets: with scale b, 1 / (cosh(1/b) - 1)."""
    rate = float(epsilon) / sensitivity(kernel, schema)
    decay = math.exp(-rate)
    return max(2 * decay / math.expm1(-rate) ** 2, SMALLEST)


def averaged(first: Floats, variance: float, second: Floats, other_variance: float) -> Floats:
    """The mean of two noisy copies of the same numbers, each weighted by 1 / its variance."""
    weight, other = 1 / variance, 1 / other_variance
    return (weight * first + other * second) / (weight + other)


def worthwhile_depth(rows: float, epsilon: float, least: float, most: int) -> int:
    """The largest depth d, from 1 to *most*, with rows * epsilon / (2**d * (d+1)) of at least *least*.

    A tree of d binary splits has 2**d leaves, and d + 1 queries share epsilon; so that is how many scales of noise the
    mean leaf's rows are.
    """
    depth = 1
    while depth < most and rows * epsilon / (2 ** (depth + 1) * (depth + 2)) >= least:
        depth += 1
    return min(depth, most)


def pooled_shares(grove: Grove, counts: Floats, variances: Floats, first: Floats, first_variance: float) -> Floats:
    """Each node's class shares, noisy counts drawn towards what the parent's shares lead to expect.

    *counts* are the noisy counts of one tree's nodes by class, inner nodes holding the sum of their leaves;
    *variances* are those of each node's noise; *first* is another noisy copy of the root's counts. A node of m rows
    is expected to have m * p of a class, p its parent's share. What it has differs by a signal of variance
    SPREAD * m**2 * p * (1-p), by chance, m * p * (1-p), and by noise.
    """
    shares = np.empty_like(counts)
    at_root = np.maximum(averaged(first, first_variance, counts[0], float(variances[0])), 0) + AT_FIRST
    shares[0] = at_root / at_root.sum()
    for level in range(1, int(grove.level.max(initial=0)) + 1):
        nodes = np.flatnonzero(grove.level == level)
        above = shares[grove.parent[nodes]]
        rows = np.maximum(counts[nodes].sum(axis=1, keepdims=True), 0) + 1
        spread = above * (1 - above) + SMALLEST
        signal = SPREAD * rows**2 * spread
        trust = signal / (signal + rows * spread + variances[nodes][:, None])
        expected = rows * above
        found = np.maximum(expected + trust * (counts[nodes] - expected), 0) + AFTER_PARENT * above
        shares[nodes] = found / found.sum(axis=1, keepdims=True)
    return shares
