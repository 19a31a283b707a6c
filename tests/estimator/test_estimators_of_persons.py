"""Persons in scikit-learn: whose rows they are is said by a column, and no fold splits one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from jostle import Categorical, Schema
from jostle.errors import TableError
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds

SCHEMA = Schema({"wet": Categorical([0, 1]), "ill": Categorical([0, 1])}, label="ill")


def visits(count: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    wet = rng.integers(0, 2, count)
    return pd.DataFrame({"who": rng.integers(0, 40, count), "wet": wet, "ill": wet})


def test_a_fit_and_its_scores_are_of_persons() -> None:
    """A promise, a fit and a score count persons, whose rows are at most 16 each."""
    frame = visits()
    clf = PrivateClassifier("NaiveBayes", epsilon=100, schema=SCHEMA, promise=1000, person="who")
    X, y = frame[["who", "wet"]], frame["ill"]
    assert clf.fit(X, y).predict(pd.DataFrame({"wet": [0, 1]})).tolist() == [0, 1]
    account = clf.account()
    assert account is not None
    assert account.spent == clf.model_.epsilon == 100
    scores = cross_val_score(clf, X, y, groups=X["who"], cv=PrivateFolds(3))
    assert scores.min() > 0.9
    account = clf.account()
    assert account is not None
    assert account.spent == 100 + 3 * Fraction(125)


def test_columns_are_selected_for_persons() -> None:
    """The column of persons is none of those that are kept or left; what a fit costs is about persons."""
    frame = visits()
    frame["old"] = np.arange(len(frame)) % 2
    columns = {**dict(SCHEMA.columns), "old": Categorical([0, 1])}
    schema = Schema(columns, label="ill")
    selector = PrivateFeatureSelector("Peeling(top=1)", epsilon=100, schema=schema, promise=100, person="who")
    selector.fit(frame[["who", "wet", "old"]], frame["ill"])
    account = selector.account()
    assert account is not None
    assert account.left == 0
    assert account.rows_each == (16,)
    assert selector.selected_.columns == ("wet",)


def test_no_fold_splits_a_person() -> None:
    """However it is written; a row of nobody goes by itself, and without groups each row does."""
    who = ["1", 1.0, "01", "Ann", None, None] * 30
    for held_out in (held for _, held in PrivateFolds(3).split(who, groups=who)):
        rows = [who[place] for place in held_out]
        assert sum(str(each) in {"1", "1.0", "01"} for each in rows) in {0, 90}
        assert rows.count("Ann") in {0, 30}
        assert 0 < rows.count(None) < 60
    with pytest.raises(TableError, match="there are 2 groups for 3 rows"):
        list(PrivateFolds(3).split([1, 2, 3], groups=[1, 2]))
