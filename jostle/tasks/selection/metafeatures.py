"""Metafeatures of tables with a label and features: what may decide between selectors."""

from __future__ import annotations

import math

from jostle.tables.feature_sums import feature_count
from jostle.tasks.classification.metafeatures import PUBLIC as OF_TABLES
from jostle.tasks.metafeature import View, metafeature

__all__ = ["PUBLIC"]


@metafeature(low="there are few features", high="there are many features")
def log_features(db: View) -> float:
    """The logarithm of the number of features, those of texts among them."""
    return math.log10(max(1, feature_count(db.schema)))


PUBLIC = (*OF_TABLES, log_features)
"""Free."""
