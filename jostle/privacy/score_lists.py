"""The lists of all scores: what may be picked by."""

from __future__ import annotations

from jostle.errors import ProbeError
from jostle.privacy.column_scores import (
    Dependence,
    Discernibility,
    FeatureDiscernibility,
    GridQuality,
    SetDiscernibility,
)
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.fields import TYPES
from jostle.privacy.scores import Fullest, Misfit, MostHits, QuantileScore
from jostle.privacy.split_scores import Halves, LeafMajority, MajoritiesBelow, MixedSplitScore, SplitScore
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
        MostHits,
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
