"""A data scientist's day: what is public, what to expect, a model that is cross-validated, what is left of the promise.

Run it anywhere: python programs/scientist.py
The survey is made up here. Its schema is what everybody knows of such a survey; what people answered is private, and
whatever is printed below was paid for.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import jostle
from jostle.sklearn import PrivateClassifier, PrivateFolds
from jostle.tables.made_up import made_up

# %% In the morning: what everybody knows of the survey, before anybody looks at it.

SCHEMA = jostle.Schema(
    {
        "age": jostle.Numeric(18, 98, bins=8),
        "region": jostle.Categorical(["north", "east", "south", "west"]),
        "hours": jostle.Numeric(0, 80, bins=8),
        "smokes": jostle.Categorical(["no", "yes"]),
    },
    label="smokes",
)
ROWS = 8_000
"""About how many people were asked: that was in the newspapers."""


def answers(rows: int, seed: int) -> tuple[pa.Table, Any]:
    """Return what people answered who do not exist; the young and those who work long smoke more."""
    chance = np.random.default_rng(seed)
    age, hours = chance.integers(18, 99, rows), chance.integers(0, 81, rows)
    region = chance.choice(SCHEMA["region"].labels, rows, p=[0.2, 0.2, 0.45, 0.15])
    smokes = np.where(chance.random(rows) < np.clip(0.6 - age / 120 + hours / 120, 0.05, 0.95), "yes", "no")
    return pa.table({"age": age, "region": region, "hours": hours}), smokes


def main() -> None:
    """Go through the day."""
    # %% The code is tried on rows of nobody. They are public, so this costs nothing, and scores are exact.
    rehearsal = made_up(SCHEMA, 1_000)
    trial = PrivateClassifier("NaiveBayes", schema=SCHEMA, public=True)
    trial.fit(rehearsal.select(SCHEMA.attributes), rehearsal["smokes"])
    print(f"it runs: {trial.predict(rehearsal).shape[0]:,} predictions for people who do not exist")

    # %% Which epsilon? Still nothing was asked of anybody.
    print(jostle.advise(schema=SCHEMA, rows=ROWS, epsilons=["0.03", "0.1", "0.3"], commonest="0.6", loss="0.35"))

    # %% The survey. One promise for all that is done with it, kept in a file.
    features, smokes = answers(ROWS, seed=1)
    frame = features.to_pandas()
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "survey.vault"
        clf = PrivateClassifier(epsilon="0.1", schema=SCHEMA, vault=vault, promise=2)

        # %% How well does it do? Five fits and five scores, each of them charged.
        scores = cross_val_score(clf, frame, smokes, cv=PrivateFolds(5), error_score="raise")
        print(f"\ncross-validated: {scores.mean():.2f} right, noise included; {left(clf)}")

        # %% Which Option? A search, over noisy scores, in what remains.
        search = GridSearchCV(clf, {"option": ["PooledTree", "NaiveBayes"]}, cv=PrivateFolds(3), error_score="raise")
        search.fit(frame, smokes)
        print(f"searched: {search.best_params_['option']}; {left(clf)}")

        # %% In the evening: the model is anybody's. People who agreed to be looked at show how good it is.
        volunteers, theirs = answers(500, seed=2)
        chances = search.predict_proba(volunteers.to_pandas())[:, 1]
        print(f"on volunteers: area under the curve {roc_auc_score(theirs == 'yes', chances):.2f}")
        model = search.best_estimator_.model_
        model.save(Path(folder) / "smokes.json")
        print(model.privacy)
        print(f"at the end of the day, {left(clf)}")


def left(clf: PrivateClassifier) -> str:
    """Say what is left of the promise."""
    account = clf.account()
    if account is None:
        return "nothing was promised yet"
    return f"{float(account.spent):g} of {float(account.promise):g} is spent, {float(account.left):g} is left"


if __name__ == "__main__":
    main()
