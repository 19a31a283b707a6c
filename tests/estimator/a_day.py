"""A day with scikit-learn's own tools, as a user would write it; `test_a_day.py` runs it in an empty folder.

Each part has a vault of its own, and prints what was spent, to the last digit.
"""

# mypy: ignore-errors
# ruff: noqa: T201 - what it prints is what is tested; no user annotates such lines
from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

import jostle
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds

schema = jostle.Schema(
    {
        "age": jostle.Numeric(18, 98, bins=8),
        "region": jostle.Categorical(["north", "east", "south", "west"]),
        "smokes": jostle.Categorical(["no", "yes"]),
    },
    label="smokes",
)


def people(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """People of whom the young smoke, each time others."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"age": random.integers(18, 99, 2000), "region": random.choice(["north", "west"], 2000)})
    return X, pd.Series(np.where(X["age"] < 50, "yes", "no"))


def finite(scores: object) -> str:
    """Say how many scores there are, and whether all of them are numbers."""
    return f"{np.size(scores)} scores, {'numbers all' if np.isfinite(scores).all() else scores}"


def main() -> None:
    """Go through the day."""
    # The lines of the README on a fresh vault, where nothing was promised: what it takes is said, and nothing is spent.
    X, y = people(1)
    clf = PrivateClassifier(epsilon="0.2", schema=schema, vault="first.vault")
    for cv in (5, PrivateFolds(5)):
        try:
            cross_val_score(clf, X, y, cv=cv)
        except ValueError as refusal:
            print(*str(refusal).splitlines()[-3:], sep="\n")
    print("promised:", clf.account())

    # With the promise that the refusal names, there is enough.
    clf = PrivateClassifier(epsilon="0.2", schema=schema, vault="first.vault", promise="1.25")
    print(finite(cross_val_score(clf, X, y, cv=PrivateFolds(5))), "and left:", clf.account().left)

    # The area under the curve: scikit-learn's, which is warned of, and the one that is bought.
    X, y = people(2)
    clf = PrivateClassifier("NaiveBayes", 1, schema, "area.vault", promise=20)
    print("roc_auc:", finite(cross_val_score(clf, X, y, cv=PrivateFolds(3), scoring="roc_auc")))
    print("spent:", clf.account().spent)
    print("auc:", finite(cross_val_score(clf.set_params(scored_by="auc"), X, y, cv=PrivateFolds(3))))
    print("spent:", clf.account().spent)

    # A copy pays from the same promise.
    X, y = people(3)
    clf = PrivateClassifier("NaiveBayes", 1, schema, "copies.vault", promise=4)
    print("clone:", finite(clone(clf).fit(X, y).score(X, y)), "and left:", clf.fit(X, y).account().left)

    # A selector before the classifier, in a pipeline: of a dataframe, and of an array.
    facts = {"schema": schema, "vault": "pipeline.vault"}
    for seed, to_rows in ((4, pd.DataFrame.copy), (5, pd.DataFrame.to_numpy)):
        X, y = people(seed)
        selector = PrivateFeatureSelector("Peeling(top=1)", epsilon=2, promise=50, **facts).set_output(
            transform="pandas"
        )
        pipeline = make_pipeline(selector, PrivateClassifier("NaiveBayes", epsilon=2, **facts))
        print("pipeline:", finite(cross_val_score(pipeline, to_rows(X), y, cv=PrivateFolds(3))))
        print("kept:", *pipeline.fit(to_rows(X), y)[:-1].get_feature_names_out(), "and left:", selector.account().left)

    # A search for an Option and a budget, in a pipeline.
    X, y = people(6)
    facts = {"schema": schema, "vault": "search.vault"}
    pipeline = Pipeline([("classify", PrivateClassifier("Majority", epsilon=1, promise=20, **facts))])
    grid = {"classify__option": ["NaiveBayes", "Majority"], "classify__score_epsilon": ["0.5"]}
    search = GridSearchCV(pipeline, grid, cv=PrivateFolds(3)).fit(X, y)
    print(
        "search:", finite(search.cv_results_["mean_test_score"]), "and best:", search.best_params_["classify__option"]
    )
    print("predicted:", search.predict(X).shape, "and left:", pipeline[0].account().left)

    # Columns by name: as a ColumnTransformer calls them, and by their own.
    X, y = people(7)
    clf = PrivateClassifier("NaiveBayes", epsilon=1, promise=2, schema=schema, vault="columns.vault")
    for more in ({}, {"verbose_feature_names_out": False}):
        columns = ColumnTransformer([("keep", "passthrough", ["region", "age"])], **more).set_output(transform="pandas")
        try:
            pipeline = make_pipeline(columns, clf).fit(X.assign(name="nobody"), y)
            print("columns:", pipeline.predict(X).shape, "and left:", clf.account().left)
        except jostle.JostleError as refusal:
            print(refusal)


if __name__ == "__main__":
    main()
