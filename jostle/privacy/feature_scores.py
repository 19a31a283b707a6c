"""Scores of features: how well each says which class a record is of.

With t_c the records of class c, a_c those of them that have the feature and b_c = t_c - a_c the others (after sampling,
where a record counts for so many features only: one that lost a feature is one without it):

- TC, total count: sum_c a_c.
- DC, difference count: how far the commonest class is ahead of all others among the records with the feature, 2 max_c
  a_c - sum_c a_c. With two classes, |a_1 - a_0|.
- PI, purity index: the larger of that and the same among those without, 2 max_c b_c - sum_c b_c.
- IG, information gain, times the number of records: I(t) - I(a) - I(b), with I the impurity InfoGain of `split_scores`.

*How far one record moves them.* Let a record of class c enter.

- TC rises by 1 or stays.
- DC: if it has the feature, sum a rises by 1 and max a by 0 or 1: DC changes by 1 or -1. Else it stays.
- PI: a record is among those with or those without, so one of the two numbers changes by 1 or -1; the larger of two
  numbers changes by no more than the one that changes most. 1.
- IG: I(t) rises by between 0 and D = d(N-1), and so does I(a) + I(b), of which one part gains the record (see
  `split_scores`, where D is worked out). So IG changes by at most D. In a *pick*, I(t) is the same for all features, so
  only - I(a) - I(b) counts, which falls by between 0 and D for all of them: monotone.

A record that becomes another leaves, and the other enters. TC: 1, since the two changes are of opposite signs. DC and
PI: 2. IG: 2 D; - I(a) - I(b), which rises by between 0 and D as a record leaves and falls as one enters: D. What
enters or leaves a part of a table under replace_one moves them by no more than that.

One record moves TC and DC of the features it has (at most r of them, after sampling), but PI and IG of all features.
That matters where all scores are noised (`ScorePerturbation`), and not where one is picked, or compared with a
threshold: these go by the most that any single score changes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.privacy.scores import Score
from jostle.privacy.split_scores import GRID, LARGEST_SUM, ROWS_BOUND, entropies, spread_of
from jostle.tables.feature_kernels import MOST_ONES, FeatureSums
from jostle.tables.fields import OneOf, Within, whole, word
from jostle.tables.kernels import DenseKernel
from jostle.tables.schema import Schema

Integers = NDArray[np.int64]
ScoreName = Literal["TC", "DC", "PI", "IG"]


@frozen
class FeatureScore(Score):
    """How well each feature of a table says the class."""

    kind: ScoreName = field(converter=word, validator=OneOf(get_args(ScoreName)))
    most: int = field(converter=whole, validator=Within(1, MOST_ONES))
    """How many features of one record count."""
    rows_bound: int = field(default=1, converter=whole, validator=ROWS_BOUND)
    """N: for IG, a public bound on the number of records. With more, the scores lose sense and the bounds hold."""

    def kernel(self, schema: Schema) -> DenseKernel:
        """The records with each feature, by class; for TC, of all classes together."""
        classes = 1 if schema.label is None else len(schema.classes)
        weights = ((1,) * classes,) if self.kind == "TC" else np.eye(classes, dtype=np.int64).tolist()
        return FeatureSums(weights, self.most, totals=self.kind in {"PI", "IG"})

    @property
    def units(self) -> int:
        """How many units of a score stand for one record, or one bit."""
        return GRID if self.kind == "IG" else 1

    def values(self, tally: Integers, schema: Schema) -> Integers:
        """The features' scores, in units, from the kernel's tally."""
        groups = 1 if self.kind == "TC" or schema.label is None else len(schema.classes)
        sums = tally.reshape(groups, -1)
        if self.kind in {"TC", "DC"}:
            return feature_scores(self.kind, sums.T, None, self.rows_bound)
        return feature_scores(self.kind, sums[:, 1:].T, sums[:, 0], self.rows_bound)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """The scores as a pick looks at them: IG without what is the same for all features."""
        values = self.values(tally, schema)
        if self.kind != "IG":
            return values
        everyone = tally.reshape(len(schema.classes) if schema.label else 1, -1)[:, 0]
        return np.asarray(values - _impurity(everyone[None, :], self.rows_bound)[0])

    def changes(self, schema: Schema) -> Fraction:
        """The most that one score changes, in units: between neighbours, or those of a part."""
        most = spread_of("InfoGain", self.rows_bound) if self.kind == "IG" else 1
        return Fraction(most if self.kind == "TC" or schema.neighbours == "add_remove" else 2 * most)

    def rises(self, schema: Schema) -> bool:
        """Whether between neighbours all scores rise or stay, or all fall or stay."""
        return self.kind == "TC" and schema.neighbours == "add_remove"

    def sensitivity(self, schema: Schema) -> Fraction:
        """The most that a score changes, as a pick looks at them."""
        return Fraction(spread_of("InfoGain", self.rows_bound)) if self.kind == "IG" else self.changes(schema)

    def monotone(self, schema: Schema) -> bool:
        """Whether all scores move the same way, as a pick looks at them."""
        return self.kind in {"TC", "IG"} and schema.neighbours == "add_remove"


def feature_scores(kind: ScoreName, having: Integers, everyone: Integers | None, rows_bound: int) -> Integers:
    """The scores of features, in units, from the records that have each, by class, and those there are.

    Public arithmetic: it serves noisy counts, of which some may be below 0, as well.

    >>> having = np.array([[5, 1], [2, 2]])
    >>> feature_scores("DC", having, None, 1), feature_scores("PI", having, np.array([5, 9]), 1)
    (array([4, 0]), array([8, 4]))
    """
    having = np.clip(having, -LARGEST_SUM >> 8, LARGEST_SUM >> 8)
    if kind == "TC":
        return np.asarray(having.sum(axis=1))
    if kind == "DC" or everyone is None:
        return _lead(having)
    lacking = everyone[None, :] - having
    if kind == "PI":
        return np.maximum(_lead(having), _lead(lacking))
    having, lacking = np.maximum(having, 0), np.maximum(lacking, 0)
    gained = _impurity(np.maximum(everyone, 0)[None, :], rows_bound) - _impurity(having, rows_bound)
    return np.asarray(gained - _impurity(lacking, rows_bound))


def _lead(counts: Integers) -> Integers:
    return np.asarray(2 * counts.max(axis=1) - counts.sum(axis=1))


def _impurity(counts: Integers, rows_bound: int) -> Integers:
    return np.asarray(entropies(counts.sum(axis=1), rows_bound) - entropies(counts, rows_bound).sum(axis=1))
