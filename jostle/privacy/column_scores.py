"""Scores of columns and of features: how well they tell labels apart, or how much one depends on others."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal, get_args

import numpy as np
from attrs import evolve, field, frozen

from jostle.errors import ProbeError
from jostle.privacy.fields import fraction, public_number
from jostle.privacy.scores import Score
from jostle.privacy.split_scores import GRID, LARGEST_SUM, ROWS_BOUND, entropies, spread_of
from jostle.tables.feature_kernels import MOST_ONES, FeatureRefinements, FeatureSums, feature_count
from jostle.tables.fields import (
    ANY_WHOLE,
    Component,
    Components,
    Integers,
    OneOf,
    Within,
    listed,
    names,
    whole,
    whole_groups,
    wholes,
    word,
)
from jostle.tables.kernels import DenseKernel, Groups, SparseTally
from jostle.tables.pools import GridCounts, Layer, Pool, Refinements, Stack, joints
from jostle.tables.schema import Schema

FITTING = 2**31 - 1
"""Of so many rows, products of counts fit 64 bits; of more, they are Python's own numbers."""


@frozen
class Dependence(Score):
    """For each grid of a pool, how far one of its columns is from independent of its others, in rows.

    Zhang, Cormode, Procopiuc, Srivastava, Xiao, PrivBayes: private data release via Bayesian networks. SIGMOD 2014, and
    ACM TODS 2017: the function R, half the L1 distance between the joint distribution of a column X and its parents and
    the product of their own. Here it is multiplied by the rows n: u = sum |c(x, p) - c(x) c(p) / n| / 2.

    *How far a row moves it.* Let a row with the values (x, p) come to n rows, with e and f the unit vectors of x and of
    p, and r, s the shares of the values and of the parents' ones. The differences summed in u then change by exactly n
    / (n + 1) * (e - r)(f - s)^T, a matrix of rank one, whose L1 norm is at most n / (n + 1) * 2 * 2. So u changes by
    less than 2; where a row is replaced, which is one row less and one more, by less than 4. Some scores may rise while
    others fall. Scores are u times GRID, rounded down, which adds 1. (A row with a blank is in some layers only, which
    the proof, being about one score, allows for.)
    """

    pool: Pool = field(validator=Component((Pool,)))
    own: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """For each grid, which of the pool's columns is held against the others."""

    def kernel(self, schema: Schema) -> GridCounts:
        """The counts of the grids' joints; refuse columns that their grids are not about."""
        self.pool.check(schema)
        taken = self.pool.taken
        fits = len(self.own) == len(taken) and all(0 <= column < taken.shape[1] for column in self.own)
        if not fits or np.any(taken[np.arange(len(taken)), list(self.own)] < 0):
            raise ProbeError("each grid needs one column that it is about, to be held against the others")
        return GridCounts(joints(self.pool, schema).counted)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        counts = joints(self.pool, schema).added_up(tally)
        scores, start = [], 0
        for own, sides in zip(self.own, self.pool.sides.tolist(), strict=True):
            end = start + math.prod(sides)
            # Not by all sides at once: an array has no more than 64.
            by_own = counts[start:end].reshape(math.prod(sides[:own]), sides[own], -1).swapaxes(0, 1)
            scores.append(_apart(by_own.reshape(sides[own], -1)))
            start = end
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        return Fraction((2 if schema.neighbours == "add_remove" else 4) * GRID + 1)


def _apart(counts: Integers) -> int:
    rows = int(counts.sum())
    if not rows:
        return 0
    held = counts if rows <= FITTING else counts.astype(object)
    apart = np.abs(rows * held - np.outer(held.sum(axis=1), held.sum(axis=0)))
    return GRID * sum(map(int, apart.sum(axis=1).tolist())) // (2 * rows)


