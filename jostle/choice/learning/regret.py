"""How good choices are, against the best Option in hindsight and the single best one; and trees split by it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError
from jostle.learned.policies import LEAF, Forest

Floats = NDArray[np.float64]
LEAST = 1e-9
"""Losses below it are none: an error of range queries of 1e-9 is a few records in a million."""
MOST_REGRET = 50.0
"""Larger regrets count as this: one hopeless Option in one case does not decide about all."""
MOST_SCORED = 3.0
"""The same of losses with a floor, which may be nearly none for the best Option, and where ways are compared."""
FAILED = 2.0
"""What fails is so many times as bad as the worst that does not: it never ties with anything."""
SURE, RESAMPLED = 0.9, 2000
"""Of intervals: how often they are to hold, and from how many draws they are read."""
WORSE = 0.02
"""A cell counts as worse than the single best Option where the loss is higher by more than this part of it."""


@frozen
class Figures:
    """Over all cells. Regret is loss / loss of the best Option in hindsight, both at least the floor; 1 is perfect.

    Hindsight has to be honest. Which Option was best in a cell (a database and a budget) is read off all repeats but
    one, and its loss off that one, in turn: read off the same repeats, the best of many noisy losses is better than any
    Option is, and cannot be reached.
    """

    cells: int
    regret_mean: float
    regret_p95: float
    regret_max: float
    gap_closed: float
    """(single best - chosen) / (single best - hindsight), of the mean losses; NaN where there is no gap.

    Of losses without a floor, the means are of losses in units of hindsight's.
    """
    worse_share: float
    """The share of cells that are worse than the single best by more than 2%."""
    loss_mean: float
    single_mean: float
    hindsight_mean: float
    single_regret: float
    """The mean regret of the single best Option."""
    regret_low: float = float("nan")
    """Between this and the next, the 90% interval of the mean regret, by drawing groups of databases anew."""
    regret_high: float = float("nan")
    beside_low: float = float("nan")
    """Between this and the next, how far the mean regret is above the single best Option's."""
    beside_high: float = float("nan")


def in_words(found: Figures, single: str) -> str:
    """How a maker does beside always running one Option, and beside hindsight, as a sentence.

    >>> found = Figures(10, 1.03, 1.2, 1.5, 0.5, 0.09, 0.213, 0.22, 0.205, 1.06)
    >>> in_words(found, "Majority")  # doctest: +ELLIPSIS
    'mean loss 0.213, where always Majority has 0.22, ... 1.03 times the loss in hindsight, always Majority 1.06 times'
    """
    sure = "" if math.isnan(found.regret_low) else f" (90%: {found.regret_low:.2f} to {found.regret_high:.2f})"
    return (
        f"mean loss {found.loss_mean:.4g}, where always {single} has {found.single_mean:.4g}, and the best Option of "
        f"each case in hindsight {found.hindsight_mean:.4g}; in the mean of cases {found.regret_mean:.2f} times{sure} "
        f"the loss in hindsight, always {single} {found.single_regret:.2f} times"
    )


def verdict(found: Figures, single: str) -> str:
    """Whether choosing is worth it, as far as the databases tell, as a sentence.

    >>> found = Figures(10, 1.03, 1.2, 1.5, 0.5, 0.09, 0.213, 0.22, 0.205, 1.06, 1.0, 1.05, -0.04, -0.01)
    >>> verdict(found, "Majority")
    'choosing does better than always Majority: by 0.01 to 0.04 times the loss in hindsight, nine times in ten'
    """
    low, high = sorted((abs(found.beside_low), abs(found.beside_high)))
    amount = f"by {low:.2f} to {high:.2f} times the loss in hindsight, nine times in ten"
    if math.isnan(found.beside_low):
        return f"whether choosing does better than always {single} cannot be told from one group of databases"
    if found.beside_high < 0:
        return f"choosing does better than always {single}: {amount}"
    if found.beside_low > 0:
        return f"choosing does worse than always {single}: {amount}"
    return f"these databases do not tell choosing from always {single}"


def honest_best(losses: Floats) -> Floats:
    """Each cell's loss in hindsight; *losses* are cells by Options by repeats, NaN for repeats not made.

    A cell with a single repeat has no honest hindsight: NaN.

    >>> honest_best(np.array([[[0.0, 1.0], [0.2, 0.2]]])).tolist()
    [0.6]
    """
    if losses.ndim != 3:
        raise ChoiceError("losses are cells by Options by repeats")
    there = np.asarray(~np.isnan(losses).any(axis=1))
    counts = there.sum(axis=1)
    if not (counts >= 2).any():
        raise ChoiceError("hindsight is read off two repeats or more")
    known = np.where(there[:, None, :], losses, 0.0)
    # The sum without the repeat at hand decides.
    best = np.argmin(known.sum(axis=2, keepdims=True) - known, axis=1)
    chosen = np.take_along_axis(known, best[:, None, :], axis=1)[:, 0, :]
    return np.where(counts >= 2, chosen.sum(axis=1) / np.maximum(counts, 1), np.nan)


def as_failed(losses: Floats, floor: float, axis: int | None = None) -> Floats:
    """The losses, with what failures count as beside them; NaN stands for losses that there are not.

    >>> float(as_failed(np.array([0.2, 0.4]), 0.01)), float(as_failed(np.array([0.0]), 0.01))
    (0.8, 0.02)
    """
    worst = np.nanmax(losses) if axis is None else np.nanmax(losses, axis=axis, keepdims=True)
    return np.asarray(FAILED * np.maximum(worst, max(floor, LEAST)))


