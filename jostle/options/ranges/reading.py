"""What the noisy counts of a tree say of its leaves, by Bayes' rule, and how counts are split on public histograms.

Beforehand, counts are split as `SplitModel` has it; the noise is discrete Laplace's, of which every count has its
own. Upwards from the leaves, each node learns how likely all counts in its subtree are if it holds t records and is in
a certain state (Pearl's messages; Crouse, Nowak, Baraniuk 1998 for trees of this kind). A message is kept as
logarithms at a few places of t around the node's least-squares estimate, and bends evenly between them. Downwards from
the root, each node's records are split as is to be expected given all that: so parts add up, and none is below 0. Where
counts are smooth, noise is averaged away as a coarser grid would; where they are not, they are left as they are.

It looks at released counts only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from jostle.options.ranges.tree import Tree, least_squares, nonnegative, simplex

Floats = NDArray[np.float64]


def _normalised(rows: ArrayLike) -> Floats:
    """Rows of chances, each adding up to 1."""
    made = np.asarray(rows, dtype=np.float64)
    scaled: Floats = made / made.sum(axis=-1, keepdims=True)
    return scaled


@frozen(eq=False)
class SplitModel:
    """A hidden Markov tree: states of nodes, what splits they make, and how they are handed down.

    How counts are split among the halves of a node, on public histograms: what a reading expects beforehand.

    A node of a tree of halvings is in one of a few states, which it hands down to its children, nearly always the same
    one. The state says how common each kind of split is: all in one half, evenly but for chance and a certain
    unevenness, or anyhow. Histograms of a few spikes, of rough terrain and of smooth terrain look so different that the
    noisy counts soon tell which it is, each part of the histogram for itself.

    The numbers were fitted to public histograms, without noise, as `benchmarks/split_model.py` does: a fit today draws
    other records, and differs from the second digit on.
    """

    widths: tuple[float, ...]
    """Kinds of uneven splits: by how much the first half's share deviates from even beside chance, where 1 is most.

    The shares are beta distributed; 0 is chance alone.
    """
    kinds: Floats = field(converter=_normalised)
    """Per state, the chances of: nothing in the first half, all in the first half, each width in turn, anyhow."""
    handed_down: Floats = field(converter=_normalised)
    """Per state of a node, the chances of its children's states."""
    first: Floats = field(converter=_normalised)
    """The chances of the root's states."""
    fitted_on: tuple[str, ...] = ()
    """The digests of the public histograms it was fitted to: Options that read by it name them as theirs."""


SPLITS = SplitModel(
    widths=(0.0, 0.03, 0.08, 0.2, 0.4, 0.7),
    kinds=[
        [0, 0, 0.499, 0.318, 0.1811, 0.0016, 0, 0, 0],
        [0.0018, 0.0018, 0.0016, 0.0013, 0.0022, 0.0037, 0.0047, 0.911, 0.0719],
        [0.0008, 0.0008, 0.0056, 0.0097, 0.0661, 0.1928, 0.6521, 0.0074, 0.0647],
        [0.0009, 0.0009, 0.0015, 0.0018, 0.0028, 0.0203, 0.2069, 0.4704, 0.2944],
        [0.3227, 0.3227, 0.0021, 0.0026, 0.0075, 0.0059, 0.0145, 0.2691, 0.0528],
        [0, 0, 0.0056, 0.0701, 0.1899, 0.6872, 0.0464, 0, 0],
    ],
    handed_down=[
        [0.9991, 0.0001, 0.0002, 0.0001, 0.0001, 0.0005],
        [0.0013, 0.8863, 0.0352, 0.0017, 0.0461, 0.0293],
        [0.0015, 0.066, 0.9157, 0.0113, 0.0009, 0.0046],
        [0.3011, 0.0066, 0.001, 0.6152, 0.0014, 0.0745],
        [0.0002, 0.0109, 0.0004, 0.0013, 0.987, 0.0003],
        [0.001, 0.0002, 0.0105, 0.0004, 0.0001, 0.9878],
    ],
    first=[0.0732, 0.2524, 0.0742, 0.3458, 0.2467, 0.0076],
    fitted_on=(
        "c935929c07c6504e3967b71ac51331f1",  # HEPTH
        "12c17457a90d145c0c2afe27cddb4c18",  # INCOME
        "ead0e4109c689c830cdbd57859dcced5",  # GrossCompenMDSalary1
        "f18ac77ddeb678f568c547d632e79ef6",  # RejectStats_0
        "fe89d0962a76addbd8d1f7efa1fbd0f9",  # RejectStats_4
        "d24f4d087157f0d4896b3cf6befbffc3",  # BeijingTaxiS
        "09b37f9de5465fffc1e3ace1995f0c05",  # Loan
        "b0ab5a93aeece93b52f29217f38afab1",  # MDSalary
    ),
)


