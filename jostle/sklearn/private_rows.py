"""Estimators of private rows, and folds of these: how a schema is asked for, which budget pays, what labels are."""

from __future__ import annotations

import os
import secrets
import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from jostle.errors import (
    BudgetError,
    OptionError,
    PrivateDataError,
    SchemaError,
    TableError,
    UnpaidWarning,
    described,
    shown,
)
from jostle.given import given_flag
from jostle.privacy.account import Account
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.noise import Noise
from jostle.privacy.opening import account_of_parts, recognise, rehearse
from jostle.privacy.probe import Probe
from jostle.tables.attributes import feature_columns, feature_names
from jostle.tables.frames import frame_columns
from jostle.tables.origins import check_public
from jostle.tables.persons import distinct, whose_rows
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tables.values import TRUTHS

CUT = threading.Event()
"""Set once `PrivateFolds` has cut rows in this process."""
Places = NDArray[np.int64]


def _check_splits(_: object, attribute: object, value: object) -> None:  # noqa: ARG001 - as attrs calls it
    if type(value) is not int or value < 2:
        raise TableError(f"n_splits is {shown(value)}, not a whole number from 2 up", fix="PrivateFolds(5)")


@frozen
class PrivateFolds:
    """Folds that each row is drawn into by itself, all equally likely, with bits from the operating system.

    scikit-learn's own splitters go by a row's place, by how many rows there are, and by all labels: a row more moves
    other rows to other folds, so neighbouring tables have folds that differ in several rows. Then the budget that a fit
    is charged bounds what it says of the rows it was given, and not what a cross-validation says of the whole table.

    *Why one row changes no other's fold.* The draws are independent of the rows and of one another. Give the rows that
    two neighbouring tables share the same draws: then the tables differ, in each training set and each held-out set, in
    at most the one row. So for these draws all fits and scores together are bounded by the sum of what they are
    charged, and so they are on average over the draws. There is no seed: with one, a row's draw would hang on its place
    among the others.

    Raises:
        TableError: there are fewer than two folds.

    >>> sum(len(held_out) for _, held_out in PrivateFolds(3).split(range(10)))
    10
    """

    n_splits: int = field(default=5, validator=_check_splits)
    """How many folds; each is held out once. They differ in size, as draws do."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Places, Places]]:  # noqa: ARG002 - scikit-learn gives labels
        """Yield the places of the rows to learn from and of those held out, for each fold.

        *groups* say whose each row is, where persons are protected: all rows of a person go to one fold.

        Raises:
            TableError: there are no rows, or not one group for each.
        """
        try:
            count = _num_samples(X)
        except TypeError:
            raise TableError(f"{described(X)} has no rows", fix="give a dataframe, or an array of rows") from None
        CUT.set()
        drawn = Noise().below(self.n_splits, count)
        if groups is not None:
            drawn = _by_group(drawn, groups)
        for fold in range(self.n_splits):
            yield np.flatnonzero(drawn != fold), np.flatnonzero(drawn == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002 - as above
        """How many folds there are."""
        return self.n_splits


def _by_group(drawn: Places, groups: Any) -> Places:
    """The draws, of which all rows of a group have one; a row of none has its own."""
    cells, length = frame_columns({"groups": groups})
    if length != len(drawn):
        raise TableError(
            f"there are {length:,} groups for {len(drawn):,} rows", fix="groups=X[person]: one for each row"
        )
    codes = distinct(whose_rows(cells["groups"])).codes
    return np.where(codes < 0, drawn, drawn[codes])  # persons are no more than rows: each has the draw of its number


READERS: tuple[Callable[[str], object], ...] = (int, float, lambda text: bool(TRUTHS[text.lower()]))
"""What classes may be, but for texts."""


@frozen(eq=False)
class Labels:
    """The classes as a user knows them, sorted, and which of the schema's classes each is."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]


