"""The scikit-learn classifier: what it is as an estimator, and what it keeps of its promise."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from numpy.typing import NDArray
from processes import ran
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from jostle import Categorical, Numeric, Schema, Table, options, rehearse
from jostle.errors import (
    AmountError,
    BudgetError,
    FewRowsWarning,
    OptionError,
    PrivateDataError,
    SchemaError,
    TableError,
    UnpaidWarning,
)
from jostle.privacy.account import Account
from jostle.privacy.vault import FileVault
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds, private_rows

ROWS = 600
SCHEMA = Schema(
    {"age": Numeric(0, 100, bins=8), "smokes": Categorical(["no", "yes"]), "ill": Categorical(["no", "yes", "dead"])},
    label="ill",
)

TWO = evolve(SCHEMA, columns={**dict(SCHEMA.columns), "ill": Categorical(["no", "yes"])})
"""Two classes: a curve tells one from the other."""


def people(rows: int = ROWS, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[str]]:
    """Return people of whom smokers above fifty are ill, and nobody is dead."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": random.integers(0, 100, rows), "smokes": random.choice(["no", "yes"], rows)})
    ill = np.where((frame["age"] > 50) & (frame["smokes"] == "yes"), "yes", "no")
    return frame, pd.Series(ill, name="ill")


def numbers(rows: int = ROWS) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a column of which the label is a copy."""
    column = np.arange(rows) % 2
    return column[:, None], column


def account_of(estimator: Any) -> Account:
    account = estimator.account()
    assert account is not None
    return account  # type: ignore[no-any-return]  # scikit-learn has no types


def of_numbers(*values: object) -> Schema:
    return Schema({"wet": Categorical([0, 1]), "ill": Categorical(values)}, label="ill")


@parametrize_with_checks([PrivateClassifier(public=True)])  # type: ignore[untyped-decorator]  # it has no types
def test_scikit_learns_checks_of_estimators(estimator: Any, check: Any) -> None:
    """All of them: none is expected to fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, at NaN among the data that are made up here
        check(estimator)


# What it gives back


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((0, 1), np.array([0, 1] * 300)),
        ((1, 0), np.array([0, 1] * 300, dtype=np.int8)),
        ((0, 1), [0, 1] * 300),
        ((0, 1), np.array(["0", "1"] * 300)),
        ((0, 1), np.array([False, True] * 300)),
        ((0.5, 1.5), np.array([0.5, 1.5] * 300)),
        ((True, False), np.array([False, True] * 300)),
        ((True, False), np.array(["FALSE", "true"] * 300)),
        ((True, False), np.array([0.0, 1.0] * 300)),
        (("b", "a"), np.array(["a", "b"] * 300)),
        (("b", "a"), np.array(["a", "b"] * 300, dtype=object)),
        ((0, 1), pd.Series([0, 1] * 300, dtype="Int64")),
        ((0, 1), pd.Series([0, 1] * 300, dtype="category")),
    ],
)
def test_labels_come_back_as_they_are_declared(values: tuple[object, ...], labels: Any) -> None:
    """Whatever type they come in: one odd label changes it for all."""
    X, _ = numbers()
    clf = PrivateClassifier("NaiveBayes", epsilon=5, schema=of_numbers(*values), promise=5).fit(X, labels)

    assert clf.classes_.tolist() == sorted(values)  # type: ignore[type-var]  # all of one type
    assert clf.classes_.dtype == np.array(values).dtype
    assert clf.predict(X).tolist() == sorted(values) * 300  # type: ignore[type-var]  # as above


def test_what_it_knows_of_the_data_is_what_the_schema_declares() -> None:
    """A class that no row has, a class that the schema does not have, an empty cell: none of it shows."""
    X, y = people()
    odd = y.copy()
    odd[0], odd[1] = "unheard of", None
    known = []
    for labels in (y, odd, y.astype(object)):
        clf = PrivateClassifier("Majority", epsilon=1, promise=3, schema=SCHEMA).fit(X, labels)
        assert sorted(vars(clf)) == sorted(vars(clf))
        known.append((clf.classes_.tolist(), clf.n_features_in_, clf.feature_names_in_.tolist()))

    assert known == [(["dead", "no", "yes"], 2, ["age", "smokes"])] * 3


