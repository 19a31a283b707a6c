"""Range queries on grids: what is asked, what comes back, and how it is judged and learned from."""

from jostle.tasks.ranges.estimate import Estimate, SparseEstimate
from jostle.tasks.ranges.task import RANGES
from jostle.tasks.ranges.workload import Workload

__all__ = ["RANGES", "Estimate", "SparseEstimate", "Workload"]
