"""Trees over a grid, its line of neighbouring cells, and how a budget is shared among a tree's levels.

*The line* is Hilbert's curve, in any dimension: Skilling, Programming the Hilbert curve, AIP Conference Proceedings
707, 2004. *Shares* of a budget go by the workload, by public facts only.

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
from functools import lru_cache

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.tasks.ranges.boxes import Boxes
from jostle.tasks.ranges.estimate import Workload


@lru_cache(maxsize=16)
def hilbert_order(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The cells' row-major numbers in the order of the curve; in one dimension, as they are.

    Sides that are not the same power of two are laid into a cube whose other cells are passed over.

    >>> hilbert_order((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    cells = np.indices(shape, dtype=np.int64).reshape(len(shape), -1)
    if len(shape) == 1:
        line: NDArray[np.int64] = cells[0]
        return line
    bits = max(1, (max(shape) - 1).bit_length())
    axes = _untangle(list(cells), bits)
    place = np.zeros(cells.shape[1], dtype=np.int64)
    for bit in reversed(range(bits)):
        for axis in axes:
            place = place << 1 | (axis >> bit & 1)
    return np.argsort(place, kind="stable").astype(np.int64)


def _untangle(axes: list[NDArray[np.int64]], bits: int) -> list[NDArray[np.int64]]:
    """The coordinates turned into the transpose of the place on the curve."""
    bit = 1 << (bits - 1)
    while bit > 1:
        low = bit - 1
        for index in range(len(axes)):
            turned = (axes[index] & bit) != 0
            swap = np.where(turned, 0, (axes[0] ^ axes[index]) & low)
            axes[0] = np.where(turned, axes[0] ^ low, axes[0] ^ swap)
            if index:
                axes[index] = axes[index] ^ swap
        bit >>= 1
    for index in range(1, len(axes)):
        axes[index] = axes[index] ^ axes[index - 1]
    flips = np.zeros_like(axes[0])
    bit = 1 << (bits - 1)
    while bit > 1:
        flips = np.where((axes[-1] & bit) != 0, flips ^ (bit - 1), flips)
        bit >>= 1
    return [axis ^ flips for axis in axes]


Floats = NDArray[np.float64]
Places = NDArray[np.int64]

QUERY_NUMBERS = 2**22
"""Numbers held at once when queries are laid over nodes."""


@frozen(eq=False)
class Tree:
    """Partitions of a grid's cells, each refining the one before; in a whole tree the first has one node, the root.

    Trees over a grid: nested partitions in one public order, and what noisy counts of their nodes say together.

    The cells stand in an order in which every node of every level is a run, so that sums over nodes are sums over runs.
    Quadtrees, b-ary trees along each axis, trees over the parts of a partition: all are of this form, with any sides.

    Hay, Rastogi, Miklau, Suciu, PVLDB 3(1), 2010, for least squares on trees; Qardaji, Yang, Li, PVLDB 6(14), 2013, for
    trees with many children; Cormode, Procopiuc, Srivastava, Shen, Yu, ICDE 2012, for quadtrees.
    """

    shape: tuple[int, ...]
    order: Places
    """The cells' numbers, each once, such that every node is a run."""
    starts: tuple[Places, ...]
    """Per level, root first, where its nodes begin in the order."""
    first_children: tuple[Places, ...] = field(init=False)
    """Per level but the last, which node of the next level is each node's first child."""

    @first_children.default
    def _find_children(self) -> tuple[Places, ...]:
        return tuple(
            np.searchsorted(lower, upper).astype(np.int64)
            for upper, lower in zip(self.starts, self.starts[1:], strict=False)
        )

    @property
    def leaf_sizes(self) -> Places:
        """How many cells each leaf has."""
        return np.diff(self.starts[-1], append=len(self.order))

    def children(self, level: int) -> Places:
        """How many children each node of a level has."""
        return np.diff(self.first_children[level], append=len(self.starts[level + 1]))

    def parents(self, level: int) -> Places:
        """For each node of a level below the root which node is its parent."""
        return np.repeat(np.arange(len(self.starts[level - 1])), self.children(level - 1))

    def leaves(self) -> list[Places]:
        """Per level how many leaves are under each node."""
        counts = [np.ones(len(self.starts[-1]), dtype=np.int64)]
        for first in reversed(self.first_children):
            counts.append(np.add.reduceat(counts[-1], first))
        return counts[::-1]

    def spread(self, leaves: Floats) -> Floats:
        """The grid in which each leaf's count is spread evenly over its cells."""
        sizes = self.leaf_sizes
        grid = np.empty(len(self.order))
        grid[self.order] = np.repeat(leaves / sizes, sizes)
        return grid.reshape(self.shape)

    def only(self, levels: Sequence[int]) -> Tree:
        """The tree, or the trees, of these levels alone."""
        return Tree(self.shape, self.order, tuple(self.starts[level] for level in levels))

    def load(self, workload: Boxes) -> Floats:
        """For each level, queries summed, the squared length of the queries averaged over its nodes.

        It tells how much of the workload can be told from that level's counts alone (see `best_shares`).
        """
        squares = np.zeros(len(self.starts))
        leaves = self.leaves()
        batch = max(1, QUERY_NUMBERS // len(self.order))
        for first in range(0, len(workload), batch):
            part = Boxes(self.shape, workload.low[first : first + batch], workload.high[first : first + batch])
            inside = part.coverage()[:, self.order]
            sums: Floats = np.add.reduceat(inside, self.starts[-1], axis=1, dtype=np.float64) / self.leaf_sizes
            for level in reversed(range(len(self.starts))):
                if level < len(self.starts) - 1:
                    sums = np.add.reduceat(sums, self.first_children[level], axis=1)
                squares[level] += float((sums**2 / leaves[level]).sum())
        return squares


def axis_cuts(side: int, branching: int, levels: int | None = None) -> list[Places]:
    """Per level where the intervals of an axis begin: each is cut into *branching* of nearly equal length.

    An interval shorter than that is cut into single cells. Without *levels*, cutting goes on to single cells.
    """
    cuts = [np.zeros(1, dtype=np.int64)]
    while len(cuts[-1]) < side if levels is None else len(cuts) < levels:
        ends = np.append(cuts[-1][1:], side)
        lengths = ends - cuts[-1]
        inner = cuts[-1][:, None] + lengths[:, None] * np.arange(branching) // branching
        cuts.append(np.unique(inner))
    return cuts


@lru_cache(maxsize=32)
def grid_tree(shape: tuple[int, ...], branching: int) -> Tree:
    """The tree in which every node is cut into *branching* along each axis, down to single cells.

    Shorter axes are cut last, so that nodes are as near to cubes as they can be.
    """
    cuts = [axis_cuts(side, branching) for side in shape]
    depth = max(map(len, cuts))
    levels = [[axis[max(0, level - (depth - len(axis)))] for axis in cuts] for level in range(depth)]
    return tree_of_cuts(shape, levels)


@lru_cache(maxsize=32)
def halving_tree(shape: tuple[int, ...]) -> Tree:
    """The tree in which every level halves the nodes of the one above along one axis, where they are longest."""
    return tree_of_cuts(shape, halving_cuts(shape))


NEARLY = 3 / 4
"""Of a grid's cells: where queries tell more apart, all are."""


def tree_over(shape: tuple[int, ...], runs: Sequence[Places]) -> Tree:
    """The tree of halvings whose leaves are runs of cells along each axis; every level halves how many these are.

    Where nearly each run is a single cell, it is the `halving_tree`.
    """
    if math.prod(map(len, runs)) > NEARLY * math.prod(shape):
        return halving_tree(shape)
    levels = halving_cuts(tuple(map(len, runs)))
    return tree_of_cuts(shape, [[starts[cuts] for starts, cuts in zip(runs, level, strict=True)] for level in levels])


def halving_cuts(shape: tuple[int, ...]) -> list[list[Places]]:
    """Per level of the tree of halvings and axis, where intervals begin whose products are its nodes."""
    cuts = [np.zeros(1, dtype=np.int64) for _ in shape]
    levels = [list(cuts)]
    while any(len(starts) < side for starts, side in zip(cuts, shape, strict=True)):
        lengths = [1 / len(starts) if len(starts) < side else 0 for starts, side in zip(cuts, shape, strict=True)]
        axis = lengths.index(max(lengths))
        ends = np.append(cuts[axis][1:], shape[axis])
        cuts[axis] = np.unique(np.concatenate([cuts[axis], cuts[axis] + (ends - cuts[axis]) // 2]))
        levels.append(list(cuts))
    return levels


def tree_of_cuts(shape: tuple[int, ...], levels: Sequence[Sequence[Places]]) -> Tree:
    """The tree whose nodes on each level are the products of the axes' intervals."""
    key = np.zeros(shape, dtype=np.int64)
    labels: list[NDArray[np.int64]] = []
    for cuts in levels:
        label = np.zeros(shape, dtype=np.int64)
        for axis, (side, starts) in enumerate(zip(shape, cuts, strict=True)):
            index = np.searchsorted(starts, np.arange(side), side="right") - 1
            along = [1] * len(shape)
            along[axis] = side
            label = label * len(starts) + index.reshape(along)
        # Nodes are numbered anew on each level, children of one node in a row.
        _, key = np.unique(key.ravel() * (int(label.max()) + 1) + label.ravel(), return_inverse=True)
        labels.append(key.ravel())
    order = np.argsort(labels[-1], kind="stable").astype(np.int64)
    begins = tuple(np.flatnonzero(np.diff(label[order], prepend=-1)).astype(np.int64) for label in labels)
    return Tree(shape, order, begins)


def chain_tree(shape: tuple[int, ...], order: Places, leaf_starts: Places, branching: int = 2) -> Tree:
    """A tree over runs of cells: each node takes up to *branching* neighbours of the level below."""
    levels = [np.ascontiguousarray(leaf_starts, dtype=np.int64)]
    while len(levels[-1]) > 1:
        levels.append(levels[-1][::branching])
    return Tree(shape, order, tuple(levels[::-1]))


def least_squares(
    tree: Tree, counts: Sequence[NDArray[np.int64] | Floats | None], noise: Sequence[float | Floats]
) -> tuple[list[Floats], list[Floats]]:
    """The best estimate of every node from below, and its variance: upwards, children's sums refine each count.

    *counts* has the noisy counts per level, None where a level was not counted, and *noise* their variances, one per
    level or one per node. What
    `top_down` makes of it is the least-squares solution.
    """
    leaves = counts[-1]
    if leaves is None:
        raise ValueError("the leaves of a tree have no counts")
    estimates, spread = (
        [np.asarray(leaves, dtype=np.float64)],
        [np.array(np.broadcast_to(noise[-1], len(leaves)), dtype=np.float64)],
    )
    for level in reversed(range(len(tree.starts) - 1)):
        sums = np.add.reduceat(estimates[-1], tree.first_children[level])
        variance = np.add.reduceat(spread[-1], tree.first_children[level])
        own = counts[level]
        if own is not None:
            weight = variance / (variance + noise[level])
            sums = weight * own + (1 - weight) * sums
            variance = weight * noise[level]
        estimates.append(sums)
        spread.append(variance)
    return estimates[::-1], spread[::-1]


def top_down(tree: Tree, estimates: Sequence[Floats], spread: Sequence[Floats]) -> Floats:
    """The leaves' least-squares counts: downwards, what a node has over its children's sum is shared out."""
    exact = estimates[0]
    for level in range(len(tree.starts) - 1):
        first, parents = tree.first_children[level], tree.parents(level + 1)
        excess = (exact - np.add.reduceat(estimates[level + 1], first)) / np.add.reduceat(spread[level + 1], first)
        exact = estimates[level + 1] + spread[level + 1] * excess[parents]
    return exact


def nonnegative(tree: Tree, estimates: Sequence[Floats], spread: Sequence[Floats]) -> Floats:
    """Counts of the leaves, none below 0: downwards, each node's count is split among its children.

    The split is the nearest to the children's estimates, in squared distance over variance, that has no negative count
    and adds up to the node's.
    """
    exact = np.maximum(estimates[0], 0)
    for level in range(len(tree.starts) - 1):
        exact = simplex(
            estimates[level + 1], spread[level + 1], exact, tree.first_children[level], tree.parents(level + 1)
        )
    return exact


def simplex(wanted: Floats, spread: Floats, totals: Floats, first: Places, parents: Places) -> Floats:
    """For each family the nearest counts >= 0 that add up to its total (weighted by 1 / spread).

    Members that would be negative are left out and the rest shared anew, until none is negative (Michelot 1986).
    """
    active = np.ones(len(wanted), dtype=np.bool_)
    while True:
        weight = np.where(active, spread, 0)
        missing = totals - np.add.reduceat(np.where(active, wanted, 0), first)
        rate = missing / np.maximum(np.add.reduceat(weight, first), 1e-300)
        split = np.where(active, wanted + spread * rate[parents], 0)
        negative = split < 0
        # A family of total 0 may lose its last member to rounding.
        if not negative.any():
            return split
        active &= ~negative


def variances(tree: Tree, spread: Sequence[Floats], workload: Boxes) -> Floats:
    """The variance of each query's answer from the least-squares counts.

    Given a node's true count T, its children's errors are those of independent counts of variances s held to
    the sum T: T * s/S on average, with covariance diag(s) - s s'/S, S = sum(s). So a query that needs a share a of each
    child's count and leaves a variance b inside it needs the share sum(a*s)/S of the node's count and leaves
    sum(b) + sum(a*a*s) - sum(a*s)**2/S inside it. At the root, the root's own variance counts for share**2.
    """
    answer = np.empty(len(workload))
    sizes = tree.leaf_sizes
    batch = max(1, QUERY_NUMBERS // len(tree.order))
    for begin in range(0, len(workload), batch):
        queries = slice(begin, begin + batch)
        part = Boxes(tree.shape, workload.low[queries], workload.high[queries])
        share = np.add.reduceat(part.coverage()[:, tree.order], tree.starts[-1], axis=1, dtype=np.float64) / sizes
        inside = np.zeros_like(share)
        for level in reversed(range(len(tree.starts) - 1)):
            first, own = tree.first_children[level], spread[level + 1]
            total = np.add.reduceat(own, first)
            mixed = np.add.reduceat(share * own, first, axis=1)
            inside = np.add.reduceat(inside + share**2 * own, first, axis=1) - mixed**2 / total
            share = mixed / total
        answer[queries] = inside[:, 0] + share[:, 0] ** 2 * spread[0][0]
    return np.maximum(answer, 0)


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
    error: Floats = (np.diff(load, prepend=0) / np.maximum(told, 1e-300)).sum(axis=-1)
    return error


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
