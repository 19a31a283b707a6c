"""The scikit-learn selector: what it keeps, and which promise pays for it."""

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
