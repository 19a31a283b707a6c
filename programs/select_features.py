"""Select features as select.jst does, then train a classifier on them and test it, in Python.

Run: python programs/select_features.py
It does all three on public rows made up for it, each with its share of one budget.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

import jostle
from jostle.options import get
from jostle.tasks import SELECTION
from jostle.tasks.selection import SelectedFeatures

SELECTORS = ("Peeling", "ScorePerturbation", "ClusterSelection", "SparseVector", "PrivateKD")
SHARES = ("1/2", "1/4", "3/4")
WORDS = tuple(f"word{place}" for place in range(200))


def select_features(db: jostle.Probe, epsilon: Fraction) -> SelectedFeatures:
    """Return the features that say the label best, for a budget."""
    seen = {"epsilon": epsilon, "len(db.attributes)": len(db.schema.attributes)}
    selector = jostle.choose("Selector", among=SELECTORS, informed_by=seen)
    return get(selector, task=SELECTION)(db, epsilon=epsilon)


def made_up(rows: int, seed: int) -> tuple[jostle.Table, pa.Table]:
    """Return texts that do not exist, of which ten words say whether they are spam, and the same as a frame."""
    chance = np.random.default_rng(seed)
    spam = chance.random(rows) < 0.3
    chances = np.full((rows, len(WORDS)), 0.04)
    chances[:, :10] = np.where(spam[:, None], 0.3, 0.03)
    texts = [" ".join(np.array(WORDS)[has]) for has in chance.random((rows, len(WORDS))) < chances]
    frame = pa.table({"text": texts, "label": np.where(spam, "spam", "ham")})
    schema = jostle.Schema(
        {"label": jostle.Categorical(["ham", "spam"])},
        label="label",
        features=jostle.SparseFeatures("text", words=WORDS),
    )
    return jostle.Table.from_frame(frame, schema), frame


def main() -> None:
    """Select and train on some rows, and test on others."""
    learned, _ = made_up(6000, seed=1)
    tested, frame = made_up(2000, seed=2)
    budget = Fraction(1)
    share = Fraction(jostle.choose("Share", among=SHARES, informed_by={"epsilon": budget}))
    db = jostle.rehearse(learned, epsilon=budget, seed=1)
    selected = select_features(db, share * budget)
    model = get("NaiveBayes")(db.only(*selected.columns), epsilon=(1 - share) * budget)
    print(selected)
    test = jostle.rehearse(tested, epsilon=1, seed=2).only(*selected.columns)
    print(jostle.private_roc_auc(test, model, epsilon=1))
    print(f"NOT PRIVATE, a rehearsal: right about {model.score(selected.of(frame)):.1%} of the rows it was tested on")


if __name__ == "__main__":
    main()
