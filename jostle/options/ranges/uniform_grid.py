"""UniformGrid: a grid coarse enough that noise and uneven cells do about equal harm.

Qardaji, Yang, Li, Differentially private grids for geospatial data, ICDE 2013.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import (
    GridOption,
    count_tree,
    counts_cost,
    grid_shape,
)
from jostle.options.ranges.looks import known_levels, total_of
from jostle.options.ranges.tree import tree_of_cuts
from jostle.parameters import positive, share
from jostle.privacy.events import Event
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["UniformGrid", "even_cuts", "root_of"]


def even_cuts(side: int, parts: int) -> NDArray[np.int64]:
    """Where intervals begin that cut a side into so many nearly equal parts, or into cells if there are fewer.

    >>> even_cuts(10, 3).tolist()
    [0, 3, 6]
    """
    parts = max(1, min(side, parts))
    return np.arange(parts, dtype=np.int64) * side // parts


def root_of(cells: float, axes: int) -> float:
    """How many parts per axis make so many cells."""
    return float(max(cells, 0.0) ** (1 / axes))


@option
@frozen
class UniformGrid(GridOption):
    """Counts an even grid of m parts per axis, m**d = N * epsilon / c, and spreads each count over its cells.

    Privacy: the total by `AddNoise`, then `AddNoiseByLevel` over one partition, which the released total decides. A
    total that was known before is not bought, and is fitted to.
    """

    total_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of records, unless it is public."""
    c: float = positive(10.0)
    """Records times epsilon per part."""
    paper = "Qardaji, Yang, Li 2013"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The total, then the counts."""
        return counts_cost(schema, epsilon, self.total_share)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The parts' counts, spread evenly."""
        shape = grid_shape(db.schema)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        parts = math.ceil(root_of(total.records * float(left) / float(self.c), len(shape)))
        levels: Sequence[Sequence[NDArray[np.int64]]] = [
            [even_cuts(side, 1) for side in shape],
            [even_cuts(side, parts) for side in shape],
        ]
        tree = tree_of_cuts(shape, levels)
        counted = count_tree(db, tree, [Fraction(0), Fraction(1)], left, site="grid")
        return counted.and_known(known_levels(db, tree)).estimate(negative=True)