def figures(
    chosen: Floats,
    single: Floats,
    hindsight: Floats,
    *,
    floor: float,
    weights: Floats | None = None,
    groups: NDArray[np.str_] | None = None,
) -> Figures:
    """The figures of chosen losses, given those of the single best Option and of hindsight, a cell each.

    How sure they are is told from *groups* of cells.
    """
    known = ~np.isnan(hindsight)
    if not known.any():
        raise ChoiceError("there are no cells to judge by")
    chosen, single, hindsight = chosen[known], single[known], hindsight[known]
    least = max(floor, LEAST)
    weight = np.ones(len(chosen)) if weights is None else weights[known]
    regret, always = (np.maximum(losses, least) / np.maximum(hindsight, least) for losses in (chosen, single))
    means = [float(np.average(losses, weights=weight)) for losses in (chosen, single, hindsight)]
    # Losses without a floor have no common scale either: they are measured in units of what hindsight has.
    unit = np.ones(len(chosen)) if floor else np.maximum(hindsight, least)
    sums = [float(np.average(losses / unit, weights=weight)) for losses in (chosen, single, hindsight)]
    gap = sums[1] - sums[2]
    whose = np.zeros(len(chosen)) if groups is None else groups[known]
    sure = interval(regret, weight, whose)
    beside = interval(regret - always, weight, whose)
    return Figures(
        cells=len(chosen),
        regret_mean=float(np.average(regret, weights=weight)),
        regret_p95=float(np.quantile(regret, 0.95)),
        regret_max=float(regret.max()),
        gap_closed=(sums[1] - sums[0]) / gap if gap > 0 else float("nan"),
        worse_share=float(
            np.average(np.maximum(chosen, least) > (1 + WORSE) * np.maximum(single, least), weights=weight)
        ),
        loss_mean=means[0],
        single_mean=means[1],
        hindsight_mean=means[2],
        single_regret=float(np.average(always, weights=weight)),
        regret_low=sure[0],
        regret_high=sure[1],
        beside_low=beside[0],
        beside_high=beside[1],
    )


def interval(values: Floats, weights: Floats, groups: NDArray[Any]) -> tuple[float, float]:
    """The 90% interval of a mean, by drawing groups anew; NaN where there is one group.

    >>> interval(np.array([1.0, 1.0, 3.0]), np.ones(3), np.array(["a", "a", "b"]))
    (1.0, 3.0)
    """
    names, which = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        return float("nan"), float("nan")
    sums, sizes = (np.bincount(which, weights=each) for each in (values * weights, weights))
    drawn = np.random.default_rng(0).integers(len(names), size=(RESAMPLED, len(names)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), ((1 - SURE) / 2, (1 + SURE) / 2))
    return float(low), float(high)


def weights_of(groups: NDArray[np.str_]) -> Floats:
    """Weights that give every group the same say, however many cells it has; their mean is 1."""
    _, which, counts = np.unique(groups, return_inverse=True, return_counts=True)
    found: Floats = 1 / counts[which]
    return np.asarray(found / found.mean())


def single_best(losses: Floats, weights: Floats, floor: float) -> int:
    """The Option with the least mean regret: losses have no scale in common, of many classes and of few, say."""
    least = np.maximum(losses, max(floor, LEAST))
    regrets = np.minimum(least / least.min(axis=1, keepdims=True), MOST_SCORED if floor else MOST_REGRET)
    return int(np.argmin(np.average(regrets, axis=0, weights=weights)))


def with_lead(expected: Floats, single: NDArray[np.int64], lead: float) -> NDArray[np.int64]:
    """The Options expected to be best, or the single best one where none is so far ahead of it."""
    places = np.arange(len(expected))
    best = np.argmin(expected, axis=1)
    ahead = expected[places, single] - expected[places, best]
    return np.where(ahead > lead, best, single)


def split_groups(groups: NDArray[np.str_], folds: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which cases are left out, fold by fold; a group is left out as a whole."""
    names = np.unique(groups)
    # Spread over the folds by a fixed rule that has nothing to do with the alphabet.
    order = np.argsort([hash_of(name) for name in names])
    fold = np.empty(len(names), dtype=np.int64)
    fold[order] = np.arange(len(names)) % folds
    for number in range(min(folds, len(names))):
        yield np.isin(groups, names[fold == number])


def hash_of(name: str) -> int:
    """A number that a name stands for, the same in every process."""
    return int.from_bytes(name.encode()[::-1] + b"\x01", "big") * 0x9E3779B97F4A7C15 % 2**61


def over_groups(logs: Floats, groups: Sequence[str] | NDArray[np.str_]) -> tuple[Floats, Floats]:
    """The mean of each row of logarithms, a column being of one of the groups, and its standard error over these.

    Budgets and parts of a database, and databases that share people, are one observation: each group counts once.

    >>> over_groups(np.array([[1.0, 3.0, 4.0]]), ["a", "a", "b"])
    (array([3.]), array([1.]))
    """
    names, which = np.unique(groups, return_inverse=True)
    means = np.stack([np.nanmean(logs[:, which == place], axis=1) for place in range(len(names))], axis=1)
    spread = means.std(axis=1, ddof=1) if len(names) > 1 else np.full(len(logs), np.nan)
    return means.mean(axis=1), spread / np.sqrt(len(names))


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
    ends = (part for part, looks_at in zip(rows, feature, strict=True) if looks_at == LEAF)
    values = np.stack([_summary(regrets[part], best[part], weights[part]) for part in ends])
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
