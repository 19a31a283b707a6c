"""Instances: what one rehearsal runs on. A database and a spec always give the same one, in every process.

Of a table, some rows to learn from and others to score on; of a grid, records drawn from its shape, as DPBench does
(Hay and others, SIGMOD 2016). The data are public, so this package draws from numpy's seeded generators; nothing here
makes noise, and nothing that makes noise is here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.choice.public.databases import PublicDatabase, PublicGrid, PublicTable, RowReader
from jostle.choice.public.specs import GridSpec, Spec, TableSpec, seeds_of
from jostle.errors import CorpusError, JostleError
from jostle.options.models.model import Model
from jostle.options.ranges.estimate import Estimate, SparseEstimate
from jostle.options.ranges.metrics import scaled_l2
from jostle.options.ranges.workload import Workload
from jostle.tables.block import Codes
from jostle.tables.encode import encode_block
from jostle.tables.engines import MemorySource
from jostle.tables.frames import frame_columns
from jostle.tables.schema import Schema
from jostle.tables.table import Table

__all__ = [
    "MOST_HELD_OUT",
    "GridInstance",
    "PublicDatabase",
    "PublicInstance",
    "Spec",
    "TableInstance",
    "coarsened",
    "drawn",
    "make_instance",
    "possible_rows",
]

MOST_HELD_OUT = 2000
"""Rows that models are scored on; more would only take longer."""
LEAST_ROWS = 3
"""With fewer, there is nothing to learn from and score on."""
QUERIES = 2000
ORDER, CHOICE, DRAW = range(3)
"""Streams of randomness: the order of rows, which attributes, the records of a grid."""


@frozen(eq=False, repr=False)
class TableInstance:
    """Rows of a public table to learn from, and others, encoded, to score models on."""

    task: ClassVar[str] = "classification"
    questions: ClassVar[tuple[()]] = ()
    """What Options are asked beside the table: nothing."""

    key: str
    table: Table
    """The rows to learn from, with a schema read off the whole public database."""
    rows: int
    """How many they are: no public fact to an Option."""
    codes: NDArray[np.int64]
    """The held-out rows' attributes, a column per attribute in the schema's order."""
    labels: NDArray[np.int64]
    """The held-out rows' labels."""

    @property
    def schema(self) -> Schema:
        """Return the public facts about the rows."""
        return self.table.schema

    def loss(self, model: Model) -> float:
        """Return the share of held-out rows that a model predicts wrongly."""
        return float(np.mean(np.argmax(model.chances(self.codes), axis=1) != self.labels))


@frozen(eq=False, repr=False)
class GridInstance:
    """Records in the cells of a public grid, and the ranges that are asked for."""

    task: ClassVar[str] = "grid"

    key: str
    table: Table
    counts: NDArray[np.int64]
    """The true counts."""
    workload: Workload
    truth: NDArray[np.float64]
    """The true answers to the workload."""

    @property
    def schema(self) -> Schema:
        """Return the public facts about the records."""
        return self.table.schema

    @property
    def rows(self) -> int:
        """Return how many records there are."""
        return int(self.counts.sum())

    @property
    def questions(self) -> tuple[Workload]:
        """Return what Options are asked beside the table."""
        return (self.workload,)

    def loss(self, estimate: Estimate | SparseEstimate) -> float:
        """Return DPBench's scaled L2 error of an estimate's answers to the workload."""
        return scaled_l2(self.truth, estimate.answers(self.workload), self.rows)


PublicInstance: TypeAlias = TableInstance | GridInstance


def make_instance(database: PublicDatabase, spec: Spec) -> PublicInstance:
    """Return the instance that a spec makes of a public database."""
    if isinstance(database, PublicTable) and isinstance(spec, TableSpec):
        return _table_instance(database, spec)
    if isinstance(database, PublicGrid) and isinstance(spec, GridSpec):
        return _grid_instance(database, spec)
    raise CorpusError(f"{type(spec).__name__} says nothing about a {type(database).__name__}")


def possible_rows(database: PublicTable, sizes: Iterable[int]) -> tuple[int | None, ...]:
    """Return which of these numbers of rows a table can give with enough left to score on; None, for all, always is."""
    length = len(database)
    return (*(size for size in sizes if 5 * size <= 4 * length), None)


