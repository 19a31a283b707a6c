"""PublishedTree: publish rows, and train the default classifier on them.

With ProjectedHistogram this is what Su, Cao, Li and Lyu compare PrivPfC with as PPH, with a decision tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.models.kinds import TreeModel
from jostle.options.publishing.base import Publisher
from jostle.options.publishing.one_grid import DiffGen, PrivPfC
from jostle.options.publishing.privbayes import PrivBayes
from jostle.options.publishing.projected_histogram import ProjectedHistogram
from jostle.parameters import choice
from jostle.privacy.events import Event
from jostle.privacy.probe import Probe
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema
from jostle.tasks.publishing.task import LearnedTree, learn

PublisherOf = Literal["PrivPfC", "PrivBayes", "ProjectedHistogram", "DiffGen"]
PUBLISHERS: Mapping[str, type[Publisher]] = MappingProxyType(
    {kind.__name__: kind for kind in (PrivPfC, PrivBayes, ProjectedHistogram, DiffGen)}
)


@option
@frozen(kw_only=True)
class PublishedTree(Classifier):
    """A decision tree learned from published rows, which cost all of epsilon; learning costs nothing more."""

    publisher: PublisherOf = choice("PrivPfC", PublisherOf)
    """What publishes the rows."""
    paper = "Su, Cao, Li, Lyu, VLDB Journal 2018"

    @property
    def publishes(self) -> Publisher:
        """The Option that publishes the rows."""
        return PUBLISHERS[self.publisher]()

    @property
    def holds(self) -> str:
        return self.publishes.holds

    def refuses(self, schema: Schema) -> str | None:
        return self.publishes.refuses(schema)

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        return self.publishes.hopeless(schema, epsilon, rows)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return self.publishes.cost(schema, epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        return _model(learn(self.publishes.run(db, epsilon)), self.name, epsilon)


def _model(learned: LearnedTree, made_by: str, epsilon: Fraction) -> TreeModel:
    """A tree of scikit-learn's over published rows as one over the codes of all attributes."""
    schema = learned.published.schema
    classes = len(schema.classes)
    if learned.tree is None:
        routing = Routing(schema.attributes, [0], [-1], [0], [], 0)
        shares = np.full((1, classes), 1 / classes)
        return TreeModel(schema=schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares)
    grown = learned.tree.tree_
    inner = grown.children_left >= 0
    attribute = np.full(grown.node_count, -1, dtype=np.int64)
    first = np.zeros(grown.node_count, dtype=np.int64)
    children: list[np.ndarray] = []
    placed = 0
    for node in np.flatnonzero(inner).tolist():
        asked = learned.asked[int(grown.feature[node])]
        goes_left = asked.feature(learned.published.columns[asked.column].groups) <= grown.threshold[node]
        children.append(np.where(goes_left, grown.children_left[node], grown.children_right[node]))
        attribute[node], first[node] = asked.attribute, placed
        placed += len(goes_left)
    shares = np.zeros((grown.node_count, classes))
    weights = grown.value[:, 0, :]
    shares[:, learned.tree.classes_] = weights / weights.sum(axis=1, keepdims=True)
    routing = Routing(
        schema.attributes,
        [0],
        attribute,
        first,
        np.concatenate(children) if children else np.empty(0, dtype=np.int64),
        int(grown.max_depth),
    )
    return TreeModel(schema=schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares)
