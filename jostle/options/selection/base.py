"""What all selectors have in common: how they are called, which score they go by, and what they give back.

A selector names at most *top* features, of those with a score of at least *threshold* where one is asked for. A score
is TC, DC, PI or IG (`FeatureScore`): in records, IG in bits times records. Where a record has more than
*most* features, it counts for so many of them, which ones being a function of the record alone: fewer need less noise,
and tell less. With *training*, a share of the budget, naive Bayes is trained on what was selected, so that one budget
is split between the two, and how, is one more thing to choose.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.given import PRICE, called_as
from jostle.options.base import Option
from jostle.options.classification.naive_bayes import NaiveBayes
from jostle.parameters import choice, share, whole
from jostle.privacy.amounts import Amount
from jostle.privacy.column_scores import FeatureScore, ScoreName, feature_scores
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.feature_kernels import FeatureSums, feature_count
from jostle.tables.schema import Schema
from jostle.tasks.selection import SELECTION, SelectedFeatures

Integers = NDArray[np.int64]
MOST_CELLS = 2**26
"""Features by classes: more are not counted at once."""
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
        """The reason why this cannot run on tables of this schema, or None."""
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
        """The part of a budget that trains naive Bayes."""
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
