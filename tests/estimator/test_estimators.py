"""The scikit-learn selector, estimators of persons, and a scientist's day."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from processes import ran
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from jostle import Categorical, Numeric, Schema, SparseFeatures
from jostle.errors import BudgetError, OptionError, PrivateDataError, SchemaError, TableError
from jostle.privacy.vault import FileVault
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds

ROWS = 2000
COLUMNS = {
    "age": Numeric(0, 100, bins=4),
    "smokes": Categorical(["no", "yes"]),
    "town": Categorical(["a", "b", "c"]),
    "ill": Categorical(["no", "yes"]),
}
SCHEMA = Schema(COLUMNS, label="ill")
WORDS = ("free", "win", "meet", "home")


def people(rows: int = ROWS) -> tuple[pd.DataFrame, NDArray[Any]]:
    """People of whom smokers are ill, wherever they live and however old they are."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.integers(0, 100, rows),
            "smokes": random.choice(["no", "yes"], rows),
            "town": random.choice(["a", "b", "c"], rows),
        }
    )
    return frame, frame["smokes"].to_numpy(dtype=object)


@pytest.mark.representative
@parametrize_with_checks([PrivateFeatureSelector("Peeling(top=2)", public=True)])  # type: ignore[untyped-decorator]  # it has no types
def test_scikit_learns_checks_of_estimators(estimator: Any, check: Any) -> None:
    """All of them: none is expected to fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, at NaN among the data that are made up here
        check(estimator)


@pytest.mark.parametrize("option", ["Peeling(top=1)", "ScorePerturbation(top=1)"])
def test_the_column_that_says_the_label_is_kept(option: str) -> None:
    X, y = people()
    selector = PrivateFeatureSelector(option, epsilon=20, schema=SCHEMA, promise=20).fit(X, y)

    assert selector.get_support().tolist() == [False, True, False]
    assert selector.get_feature_names_out().tolist() == ["smokes"]
    assert isinstance(selector.transform(X), pd.DataFrame)
    assert selector.transform(X[["town", "smokes", "age"]]).columns.tolist() == ["smokes"]
    assert selector.transform(X.to_numpy()).tolist() == X[["smokes"]].to_numpy().tolist()
    assert selector.transform([[1, "yes", "a"]]).tolist() == [["yes"]]
    torn = [[1, "yes", "a"], ["torn"], [2, ["odd"], "b"]]
    assert selector.transform(torn).tolist() == [["yes"], [None], [["odd"]]]
    assert selector.transform([]).shape == (0, 1)  # whether there are rows decides nothing
    assert selector.selected_.names == ("smokes=yes",)


def test_selecting_and_training_are_paid_from_one_promise(tmp_path: Path) -> None:
    X, y = people()
    vault = tmp_path / "people.vault"
    pipeline = make_pipeline(
        PrivateFeatureSelector("Peeling(top=1)", 2, SCHEMA, vault, promise=20),
        PrivateClassifier("NaiveBayes", 1, SCHEMA, vault),
    )
    scores = cross_val_score(pipeline, X, y, cv=PrivateFolds(3), error_score="raise")

    assert min(scores) > 0.9
    paid = [each.epsilon for each in FileVault(vault).statement().reservations]
    assert paid == [2, 1, Fraction("0.25")] * 3
    assert pipeline.fit(X, y)[-1].feature_names_in_.tolist() == ["smokes"]
    assert (pipeline.predict(X) == y).all()


def test_without_a_vault_both_share_the_budget_of_the_label() -> None:
    X, y = people()
    selector = PrivateFeatureSelector("Peeling(top=1)", 1, SCHEMA, promise="1.5").fit(X, y)
    clf = PrivateClassifier("NaiveBayes", 1, SCHEMA)
    with pytest.raises(BudgetError, match=r"0\.5 is left"):
        clf.fit(selector.transform(X), y)


def test_a_search_over_selectors_is_charged_for_every_candidate(tmp_path: Path) -> None:
    X, y = people()
    selector = PrivateFeatureSelector("Peeling", "1/2", SCHEMA, tmp_path / "v", promise=20)
    pipeline = make_pipeline(selector, PrivateClassifier("NaiveBayes", 1, SCHEMA, tmp_path / "v"))
    grid = {"privatefeatureselector__option": ["Peeling(top=1)", "ScorePerturbation(top=1)"]}
    GridSearchCV(pipeline, grid, cv=PrivateFolds(2), error_score="raise").fit(X, y)
    account = selector.account()
    assert account is not None
    assert account.spent == 2 * 2 * Fraction(7, 4) + Fraction(3, 2)


def test_words_of_a_sparse_matrix_are_selected() -> None:
    random = np.random.default_rng(0)
    spam = random.random(ROWS) < 0.4
    has = random.random((ROWS, len(WORDS))) < np.where(spam[:, None], [0.8, 0.3, 0.3, 0.3], 0.3)
    schema = Schema(
        {"kind": Categorical(["ham", "spam"])}, label="kind", features=SparseFeatures("text", words=list(WORDS))
    )
    X, y = csr_array(has.astype(int)), np.where(spam, "spam", "ham")
    selector = PrivateFeatureSelector("Peeling(top=1)", 20, schema, promise=40).fit(X, y)

    assert selector.get_feature_names_out().tolist() == ["text=free"]
    assert (selector.transform(X).toarray() == has[:, :1]).all()
    with pytest.raises(TableError, match="has not the 4 columns"):
        selector.transform(X[:, :3])
    with pytest.raises(TableError, match="the matrix has 3 columns, but 4 features are declared"):
        PrivateFeatureSelector("Peeling(top=1)", 20, schema).fit(X[:, :3], y)


def test_what_is_wrong_is_said_and_costs_nothing(tmp_path: Path) -> None:
    X, y = people()
    vault = tmp_path / "v"
    inferred = Schema.infer_public({**X, "ill": y}, label="ill")
    one = Schema({name: COLUMNS[name] for name in ("smokes", "ill")}, label="ill")
    for given, error, said in (
        (PrivateFeatureSelector(), PrivateDataError, "a schema is missing"),
        (PrivateFeatureSelector(schema=inferred, vault=vault, promise=1), SchemaError, "read off this same table"),
        (PrivateFeatureSelector(schema=SCHEMA, vault=vault), BudgetError, "nothing was promised"),
        (PrivateFeatureSelector("NaiveBayes", schema=SCHEMA, vault=vault), OptionError, "no Option that selects"),
        (PrivateFeatureSelector("Nothing", schema=SCHEMA, vault=vault), OptionError, "there is no Option 'Nothing'"),
        (PrivateFeatureSelector("Peeling(top=0)", schema=SCHEMA, vault=vault), OptionError, "top is 0"),
        (PrivateFeatureSelector(schema=SCHEMA, vault=vault, random_state=1), PrivateDataError, "random_state is given"),
        (PrivateFeatureSelector(schema=one, vault=vault, promise=3), OptionError, "one feature: nothing to select"),
    ):
        with pytest.raises(error, match=said):
            given.fit(X, y)
    with pytest.raises(NotFittedError):
        PrivateFeatureSelector(schema=SCHEMA).transform(X)
    assert all(each.epsilon == 0 for each in FileVault(vault).statement().reservations) or not vault.exists()


def test_what_was_private_is_not_public_afterwards() -> None:
    X, y = people()
    PrivateFeatureSelector(schema=SCHEMA, promise=1).fit(X, y)
    with pytest.raises(PrivateDataError, match="given as private"):
        PrivateFeatureSelector(schema=SCHEMA, public=True).fit(X, y)


def test_a_pickle_holds_no_row() -> None:
    X, y = people()
    X.loc[0, "town"] = "an unmistakable cell"
    assert b"unmistakable" not in pickle.dumps(PrivateFeatureSelector(schema=SCHEMA, promise=1).fit(X, y))


# Persons in scikit-learn: whose rows they are is said by a column, and no fold splits one.


SCHEMA_OF_PERSONS = Schema({"wet": Categorical([0, 1]), "ill": Categorical([0, 1])}, label="ill")


def visits(count: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    wet = rng.integers(0, 2, count)
    return pd.DataFrame({"who": rng.integers(0, 40, count), "wet": wet, "ill": wet})


def test_a_fit_and_its_scores_are_of_persons() -> None:
    """A promise, a fit and a score count persons, whose rows are at most 16 each."""
    frame = visits()
    clf = PrivateClassifier("NaiveBayes", epsilon=100, schema=SCHEMA_OF_PERSONS, promise=1000, person="who")
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
    columns = {**dict(SCHEMA_OF_PERSONS.columns), "old": Categorical([0, 1])}
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


# The data scientist's day, from the schema to what is left of the promise.


PROGRAM = Path(__file__).parents[2] / "programs" / "scientist.py"


@pytest.mark.slow
def test_the_day_runs_and_every_step_of_it_is_charged(tmp_path: Path) -> None:
    done = ran(PROGRAM, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for line in (
        "it runs: 1,000 predictions for people who do not exist",
        "ε for error 0.35",
        "0.625 of 2 is spent, 1.375 is left",  # five times 0.1 and 0.025
        "1.475 of 2 is spent, 0.525 is left",  # twice three times as much, and the last fit
        "at the end of the day, 1.475 of 2 is spent, 0.525 is left",
    ):
        assert line in done.stdout, done.stdout
    assert not list(tmp_path.iterdir())
