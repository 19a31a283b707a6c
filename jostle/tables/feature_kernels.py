"""How many records have each feature, or are told apart by one more: the kernels of everything asked about features.

A row with a blank has none of the features of that column; one with a blank for a label is left out.

Which features a table has, and in which order they are numbered, is a public function of its schema (`feature_list`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.features import Bits, mixed
from jostle.tables.fields import ANY_WHOLE, Integers, Within, truth, whole, whole_groups, wholes
from jostle.tables.kernels import DenseKernel, SparseKernel, SparseTally, add_up, checked_cells, checked_keys
from jostle.tables.schema import Schema

WEIGHT = Within(-(2**10), 2**10)
MOST_ONES = 2**20
"""Ones of a record that can be asked about."""
ONES_AT_ONCE = 1 << 15
"""Ones looked at together, so that what is needed beside the records stays small."""


@frozen
class Feature:
    """A column of a table, or of its texts, and the value that a record with this feature has there."""

    column: str
    value: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.column}={self.value}"


def _codes(schema: Schema, name: str) -> range:
    """The codes of a column that have a feature: all, of two the second, of a single one none."""
    size = schema[name].size
    return range(size) if size > 2 else range(1, size)


def feature_list(schema: Schema) -> tuple[Feature, ...]:
    """The features of a table: those of its columns but the label, in order, then the sparse ones."""
    features = []
    for name in schema.attributes:
        labels = schema[name].labels  # made anew each time: of thousands of bins, once is enough
        features += [Feature(name, labels[code]) for code in _codes(schema, name)]
    if schema.features is not None:
        start = len(schema.features.column) + 1
        features += [Feature(schema.features.column, name[start:]) for name in schema.features.names]
    return tuple(features)


def feature_count(schema: Schema) -> int:
    """Number of features of a table."""
    sparse = 0 if schema.features is None else schema.features.size
    return sum(len(_codes(schema, name)) for name in schema.attributes) + sparse


def most_ones(schema: Schema) -> int:
    """The most features that a record can have: one per column, and all sparse ones."""
    sparse = 0 if schema.features is None else schema.features.size
    return sum(schema[name].size > 1 for name in schema.attributes) + sparse


@frozen
class FeatureSums(DenseKernel):
    """For each feature, the sum of a public weight of the classes of the records that have it; perhaps several sums.

    A record with more than *most* features counts for so many of them: those of the least hash of the feature and the
    record's features. Which, depends on that record alone, and another record keeps other ones.

    For each list of weights, one per class: the sum over all records first, if *totals*, then one over those with each
    feature. Without a label, all records are of one class.

    *Bound.* A record of class c adds w[c] to the total and to each of at most *most* features, for each list w. So in
    sum it adds at most (totals + most) times sum_w |w[c]|, for the class where that is largest. *Replaced.* What one
    record adds and another takes away is at most twice that; and a cell of list w changes by at most max(w, 0) - min(w,
    0), the most that two records, or a record and none, can differ by there.
    """

    weights: tuple[tuple[int, ...], ...] = field(converter=whole_groups, validator=WEIGHT)
    most: int = field(converter=whole, validator=Within(1, MOST_ONES))
    totals: bool = field(default=False, converter=truth)
    among: tuple[int, ...] = field(default=(), converter=wholes, validator=ANY_WHOLE)
    """The features that are asked about, by number; all of them if empty."""

    def cells(self, schema: Schema) -> int:
        classes = _classes(schema)
        if any(len(weight) != classes for weight in self.weights):
            raise TableError(f"the weights are not those of {classes} classes")
        count = feature_count(schema)
        if any(not 0 <= number < count for number in self.among) or len(set(self.among)) < len(self.among):
            raise TableError(f"the features asked about are not different numbers from 0 to {count - 1}")
        checked_cells(max(1, count * classes))
        return checked_cells(len(self.weights) * (self.totals + (len(self.among) or count)))

    def bound(self, schema: Schema) -> int:
        ones = min(self.most, most_ones(schema), len(self.among) or MOST_ONES)
        heaviest = max((sum(map(abs, of_class)) for of_class in zip(*self.weights, strict=True)), default=0)
        return (self.totals + ones) * heaviest

    def replaced(self, schema: Schema) -> int:
        """Twice that, or what all cells can change, whichever is less."""
        spans = sum(max(0, *weight) - min(0, *weight) for weight in self.weights)
        cells = self.totals + (len(self.among) or feature_count(schema))
        return min(2 * self.bound(schema), cells * spans)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        classes, block = _classes(schema), block.labelled(schema)
        labels = (
            np.zeros(block.length, dtype=np.int64)
            if schema.label is None
            else block.columns[schema.label].astype(np.int64)
        )
        counts = np.zeros((feature_count(schema), classes), dtype=np.int64)
        for rows, places in ones_of(block, schema, self.most):
            times = None if block.multiplicity is None else block.multiplicity[rows]
            add_up(places * classes + labels[rows], times, counts.reshape(-1))
        if self.among:
            counts = counts[list(self.among)]
        everyone = np.zeros(classes, dtype=np.int64)
        add_up(labels, block.multiplicity, everyone)
        weights = np.array(self.weights, dtype=np.int64).T
        sums = counts @ weights
        if self.totals:
            sums = np.concatenate([(everyone @ weights)[None, :], sums])
        totals += sums.T.reshape(-1)


def _classes(schema: Schema) -> int:
    return 1 if schema.label is None else len(schema.classes)


def ones_of(block: Block, schema: Schema, most: int) -> Iterator[tuple[NDArray[np.intp], Integers]]:
    """Yield rows with the number of a feature each has, some rows at a time; of each row at most so many features."""
    columns = list(_numbered(schema))
    bits = None if schema.features is None else block.bits
    start = 0
    while start < block.length:
        stop = min(block.length, start + max(1, ONES_AT_ONCE // max(1, len(columns))))
        if bits is not None:
            full = int(np.searchsorted(bits.ends, bits.ends[start] + ONES_AT_ONCE, side="right")) - 1
            stop = min(stop, max(start + 1, full))
        rows, places = _between(block, columns, bits, start, stop)
        if most_ones(schema) > most:
            kept = _sampled(rows - start, places, stop - start, most)
            rows, places = rows[kept], places[kept]
        yield rows, places
        start = stop


def _numbered(schema: Schema) -> Iterator[tuple[str, Integers]]:
    """Yield the columns that have features, with the number of the feature of each code, -1 for none."""
    first = 0
    for name in schema.attributes:
        codes = _codes(schema, name)
        if codes:
            numbers = np.full(schema[name].size + 1, -1, dtype=np.int64)  # a blank has none
            numbers[codes] = np.arange(first, first + len(codes))
            first += len(codes)
            yield name, numbers


def _between(
    block: Block, columns: list[tuple[str, Integers]], bits: Bits | None, start: int, stop: int
) -> tuple[NDArray[np.intp], Integers]:
    """The rows from *start* to *stop*, each as often as it has a feature, and which."""
    found_rows, found_places = [], []
    for name, numbers in columns:
        places = numbers[block.columns[name][start:stop]]
        here = np.flatnonzero(places >= 0)
        found_rows.append(here + start)
        found_places.append(places[here])
    if bits is not None:
        first = sum(int((numbers >= 0).sum()) for _, numbers in columns)
        lengths = bits.ends[start + 1 : stop + 1] - bits.ends[start:stop]
        found_rows.append(np.repeat(np.arange(start, stop), lengths))
        found_places.append(bits.found[bits.ends[start] : bits.ends[stop]].astype(np.int64) + first)
    if not found_rows:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
    return np.concatenate(found_rows), np.concatenate(found_places)


def _sampled(rows: NDArray[np.intp], places: Integers, length: int, most: int) -> NDArray[np.intp]:
    """Which of the ones are kept: of each row those of the least hash, at most so many."""
    counts = np.bincount(rows, minlength=length)
    crowded = counts > most
    if not crowded.any():
        return np.arange(len(rows))
    hashes = mixed(places.astype(np.uint64))
    of_row = np.zeros(length, dtype=np.uint64)
    np.add.at(of_row, rows, hashes)
    among = np.flatnonzero(crowded[rows])
    ranks = np.lexsort((mixed(hashes[among] ^ of_row[rows[among]]), rows[among]))
    ordered = among[ranks]
    starts = np.cumsum(counts * crowded) - counts * crowded
    first = np.arange(len(ordered)) - starts[rows[ordered]] < most
    return np.sort(np.concatenate([np.flatnonzero(~crowded[rows]), ordered[first]]))


@frozen
class FeatureRefinements(SparseKernel):
    """For each feature, the records with it by the features chosen before and the label; last, all records so.

    A record with more than *most* features counts for so many of them, as in `FeatureSums`; for the chosen ones too.

    The tally behind k-discernibility over features, which may be many thousands: a record is in a cell for each feature
    it has, so it takes time in proportion to the ones, whatever the number of features. (`Refinements` does it for
    columns.)
    """

    base: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """The features chosen before, by number."""
    most: int = field(converter=whole, validator=Within(1, MOST_ONES))

    def cells(self, schema: Schema) -> int:
        count, size = feature_count(schema), self.size(schema)
        if any(not 0 <= number < count for number in self.base) or len(set(self.base)) < len(self.base):
            raise TableError(f"the features chosen before are not different numbers from 0 to {count - 1}")
        return checked_keys((count + 1) * size, len(self.base) + 2)

    def size(self, schema: Schema) -> int:
        """How many cells a feature has: of what was chosen before, and the label."""
        return int(2 ** len(self.base) * len(schema.classes))

    def bound(self, schema: Schema) -> int:
        """One cell for each feature a record has, and one for the record."""
        return 1 + min(self.most, most_ones(schema))

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        classes, size, block = len(schema.classes), self.size(schema), block.labelled(schema)
        labels = block.columns[schema.target].astype(np.int64)
        cells = labels.copy()  # of what was chosen before, and the label
        ones = list(ones_of(block, schema, self.most))
        for bit, chosen in enumerate(self.base):
            for rows, places in ones:
                cells[rows[places == chosen]] += classes << bit
        keys = [places * size + cells[rows] for rows, places in ones]
        where = [rows for rows, _ in ones]
        keys.append(feature_count(schema) * size + cells)
        where.append(np.arange(block.length))
        if block.multiplicity is None:
            return SparseTally(*np.unique(np.concatenate(keys), return_counts=True))
        times = block.multiplicity[np.concatenate(where)]
        there = times > 0
        return SparseTally.empty().merged(SparseTally(np.concatenate(keys)[there], times[there]))
