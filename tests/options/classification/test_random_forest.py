"""RandomForest: what its leaves tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import jostle
from jostle import Categorical, Numeric, Schema, Table


def area(name: str, rows: int = 20_000) -> float:
    """Return the area under the ROC curve of a label that few rows have, more of them to the right."""
    random = np.random.default_rng(1)
    numbers = {f"x{place}": random.random(rows) for place in range(6)}
    ill = random.random(rows) < 0.3 * numbers["x0"] ** 2 * (0.5 + numbers["x1"])
    schema = Schema(
        {**{each: Numeric(0, 1) for each in numbers}, "ill": Categorical(["no", "yes"])},
        label="ill",
    )
    frame = pd.DataFrame({**numbers, "ill": np.where(ill, "yes", "no")})
    model = jostle.options.get(name)(jostle.rehearse(Table.from_frame(frame, schema), seed=2), epsilon=1)
    return float(roc_auc_score(ill, model.predict_proba(frame)[:, 1]))


def test_a_class_that_is_rare_in_every_leaf_is_told_apart() -> None:
    """Picked labels are all the same there, and so are all votes."""
    assert area("RandomForest(leaves=labels)") == pytest.approx(0.5, abs=0.05)
    assert area("RandomForest") > 0.65
