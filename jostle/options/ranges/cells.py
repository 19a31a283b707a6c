"""Grid Options without a structure: noise on every cell, on those that pass a threshold, or on the total alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen

from jostle.options.base import option, preset
from jostle.options.ranges.base import GridOption, cell_kernel, counts_cost, total_cost, total_of
from jostle.parameters import positive, share
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.evidence import noise_variance
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.probe import Probe
from jostle.tables.kernels import LARGEST_KEY, SparseCounts
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate, Workload
from jostle.tasks.ranges.task import grid_shape


def noisy_cells(db: Probe, epsilon: Fraction, *, site: str) -> Estimate:
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
    """Adds noise to every cell: right where counts are large beside the noise, and the yardstick everywhere else.

    Dwork, McSherry, Nissim, Smith, TCC 2006.
    """

    paper = "Dwork, McSherry, Nissim, Smith 2006"
    site: ClassVar[str] = "cells"
    """What the question is called in traces."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        return noisy_cells(db, epsilon, site=self.site)


PerturbedHistogram = preset(
    Identity,
    "PerturbedHistogram",
    """Adds noise to every cell; the estimate's `records` are a data set.

    Vinterbo, Differentially private projected histograms, ECML PKDD 2012. The paper's neighbours have one record
    replaced, which takes noise of scale 2/epsilon; under add_remove 1/epsilon is enough. `Estimate.records` makes the
    data set.
    """,
    paper="Vinterbo 2012",
    site="histogram",
)


@option
@frozen
class Uniform(GridOption):
    """Buys the number of records and spreads them evenly: best where there are next to none; never gets better.

    Privacy: `AddNoise` on one count; where the schema declares the number of rows, nothing is asked at all. A number
    that was bought before is averaged with it: there is nothing else to spend the budget on.
    """

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return in_turn(total_cost(schema, epsilon))

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        shape = grid_shape(db.schema)
        total = total_of(db, epsilon, always=True)
        return Estimate(np.full(shape, total.records / math.prod(shape)))


def threshold(records: int, cells: int, rate: float, factor: float) -> int:
    """The noisy count below which a cell is left out, for noise with P(x) falling by exp(-rate) per step.

    Counts are whole numbers, so those above a real threshold are those above its whole part. The paper's is factor *
    log(records) / rate. Of so many empty cells as 2**60, far more than there are records would pass that; so it is at
    least log(cells / records) / rate, with which about half as many pass as there are records.

    >>> threshold(1000, 2**60, 1.0, 0.5)
    34
    """
    least = max(records, 1)
    return max(0, math.floor(max(factor * math.log(least), math.log(max(cells / least, 1.0))) / rate))


@option
@frozen
class ThresholdedHistogram(GridOption):
    """Keeps noisy counts above a threshold, in time and memory for the rows alone: for domains of up to 2**63 cells.

    Privacy: the total by `AddNoise`, then `AddNoiseAbove`, whose answer is a function of noise on every cell.

    Vinterbo, Differentially private projected histograms, ECML PKDD 2012; Cormode, Procopiuc, Srivastava, Tran,
    Differentially private summaries for sparse data, ICDT 2012, for drawing which empty cells pass.
    """

    total_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of records, unless it is public."""
    factor: float = positive(0.5)
    """The threshold, in log(records) times the noise's scale."""
    paper = "Vinterbo 2012"

    def refuses(self, schema: Schema) -> str | None:
        cells = math.prod(grid_shape(schema))
        return f"{cells:.3g} cells have no numbers of 63 bits" if cells >= LARGEST_KEY else None

    @property
    def holds(self) -> str:
        return "the cells that rows are in"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return counts_cost(schema, epsilon, self.total_share)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> SparseEstimate:
        schema = db.schema
        shape = grid_shape(schema)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        rate = float(left if schema.neighbours == "add_remove" else left / 2)
        least = threshold(total.records, math.prod(shape), rate, float(self.factor))
        answer = db.measure_sparse(SparseCounts(schema.names), left, threshold=least, site="cells above")
        return SparseEstimate(shape, answer.keys, answer.values)
