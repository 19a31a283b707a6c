"""Estimates of grids that a program makes: cells, for a workload of queries to be answered from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle.lang.arithmetic import is_number, kind_of
from jostle.lang.stops import Stop
from jostle.tasks.ranges.estimate import Estimate, Workload

__all__ = ["estimate_of"]


def estimate_of(queries: Any, cells: Sequence[Any]) -> Estimate:
    """An estimate for a workload, of cells in row-major order; a single number stands for each cell."""
    if not isinstance(queries, Workload):
        raise Stop("J501", f"the queries are {kind_of(queries)}", "they are a workload", "def Flat(db, queries):")
    numbers = [cell for cell in cells if is_number(cell)]
    if len(numbers) < len(cells) or not numbers:
        raise Stop("J501", "an estimate is not made of numbers", "each cell has one", "queries over [total / size]")
    count = int(np.prod(queries.shape))
    if len(numbers) not in {1, count}:
        raise Stop(
            "J508",
            f"{len(numbers)} numbers for {count} cells",
            "each cell has one, or all have the same",
            "queries over [x]",
        )
    values = np.array([float(number) for number in numbers])
    return Estimate(np.full(queries.shape, values[0]) if len(values) == 1 else values.reshape(queries.shape))
