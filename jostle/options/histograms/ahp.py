"""AHP: look at noisy counts, gather cells that seem to have equal ones, count the gatherings.

Zhang, Chen, Xu, Meng, Xie, Towards accurate histogram publication under differential privacy, SDM 2014.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option, share
from jostle.options.histograms.estimate import Estimate
from jostle.options.histograms.grid import (
    GridOption,
    cell_kernel,
    count_tree,
    grid_shape,
    noise_variance,
    positive,
)
from jostle.options.histograms.tree import Tree
from jostle.options.histograms.workload import Workload
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["AHP", "gather"]


def gather(falling: NDArray[np.float64], price: float) -> NDArray[np.int64]:
    """Return where clusters begin in counts sorted in falling order, each cluster joined while that is cheaper.

    Joining a count to the cluster before it adds to the squared distances from the cluster's mean; not joining it costs
    *price*, the noise of one more cluster.
    """
    starts = [0]
    size, mean = 1, float(falling[0])
    for place, count in enumerate(falling[1:].tolist(), start=1):
        grown = (count - mean) ** 2 * size / (size + 1)
        if grown <= price:
            size += 1
            mean += (count - mean) / size
        else:
            starts.append(place)
            size, mean = 1, count
    return np.array(starts, dtype=np.int64)


@option
@frozen
class AHP(GridOption):
    """Clusters cells by their noisy counts, wherever they lie, and spreads each cluster's count over its cells.

    Privacy: noisy cells by `AddNoise` with a share of epsilon; they are released, and the clusters are made of them.
    Then the clusters' counts by `AddNoiseByLevel` over one partition, with the rest.
    """

    cells_share: Fraction = share("2/3")
    """Part of epsilon that buys the noisy cells the clusters are made of."""
    threshold: float = positive(0.5)
    """Noisy counts below this times log(cells), in scales of their noise, are taken for 0."""
    price: float = positive(0.1)
    """What one more cluster costs, in variances of its noise."""
    paper = "Zhang, Chen, Xu, Meng, Xie 2014"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """Return the noisy cells, then the clusters."""
        first = epsilon * self.cells_share
        return in_turn([Laplace(first), Laplace(epsilon - first)])

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """Return the clusters' counts, spread evenly."""
        schema = db.schema
        shape = grid_shape(schema)
        first = epsilon * self.cells_share
        kernel = cell_kernel(schema)
        noisy = db.measure(kernel, first, site="cells").astype(np.float64)
        scale = float(sensitivity(kernel, schema) / first)
        kept = np.where(noisy > float(self.threshold) * scale * math.log(len(noisy) + 1), noisy, 0)
        order = np.argsort(-kept, kind="stable").astype(np.int64)
        # The noise of a cell's own count is in what the cells show; that much spread says nothing.
        known = 1 if schema.neighbours == "add_remove" else 2
        price = float(self.price) * noise_variance(known / (epsilon - first)) + noise_variance(known / first)
        starts = gather(kept[order], price)
        tree = Tree(shape, order, (np.zeros(1, dtype=np.int64), starts))
        counted = count_tree(db, tree, [Fraction(0), Fraction(1)], epsilon - first, site="clusters")
        return counted.estimate()
