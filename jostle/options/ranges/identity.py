"""Identity: noise on every cell.

Dwork, McSherry, Nissim, Smith, TCC 2006.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, cell_kernel, grid_shape, noise_variance
from jostle.privacy.events import Event, Laplace
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["Identity", "noisy_cells"]


def noisy_cells(db: Probe, epsilon: Fraction, *, site: str = "cells") -> Estimate:
    """Every cell's noisy count, unbiased, with independent errors.

    Privacy: `AddNoise` over the cells, which change by 1 in sum under add_remove and by 2 under replace_one.
    """
    schema = db.schema
    kernel = cell_kernel(schema)
    counts = db.measure(kernel, epsilon, site=site).reshape(grid_shape(schema))
    variance = noise_variance(sensitivity(kernel, schema) / epsilon)
    return Estimate(counts.astype(np.float64), lambda workload: variance * workload.sizes(), linear=True)


@option
@frozen
class Identity(GridOption):
    """Adds noise to every cell: right where counts are large beside the noise, and the yardstick everywhere else."""

    paper = "Dwork, McSherry, Nissim, Smith 2006"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise."""
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The noisy cells."""
        return noisy_cells(db, epsilon)
