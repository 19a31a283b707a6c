"""Tables: the only part of Jostle that sees rows."""

from jostle.tables import infer  # noqa: F401 - gives `Schema` its `infer_public`
from jostle.tables.columns import Categorical, Chances, Column, Dates, Identifier, Numeric
from jostle.tables.features import SparseFeatures
from jostle.tables.kernels import Counts, Kernel, Marks, SparseCounts, Sums
from jostle.tables.schema import Neighbours, Schema
from jostle.tables.table import Table

__all__ = [
    "Categorical",
    "Chances",
    "Column",
    "Counts",
    "Dates",
    "Identifier",
    "Kernel",
    "Marks",
    "Neighbours",
    "Numeric",
    "Schema",
    "SparseCounts",
    "SparseFeatures",
    "Sums",
    "Table",
]
