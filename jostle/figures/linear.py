"""What a linear classifier sees of coded rows and of published ones, and what it says of others.

All of it is computed from public rows or from published ones, which cost nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema
from jostle.tasks.publishing import Published

__all__ = ["LinearFeatures", "fitted_or_label", "linear_chances", "published_features"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@frozen(eq=False)
class LinearFeatures:
    """Features of rows: how far up a number is, and one place for each group of a category."""

    schema: Schema
    groups: Mapping[str, Integers]
    """Of each attribute that is looked at, the group of each code."""

    @classmethod
    def of_schema(cls, schema: Schema) -> LinearFeatures:
        """Of all attributes, each value a group by itself."""
        return cls(schema, {name: np.arange(schema[name].size) for name in schema.attributes})

    def of(self, grouped: Mapping[str, Integers]) -> Floats:
        """The features of rows that are given by groups."""
        parts: list[Floats] = [np.zeros((len(next(iter(grouped.values()))), 1))] if grouped else []
        for name, own in self.groups.items():
            count = int(own.max()) + 1
            if isinstance(self.schema[name], Numeric):
                place = (
                    np.bincount(own, np.arange(len(own)) + 0.5, count) / np.bincount(own, minlength=count) / len(own)
                )
                parts.append(4 * place[grouped[name]][:, None] - 2)
            else:
                parts.append(np.eye(count)[grouped[name]])
        return np.hstack(parts)

    def of_codes(self, codes: Integers) -> Floats:
        """The features of rows of codes, one for each of the schema's attributes."""
        if not self.groups:  # nothing was published but labels
            return np.zeros((len(codes), 1))
        places = {name: place for place, name in enumerate(self.schema.attributes)}
        return self.of({name: own[codes[:, places[name]]] for name, own in self.groups.items()})


def published_features(published: Published) -> tuple[LinearFeatures, Floats, Integers]:
    """How features of published rows are made, those features, and the rows' labels."""
    attributes = [column for column in published.columns if column.name != published.schema.label]
    features = LinearFeatures(published.schema, {column.name: column.groups for column in attributes})
    grouped = {column.name: published.cells[:, published.names.index(column.name)] for column in attributes}
    label = published.cells[:, published.names.index(str(published.schema.label))]
    return features, features.of(grouped) if grouped else np.zeros((len(label), 1)), label


def fitted_or_label(classifier: Any, features: Floats, labels: Integers, weights: Integers | None) -> Any:
    """A fitted classifier, or the one label that there is."""
    if len(np.unique(labels)) < 2:
        return int(labels[0]) if len(labels) else 0
    return classifier.fit(features, labels, sample_weight=weights)


def linear_chances(fitted: Any, features: Floats, classes: int) -> Floats:
    """The chance of each class, by a classifier or by the one label that there was."""
    found = np.zeros((len(features), classes))
    if isinstance(fitted, int):
        found[:, fitted] = 1
    else:
        found[:, fitted.classes_] = fitted.predict_proba(features)
    return found
