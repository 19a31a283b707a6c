"""Instances of grids: records drawn from a public shape, as DPBench does (Hay and others, SIGMOD 2016), and ranges.

A grid and a spec always give the same one, in every process. The data are public, so this draws from numpy's seeded
generators; nothing here makes noise, and nothing that makes noise is here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicGrid
from jostle.corpora.resized import coarsened, drawn
from jostle.corpora.specs import GridSpec, seeds_of
from jostle.errors import OptionError
from jostle.tables.schema import Neighbours, Schema
from jostle.tables.table import Table
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate
from jostle.tasks.ranges.metrics import scaled_l2
from jostle.tasks.ranges.workload import Workload

__all__ = ["GridInstance", "grid_instance"]

Floats = NDArray[np.float64]
QUERIES = 2000
DRAW = 2
"""The stream of randomness that records are drawn by."""


@frozen(eq=False, repr=False)
class GridInstance:
    """Records in the cells of a public grid, and the ranges that are asked for."""

    key: str
    table: Table
    counts: NDArray[np.int64]
    """The true counts."""
    workload: Workload
    truth: Floats
    """The true answers to the workload."""
    _last: list[tuple[Any, Floats]] = field(factory=list, init=False)
    """The estimate that was asked last, and what it answered: several judges ask after one another."""

    @property
    def schema(self) -> Schema:
        """The public facts about the records."""
        return self.table.schema

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    @property
    def questions(self) -> tuple[Workload]:
        """What Options are asked beside the table."""
        return (self.workload,)

    @property
    def sameness(self) -> float:
        """None: an estimate is made of numbers."""
        return 0.0

    def read(self, estimate: Any, /) -> Floats:
        """What an estimate answers to the workload; refuse what is no estimate."""
        if not isinstance(estimate, Estimate | SparseEstimate):
            raise OptionError(
                f"an answer is {type(estimate).__name__}, which has no loss on a grid task",
                why="what is judged is an estimate of the cells",
                fix="return one",
            )
        if estimate.shape != self.workload.shape:
            raise OptionError(
                f"an answer is an estimate of {' x '.join(map(str, estimate.shape))} cells",
                why=f"the grid that was asked has {' x '.join(map(str, self.workload.shape))}",
                fix="return one that was made from db",
            )
        if not self._last or self._last[0][0] is not estimate:
            self._last[:] = [(estimate, estimate.answers(self.workload))]
        return self._last[0][1]

    def lists(self, estimate: Any, /) -> tuple[list[float], list[float]]:
        """The answers to the workload, estimated and true."""
        return self.read(estimate).tolist(), self.truth.tolist()

    def chances(self, estimate: Any, /) -> None:
        """None: estimates have no chances."""

    def loss(self, estimate: Any, /) -> float:
        """DPBench's scaled L2 error of an estimate's answers to the workload."""
        return scaled_l2(self.truth, self.read(estimate), self.rows)


def grid_instance(database: PublicGrid, spec: GridSpec) -> GridInstance:
    """The instance that a spec makes of a public grid."""
    key = database.key(spec)
    counts = database.counts if spec.shape is None else coarsened(database.counts, spec.shape)
    if spec.records is not None:
        counts = drawn(counts, spec.records, np.random.default_rng(seeds_of(database.digest, spec.seed, DRAW)))
    workload = Workload.random_ranges(counts.shape, QUERIES, seed=spec.seed)
    rows = int(counts.sum()) if spec.declared else None
    neighbours: Neighbours = "replace_one" if spec.declared else "add_remove"
    table = Table.from_grid(counts, neighbours=neighbours, rows=rows)
    return GridInstance(key, table, counts, workload, workload.answers(counts))
