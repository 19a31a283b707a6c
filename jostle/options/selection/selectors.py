"""The selectors: by noisy scores, by private picks, by a noisy threshold, or without a look.

A selector names at most *top* features, of those with a score of at least *threshold* where one is asked for. A score
is TC, DC, PI or IG (`FeatureScore`): in records, IG in bits times records. Where a record has more than
*most* features, it counts for so many of them, which ones being a function of the record alone: fewer need less noise,
and tell less. With *training*, a share of the budget, naive Bayes is trained on what was selected, so that one budget
is split between the two, and how, is one more thing to choose.

*SparseVector and NoisyCut* compare each score with a noisy threshold. Lyu, Su, Li. Understanding the sparse vector
technique for differential privacy. PVLDB 10(6), 2017. Lee, Clifton. Top-k frequent itemsets via differentially private
FP-trees. KDD 2014: their noise, of scale 4/epsilon on the threshold and 4/(3 epsilon) on each score, costs (1 + 6c)/4
epsilon for c features found, or (1 + 3c)/4 where scores only rise (Lyu et al.); here it is as much larger. That is a
sparse vector with another share for the threshold.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.given import PRICE, called_as
from jostle.options.base import ELSEWHERE, Option, check_probe, option, preset
from jostle.options.classification.naive_bayes import NaiveBayes
from jostle.parameters import choice, share, whole
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.column_scores import FeatureDiscernibility, FeatureScore, ScoreName, feature_scores
from jostle.privacy.events import AboveThreshold, Allotment, Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.imitations import CompareWithNoisyThreshold
from jostle.privacy.picks import FindAbove, FindNthLargest, PickSeveral
from jostle.privacy.probe import Probe
from jostle.tables.feature_kernels import FeatureSums, feature_count
from jostle.tables.schema import Schema
from jostle.tasks.selection import SELECTION, SelectedFeatures

Integers = NDArray[np.int64]
MOST_CELLS = 2**26
"""Features by classes: more are not counted at once."""
MOST_SCORE = 2**50
"""Thresholds are compared with up to it: beyond, all features pass, or none."""
ROWS_SHARE = Fraction(1, 20)
"""Of the budget, for the number of records, where IG needs it and nobody knows it."""


@frozen(kw_only=True)
class Selector(Option[SelectedFeatures]):
    """An Option that selects features of a table: `option(db, epsilon=1)` gives a `SelectedFeatures`."""

    task = SELECTION

    top: int = whole(10, least=1)
    """At most so many features are selected."""

    @called_as("option(db, epsilon=0.1)", why=PRICE)
    def __call__(self, db: Probe, *, epsilon: Amount, site: str | None = None) -> SelectedFeatures:
        """Features selected from the probe's table with *epsilon* of its budget."""
        return self.perform(db, epsilon, self.run, site=site)

    def refuses(self, schema: Schema) -> str | None:
        if schema.label is None:
            return "the schema names no label"
        count = feature_count(schema)
        if count < 2:
            return "the table has no feature to select" if not count else "the table has one feature: nothing to select"
        if count * len(schema.classes) > MOST_CELLS:
            return f"{count:,} features by classes are more than the {MOST_CELLS:,} that are counted at once"
        return None

    def places(self, schema: Schema) -> int:
        """Number of features that are looked for: *top*, or all there are."""
        return min(self.top, feature_count(schema))

    @abstractmethod
    def found(self, db: Probe, epsilon: Fraction) -> Integers:
        """The numbers of the features selected, the first found first."""

    @abstractmethod
    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The event of finding them with so much."""

    @abstractmethod
    def trains_with(self, epsilon: Fraction) -> Fraction:
        """The part of a budget that trains naive Bayes on them."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Finding them, and one tally, in which a record counts once per selected column and once for its class."""
        training = self.trains_with(epsilon)
        selecting = (self.selecting_cost(schema, epsilon - training),) if training < epsilon else ()
        return in_turn([*selecting, *((Laplace(training),) if training else ())])

    def run(self, db: Probe, epsilon: Fraction) -> SelectedFeatures:
        """The features, and naive Bayes on them if it is trained; *db* has just this budget.

        Privacy: two steps in turn. Which columns are counted in the second is what the first one released, and whatever
        they are it costs the same.
        """
        training = self.trains_with(epsilon)
        places = tuple(self.found(db, epsilon - training).tolist())
        selected = SelectedFeatures(schema=db.schema, places=places, made_by=self.name, epsilon=epsilon)
        if not training:
            return selected
        return evolve(selected, model=NaiveBayes()(db.only(*selected.columns), epsilon=training))


