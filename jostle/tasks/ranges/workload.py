"""Workloads: many range queries on a grid."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from jostle.errors import OptionError
from jostle.tasks.ranges.boxes import Boxes
from jostle.tasks.ranges.estimate import Estimate

__all__ = ["Workload"]


@frozen(eq=False, repr=False)
class Workload(Boxes):
    """Boxes whose counts are wanted.

    >>> Workload.prefixes(4).answers(np.array([1, 2, 3, 4]))
    array([ 1.,  3.,  6., 10.])
    """

    def over(self, cells: ArrayLike) -> Estimate:
        """An estimate that answers it: of cells in row-major order, or of one number that stands for each.

        >>> Workload.prefixes(4).over([2]).answers(Workload.prefixes(4))
        array([2., 4., 6., 8.])
        """
        numbers, count = np.asarray(cells, dtype=np.float64).ravel(), int(np.prod(self.shape, dtype=object))
        if len(numbers) not in {1, count}:
            raise OptionError(
                f"{len(numbers)} numbers for {count} cells", fix="each cell has one, or all have the same"
            )
        return Estimate(np.full(self.shape, numbers[0]) if len(numbers) == 1 else numbers.reshape(self.shape))