Places = NDArray[np.int64]

POINTS = 9
"""Places per message: odd, so that one is the estimate itself."""
REACH = 4.0
"""How far a message reaches to both sides of the estimate, in standard deviations."""
FALL = 0.5
"""Beyond its reach, a message falls at least so much per step."""
BETWEEN = (np.arange(8) + 0.5) / 8
"""Where a split's integral is evaluated, between the least and the largest part that both halves allow for."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(3)
NEAR = WEIGHTS / WEIGHTS.sum()
NARROW = 0.05
"""Even splits of at least this width are beta distributed; below, the normal distribution is near enough."""
NO_NOISE = 0.05
"""Counts of less variance than this are exact for all that matters here."""
MOST_READ = 2**15
"""Leaves that are read; below the level that has fewer, counts are split by least squares."""
TINY = 1e-9
UNLIKELY = -100.0
"""Logarithm of how likely it is, at most, that two halves add up to what is beyond the reach of both."""
STEEPEST = 600.0
"""Larger exponents would overflow; they are taken as this."""
BATCH = 128
"""Nodes that are worked on at once, so that what they need fits a processor's own memory."""


@frozen(eq=False)
class _Frame:
    """For each of some nodes, POINTS numbers of records, in equal steps from *low*."""

    low: Floats
    step: Floats

    @classmethod
    def around(cls, counts: Floats, spread: Floats) -> _Frame:
        """The numbers around estimates with a variance, none below 0."""
        deviation = np.sqrt(np.maximum(spread, NO_NOISE))
        middle = np.maximum(counts, 0)
        low = np.maximum(middle - REACH * deviation, 0)
        return cls(low, (middle + REACH * deviation - low) / (POINTS - 1))

    @property
    def high(self) -> Floats:
        """The last numbers."""
        return self.low + (POINTS - 1) * self.step

    @property
    def places(self) -> Floats:
        """All numbers, a row for each node."""
        return self.low[:, None] + self.step[:, None] * np.arange(POINTS)

    def of(self, nodes: Places) -> _Frame:
        """The frame of some nodes."""
        return _Frame(self.low[nodes], self.step[nodes])

    def find(self, wanted: Floats) -> _Found:
        """Where wanted numbers lie, a row for each node."""
        rest = (1,) * (wanted.ndim - 1)
        where = (wanted - self.low.reshape(-1, *rest)) / self.step.reshape(-1, *rest)
        left = np.clip(where.astype(np.int64), 0, POINTS - 2)
        index = (np.arange(len(self.low)) * POINTS).reshape(-1, *rest) + left
        return _Found(index, where - left)


def _bends(logs: Floats) -> Floats:
    """By how much logarithms bend down in each step between places, per state."""
    second = np.diff(logs, n=2, axis=1)
    bends = np.zeros_like(logs)
    bends[:, 0], bends[:, -2] = second[:, 0], second[:, -1]
    bends[:, 1:-2] = (second[:, 1:] + second[:, :-1]) / 2
    return np.clip(bends, -1, 0)


