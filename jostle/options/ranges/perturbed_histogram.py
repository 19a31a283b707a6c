"""PerturbedHistogram: noise on every cell, as the histogram that a data set is then made from.

Vinterbo, Differentially private projected histograms, ECML PKDD 2012. The paper's neighbours have one record
replaced, which takes noise of scale 2/epsilon; under add_remove 1/epsilon is enough. `Estimate.records` makes the
data set.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption
from jostle.options.ranges.identity import noisy_cells
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["PerturbedHistogram"]


@option
@frozen
class PerturbedHistogram(GridOption):
    """Adds noise to every cell; the estimate's `records` are a data set."""

    paper = "Vinterbo 2012"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise."""
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The noisy cells."""
        return noisy_cells(db, epsilon, site="histogram")
