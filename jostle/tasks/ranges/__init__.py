"""Range queries on grids: what is asked, what comes back, and how it is judged and learned from."""

from jostle.tasks.ranges.estimate import Estimate, SparseEstimate, Workload
from jostle.tasks.ranges.task import RANGES

__all__ = ["RANGES", "Estimate", "SparseEstimate", "Workload"]
