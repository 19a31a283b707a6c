"""Range queries: estimate the cells of a grid; and what may decide between the Options for that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from jostle.corpora.databases import PublicDatabase, PublicGrid
from jostle.corpora.parts import GridSpec, Spec
from jostle.privacy.expressions import cells, deviation, far_from_flat, occupied
from jostle.privacy.nodes import Expression
from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema
from jostle.tasks.base import Judge, Question, Rehearsal, Shown, Task, register
from jostle.tasks.metafeature import Metafeature, View, metafeature
from jostle.tasks.ranges.estimate import ENDINGS, Estimate, SparseEstimate, Workload
from jostle.tasks.ranges.instances import GridInstance, grid_instance, mean_relative, scaled_l1, scaled_l2
from jostle.tasks.ranges.questions import ONE_OF_EACH, WorkloadFacts, facts_of, in_words, workload_of

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus

MOST_GROUPS = 16
"""Groups of neighbouring cells per axis, in one dimension; in several, as many in all."""
STANDS_OUT = 2.0
"""A group's count stands out of noise that is so many standard deviations of it."""


@metafeature(low="epsilon is small", high="epsilon is large")
def log_epsilon(db: View) -> float:
    """The budget's logarithm."""
    return math.log10(db.epsilon)


@metafeature(low="the grid has one axis", high="the grid has several axes")
def axes(db: View) -> float:
    """The number of axes."""
    return len(db.schema.names)


@metafeature(low="there are few cells", high="there are many cells")
def log_cells(db: View) -> float:
    """The logarithm of the number of cells."""
    return sum(math.log10(db.schema[name].size) for name in db.schema.names)


def in_groups(db: View) -> Expression:
    """The records of each group of neighbouring cells."""
    return groups_of(tuple((name, db.schema[name].size) for name in db.schema.names))