@pytest.mark.parametrize("of", [list, tuple, lambda labels: pd.Series(labels, dtype="category")])
@pytest.mark.parametrize("values", [("a", "b"), (0, 1), (0.5, 1.5), (False, True)])
def test_one_empty_label_in_what_has_no_type_of_its_own_changes_no_type(
    of: Callable[[list[object]], Any], values: tuple[object, ...]
) -> None:
    """Else whoever is shown `classes_` would know of that row."""
    X, _ = numbers()
    labels: list[object] = [*values] * 300
    told = []
    for given in (labels, [None, *labels[1:]]):
        clf = PrivateClassifier("Majority", promise=9, schema=of_numbers(*values)).fit(X, of(given))
        told.append((clf.classes_.dtype, clf.classes_.tolist(), clf.predict(X).dtype))

    assert told[0] == told[1]
    assert told[0][1] == sorted(values, key=str)


def test_rows_of_a_dataframe_are_read_by_name_and_of_an_array_in_order() -> None:
    X, y = people()
    clf = PrivateClassifier("PooledTree", epsilon=5, schema=SCHEMA, promise=5).fit(X, y)
    turned = X[["smokes", "age"]].assign(name="no attribute")

    assert (clf.predict(turned) == clf.predict(X)).all()
    assert (clf.predict(X.to_numpy()) == clf.predict(X)).all()
    with pytest.raises(TableError, match="X has no column 'age'"):
        clf.predict(X[["smokes"]])
    with pytest.raises(TableError, match="X has 1 column\n"):
        clf.predict(X[["smokes"]].to_numpy())
    assert clf.predict([[None, "no idea"]]).shape == (1,)


def test_an_option_by_name_as_a_value_and_what_came_with_jostle() -> None:
    X, y = people()
    for option in ("auto", "classification-auc", "PooledTree(most_depth=3)", options.get("NaiveBayes")):
        clf = PrivateClassifier(option, epsilon=1, promise=4, schema=SCHEMA)
        check_is_fitted(clf.fit(X, y))
    refused: dict[Any, str] = {
        "ranges": "no Option that predicts a label",
        "ShrunkTree": "ShrunkTree is no Option",
        3: "int is no Option",
        "Bayes": "there is no Option 'Bayes'",
    }
    for option, said in refused.items():
        with pytest.raises(OptionError, match=said):
            PrivateClassifier(option, schema=SCHEMA).fit(X, y)


def test_a_frame_with_fewer_columns_is_read_by_those_it_has() -> None:
    X, y = people()
    clf = PrivateClassifier("NaiveBayes", epsilon=5, schema=SCHEMA, promise=20).fit(X[["smokes"]], y)
    assert clf.feature_names_in_.tolist() == ["smokes"]
    assert (clf.predict(X) == clf.predict(X[["smokes"]])).all()
    assert clf.score(X, y) > 0.5
    account = clf.account()
    for frame, fix in (
        (X.rename(columns=str.upper), "capitals and spaces count"),
        (X.rename(columns={"age": "years"}), "compare the schema"),
        (X.set_index("age"), "reset_index"),
        (X.add_prefix("kept__"), "verbose_feature_names_out=False"),
    ):
        with pytest.raises(TableError, match=rf"no column 'age'(?s:.*){fix}"):
            clf.fit(frame, y)
    assert clf.account() == account


# What it refuses


def test_rows_without_a_schema_are_refused_unless_they_are_public() -> None:
    X, y = numbers()
    with pytest.raises(PrivateDataError, match=r"a schema is missing(?s:.*)public=True"):
        PrivateClassifier().fit(X, y)
    with pytest.raises(PrivateDataError, match="a schema is missing"):
        PrivateClassifier().account()
    assert PrivateClassifier("NaiveBayes", public=True).fit(X, y).score(X, y) == 1
    with pytest.raises(SchemaError, match="no label"):
        PrivateClassifier(schema=Schema({"wet": Numeric(0, 1)})).fit(X, y)


def test_a_seed_is_for_public_rows() -> None:
    X, y = people()
    with pytest.raises(PrivateDataError, match="random_state is given for private rows"):
        PrivateClassifier(schema=SCHEMA, random_state=1).fit(X, y)
    same, again, other = (
        PrivateClassifier("PooledTree", 0.1, schema=SCHEMA, public=True, random_state=seed).fit(X, y).predict_proba(X)
        for seed in (1, 1, 2)
    )
    assert (same == again).all()
    assert (same != other).any()


