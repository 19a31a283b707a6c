"""A classifier for scikit-learn, each of whose fits and scores is charged to one budget."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from attrs import evolve
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from jostle.choice.makers.shipped import SHIPPED
from jostle.errors import OptionError, shown
from jostle.options.base import Option
from jostle.options.evaluation.pri_roc import PriROC
from jostle.options.models.rules import hits_of
from jostle.options.registry import get
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.programs import shipped_choice
from jostle.sklearn.callers import SCORING, SHUFFLING, VALIDATION, calling, refuse, refuse_fitting, warn_of_folds
from jostle.sklearn.labels import Labels, labels_of
from jostle.sklearn.private_rows import PrivateRows
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
Columns = Literal["declared", "given"]


class PrivateClassifier(ClassifierMixin, PrivateRows):  # type: ignore[misc]  # scikit-learn has no types
    """Learn to predict a label from private rows, within one budget for all that is fitted and scored.

    A fit costs *epsilon*, a score *score_epsilon* (a quarter of that, if not given), from the budget in *vault*, a
    file; without one, from the budget that this process keeps for tables with columns of these names, so that parts of
    a table pay from one budget. Where nothing was promised before, *promise* is, or else *epsilon*, enough for one fit.
    Of a dataframe all attributes are read that the schema declares or, with *columns* "given", those of them that it
    has: what a `PrivateFeatureSelector` before it in a pipeline left.
    With *public*, anybody may see the rows: nothing is charged, noise comes from *random_state*, and scores are exact.

    Args:
        option: an Option for labels or its name; "auto" is the maker that came with Jostle.
        epsilon: what a fit costs.
        schema: the public facts about the rows, or a TOML file of them.
        vault: a file that remembers what is spent.
        promise: the budget, where nothing was promised before.
        score_epsilon: what a score costs.
        scored_by: "accuracy" or "auc".
        columns: "declared", or "given" for those that the frame has.
        public: whether anybody may see the rows.
        random_state: an integer or a generator that noise comes from, for public rows.

    Raises:
        OptionError: settings do not fit together: when it is fitted.

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
        columns: Columns = "declared",
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
        self.columns = columns
        self.public = public
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PrivateClassifier:
        """Learn from rows and their labels; *epsilon* is charged for it, unless they are public.

        Args:
            X: rows of attributes: a dataframe or an array.
            y: a label for each.

        Raises:
            PrivateDataError: a scorer or a validation of scikit-learn asks, whose figures would have no noise.
            BudgetError: less is left than a fit costs.
            OptionError: settings do not fit together.
            SchemaError: there is no schema, or none that fits.
            TableError: the rows cannot be read by the schema.
        """
        option, epsilon = self._option(), epsilon_amount(self.epsilon)
        if self.schema is not None:  # what a score would be refused for is refused before a fit is paid for
            self._of_curve(len(self._declared().classes))
        self._score_epsilon()
        self._in_parts = calling(VALIDATION) is not None
        db, labels = self._probe(X, y, epsilon)
        self.model_ = option(db, epsilon=epsilon)
        self.classes_, self._codes = labels.classes, labels.codes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, as the schema declares it: a number, a truth or a text.

        Args:
            X: rows of attributes: a dataframe or an array.

        Raises:
            TableError: the rows have other columns than those it was fitted on.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The chance of each of `classes_` for each row.

        What the model says of a row was paid for, whosever row it is. What is made of predictions together with rows
        or labels that are private is as private as these; so scikit-learn's scorers are refused.

        Args:
            X: rows of attributes: a dataframe or an array.

        Raises:
            PrivateDataError: one of scikit-learn's scorers asks.
            TableError: the rows have other columns than those it was fitted on.
        """
        check_is_fitted(self)
        if not self._anybodys:
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

        Args:
            X: rows of attributes: a dataframe or an array.
            y: a label for each.

        Raises:
            PrivateDataError: scikit-learn asks with rows that it shuffled.
            BudgetError: less is left than a score costs.
            TableError: the rows cannot be read by the schema.
        """
        check_is_fitted(self)
        of_curve, epsilon = self._of_curve(len(self.classes_)), self._score_epsilon()
        if self._anybodys:
            if self.schema is not None:  # what was opened as private is refused
                rehearse(Table.from_features(X, y, self._schema_of(X)))
            if of_curve:
                return float(roc_auc_score(np.asarray(y) == self.classes_[-1], self.predict_proba(X)[:, -1]))
            right = self.predict(X) == np.asarray(y)
            return float(np.mean(right)) if np.size(right) else float("nan")
        kernel = None if of_curve else hits_of(self.model_, misses=True)
        refuse(*SHUFFLING)
        db = self._opened(X, y, self._schema_of(X))
        if kernel is None:
            return float(PriROC()(db, self.model_, epsilon=epsilon).auc)
        right, wrong = (max(0, int(each)) for each in db.measure(kernel, epsilon, site="PrivateClassifier.score"))
        return right / (right + wrong) if right + wrong else math.nan

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

    def _of_curve(self, classes: int) -> bool:
        """Whether a score is the area under the ROC curve; refuse what is no score of so many classes."""
        if not isinstance(self.scored_by, str) or self.scored_by not in get_args(ScoredBy):
            raise OptionError(f"scored_by is {shown(self.scored_by)}", fix='scored_by="accuracy" or "auc"')
        if self.scored_by == "auc" and classes != 2:
            raise OptionError(
                f"scored_by is 'auc', and the label has {classes} classes",
                why="a curve tells one class from one other",
                fix='scored_by="accuracy"; jostle.private_roc_auc(db, model, positive="...") tells one from all others',
            )
        return self.scored_by == "auc"

    def _score_epsilon(self) -> Fraction:
        """What a score costs."""
        given = SCORE_SHARE * epsilon_amount(self.epsilon) if self.score_epsilon is None else self.score_epsilon
        return epsilon_amount(given, "score_epsilon")

    def _schema_of(self, X: Any) -> Schema:
        """The schema that was given, or what it says of the columns that X has, where these are asked for."""
        if self.columns not in get_args(Columns):
            raise OptionError(f"columns is {shown(self.columns)}", fix='columns="declared" or "given"')
        schema = self._declared()
        names = feature_names(X)
        if self.columns == "declared" or names is None:
            return schema
        kept = {name: column for name, column in schema.columns if name == schema.label or name in names}
        return evolve(schema, columns=kept, features=None)

    def _probe(self, X: Any, y: Any, epsilon: Fraction) -> tuple[Probe, Labels]:
        """A probe on the rows, and the classes: those declared or, without a schema, those that public rows have."""
        if self._anybodys and self.schema is None:
            rows = self._inferred(X, y, epsilon)
            return rows.db, Labels(rows.classes, label_codes({rows.label: rows.classes}, rows.db.schema))
        if not self._anybodys:
            refuse_fitting()
        schema = self._schema_of(X)
        if not self._anybodys:
            warn_of_folds(schema.neighbours)
        found = self._opened(X, y, schema), labels_of(schema)
        self._known_by(schema.attributes, X)
        return found