@frozen(eq=False)
class _Found:
    """Where numbers lie in a frame: right of which place, and by how many steps."""

    index: Places
    beyond: Floats

    def straight(self, values: Floats) -> Floats:
        """Values given at a frame's places per state, linear between them and beyond."""
        flat = values.reshape(-1, values.shape[-1])
        before = flat[self.index]
        logs_there: Floats = flat[self.index + 1]
        logs_there -= before
        logs_there *= self.beyond[..., None]
        logs_there += before
        return logs_there

    def curved(self, logs: Floats) -> Floats:
        """The same of logarithms that bend between the places."""
        curve = self.straight(logs)
        bends = _bends(logs).reshape(-1, logs.shape[-1])[self.index]
        bends *= (self.beyond * (self.beyond - 1) / 2)[..., None]
        curve += bends
        return curve

    def falling(self, logs: Floats) -> Floats:
        """The same of logarithms which beyond the frame must not rise again."""
        flat = logs.reshape(-1, logs.shape[-1])
        logs_there: Floats = flat[self.index]
        slope = flat[self.index + 1] - logs_there
        inside = np.clip(self.beyond, 0, 1)
        outside = self.beyond - inside
        logs_there += slope * inside[..., None]
        if outside.any():
            steep = np.where(outside[..., None] > 0, np.minimum(slope, -FALL), np.maximum(slope, FALL))
            logs_there += steep * outside[..., None]
        return logs_there


def _rate(variance: Floats | float) -> Floats:
    """By how much the logarithm of discrete Laplace noise falls per unit, given its variance."""
    rate: Floats = 2 * np.arcsinh(np.sqrt(0.5 / np.asarray(variance, dtype=np.float64)))
    return rate


@frozen(eq=False)
class _Close:
    """Splits so narrow that a few parts around the middle tell more of them than equal steps do."""

    where: tuple[Places, Places]
    """Of which nodes and places."""
    chances: Floats
    """Per state, how common this kind of split is."""
    left: _Found
    right: _Found
    parts: Floats