def test_what_was_private_is_not_public_afterwards() -> None:
    X, y = people()
    clf = PrivateClassifier("Majority", schema=SCHEMA, promise=1).fit(X, y)
    with pytest.raises(PrivateDataError, match="given as private"):
        PrivateClassifier("Majority", schema=SCHEMA, public=True).fit(X, y)
    with pytest.raises(PrivateDataError, match="given as private"):
        clf.set_params(public=True).score(X, y)
    assert clf.score(*people(seed=1)) > 0


def test_before_a_fit_there_is_nothing_to_ask() -> None:
    X, y = people()
    clf = PrivateClassifier(schema=SCHEMA)
    for name, given in (("predict", (X,)), ("predict_proba", (X,)), ("score", (X, y))):
        with pytest.raises(NotFittedError):
            getattr(clf, name)(*given)


@pytest.mark.parametrize(
    "ask",
    [
        lambda clf, X, y: cross_val_score(clf, X, y, cv=PrivateFolds(3), scoring="roc_auc"),
        lambda clf, X, y: cross_val_score(make_pipeline(clf), X, y, cv=PrivateFolds(3), scoring="accuracy"),
        lambda clf, X, y: GridSearchCV(clf, {"epsilon": [1]}, scoring="accuracy", cv=PrivateFolds(3)).fit(X, y),
        lambda clf, X, y: cross_val_predict(clf, X, y, cv=PrivateFolds(3)),
        lambda clf, X, y: CalibratedClassifierCV(clf, cv=PrivateFolds(3)).fit(X, y),
    ],
)
def test_figures_that_nobody_paid_for_are_warned_of(ask: Callable[..., Any], tmp_path: Path) -> None:
    X, y = people()
    clf = PrivateClassifier("NaiveBayes", 1, TWO, tmp_path / "v", promise=50)
    with pytest.warns(UnpaidWarning, match=r"no noise, and nobody paid for it\. Leave scoring out"):
        ask(clf, X, y)


def test_where_scores_are_bought_nothing_is_warned_of(tmp_path: Path) -> None:
    """Not even of what a search predicts in the end, of new rows, after another that was warned of."""
    X, y = people()
    clf = PrivateClassifier("NaiveBayes", 1, SCHEMA, tmp_path / "v", promise=90)
    with pytest.warns(UnpaidWarning):
        cross_val_score(clf, X, y, cv=PrivateFolds(2), scoring="accuracy")
    clf.fit(X, y).predict(X)
    assert cross_val_score(clf, X, y, cv=PrivateFolds(2), error_score="raise").shape == (2,)
    search = GridSearchCV(make_pipeline(clf), {}, cv=PrivateFolds(2), error_score="raise").fit(X, y)
    assert search.predict(X).shape == (ROWS,)


@pytest.mark.parametrize("run", [cross_val_score, lambda clf, X, y, cv: GridSearchCV(clf, {}, cv=cv).fit(X, y)])
def test_folds_that_one_row_moves_others_between_are_warned_of(run: Callable[..., Any], tmp_path: Path) -> None:
    private_rows.CUT.clear()
    X, y = people()
    clf = PrivateClassifier("NaiveBayes", 1, SCHEMA, tmp_path / "v", promise=50)
    with pytest.warns(UnpaidWarning, match=r"moves others to other folds(?s:.*)cv=PrivateFolds\(5\) moves none"):
        run(clf, X, y, cv=3)
    run(PrivateClassifier("NaiveBayes", 1, SCHEMA, public=True), *people(300, seed=1), cv=3)
    clone(PrivateClassifier("Majority", 1, SCHEMA)).set_params(vault=tmp_path / "v").fit(X, y)
    run(clf, X, y, cv=PrivateFolds(2))


def test_of_public_rows_scikit_learn_computes_what_it_likes() -> None:
    """What is fitted on private rows may be looked at on public ones, by whoever says which these are."""
    X, y = numbers()
    clf = PrivateClassifier("NaiveBayes", epsilon=5, schema=of_numbers(0, 1), promise=5).fit(X, y)
    shown, labels = np.array([[0], [1]] * 20), np.array([0, 1] * 20)

    assert roc_auc_score(labels, clf.predict_proba(shown)[:, 1]) == 1
    calibrated = CalibratedClassifierCV(FrozenEstimator(clf)).fit(shown, labels)
    assert (calibrated.predict(shown) == labels).all()


