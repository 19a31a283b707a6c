"""Selection by k-discernibility: features that together tell records of different labels apart.

Vinterbo. Differentially private projected histograms. ECML PKDD 2012: the feature that adds most to the number of pairs
of records of different labels that are told apart, by a private pick, then the one that adds most to that, and so on.
Unlike a score of each feature by itself, this does not pick two features that say the same.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.selection.base import AskingSelector
from jostle.privacy.events import Event, PermuteAndFlip, Repeated
from jostle.privacy.feature_discernibility import FeatureDiscernibility
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["PrivateKD"]

MOST_PLACES = 20
"""Features that are chosen at most: records fall into 2**20 cells then, and beyond that each is in one of its own."""


@option
@frozen(kw_only=True)
class PrivateKD(AskingSelector):
    """Selects the features that best tell apart rows of different classes, one after the other.

    Privacy: *top* picks, each with an equal part of epsilon.
    """

    paper = "Vinterbo, ECML PKDD 2012"

    def places(self, schema: Schema) -> int:
        """Number of features that are chosen."""
        return min(super().places(schema), MOST_PLACES)

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The picks."""
        places = self.places(schema)
        return Repeated(PermuteAndFlip(epsilon / places), places)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features picked, in this order."""
        places = self.places(db.schema)
        chosen: list[int] = []
        for _ in range(places):
            score = FeatureDiscernibility(tuple(chosen), self.most)
            picked = db.pick(score, epsilon / places, site="pick")
            chosen.append(int(score.candidates(db.schema)[picked]))
        return np.array(chosen, dtype=np.int64)