@frozen
class Discernibility(Score):
    """For each candidate, how many pairs of rows it and what was chosen before discern, of those the label does.

    Vinterbo, Differentially private projected histograms, ECML PKDD 2012: k-discernibility. Columns S *discern* two
    rows if one of them has different codes in the two, and F(S) is the number of ordered pairs of rows that both S and
    the label discern, divided by the number n of the table's own rows. F is submodular and never falls as S grows, so
    choosing the best column again and again comes to within a factor of 1 - 1/e of the best k columns.

    *How far a row moves two candidates' scores apart* (which is what a pick goes by). With P = n F:

    - *A row x comes.* Let p be how many of the n rows both S and the label discern from x. Then P grows by 2p, and F by
      (2 p n - P) / (n (n + 1)). For candidates a and b the difference of growths is at most 2n/(n+1) < 2. Indeed, let E
      be the n - p_b rows that b (with what was chosen before) does not discern from x, or that have its label; e_1 of
      them have its label and differ in b, e_2 have another label, and so are as x in b. Pairs inside E that are
      discerned have one row of either kind: 2 e_1 e_2 at most; all other discerned pairs have a row outside E. So P_b
      <= p_b**2 + 2 p_b (n - p_b) + 2 e_1 e_2, while p_a is at most the number p_b + e_2 of rows with another label, and
      P_a >= 0. Together, 2n (p_a - p_b) + P_b - P_a <= 2n (e_2 + p_b) + 2 e_1 e_2 - p_b**2, with e_1 <= n - e_2 - p_b;
      this rises in e_2, and at e_2 = n - p_b it is 2 n**2 - p_b**2. Divided by n (n + 1), that is below 2. The first
      row of all moves nothing: F is 0 without rows and with one.
    - *A row becomes another*, n staying: F changes by 2 (p' - p) / n, with p and p' from 0 to n - 1. Two candidates'
      scores move apart by less than 4.

    Scores are F times 2**10, rounded down, which may move two of them apart by 2 more. The paper's 4 epsilon' for a
    pick in proportion to exp(epsilon' F) is thus twice what is needed where rows come and go.
    """

    base: tuple[str, ...] = field(converter=names)
    """What was chosen before."""
    candidates: tuple[str, ...] = field(converter=names)
    groups: Groups = field(default=(), converter=whole_groups, validator=ANY_WHOLE)
    """For each column of the base, then for each candidate, the group of each of its codes; empty for their own."""

    def kernel(self, schema: Schema) -> Refinements:
        return Refinements(self.base, self.candidates, schema.target, self.groups)

    def scores(self, tally: SparseTally, schema: Schema) -> Integers:
        sizes, classes = self.kernel(schema).sizes(schema), len(schema.classes)
        last = [beyond - 1 for beyond in accumulate(sizes)]  # the largest key may be 2**63 - 1
        ends = np.searchsorted(tally.keys, np.array(last, dtype=np.int64), side="right")
        starts = [0, *ends[:-1].tolist()]
        first = slice(0, int(ends[0]))
        labels = np.zeros(classes, dtype=np.int64)
        np.add.at(labels, tally.keys[first] % classes, tally.counts[first])
        rows = int(labels.sum())
        if not rows:
            return np.zeros(len(sizes), dtype=np.int64)
        different = rows**2 - sum(count**2 for count in labels.tolist())
        scores, begun = [], 0
        for start, end, size in zip(starts, ends.tolist(), sizes, strict=True):
            cells = (tally.keys[start:end] - begun) // classes
            scores.append(GRID * (different - _alike(cells, tally.counts[start:end], rows)) // rows)
            begun += size
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        return Fraction(GRID + 1 if schema.neighbours == "add_remove" else 2 * GRID + 1)


def _alike(cells: Integers, counts: Integers, rows: int) -> int:
    """How many ordered pairs of rows of different labels are in one cell."""
    held: Any = counts if rows <= FITTING else counts.astype(object)
    begins = np.flatnonzero(np.diff(cells, prepend=-1))
    in_cells = np.add.reduceat(held, begins)
    return int((in_cells * in_cells).sum()) - int((held * held).sum())


@frozen
class SetDiscernibility(Score):
    """For each layer, how many pairs of rows its columns and the label discern per row, less a price per column.

    Vinterbo, Differentially private projected histograms, ECML PKDD 2012, has columns of several numbers k chosen on
    parts of the rows, and one of these sets picked on another part by u, made of the share of pairs it discerns and of
    k. Its exp(epsilon u) is not epsilon-private where u is that share of what all columns discern: one row can move it
    by nearly 1, of one set up and of another down. Here a set S is scored by

        F(S) - price k F(label) = (share - price k) F(label),

    in pairs per row: F is what it is for `Discernibility`, k the number of columns of S, F(label) what any columns
    discern at most, and *share* is F(S) over that. A price of 1/10 says that a column is worth taking where it discerns
    a tenth more of the pairs of different labels.

    *How far a row moves two candidates' scores apart.* The proof in `Discernibility` has it for F(a) - F(b), and
    nowhere asks what a and b have in common: less than 2 where a row comes, less than 4 where one becomes another. To
    this comes price (k_b - k_a) times what F(label) moves. With Q the number of ordered pairs of different labels, and
    q that of rows whose label is not x's, F(label) = Q / n grows by (2 q n - Q) / (n (n + 1)) where x comes: less than
    2, since q <= n, and more than -1, since Q <= n**2. Where a row becomes another, it changes by 2 (q' - q) / n, with
    q and q' from 0 to n - 1: by less than 2. So scores move apart by less than 2 + 2 price K, or 4 + 2 price K, with K
    the difference of the most and the fewest columns of a candidate. They are times 2**10, rounded down, which may move
    two apart by 2 more.
    """

    layers: tuple[Layer, ...] = field(converter=listed, validator=Components((Layer,)))
    """The sets of columns; the last column of each layer is the label, whose codes are groups of their own."""
    price: Fraction = field(converter=public_number)
    """The share of the pairs of different labels that a column more has to discern, from 0 to 1."""

    def kernel(self, schema: Schema) -> Stack:
        """The rows by the columns of each set and the label; refuse layers that are none of that."""
        label = schema.target
        for layer in self.layers:
            if layer.weighted is not None or layer.where or layer.columns[-1:] != (label,):
                raise ProbeError("a candidate is about weights or some of the rows, or does not end with the label")
            layer.shape(schema)
            if layer.groups[-1] or len(set(layer.columns)) < len(layer.columns):
                raise ProbeError("a candidate has a column twice, or puts labels together")
        if not self.layers:
            raise ProbeError("there is nothing to pick from", fix="give at least one candidate")
        if not 0 <= self.price <= 1:
            raise ProbeError("the price of a column is a share", fix="1/10")
        # All sets are scored by the same rows, as the proof has it.
        return Stack(evolve(layer, branching=layer.columns[:-1]) for layer in self.layers)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        scores, start = [], 0
        for layer in self.layers:
            end = start + layer.cells(schema)
            different, discerned = _pairs(tally[start:end].reshape(-1, len(schema.classes)))
            rows = int(tally[start:end].sum())
            worth = discerned * self.price.denominator - self.price.numerator * _columns(layer) * different
            scores.append(GRID * worth // (rows * self.price.denominator) if rows else 0)
            start = end
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        counts = [_columns(layer) for layer in self.layers]
        apart = (1 if schema.neighbours == "add_remove" else 2) + self.price * (max(counts) - min(counts))
        return GRID * apart + 1


def _columns(layer: Layer) -> int:
    """How many columns a set has."""
    return len(layer.columns) - 1


def _pairs(counts: Integers) -> tuple[int, int]:
    """How many ordered pairs of rows are of different labels, and how many of these are in different cells."""
    rows = int(counts.sum())
    held = counts if rows <= FITTING else counts.astype(object)
    different = rows**2 - int((held.sum(axis=0) ** 2).sum())
    return different, different - (int((held.sum(axis=1) ** 2).sum()) - int((held**2).sum()))


@frozen
class FeatureDiscernibility(Score):
    """For each feature not chosen before, how many pairs it and what was chosen discern, of those the label does.

    F(S), with S some features, is what it is for columns: the number of ordered pairs of records that differ in a
    feature of S and in the label, over the number of records. A feature is a column of 0 and 1, of the record as it is
    sampled, so all that is proved there of how far a record moves two candidates apart holds here.
    """

    base: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """What was chosen before, by number."""
    most: int = field(converter=whole, validator=Within(1, MOST_ONES))
    """How many features of one record count."""

    def kernel(self, schema: Schema) -> FeatureRefinements:
        if len(self.base) >= feature_count(schema):
            raise ProbeError("there is no feature left to choose", fix="choose fewer")
        return FeatureRefinements(self.base, self.most)

    def candidates(self, schema: Schema) -> Integers:
        """The numbers of the features that are scored, in order."""
        return np.setdiff1d(np.arange(feature_count(schema)), np.array(self.base, dtype=np.int64))

    def scores(self, tally: SparseTally, schema: Schema) -> Integers:
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
        cells, cell_of = np.unique((tally.keys[first:] - count * size) // classes, return_inverse=True)
        whole_counts = np.zeros((len(cells), classes), dtype=kind)
        whole_counts[cell_of, (tally.keys[first:] - count * size) % classes] = tally.counts[first:]
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
        different = rows**2 - sum(int(label) ** 2 for label in labels)
        alike = int((whole_counts.sum(axis=1) ** 2).sum() - (whole_counts**2).sum())
        pairs = (different - alike) + gained[self.candidates(schema)].astype(object)
        return np.array([GRID * int(pair) // rows for pair in pairs], dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        return Fraction(GRID + 1 if schema.neighbours == "add_remove" else 2 * GRID + 1)


UNIT = 2**16
"""Scores are multiples of 1/UNIT."""
SPAN = 1 + 2 * Fraction(8892, 100_000)
"""How far two scores move apart when a row comes: an upper bound of 1 + 2c."""
SLACK = 4
"""Units that the table's rounding adds."""
LARGEST_SCALE = 2**20
FARTHEST = 2**40
"""Beyond so many scales of noise, a majority is never lost."""


@frozen(eq=False, repr=False)
class GridQuality(Score):
    """For each grid of a pool, how many rows would be in the majority of their cell, counts having noise.

    Su, Cao, Li, Lyu, PrivPfC: differentially private data publication for classification. VLDB Journal, 2018. The
    quality of a grid is how many rows are expected to be in the majority of their cell once the counts have noise: for
    a cell whose two largest classes have n_1 >= n_2 rows, with d = n_1 - n_2 and x = d over the noise's scale,

        n_1 - h(d),  h(d) = d * exp(-x) * (1 + x/2) / 2,

    since the sum of two Laplace variables passes d with chance exp(-x) (1 + x/2) / 2. With two classes it is the
    paper's; with more, the largest class is held against the one after it alone.

    *How far a row moves two grids' scores apart.* The row is in one cell of each grid. Where its class is the largest
    there, or becomes it, n_1 and d grow by 1: the score grows by 1 - (h(d+1) - h(d)). Where it is the one after it, d
    shrinks by 1: the score grows by h(d) - h(d-1). Where it is neither, nothing changes. (Of equally large classes, any
    may be called the largest.) As h'(t) = exp(-x) (1 - x**2/2) / 2 with x = t over the scale, its greatest value is 1/2
    at 0; its least is -c with c = (1 + sqrt 3)/2 * exp(-(1 + sqrt 3)) = 0.08890..., at x = 1 + sqrt 3, where h'' is 0.
    So differences of h lie between -c and 1/2, and the score grows by between -c and 1 + c, for any number of classes.
    Hence two grids' scores move apart by at most 1 + 2c < 1.17784 when a row comes, and by twice that when one is
    replaced, which is a row less and a row more; a grid that a row with a blank is not in does not move, and 0 is
    between -c and 1 + c. (The slides' 1.1 for one score, and 2 * 1.1 for two under replacement,
    are too little.)

    Scores count in units of 1/UNIT; h is a table of whole numbers, each within 1 of UNIT * h, for scales of up to
    LARGEST_SCALE. Nothing is rounded after that, and a row changes one cell: so it moves a score by a difference of two
    neighbouring entries, each off by 1 at most, which widens the span by 4 units.
    """

    pool: Pool = field(validator=Component((Pool,)))
    scale: Fraction = field(converter=fraction)
    """The scale of the noise that the picked grid's counts will have."""

    def kernel(self, schema: Schema) -> GridCounts:
        """The counts of the grids' joints; refuse a pool whose last column is not the label, in every grid."""
        if not 0 < self.scale <= LARGEST_SCALE:
            raise ProbeError(f"the noise has scale {float(self.scale):g}, which must be above 0 and at most 2**20")
        self.pool.check(schema)
        codes = np.arange(len(schema.classes))
        if (
            schema.label is None
            or self.pool.columns[-1:] != (schema.label,)
            or not np.array_equal(self.pool.levels[-1], codes[None])
            or np.any(self.pool.taken[:, -1])
        ):
            raise ProbeError("the grids' last column is not the label, each of its codes by itself")
        return GridCounts(joints(self.pool, schema).counted)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        by_class = joints(self.pool, schema).added_up(tally).reshape(-1, len(schema.classes))
        largest = by_class.max(axis=1)
        gaps = largest - np.partition(by_class, -2, axis=1)[:, -2] if by_class.shape[1] > 1 else largest
        sizes = np.array(self.pool.sizes, dtype=np.int64) // by_class.shape[1]
        starts = np.cumsum(sizes) - sizes
        quality: Integers = np.add.reduceat(UNIT * largest - lost(gaps, self.scale), starts)
        return quality

    def sensitivity(self, schema: Schema) -> Fraction:
        span = SPAN * UNIT + SLACK
        return span / 2 if schema.neighbours == "add_remove" else span


def lost(gaps: Integers, scale: Fraction) -> Integers:
    """The values h of each gap in units of 1/UNIT, as whole numbers no more than 1 off.

    What numpy does about numbers that come out as 0 is for its users to say elsewhere; here it depends on rows, so it
    does nothing.
    """
    with np.errstate(all="ignore"):
        # No less than what takes a gap of 1 as far as any: as a float, a smaller one may be 0.
        x = np.minimum(gaps / float(max(scale, Fraction(1, FARTHEST))), FARTHEST)
        return np.rint(UNIT * (gaps * np.exp(-x) * (1 + x / 2) / 2)).astype(np.int64)


ScoreName = Literal["TC", "DC", "PI", "IG"]


@frozen
class FeatureScore(Score):
    """How well each feature of a table says which class a record is of.

    With t_c the records of class c, a_c those of them that have the feature and b_c = t_c - a_c the others (after
    sampling, where a record counts for so many features only: one that lost a feature is one without it):

    - TC, total count: sum_c a_c.
    - DC, difference count: how far the commonest class is ahead of all others among the records with the feature, 2
      max_c a_c - sum_c a_c. With two classes, |a_1 - a_0|.
    - PI, purity index: the larger of that and the same among those without, 2 max_c b_c - sum_c b_c.
    - IG, information gain, times the number of records: I(t) - I(a) - I(b), with I the impurity InfoGain of
      `split_scores`.

    *How far one record moves them.* Let a record of class c enter.

    - TC rises by 1 or stays.
    - DC: if it has the feature, sum a rises by 1 and max a by 0 or 1: DC changes by 1 or -1. Else it stays.
    - PI: a record is among those with or those without, so one of the two numbers changes by 1 or -1; the larger of two
      numbers changes by no more than the one that changes most. 1.
    - IG: I(t) rises by between 0 and D = d(N-1), and so does I(a) + I(b), of which one part gains the record (see
      `split_scores`, where D is worked out). So IG changes by at most D. In a *pick*, I(t) is the same for all
      features, so only - I(a) - I(b) counts, which falls by between 0 and D for all of them: monotone.

    A record that becomes another leaves, and the other enters. TC: 1, since the two changes are of opposite signs. DC
    and PI: 2. IG: 2 D; - I(a) - I(b), which rises by between 0 and D as a record leaves and falls as one enters: D.
    What enters or leaves a part of a table under replace_one moves them by no more than that.

    One record moves TC and DC of the features it has (at most r of them, after sampling), but PI and IG of all
    features. That matters where all scores are noised (`ScorePerturbation`), and not where one is picked, or compared
    with a threshold: these go by the most that any single score changes.
    """

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
