"""Metafeatures of tables with a label and features: what may decide between selectors.

Only what means the same of columns as of words: a table of texts has no attributes, and thousands of features.
"""

from __future__ import annotations

import math

from jostle.tables.feature_sums import feature_count
from jostle.tasks.classification.metafeatures import (
    label_entropy,
    log_classes,
    log_epsilon,
    log_rows,
    log_rows_epsilon,
    majority_share,
)
from jostle.tasks.metafeature import View, metafeature

__all__ = ["BOUGHT", "PUBLIC"]


@metafeature(low="there are few features", high="there are many features")
def log_features(db: View) -> float:
    """The logarithm of the number of features, those of texts among them."""
    return math.log10(max(1, feature_count(db.schema)))


PUBLIC = (log_epsilon, log_classes, log_features)
"""Free."""
BOUGHT = (log_rows, log_rows_epsilon, majority_share, label_entropy)
"""Bought: the classes' counts."""
