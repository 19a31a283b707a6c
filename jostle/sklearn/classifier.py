"""A classifier for scikit-learn, each of whose fits and scores is charged to one budget."""

from __future__ import annotations

import warnings
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
from jostle.errors import FewRowsWarning, OptionError, TableError, UnpaidWarning, shown
from jostle.options.base import Option
from jostle.options.evaluation.pri_roc import PriROC, has_threshold
from jostle.options.models.kinds import hits_of
from jostle.options.registry import get
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.probe import Probe
from jostle.programs import shipped_choice
from jostle.sklearn.private_rows import Labels, PrivateRows, labels_of
from jostle.tables.attributes import feature_columns, feature_names, label_codes
from jostle.tables.frames import index_names
from jostle.tables.origins import check_public
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks import CLASSIFICATION
from jostle.tasks.classification import Model

SCORE_SHARE = Fraction(1, 4)
"""What a score costs, of what a fit costs, where nobody says."""
ScoredBy = Literal["accuracy", "auc"]
AUTO = "classification"
"""The maker that came with Jostle; with "-auc" behind it, the one that does well by the area under the curve."""


class PrivateClassifier(ClassifierMixin, PrivateRows):  # type: ignore[misc]  # scikit-learn has no types
    """Learn to predict a label from private rows, within one budget for all that is fitted and scored.

    A fit costs *epsilon*, a score *score_epsilon* (a quarter of that, if not given), from the budget in *vault*, a
    file; without one, from the budget that this process keeps for tables with columns of these names, so that parts of
    a table pay from one budget. Where nothing was promised before, *promise* is, and without one it is refused.
    Of a dataframe those attributes are read that it has, of all that the schema declares.
    With *public*, anybody may see the rows: nothing is charged, noise comes from *random_state*, and scores are exact.

    *What scikit-learn computes itself.* Whoever holds rows and labels and has scikit-learn compute of them
    (`scoring="roc_auc"` or any other by name, a `Display.from_estimator`, `cross_val_predict`, the `score` of voting,
    stacking, calibration, tuned thresholds) gets exact figures of private labels, which nobody paid for. `score` buys
    its figure, as do `cross_val_score` and `GridSearchCV` where `scoring` is left out: accuracy, or *scored_by* "auc".
    What draws rows several times or shuffles them (bagging, permutations) multiplies what a fit or a score says of one.

    None of this is refused: a prediction is the model's, which was paid for, and what becomes of it is not seen from
    here. Whoever holds the rows is warned where copies are asked for predictions and never for their score.

    Args:
        option: an Option for labels or its name; "auto" is the maker that came with Jostle for what it is *scored_by*.
        epsilon: what a fit costs.
        schema: the public facts about the rows, or a TOML file of them.
        vault: a file that remembers what is spent.
        promise: the budget for all that is asked of these rows, by this and by others; needed where there is none yet.
        score_epsilon: what a score costs.
        scored_by: "accuracy" or "auc".
        person: the column of X that says whose each row is, where the schema does not: persons are protected then.
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
        person: str | None = None,
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
        self.person = person
        self.public = public
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> PrivateClassifier:
        """Learn from rows and their labels; *epsilon* is charged for it, unless they are public.

        *X* is a dataframe or an array, or a probe, of `jostle.connect` say, which has the labels.

        Raises:
            BudgetError: nothing was promised, or less is left than a fit costs.
            OptionError: settings do not fit together.
            SchemaError: there is no schema, or none that fits.
            TableError: the rows cannot be read by the schema.
        """
        if self.schema is not None:  # what a score would be refused for is refused before a fit is paid for
            self._of_curve(len(self._declared().classes))
        self._score_epsilon()
        option, epsilon = self._option(), epsilon_amount(self.epsilon)
        db, labels = self._probe(X, y, epsilon)
        self.model_ = option(db, epsilon=epsilon)
        self.classes_, self._codes = labels.classes, labels.codes
        if self._copies is not None and self._cut is not None and not self._anybodys:
            self._other_unscored = not self._copies.scored
            self._copies.scored = False
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, as the schema declares it: a number, a truth or a text.

        Raises:
            TableError: the rows have other columns than those it was fitted on.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The chance of each of `classes_` for each row.

        What the model says of a row was paid for, whosever row it is. What is made of predictions together with rows
        or labels that are private is as private as these.

        Raises:
            TableError: the rows have other columns than those it was fitted on.
        """
        check_is_fitted(self)
        if self._other_unscored and not self._anybodys:
            warnings.warn(
                "scikit-learn asks copies of this classifier for predictions, and not for their score: what it makes "
                "of these and private labels has no noise, and nobody paid for it. Leave scoring out, and score is "
                'asked, which is private and charged; with scored_by="auc" it is the area under the ROC curve',
                UnpaidWarning,
                stacklevel=2,
            )
        inferred = self.schema is None and not self._of_probe
        columns = self._validated(X) if inferred else feature_columns(X, self.model_.schema.attributes)
        chances: NDArray[np.float64] = self.model_.predict_proba(columns)[:, self._codes]
        return chances

    def score(self, X: Any, y: Any = None) -> float:
        """A score of how well it predicts: of public rows as it is, of private ones with noise, and charged.

        That is the share of rows predicted right or, *scored_by* "auc", the area under the ROC curve of two classes.
        For the share, one question counts the rows that are predicted right and those that are not, of which a row
        changes one by 1. Where noise leaves none of either, it is that of a guess among the classes, with a warning
        (`jostle.errors.FewRowsWarning`). A model that gives all rows one chance has an area of one half, for nothing.

        Raises:
            BudgetError: less is left than a score costs.
            TableError: the rows cannot be read by the schema.
        """
        check_is_fitted(self)
        of_curve, epsilon = self._of_curve(len(self.classes_)), self._score_epsilon()
        asked = self._asked(X, y)
        if self._anybodys and asked is None:
            check_public(X, y)
            if self.schema is not None:  # what cannot be read by it is refused
                Table.from_features(X, y, _narrowed(self._declared(), self.model_.schema.attributes))
            if of_curve:
                return float(roc_auc_score(np.asarray(y) == self.classes_[-1], self.predict_proba(X)[:, -1]))
            right = self.predict(X) == np.asarray(y)
            return float(np.mean(right)) if np.size(right) else float("nan")
        if self._copies is not None:
            self._copies.scored = True
        if of_curve and not has_threshold(self.model_):
            return 0.5
        kernel = None if of_curve else hits_of(self.model_, misses=True)
        db = asked or self._opened(X, y, _narrowed(self._declared(), self.model_.schema.attributes))
        if kernel is None:
            return float(PriROC()(db, self.model_, epsilon=epsilon).auc)
        right, wrong = (max(0, int(each)) for each in db.measure(kernel, epsilon, site="PrivateClassifier.score"))
        if right + wrong:
            return right / (right + wrong)
        warnings.warn(
            f"noise leaves no row of those that were scored at epsilon {show_amount(epsilon)}: the score is that of a "
            "guess. Score more rows, or give it more: score_epsilon",
            FewRowsWarning,
            stacklevel=2,
        )
        return 1 / len(self.classes_)

    _other_unscored = False
    """Of a copy, whether the one that was fitted before it was never scored."""

    # What is asked for

    def _option(self) -> Option[Model]:
        given: object = self.option
        if isinstance(given, str):
            name = AUTO + "-auc" * (self.scored_by == "auc") if given == "auto" else given
            given = shipped_choice(name) if name in SHIPPED else get(name)
        if not isinstance(given, Option) or given.task is not CLASSIFICATION:
            said = given.name if isinstance(given, Option) else type(given).__name__
            raise OptionError(
                f"{said} is no Option that {CLASSIFICATION.question.does}",
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
        """What the schema that was given says of the columns that X has.

        A frame with fewer is what a selector left. One that lacks a column and has another in its place has it under
        another name, and is refused where columns are looked for.
        """
        schema = self._declared()
        names = feature_names(X) or schema.attributes
        absent = [name for name in schema.attributes if name not in names]
        others = {*names} - {*schema.sources} | {*absent} & {*index_names(X)}
        renamed = [name for name in absent if any(str(other).endswith(f"__{name}") for other in others)]
        if renamed:
            raise TableError(
                f"X has no column {shown(renamed[0])}",
                why="a ColumnTransformer puts its parts' names before those of columns",
                fix="ColumnTransformer(..., verbose_feature_names_out=False)",
            )
        here = tuple(name for name in schema.attributes if name in names)
        return schema if others or not here else _narrowed(schema, here)

    def _probe(self, X: Any, y: Any, epsilon: Fraction) -> tuple[Probe, Labels]:
        """A probe on the rows, and the classes: those declared or, without a schema, those that public rows have."""
        asked = self._asked(X, y)
        self._of_probe = asked is not None
        if asked is not None:
            self._known_by(asked.schema.attributes, asked)
            return asked, labels_of(asked.schema)
        if self._anybodys and self.schema is None:
            rows = self._inferred(X, y, epsilon)
            return rows.db, Labels(rows.classes, label_codes({rows.label: rows.classes}, rows.db.schema))
        schema = self._schema_of(X)
        opened = self._opened(X, y, schema), labels_of(schema)
        self._known_by(schema.attributes, X)
        return opened


def _narrowed(schema: Schema, attributes: tuple[str, ...]) -> Schema:
    """What a schema says of some of its attributes and of the label."""
    if attributes == schema.attributes:
        return schema
    kept = {name: column for name, column in schema.columns if name == schema.label or name in attributes}
    return evolve(schema, columns=kept, features=None)
