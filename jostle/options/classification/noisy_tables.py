"""What noisy counts by value and class say: how values and whole attributes speak for classes.

All of it works on released numbers. The scale of a mechanism's noise is a public number, so how far noise alone moves a
count is too. An estimate that lies between what was released and a steadier guess (all rows' class shares, a parent's)
goes as far towards what was released as the noise leaves room for: by signal / (signal + noise), both as variances.

*Shrunk counts.* After James and Stein, and Robbins, An empirical Bayes approach to statistics, 1956. If an attribute
told nothing of the class, a value that m rows have would have m * p of each class, p being the class shares of all
rows. What it has differs from that by a *signal*, by chance, and by noise of a variance that is public. The signal's
variance is modelled as r * m**2 * p * (1-p), with r from 0 to 1: how much of the class shares' greatest variance lies
between the values.

r is estimated for each attribute from released counts: their squared distance from independence, less what chance and
noise are expected to bring. One attribute's estimate is rough where noise is much, so it is drawn towards what all
attributes together say; and if all together do not stand out of the noise, every r is 0, every table is taken as
independent, and naive Bayes becomes the class shares of all rows. Then each cell is drawn towards
independence by signal / (signal + chance + noise). With plenty of budget and rows nothing is, and it is naive Bayes.

*Weights.* Attributes that repeat each other are heard too often. A row's score for a class is the sum of its values'
lifts (`smoothed_tables`), each attribute's times a weight. Where attributes are independent within classes, all weights
are 1, and the score is naive Bayes's. Otherwise they are those of Fisher's linear discriminant in the space of lifts:
if S is the covariance of lifts within classes, summed over classes by their shares, and D its diagonal, the weights b
solve S b = D 1, since of a lift, a logarithm of odds, the classes' means lie about its own variance apart. None is
below 0, or above `MOST`.

D is known from counts by value and class; off it, S is what counts of pairs of values differ by from independence
within classes, which is what noisy tallies of pairs are bought for. To have few numbers in them, values are put
together into groups of like lifts. What the noise in them does to each correlation has a known variance; correlations
are drawn towards 0 by signal / (signal + noise), so with next to no budget weights are 1 again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.optimize import nnls

from jostle.options.growing import Grove
from jostle.privacy.mechanisms import sensitivity
from jostle.tables.kernels import DenseKernel
from jostle.tables.schema import Schema

Floats = NDArray[np.float64]

SMALLEST = 1e-9
AT_FIRST = 0.5
"""Rows that every class is given at the root."""
AFTER_PARENT = 0.5
"""Rows that every node is given with its parent's class shares."""


def noise_variance(kernel: DenseKernel, schema: Schema, epsilon: Fraction) -> float:
    """The variance of the noise that each number of a kernel's tally gets: with scale b, 1 / (cosh(1/b) - 1)."""
    rate = float(epsilon) / sensitivity(kernel, schema)
    decay = math.exp(-rate)
    return max(2 * decay / math.expm1(-rate) ** 2, SMALLEST)


def averaged(first: Floats, variance: float | Floats, second: Floats, other_variance: float | Floats) -> Floats:
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


Integers = NDArray[np.int64]

SURE = 1.0
"""All attributes together are believed in where they stand out of the noise by so many standard deviations."""
KURTOSIS = 5.0
"""The variance of a squared Laplace number, in squared variances; that of a normal number is 2."""


