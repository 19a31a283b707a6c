"""Classification: predict a table's label from its other columns, and what may decide between its Options."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jostle.corpora.databases import PublicDatabase, PublicTable
from jostle.corpora.parts import Spec, TableSpec
from jostle.privacy.expressions import cells, largest, mean_of_cells, one_rule
from jostle.privacy.nodes import Expression
from jostle.tables.columns import Numeric
from jostle.tasks.base import Judge, Question, Rehearsal, Shown, Task, register
from jostle.tasks.classification import instances
from jostle.tasks.classification.instances import TableInstance, table_instance
from jostle.tasks.classification.model import Model
from jostle.tasks.metafeature import Metafeature, View, metafeature

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus


@metafeature(low="epsilon is small", high="epsilon is large")
def log_epsilon(db: View) -> float:
    """The budget's logarithm."""
    return math.log10(db.epsilon)


@metafeature(low="there are few attributes", high="there are many attributes")
def log_attributes(db: View) -> float:
    """The logarithm of the number of attributes."""
    return math.log10(len(db.schema.attributes) or 1)


@metafeature(low="there are few classes", high="there are many classes")
def log_classes(db: View) -> float:
    """The logarithm of the number of classes."""
    return math.log10(len(db.schema.classes))


@metafeature(low="attributes have few values", high="attributes have many values")
def mean_log_size(db: View) -> float:
    """The mean logarithm of the attributes' numbers of values."""
    return float(np.log10(db.sizes or (1,)).mean())


@metafeature(low="no attribute has many values", high="some attribute has many values")
def largest_log_size(db: View) -> float:
    """The logarithm of the largest number of values."""
    return math.log10(max(db.sizes, default=1))


@metafeature(low="there are few counts to be made", high="there are many counts to be made")
def log_counts(db: View) -> float:
    """The logarithm of the number of counts by value and class."""
    return math.log10(max(1, sum(db.sizes) * len(db.schema.classes)))


@metafeature(low="attributes are categories", high="attributes are numbers")
def numeric_share(db: View) -> float:
    """The share of attributes that are numbers."""
    attributes = db.schema.attributes
    return sum(isinstance(db.schema[name], Numeric) for name in attributes) / max(1, len(attributes))


@lru_cache(maxsize=256)
def classes_of(label: str) -> Expression:
    """The rows of each class."""
    return cells(label)


@lru_cache(maxsize=256)
def rules(attributes: tuple[str, ...], label: str, kind: str) -> Expression:
    """How many rows the rules from one attribute get right: the best one, or all on average."""
    scores = [one_rule(name, label) for name in attributes]
    return largest(scores) if kind == "best" else mean_of_cells(scores)


def class_counts(db: View) -> np.ndarray:
    """The classes' noisy counts, at least 0."""
    return np.maximum(db.buy_cells(classes_of(db.label)), 0)


def bought_rows(db: View) -> float:
    """Number of rows, at least 1: as known, or the sum of the classes' noisy counts."""
    rows = db.rows
    return max(1.0, db.buy_cells(classes_of(db.label)).sum() if rows is None else float(rows))


@metafeature(low="there are few rows", high="there are many rows")
def log_rows(db: View) -> float:
    """The logarithm of the number of rows."""
    return math.log10(max(1.0, bought_rows(db)))


@metafeature(low="n·ε is small", high="n·ε is large")
def log_rows_epsilon(db: View) -> float:
    """The logarithm of rows times epsilon: how far counts stand out of noise."""
    return math.log10(max(1.0, bought_rows(db)) * db.epsilon)


@metafeature(low="counts per value are few next to noise", high="counts per value stand out of noise")
def log_epsilon_per_count(db: View) -> float:
    """The logarithm of rows times epsilon per count that naive Bayes makes."""
    counts = sum(db.sizes) * len(db.schema.classes) or 1
    return math.log10(max(1.0, bought_rows(db)) * db.epsilon / counts)


@metafeature(low="no class has the majority", high="one class has nearly all rows")
def majority_share(db: View) -> float:
    """The share of rows that the largest class has."""
    counts = class_counts(db)
    return float(counts.max() / max(1.0, counts.sum()))


@metafeature(low="one class has nearly all rows", high="classes are about as frequent")
def label_entropy(db: View) -> float:
    """The entropy of the classes' shares, in bits."""
    counts = class_counts(db)
    shares = counts[counts > 0] / max(1.0, counts.sum())
    return float(-(shares * np.log2(shares)).sum()) if len(shares) else 0.0