# What it costs


def test_every_fit_and_score_of_a_cross_validation_is_charged_to_one_promise(tmp_path: Path) -> None:
    X, y = people()
    vault = tmp_path / "people.vault"
    clf = PrivateClassifier("NaiveBayes", 0.4, SCHEMA, vault, promise="2.5")
    scores = cross_val_score(clf, X, y, cv=PrivateFolds(5), error_score="raise")

    assert scores.shape == (5,)
    assert ((scores >= 0) & (scores <= 1)).all()
    account = account_of(clf)
    assert account.promise == account.spent == Fraction("2.5")
    assert [each.epsilon for each in FileVault(vault).statement().reservations] == [
        Fraction("0.4"),
        Fraction("0.1"),
    ] * 5
    assert {each.site for each in FileVault(vault).statement().reservations} == {
        "NaiveBayes",
        "PrivateClassifier.score",
    }
    with pytest.raises(BudgetError, match="0 is left"):
        clf.fit(X, y)


def test_a_search_is_charged_for_every_candidate_and_the_last_fit(tmp_path: Path) -> None:
    X, y = people()
    clf = PrivateClassifier(schema=SCHEMA, vault=tmp_path / "v", promise=20, score_epsilon="0.5")
    pipeline = make_pipeline(FunctionTransformer(), clf)
    grid = {
        "privateclassifier__option": ["NaiveBayes", "Majority"],
        "privateclassifier__epsilon": [1, "1/2"],
    }
    search = GridSearchCV(pipeline, grid, cv=PrivateFolds(3), error_score="raise").fit(X, y)

    best = Fraction(search.best_params_["privateclassifier__epsilon"])
    assert account_of(clf).spent == 2 * 3 * (Fraction(3, 2) + 2 * Fraction(1, 2)) + best
    assert search.predict(X).shape == (ROWS,)


def test_the_parts_of_a_table_share_one_budget_without_a_vault() -> None:
    X, y = people()
    clf = PrivateClassifier("Majority", schema=SCHEMA, promise=2)
    assert clf.account() is None
    clf.fit(X[:300], y[:300])
    PrivateClassifier("Majority", schema=SCHEMA).fit(X[200:500], y[200:500])
    assert account_of(clf).left == 0
    with pytest.raises(BudgetError, match="0 is left in this process"):
        clf.fit(X[500:], y[500:])
    fewer = Schema({"age": Numeric(0, 100), "ill": Categorical(["no", "yes"])}, label="ill")
    with pytest.raises(BudgetError, match="0 is left in this process"):
        PrivateClassifier(schema=fewer).fit(X, y)
    with pytest.raises(BudgetError, match="promise is 3, but epsilon 2 was promised"):
        PrivateClassifier(schema=SCHEMA, promise=3).fit(X, y)


def test_without_a_promise_what_it_would_take_is_said_and_nothing_is_charged(tmp_path: Path) -> None:
    X, y = people()
    vault = tmp_path / "v"
    for clf in (PrivateClassifier("Majority", "0.3", SCHEMA), PrivateClassifier("Majority", "0.3", SCHEMA, vault)):
        with pytest.raises(BudgetError, match="nothing was promised") as refusal:
            clf.fit(X, y)
        assert "a fit costs 0.3, a score 0.075, 5 folds 1.875" in str(refusal.value)
        with pytest.raises(ValueError, match=r'fix: promise="0\.3" for one fit, promise="1\.875" for cv=PrivateF'):
            cross_val_score(clf, X, y, cv=PrivateFolds(5))
        assert clf.account() is None
        assert not vault.exists()
    clf = clf.set_params(promise="1.875")
    assert np.isfinite(cross_val_score(clf, X, y, cv=PrivateFolds(5), error_score="raise")).all()
    assert account_of(clf).left == 0


