"""A classifier for scikit-learn, each of whose fits and scores is charged to one budget."""

from __future__ import annotations

import math
import os
import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from jostle.choice.makers.shipped import SHIPPED
from jostle.errors import BudgetError, OptionError, PrivateDataError, SchemaError, shown
from jostle.options.base import Option, get
from jostle.options.evaluation.pri_roc import PriROC
from jostle.options.models.rules import hits_of
from jostle.privacy.account import Account
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.opening import account_of_parts, recognise, rehearse
from jostle.privacy.probe import Probe
from jostle.programs import shipped_choice
from jostle.sklearn.callers import SCORING, VALIDATION, calling, refuse, refuse_fitting
from jostle.sklearn.labels import Labels, kind_of, labels_of
from jostle.tables.attributes import feature_columns, feature_names
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tables.unlabeled import label_codes
from jostle.tasks import CLASSIFICATION
from jostle.tasks.classification import Model

__all__ = ["PrivateClassifier"]

SCORE_SHARE = Fraction(1, 4)
"""What a score costs, of what a fit costs, where nobody says."""
ScoredBy = Literal["accuracy", "auc"]
AUTO = "classification"
LABEL = "y"
"""What labels are called where no schema says."""
SEEDS = 2**31
HERE = secrets.token_hex(8)
"""Tells this process from others, of the same number at another time included."""


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learn to predict a label from private rows, within one budget for all that is fitted and scored.

    A fit costs *epsilon*, a score *score_epsilon* (a quarter of that, if not given), from the budget in *vault*, a
    file; without one, from the budget that this process keeps for tables with columns of these names, so that parts of
    a table pay from one budget. Where nothing was promised before, *promise* is, or else *epsilon*, enough for one fit.
    With *public*, anybody may see the rows: nothing is charged, noise comes from *random_state*, and scores are exact.

    >>> import numpy as np
    >>> from jostle import Categorical, Schema
    >>> schema = Schema({"wet": Categorical([0, 1]), "ill": Categorical([0, 1])}, label="ill")
    >>> X = np.arange(1000).reshape(-1, 1) % 2
    >>> clf = PrivateClassifier("NaiveBayes", epsilon=1, schema=schema, promise=2).fit(X, X[:, 0])
    >>> clf.predict([[0], [1]])
    array([0, 1])
    >>> clf.account().left
    Fraction(1, 1)
    """

    def __init__(
        self,
        option: str | Option[Model] = "auto",
        epsilon: Amount = 1.0,
        schema: Schema | str | Path | None = None,
        vault: str | Path | None = None,
        *,
        promise: Amount | None = None,
        score_epsilon: Amount | None = None,
        scored_by: ScoredBy = "accuracy",
        public: bool = False,
        random_state: Any = None,
    ) -> None:
        self.option = option
        self.epsilon = epsilon
        self.schema = schema
        self.vault = vault
        self.promise = promise
        self.score_epsilon = score_epsilon
        self.scored_by = scored_by
        self.public = public
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PrivateClassifier:
        """Learn from rows and their labels; *epsilon* is charged for it, unless they are public."""
        option, epsilon = self._option(), epsilon_amount(self.epsilon)
        self._in_parts = calling(VALIDATION) is not None
        if self.public:
            db, labels = self._rehearsal(X, y, epsilon)
        else:
            refuse_fitting()
            schema = self._declared()
            db, labels = self._opened(X, y, schema), labels_of(schema, kind_of(y))
            self._known_by(schema, X)
        self.model_ = option(db, epsilon=epsilon)
        self.classes_, self._codes = labels.classes, labels.codes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, in the type of the labels it was fitted with."""
        best = np.argmax(self.predict_proba(X), axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The chance of each of `classes_` for each row.

        What the model says of a row was paid for, whosever row it is. What is made of predictions together with rows
        or labels that are private is as private as these; so scikit-learn's scorers are refused.
        """
        check_is_fitted(self)
        if not self.public:
            refuse(*SCORING, *((VALIDATION,) if self._in_parts else ()))
        inferred = self.schema is None
        columns = self._validated(X) if inferred else feature_columns(X, self.model_.schema.attributes)
        chances: NDArray[np.float64] = self.model_.predict_proba(columns)[:, self._codes]
        return chances

    def score(self, X: Any, y: Any) -> float:
        """A score of how well it predicts: of public rows as it is, of private ones with noise, and charged.

        That is the share of rows predicted right or, *scored_by* "auc", the area under the ROC curve of two classes.
        For the share, one question counts the rows that are predicted right and those that are not, of which a row
        changes one by 1; not-a-number where noise leaves none of either.
        """
        check_is_fitted(self)
        if self.scored_by not in get_args(ScoredBy):
            raise OptionError(f"scored_by is {shown(self.scored_by)}", fix='scored_by="accuracy" or "auc"')
        of_curve = self.scored_by == "auc"
        if self.public:
            if self.schema is not None:  # what was opened as private is refused
                rehearse(Table.from_features(X, y, self._declared()))
            if of_curve:
                return float(roc_auc_score(np.asarray(y) == self.classes_[-1], self.predict_proba(X)[:, -1]))
            return float(np.mean(self.predict(X) == np.asarray(y)))
        given = SCORE_SHARE * epsilon_amount(self.epsilon) if self.score_epsilon is None else self.score_epsilon
        epsilon = epsilon_amount(given, "score_epsilon")
        kernel = None if of_curve else hits_of(self.model_, misses=True)
        db = self._opened(X, y, self._declared())
        if kernel is None:
            return float(PriROC()(db, self.model_, epsilon=epsilon).auc)
        right, wrong = (max(0, int(each)) for each in db.measure(kernel, epsilon, site="PrivateClassifier.score"))
        return right / (right + wrong) if right + wrong else math.nan

    def account(self) -> Account | None:
        """The promise for private rows, what is spent and left; None where nothing was promised yet."""
        return None if self.public else account_of_parts(self.vault, self._declared())

    # What is asked for

    def _option(self) -> Option[Model]:
        given: object = self.option
        if isinstance(given, str):
            name = AUTO if given == "auto" else given
            given = shipped_choice(name) if name in SHIPPED else get(name)
        if not isinstance(given, Option) or given.task is not CLASSIFICATION:
            said = given.name if isinstance(given, Option) else type(given).__name__
            raise OptionError(
                f"{said} is no Option that {CLASSIFICATION.does}",
                fix='option="auto", or one that `jostle options --task classification` lists',
            )
        return given

    def _declared(self) -> Schema:
        """The schema that was given; refuse to go without one."""
        schema = Schema.read(self.schema) if isinstance(self.schema, str | Path) else self.schema
        if schema is None:
            raise PrivateDataError(
                "a schema is missing",
                why="columns, values and bounds read off private rows would say who is in them",
                fix="schema=jostle.Schema({...}, label=...), or public=True if anybody may see these rows",
            )
        if not isinstance(schema, Schema):
            raise SchemaError(f"{type(schema).__name__} is not a Schema", fix='Schema({...}, label="...")')
        if schema.label is None:
            raise SchemaError("the schema names no label", fix='Schema(columns, label="...")')
        return schema

    def _known_by(self, schema: Schema, X: Any) -> None:
        """Set what scikit-learn knows of the columns: what the schema declares."""
        self.n_features_in_ = len(schema.attributes)
        if feature_names(X) is not None:
            self.feature_names_in_ = np.array(schema.attributes, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    # Private rows

    def _opened(self, X: Any, y: Any, schema: Schema) -> Probe:
        if self.random_state is not None:
            raise PrivateDataError(
                "random_state is given for private rows",
                why="whoever knows the seed can take the noise off",
                fix="leave random_state out, or public=True if anybody may see these rows",
            )
        if self.vault is None and self.__dict__.get("_made_in", _here()) != _here():
            raise BudgetError(
                "the budget is kept in the memory of another process",
                why="a second one here could be spent as well",
                fix='name a vault file, which processes share: vault="table.vault"',
            )
        known = account_of_parts(self.vault, schema)
        promise = None if self.promise is None else epsilon_amount(self.promise, "promise")
        if known is not None and promise is not None and promise != known.promise:
            raise BudgetError(
                f"promise is {show_amount(promise)}, but epsilon {show_amount(known.promise)} was promised",
                why="it is fixed before the first question, and is for all of them",
                fix="leave promise out, for what is left; one in a vault is raised by `jostle vault raise`",
            )
        found = recognise(Table.from_features(X, y, schema))
        return found.open_part(at_first=promise or self.epsilon, vault=self.vault)

    def __getstate__(self) -> dict[str, Any]:
        # With where it was made, so that a copy in another process is no second budget.
        return {**super().__getstate__(), "_made_in": self.__dict__.get("_made_in", _here())}

    def __sklearn_clone__(self) -> PrivateClassifier:
        clone: PrivateClassifier = super().__sklearn_clone__()
        clone.__dict__.update({name: made for name, made in self.__dict__.items() if name == "_made_in"})
        return clone

    # Public rows

    def _rehearsal(self, X: Any, y: Any, epsilon: Fraction) -> tuple[Probe, Labels]:
        """A probe on rows that anybody may see, and the classes that they have or that are declared."""
        seed = int(check_random_state(self.random_state).randint(SEEDS))
        if self.schema is not None:
            schema = self._declared()
            self._known_by(schema, X)
            return rehearse(Table.from_features(X, y, schema), epsilon=epsilon, seed=seed), labels_of(
                schema, kind_of(y)
            )
        columns, y = self._validated(X, reset=True), column_or_1d(y, warn=True)
        check_consistent_length(y, *columns.values())
        check_classification_targets(y)
        label = max([LABEL, *columns], key=len) + LABEL if LABEL in columns else LABEL
        schema = Schema.infer_public({**columns, label: y}, label=label)
        classes = np.unique(y)
        table = Table.from_frame({**columns, label: y}, schema)
        return rehearse(table, epsilon=epsilon, seed=seed), Labels(classes, label_codes({label: classes}, schema))

    def _validated(self, X: Any, *, reset: bool = False) -> dict[str, Any]:
        """Public rows as columns, checked as scikit-learn's own estimators do."""
        names = feature_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return feature_columns(X, tuple(map(str, names)))
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return feature_columns(X, tuple(f"x{place}" for place in range(X.shape[1])))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # what becomes of an empty cell, the schema says
        tags.input_tags.string = True
        return tags


def _here() -> str:
    return f"{os.getpid()}-{HERE}"