def log_shares(counts: Floats, variance: float, totals: Floats, sizes: Integers) -> Floats:
    """The logarithms of P(value | class), values of all attributes by classes.

    *counts* are noisy counts by value, those of all attributes one after the other, and class; *variance* is that of
    their noise; *totals* are the class counts of all rows, all above 0; *sizes* says how many values each attribute
    has.
    """
    starts = np.cumsum(sizes) - sizes
    which = np.repeat(np.arange(len(sizes)), sizes)
    rows, share = float(totals.sum()), totals / totals.sum()
    having, trust = _margins(counts.sum(axis=1), counts.shape[1] * variance, rows, sizes)
    part = (having / rows)[:, None]
    expected = having[:, None] * share
    apart = counts - expected
    spread = share * (1 - share)
    follow = trust[which][:, None] * share  # what of a cell's own noise is in what is expected of it, too
    noise = variance * (1 - 2 * follow + counts.shape[1] * follow**2)
    chance = having[:, None] * spread * (1 - part)
    told = _between_values(apart, noise, chance, having**2 * spread.sum(), starts)
    signal = told[which][:, None] * having[:, None] ** 2 * spread
    shrunk = np.maximum(expected + signal / (signal + noise + chance + SMALLEST) * apart, 0)
    shrunk += sizes[which][:, None] * part  # one row for each value on average, as naive Bayes has it
    shares: Floats = np.log(shrunk) - np.log(np.add.reduceat(shrunk, starts, axis=0))[which]
    return shares


def _margins(counts: Floats, variance: float, rows: float, sizes: Integers) -> tuple[Floats, Floats]:
    """How many rows have each value, drawn towards even numbers, and how far each attribute's are trusted.

    For each attribute the numbers add up to all rows.
    """
    starts, which = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    even = (rows / sizes)[which]
    apart = counts - even
    noise = variance * (sizes - 1) + rows
    trust = np.maximum(1 - noise / np.maximum(np.add.reduceat(apart**2, starts), SMALLEST), 0)
    having = np.maximum(even + trust[which] * apart, 0) + 1
    having *= (rows / np.add.reduceat(having, starts))[which]
    return having, trust


def _between_values(apart: Floats, noise: Floats, chance: Floats, greatest: Floats, starts: Integers) -> Floats:
    """Each attribute's r."""
    excess = np.add.reduceat((apart**2 - noise - chance).sum(axis=1), starts)
    most = np.maximum(np.add.reduceat(greatest, starts), SMALLEST)
    unsure = (KURTOSIS * noise**2 + 4 * noise * chance + 2 * chance**2).sum(axis=1)
    error = np.sqrt(np.add.reduceat(unsure, starts))
    overall = max(0.0, float(excess.sum() - SURE * np.sqrt((error**2).sum())) / float(most.sum()))
    if not overall:
        return np.zeros(len(starts))
    own, precision = excess / most, 1 / np.maximum(error / most, SMALLEST) ** 2
    return np.asarray(np.clip((own * precision + 1 / overall) / (precision + overall**-2), 0, 1))


STRENGTHS = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
"""What r may be."""
LIKENESSES = (0.6, 0.9, 0.97)
"""What rho may be, beside 0."""
MOST_ORDERED = 128
"""Of an attribute with more values, each is read by itself: time grows with their number's cube."""
MIXTURE_ROUNDS = 10
"""Of expectation and maximisation."""
BELIEF = 2.0
"""Attributes that are imagined to have each r and rho alike, in all, so that a few do not rule any of them out."""
SMALLEST_LIFT = 0.02
"""A value makes no class less likely than this, times its share of all rows."""


@frozen(eq=False)
class SmoothedTable:
    """What one attribute's values say.

    How values speak for classes, read from noisy counts by value and class: smoothed as far as the counts bear it out.

    After Robbins, An empirical Bayes approach to statistics, 1956, and Rasmussen and Williams, Gaussian processes for
    machine learning, 2006. If an attribute told nothing of the class, a value that m rows have would have m * p of each
    class, p being the class shares of all rows. What it has differs from that by m * g, by chance, and by noise of a
    variance that is public. The g of an attribute's values are modelled as normal, of variance r * p * (1-p), and alike
    for values that stand near each other: those k places apart are correlated by rho**k. So neighbouring bins of a
    number, and grades in their order, share what they know; of names in no order, rho = 0 says that they have nothing
    in common.

    Which r and rho an attribute has is not known. Each pair of them makes its counts more or less likely, and so does
    r = 0, that it tells nothing. How common each is among attributes is estimated from all of them (some rounds of
    expectation and maximisation), and an attribute's g is the mean of what they say, each weighted by how likely it is.
    Where noise drowns the counts, that is next to nothing; with plenty of rows and budget, it is what was counted.
    """

    rows: Floats
    """How many rows have each value."""
    lifts: Floats
    """log P(class | value) / P(class), values by classes."""

    @property
    def shares(self) -> Floats:
        """P(value | class), values by classes."""
        weight = self.rows[:, None] * np.exp(self.lifts)
        return np.asarray(weight / weight.sum(axis=0))


