"""What an evaluation gives back: a ROC curve made of released counts, its area, how far that may be off, its picture.

*The rows' own area.* With p and q the true counts of both kinds of rows by interval, lowest scores first, the area A
lies between A0 = sum p_i (q_1 + ... + q_(i-1)) / (P Q), where rows of one interval count as ordered wrongly, and A1,
where they count as ordered rightly; so it does whatever the order inside intervals is. What is released are counts with
noise of a known distribution. For each a, "A is a" is held against p'K q' - a P'Q', where p' and q' are the released
counts less noise that is drawn anew; an a is kept unless all but level/2 of these say that A0 is above it, or A1 below.
Taking noise off a second time overstates the spread: by the noise's own products, which are what makes the statement
hard to prove and easy to try. It is a statement by simulation, and docs/benchmarks/evaluation.md says what came of it.

*The population's area.* Of rows that are drawn independently, the area is a mean over pairs, and Hoeffding (1963) shows
that such a mean deviates no more often than that of min(P, Q) independent numbers from 0 to 1: the chance that it is
above (or below) by so much is at most exp(-min(P, Q) KL(area of the rows, area of the population)). The level is split
among the rows' area, the number of rows of the rarer kind, and this.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.files.kinds import writing
from jostle.markup import in_picture, pre, words
from jostle.privacy.amounts import show_amount
from jostle.privacy.tails import mean_from
from jostle.tables.regions import haar_side
from jostle.tasks.answers import level_of, new_figure, rate_of

Floats = NDArray[np.float64]
DRAWS = 4000
SEED = 0
"""What is drawn here has nothing to do with rows: it tells how wide noise is. The same answer has the same bar."""
STEPS = 1000
"""The areas that are tried: ends are rounded outwards to a multiple of 1 / STEPS."""


def drawn_noise(scales: Sequence[float], intervals: int, count: int) -> Floats:
    """Noise on counts by interval, *count* times: of one scale, or that of a wavelet with so many levels."""
    generator = np.random.default_rng(SEED)

    def noise(scale: float, size: int) -> Floats:
        down, up = np.floor(generator.exponential(scale, (2, count, 2, size)))
        return np.asarray(up - down)

    if len(scales) == 1:
        return noise(scales[0], intervals)
    side = haar_side(intervals)
    cells, length = noise(scales[0], 1), 1
    for scale in scales[1:]:
        differences = noise(scale, length)
        length *= 2
        halves = np.empty((count, 2, length))
        halves[..., 0::2], halves[..., 1::2] = (cells + differences) / 2, (cells - differences) / 2
        cells = halves
    return np.asarray(cells[..., : min(side, intervals)])


def rows_interval(counts: Floats, scales: Sequence[float], level: float) -> tuple[float, float]:
    """An interval for the area under the rows' own curve, from counts of both kinds of rows by interval."""
    positives, others = _without_noise(counts, scales)
    ordered = (positives * (np.cumsum(others, axis=1) - others)).sum(axis=1)
    tied = (positives * others).sum(axis=1)
    pairs = positives.sum(axis=1) * others.sum(axis=1)
    tried = np.arange(STEPS + 1) / STEPS
    rest = (1 - level) / 2
    kept = (_share_not_above(ordered, pairs, tried) >= rest) & (
        _share_not_above(-ordered - tied, -pairs, tried) >= rest
    )
    if not kept.any():
        return 0.0, 1.0
    places = np.flatnonzero(kept)
    return float(tried[max(places[0] - 1, 0)]), float(tried[min(places[-1] + 1, STEPS)])


def population_interval(counts: Floats, scales: Sequence[float], level: float) -> tuple[float, float]:
    """An interval for the area under the curve of the population that rows were drawn from independently."""
    rest = 1 - level
    low, high = rows_interval(counts, scales, 1 - rest / 2)
    positives, others = _without_noise(counts, scales)
    rarer = math.floor(min(np.quantile(each.sum(axis=1), rest / 8) for each in (positives, others)))
    if rarer < 1:
        return 0.0, 1.0
    return mean_from(low, rarer, rest / 8, upward=False), mean_from(high, rarer, rest / 8, upward=True)


def _without_noise(counts: Floats, scales: Sequence[float]) -> tuple[Floats, Floats]:
    found = counts - _kept_noise(tuple(scales), counts.shape[1])
    return found[:, 0], found[:, 1]


@lru_cache(maxsize=1)
def _kept_noise(scales: tuple[float, ...], intervals: int) -> Floats:
    """The draws for one kind of noise, which several intervals are asked of."""
    return drawn_noise(scales, intervals, DRAWS)


def _share_not_above(sums: Floats, pairs: Floats, tried: Floats) -> Floats:
    """For each a the share of draws in which the sum is at most a times the number of pairs."""
    holds = np.zeros(len(tried))
    over, under, none = pairs > 0, pairs < 0, pairs == 0
    holds += np.searchsorted(np.sort(sums[over] / pairs[over]), tried, side="right")
    holds += under.sum() - np.searchsorted(np.sort(sums[under] / pairs[under]), tried, side="left")
    holds += (sums[none] <= 0).sum()
    return np.asarray(holds / len(sums))


SIDE, EDGE = 320, 28
BLUE = "#31567b"


