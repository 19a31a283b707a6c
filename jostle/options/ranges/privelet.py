"""Privelet: noise on the Haar wavelet coefficients of the grid.

Xiao, Wang, Gehrke, Differential privacy via wavelet transforms, ICDE 2010. The paper's weights amount to equal shares
of the budget for all levels; here the workload decides, where there is one.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, grid_shape, noise_variance
from jostle.options.ranges.shares import exact_shares
from jostle.options.ranges.wavelet import haar_variances, inverse_haar, join_levels, level_loads
from jostle.privacy.events import Event, Laplace
from jostle.privacy.levels import AddNoiseByLevel, level_scales
from jostle.privacy.probe import Probe
from jostle.tables.regions import Haar
from jostle.tables.schema import Schema
from jostle.tasks.ranges.boxes import Boxes
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["Privelet", "noisy_wavelet"]

LEAST_LOAD = 1e-9
"""Of the largest load of a level."""


def noisy_wavelet(db: Probe, workload: Workload | None, epsilon: Fraction, *, site: str = "wavelet") -> Estimate:
    """The estimate of all columns' grid made of noisy Haar coefficients.

    Privacy: `AddNoiseByLevel` over the wavelet's levels. A record changes one coefficient of each by one. Without a
    workload all levels have equal shares; with one, shares as the cube roots of what the levels' noise adds to its
    variance.
    """
    schema = db.schema
    shape = grid_shape(schema)
    kernel = Haar(schema.names)
    sizes = kernel.sizes(schema)
    loads = np.ones(len(sizes)) if workload is None else np.cbrt(level_loads(workload))
    # A level that the workload does not need is told all the same, as the cells are made of all.
    shares = exact_shares(np.maximum(loads, loads.max() * LEAST_LOAD))
    levels = db.perform(AddNoiseByLevel(kernel, shares), epsilon, site=site)
    cells = join_levels(levels, shape)
    for axis in range(cells.ndim):
        cells = inverse_haar(cells, axis)

    def variances(wanted: Boxes) -> NDArray[np.float64]:
        noise = [noise_variance(scale) for scale in level_scales(kernel, shares, schema, epsilon)]
        return haar_variances(wanted, noise)

    inside = tuple(map(slice, shape))
    return Estimate(np.ascontiguousarray(cells[inside]), variances, linear=True)


@option
@frozen
class Privelet(GridOption):
    """Adds noise to wavelet coefficients, so that a long range needs few of them: linear, with exact error bars."""

    looks_at_workload = True

    paper = "Xiao, Wang, Gehrke 2010"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise."""
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The transform turned back."""
        return noisy_wavelet(db, workload, epsilon)
