"""Instances of grids: records drawn from a public shape, ranges to ask, and how far answers are from the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from jostle.corpora.databases import PublicGrid, coarsened, drawn
from jostle.corpora.parts import GridSpec, seeds_of
from jostle.errors import OptionError
from jostle.tables.schema import Neighbours
from jostle.tables.table import Table
from jostle.tasks.base import Instance
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate, Workload
from jostle.tasks.ranges.questions import RangeQuestion


def _differences(truth: ArrayLike, answers: ArrayLike) -> NDArray[np.float64]:
    true, given = np.asarray(truth, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if true.shape != given.shape or not true.size:
        raise OptionError(f"{given.size} answers are compared with {true.size} truths")
    return given - true


def scaled_l2(truth: ArrayLike, answers: ArrayLike, scale: float) -> float:
    """DPBench's error: the Euclidean norm of the differences / number of queries / number of records.

    >>> scaled_l2([1, 2], [4, 6], scale=10)
    0.25
    """
    differences = _differences(truth, answers)
    return float(np.linalg.norm(differences)) / differences.size / scale


def scaled_l1(truth: ArrayLike, answers: ArrayLike, scale: float) -> float:
    """The sum of the absolute differences / number of queries / number of records."""
    differences = _differences(truth, answers)
    return float(np.abs(differences).sum()) / differences.size / scale


def mean_relative(truth: ArrayLike, answers: ArrayLike, theta: float) -> float:
    """The mean of |difference| / max(theta, truth): theta keeps small truths from counting without bound."""
    if theta <= 0:
        raise OptionError(f"theta is {theta}, but must be above 0")
    return float((np.abs(_differences(truth, answers)) / np.maximum(theta, np.asarray(truth, dtype=np.float64))).mean())


Floats = NDArray[np.float64]
QUERIES = 2000
DRAW = 2
"""The stream of randomness that records are drawn by."""


@frozen(eq=False, repr=False)
class GridInstance(Instance):
    """Records in the cells of a public grid, and the ranges that are asked for."""

    judged = ((Estimate, SparseEstimate), "a grid", "an estimate of the cells")

    key: str
    table: Table
    counts: NDArray[np.int64]
    """The true counts."""
    workload: Workload
    truth: Floats
    """The true answers to the workload."""

    @property
    def rows(self) -> int:
        """How many records the grid has."""
        return int(self.counts.sum())

    @property
    def questions(self) -> tuple[Workload]:
        return (self.workload,)

    def said_by(self, estimate: Estimate | SparseEstimate) -> Floats:
        """What an estimate answers to the workload."""
        if estimate.shape != self.workload.shape:
            raise OptionError(
                f"an answer is an estimate of {' x '.join(map(str, estimate.shape))} cells",
                why=f"the grid that was asked has {' x '.join(map(str, self.workload.shape))}",
                fix="return one that was made from db",
            )
        return estimate.answers(self.workload)

    def lists(self, estimate: Any, /) -> tuple[list[float], list[float]]:
        """The answers to the workload, estimated and true."""
        answers: Floats = self.read(estimate)
        return answers.tolist(), self.truth.tolist()

    def loss(self, estimate: Any, /) -> float:
        """DPBench's scaled L2 error of an estimate's answers to the workload."""
        return scaled_l2(self.truth, self.read(estimate), self.rows)


def grid_instance(database: PublicGrid, spec: GridSpec) -> GridInstance:
    """The instance that a spec makes of a public grid."""
    key = database.key(spec)
    counts = database.counts if spec.shape is None else coarsened(database.counts, spec.shape)
    if spec.records is not None:
        counts = drawn(counts, spec.records, np.random.default_rng(seeds_of(database.digest, spec.seed, DRAW)))
    workload = (
        Workload.random_ranges(counts.shape, QUERIES, seed=spec.seed)
        if spec.asks is None
        else RangeQuestion.of(spec.asks).workload(counts.shape)
    )
    rows = int(counts.sum()) if spec.declared else None
    neighbours: Neighbours = "replace_one" if spec.declared else "add_remove"
    table = Table.from_grid(counts, neighbours=neighbours, rows=rows)
    return GridInstance(key, table, counts, workload, workload.answers(counts))
