"""How values speak for classes, read from noisy counts by value and class: smoothed as far as the counts bear it out.

After Robbins, An empirical Bayes approach to statistics, 1956, and Rasmussen and Williams, Gaussian processes for
machine learning, 2006. If an attribute told nothing of the class, a value that m rows have would have m * p of each
class, p being the class shares of all rows. What it has differs from that by m * g, by chance, and by noise of a
variance that is public. The g of an attribute's values are modelled as normal, of variance r * p * (1-p), and alike
for values that stand near each other: those k places apart are correlated by rho**k. So neighbouring bins of a number,
and grades in their order, share what they know; of names in no order, rho = 0 says that they have nothing in common.

Which r and rho an attribute has is not known. Each pair of them makes its counts more or less likely, and so does
r = 0, that it tells nothing. How common each is among attributes is estimated from all of them (some rounds of
expectation and maximisation), and an attribute's g is the mean of what they say, each weighted by how likely it is.
Where noise drowns the counts, that is next to nothing; with plenty of rows and budget, it is what was counted.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

__all__ = ["SmoothedTable", "smoothed_tables"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STRENGTHS = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
"""What r may be."""
LIKENESSES = (0.6, 0.9, 0.97)
"""What rho may be, beside 0."""
MOST_ORDERED = 128
"""Of an attribute with more values, each is read by itself: time grows with their number's cube."""
ROUNDS = 10
"""Of expectation and maximisation."""
BELIEF = 2.0
"""Attributes that are imagined to have each r and rho alike, in all, so that a few do not rule any of them out."""
SMALLEST_LIFT = 0.02
"""A value makes no class less likely than this, times its share of all rows."""
SMALLEST = 1e-9


@frozen(eq=False)
class SmoothedTable:
    """What one attribute's values say."""

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
    read = [_readings(part, variance, each, share) for part, each in zip(parts, rows, strict=True)]
    tables = []
    for each, chance, (_, signals) in zip(rows, _chances([fits for fits, _ in read]), read, strict=True):
        shares = np.maximum(share + np.tensordot(chance, signals, 1), SMALLEST_LIFT * share)
        shares /= shares.sum(axis=1, keepdims=True)
        tables.append(SmoothedTable(each, np.log(shares / share)))
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
        places = [place for place, fit in enumerate(fits) if len(fit) == kind]
        likely = np.array([np.exp(fits[place] - fits[place].max()) for place in places])
        common = np.full(kind, 1 / kind)
        for _ in range(ROUNDS):
            chances = likely * common
            chances /= chances.sum(axis=1, keepdims=True)
            common = (BELIEF / kind + chances.sum(axis=0)) / (BELIEF + len(places))
        for place, chance in zip(places, chances, strict=True):
            found[place] = chance
    return found
