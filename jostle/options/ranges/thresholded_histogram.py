"""ThresholdedHistogram: the noisy counts that pass a threshold, without ever visiting the empty cells.

Vinterbo, Differentially private projected histograms, ECML PKDD 2012; Cormode, Procopiuc, Srivastava, Tran,
Differentially private summaries for sparse data, ICDT 2012, for drawing which empty cells pass.
"""

from __future__ import annotations

import math
from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, counts_cost, grid_shape
from jostle.options.ranges.looks import total_of
from jostle.parameters import positive, share
from jostle.privacy.events import Event
from jostle.privacy.probe import Probe
from jostle.tables.kernels import LARGEST_KEY, SparseCounts
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import SparseEstimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["ThresholdedHistogram", "threshold"]


def threshold(records: int, cells: int, rate: float, factor: float) -> int:
    """The noisy count below which a cell is left out, for noise with P(x) falling by exp(-rate) per step.

    Counts are whole numbers, so those above a real threshold are those above its whole part. The paper's is factor *
    log(records) / rate. Of so many empty cells as 2**60, far more than there are records would pass that; so it is at
    least log(cells / records) / rate, with which about half as many pass as there are records.

    >>> threshold(1000, 2**60, 1.0, 0.5)
    34
    """
    known = max(records, 1)
    return max(0, math.floor(max(factor * math.log(known), math.log(max(cells / known, 1.0))) / rate))


@option
@frozen
class ThresholdedHistogram(GridOption):
    """Keeps noisy counts above a threshold, in time and memory for the rows alone: for domains of up to 2**63 cells.

    Privacy: the total by `AddNoise`, then `AddNoiseAbove`, whose answer is a function of noise on every cell.
    """

    total_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of records, unless it is public."""
    factor: float = positive(0.5)
    """The threshold, in log(records) times the noise's scale."""
    paper = "Vinterbo 2012"

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run: only more cells than there are keys."""
        cells = math.prod(grid_shape(schema))
        return f"{cells:.3g} cells have no numbers of 63 bits" if cells >= LARGEST_KEY else None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The total, then the counts."""
        return counts_cost(schema, epsilon, self.total_share)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> SparseEstimate:  # noqa: ARG002 - any
        """The cells that passed."""
        schema = db.schema
        shape = grid_shape(schema)
        total = total_of(db, epsilon * self.total_share)
        left = epsilon - total.cost
        rate = float(left if schema.neighbours == "add_remove" else left / 2)
        least = threshold(total.records, math.prod(shape), rate, float(self.factor))
        answer = db.measure_sparse(SparseCounts(schema.names), left, threshold=least, site="cells above")
        return SparseEstimate(shape, answer.keys, answer.values)
