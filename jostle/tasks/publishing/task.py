"""Publishing: rows in place of a table's own, which any classifier may be trained on, and how that is judged.

The default classifier is a decision tree of scikit-learn's, over groups of codes. What it learns is a function of
published rows and public facts alone, so it costs nothing more.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.tables.columns import Numeric
from jostle.tables.frames import PARQUET_ENDINGS
from jostle.tasks.base import Question, Shown, Task, register
from jostle.tasks.classification.instances import Chances, TableInstance, instance_of
from jostle.tasks.classification.task import CLASSIFICATION
from jostle.tasks.publishing.published import Published

Integers = NDArray[np.int64]

LEAST_SHARE = 0.002
"""A leaf holds at least this share of the rows: less is mostly noise."""


@frozen
class Asked:
    """What one feature asks of a row: how far up an attribute's group is, or whether it is a given one."""

    attribute: int
    """Its place among the schema's attributes."""
    column: int
    """Its place among the published columns."""
    group: int | None
    """None for the group's own number."""

    def feature(self, groups: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Its value for groups."""
        return (groups if self.group is None else groups == self.group).astype(np.float32)


@frozen(eq=False, repr=False)
class LearnedTree:
    """A tree, and what its features ask."""

    published: Published
    asked: tuple[Asked, ...]
    tree: Any
    """None where there was nothing to learn from: then all classes are alike likely."""

    def chances(self, codes: Integers) -> NDArray[np.float64]:
        """The chance of each class for rows of attribute codes, all of them known."""
        classes = len(self.published.schema.classes)
        if self.tree is None:
            return np.full((len(codes), classes), 1 / classes)
        features = [
            each.feature(self.published.columns[each.column].groups[codes[:, each.attribute]]) for each in self.asked
        ]
        found = np.zeros((len(codes), classes))
        stacked = np.stack(features, axis=1) if features else np.zeros((len(codes), 1), dtype=np.float32)
        found[:, self.tree.classes_] = self.tree.predict_proba(stacked)
        return found


def learn(published: Published) -> LearnedTree:
    """The tree that published rows give."""
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - takes a second to import

    schema = published.schema
    if schema.label not in published.names:
        raise OptionError("the label is not among the published columns", fix="publish it too, to predict it")
    asked = tuple(_asked(published))
    if not len(published.counts):
        return LearnedTree(published, asked, None)
    features = [each.feature(published.cells[:, each.column]) for each in asked]
    stacked = np.stack(features, axis=1) if features else np.zeros((len(published.cells), 1), dtype=np.float32)
    classes = published.cells[:, published.names.index(schema.label)]  # of which each is a group by itself
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=LEAST_SHARE, random_state=0)
    with warnings.catch_warnings():
        # Of many classes and few rows, they are classes all the same.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        return LearnedTree(published, asked, tree.fit(stacked, classes, sample_weight=published.counts))


def _asked(published: Published) -> list[Asked]:
    schema, found = published.schema, []
    for index, column in enumerate(published.columns):
        if column.name == schema.label:
            continue
        attribute, groups = schema.attributes.index(column.name), len(column.counts)
        ordered = isinstance(schema[column.name], Numeric) or groups == 2
        wanted = (None,) if ordered else range(groups)
        found += [Asked(attribute, index, group) for group in wanted if groups > 1]
    return found


@frozen(eq=False, repr=False)
class PublishingInstance(TableInstance):
    """Published rows are judged by what the default classifier, trained on them, says of rows held out."""

    judged = (Published, "a publishing", "published data")

    def said_by(self, published: Any) -> Chances:
        """The chance of each class that the classifier gives each held-out row."""
        return learn(published).chances(self.codes)


PUBLISHING: Task[Published] = register(
    Task(
        name="publishing",
        question=Question(
            does="publishes rows",
            modules=("publishing",),
            named="PublisherName",
            answers=(Published,),
            gives="published data",
            counts=CLASSIFICATION.question.counts,
            suits=CLASSIFICATION.question.suits,
            suited=CLASSIFICATION.question.suited,
        ),
        rehearsal=evolve(CLASSIFICATION.rehearsal, instance=partial(instance_of, PublishingInstance), sure=False),
        shown=Shown(save=lambda published, path: published.write(path), endings=(".csv", *PARQUET_ENDINGS)),
    )
)