class _Splits:
    """Ways of splitting some nodes, at each place of their frame, among two halves with frames of their own.

    What is worked out here does not depend on what the halves' counts tell.
    """

    def __init__(self, frame: _Frame, left: _Frame, right: _Frame, even: Floats, model: SplitModel) -> None:
        """Lay out the parts of the first halves that are looked at, and how likely each state makes them."""
        self.total = total = frame.places
        self.ends = left.find(np.stack([0 * total, total], axis=-1)), right.find(np.stack([total, 0 * total], axis=-1))
        self.end_chances = model.kinds[:, :2].T
        low = np.clip(np.maximum(left.low[:, None], total - right.high[:, None]), 0, total)
        high = np.clip(np.minimum(left.high[:, None], total - right.low[:, None]), 0, total)
        self.apart = high < low
        low, high = np.where(self.apart, 0, low), np.where(self.apart, total, high)
        cell = np.maximum((high - low) / len(BETWEEN), TINY)
        self.parts = low[..., None] + (high - low)[..., None] * BETWEEN
        rest = total[..., None] - self.parts
        self.found = left.find(self.parts), right.find(rest)
        some = np.maximum(total, TINY)
        # Densities may be infinite at both ends: there, they are taken half a cell from them.
        half = cell[..., None] / 2
        inside, outside = (np.log(np.maximum(each, half) / some[..., None]) for each in (self.parts, rest))
        chances: Floats = np.empty((*self.parts.shape, len(model.widths) + 1))
        self.close: list[_Close] = []
        middle, varied = even[:, None] * total, (even * (1 - even))[:, None]
        for index, width in enumerate(model.widths):
            spread = np.sqrt(varied * (total + (width * total) ** 2))
            if width < NARROW:
                deviation = np.maximum(spread, TINY)
                density = np.exp(-(((self.parts - middle[..., None]) / deviation[..., None]) ** 2) / 2)
                density *= (cell / (deviation * math.sqrt(2 * math.pi)))[..., None]
            else:
                count = 1 / width**2 - 1
                first, second = count * even[:, None, None], count * (1 - even[:, None, None])
                constant = gammaln(count) - gammaln(first) - gammaln(second)
                density = np.exp((first - 1) * inside + (second - 1) * outside + constant)
                density *= (cell / some)[..., None]
            near = spread <= cell
            density[near] = 0
            chances[..., index] = density
            if near.any():
                rows, columns = np.nonzero(near)
                parts = np.clip(middle[near][:, None] + spread[near][:, None] * NODES, 0, total[near][:, None])
                places = left.of(rows).find(parts), right.of(rows).find(total[near][:, None] - parts)
                self.close.append(_Close((rows, columns), model.kinds[:, 2 + index], *places, parts))
        chances[..., -1] = (cell / np.maximum(total, len(BETWEEN) * TINY))[..., None]
        self.chances = chances @ model.kinds[:, 2:].T

    def told(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """From the halves' logarithms, those of the nodes per state, and the first half's expected part.

        Where all states of the halves tell the same, their logarithms have one column.
        """
        same = left.shape[-1] == 1
        first, second = self.found
        # Leaves' messages are two straight lines.
        logs = first.straight(left) if same else first.curved(left)
        logs += second.straight(right) if same else second.curved(right)
        logs[self.apart] = UNLIKELY
        ends = self.ends[0].falling(left) + self.ends[1].falling(right)
        most = np.maximum(logs.max(axis=2), ends.max(axis=2))
        logs -= most[:, :, None]
        density = np.exp(logs, out=logs)
        if same:
            mass = np.matmul(density.swapaxes(2, 3), self.chances)[:, :, 0]
            density *= self.parts[..., None]
            held = np.matmul(density.swapaxes(2, 3), self.chances)[:, :, 0]
        else:
            density *= self.chances
            mass = density.sum(axis=2)
            held = np.matmul(self.parts[:, :, None, :], density)[:, :, 0]
        ends = np.exp(ends - most[:, :, None]) * self.end_chances
        mass += ends.sum(axis=2)
        held += ends[:, :, 1] * self.total[..., None]
        for close in self.close:
            rows, _ = close.where
            near = close.left.falling(left[rows]) + close.right.falling(right[rows]) - most[close.where][:, None]
            likely = np.exp(np.minimum(near, STEEPEST)) * NEAR[:, None]
            mass[close.where] += likely.sum(axis=1) * close.chances
            held[close.where] += np.matmul(close.parts[:, None, :], likely)[:, 0] * close.chances
        np.maximum(mass, 1e-300, out=mass)
        held /= mass
        return most + np.log(mass), held


@frozen(eq=False)
class _Level:
    """What a level's nodes tell upwards, and their first children's parts, at the places of a frame, per state.

    The leaves tell the same in all states: they have one column for all.
    """

    frame: _Frame
    logs: Floats
    parts: Floats

    @classmethod
    def of(cls, frame: _Frame, logs: Floats, parts: Floats) -> _Level:
        """The places with logarithms of at most 0: how likely they are counts only in comparison."""
        return cls(frame, logs - logs.max(axis=(1, 2), keepdims=True), parts)


def _told(frame: _Frame, counts: Floats, rate: Floats | float) -> Floats:
    """The logarithms of how likely counts are at the places of a frame, in one column."""
    logs: Floats = -np.abs(counts[:, None] - frame.places) * np.broadcast_to(rate, counts.shape)[:, None]
    return logs[..., None]


def _parent(tree: Tree, level: int, lower: _Level, frame: _Frame, model: SplitModel) -> tuple[Floats, Floats]:
    """The chances that the children of a level's nodes give them, and the expected parts, for each state."""
    first, children = tree.first_children[level], tree.children(level)
    sizes, below = (np.diff(tree.starts[each], append=len(tree.order)) for each in (level, level + 1))
    places = frame.places
    logs = np.zeros((*places.shape, len(model.kinds)))
    parts = np.zeros_like(logs)
    alone, split = np.flatnonzero(children == 1), np.flatnonzero(children == 2)
    logs[alone] = lower.frame.of(first[alone]).find(places[alone]).falling(lower.logs[first[alone]])
    parts[alone] = places[alone, :, None]
    leaves = lower.logs.shape[-1] == 1
    handed = lower.logs if leaves else np.log(np.exp(lower.logs) @ model.handed_down.T)
    for start in range(0, len(split), BATCH):
        nodes = split[start : start + BATCH]
        left = first[nodes]
        even = below[left] / sizes[nodes]
        splits = _Splits(frame.of(nodes), lower.frame.of(left), lower.frame.of(left + 1), even, model)
        logs[nodes], parts[nodes] = splits.told(handed[left], handed[left + 1])
    return logs, parts


def read_leaves(
    tree: Tree,
    counts: Sequence[NDArray[np.int64] | Floats | None],
    noise: Sequence[float | Floats],
    model: SplitModel = SPLITS,
) -> Floats:
    """The expected counts of a tree's leaves, none below 0, of a tree whose nodes have one child or two.

    *counts* has the noisy counts per level, None where a level was not counted, and *noise* their variances, one per
    level or one per node.
    """
    estimates, spread = least_squares(tree, counts, noise)
    if np.max(noise[-1]) < NO_NOISE:
        return nonnegative(tree, estimates, spread)
    deepest = max(level for level, starts in enumerate(tree.starts) if len(starts) <= MOST_READ)
    frame = _Frame.around(estimates[deepest], spread[deepest])
    told = _told(frame, estimates[deepest], _rate(np.maximum(spread[deepest], NO_NOISE)))
    levels = [_Level.of(frame, told, frame.places[..., None])]
    for level in reversed(range(deepest)):
        frame = _Frame.around(estimates[level], spread[level])
        logs, parts = _parent(tree, level, levels[-1], frame, model)
        own = counts[level]
        if own is not None:
            logs += _told(frame, np.asarray(own, dtype=np.float64), _rate(np.maximum(noise[level], NO_NOISE)))
        levels.append(_Level.of(frame, logs, parts))
    return _split_down(tree, levels[::-1], estimates, spread, model)


def careful_leaves(
    tree: Tree,
    counts: Sequence[NDArray[np.int64] | Floats | None],
    noise: Sequence[float | Floats],
) -> Floats:
    """The mean of the leaves' expected counts and of their least-squares counts, none below 0.

    A reading takes for granted that a histogram splits like those it was fitted to; least squares takes nothing for
    granted. Where the reading is right, the mean has most of what it gains; where it is wrong, half of its error.
    """
    plain = nonnegative(tree, *least_squares(tree, counts, noise))
    mean: Floats = (plain + read_leaves(tree, counts, noise)) / 2
    return mean


def _chances(logs: Floats, states: Floats) -> Floats:
    """The chances of states, a row for each node, given their chances before and how likely they make counts."""
    likely = np.exp(logs - logs.max(axis=1, keepdims=True)) * states
    chances: Floats = likely / np.maximum(likely.sum(axis=1, keepdims=True), 1e-300)
    return chances


def _split_down(
    tree: Tree, levels: Sequence[_Level], estimates: Sequence[Floats], spread: Sequence[Floats], model: SplitModel
) -> Floats:
    """The leaves' counts: from the root, each node's count is split as its children's messages suggest."""
    root = levels[0]
    shares = np.exp(root.logs[0]) * (model.first if len(levels) > 1 else 1)
    counts = np.array([float(root.frame.places[0] @ shares.sum(axis=1) / shares.sum())])
    states = model.first[None, :]
    for level, held in enumerate(levels[:-1]):
        first, two = tree.first_children[level], tree.children(level) == 2
        at = held.frame.find(counts)
        states = _chances(at.falling(held.logs), states)
        part = np.where(two, np.clip((states * at.straight(held.parts)).sum(axis=1), 0, counts), counts)
        below = states @ model.handed_down
        lower = np.empty(len(tree.starts[level + 1]))
        lower[first], lower[first[two] + 1] = part, (counts - part)[two]
        handed = np.empty((len(lower), states.shape[1]))
        handed[first], handed[first[two] + 1] = np.where(two[:, None], below, states), below[two]
        counts, states = lower, handed
    for level in range(len(levels) - 1, len(tree.starts) - 1):
        parents = tree.parents(level + 1)
        counts = simplex(estimates[level + 1], spread[level + 1], counts, tree.first_children[level], parents)
    return counts
