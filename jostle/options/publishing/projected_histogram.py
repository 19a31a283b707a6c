"""ProjectedHistogram: rows on a few columns that tell the labels apart, from a thresholded histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.base import option
from jostle.options.publishing.base import (
    Caution,
    Publisher,
    even_groups,
    few,
    noise_scale,
    own_groups,
    released,
    whole_counts,
)
from jostle.options.ranges.cells import threshold
from jostle.parameters import choice, share, whole
from jostle.privacy.column_scores import Discernibility, SetDiscernibility
from jostle.privacy.probe import Probe
from jostle.tables.frames import encode_frame
from jostle.tables.kernels import SparseCounts
from jostle.tables.pools import Layer
from jostle.tables.schema import Schema
from jostle.tasks.publishing import Published

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
    """Public rows as codes, whose pairs may be counted without noise.

    Which columns to project on, how many, and for what part of the budget: Vinterbo's rules for projected histograms.

    All of this is about rows that are public or simulated, and about numbers that are public or were released.
    """

    names: tuple[str, ...]
    codes: Integers
    """Rows by columns."""
    labels: Integers

    def in_groups(self, groups: Sequence[Sequence[int]]) -> PublicRows:
        """The same rows, with the group of each code of each column in its place."""
        own = [np.asarray(group, dtype=np.int64)[self.codes[:, index]] for index, group in enumerate(groups)]
        return evolve(self, codes=np.column_stack(own) if own else self.codes)

    def cells(self, before: Integers, column: int) -> Integers:
        """Which rows a column more leaves alike: a number for each row's cell."""
        own = self.codes[:, column]
        _, cells = np.unique(before * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
        return np.asarray(cells, dtype=np.int64)

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
    block = encode_frame(frame, schema).labelled(schema).first_for_blank(schema.attributes, schema)
    codes = np.empty((block.length, len(schema.attributes)), dtype=np.int64)
    for index, name in enumerate(schema.attributes):
        codes[:, index] = block.columns[name]
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
    enough, few = (1 - sigma) * rows.everything(), []
    for name, discerned in rows.greedy():
        few.append(name)
        if discerned >= enough:
            break
    return tuple(few)


def bandwidth(rows: int, columns: int) -> float:
    """Lei's bandwidth for so many columns, in units of a column's width."""
    least = max(rows, 3)
    return float((math.log(least) / least) ** (1 / (columns + 1)))


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


Bins = Literal["projected", "paper"]
ChooseK = Literal["simulated", "partition"]
ENOUGH = 3.0
"""Rows of a mean cell, in scales of the noise: of 1, 3 and 10, most is predicted right with 3."""
FACTOR = 0.25
"""The threshold, in log(rows) times the noise's scale: the paper's A = 1/2 over epsilon, with noise of 2 over it."""
PARTS = 1000
"""Shares of the budget are multiples of 1/PARTS."""
LEAST_SHARE = Fraction(1, 20)
LARGEST_LOG = 600
"""Of a number that a float holds: more cells than that are as many as there can be."""
MOST_CELLS = 2**48
"""Columns that would give more cells are not chosen, so that each cell has a number, and so has each candidate's."""
MOST_TRIED = 4
"""How many columns partition-and-select tries at most."""
MOST_TRIED_CELLS = 2**28
"""Of a set that it tries: all are counted, and held in memory."""
PRICE = Fraction(1, 10)
"""The share of the pairs of different labels that a column more has to discern there: MDA's sigma."""


@option
@frozen(kw_only=True)
class ProjectedHistogram(Publisher):
    """A few columns by private k-discernibility, then a thresholded histogram of them and the label.

    Privacy: the number of rows by `AddNoise` unless it is known; k picks (`Discernibility`), each at its part of
    epsilon; the cells by `AddNoiseAbove`. How epsilon is split follows from the number of rows, which is known or was
    released, and so does which columns a pick is among, from picks before it. By partition-and-select, the picks of
    each set of columns are on a portion of the rows, and one pick among the sets (`SetDiscernibility`) on another. A
    row is in one portion, so these cost what those on one portion do; under replace_one those on two, which get half
    as much each. So in turn all these cost epsilon, under add_remove and replace_one.

    Vinterbo, Differentially private projected histograms: construction and use for prediction. ECML PKDD 2012. On the
    published rows the paper trains logistic regressions (HLR and HMLR), and others decision trees and SVMs (PPH).

    The columns are chosen one by one by k-discernibility (`Discernibility`, which needs half of the paper's budget
    where rows come and go); the histogram over them and the label is noised and thresholded without visiting empty
    cells. Where rows are added or removed, its noise has scale 1/epsilon where the paper's has 2/epsilon, which is for
    replaced rows.

    Where it is wanted, k is chosen by the paper's partition-and-select: sets of 1 to 4 columns are chosen, each on a
    portion of the rows of its own, and one set is picked on one portion more, by `SetDiscernibility`: the paper's pick
    by a share of pairs is not private.

    Two things are not the paper's, which has numbers in few bins: without a k, no column is added with which the mean
    cell would hold fewer rows than three times the noise; and where cells that pass hold more rows than there are, all
    hold fewer by as many.
    """

    version = 3

    k: int = whole(0, least=0)
    """How many columns to project on; 0 for choosing that."""
    choose_k: ChooseK = choice("simulated", ChooseK)
    """As many as MDA takes of the paper's simulated rows, or fewer where their cells would hold fewer rows than three
    times the noise on average; or by partition-and-select, which tries 1 to 4 on portions of the rows."""
    gamma: Fraction = share("0", zero=True)
    """The histogram's share of the budget; 0 for the paper's rule."""
    bins: Bins = choice("projected", Bins)
    """Numbers are cut into as many bins as suits the columns projected on, or, as printed, all columns."""
    rows_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of rows, unless it is public."""
    paper = "Vinterbo, ECML PKDD 2012"

    @property
    def holds(self) -> str:
        """The combinations that rows have of the columns that it takes."""
        return "the combinations that rows have of the columns that it takes"

    def refuses(self, schema: Schema) -> str | None:
        count = len(schema.attributes)
        if schema.label is not None and self.k > count:
            return f"k={self.k} columns are asked for, and there are {count} attributes"
        return super().refuses(schema)

    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:
        """A caution that the cells of the columns asked for are too many for so many rows, where they are."""
        bins, k = self.plan(schema, left, rows)
        cells = _usual_cells(schema, bins, k)
        if rows < cells * noise_scale(schema, left):
            many = f"about {cells:,.0f}" if cells < MOST_CELLS else "more than 2**48"
            return (
                f"{few(rows)} for {k} of these columns at this epsilon: the {many} cells hold "
                "less than the noise on average; use a larger epsilon or a smaller k"
            )
        return ""

    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:
        schema, label = db.schema, db.schema.label or ""
        rows, left, drowns = self.counted(db, epsilon, self.rows_share, told)
        bins, k = self.plan(schema, left, rows)
        cost = self.share_of_histogram(schema, rows, k, bins) * left
        most = MOST_CELLS if self.k else rows / (ENOUGH * noise_scale(schema, left))
        if self._tries(schema):
            chosen, bins = self._selected(db, rows, left - cost, min(most, MOST_TRIED_CELLS))
            picking = left - cost
        else:
            chosen, picking = _chosen(db, _binned(schema, bins), k, left - cost, most)
        groups = _binned(schema, bins)
        spent = left - picking
        names = tuple(name for name in schema.names if name in {*chosen, label})
        groups[label] = own_groups(schema, label)
        kept = tuple(groups[name] for name in names)
        sides = [max(own) + 1 for own in kept]
        least = threshold(rows, math.prod(sides), 1 / noise_scale(schema, spent), FACTOR)
        found = db.measure_sparse(SparseCounts(names, kept), spent, threshold=least, site="cells above")
        cells = np.stack(np.unravel_index(found.keys, sides), axis=1).astype(np.int64)
        counts = [_summed(cells[:, index], found.values, side) for index, side in enumerate(sides)]
        # Noise passes the threshold from above alone: without this, there would be more rows than there are.
        held = whole_counts(found.values, most=rows)
        kept_cells = held > 0
        return Published(
            schema=schema,
            columns=released(names, kept, counts),
            cells=cells[kept_cells],
            counts=held[kept_cells],
            made_by=self.name,
            epsilon=epsilon,
            caution=drowns,
        )

    def _tries(self, schema: Schema) -> bool:
        """Whether k is chosen by partition-and-select, and there is a choice."""
        return self.choose_k == "partition" and not self.k and len(schema.attributes) > 1

    def _selected(self, db: Probe, rows: int, epsilon: Fraction, most: float) -> tuple[list[str], int]:
        """The columns that partition-and-select takes, and how many bins numbers are cut into for so many.

        All portions together cost what the dearest does, or under replace_one the two dearest.
        """
        schema, label = db.schema, db.schema.label or ""
        each = epsilon if schema.neighbours == "add_remove" else epsilon / 2
        numbers = range(1, min(MOST_TRIED, len(schema.attributes)) + 1)
        *learning, judging = db.portions(len(numbers) + 1)
        sets, layers, binned = list[list[str]](), list[Layer](), list[int]()
        for k, portion in zip(numbers, learning, strict=True):
            binned.append(self._bins(rows, k, len(schema.attributes)))
            groups = _binned(schema, binned[-1])
            chosen, _ = _chosen(portion, groups, k, each, most)
            sets.append(chosen)
            layers.append(Layer((*chosen, label), (*(groups[name] for name in chosen), ())))
        taken = judging.pick(SetDiscernibility(layers, PRICE), each, site="number of columns")
        return sets[taken], binned[taken]

    def plan(self, schema: Schema, left: Fraction, rows: int) -> tuple[int, int]:
        """How many bins numbers are cut into, and how many columns are projected on.

        Where the number of columns is not given, they are as many as in the paper, but no more than give cells that
        hold three times as many rows as noise on average.
        """
        attributes = len(schema.attributes)
        if self.k or not attributes:
            return self._bins(rows, self.k, attributes), self.k
        k = simulated_k(rows, attributes, len(schema.classes), bins_for(rows, attributes))
        least = ENOUGH * noise_scale(schema, left)
        while k > 1 and rows < _usual_cells(schema, self._bins(rows, k, attributes), k) * least:
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


def _binned(schema: Schema, bins: int) -> dict[str, tuple[int, ...]]:
    """The groups of each attribute's codes where numbers are cut into so many bins."""
    return {name: even_groups(schema, name, bins) for name in schema.attributes}


def _usual_cells(schema: Schema, bins: int, k: int) -> float:
    """How many cells k columns of the usual size have, with the label."""
    sizes = [max(even_groups(schema, name, bins)) + 1 for name in schema.attributes]
    usual = math.exp(sum(map(math.log, sizes)) / max(len(sizes), 1))
    if k * math.log(usual) > LARGEST_LOG:
        return math.inf
    return len(schema.classes) * usual**k


def _chosen(
    db: Probe, groups: dict[str, tuple[int, ...]], k: int, epsilon: Fraction, most: float
) -> tuple[list[str], Fraction]:
    """Columns picked one by one, and what that cost; all there are, for nothing, where no choice is to be made.

    Where no column is left with which there would be at most so many cells, they are fewer than k, and cost less; but
    there is one, of the fewest values, if there is any.
    """
    schema = db.schema
    sizes = {name: max(own) + 1 for name, own in groups.items()}
    cells, chosen, cost = len(schema.classes), list[str](), Fraction(0)
    if k >= len(schema.attributes) and cells * math.prod(sizes.values()) <= most:
        return list(schema.attributes), cost
    while len(chosen) < k:
        left = [name for name in schema.attributes if name not in chosen and cells * sizes[name] <= most]
        if not left and not chosen:
            left = [min(schema.attributes, key=lambda name: sizes[name])]
        if not left:
            break
        own = tuple(groups[name] for name in (*chosen, *left))
        picked = db.pick(Discernibility(tuple(chosen), tuple(left), own), epsilon / k, site=f"column {len(chosen) + 1}")
        cost += epsilon / k
        chosen.append(left[picked])
        cells *= sizes[left[picked]]
    return chosen, cost


def _summed(codes: np.ndarray, values: np.ndarray, side: int) -> np.ndarray:
    totals = np.zeros(side)
    np.add.at(totals, codes, values)
    return totals
