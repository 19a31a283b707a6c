"""The lists of all scores: what may be picked by."""

from __future__ import annotations

from jostle.errors import ProbeError
from jostle.privacy.dependence import Dependence
from jostle.privacy.discernibility import Discernibility
from jostle.privacy.feature_discernibility import FeatureDiscernibility
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.fields import TYPES
from jostle.privacy.grid_quality import GridQuality
from jostle.privacy.halves import Halves
from jostle.privacy.majorities_below import MajoritiesBelow
from jostle.privacy.misfit import Misfit
from jostle.privacy.mixed_splits import MixedSplitScore
from jostle.privacy.quantile_score import QuantileScore
from jostle.privacy.scores import Fullest
from jostle.privacy.set_discernibility import SetDiscernibility
from jostle.privacy.split_scores import LeafMajority, SplitScore
from jostle.tables.closed import Closed

__all__ = ["GROUP_SCORES", "SCORES"]

WHY = "a score sees un-noised tallies, so only those proved beforehand may be used"

SCORES = Closed(
    "score",
    (
        Dependence,
        Discernibility,
        FeatureDiscernibility,
        FeatureScore,
        Fullest,
        GridQuality,
        MajoritiesBelow,
        Misfit,
        QuantileScore,
        SetDiscernibility,
    ),
    why=WHY,
    error=ProbeError,
    types=TYPES,
)
"""Scores of which one candidate is picked."""
GROUP_SCORES = Closed(
    "score for groups", (Halves, LeafMajority, MixedSplitScore, SplitScore), why=WHY, error=ProbeError, types=TYPES
)
"""Scores of which one candidate is picked in each of many groups."""
