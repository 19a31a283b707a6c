"""Uniform: a noisy total, spread evenly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, grid_shape, total_cost
from jostle.options.ranges.looks import total_of
from jostle.privacy.events import Event, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["Uniform"]


@option
@frozen
class Uniform(GridOption):
    """Buys the number of records and spreads them evenly: best where there are next to none; never gets better.

    Privacy: `AddNoise` on one count; where the schema declares the number of rows, nothing is asked at all. A number
    that was bought before is averaged with it: there is nothing else to spend the budget on.
    """

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The cost of the total."""
        return in_turn(total_cost(schema, epsilon))

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The even grid."""
        shape = grid_shape(db.schema)
        total = total_of(db, epsilon, always=True)
        return Estimate(np.full(shape, total.records / math.prod(shape)))