@frozen(kw_only=True)
class AskingSelector(Selector):
    """A selector that asks the table which features are good."""

    most: int = whole(20, least=1)
    """How many features of one record count."""
    training: Fraction = share("0", zero=True)
    """Part of the budget that trains naive Bayes on what was selected."""

    def trains_with(self, epsilon: Fraction) -> Fraction:
        return self.training * epsilon


@frozen(kw_only=True)
class ScoredSelector(AskingSelector):
    """A selector that goes by a score of each feature."""

    score: ScoreName = choice("IG", ScoreName)
    threshold: int = whole(0, least=0)
    """Only features with at least this score, in records, or in bits times records; 0 for no threshold."""

    def rows_cost(self, schema: Schema, epsilon: Fraction) -> tuple[Event, ...]:
        """The events of buying the number of records, where the score needs it and nobody knows it."""
        return (Laplace(ROWS_SHARE * epsilon),) if self.score == "IG" and schema.rows is None else ()

    def feature_score(self, db: Probe, epsilon: Fraction) -> tuple[FeatureScore, Fraction]:
        """The score, and what is left of the budget: for IG, the number of records may have to be bought."""
        if self.score != "IG":
            return FeatureScore(self.score, self.most), epsilon
        bought = db.schema.rows is None
        rows = db.count(ROWS_SHARE * epsilon, site="rows") if bought else db.schema.rows
        # A bound only: with more records, scores lose sense, and nothing else.
        bound = max(2, (rows or 0) * 11 // 10)
        return FeatureScore(self.score, self.most, bound), epsilon - (ROWS_SHARE * epsilon if bought else 0)

    def cost_of(self, schema: Schema, epsilon: Fraction, *events: tuple[Fraction, type[Event]]) -> Event:
        """The cost of events on shares of what is left after the number of records was bought."""
        bought = self.rows_cost(schema, epsilon)
        left = epsilon - (ROWS_SHARE * epsilon if bought else 0)
        return in_turn([*bought, *(kind(share * left) for share, kind in events)])  # type: ignore[call-arg]


def noisy_counts(
    db: Probe, score: ScoreName, most: int, epsilon: Fraction, among: tuple[int, ...] = ()
) -> tuple[Integers, Integers]:
    """Noisy scores of features, in their units, and the noisy counts by class that they were computed from.

    A record moves the count of each of at most *most* features by 1, and, where the score goes by all records, that of
    its class: noise of scale (most + 1) / epsilon, whatever the number of features. (Noise on the scores themselves
    would be for all features, for PI and IG, each of which changes with every record.) TC is one count; DC and PI of
    two classes go by one difference, whose noise is that of one count.
    """
    classes = len(db.schema.classes)
    weights = _weights(score, classes)
    totals = score in {"PI", "IG"}
    kernel = FeatureSums(weights, most, totals=totals, among=among)
    noisy = db.measure(kernel, epsilon, site="features").reshape(len(weights), -1).T
    everyone, having = (noisy[0], noisy[1:]) if totals else (None, noisy)
    if len(weights) == 1 and score in {"DC", "PI"}:  # a difference d is what d of one class and none of the other are
        having = np.concatenate([having, np.zeros_like(having)], axis=1)
        everyone = None if everyone is None else np.array([everyone[0], 0])
    bound = 2 if everyone is None else max(2, int(np.maximum(everyone, 0).sum()))
    return feature_scores(score, having, everyone, bound), having


def _weights(score: ScoreName, classes: int) -> tuple[tuple[int, ...], ...]:
    if score == "TC":
        return ((1,) * classes,)
    if score in {"DC", "PI"} and classes == 2:
        return ((1, -1),)
    return tuple(tuple(int(each == other) for other in range(classes)) for each in range(classes))


def best(scores: Integers, top: int, threshold: int) -> Integers:
    """The features with the highest scores, best first: at most so many, with at least this score if it is not 0."""
    order = np.argsort(-scores, kind="stable")[:top]
    return np.asarray(order[scores[order] >= threshold] if threshold else order)


ROUNDS = 10
"""Of k-means."""
Floats = NDArray[np.float64]


@option
@frozen(kw_only=True)
class ClusterSelection(ScoredSelector):
    """Selects features by scores of clusters of features with like counts.

    Privacy: noisy counts of every feature by class, in one tally that costs epsilon; all else is computed from these.

    Cluster selection: features with like counts are scored together, so that noise averages out.

    Stoddard, Chen, Machanavajjhala 2014, section 3.3, made private. As published, k-means runs on the features' own
    counts and releases the noisy sum and size of each cluster as if a record moved a sum by what it holds. But a record
    can move a feature into another cluster, and with it the feature's whole count: that is not private (the auditor's
    control ClusterSums). Here counts get noise once, and clusters are made of the noisy counts; a cluster scores as its
    features do in the mean.
    """

    paper = "Stoddard, Chen, Machanavajjhala 2014"

    clusters: int = whole(8, least=1)

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features of the best clusters; of the last one, those with the best noisy scores."""
        scores, having = noisy_counts(db, self.score, self.most, epsilon)
        cluster = clustered(having.astype(np.float64), self.clusters)
        sizes = np.maximum(np.bincount(cluster, minlength=self.clusters), 1)
        means = np.rint(np.bincount(cluster, scores, minlength=self.clusters) / sizes).astype(np.int64)
        least = self.threshold * FeatureScore(self.score, self.most).units
        passing = np.flatnonzero(means[cluster] >= least) if least else np.arange(len(scores))
        order = np.lexsort((-scores[passing], -means[cluster[passing]]))
        return np.asarray(passing[order][: self.top])


def clustered(points: Floats, count: int) -> NDArray[np.intp]:
    """The cluster of each point: Lloyd's k-means, begun at points evenly spread in order of their sums."""
    order = np.argsort(points.sum(axis=1), kind="stable")
    centres = points[order[np.linspace(0, len(points) - 1, min(count, len(points))).astype(int)]]
    nearest = np.zeros(len(points), dtype=np.intp)
    for _ in range(ROUNDS):
        nearest = np.argmin(((points[:, None, :] - centres) ** 2).sum(axis=2), axis=1)
        for place in range(len(centres)):
            if np.any(nearest == place):
                centres[place] = points[nearest == place].mean(axis=0)
    return nearest


MOST_COLUMNS = 200
"""A record counts in each of them, and noise grows with them: with more, even what many rows say is lost in it."""


@option
@frozen(kw_only=True)
class FirstFeatures(Selector):
    """Selects the features that the schema lists first, and without *top* all of them: no row is asked for that.

    So all of the budget trains naive Bayes on them. Of a public vocabulary by how common words are elsewhere, these
    are the commonest ones. With top=0 there are none, and what is trained knows how many records each class has.

    Privacy: which features they are is a public fact; the model is naive Bayes's one tally.

    A selector that asks has to be better than these.
    """

    top: int = whole(MOST_CELLS, least=0)

    def refuses(self, schema: Schema) -> str | None:
        if reason := super().refuses(schema):
            return reason
        columns = len(SelectedFeatures(schema=schema, places=self._places(schema)).columns)
        if columns <= MOST_COLUMNS:
            return None
        return f"noise would be for {columns:,} columns at once, and top={MOST_COLUMNS} is the most that is of use"

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Never asked for, since nothing is left to select with."""
        return Laplace(epsilon)

    def trains_with(self, epsilon: Fraction) -> Fraction:
        return epsilon

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        return np.array(self._places(db.schema), dtype=np.int64)

    def _places(self, schema: Schema) -> tuple[int, ...]:
        return tuple(range(self.places(schema)))


CHECK_SHARE = Fraction(1, 2)
"""Of the budget, for noisy scores of what was picked, where there is a threshold."""


@option
@frozen(kw_only=True)
class Peeling(ScoredSelector):
    """Selects the features of the best scores, one after the other.

    Privacy: *top* picks by permute-and-flip, each with an equal part of epsilon. Noise is that of one score.
    With a threshold, half the budget buys counts of the features that were picked, and those below it are dropped.
    """

    paper = "McKenna, Sheldon, NeurIPS 2020; Dwork, Su, Zhang 2021"

    score: ScoreName = choice("DC", ScoreName)  # which a record moves by 1, where it moves IG by a dozen bits

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The number of records, if need be, the picks, and counts where there is a threshold."""
        places, bought = self.places(schema), self.rows_cost(schema, epsilon)
        left = epsilon - (ROWS_SHARE * epsilon if bought else 0)
        picking = left * (1 - CHECK_SHARE) if self.threshold else left
        picks = Repeated(PermuteAndFlip(picking / places), places)
        return in_turn([*bought, picks, *([Laplace(left - picking)] if self.threshold else [])])

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        score, left = self.feature_score(db, epsilon)
        picking = left * (1 - CHECK_SHARE) if self.threshold else left
        picked: NDArray[np.int64] = db.perform(PickSeveral(score, self.places(db.schema)), picking, site="picks")
        if not self.threshold:
            return picked
        scores, _ = noisy_counts(db, self.score, self.most, left - picking, tuple(picked.tolist()))
        return np.asarray(picked[best(scores, len(picked), self.threshold * score.units)])


MOST_PLACES = 20
"""Features that are chosen at most: records fall into 2**20 cells then, and beyond that each is in one of its own."""


@option
@frozen(kw_only=True)
class PrivateKD(AskingSelector):
    """Selects the features that best tell apart rows of different classes, one after the other.

    Privacy: *top* picks, each with an equal part of epsilon.

    Vinterbo. Differentially private projected histograms. ECML PKDD 2012: the feature that adds most to the number of
    pairs of records of different labels that are told apart, by a private pick, then the one that adds most to that,
    and so on. Unlike a score of each feature by itself, this does not pick two features that say the same.
    """

    paper = "Vinterbo, ECML PKDD 2012"

    @property
    def holds(self) -> str:
        """The combinations that rows have of what it selects."""
        return "the combinations that rows have of what it selects"

    def places(self, schema: Schema) -> int:
        return min(super().places(schema), MOST_PLACES)

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        places = self.places(schema)
        return Repeated(PermuteAndFlip(epsilon / places), places)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        places = self.places(db.schema)
        chosen: list[int] = []
        for _ in range(places):
            score = FeatureDiscernibility(tuple(chosen), self.most)
            picked = db.pick(score, epsilon / places, site="pick")
            chosen.append(int(score.candidates(db.schema)[picked]))
        return np.array(chosen, dtype=np.int64)


ROWS_BOUND = 100_000
"""For the noise that IG would get, had it any."""


@option
@frozen(kw_only=True)
class PrivateThresholdTesting(ScoredSelector):
    """Not private, for public rows only: features whose score reaches one noisy threshold.

    At most *top* of them, drawn at random.

    NOT PRIVATE, for any epsilon: with scores (0, 1) on one table, (1, 1) on its neighbour, and threshold 0.5, it
    answers (no, yes) with chance above 0 on the first and never on the second. On private rows it is refused.
    """

    paper = "Stoddard, Chen, Machanavajjhala 2014, theorem 2; refuted by Lyu, Su, Li, PVLDB 2017"
    private = False

    def __call__(self, db: Probe, *, epsilon: Amount, site: str | None = None) -> SelectedFeatures:
        """Features selected from public rows; refuse private ones before anything is charged."""
        check_probe(db, self.name)
        self.refuse_hopeless(db, epsilon)
        if reason := self.refuses(db.schema):
            raise OptionError(f"{self.name} does not run here: {reason}", fix=ELSEWHERE)
        return self.run(db, epsilon_amount(epsilon))

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Allotment(epsilon)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        score = FeatureScore(self.score, self.most, ROWS_BOUND)
        place = 0 if self.threshold else self.places(db.schema)
        asked = CompareWithNoisyThreshold(score, self.threshold * score.units, place)
        passing: NDArray[np.int64] = db.imitate(asked, epsilon, site=self.name)
        return passing[db.shuffled(len(passing))][: self.top]


@option
@frozen(kw_only=True)
class ScorePerturbation(ScoredSelector):
    """Selects features by scores that are computed from noisy counts.

    Privacy: noisy counts of every feature by class, in one tally that costs epsilon; all else is computed from these.

    Stoddard, Chen, Machanavajjhala. Differentially private algorithms for empirical machine learning. 2014, section
    3.2, with noise on counts in place of scores: a record changes the counts of the features it has, and no others,
    while it changes PI and IG of all features.
    """

    paper = "Stoddard, Chen, Machanavajjhala 2014"

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        scores, _ = noisy_counts(db, self.score, self.most, epsilon)
        return best(scores, self.top, self.threshold * FeatureScore(self.score, self.most).units)


FOUND_SHARE = Fraction(1, 10)
"""Of the budget, for a threshold where none is given: the noisy score of the so-manieth best feature."""


@option
@frozen(kw_only=True)
class SparseVector(ScoredSelector):
    """Selects features whose noisy score passes a noisy threshold, up to a number of them: the sparse vector.

    Features are gone through in random order, up to *top* that pass. Without a threshold, that is the score of the
    top-th best feature, which a record changes by no more than any single score, so that little budget finds it.

    Shares of the budget are those of Lyu, Su and Li: 1 to (2c)^(2/3), or c^(2/3) where scores only rise.
    """

    paper = "Lyu, Su, Li, PVLDB 2017"
    linear: ClassVar[bool] = False
    """Whether the answers' share grows as c rather than as c^(2/3): 1 to 6c, or 3c where scores only rise."""

    score: ScoreName = choice("DC", ScoreName)  # which a record moves by 1, where it moves IG by a dozen bits

    def share(self, places: int, *, rises: bool) -> Fraction:
        """The threshold's share of the noise's budget, where so many features are found."""
        moves = places if rises else 2 * places
        return (
            Fraction(1, 1 + 3 * moves)
            if self.linear
            else Fraction(1 / (1 + moves ** (2 / 3))).limit_denominator(10_000)
        )

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The search for a threshold, if need be, and the run."""
        if self.threshold:
            return self.cost_of(schema, epsilon, (Fraction(1), AboveThreshold))
        return self.cost_of(schema, epsilon, (FOUND_SHARE, Laplace), (1 - FOUND_SHARE, AboveThreshold))

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        score, left = self.feature_score(db, epsilon)
        places = self.places(db.schema)
        threshold = self.threshold * score.units
        if not threshold:
            spent = FOUND_SHARE * left
            threshold = db.perform(FindNthLargest(score, places), spent, site="threshold")
            left -= spent
        share = self.share(places, rises=score.rises(db.schema))
        threshold = max(-MOST_SCORE, min(MOST_SCORE, threshold))
        answer: NDArray[np.int64] = db.perform(FindAbove(score, threshold, places, share), left, site="test")
        return answer


NoisyCut = preset(
    SparseVector,
    "NoisyCut",
    """Selects features whose noisy score passes a threshold with less noise, up to a number of them.

    Privacy: as the sparse vector, with as much more noise as its epsilon needs: shares are 1 to 6c, or 3c where scores
    only rise. As published it had too little.
    """,
    paper="Lee, Clifton, KDD 2014; Lyu, Su, Li, PVLDB 2017",
    linear=True,
)
