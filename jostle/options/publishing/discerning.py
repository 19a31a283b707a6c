"""Which columns to project on, how many, and for what part of the budget: Vinterbo's rules for projected histograms.

All of this is about rows that are public or simulated, and about numbers that are public or were released.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.publishing.base import even_groups
from jostle.tables.frames import encode_frame
from jostle.tables.schema import Schema

__all__ = ["bandwidth", "bins_for", "histogram_share", "mda", "nonprivate_kd", "simulated_k"]

Integers = NDArray[np.int64]

SIGMA = 0.1
"""Which share of the pairs that all columns discern a few may leave undiscerned."""
LOST = 0.05
"""Which share of the pairs may be lost to noise."""
A = B = 0.5
CHANCE = 0.9
"""How likely a row's cell is to pass the threshold."""
MOST_SIMULATED = 10_000
MOST_COLUMNS = 12
"""Simulated columns are alike, so that more of them change nothing."""
SEED = 0


@frozen(eq=False, repr=False)
class PublicRows:
    """Public rows as codes, whose pairs may be counted without noise."""

    names: tuple[str, ...]
    codes: Integers
    """Rows by columns."""
    labels: Integers

    def in_groups(self, groups: Sequence[Sequence[int]]) -> PublicRows:
        """The same rows, with the group of each code of each column in its place."""
        own = [np.asarray(each, dtype=np.int64)[self.codes[:, place]] for place, each in enumerate(groups)]
        return evolve(self, codes=np.column_stack(own) if own else self.codes)

    def cells(self, before: Integers, column: int) -> Integers:
        """Which rows a column more leaves alike: a number for each row's cell."""
        own = self.codes[:, column]
        _, found = np.unique(before * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
        return np.asarray(found, dtype=np.int64)

    def discerned(self, cells: Integers) -> int:
        """How many ordered pairs of rows are of different labels and in different cells."""
        classes = int(self.labels.max(initial=0)) + 1
        total = np.bincount(self.labels).astype(object)
        joint = np.bincount(cells * classes + self.labels).astype(object)
        each = np.bincount(cells).astype(object)
        different = len(cells) ** 2 - int((total * total).sum())
        return different - int((each * each).sum()) + int((joint * joint).sum())

    def greedy(self) -> Iterator[tuple[str, int]]:
        """Yield the columns, each time the one that discerns most, with how many pairs all so far discern."""
        cells, left = np.zeros(len(self.labels), dtype=np.int64), list(range(len(self.names)))
        while left:
            tried = {column: self.cells(cells, column) for column in left}
            best = max(left, key=lambda column: self.discerned(tried[column]))
            cells = tried[best]
            left.remove(best)
            yield self.names[best], self.discerned(cells)

    def everything(self) -> int:
        """How many pairs all columns discern."""
        cells = np.zeros(len(self.labels), dtype=np.int64)
        for column in range(len(self.names)):
            cells = self.cells(cells, column)
        return self.discerned(cells)


def _public(frame: Any, schema: Schema) -> PublicRows:
    if schema.label is None:
        raise OptionError("the schema names no label", fix='Schema(columns, label="...")')
    block = encode_frame(frame, schema)
    codes = np.empty((block.length, len(schema.attributes)), dtype=np.int64)
    for place, name in enumerate(schema.attributes):
        codes[:, place] = block.columns[name]
    return PublicRows(schema.attributes, codes, block.columns[schema.label].astype(np.int64))


def nonprivate_kd(frame: Any, schema: Schema, k: int) -> tuple[str, ...]:
    """The k columns of a *public* frame that discern about the most pairs of rows of different labels.

    At least 1 - 1/e as many as the best k columns do. There is no noise: for data that everybody may see.
    """
    if not 0 <= k <= len(schema.attributes):
        raise OptionError(
            f"k={k} columns are asked for, and there are {len(schema.attributes)}", fix=f"k={len(schema.attributes)}"
        )
    return tuple(name for name, _ in zip((name for name, _ in _public(frame, schema).greedy()), range(k), strict=False))


def mda(frame: Any, schema: Schema, sigma: float = SIGMA) -> tuple[str, ...]:
    """Few columns of a *public* frame that discern a share of 1 - sigma of what all columns discern.

    Numbers are cut into as many bins as the paper's bandwidth gives for so many rows and columns: by more of them a
    single column would tell nearly all rows apart. Bins that the schema has fewer of stay as they are.
    How many they are is the k to give `ProjectedHistogram` for private rows that are like these.
    """
    rows = _public(frame, schema)
    bins = bins_for(len(rows.labels), len(schema.attributes))
    return _few(rows.in_groups([even_groups(schema, name, bins) for name in schema.attributes]), sigma)


def _few(rows: PublicRows, sigma: float) -> tuple[str, ...]:
    enough, found = (1 - sigma) * rows.everything(), []
    for name, discerned in rows.greedy():
        found.append(name)
        if discerned >= enough:
            break
    return tuple(found)


def bandwidth(rows: int, columns: int) -> float:
    """Lei's bandwidth for so many columns, in units of a column's width."""
    known = max(rows, 3)
    return float((math.log(known) / known) ** (1 / (columns + 1)))


def bins_for(rows: int, columns: int) -> int:
    """How many bins a numeric column gets: the paper's number, but not a single one, which would tell nothing.

    >>> bins_for(45_000, 4), bins_for(45_000, 14), bins_for(6435, 36)
    (5, 2, 2)
    """
    return max(2, math.ceil(1 / bandwidth(rows, columns) - 0.5))


@lru_cache(maxsize=1024)
def _bin_chances(rows: int, bins: int) -> tuple[float, ...]:
    """How likely each bin is, of a normal number scaled by the least and the greatest of so many."""
    drawn = np.random.default_rng(SEED).standard_normal(min(max(rows, 2), MOST_SIMULATED))
    scaled = (drawn - drawn.min()) / (drawn.max() - drawn.min())
    counts = np.bincount(np.minimum((scaled * bins).astype(np.int64), bins - 1), minlength=bins)
    return tuple((counts / counts.sum()).tolist())


def simulated_k(rows: int, attributes: int, classes: int, bins: int) -> int:
    """How many columns MDA takes of the paper's simulated rows: normal numbers, whatever the label."""
    return _simulated_k(_rounded(rows), min(attributes, MOST_COLUMNS), classes, bins)


@lru_cache(maxsize=1024)
def _simulated_k(rows: int, attributes: int, classes: int, bins: int) -> int:
    random = np.random.default_rng(SEED)
    count = min(rows, MOST_SIMULATED)
    numbers = random.standard_normal((count, attributes))
    spread = np.ptp(numbers, axis=0)
    scaled = (numbers - numbers.min(axis=0)) / np.where(spread > 0, spread, 1)
    codes = np.minimum((scaled * bins).astype(np.int64), bins - 1)
    labels = random.integers(0, max(classes, 1), count)
    return len(_few(PublicRows(tuple(map(str, range(attributes))), codes, labels), SIGMA)) if attributes else 0


def _rounded(rows: int) -> int:
    """A number to two digits: nothing here hangs on more, and what was found for it is kept."""
    digits = max(len(str(max(rows, 2))) - 2, 0)
    return round(max(rows, 2), -digits)


def histogram_share(rows: int, attributes: int, classes: int, k: int, bins: int) -> float:
    """Gamma, the histogram's share of the budget, from what either task needs to go well enough."""
    known, q = max(_rounded(rows), 3), max(classes, 2)
    pairs = known**2 * (q - 1) / (2 * q)
    projection = known * B * k**2 * math.log(max(attributes, 2)) / (LOST * pairs)
    alike = sum(chance**2 for chance in _bin_chances(known, bins)) ** k * known / q
    needed = math.log(known) * A - 2 * min(math.log(1 / (2 * CHANCE)), math.log(2 - 2 * CHANCE))
    # Of needed / alike and projection: with many columns, rows alike are too few to divide by.
    return needed / (needed + projection * alike)
