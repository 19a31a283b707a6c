"""Metafeatures of tables with a label: what may decide between classification Options."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from jostle.privacy.expressions import Expression, cells, largest, mean_of_cells, one_rule
from jostle.tables.columns import Numeric
from jostle.tasks.metafeature import Metafeature, View, metafeature

__all__ = ["BOUGHT", "PUBLIC"]


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
FROM_CLASSES = (log_rows, log_rows_epsilon, log_epsilon_per_count, majority_share, label_entropy)
BOUGHT: tuple[Metafeature, ...] = (*FROM_CLASSES, best_rule, mean_rule)
"""Bought: the classes' counts, and one number for each of the two rules."""
