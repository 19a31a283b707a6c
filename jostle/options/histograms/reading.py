"""What the noisy counts of a tree say of its leaves, by Bayes' rule.

Beforehand, counts are split as `split_model` has it; the noise is discrete Laplace's, of which every count has its
own. Upwards from the leaves, each node learns how likely all counts in its subtree are if it holds t records and is in
a certain state (Pearl's messages; Crouse, Nowak, Baraniuk 1998 for trees of this kind). A message is kept as
logarithms at a few places of t around the node's least-squares estimate, and is linear between them. Downwards from
the root, each node's records are split as is to be expected given all that: so parts add up, and none is below 0. Where
counts are smooth, noise is averaged away as a coarser grid would; where they are not, they are left as they are.

It looks at released counts only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import gammaln

from jostle.options.histograms.split_model import SPLITS, SplitModel
from jostle.options.histograms.tree import Tree, least_squares, nonnegative, simplex

__all__ = ["read_leaves"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

POINTS = 13
"""Places per message: odd, so that one is the estimate itself."""
REACH = 4.0
"""How far a message reaches to both sides of the estimate, in standard deviations."""
FALL = 0.5
"""Beyond its reach, a message falls at least so much per step."""
BETWEEN = (np.arange(12) + 0.5) / 12
"""Where a split's integral is evaluated, between the least and the largest part that both halves allow for."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(3)
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
NARROW = 0.05
"""Even splits of at least this width are beta distributed; below, the normal distribution is near enough."""
RARE = 0.004
"""Kinds of split that are rarer than this in a state are left out of it."""
NO_NOISE = 0.05
"""Counts of less variance than this are exact for all that matters here."""
MOST_READ = 2**15
"""Leaves that are read; below the level that has fewer, counts are split by least squares."""
TINY = 1e-9
UNLIKELY = -100.0
"""Logarithm of how likely it is, at most, that two halves add up to what is beyond the reach of both."""
BATCH = 512
"""Nodes that are worked on at once, so that what they need fits a processor's own memory."""


@frozen(eq=False)
class _Frame:
    """For each of some nodes, POINTS numbers of records, in equal steps from *low*."""

    low: Floats
    step: Floats

    @classmethod
    def around(cls, found: Floats, spread: Floats) -> _Frame:
        """Return the numbers around estimates with a variance, none below 0."""
        deviation = np.sqrt(np.maximum(spread, NO_NOISE))
        middle = np.maximum(found, 0)
        low = np.maximum(middle - REACH * deviation, 0)
        return cls(low, (middle + REACH * deviation - low) / (POINTS - 1))

    @property
    def high(self) -> Floats:
        """Return the last numbers."""
        return self.low + (POINTS - 1) * self.step

    @property
    def places(self) -> Floats:
        """Return all numbers, a row for each node."""
        return self.low[:, None] + self.step[:, None] * np.arange(POINTS)

    def of(self, nodes: Places) -> _Frame:
        """Return the frame of some nodes."""
        return _Frame(self.low[nodes], self.step[nodes])

    def find(self, wanted: Floats) -> _Found:
        """Return where wanted numbers lie, a row for each node."""
        rest = (1,) * (wanted.ndim - 1)
        where = (wanted - self.low.reshape(-1, *rest)) / self.step.reshape(-1, *rest)
        left = np.clip(where.astype(np.int64), 0, POINTS - 2)
        index = (np.arange(len(self.low)) * POINTS).reshape(-1, *rest) + left
        return _Found(index, where - left)


@frozen(eq=False)
class _Found:
    """Where numbers lie in a frame: right of which place, and by how many steps."""

    index: Places
    beyond: Floats

    def straight(self, values: Floats) -> Floats:
        """Return values given at a frame's places, linear between them and beyond."""
        flat = values.ravel()
        before = flat[self.index]
        found: Floats = before + (flat[self.index + 1] - before) * self.beyond
        return found

    def falling(self, logs: Floats) -> Floats:
        """Return the same of logarithms, which beyond the frame must not rise again."""
        flat = logs.ravel()
        before, after = flat[self.index], flat[self.index + 1]
        slope = after - before
        inside = before + slope * self.beyond
        over = after + np.minimum(slope, -FALL) * (self.beyond - 1)
        under = before + np.maximum(slope, FALL) * self.beyond
        found: Floats = np.where(self.beyond > 1, over, np.where(self.beyond < 0, under, inside))
        return found


def _rate(variance: Floats | float) -> Floats:
    """Return by how much the logarithm of discrete Laplace noise falls per unit, given its variance."""
    found: Floats = 2 * np.arcsinh(np.sqrt(0.5 / np.asarray(variance, dtype=np.float64)))
    return found


def _summed(logs: Floats, axis: int) -> tuple[Floats, Floats]:
    """Return the logarithm of a sum of exponentials, and their shares in it."""
    most = logs.max(axis=axis, keepdims=True)
    shares = np.exp(logs - most)
    total = shares.sum(axis=axis, keepdims=True)
    shares /= total
    return (most + np.log(total)).squeeze(axis), shares


