"""Selection: which features of a table say its label, for a classifier to be learned with.

Metafeatures of tables with a label and features: what may decide between selectors.

Only what means the same of columns as of words: a table of texts has no attributes, and thousands of features.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.errors import OptionError
from jostle.privacy.opening import rehearse
from jostle.tables.feature_kernels import feature_count
from jostle.tables.kernels import Counts
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.base import Question, Task, register
from jostle.tasks.classification.instances import TableInstance, error, table_instance
from jostle.tasks.classification.task import (
    CLASSIFICATION,
    label_entropy,
    log_classes,
    log_epsilon,
    log_rows,
    log_rows_epsilon,
    majority_share,
)
from jostle.tasks.metafeature import View, metafeature
from jostle.tasks.selection.selected import SelectedFeatures


@metafeature(low="there are few features", high="there are many features")
def log_features(db: View) -> float:
    """The logarithm of the number of features, those of texts among them."""
    return math.log10(max(1, feature_count(db.schema)))


PUBLIC = (log_epsilon, log_classes, log_features)
"""Free."""
BOUGHT = (log_rows, log_rows_epsilon, majority_share, label_entropy)
"""Bought: the classes' counts."""


Chances = NDArray[np.float64]


@frozen(eq=False, repr=False)
class SelectionInstance:
    """Rows of a public table to select by and to learn from, and others to score on.

    A selection is as good as what is learned with it: the model that the Option itself trained with a part of its
    budget; where it trained none, naive Bayes on the columns selected, with as much budget again as the selection had,
    whose noise is a function of the instance, so that the same selection always has the same loss. So Options that
    train have one budget for both, and others two: choose among the ones or among the others.
    """

    rows_of: TableInstance
    questions: tuple[()] = ()
    _last: list[tuple[Any, Chances]] = field(factory=list, init=False)
    """The selection that was asked last, and what it said: several judges ask after one another."""

    @property
    def key(self) -> str:
        """A name that no other instance has."""
        return self.rows_of.key

    @property
    def table(self) -> Table:
        """The rows to select by."""
        return self.rows_of.table

    @property
    def schema(self) -> Schema:
        """The public facts about the rows."""
        return self.rows_of.schema

    @property
    def rows(self) -> int:
        """How many they are."""
        return self.rows_of.rows

    @property
    def labels(self) -> NDArray[np.int64]:
        """The held-out rows' labels."""
        return self.rows_of.labels

    @property
    def sameness(self) -> float:
        """The share of held-out rows that are of the commonest class."""
        return self.rows_of.sameness

    def read(self, selected: Any, /) -> Chances:
        """The chance of each class for each held-out row, by the model of what was selected, or naive Bayes on it."""
        if not isinstance(selected, SelectedFeatures):
            raise OptionError(
                f"an answer is {type(selected).__name__}, which has no loss on a selection task",
                why="what is judged is a selection of features",
                fix="return one",
            )
        if not self._last or self._last[0][0] is not selected:
            self._last[:] = [(selected, self._chances(selected))]
        return self._last[0][1]

    def _chances(self, selected: SelectedFeatures) -> Chances:
        schema, label = self.schema, self.schema.label or ""
        if selected.model is not None:
            known = selected.model.schema
            if any(known[name] != schema[name] for name in known.names if name in schema) or not (
                {*known.names} <= {*schema.names}
            ):
                raise OptionError(
                    "an answer is a selection from another table",
                    why="it is judged by the rows of the table that was asked, by its attributes and classes",
                    fix="return one that was made from db",
                )
            places = [schema.attributes.index(name) for name in known.attributes]
            return np.asarray(selected.model.chances(self.rows_of.codes[:, places]))
        columns = [name for name in schema.attributes if name in selected.columns]
        seed = hashlib.blake2b(f"{self.key} {columns}".encode(), digest_size=7)
        db = rehearse(self.table, seed=int.from_bytes(seed.digest(), "little")).only(*columns)
        groups = [(label,), *((name, label) for name in columns)]
        noisy = db.measure(Counts(groups), selected.epsilon or 1, site="naive Bayes")
        counts = np.maximum(noisy, 0).reshape(-1, len(schema.classes)) + 1.0
        logs = np.tile(np.log(counts[0] / counts[0].sum()), (len(self.labels), 1))
        place = 1
        for name in columns:
            held = counts[place : place + schema[name].size]
            place += schema[name].size
            logs += np.log(held / held.sum(axis=0))[self.rows_of.codes[:, schema.attributes.index(name)]]
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def lists(self, selected: Any, /) -> tuple[list[str], list[str]]:
        """The classes of the held-out rows, predicted and true."""
        classes = self.schema.classes
        predicted = np.argmax(self.read(selected), axis=1)
        return [classes[code] for code in predicted.tolist()], [classes[code] for code in self.labels.tolist()]

    def chances(self, selected: Any, /) -> list[dict[str, float]]:
        """The chance of each class, for each held-out row."""
        return [dict(zip(self.schema.classes, row, strict=True)) for row in self.read(selected).tolist()]

    def loss(self, selected: Any, /) -> float:
        """The share of held-out rows that are predicted wrongly."""
        return error(self.labels, self.read(selected))


def selection_instance(database: PublicTable, spec: TableSpec) -> SelectionInstance:
    """The instance that a spec makes of a public table."""
    return SelectionInstance(table_instance(database, spec))


SELECTION: Task[SelectedFeatures] = register(
    Task(
        name="selection",
        question=Question(
            does="selects features",
            modules=("selection",),
            named="SelectorName",
            answers=(SelectedFeatures,),
            gives="selected features",
            suits=CLASSIFICATION.question.suits,
            suited=CLASSIFICATION.question.suited,
        ),
        rehearsal=evolve(CLASSIFICATION.rehearsal, instance=selection_instance, sure=False, free=PUBLIC, bought=BOUGHT),
    )
)
