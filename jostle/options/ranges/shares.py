"""How to share a budget among the levels of a tree or of a wavelet, given the workload: public facts only.

*Trees.* Let level j of a tree be counted with the share e_j and let its nodes have s_j leaves each. Where all nodes
of a level are alike, averaging over the nodes of level j is a projection A_j, and A_j A_l = A_min(j,l): so the
least-squares estimate has covariance sum over l of (A_l - A_(l-1)) / m_l up to a constant, m_l = sum over j >= l of
s_j * e_j**2, with A_(-1) = 0. A query q is answered with the variance sum of (|A_l q|**2 - |A_(l-1) q|**2) / m_l. The
best shares minimise that sum over the workload; levels that are not worth their share get none. For trees whose nodes
differ a little, s_j is the mean.

*Wavelets.* The coefficients are independent: a level of share e and squared weight t in the workload costs t / e**2,
and the best shares are proportional to the cube roots of t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jostle.options.ranges.tree import Tree
from jostle.tasks.ranges.workload import Workload

__all__ = ["best_shares", "coarseness", "exact_shares", "reading_shares", "tree_shares"]

Floats = NDArray[np.float64]

STEPS = 300
PIECES = 4096
"""Shares are multiples of 1 / this."""
LEAST_SHARE = 1 / 256
"""Smaller shares than this are given to the other levels."""
LEAST_TOLD = 1e-150
"""Its square is a double still."""
SAMPLE = 64
"""Queries of a workload that the shares are worked out for."""
SPIKED, EVEN = 2.0, 5.0
"""By how much more than suits the workload a counted level gets for every one below it, where records are few: if all
of them seem to be in one place, and if they are everywhere."""
TRUST = 0.2
"""How much of that is forgone per tenfold of records times epsilon ..."""
DOUBT = 0.1
"""... less so much."""


def tree_error(shares: Floats, load: Floats, sizes: Floats) -> Floats:
    """The workload's summed variance for shares of the levels, root first, up to a constant.

    *shares* may have a row per choice of shares.
    """
    told = np.cumsum((sizes * shares**2)[..., ::-1], axis=-1)[..., ::-1]
    found: Floats = (np.diff(load, prepend=0) / np.maximum(told, 1e-300)).sum(axis=-1)
    return found


def best_shares(load: Floats, sizes: Floats) -> Floats:
    """The shares of the levels, root first, that minimise `tree_error`; some are 0.

    The leaves' is not. By multiplicative steps from several starts, one of them
    with most of the budget on each level: at the best shares, the error falls equally fast in each share that is
    above 0.
    """
    gains = np.maximum(np.diff(load, prepend=0), 0)
    levels = len(load)
    shares = np.vstack([np.ones(levels), np.full((levels, levels), 0.1) + np.diag(np.full(levels, 0.9))])
    shares /= shares.sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        told = np.cumsum((sizes * shares**2)[:, ::-1], axis=1)[:, ::-1]
        pull = shares**2 * sizes * np.cumsum(gains / np.maximum(told, LEAST_TOLD) ** 2, axis=1)
        shares = np.sqrt(shares * pull / np.maximum(pull.sum(axis=1, keepdims=True), 1e-300))
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    shares[shares < LEAST_SHARE] = 0
    shares[:, -1] = np.maximum(shares[:, -1], LEAST_SHARE)
    shares /= shares.sum(axis=1, keepdims=True)
    best: Floats = shares[int(np.argmin(tree_error(shares, load, sizes)))]
    return best


def exact_shares(shares: Sequence[float] | Floats) -> tuple[Fraction, ...]:
    """Exact shares near the given ones that add up to 1; 0 stays 0, any other does not become 0."""
    wanted = np.asarray(shares, dtype=np.float64)
    count = int(np.count_nonzero(wanted))
    most = max(PIECES, 2 * count)
    pieces = np.where(wanted > 0, np.maximum(1, np.floor(wanted / wanted.sum() * most)), 0).astype(np.int64)
    if (more := most - int(pieces.sum())) < -(int(pieces.max()) // 2):  # too much for the largest share to make up for
        pieces = np.where(wanted > 0, 1 + np.floor(wanted / wanted.sum() * (most - count)), 0).astype(np.int64)
        more = most - int(pieces.sum())
    pieces[int(np.argmax(pieces))] += more
    return tuple(Fraction(int(piece), most) for piece in pieces)


def tree_shares(tree: Tree, workload: Workload) -> tuple[Fraction, ...]:
    """The shares of a tree's levels that suit a workload, root first; some are 0, the leaves' is not."""
    load = tree.load(workload.sample(SAMPLE))
    sizes = len(tree.starts[-1]) / np.array([len(starts) for starts in tree.starts])
    return exact_shares(best_shares(load, sizes))


def coarseness(records: float, evenly: float) -> float:
    """The tilt of `reading_shares` that suits so many records, in units of noise, that lie so evenly (0 to 1).

    The fewer they are, the more coarse levels tell a reading where fine ones are only noise. And that the more so, the
    more evenly they lie: where they are in a few places, fine counts tell which. Found on public and made-up grids.
    """
    trust = min(max(TRUST * math.log10(max(records, 1.0)) - DOUBT, 0.0), 1.0)
    tilt: float = (SPIKED ** (1 - evenly) * EVEN**evenly) ** (1 - trust)
    return tilt


def reading_shares(
    tree: Tree, workload: Workload, *, step: int, tilt: float, bought: tuple[int, float] = (0, 0.0)
) -> tuple[Fraction, ...]:
    """Shares for counts that are read by Bayes' rule (`reading`), root first, most of them 0.

    Every *step*-th level is counted, from the leaves up, as suits the workload by least squares, times *tilt* for each
    counted level below it. What was *bought* of a level before, as a share of all, counts towards its own.
    """
    levels = np.arange(len(tree.starts) - 1, -1, -step)[::-1]
    counted = tree.only(levels.tolist())
    nodes = np.array([len(starts) for starts in counted.starts])
    least = best_shares(counted.load(workload.sample(SAMPLE)), nodes[-1] / nodes)
    wanted = least * tilt ** np.arange(len(levels))[::-1]
    shares = np.zeros(len(tree.starts))
    shares[levels] = wanted / wanted.sum()
    level, share = bought
    if len(levels) > 1:  # else there is nothing else to buy
        shares[level] = max(shares[level] - share, 0.0)
    return exact_shares(shares)