@lru_cache(maxsize=256)
def groups_of(axes: tuple[tuple[str, int], ...]) -> Expression:
    """The records of each group of neighbouring cells of a grid with these axes."""
    per_axis = max(2, round(MOST_GROUPS ** (1 / len(axes))))
    groups: dict[str, int | Iterable[int]] = {
        name: tuple(code * min(per_axis, size) // size for code in range(size)) for name, size in axes
    }
    return cells(*groups).coarsened(groups)


@lru_cache(maxsize=256)
def about_cells(names: tuple[str, ...], kind: str) -> Expression:
    """One number about all cells: how far from flat, how many occupied, or how they deviate."""
    kinds = {"flat": far_from_flat, "occupied": occupied, "deviation": deviation}
    return kinds[kind](cells(*names))


def group_counts(db: View) -> np.ndarray:
    """The groups' noisy counts."""
    return db.buy_cells(in_groups(db)).ravel()


def bought_records(db: View) -> float:
    """Number of records, at least 1: as known, or the sum of the groups' noisy counts."""
    rows = db.rows
    return max(1.0, group_counts(db).sum() if rows is None else float(rows))


@metafeature(low="there are few records", high="there are many records")
def log_records(db: View) -> float:
    """The logarithm of the number of records."""
    return math.log10(max(1.0, bought_records(db)))


@metafeature(low="n·ε is small", high="n·ε is large")
def log_records_epsilon(db: View) -> float:
    """The logarithm of records times epsilon: errors depend on the two through their product alone."""
    return math.log10(max(1.0, bought_records(db)) * db.epsilon)


@metafeature(low="cells stand out of noise poorly", high="cells stand out of noise well")
def log_epsilon_per_cell(db: View) -> float:
    """The logarithm of records times epsilon per cell."""
    return log_records_epsilon(db) - log_cells(db)


@metafeature(low="records are spread evenly over the grid", high="records crowd in a few regions")
def coarse_skew(db: View) -> float:
    """The groups' L1 distance from flat as a share of records, less what noise alone would make of it."""
    counts = np.maximum(group_counts(db), 0)
    total = max(1.0, counts.sum())
    return float(np.abs(counts / total - 1 / len(counts)).sum())


@metafeature(low="few regions hold the records", high="all regions hold records")
def coarse_entropy(db: View) -> float:
    """The entropy of the groups' shares, relative to that of even ones."""
    counts = np.maximum(group_counts(db), 0)
    shares = counts[counts > 0] / max(1.0, counts.sum())
    return float(-(shares * np.log(shares)).sum() / math.log(max(2, len(counts)))) if len(shares) else 0.0


def evenness(counts: NDArray[np.int64] | NDArray[np.float64], variance: float) -> float:
    """From 0 to 1 how evenly records are spread over a level's nodes, given their noisy counts.

    It is the logarithm of how many nodes as heavy as the average record's would hold all records, over the most it can
    be. Noise adds its variance to each square.
    """
    nodes = len(counts)
    if nodes == 1:
        return 0.0
    total = max(float(counts.sum()), 1.0)
    squares = float((counts.astype(np.float64) ** 2).sum()) - nodes * variance
    alike = min(max(squares / total**2, 1 / nodes), 1.0)
    return -math.log(alike) / math.log(nodes)


@metafeature(low="records crowd in a few regions", high="records are spread evenly over the regions")
def coarse_evenness(db: View) -> float:
    """How evenly records are spread over the groups, from 0 to 1, what noise adds to their squares taken off."""
    return evenness(group_counts(db), db.variance(in_groups(db)))


@metafeature(low="all regions hold records", high="most regions hold next to none")
def coarse_sparsity(db: View) -> float:
    """The share of groups that hold less than a tenth of the average, or than stands out of noise."""
    counts = group_counts(db)
    least = max(STANDS_OUT * math.sqrt(db.variance(in_groups(db))), float(counts.mean()) / 10)
    return float(np.mean(counts < least))


@metafeature(low="neighbouring regions are alike", high="neighbouring regions differ")
def roughness(db: View) -> float:
    """How much neighbouring groups differ, as a share of records."""
    grid = np.maximum(db.buy_cells(in_groups(db)), 0)
    steps = sum(float(np.abs(np.diff(grid, axis=axis)).sum()) for axis in range(grid.ndim))
    return min(4.0, steps / max(1.0, float(grid.sum())))


@metafeature(low="cells are about equal", high="cells are far from equal")
def unevenness(db: View) -> float:
    """The cells' L1 distance from flat, as a share of records."""
    return float(np.clip(db.buy(about_cells(db.schema.names, "flat")) / bought_records(db), 0, 2))


@metafeature(low="most cells are empty", high="most cells are occupied")
def occupancy(db: View) -> float:
    """The share of cells that are occupied."""
    found = db.buy(about_cells(db.schema.names, "occupied")) / max(
        1, math.prod(db.schema[name].size for name in db.schema.names)
    )
    return float(np.clip(found, 0, 1))


@metafeature(low="cells are about equal", high="cells differ much")
def cell_deviation(db: View) -> float:
    """The standard deviation of the cells, times their number, as a share of records: log10(1 + .)."""
    count = math.prod(db.schema[name].size for name in db.schema.names)
    spread = max(0.0, db.buy(about_cells(db.schema.names, "deviation")))
    return math.log10(1 + min(1e6, spread * count / bought_records(db)))


def asked_facts(db: View) -> WorkloadFacts:
    """What is public of the workload that is asked; of the usual one where nobody says."""
    workload = db.asked[0] if db.asked else None
    return facts_of(workload) if isinstance(workload, Workload) else usual_facts(grid_shape(db.schema))


@lru_cache(maxsize=256)
def usual_facts(sides: tuple[int, ...]) -> WorkloadFacts:
    """What is public of the workload of a grid that nobody asks anything else of."""
    return facts_of(Workload.random_ranges(sides))


@metafeature(low="few ranges are asked", high="many ranges are asked")
def log_queries(db: View) -> float:
    """The logarithm of the number of queries."""
    return asked_facts(db).log_queries


@metafeature(low="ranges hold few of the cells", high="ranges hold most cells")
def log_volume(db: View) -> float:
    """The mean logarithm of the share of cells that a query holds."""
    return asked_facts(db).log_volume


@metafeature(low="ranges are a few cells long", high="ranges are many cells long")
def log_length(db: View) -> float:
    """The mean logarithm of how many cells a query has along an axis."""
    return asked_facts(db).log_length


@metafeature(low="ranges are wider than a cell", high="single cells are asked")
def single_cells(db: View) -> float:
    """The share of queries that are single cells."""
    return asked_facts(db).cells


@metafeature(low="ranges lie anywhere", high="ranges start or end with an axis")
def from_edges(db: View) -> float:
    """The share of sides, of those that are not whole, that start or end with their axis."""
    return asked_facts(db).edges


@metafeature(low="ranges are about all axes", high="ranges are about few of the axes")
def whole_axes(db: View) -> float:
    """The share of sides that are whole axes."""
    return asked_facts(db).whole


@metafeature(low="ranges tell few parts apart", high="ranges tell many parts apart")
def log_told(db: View) -> float:
    """The mean logarithm of how many parts all queries tell apart of the axes that a query does not hold whole."""
    return asked_facts(db).log_told


@metafeature(low="a range is a few parts", high="a range is many parts")
def log_parts(db: View) -> float:
    """The mean logarithm of how many of these parts a query is put together of, as a tree that halves them would."""
    return asked_facts(db).log_parts


ASKED: tuple[Metafeature, ...] = (
    log_queries,
    log_volume,
    log_length,
    single_cells,
    from_edges,
    whole_axes,
    log_told,
    log_parts,
)
"""About the question, and free."""
PUBLIC: tuple[Metafeature, ...] = (log_epsilon, axes, log_cells, *ASKED)
"""Free."""
FROM_GROUPS = (
    log_records,
    log_records_epsilon,
    log_epsilon_per_cell,
    coarse_skew,
    coarse_entropy,
    coarse_evenness,
    coarse_sparsity,
    roughness,
)
BOUGHT: tuple[Metafeature, ...] = (*FROM_GROUPS, unevenness, occupancy, cell_deviation)
"""Bought: the groups' counts, and one number for each of the last three."""


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
    from jostle.corpora.generators import generated_grids  # noqa: PLC0415 - for training only

    return generated_grids(GENERATED)


def _example() -> tuple[PublicDatabase, Spec]:
    from jostle.corpora.generators import generated_grids  # noqa: PLC0415 - for trying out only

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


def _told(asked: tuple[Any, ...]) -> str:
    workload = next((each for each in asked if isinstance(each, Workload)), None)
    return "" if workload is None else in_words(facts_of(workload), workload.shape)


def _of(schema: Schema, estimate: Estimate | SparseEstimate) -> Estimate | SparseEstimate:
    known = isinstance(estimate, Estimate | SparseEstimate) and estimate.shape == grid_shape(schema)
    return evolve(estimate, schema=schema) if known else estimate


def _read(schema: Schema, questions: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if question is None else Workload.in_units(schema, question) for question in questions)


RANGES: Task[Estimate | SparseEstimate] = register(
    Task(
        name="grid",
        also=("ranges",),
        question=Question(
            does="answers queries of a grid",
            modules=("histograms", "ranges"),
            named="GridName",
            answers=(Estimate, SparseEstimate),
            gives="an estimate of the cells",
            told_by=("over", "*_range"),
            beside={"queries": Workload},
            usual=lambda schema: (Workload.random_ranges(grid_shape(schema)),),
            told=_told,
            written=lambda schema, text: (workload_of(text, grid_shape(schema)),),
            read=_read,
            of=_of,
            counts=lambda schema: math.prod(grid_shape(schema)),
            suits=_suits,
            suited="a schema of columns of numbers, no label",
        ),
        rehearsal=Rehearsal(
            database=PublicGrid,
            instance=grid_instance,
            corpus=_corpus,
            asks=ONE_OF_EACH,
            example=_example,
            judges=(
                _judge("l2", "the scaled L2 error of range queries", scaled_l2),
                _judge("l1", "the scaled L1 error of range queries", scaled_l1),
                _judge("relative", "the mean relative error of range queries", _relative),
            ),
            free=PUBLIC,
            bought=BOUGHT,
        ),
        shown=Shown(text=_text, save=lambda estimate, path: estimate.write(path), endings=ENDINGS),
    )
)
