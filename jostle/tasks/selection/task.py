"""Selection: which features of a table say its label, for a classifier to be learned with.

*Metafeatures* are what may decide between selectors: only what means the same of columns as of words: a table of texts
has no attributes, and thousands of features.
"""

from __future__ import annotations

import hashlib
import math
from functools import partial

import numpy as np
from attrs import evolve, frozen

from jostle.errors import OptionError
from jostle.privacy.opening import rehearse
from jostle.tables.feature_kernels import feature_count
from jostle.tables.kernels import Counts
from jostle.tasks.base import Question, Task, register
from jostle.tasks.classification.instances import Chances, TableInstance, instance_of
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


@frozen(eq=False, repr=False)
class SelectionInstance(TableInstance):
    """Rows of a public table to select by and to learn from, and others to score on.

    A selection is as good as what is learned with it: the model that the Option itself trained with a part of its
    budget; where it trained none, naive Bayes on the columns selected, with as much budget again as the selection had,
    whose noise is a function of the instance, so that the same selection always has the same loss. So Options that
    train have one budget for both, and others two: choose among the ones or among the others.
    """

    judged = (SelectedFeatures, "a selection", "a selection of features")

    def said_by(self, selected: SelectedFeatures) -> Chances:
        """The chance of each class for each held-out row, by the model of what was selected, or naive Bayes on it."""
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
            return np.asarray(selected.model.chances(self.codes[:, places]))
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
            logs += np.log(held / held.sum(axis=0))[self.codes[:, schema.attributes.index(name)]]
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


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
        rehearsal=evolve(
            CLASSIFICATION.rehearsal,
            instance=partial(instance_of, SelectionInstance),
            sure=False,
            free=PUBLIC,
            bought=BOUGHT,
        ),
    )
)