def smoothed_tables(counts: Floats, variance: float, totals: Floats, sizes: Integers) -> list[SmoothedTable]:
    """Tables of attributes that stand one after the other in noisy counts by value and class.

    *variance* is that of the counts' noise; *totals* are the class counts of all rows, all above 0; *sizes* says how
    many values each attribute has.
    """
    share = totals / totals.sum()
    parts = np.split(counts, np.cumsum(sizes)[:-1])
    rows = [_rows(part, variance, float(totals.sum())) for part in parts]
    read = [_readings(part, variance, row, share) for part, row in zip(parts, rows, strict=True)]
    tables = []
    for row, chance, (_, signals) in zip(rows, _chances([fits for fits, _ in read]), read, strict=True):
        shares = np.maximum(share + np.tensordot(chance, signals, 1), SMALLEST_LIFT * share)
        shares /= shares.sum(axis=1, keepdims=True)
        tables.append(SmoothedTable(row, np.log(shares / share)))
    return tables


def _rows(counts: Floats, variance: float, rows: float) -> Floats:
    """How many rows have each value, drawn towards even numbers; they add up to all rows."""
    values, classes = counts.shape
    even = rows / values
    apart = counts.sum(axis=1) - even
    noise = classes * variance * (values - 1) + rows
    trust = max(0.0, 1 - noise / max(float((apart**2).sum()), SMALLEST))
    having = np.maximum(even + trust * apart, 0) + 1
    return np.asarray(having * (rows / having.sum()))


def _readings(counts: Floats, variance: float, rows: Floats, share: Floats) -> tuple[Floats, Floats]:
    """The logarithm of how likely each r and rho makes an attribute's counts, and the g by each: values by classes."""
    values, classes = counts.shape
    spread = np.maximum(share * (1 - share), SMALLEST)
    apart = counts - rows[:, None] * share
    unsure = variance + rows[:, None] * spread
    fits = [float(-(apart**2 / unsure + np.log(unsure)).sum() / 2)]
    signals = [np.zeros_like(apart)]
    for strength in STRENGTHS:
        signal = strength * spread * rows[:, None] ** 2
        total = signal + unsure
        fits.append(float(-(apart**2 / total + np.log(total)).sum() / 2))
        signals.append(signal / total * apart / rows[:, None])
    if 2 < values <= MOST_ORDERED:
        places = np.arange(values)
        for likeness in LIKENESSES:
            alike = likeness ** np.abs(np.subtract.outer(places, places))
            for strength in STRENGTHS:
                total = strength * spread[:, None, None] * (alike * np.outer(rows, rows))
                total[:, places, places] += unsure.T
                solved = np.linalg.solve(total, apart.T[..., None])[..., 0]
                fits.append(float(-((solved * apart.T).sum() + np.linalg.slogdet(total)[1].sum()) / 2))
                signals.append((strength * spread[:, None] * ((solved * rows) @ alike)).T)
    # Of so many classes one is what the others leave over, and says nothing of its own.
    return np.array(fits) * (classes - 1) / classes, np.array(signals)


def _chances(fits: list[Floats]) -> list[Floats]:
    """How likely each r and rho is for each attribute; attributes that have no order to use stand by themselves."""
    found: list[Floats] = [np.empty(0)] * len(fits)
    for kind in {len(fit) for fit in fits}:
        places = [index for index, fit in enumerate(fits) if len(fit) == kind]
        likely = np.array([np.exp(fits[place] - fits[place].max()) for place in places])
        common = np.full(kind, 1 / kind)
        for _ in range(MIXTURE_ROUNDS):
            chances = likely * common
            chances /= chances.sum(axis=1, keepdims=True)
            common = (BELIEF / kind + chances.sum(axis=0)) / (BELIEF + len(places))
        for place, chance in zip(places, chances, strict=True):
            found[place] = chance
    return found


