"""Range queries: estimate the cells of a grid, so that the records in any box of them can be added up."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from jostle.corpora.databases import PublicDatabase, PublicGrid
from jostle.corpora.specs import GridSpec, Spec
from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema
from jostle.tasks.base import Judge, Task, register
from jostle.tasks.ranges import metafeatures
from jostle.tasks.ranges.estimate import ENDINGS, Estimate, SparseEstimate
from jostle.tasks.ranges.instances import GridInstance, grid_instance
from jostle.tasks.ranges.metrics import mean_relative, scaled_l1, scaled_l2
from jostle.tasks.ranges.workload import Workload

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus

__all__ = ["RANGES", "grid_shape"]

Floats = NDArray[np.float64]
Of = Callable[[Floats, Floats, int], float]
GENERATED = 24
"""How many generated grids there are."""
EXAMPLE_RECORDS, EXAMPLE_SHAPE = 30_000, (64, 64)
LEAST_SHARE = 1e-3
"""Of all records: a true answer counts as at least this in relative errors, so that small ones do not count for all."""
SHOWN = 12
"""Cells of an estimate that people see."""


def grid_shape(schema: Schema) -> tuple[int, ...]:
    """Sides of the grid that a schema's columns span."""
    return tuple(schema[name].size for name in schema.names)


def _suits(schema: Schema) -> bool:
    return schema.label is None and all(isinstance(schema[name], Numeric) for name in schema.names)


@cache
def _corpus() -> Corpus:
    from jostle.corpora.generators_grids import generated_grids  # noqa: PLC0415 - for training only

    return generated_grids(GENERATED)


def _example() -> tuple[PublicDatabase, Spec]:
    from jostle.corpora.generators_grids import generated_grids  # noqa: PLC0415 - for trying out only

    grid = next(each for each in generated_grids(12) if each.name.startswith("mixture") and "256x256" in each.name)
    return grid, GridSpec(records=EXAMPLE_RECORDS, shape=EXAMPLE_SHAPE)


def _relative(truth: Floats, answers: Floats, records: int) -> float:
    return mean_relative(truth, answers, max(1.0, LEAST_SHARE * records))


def _judged(of: Of, instance: GridInstance, estimate: Estimate | SparseEstimate) -> float:
    return of(instance.truth, instance.read(estimate), instance.rows)


def _judge(name: str, about: str, of: Of) -> Judge:
    return Judge(name, partial(_judged, of), about)  # which can be sent to another process


def _text(estimate: Estimate | SparseEstimate) -> str:
    if isinstance(estimate, SparseEstimate):
        return repr(estimate)
    first = ", ".join(f"{cell:.4g}" for cell in estimate.cells.ravel()[:SHOWN].tolist())
    sides = " x ".join(map(str, estimate.shape))
    return f"an estimate of {sides} cells, {estimate.total:.6g} records in all; the first cells: {first} ..."


def _of(schema: Schema, estimate: Estimate | SparseEstimate) -> Estimate | SparseEstimate:
    known = isinstance(estimate, Estimate | SparseEstimate) and estimate.shape == grid_shape(schema)
    return evolve(estimate, schema=schema) if known else estimate


def _read(schema: Schema, questions: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if each is None else Workload.in_units(schema, each) for each in questions)


RANGES: Task[Estimate | SparseEstimate] = register(
    Task(
        name="grid",
        also=("ranges",),
        does="answers queries of a grid",
        modules=("histograms", "ranges"),
        named="GridName",
        answers=(Estimate, SparseEstimate),
        gives="an estimate of the cells",
        told_by=("over", "*_range"),
        asked={"queries": Workload},
        questions=lambda schema: (Workload.random_ranges(grid_shape(schema)),),
        read=_read,
        of=_of,
        suits=_suits,
        suited="a schema of one or two columns of numbers, no label",
        database=PublicGrid,
        instance=grid_instance,
        corpus=_corpus,
        example=_example,
        judges=(
            _judge("l2", "the scaled L2 error of range queries", scaled_l2),
            _judge("l1", "the scaled L1 error of range queries", scaled_l1),
            _judge("relative", "the mean relative error of range queries", _relative),
        ),
        free=metafeatures.PUBLIC,
        bought=metafeatures.BOUGHT,
        text=_text,
        data=lambda estimate: estimate.data(),
        drawn=lambda estimate: estimate._repr_html_(),
        save=lambda estimate, path: estimate.write(path),
        endings=ENDINGS,
    )
)
