"""Columns of chances: bins that are even in log-odds, and fine enough near both ends."""

from __future__ import annotations

from itertools import pairwise
from math import inf, log, log1p

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Categorical, Chances, Schema, Table
from jostle.tasks.evaluation.instances import area_between, true_curve


def odds(chance: float) -> float:
    return -inf if chance == 0 else inf if chance == 1 else log(chance) - log1p(-chance)


@pytest.mark.parametrize("bins", [2, 3, 10, 1024])
def test_cuts_are_even_in_log_odds_and_alike_at_both_ends(bins: int) -> None:
    cuts = Chances(bins=bins).edges
    assert (cuts[0], cuts[-1]) == (0, 1)
    inner = [odds(cut) for cut in cuts[1:-1] if cut < 0.999]
    steps = [after - before for before, after in pairwise(inner)]
    assert max(steps, default=0) - min(steps, default=0) < 1e-9 * 72
    assert cuts[-2] == pytest.approx(1 - cuts[1], abs=1e-15)
    assert len(cuts) - 1 <= bins
    assert len(cuts) - 1 > 0.9 * bins


def test_a_curve_tells_scores_apart_that_bins_of_equal_width_put_together() -> None:
    """Half of the class has chances within a thousandth of 1, in order there too."""
    random = np.random.default_rng(1)
    labels = (np.arange(4000) % 4 == 0).astype(np.int64)
    scores = 1 / (1 + np.exp(-random.normal(np.where(labels == 1, 12, 7), 3)))
    truth = true_curve(scores, labels)
    off = {}
    for name, column in {"even": jostle.Numeric(0, 1, bins=1024), "chances": Chances()}.items():
        schema = Schema({"score": column, "label": Categorical(["no", "yes"])}, label="label")
        frame = pd.DataFrame({"score": scores, "label": np.where(labels == 1, "yes", "no")})
        db = jostle.rehearse(Table.from_frame(frame, schema), seed=3)
        curve = jostle.private_roc_auc(db, "score", epsilon=4)
        off[name] = area_between((curve.false_positive_rates, curve.true_positive_rates), truth)

    assert off["chances"] < 0.01 < off["even"]