def test_tables_of_other_columns_have_budgets_of_their_own_and_a_doubt_is_refused(tmp_path: Path) -> None:
    X, y = numbers()
    for name, (rows, labels) in {"left": (X, y), "right": (X[:-1].copy(), y[:-1].copy())}.items():
        schema = Schema({name: Categorical([0, 1]), f"{name} label": Categorical([0, 1])}, label=f"{name} label")
        PrivateClassifier("Majority", schema=schema, promise=1).fit(rows, labels)
    with pytest.raises(BudgetError, match="0 is left"):  # which are the first ones under other names
        PrivateClassifier("Majority", schema=schema).fit(X, y)
    both = Schema({"left": Categorical([0, 1]), "right": Categorical([0, 1]), "y": Categorical([0, 1])}, label="y")
    with pytest.raises(BudgetError, match="several budgets"):
        PrivateClassifier("Majority", schema=both).fit(np.hstack([X, X]), y.copy())
    PrivateClassifier("Majority", schema=both, vault=tmp_path / "v", promise=1).fit(np.hstack([X, X]), y.copy())


def test_a_score_is_noisy_and_what_it_says_is_what_its_noise_allows(tmp_path: Path) -> None:
    """Of 600 rows that are all predicted right, both counts are off by noise of scale 10."""
    X, y = numbers()
    clf = PrivateClassifier("NaiveBayes", 5, of_numbers(0, 1), tmp_path / "v", promise=50, score_epsilon="0.1")
    clf.fit(X, y)
    scores = [clf.score(X, y) for _ in range(40)]

    assert (clf.predict(X) == y).all()
    assert len({score for score in scores if score < 1}) > 9
    assert np.mean(np.array(scores) < 1) == pytest.approx(0.475, abs=0.3)
    assert min(scores) > 1 - 150 / ROWS
    assert account_of(clf).spent == 5 + 40 * Fraction("0.1")


def test_the_area_under_the_curve_is_a_private_score_too(tmp_path: Path) -> None:
    X, y = numbers()
    clf = PrivateClassifier("NaiveBayes", 5, of_numbers(0, 1), tmp_path / "v", promise=20, scored_by="auc")
    assert clf.fit(X, y).score(X, y) == pytest.approx(1, abs=0.2)
    assert clf.score(X, 1 - y) < 0.3
    assert account_of(clf).spent == 5 + 2 * Fraction(5, 4)
    rows, labels = X[:500].copy(), y[:500].copy()
    public = PrivateClassifier("NaiveBayes", 5, of_numbers(0, 1), scored_by="auc", public=True).fit(rows, labels)
    assert (public.score(rows, labels), public.score(rows, 1 - labels)) == (1, 0)
    with pytest.raises(OptionError, match="scored_by is 'f1'"):
        public.set_params(scored_by="f1").score(rows, labels)


@pytest.mark.parametrize(("option", "area"), [("Majority", 0.5), ("Mohammed(depth=1)", 1)])
def test_a_model_of_few_scores_has_an_area_too(option: str, area: float, tmp_path: Path) -> None:
    """Of one score, which is known from the model: nothing is asked of rows. Of two, there is a curve of one corner."""
    X, y = numbers()
    clf = PrivateClassifier(option, 5, of_numbers(0, 1), tmp_path / "v", promise=20, scored_by="auc").fit(X, y)
    assert clf.score(X, y) == pytest.approx(area, abs=0.1)
    assert account_of(clf).spent == 5 + (Fraction(5, 4) if area == 1 else 0)


def test_a_score_of_which_noise_leaves_nothing_is_that_of_a_guess(tmp_path: Path) -> None:
    """A number all the same, so that what else a cross-validation paid for is not lost in its mean."""
    X, y = people()
    clf = PrivateClassifier("Majority", 1, SCHEMA, tmp_path / "v", promise=9, score_epsilon="1e-6").fit(X, y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scores = [clf.score(X, y) for _ in range(40)]
    assert np.isfinite(scores).all()
    guesses = [each for each in said if each.category is FewRowsWarning]
    assert len(guesses) == scores.count(1 / 3) > 0


@pytest.mark.parametrize("said", ["no", "False", None, 0, 1, []])
def test_rows_are_public_where_that_is_said_and_no_other_way(said: Any) -> None:
    """What Python takes for true, such as "no", would open private rows without noise in their scores."""
    X, y = people()
    for estimator in (PrivateClassifier("NaiveBayes", schema=SCHEMA), PrivateFeatureSelector(schema=SCHEMA)):
        with pytest.raises(OptionError, match="not True or False"):
            estimator.set_params(public=said).fit(X, y)
        with pytest.raises(OptionError, match="not True or False"):
            estimator.account()
        assert estimator.set_params(public=False).account() is None
    assert PrivateClassifier("NaiveBayes", schema=SCHEMA).set_params(public=np.True_).fit(X, y).account() is None


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"scored_by": "f1"}, OptionError, "scored_by is 'f1'"),
        ({"scored_by": ["auc"]}, OptionError, "scored_by is"),
        ({"scored_by": "auc"}, OptionError, "the label has 3 classes"),
        ({"score_epsilon": -1}, AmountError, "score_epsilon is -1"),
        ({"score_epsilon": "some"}, AmountError, "score_epsilon is 'some'"),
    ],
)
def test_what_a_score_is_refused_for_is_refused_before_a_fit_is_paid_for(
    wrong: dict[str, Any], error: type[Exception], said: str
) -> None:
    X, y = people()
    clf = PrivateClassifier("NaiveBayes", schema=SCHEMA, promise=9, **wrong)
    with pytest.raises(error, match=said):
        clf.fit(X, y)
    assert clf.account() is None


