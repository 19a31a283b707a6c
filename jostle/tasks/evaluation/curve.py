"""What an evaluation gives back: a ROC curve made of released counts, its area, and how far that may be off."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.given import given_path
from jostle.markup import in_picture, pre
from jostle.privacy.amounts import show_amount
from jostle.tasks.evaluation.drawing import drawn
from jostle.tasks.evaluation.error_bars import population_interval, rows_interval
from jostle.tasks.figure import new_figure
from jostle.tasks.levels import level_of, rate_of

__all__ = ["ENDINGS", "RocCurve"]

Floats = NDArray[np.float64]
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
        target = given_path(path, OptionError, fix='curve.save("curve.png")')
        try:
            if target.suffix.lower() in PICTURES:
                self.plot().savefig(target)
            else:
                target.write_text(json.dumps(self.data(), indent=2) + "\n", encoding="utf-8")
        except OSError as mistake:
            raise OptionError(f"cannot write {path}: {mistake.strerror}", fix="name another file") from None

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