class _Splits:
    """Ways of splitting some nodes, at each place of their frame, among two halves with frames of their own.

    What is worked out here does not depend on the messages, and serves all states.
    """

    def __init__(self, frame: _Frame, left: _Frame, right: _Frame, even: Floats, widths: Sequence[float]) -> None:
        """Lay out the parts of the first halves that are looked at, and how likely each kind of split makes them."""
        total = frame.places
        self.total = total
        self.ends = [(left.find(part), right.find(total - part), part) for part in (np.zeros_like(total), total)]
        low = np.clip(np.maximum(left.low[:, None], total - right.high[:, None]), 0, total)
        high = np.clip(np.minimum(left.high[:, None], total - right.low[:, None]), 0, total)
        self.apart = high < low
        low, high = np.where(self.apart, 0, low), np.where(self.apart, total, high)
        cell = np.maximum((high - low) / len(BETWEEN), TINY)
        self.parts = low[..., None] + (high - low)[..., None] * BETWEEN
        self.found = left.find(self.parts), right.find(total[..., None] - self.parts)
        inside, outside = (
            np.log(np.maximum(each, cell[..., None] / 2) / np.maximum(total, TINY)[..., None])
            for each in (self.parts, total[..., None] - self.parts)
        )
        self.chances: list[Floats] = []
        self.narrow = []
        middle = even[:, None] * total
        for width in widths:
            spread = np.sqrt((even * (1 - even))[:, None] * (total + (width * total) ** 2))
            if width < NARROW:
                distance = (self.parts - middle[..., None]) / np.maximum(spread, TINY)[..., None]
                density = -0.5 * distance**2 - np.log(np.maximum(spread, TINY) * np.sqrt(2 * np.pi))[..., None]
            else:
                # Infinite at both ends, perhaps: there, it is taken half a cell from them.
                count = 1 / width**2 - 1
                first, second = count * even[:, None, None], count * (1 - even[:, None, None])
                constant = gammaln(count) - gammaln(first) - gammaln(second)
                scale = np.log(np.maximum(total, TINY))[..., None]
                density = (first - 1) * inside + (second - 1) * outside + constant - scale
            self.chances.append(np.exp(density) * cell[..., None])
            # Narrower than the places are apart: a few places around the middle tell more.
            close = np.nonzero(spread <= cell)
            parts = np.clip(middle[close][:, None] + spread[close][:, None] * NODES, 0, total[close][:, None])
            there = left.of(close[0]).find(parts), right.of(close[0]).find(total[close][:, None] - parts)
            self.narrow.append((close, there, parts))
        self.chances.append(np.broadcast_to((cell / np.maximum(total, len(BETWEEN) * TINY))[..., None], inside.shape))

    def each(self, left: Floats, right: Floats, wanted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return, from the halves' logarithms, those of each wanted kind of split, and the first half's part."""
        likely = np.full((len(wanted), *self.total.shape), -np.inf)
        parts = np.zeros_like(likely)
        for kind, (first, second, part) in enumerate(self.ends):
            if wanted[kind]:
                likely[kind], parts[kind] = first.falling(left) + second.falling(right), part
        logs = self.found[0].straight(left) + self.found[1].straight(right)
        logs[self.apart] = UNLIKELY
        most = logs.max(axis=-1)
        density = np.exp(logs - most[..., None])
        held = density * self.parts
        for place, chances in enumerate(self.chances):
            kind = place + len(self.ends)
            if not wanted[kind]:
                continue
            mass = np.maximum(np.einsum("ngp,ngp->ng", density, chances), 1e-300)
            likely[kind] = most + np.log(mass)
            parts[kind] = np.einsum("ngp,ngp->ng", held, chances) / mass
            if place < len(self.narrow):
                close, there, part = self.narrow[place]
                rows = close[0]
                near = there[0].falling(left[rows]) + there[1].falling(right[rows]) + LOG_WEIGHTS
                found, shares = _summed(near, axis=-1)
                likely[kind][close], parts[kind][close] = found, (shares * part).sum(axis=-1)
        return likely, parts


def _mixed(likely: Floats, parts: Floats, kinds: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms, and the expected part, of splits whose kinds are as common as *kinds* says."""
    with np.errstate(divide="ignore"):
        logs, shares = _summed(likely + np.log(kinds)[:, None, None], axis=0)
    return logs, np.sum(shares * parts, axis=0)


@frozen(eq=False)
class _Level:
    """What a level's nodes tell upwards, per state, at the places of a frame, and their first children's parts."""

    frame: _Frame
    logs: tuple[Floats, ...]
    parts: tuple[Floats, ...]

    @classmethod
    def of(cls, frame: _Frame, logs: Sequence[Floats], parts: Sequence[Floats]) -> _Level:
        """Return them with logarithms of at most 0: how likely they are counts only in comparison."""
        most = np.max([each.max(axis=1) for each in logs], axis=0)[:, None]
        return cls(frame, tuple(each - most for each in logs), tuple(parts))


def _told(frame: _Frame, counts: Floats, rate: Floats | float) -> Floats:
    """Return the logarithms of how likely counts are at the places of a frame."""
    found: Floats = -np.abs(counts[:, None] - frame.places) * np.broadcast_to(rate, counts.shape)[:, None]
    return found


def _parent(
    tree: Tree, level: int, lower: _Level, frame: _Frame, model: SplitModel, *, leaves: bool
) -> tuple[list[Floats], ...]:
    """Return what the children of a level's nodes tell of them, and the expected parts, for each state.

    What *leaves* tell is the same in all states.
    """
    first, children = tree.first_children[level], tree.children(level)
    sizes, below = (np.diff(tree.starts[each], append=len(tree.order)) for each in (level, level + 1))
    places = frame.places
    logs = [np.zeros_like(places) for _ in model.kinds]
    parts = [places.copy() for _ in model.kinds]
    alone, split = np.flatnonzero(children == 1), np.flatnonzero(children == 2)
    if alone.size:
        found = lower.frame.of(first[alone]).find(places[alone])
        for state, told in enumerate(lower.logs):
            logs[state][alone] = found.falling(told[first[alone]])
    common = np.where(model.kinds >= RARE, model.kinds, 0)
    handed = lower.logs[:1] if leaves else [_handed_down(lower.logs, chances) for chances in model.handed_down]
    for start in range(0, len(split), BATCH):
        nodes = split[start : start + BATCH]
        left = first[nodes]
        even = below[left] / sizes[nodes]
        splits = _Splits(frame.of(nodes), lower.frame.of(left), lower.frame.of(left + 1), even, model.widths)
        wanted = [common.any(axis=0)] if leaves else common > 0
        known = [splits.each(each[left], each[left + 1], kinds) for each, kinds in zip(handed, wanted, strict=True)]
        for state, kinds in enumerate(common):
            logs[state][nodes], parts[state][nodes] = _mixed(*known[state % len(known)], kinds)
    return logs, parts


def _handed_down(logs: Sequence[Floats], chances: Floats) -> Floats:
    """Return what nodes tell whose state has these chances."""
    found, _ = _summed(np.stack([each + np.log(chance) for each, chance in zip(logs, chances, strict=True)]), axis=0)
    return found


def read_leaves(
    tree: Tree,
    counts: Sequence[NDArray[np.int64] | Floats | None],
    noise: Sequence[float],
    model: SplitModel = SPLITS,
) -> Floats:
    """Return the expected counts of a tree's leaves, none below 0, of a tree whose nodes have one child or two.

    *counts* has the noisy counts per level, None where a level was not counted, and *noise* their variances.
    """
    found, spread = least_squares(tree, counts, noise)
    if noise[-1] < NO_NOISE:
        return nonnegative(tree, found, spread)
    deepest = max(level for level, starts in enumerate(tree.starts) if len(starts) <= MOST_READ)
    frame = _Frame.around(found[deepest], spread[deepest])
    told = _told(frame, found[deepest], _rate(np.maximum(spread[deepest], NO_NOISE)))
    levels = [_Level.of(frame, [told] * len(model.kinds), [])]
    for level in reversed(range(deepest)):
        frame = _Frame.around(found[level], spread[level])
        logs, parts = _parent(tree, level, levels[-1], frame, model, leaves=level + 1 == deepest)
        own = counts[level]
        if own is not None:
            told = _told(frame, np.asarray(own, dtype=np.float64), _rate(max(noise[level], NO_NOISE)))
            logs = [each + told for each in logs]
        levels.append(_Level.of(frame, logs, parts))
    return _split_down(tree, levels[::-1], found, spread, model)


def _split_down(
    tree: Tree, levels: Sequence[_Level], found: Sequence[Floats], spread: Sequence[Floats], model: SplitModel
) -> Floats:
    """Return the leaves' counts: from the root, each node's count is split as its children's messages suggest."""
    root = levels[0]
    likely = np.concatenate([each[0] + np.log(chance) for each, chance in zip(root.logs, model.first, strict=True)])
    _, shares = _summed(likely, axis=0)
    counts = np.array([float((shares * np.tile(root.frame.places[0], len(root.logs))).sum())])
    states = model.first[None, :]
    for level, held in enumerate(levels[:-1]):
        first, two = tree.first_children[level], tree.children(level) == 2
        at = held.frame.find(counts)
        likely = np.stack([at.falling(each) for each in held.logs], axis=1)
        _, states = _summed(likely + np.log(np.maximum(states, 1e-300)), axis=1)
        expected = np.stack([at.straight(each) for each in held.parts], axis=1)
        part = np.where(two, np.clip((states * expected).sum(axis=1), 0, counts), counts)
        below = states @ model.handed_down
        lower = np.empty(len(tree.starts[level + 1]))
        lower[first], lower[first[two] + 1] = part, (counts - part)[two]
        handed = np.empty((len(lower), states.shape[1]))
        handed[first], handed[first[two] + 1] = np.where(two[:, None], below, states), below[two]
        counts, states = lower, handed
    for level in range(len(levels) - 1, len(tree.starts) - 1):
        parents = tree.parents(level + 1)
        counts = simplex(found[level + 1], spread[level + 1], counts, tree.first_children[level], parents)
    return counts