def pooled_shares(grove: Grove, counts: Floats, variances: Floats, first: Floats, first_variance: float) -> Floats:
    """Each node's class shares, noisy counts drawn towards what the parent's shares lead to expect.

    *counts* are the noisy counts of one tree's nodes by class, inner nodes holding the sum of their leaves;
    *variances* are those of each node's noise; *first* is another noisy copy of the root's counts. A node of m rows
    is expected to have m * p of a class, p its parent's share. What it has differs by a signal of variance
    r * m**2 * p * (1-p), by chance, m * p * (1-p), and by noise. Each split has an r, as an
    attribute has (`SmoothedTable`): one is as likely as it makes the counts of the parts, and as it is common among the
    splits of the level.
    """
    shares, rows = np.empty_like(counts), np.empty(len(counts))
    at_root = np.maximum(averaged(first, first_variance, counts[0], float(variances[0])), 0) + AT_FIRST
    rows[0] = at_root.sum()
    shares[0] = at_root / rows[0]
    for level in range(1, int(grove.level.max(initial=0)) + 1):
        nodes = np.flatnonzero(grove.level == level)
        parents, split = np.unique(grove.parent[nodes], return_inverse=True)
        noise = variances[nodes][:, None]
        rows[nodes] = _rows_of_parts(counts[nodes].sum(axis=1), counts.shape[1] * noise[:, 0], rows[parents], split)
        having, above = rows[nodes][:, None], shares[grove.parent[nodes]]
        expected = having * above
        found = np.maximum(expected + _signals(counts[nodes] - expected, having, above, noise, split), 0)
        found += AFTER_PARENT * above
        shares[nodes] = found / found.sum(axis=1, keepdims=True)
    return shares


def _rows_of_parts(counts: Floats, variances: Floats, rows: Floats, split: Integers) -> Floats:
    """How many rows the parts of splits have: noisy numbers drawn towards even ones, which deviate by as much again.

    *rows* are those of each split, which its parts add up to.
    """
    even = (rows / np.bincount(split))[split]
    having = np.maximum(averaged(even, even**2, counts, variances), 0) + 1
    return np.asarray(having * (rows / np.bincount(split, having))[split])


def _signals(apart: Floats, rows: Floats, share: Floats, noise: Floats, split: Integers) -> Floats:
    """How far the parts of splits really are from what is expected of them: parts by classes."""
    spread = np.maximum(share * (1 - share), SMALLEST)
    greatest, unsure = rows**2 * spread, noise + rows * spread
    strengths = (0.0, *STRENGTHS)
    fits = []
    for strength in strengths:
        total = strength * greatest + unsure
        fit = -(apart**2 / total + np.log(total)).sum(axis=1) / 2
        fits.append(np.bincount(split, fit) * (share.shape[1] - 1) / share.shape[1])
    chances = np.array(_chances(list(np.array(fits).T)))
    signals = np.zeros_like(apart)
    for strength, chance in zip(strengths, chances.T, strict=True):
        signals += chance[split][:, None] * (strength * greatest / (strength * greatest + unsure)) * apart
    return signals


MOST = 2.0
"""A weight."""
LARGEST = 0.95
"""A correlation."""
LEAST_SPREAD = 0.1
"""The least variance that correlated lifts are taken to have in any direction."""
GROUPING_ROUNDS = 20
"""Of putting values into groups."""


