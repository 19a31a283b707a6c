"""The list of all kernels: what may run on rows."""

from __future__ import annotations

from jostle.tables.closed import Closed
from jostle.tables.feature_kernels import FeatureRefinements, FeatureSums
from jostle.tables.kernels import Counts, DenseKernel, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Products, Ranks
from jostle.tables.persons import PersonBands, PersonCount
from jostle.tables.pools import GridCounts, Refinements, Stack
from jostle.tables.regions import Box, Haar, LevelKernel, Regions
from jostle.tables.routes import LeafCounts, SplitCounts
from jostle.tables.rules import Agreements, Hits, ManyHits, MarginLevels, Margins
from jostle.tables.slopes import Slopes

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
        ManyHits,
        MarginLevels,
        Margins,
        Marks,
        Moments,
        NumberSum,
        PersonBands,
        PersonCount,
        Products,
        Ranks,
        Refinements,
        Regions,
        Slopes,
        SparseCounts,
        SplitCounts,
        Stack,
        Sums,
    ),
    why="only code inside jostle.tables runs on rows",
)
DENSE_KERNELS = KERNELS.made_from(DenseKernel)
LEVEL_KERNELS = KERNELS.made_from(LevelKernel)