def drawn(others: Floats, own: Floats, positive: str) -> str:
    """A picture of a curve through these rates, of the other rows and of the class's own."""
    inside = SIDE - 2 * EDGE
    points = " ".join(
        f"{EDGE + x * inside:.2f},{SIDE - EDGE - y * inside:.2f}"
        for x, y in zip(others.tolist(), own.tolist(), strict=True)
    )
    low, high = EDGE, SIDE - EDGE
    text = 'font-family="system-ui,sans-serif" font-size="13" fill="currentColor"'
    return (
        f'<svg class="square" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" role="img" '
        f'aria-label="ROC curve for {words(positive)}">'
        f'<rect x="{low}" y="{low}" width="{inside}" height="{inside}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.3"/>'
        f'<line x1="{low}" y1="{high}" x2="{high}" y2="{low}" stroke="currentColor" stroke-opacity="0.3"/>'
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="2"/>'
        f'<text x="{low}" y="18" {text}>share of {words(positive)} found</text>'
        f'<text x="{high}" y="{SIDE - 8}" text-anchor="end" {text}>share of the others taken for it</text></svg>'
    )


PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (".json", *PICTURES)
"""Of files that a curve is written to."""
SHOWN = 20
"""Thresholds that people see."""


@frozen(eq=False, repr=False, kw_only=True)
class RocCurve:
    """How many rows of a class are found, for how many others that are taken for it, from threshold to threshold.

    Made of released counts and public facts alone, so all that it can be asked is covered by the privacy claim of the
    run that made it. Straight between its points.
    """

    thresholds: Floats
    """Scores, falling: rows at or above one are taken for the class. One fewer than the curve has stretches."""
    false_positive_rates: Floats
    """From 0 to 1: of the other rows, the share that is at or above no threshold, each threshold, any."""
    true_positive_rates: Floats
    """The same of the class's own rows."""
    counts: Floats = field()
    """Rows of the class, and of the others, by interval of scores, lowest first; as they were released, with noise."""
    scales: tuple[float, ...]
    """The scale of their noise; several, of a wavelet's levels, coarsest first."""
    scorer: str
    """What gave the scores."""
    positive: str
    """The class that is looked for."""
    made_by: str = ""
    epsilon: Fraction | None = None

    @property
    def auc(self) -> float:
        """The area under the curve: an estimate, of which `interval` says how far it may be off."""
        widths = np.diff(self.false_positive_rates)
        return float((widths * (self.true_positive_rates[1:] + self.true_positive_rates[:-1]) / 2).sum())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the area of these very rows' scores: noise and unknown order inside intervals.

        In so large a share of runs it holds the area; all from 0 to 1, where noise drowns the rows.
        """
        return self._widened(rows_interval(self.counts, self.scales, level_of(level)))

    def population_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the area in the population that the rows were drawn from, one by one and at random."""
        return self._widened(population_interval(self.counts, self.scales, level_of(level)))

    def _widened(self, ends: tuple[float, float]) -> tuple[float, float]:
        """An interval that also holds the estimate, which makes it no less likely to hold the truth."""
        return min(ends[0], self.auc), max(ends[1], self.auc)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """The share of the class that is found at the price of so many others, as a share of all others."""
        wanted = rate_of(false_positive_rate)
        last = np.searchsorted(self.false_positive_rates, wanted, side="right")
        if last == len(self.false_positive_rates):
            return 1.0
        x, y = (each[last - 1 : last + 1] for each in (self.false_positive_rates, self.true_positive_rates))
        return float(y[0] + (y[1] - y[0]) * (wanted - x[0]) / (x[1] - x[0]))

    def text(self) -> str:
        """The area with its error bars, and the rates at some thresholds."""
        low, high = self.interval()
        below, above = self.population_interval()
        step = -(-len(self.thresholds) // SHOWN) or 1
        rows = list(zip(self.thresholds, self.true_positive_rates[1:], self.false_positive_rates[1:], strict=False))
        bars = (
            f"  95% for these rows {low:.3f} to {high:.3f}; "
            f"for the population they are drawn from {below:.3f} to {above:.3f}"
        )
        return "\n".join(
            [
                f"area under the ROC curve of {self.scorer} for {self.positive!r}: {self.auc:.3f}",
                bars,
                "score from   found   of the others",
                *(f"{score:10.4g}  {found:6.1%}  {wrong:6.1%}" for score, found, wrong in rows[::step]),
            ]
        )

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "auc": self.auc,
            "interval": list(self.interval()),
            "population_interval": list(self.population_interval()),
            "level": 0.95,
            "thresholds": self.thresholds.tolist(),
            "false_positive_rates": self.false_positive_rates.tolist(),
            "true_positive_rates": self.true_positive_rates.tolist(),
            "counts": self.counts.tolist(),
            "scales": list(self.scales),
            "scorer": self.scorer,
            "positive": self.positive,
            "made_by": self.made_by,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
        }

    def save(self, path: str | Path) -> None:
        """Write it to a file: a picture where the name ends as one's does, else all of it as JSON."""
        with writing(path, OptionError) as target:
            if target.suffix.lower() in PICTURES:
                self.plot().savefig(target)
            else:
                target.write_text(json.dumps(self.data(), indent=2) + "\n", encoding="utf-8")

    def plot(self) -> Any:
        """A matplotlib figure of the curve."""
        low, high = self.interval()
        figure = new_figure(4.6, 4.6)
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
        axes.plot(self.false_positive_rates, self.true_positive_rates, marker="o", markersize=3, linewidth=1.4)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.set_xlabel("share of the others taken for it")
        axes.set_ylabel(f"share of {in_picture(self.positive)} found")
        axes.set_title(f"{in_picture(self.scorer)}\narea {self.auc:.3f}, 95% {low:.3f} to {high:.3f}", fontsize=9)
        return figure

    def _repr_html_(self) -> str:
        """A picture, and what is said of it, for a notebook and a report."""
        return drawn(self.false_positive_rates, self.true_positive_rates, self.positive) + pre(self.text())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        spent = "" if self.epsilon is None else f", epsilon {show_amount(self.epsilon)}"
        return f"<RocCurve of {self.scorer} for {self.positive!r}: area {self.auc:.3f}{spent}>"
