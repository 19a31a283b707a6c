"""ProjectedHistogram: rows on a few columns that tell the labels apart, from a thresholded histogram.

Vinterbo, Differentially private projected histograms: construction and use for prediction. ECML PKDD 2012. On the
published rows the paper trains logistic regressions (HLR and HMLR), and others decision trees and SVMs (PPH).

The columns are chosen one by one by k-discernibility (`Discernibility`, which needs half of the paper's budget where
rows come and go); the histogram over them and the label is noised and thresholded without visiting empty cells. Where
rows are added or removed, its noise has scale 1/epsilon where the paper's has 2/epsilon, which is for replaced rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import bought_rows, rows_share
from jostle.options.publishing.base import Publisher, even_groups, noise_scale, own_groups, released
from jostle.options.publishing.discerning import bins_for, histogram_share, simulated_k
from jostle.options.ranges.thresholded_histogram import threshold
from jostle.parameters import choice, share, whole
from jostle.privacy.discernibility import Discernibility
from jostle.privacy.probe import Probe
from jostle.tables.kernels import SparseCounts
from jostle.tables.schema import Schema
from jostle.tasks.publishing import Published

__all__ = ["ProjectedHistogram"]

Bins = Literal["projected", "paper"]
FACTOR = 0.25
"""The threshold, in log(rows) times the noise's scale: the paper's A = 1/2 over epsilon, with noise of 2 over it."""
PARTS = 1000
"""Shares of the budget are multiples of 1/PARTS."""
LEAST_SHARE = Fraction(1, 20)
MOST_CELLS = 2**48
"""Columns that would give more cells are not chosen, so that each cell has a number, and so has each candidate's."""


@option
@frozen(kw_only=True)
class ProjectedHistogram(Publisher):
    """A few columns by private k-discernibility, then a thresholded histogram of them and the label.

    Privacy: the number of rows by `AddNoise` unless it is known; k picks (`Discernibility`), each at its part of
    epsilon; the cells by `AddNoiseAbove`. How epsilon is split follows from the number of rows, which is known or was
    released, so in turn these cost epsilon, under add_remove and replace_one.
    """

    k: int = whole(0, least=0)
    """How many columns to project on; 0 for as many as MDA takes of the paper's simulated rows."""
    gamma: Fraction = share("0", zero=True)
    """The histogram's share of the budget; 0 for the paper's rule."""
    bins: Bins = choice("projected", Bins)
    """Numbers are cut into as many bins as suits the columns projected on, or, as printed, all columns."""
    rows_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of rows, unless it is public."""
    paper = "Vinterbo, ECML PKDD 2012"

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run: no label, or fewer attributes than columns asked for."""
        count = len(schema.attributes)
        if schema.label is not None and self.k > count:
            return f"k={self.k} columns are asked for, and there are {count} attributes"
        return super().refuses(schema)

    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:
        """A caution that the cells of the columns asked for are too many for so many rows, where they are."""
        bins, k = self.plan(schema, left, rows)
        cells = _usual_cells(schema, bins, k)
        if rows < cells * noise_scale(schema, left):
            return (
                f"{rows:,} rows are few for {k} of these columns at this epsilon: the about {cells:,.0f} cells hold "
                "less than the noise on average; use a larger epsilon or a smaller k"
            )
        return ""

    def run(self, db: Probe, epsilon: Fraction) -> Published:
        """The rows that the noisy cells stand for."""
        schema, label = db.schema, db.schema.label or ""
        rows = bought_rows(db, epsilon, self.rows_share)
        left = epsilon * (1 - rows_share(db.rows, self.rows_share))
        bins, k = self.plan(schema, left, rows)
        groups = {name: even_groups(schema, name, bins) for name in schema.attributes}
        cost = self.share_of_histogram(schema, rows, k, bins) * left
        chosen = _chosen(db, groups, k, left - cost)
        spent = left if len(chosen) == len(schema.attributes) or not chosen else cost
        names = tuple(name for name in schema.names if name in {*chosen, label})
        groups[label] = own_groups(schema, label)
        kept = tuple(groups[name] for name in names)
        sides = [max(own) + 1 for own in kept]
        least = threshold(rows, math.prod(sides), 1 / noise_scale(schema, spent), FACTOR)
        found = db.measure_sparse(SparseCounts(names, kept), spent, threshold=least, site="cells above")
        cells = np.stack(np.unravel_index(found.keys, sides), axis=1).astype(np.int64)
        counts = [_summed(cells[:, place], found.values, side) for place, side in enumerate(sides)]
        return Published(
            schema=schema,
            columns=released(names, kept, counts),
            cells=cells,
            counts=found.values,
            made_by=self.name,
            epsilon=epsilon,
            caution=self.caution(schema, left, rows),
        )

    def plan(self, schema: Schema, left: Fraction, rows: int) -> tuple[int, int]:
        """How many bins numbers are cut into, and how many columns are projected on.

        Where the number of columns is not given, they are as many as in the paper, but no more than give cells that
        hold as many rows as noise on average.
        """
        attributes = len(schema.attributes)
        if self.k or not attributes:
            return self._bins(rows, self.k, attributes), self.k
        k = simulated_k(rows, attributes, len(schema.classes), bins_for(rows, attributes))
        while k > 1 and rows < _usual_cells(schema, self._bins(rows, k, attributes), k) * noise_scale(schema, left):
            k -= 1
        return self._bins(rows, k, attributes), k

    def _bins(self, rows: int, k: int, attributes: int) -> int:
        return bins_for(rows, k if self.bins == "projected" else attributes)

    def share_of_histogram(self, schema: Schema, rows: int, k: int, bins: int) -> Fraction:
        """Gamma: as it was given, or what the paper's rule estimates."""
        if self.gamma:
            return self.gamma
        exact = histogram_share(rows, len(schema.attributes), len(schema.classes), k, bins)
        return min(max(Fraction(round(exact * PARTS), PARTS), LEAST_SHARE), 1 - LEAST_SHARE)


def _usual_cells(schema: Schema, bins: int, k: int) -> float:
    """How many cells k columns of the usual size have, with the label."""
    sizes = [max(even_groups(schema, name, bins)) + 1 for name in schema.attributes]
    usual = math.exp(sum(map(math.log, sizes)) / max(len(sizes), 1))
    return len(schema.classes) * usual ** min(k, 500)


def _chosen(db: Probe, groups: dict[str, tuple[int, ...]], k: int, epsilon: Fraction) -> list[str]:
    """Columns picked one by one; all there are, where no choice is to be made, and nothing is spent."""
    schema = db.schema
    if k >= len(schema.attributes):
        return list(schema.attributes)
    chosen: list[str] = []
    cells = len(schema.classes)
    for place in range(k):
        left = tuple(name for name in schema.attributes if name not in chosen)
        left = tuple(name for name in left if cells * (max(groups[name]) + 1) <= MOST_CELLS) or left[:1]
        own = tuple(groups[name] for name in (*chosen, *left))
        found = db.pick(Discernibility(tuple(chosen), left, own), epsilon / k, site=f"column {place + 1}")
        chosen.append(left[found])
        cells *= max(groups[left[found]]) + 1
    return chosen


def _summed(codes: np.ndarray, values: np.ndarray, side: int) -> np.ndarray:
    totals = np.zeros(side)
    np.add.at(totals, codes, values)
    return totals