def _above_majority(db: View, right: float) -> float:
    rows = bought_rows(db)
    return float(np.clip(right / rows - majority_share(db), -1, 1))


@metafeature(low="no attribute tells the label apart", high="one attribute tells the label apart")
def best_rule(db: View) -> float:
    """By how much the best rule from one attribute beats the largest class, as a share of rows."""
    attributes = db.schema.attributes
    if not attributes:
        return 0.0
    return _above_majority(db, db.buy(rules(attributes, db.label, "best")))


@metafeature(low="most attributes say nothing about the label", high="many attributes tell the label apart")
def mean_rule(db: View) -> float:
    """By how much rules from one attribute beat the largest class on average, as a share of rows."""
    attributes = db.schema.attributes
    if not attributes:
        return 0.0
    return _above_majority(db, db.buy(rules(attributes, db.label, "mean")))


PUBLIC: tuple[Metafeature, ...] = (
    log_epsilon,
    log_attributes,
    log_classes,
    mean_log_size,
    largest_log_size,
    log_counts,
    numeric_share,
)
"""Free."""
MODEL_COUNTS = 200
"""About how many counts a model rests on, set by hand: fewer rows of a person are best read where these are more."""
FROM_CLASSES = (log_rows, log_rows_epsilon, log_epsilon_per_count, majority_share, label_entropy)
BOUGHT: tuple[Metafeature, ...] = (*FROM_CLASSES, best_rule, mean_rule)
"""Bought: the classes' counts, and one number for each of the two rules."""


Of = Callable[[NDArray[np.int64], NDArray[np.float64]], float]
GENERATED = 24
"""How many generated tables there are beside those that come with packages."""
EXAMPLE = "nursery"
FLOOR, LOG_LOSS_FLOOR, AREA_FLOOR = 0.01, 0.05, 0.03
"""Of a share of wrong predictions nobody notices less; nor of the other losses."""


@cache
def _corpus() -> Corpus:
    from jostle.corpora.generators import generated_tables  # noqa: PLC0415 - for training only
    from jostle.corpora.packaged import packaged  # noqa: PLC0415 - as above

    return packaged() | generated_tables(GENERATED)


def _example() -> tuple[PublicDatabase, Spec]:
    from jostle.corpora.generators import generated_tables  # noqa: PLC0415 - for trying out only
    from jostle.corpora.packaged import packaged  # noqa: PLC0415 - as above

    corpus = packaged()
    return (corpus[EXAMPLE] if EXAMPLE in corpus else next(iter(generated_tables(1)))), TableSpec()


def _judged(of: Of, instance: TableInstance, model: Model) -> float:
    return of(instance.labels, instance.read(model))


def _judge(name: str, about: str, of: Of, floor: float = FLOOR) -> Judge:
    return Judge(name, partial(_judged, of), about, floor)  # which can be sent to another process


CLASSIFICATION: Task[Model] = register(
    Task(
        name="classification",
        question=Question(
            does="predicts a label",
            modules=("classifiers", "trees", "classification"),
            named="ClassifierName",
            answers=(Model,),
            gives="a model or a tree",
            told_by=("label", "attributes"),
            counts=lambda schema: MODEL_COUNTS,
            suits=lambda schema: schema.label is not None,
            suited='a schema with a label: Schema(columns, label="...")',
        ),
        rehearsal=Rehearsal(
            database=PublicTable,
            instance=table_instance,
            corpus=_corpus,
            example=_example,
            judges=(
                _judge("error", "the share of held-out rows predicted wrongly", instances.error),
                _judge(
                    "balanced-error", "the mean over classes of the share predicted wrongly", instances.balanced_error
                ),
                _judge(
                    "log-loss",
                    "the mean negative logarithm of the true class's chance",
                    instances.log_loss,
                    LOG_LOSS_FLOOR,
                ),
                _judge(
                    "auc",
                    "1 less the area under the curve, the mean over pairs of classes",
                    instances.one_less_auc,
                    AREA_FLOOR,
                ),
            ),
            sure=True,
            free=PUBLIC,
            bought=BOUGHT,
        ),
        shown=Shown(
            text=lambda model: model.told(), data=lambda model: json.loads(model.to_json()), endings=(".json",)
        ),
    )
)
