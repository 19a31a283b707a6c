"""Peeling: the best feature by a private pick, then the best of the others, and so on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.selection.base import ROWS_SHARE, ScoredSelector, best, noisy_counts
from jostle.parameters import choice
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.feature_scores import ScoreName
from jostle.privacy.feature_tests import PickSeveral
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["Peeling"]

CHECK_SHARE = Fraction(1, 2)
"""Of the budget, for noisy scores of what was picked, where there is a threshold."""


@option
@frozen(kw_only=True)
class Peeling(ScoredSelector):
    """Selects the features of the best scores, one after the other.

    Privacy: *top* picks by permute-and-flip, each with an equal part of epsilon. Noise is that of one score.
    With a threshold, half the budget buys counts of the features that were picked, and those below it are dropped.
    """

    paper = "McKenna, Sheldon, NeurIPS 2020; Dwork, Su, Zhang 2021"

    score: ScoreName = choice("DC", ScoreName)  # which a record moves by 1, where it moves IG by a dozen bits

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The number of records, if need be, the picks, and counts where there is a threshold."""
        places, bought = self.places(schema), self.rows_cost(schema, epsilon)
        left = epsilon - (ROWS_SHARE * epsilon if bought else 0)
        picking = left * (1 - CHECK_SHARE) if self.threshold else left
        picks = Repeated(PermuteAndFlip(picking / places), places)
        return in_turn([*bought, picks, *([Laplace(left - picking)] if self.threshold else [])])

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features picked, in this order."""
        score, left = self.feature_score(db, epsilon)
        picking = left * (1 - CHECK_SHARE) if self.threshold else left
        picked: NDArray[np.int64] = db.perform(PickSeveral(score, self.places(db.schema)), picking, site="picks")
        if not self.threshold:
            return picked
        scores, _ = noisy_counts(db, self.score, self.most, left - picking, tuple(picked.tolist()))
        return np.asarray(picked[best(scores, len(picked), self.threshold * score.units)])
