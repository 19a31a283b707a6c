"""Feature refinements: how records that some features do not tell apart are told apart by one feature more.

The tally behind k-discernibility over features, which may be many thousands: a record is in a cell for each feature it
has, so it takes time in proportion to the ones, whatever the number of features. (`Refinements` does it for columns.)
"""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.feature_sums import MOST_ONES, feature_count, most_ones, ones_of
from jostle.tables.fields import ANY_WHOLE, Within, whole, wholes
from jostle.tables.kernels import SparseKernel, SparseTally, checked_keys
from jostle.tables.schema import Schema

__all__ = ["FeatureRefinements"]


@frozen
class FeatureRefinements(SparseKernel):
    """For each feature, the records with it by the features chosen before and the label; last, all records so.

    A record with more than *most* features counts for so many of them, as in `FeatureSums`; for the chosen ones too.
    """

    base: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """The features chosen before, by number."""
    most: int = field(converter=whole, validator=Within(1, MOST_ONES))

    def cells(self, schema: Schema) -> int:
        """Number of cells; refuse features that are none, and a table without a label."""
        count = feature_count(schema)
        if schema.label is None:
            raise TableError("the schema names no label", fix='Schema(columns, label="...")')
        if any(not 0 <= place < count for place in self.base) or len(set(self.base)) < len(self.base):
            raise TableError(f"the features chosen before are not different numbers from 0 to {count - 1}")
        return checked_keys((count + 1) * self.size(schema), len(self.base) + 2)

    def size(self, schema: Schema) -> int:
        """How many cells a feature has: of what was chosen before, and the label."""
        return int(2 ** len(self.base) * len(schema.classes))

    def bound(self, schema: Schema) -> int:
        """One cell for each feature a record has, and one for the record."""
        return 1 + min(self.most, most_ones(schema))

    def replaced(self, schema: Schema) -> int:
        """Twice that: each cell that a record leaves may be another than those it enters."""
        return 2 * self.bound(schema)

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        """The block's occupied cells."""
        classes, size = len(schema.classes), self.size(schema)
        labels = block.columns[schema.label or ""].astype(np.int64)
        cells = labels.copy()  # of what was chosen before, and the label
        ones = list(ones_of(block, schema, self.most))
        for bit, chosen in enumerate(self.base):
            for rows, places in ones:
                cells[rows[places == chosen]] += classes << bit
        keys = [places * size + cells[rows] for rows, places in ones]
        where = [rows for rows, _ in ones]
        keys.append(feature_count(schema) * size + cells)
        where.append(np.arange(block.length))
        if block.multiplicity is None:
            return SparseTally(*np.unique(np.concatenate(keys), return_counts=True))
        times = block.multiplicity[np.concatenate(where)]
        there = times > 0
        return SparseTally.empty().merged(SparseTally(np.concatenate(keys)[there], times[there]))