def groups_of(table: SmoothedTable, groups: int) -> Integers:
    """The group of each value, from 0 up: those with like lifts, along the line that tells most of them apart."""
    part = table.rows / table.rows.sum()
    centred = table.lifts - part @ table.lifts
    along = centred @ np.linalg.eigh((centred * part[:, None]).T @ centred)[1][:, -1]
    centres = np.unique(np.quantile(along, (np.arange(groups) + 0.5) / groups))
    for _ in range(GROUPING_ROUNDS):
        nearest = np.abs(along[:, None] - centres).argmin(axis=1)
        weight = np.bincount(nearest, part, len(centres))
        middle = np.bincount(nearest, part * along, len(centres)) / np.maximum(weight, SMALLEST)
        centres = np.where(weight > 0, middle, centres)
    return np.asarray(np.unique(nearest, return_inverse=True)[1], dtype=np.int64)


def attribute_weights(
    tables: list[SmoothedTable], groups: list[Integers], pairs: Floats, variance: float, share: Floats
) -> Floats:
    """Weights of attributes, from noisy counts of all their pairs of groups, of this variance, one after the other."""
    rows = float(tables[0].rows.sum())
    spread = np.array([_spread(table, share) for table in tables]) + SMALLEST
    sides = [_by_group(table, group) for table, group in zip(tables, groups, strict=True)]
    found, noise = np.zeros((len(tables),) * 2), np.ones((len(tables),) * 2)
    start = 0
    for one, other in combinations(range(len(tables)), 2):
        (shares, lifts), (others, other_lifts) = sides[one], sides[other]
        cells = len(shares) * len(others)
        apart = pairs[start : start + cells].reshape(len(shares), -1) - rows * (shares * share) @ others.T
        weight = (lifts * share) @ other_lifts.T / (rows * np.sqrt(spread[one] * spread[other]))
        found[one, other] = found[other, one] = (weight * apart).sum()
        noise[one, other] = noise[other, one] = variance * (weight**2).sum()
        start += cells
    return _solved(found, noise, np.sqrt(spread))


def _spread(table: SmoothedTable, share: Floats) -> float:
    """The variance of an attribute's lifts within classes, summed over classes by their shares."""
    means = table.shares.T @ table.lifts
    return float(
        sum(share[c] * (table.shares[:, c] @ (table.lifts - means[c]) ** 2) @ share for c in range(len(share)))
    )


def _by_group(table: SmoothedTable, group: Integers) -> tuple[Floats, Floats]:
    """P(group | class), and each group's mean lifts less the mean of all groups: groups by classes."""
    member = np.eye(int(group.max()) + 1)[group].T
    weight = member * table.rows
    lifts = weight @ table.lifts / weight.sum(axis=1, keepdims=True)
    return member @ table.shares, lifts - lifts.mean(axis=0)


def _solved(correlations: Floats, noise: Floats, deviations: Floats) -> Floats:
    """Weights b of at least 0 that come nearest to S b = D 1."""
    off = np.triu_indices(len(deviations), 1)
    signal = max(0.0, float((correlations[off] ** 2 - noise[off]).mean()))
    drawn = np.clip(correlations * (signal / (signal + noise + SMALLEST)), -LARGEST, LARGEST)
    np.fill_diagonal(drawn, 1)
    sizes, directions = np.linalg.eigh(drawn)
    whole = (directions * np.maximum(sizes, LEAST_SPREAD)) @ directions.T
    root = np.linalg.cholesky(whole / np.sqrt(np.outer(np.diag(whole), np.diag(whole))))
    return np.asarray(np.minimum(nnls(root.T, np.linalg.solve(root, deviations))[0] / deviations, MOST))


def thresholds(tables: list[SmoothedTable], weights: Floats, share: Floats) -> Floats:
    """What is taken off each class's score, so that two classes of equal shares tie midway between their rows' means.

    For two classes that is where their scores differ by the mean of what they differ by among rows of the one and of
    the other; of more, these are averaged.
    """
    means = np.zeros((len(share), len(share)))
    for weight, table in zip(weights, tables, strict=True):
        means += weight * (table.shares.T @ table.lifts)
    own = np.diag(means)
    between = ((own[:, None] - means) + (means.T - own[None, :])) / 2
    return np.asarray((between * share).sum(axis=1))
