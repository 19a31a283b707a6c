"""The list of all mechanisms: the ways in which anything computed from rows may leave."""

from __future__ import annotations

from jostle.errors import ProbeError
from jostle.privacy.descent import Descent
from jostle.privacy.fields import TYPES
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseToSpread, Pick, PickPartition
from jostle.privacy.picks import FindAbove, FindNthLargest, PickEach, PickLargest, PickSeveral
from jostle.privacy.release import AddNoiseTo
from jostle.tables.closed import Closed

__all__ = ["MECHANISMS"]

MECHANISMS = Closed(
    "mechanism",
    (
        AddNoise,
        AddNoiseAbove,
        AddNoiseByLevel,
        AddNoiseTo,
        AddNoiseToSpread,
        Descent,
        FindAbove,
        FindNthLargest,
        Pick,
        PickEach,
        PickLargest,
        PickPartition,
        PickSeveral,
    ),
    why="a mechanism sees un-noised tallies, so only those proved beforehand may be used",
    error=ProbeError,
    types=TYPES,
)