def test_a_copy_in_another_process_is_no_second_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    X, y = people()
    clf = PrivateClassifier("Majority", schema=SCHEMA, promise=9)
    with_file = PrivateClassifier("Majority", schema=SCHEMA, vault=tmp_path / "v", promise=9)
    sent = pickle.dumps([clf, clf.fit(X, y), with_file])
    monkeypatch.setattr(private_rows, "HERE", "elsewhere")
    new, fitted, named = pickle.loads(sent)
    for each in (new, fitted, new.__sklearn_clone__(), pickle.loads(pickle.dumps(new))):
        with pytest.raises(BudgetError, match="kept in the memory of another process"):
            each.fit(X, y)
    assert (fitted.predict(X) == clf.predict(X)).all()
    with pytest.raises(BudgetError, match="already kept in this process"):
        named.fit(X, y)


def test_a_pickle_holds_no_row() -> None:
    X, y = people()
    X.loc[0, "smokes"] = "an unmistakable cell"
    clf = PrivateClassifier("PooledTree", schema=SCHEMA, promise=1).fit(X, y)
    assert b"unmistakable" not in pickle.dumps(clf)
    assert not [value for value in vars(clf).values() if isinstance(value, pd.DataFrame | Table)]


@pytest.mark.slow
def test_processes_at_once_are_charged_to_one_vault(tmp_path: Path) -> None:
    X, y = people()
    clf = PrivateClassifier("NaiveBayes", 0.4, SCHEMA, tmp_path / "v", promise=2)
    with pytest.warns(Warning, match="failed"):  # scikit-learn's, of fits and scores that there is no budget for
        cross_val_score(clf, X, y, cv=PrivateFolds(5), n_jobs=2)
    assert account_of(clf).left < Fraction("0.4")
    alone = PrivateClassifier("NaiveBayes", 0.4, Schema({"a": Numeric(0, 1), "b": Categorical([0, 1])}, label="b"))
    with pytest.raises(BudgetError, match="memory of another process"):
        cross_val_score(alone, np.zeros((9, 1)), np.zeros(9), cv=PrivateFolds(2), n_jobs=2, error_score="raise")


def test_public_rows_cost_nothing_and_are_scored_as_they_are() -> None:
    X, y = people()
    clf = PrivateClassifier("PooledTree", epsilon=5, schema=SCHEMA, public=True).fit(X, y)
    assert clf.score(X, y) == np.mean(clf.predict(X) == y)
    assert clf.account() is None
    assert rehearse(Table.from_features(X, y, SCHEMA)).spent == 0
    assert cross_val_score(clf, X, y, scoring="accuracy").min() > 0.7


def test_without_scikit_learn_there_is_one_sentence() -> None:
    said = ran("-c", "import sys; sys.modules['sklearn'] = None\nimport jostle.sklearn").stderr
    assert "scikit-learn 1.6 or later is not installed" in said
    assert 'fix: pip install "scikit-learn>=1.6"' in said


# Folds


def test_folds_hold_each_row_out_once() -> None:
    places = [tuple(map(tuple, fold)) for fold in PrivateFolds(4).split(range(200))]
    held_out = sorted(place for _, fold in places for place in fold)
    assert held_out == list(range(200))
    for learnt, fold in places:
        assert sorted((*learnt, *fold)) == held_out
        assert 20 < len(fold) < 85
