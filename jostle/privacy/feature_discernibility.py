"""How well a few features tell records of different labels apart: `Discernibility`, for thousands of features.

F(S), with S some features, is what it is for columns: the number of ordered pairs of records that differ in a feature
of S and in the label, over the number of records. A feature is a column of 0 and 1, of the record as it is sampled,
so all that is proved there of how far a record moves two candidates apart holds here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.discernibility import FITTING, GRID
from jostle.privacy.scores import Score
from jostle.tables.feature_refinements import FeatureRefinements
from jostle.tables.feature_sums import MOST_ONES, feature_count
from jostle.tables.fields import ANY_WHOLE, Within, whole, wholes
from jostle.tables.kernels import SparseTally
from jostle.tables.schema import Schema

__all__ = ["FeatureDiscernibility"]


@frozen
class FeatureDiscernibility(Score):
    """For each feature not chosen before, how many pairs it and what was chosen discern, of those the label does."""

    base: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """What was chosen before, by number."""
    most: int = field(converter=whole, validator=Within(1, MOST_ONES))
    """How many features of one record count."""

    def kernel(self, schema: Schema) -> FeatureRefinements:
        """The records by what was chosen before, each feature and the label."""
        if len(self.base) >= feature_count(schema):
            raise ProbeError("there is no feature left to choose", fix="choose fewer")
        return FeatureRefinements(self.base, self.most)

    def candidates(self, schema: Schema) -> NDArray[np.int64]:
        """The numbers of the features that are scored, in order."""
        return np.setdiff1d(np.arange(feature_count(schema)), np.array(self.base, dtype=np.int64))

    def scores(self, tally: SparseTally, schema: Schema) -> NDArray[np.int64]:
        """F of what was chosen before and each candidate, in units of 1/GRID, rounded down.

        With t the records in a cell of what was chosen, t_c those of class c there, and o and o_c those with the
        feature, pairs of different labels in the cell are sum t_c (t - t_c); the feature discerns sum o_c ((t - t_c) -
        (o - o_c)) of them, in either order.
        """
        classes, size = len(schema.classes), self.kernel(schema).size(schema)
        count = feature_count(schema)
        first = int(np.searchsorted(tally.keys, count * size))
        rows = int(tally.counts[first:].sum())
        if not rows:
            return np.zeros(len(self.candidates(schema)), dtype=np.int64)
        kind: Any = np.int64 if rows <= FITTING else object
        cells, place = np.unique((tally.keys[first:] - count * size) // classes, return_inverse=True)
        whole_counts = np.zeros((len(cells), classes), dtype=kind)
        whole_counts[place, (tally.keys[first:] - count * size) % classes] = tally.counts[first:]
        keys, having = tally.keys[:first], tally.counts[:first].astype(kind)
        begins = np.diff(keys // classes, prepend=-1) != 0  # keys are in rising order
        of_group = np.cumsum(begins) - 1
        in_group = np.zeros(int(np.count_nonzero(begins)), dtype=kind)
        np.add.at(in_group, of_group, having)
        at = np.searchsorted(cells, (keys // classes) % (size // classes))
        others = whole_counts.sum(axis=1)[at] - whole_counts[at, keys % classes] - (in_group[of_group] - having)
        gained = np.zeros(count, dtype=kind)
        np.add.at(gained, keys // size, 2 * having * others)
        labels = whole_counts.sum(axis=0)
        different = rows**2 - sum(int(each) ** 2 for each in labels)
        alike = int((whole_counts.sum(axis=1) ** 2).sum() - (whole_counts**2).sum())
        pairs = (different - alike) + gained[self.candidates(schema)].astype(object)
        return np.array([GRID * int(each) // rows for each in pairs], dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        """Half of how far two scores move apart (see `Discernibility`)."""
        return Fraction(GRID + 1 if schema.neighbours == "add_remove" else 2 * GRID + 1)

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - the same for every schema
        """False: the scores need not move the same way."""
        return False