def labels_of(schema: Schema) -> Labels:
    """The schema's classes, all that are declared: as what all of them are.

    The type that labels come in does not count: one empty or odd label changes it, and would show in `classes_`.
    """
    classes = np.array(schema.classes)
    for read in READERS:
        try:
            classes = np.array([read(text) for text in schema.classes])
        except (ValueError, KeyError, OverflowError):
            continue
        break
    codes = np.argsort(classes, kind="stable").astype(np.int64)
    return Labels(classes[codes], codes)


LABEL = "y"
"""What labels are called where no schema says."""
SEEDS = 2**31
FOLDS = 5
"""As many as `cross_val_score` and `PrivateFolds` have where nobody says."""
HERE = secrets.token_hex(8)
"""Tells this process from others, of the same number at another time included."""


@define(eq=False)
class Copies:
    """What became of the copies that scikit-learn made of an estimator, which share this."""

    made: int = 0
    """How many there are."""
    scored: bool = True
    """Whether the copy that was fitted last was scored by the estimator's own score; True where none was fitted."""


@frozen(eq=False)
class InferredRows:
    """Rows without a schema that anybody may see: a probe on them, and the classes that they have, sorted."""

    db: Probe
    label: str
    classes: NDArray[Any]


class PrivateRows(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that is fitted to private rows, within one budget; its parameters are these and its own.

    The tools of scikit-learn fit copies, which `clone` makes. Who calls is not looked at, and nothing is refused for
    it; two warnings for whoever holds the rows go by what was asked of the copies.
    """

    epsilon: Amount
    schema: Schema | str | Path | None
    vault: str | Path | None
    promise: Amount | None
    person: str | None
    public: bool
    random_state: Any
    _copies: Copies | None = None
    """What became of copies of this, and of what it is a copy of; None where there are none."""
    _of_probe = False
    """Whether it was fitted to a probe's rows, and to none that were given."""
    _cut: bool | None = None
    """Of a copy, whether `PrivateFolds` had cut rows when it was made, or nobody did; None of what is no copy."""

    def account(self) -> Account | None:
        """The promise for private rows, what is spent and left; None where nothing was promised yet."""
        return None if self._anybodys else account_of_parts(self.vault, self._declared())

    @property
    def _anybodys(self) -> bool:
        """Whether anybody may see the rows; a text that says no is no answer, and is refused."""
        return given_flag(self.public, "public", error=OptionError, fix="public=False, or leave it out")

    def _asked(self, X: Any, y: Any) -> Probe | None:
        """The probe that stands in place of rows, which may be another process's; None where rows are given."""
        if not isinstance(X, Probe):
            return None
        said = {name: getattr(self, name, None) for name in ("schema", "vault", "promise", "person", "random_state")}
        given = [*(name for name, value in said.items() if value is not None), *("public" for _ in "1" if self.public)]
        if y is not None or given:
            raise OptionError(
                f"{given[0] if given else 'y'} is given beside a probe",
                why="whose rows they are, their labels and their budget were said where they were opened",
                fix=f"{type(self).__name__}(option, epsilon).fit(db)",
            )
        if X.schema.label is None:
            raise SchemaError("the probe's schema names no label", fix='Schema(columns, label="...")')
        return X

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
        return schema.with_persons(self.person)

    def _known_by(self, names: tuple[str, ...], X: Any) -> None:
        """Set what scikit-learn knows of the columns: what the schema declares."""
        self.n_features_in_ = len(names)
        if isinstance(X, Probe) or feature_names(X) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _opened(self, X: Any, y: Any, schema: Schema) -> Probe:
        """A probe on private rows, which pays from the one budget; on public ones, if they are said to be."""
        if self._anybodys:
            return rehearse(Table.from_features(X, y, schema), epsilon=epsilon_amount(self.epsilon), seed=self._seed())
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
        account = account_of_parts(self.vault, schema)
        promise = None if self.promise is None else epsilon_amount(self.promise, "promise")
        at_first = account.promise if promise is None and account is not None else promise
        if at_first is None:
            raise self._unpromised()
        if account is not None and promise is not None and promise != account.promise:
            raise BudgetError(
                f"promise is {show_amount(promise)}, but epsilon {show_amount(account.promise)} was promised",
                why="it is fixed before the first question, and is for all of them",
                fix="leave promise out, for what is left; one in a vault is raised by `jostle vault raise`",
            )
        if self._cut is False:
            self._cut = True  # once is enough: its score says no more
            warnings.warn(
                "scikit-learn fits copies of this estimator, and no PrivateFolds cut their rows: with a number for cv, "
                "one row that comes or goes moves others to other folds, and what is charged bounds what each fit says "
                "of the rows that it was given, not what all of them say of the table. cv=PrivateFolds(5) moves none",
                UnpaidWarning,
                stacklevel=4,
            )
        rows = recognise(Table.from_features(X, y, schema))
        return rows.open_part(at_first=at_first, vault=self.vault)

    def _unpromised(self) -> BudgetError:
        """A refusal to ask where nothing was promised, which says what there is to be promised."""
        fit, score = epsilon_amount(self.epsilon), self._score_epsilon()
        title = "nothing was promised for these rows"
        why = "what all questions may cost is fixed before the first one: "
        if not score:
            return BudgetError(
                title,
                why=f"{why}a fit costs {show_amount(fit)}, and in a pipeline what comes after it costs more",
                fix=f'promise="{show_amount(fit)}" for one fit; for each fold, as much and what comes after it costs',
            )
        folds = show_amount(FOLDS * (fit + score))
        return BudgetError(
            title,
            why=f"{why}a fit costs {show_amount(fit)}, a score {show_amount(score)}, {FOLDS} folds {folds}, and a "
            "search as much for each candidate and one fit more",
            fix=f'promise="{show_amount(fit)}" for one fit, promise="{folds}" for cv=PrivateFolds({FOLDS})',
        )

    def _score_epsilon(self) -> Fraction:
        """What a score costs; nothing where there is none."""
        return Fraction(0)

    def _inferred(self, X: Any, y: Any, epsilon: Fraction) -> InferredRows:
        """Rows that anybody may see, with a schema read off them."""
        check_public(X, y)
        if self.person is not None:
            raise PrivateDataError(
                "a person is named, and no schema is given",
                why="whose rows are whose matters where persons are protected, and these rows are public",
                fix="leave person out, or give a schema",
            )
        seed = self._seed()
        columns, y = self._validated(X, reset=True), column_or_1d(y, warn=True)
        check_consistent_length(y, *columns.values())
        check_classification_targets(y)
        label = max([LABEL, *columns], key=len) + LABEL if LABEL in columns else LABEL
        schema = Schema.infer_public({**columns, label: y}, label=label)
        table = Table.from_frame({**columns, label: y}, schema)
        return InferredRows(rehearse(table, epsilon=epsilon, seed=seed), label, np.unique(y))

    def _validated(self, X: Any, *, reset: bool = False) -> dict[str, Any]:
        """Public rows as columns, checked as scikit-learn's own estimators do."""
        names = feature_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return feature_columns(X, tuple(map(str, names)))
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return feature_columns(X, tuple(f"x{place}" for place in range(X.shape[1])))

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(SEEDS))

    def __getstate__(self) -> dict[str, Any]:
        # With where it was made, so that a copy in another process is no second budget.
        return {**super().__getstate__(), "_made_in": self.__dict__.get("_made_in", _here())}

    def __sklearn_clone__(self) -> Self:
        clone: Self = super().__sklearn_clone__()
        clone.__dict__.update({name: made for name, made in self.__dict__.items() if name == "_made_in"})
        self._copies = clone._copies = self._copies or Copies()
        self._copies.made += 1
        # Said here, since it may be fitted in another process. One copy is no cross-validation's.
        clone._cut = CUT.is_set() or self._copies.made < 2
        return clone

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # what becomes of an empty cell, the schema says
        tags.input_tags.string = True
        return tags


def _here() -> str:
    return f"{os.getpid()}-{HERE}"