def _split(length: int, rows: int | None, name: str) -> tuple[int, int]:
    """Return how many rows are to be learnt from, and how many held out."""
    if length < LEAST_ROWS:
        raise CorpusError(f"{name} has {length} rows", why="some are learnt from, and others held out")
    if rows is None:
        held = min(MOST_HELD_OUT, length // 3)
        return length - held, held
    if 5 * rows > 4 * length:
        raise CorpusError(
            f"{name} has {length:,} rows, too few for {rows:,} to learn from",
            why="a fifth at least is held out to score models on",
            fix="possible_rows(database, sizes) says which sizes a table can give",
        )
    return rows, min(MOST_HELD_OUT, length - rows)


def _table_instance(database: PublicTable, spec: TableSpec) -> TableInstance:
    try:
        schema, codes = _encoded(database.reader, database.label, spec.bins)
    except CorpusError:
        raise
    except JostleError as mistake:
        raise CorpusError(f"{database.name}: {mistake.title}", why=mistake.why, fix=mistake.fix) from None
    if not schema.attributes:
        raise CorpusError(f"{database.name} has no attributes to predict from")
    length = len(codes[database.label])
    learnt, held = _split(length, spec.rows, database.name)
    attributes = schema.attributes
    if spec.attributes is not None and spec.attributes < len(attributes):
        order = _order(len(attributes), seeds_of(database.digest, spec.seed, CHOICE))
        chosen = {attributes[place] for place in order[: spec.attributes]} | {database.label}
        schema = evolve(schema, columns=tuple((name, column) for name, column in schema.columns if name in chosen))
        attributes = schema.attributes
    # Held-out rows come from the front and the others from the back: with one seed, fewer rows are some of more rows.
    order = _order(length, seeds_of(database.digest, spec.seed, ORDER))
    scored, learnt_from = order[:held], order[length - learnt :]
    key = database.key(spec)
    columns = {name: codes[name][learnt_from] for name in schema.names}
    unseen = np.empty((held, len(attributes)), dtype=np.int64, order="F")
    for place, name in enumerate(attributes):
        unseen[:, place] = codes[name][scored]
    return TableInstance(
        key,
        Table(MemorySource(schema, columns, learnt, identity=key.encode())),
        learnt,
        unseen,
        codes[database.label][scored].astype(np.int64),
    )


@lru_cache(maxsize=4)
def _encoded(reader: RowReader, label: str, bins: int) -> tuple[Schema, Mapping[str, Codes]]:
    """Return a schema read off a public table, and all its rows as codes."""
    table = PublicTable("the table", reader, label).columns
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*different texts and is left out", category=UserWarning)
        schema = Schema.infer_public(table, label=label, bins=bins)
    columns, length = frame_columns(table, schema.names)
    block = encode_block(columns, schema, length)
    if block.length != length:
        raise CorpusError("rows of a public table do not fit the schema that was read off them")
    return schema, block.columns


def _order(length: int, seeds: list[int]) -> NDArray[np.intp]:
    """Return a random order: of the generator's raw bits, which are the same in all versions of numpy."""
    return np.argsort(np.random.PCG64(seeds).random_raw(length), kind="stable")


def _grid_instance(database: PublicGrid, spec: GridSpec) -> GridInstance:
    counts = database.counts if spec.shape is None else coarsened(database.counts, spec.shape)
    if spec.records is not None:
        counts = drawn(counts, spec.records, np.random.default_rng(seeds_of(database.digest, spec.seed, DRAW)))
    workload = Workload.random_ranges(counts.shape, QUERIES, seed=spec.seed)
    return GridInstance(database.key(spec), Table.from_grid(counts), counts, workload, workload.answers(counts))


def coarsened(counts: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return a grid with fewer cells, each the sum of a block of equal sides.

    >>> coarsened(np.arange(6), (3,))
    array([1, 5, 9])
    """
    pairs = list(zip(counts.shape, shape, strict=False))
    if len(shape) != counts.ndim or any(side < 1 or whole % side for whole, side in pairs):
        raise CorpusError(
            f"a grid of shape {counts.shape} is not coarsened to {shape}",
            why="cells are added up in blocks, so each new side divides the old one",
        )
    split = [part for whole, side in zip(counts.shape, shape, strict=True) for part in (side, whole // side)]
    sums: NDArray[np.int64] = counts.reshape(split).sum(axis=tuple(range(1, 2 * counts.ndim, 2)))
    return sums


def drawn(
    counts: NDArray[np.int64] | NDArray[np.float64], records: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return so many records, drawn independently from the distribution that a grid's counts are in proportion to."""
    chances = counts.ravel() / counts.sum()
    return generator.multinomial(records, chances).reshape(counts.shape)
