"""The list of all kernels: what may run on rows."""

from __future__ import annotations

from jostle.tables.agreements import Agreements
from jostle.tables.closed import Closed
from jostle.tables.feature_refinements import FeatureRefinements
from jostle.tables.feature_sums import FeatureSums
from jostle.tables.hits import Hits
from jostle.tables.kernels import Counts, DenseKernel, Marks, SparseCounts, Sums
from jostle.tables.margins import MarginLevels, Margins
from jostle.tables.number_kernels import Moments, NumberSum, Ranks
from jostle.tables.pools import GridCounts
from jostle.tables.products import Products
from jostle.tables.refinements import Refinements
from jostle.tables.regions import Box, Haar, LevelKernel, Regions
from jostle.tables.routes import LeafCounts, SplitCounts
from jostle.tables.stacks import Stack

__all__ = ["DENSE_KERNELS", "KERNELS", "LEVEL_KERNELS"]

KERNELS = Closed(
    "kernel",
    (
        Agreements,
        Box,
        Counts,
        FeatureRefinements,
        FeatureSums,
        GridCounts,
        Haar,
        Hits,
        LeafCounts,
        MarginLevels,
        Margins,
        Marks,
        Moments,
        NumberSum,
        Products,
        Ranks,
        Refinements,
        Regions,
        SparseCounts,
        SplitCounts,
        Stack,
        Sums,
    ),
    why="only code inside jostle.tables runs on rows",
)
DENSE_KERNELS = KERNELS.made_from(DenseKernel)
LEVEL_KERNELS = KERNELS.made_from(LevelKernel)
