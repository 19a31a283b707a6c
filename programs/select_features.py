"""Select features as select.jst does, train naive Bayes on them and test it, in Python.

Run: python programs/select_features.py
It does all three on public rows made up for it, texts of which it selects words.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

import jostle
from jostle.public import tableCorpus
from jostle.tasks.evaluation import RocCurve
from jostle.tasks.selection import SelectedFeatures

SELECTORS = (
    "FirstFeatures(top=0)",
    "FirstFeatures",
    "Peeling(top=3, training=0.9)",
    "Peeling(training=0.9)",
    "Peeling(training=0.7)",
    "Peeling(training=0.5)",
    "Peeling(training=0.3)",
)
WORDS = tuple(f"word{place}" for place in range(200))

selectorChoice = jostle.quickly(  # noqa: N816 - the name in select.jst
    jostle.MkChoiceMaker(among=SELECTORS, trained_on=tableCorpus, label="selectorChoice")
)


def select_features(db: jostle.Probe, epsilon: Fraction) -> SelectedFeatures:
    """Features that say the label best, and a model on them, for a budget."""
    selected: SelectedFeatures = selectorChoice(db, epsilon=epsilon)
    return selected


def select_train_evaluate(db: jostle.Probe, epsilon: Fraction) -> RocCurve:
    """How well a model on selected features orders rows that it was not trained on; no row is in both parts."""
    learn, test = (part for part in db.parts("part"))
    return jostle.private_roc_auc(test, select_features(learn, epsilon), epsilon=epsilon)


def made_up(rows: int, seed: int) -> jostle.Table:
    """Return texts that do not exist, of which ten words say whether they are spam; two thirds are to learn from."""
    chance = np.random.default_rng(seed)
    spam = chance.random(rows) < 0.3
    chances = np.full((rows, len(WORDS)), 0.04)
    chances[:, :10] = np.where(spam[:, None], 0.3, 0.03)
    texts = [" ".join(np.array(WORDS)[has]) for has in chance.random((rows, len(WORDS))) < chances]
    part = np.where(chance.random(rows) < 2 / 3, "learn", "test")
    frame = pa.table({"text": texts, "part": part, "label": np.where(spam, "spam", "ham")})
    schema = jostle.Schema(
        {"part": jostle.Categorical(["learn", "test"]), "label": jostle.Categorical(["ham", "spam"])},
        label="label",
        features=jostle.SparseFeatures("text", words=WORDS),
    )
    return jostle.Table.from_frame(frame, schema)


def main() -> None:
    """Select and train on some rows, and test on others."""
    db = jostle.rehearse(made_up(8000, seed=1), epsilon=1, seed=1)
    print(select_train_evaluate(db, Fraction(1)))
    print("NOT PRIVATE, a rehearsal")


if __name__ == "__main__":
    main()
