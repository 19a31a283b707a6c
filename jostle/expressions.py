"""Private expressions: numbers about rows that are described, not computed, until a probe releases them with noise.

How far one row can change them is inferred: `db.release(occupied(cells("x", "y")), epsilon="0.1")`.
"""

from jostle.privacy.expressions import (
    along,
    cells,
    deviation,
    far_from_flat,
    largest,
    mean_of_cells,
    occupied,
    one_rule,
    persons,
    rows,
    smallest,
    sums,
    total,
)
from jostle.privacy.nodes import Expression

__all__ = [
    "Expression",
    "along",
    "cells",
    "deviation",
    "far_from_flat",
    "largest",
    "mean_of_cells",
    "occupied",
    "one_rule",
    "persons",
    "rows",
    "smallest",
    "sums",
    "total",
]
