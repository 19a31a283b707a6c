"""Public databases: what is rehearsed on, in parts and as grids made of other grids.

Each is a name, a way to read it, and who else has the same people in it. Nothing here is private, and nothing here is
read before it is needed: a corpus of many files is a list of names. What was read is kept for a few databases at a
time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from attrs import Factory, evolve, field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.corpora.cells import RowMarks, grid_digest, plain_table, table_digest
from jostle.corpora.parts import GridSpec, Spec, TableSpec, instance_key, possible_rows
from jostle.errors import CorpusError, JostleError, PrivateDataError
from jostle.tables.frames import frame_columns
from jostle.tables.origins import check_public

KEPT = 8
"""Databases that are kept in memory after they were read."""
WORKED_OUT = frozenset({"attributes", "digest", "length", "shape", "total"})
"""What is found out about a database once, and does not depend on its name or group."""


Shape = tuple[int, ...]

ROWS = (300, 1000, 3000, 10000)
"""Numbers of rows that are learned from, where a table has them, beside all it has."""
CUTS = 3
"""How often a whole table is cut into rows to learn from and rows to score on, each time by another seed."""
FEW_ROWS = (300, 2000)
SMALL_ROWS = (300, 1000, 3000)
SMALL_ATTRIBUTES, SMALL_BINS = 6, 4
RECORDS = (1000, 10_000, 100_000, 1_000_000)
"""Numbers of records that are drawn from a grid's shape: together with the budgets, all that matters of scale."""
FEW_RECORDS = (1000, 30_000)
SHAPES: Mapping[int, tuple[Shape, ...]] = {1: ((1024,), (4096,)), 2: ((64, 64), (128, 128))}
"""Shapes that grids are coarsened to, where their sides allow it; others are taken as they are."""
SMALL_SHAPES: Mapping[int, tuple[Shape, ...]] = {1: ((256,),), 2: ((32, 32),)}
MOST_CELLS = 2**14
"""Larger grids are not rehearsed on as they are: the slowest Options would take minutes."""


class RowReader(Protocol):
    """Where a public table's rows come from: a frozen value, which can be hashed, sent to another process and asked."""

    def __hash__(self) -> int: ...

    def read(self) -> pa.Table:
        """The rows in one form, as `plain_table` makes them."""


class CellReader(Protocol):
    """Where a public grid's counts come from."""

    def __hash__(self) -> int: ...

    def read(self) -> NDArray[np.int64]:
        """The counts."""


@frozen(eq=False, repr=False)
class FrameRows:
    """Rows that are in memory."""

    table: pa.Table

    def read(self) -> pa.Table:
        """All rows."""
        return self.table


@frozen(eq=False, repr=False)
class ArrayCells:
    """Counts that are in memory."""

    counts: NDArray[np.int64]

    def read(self) -> NDArray[np.int64]:
        """All rows."""
        return self.counts


@lru_cache(maxsize=KEPT)
def _rows(reader: RowReader) -> pa.Table:
    return reader.read()


@lru_cache(maxsize=KEPT)
def _cells(reader: CellReader) -> NDArray[np.int64]:
    counts = reader.read()
    counts.setflags(write=False)
    return counts


class PublicDatabase(ABC):
    """A public database, by name."""

    spec: ClassVar[type[Spec]]
    """What says which part of it."""

    name: str
    reader: Any
    group: str
    artificial: bool

    @property
    @abstractmethod
    def digest(self) -> str:
        """A hash of what it says, the same on every machine and from every way to read it."""

    @property
    def marks(self) -> RowMarks | None:
        """What tells which others have the same rows; None for what shares rows with nobody."""
        return None

    def key(self, spec: Spec) -> str:
        """The text that identifies the instance this spec makes of it; refuse a spec of something else."""
        if not isinstance(spec, self.spec):
            raise CorpusError(f"{type(spec).__name__} says nothing about a {type(self).__name__}")
        return instance_key(self.digest, spec)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def axes(self) -> int | None:
        """How many axes it has; None for what has none."""
        return None

    @abstractmethod
    def usual(self) -> Iterator[Spec]:
        """The parts that makers learn from."""

    @abstractmethod
    def few(self) -> Iterator[Spec]:
        """Few parts, and small ones."""

    @abstractmethod
    def small(self, number: int) -> Spec:
        """A part that a tree with a choice at every node can be grown on; *number* says which of several."""

    @abstractmethod
    def cut(self, number: int) -> Spec:
        """All of it, cut or drawn in one of several ways where there are some."""

    @abstractmethod
    def sized(self, size: int) -> Spec:
        """A part of so many rows or records."""


@frozen(eq=False, repr=False, slots=False)  # without slots, what was worked out once travels with it
class PublicTable(PublicDatabase):
    """A public table with a column of classes to predict.

    >>> import pyarrow as pa
    >>> table = PublicTable.of("toy", pa.table({"x": [1, 2, 3], "label": ["a", "b", "a"]}))
    >>> len(table), table.attributes, table.group
    (3, ('x',), 'toy')
    """

    spec = TableSpec

    name: str
    reader: RowReader
    label: str = "label"
    """The column to predict."""
    group: str = field(default=Factory(lambda self: self.name, takes_self=True))
    """Databases that share people have one group; they are never on two sides of a split."""
    artificial: bool = False
    """Whether a generator made it, so that it shares people with no other, however alike the rows."""

    @classmethod
    def of(cls, name: str, frame: Any, *, label: str = "label", group: str | None = None) -> PublicTable:
        """A table of a public dataframe's rows: pandas, polars, Arrow, whatever narwhals reads."""
        check_public(frame)
        table = plain_table(frame_columns(frame)[0], label)
        return cls(name, FrameRows(table), label, name if group is None else group)

    @property
    def columns(self) -> pa.Table:
        """The columns, in memory: floats for numbers, dictionaries for texts and the label."""
        try:
            return _rows(self.reader)
        except (CorpusError, PrivateDataError):
            raise
        except JostleError as mistake:
            raise CorpusError(f"{self.name}: {mistake.title}", why=mistake.why, fix=mistake.fix) from None

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of all columns but the label."""
        return tuple(name for name in self.columns.column_names if name != self.label)

    @cached_property
    def digest(self) -> str:
        return table_digest(self.columns, self.label)

    @property
    def marks(self) -> RowMarks | None:
        return None if self.artificial else RowMarks.of(self.columns, self.label)

    @cached_property
    def length(self) -> int:
        """Number of rows."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.length

    def usual(self) -> Iterator[TableSpec]:
        """Rows as there may be in practice, and all of them in several cuts."""
        for rows in possible_rows(self, ROWS):
            yield from (TableSpec(rows=rows, seed=seed) for seed in range(CUTS if rows is None else 1))

    def few(self) -> Iterator[TableSpec]:
        return (TableSpec(rows=rows) for rows in possible_rows(self, FEW_ROWS) if rows is not None)

    def small(self, number: int) -> TableSpec:
        """Few rows and attributes, and numbers in few bins."""
        sizes: Sequence[int | None] = [rows for rows in possible_rows(self, SMALL_ROWS) if rows is not None] or [None]
        return TableSpec(rows=sizes[number % len(sizes)], attributes=SMALL_ATTRIBUTES, bins=SMALL_BINS, seed=1)

    def cut(self, number: int) -> TableSpec:
        """All rows, other ones held out each time."""
        return TableSpec(seed=number)

    def sized(self, size: int) -> TableSpec:
        return TableSpec(rows=size)


@frozen(eq=False, repr=False, slots=False)
class PublicGrid(PublicDatabase):
    """A public grid of counts, with any number of axes.

    >>> grid = PublicGrid.of("toy", [[1, 0], [2, 3]])
    >>> grid.shape, grid.total
    ((2, 2), 6)
    """

    spec = GridSpec

    name: str
    reader: CellReader
    group: str = field(default=Factory(lambda self: self.name, takes_self=True))
    """Databases that share people have one group; they are never on two sides of a split."""
    artificial: bool = False
    """Whether a generator made it."""

    @classmethod
    def of(cls, name: str, counts: ArrayLike, *, group: str | None = None) -> PublicGrid:
        """A grid of counts."""
        check_public(counts)
        return cls(name, ArrayCells(whole_counts(counts, name)), name if group is None else group)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The counts, in memory, not to be written to."""
        return _cells(self.reader)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    @cached_property
    def total(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        return grid_digest(self.counts)

    @property
    def axes(self) -> int:
        return len(self.shape)

    def usual(self) -> Iterator[GridSpec]:
        """Records and cells as there may be in practice."""
        shapes: list[Shape | None] = [*_fitting(self.shape, SHAPES)]
        if not shapes and prod(self.shape) <= MOST_CELLS:
            shapes = [None]
        for shape in shapes:
            yield from (GridSpec(records=records, shape=shape) for records in RECORDS)

    def few(self) -> Iterator[GridSpec]:
        shape = next(_fitting(self.shape, SMALL_SHAPES), None)
        return (GridSpec(records=records, shape=shape) for records in FEW_RECORDS)

    def small(self, number: int) -> GridSpec:
        shape = next(_fitting(self.shape, SMALL_SHAPES), None)
        return GridSpec(records=FEW_RECORDS[number % len(FEW_RECORDS)], shape=shape)

    def cut(self, number: int) -> GridSpec:
        """Its own records."""
        return GridSpec()

    def sized(self, size: int) -> GridSpec:
        """So many records, on the fewest of the usual cells that it can be coarsened to."""
        return GridSpec(records=size, shape=next(_fitting(self.shape, SHAPES), None))


def changed(database: Any, **facts: Any) -> Any:
    """A database with another name or group, and with what was worked out about it before."""
    made = evolve(database, **facts)
    vars(made).update({name: found for name, found in vars(database).items() if name in WORKED_OUT})
    return made


def whole_counts(counts: ArrayLike, name: str) -> NDArray[np.int64]:
    """Counts as whole numbers of 64 bits, a copy; refuse what is none."""
    try:
        given = np.asarray(counts)
    except ValueError:
        raise CorpusError(f"{name} has sides of different lengths", fix="give an array") from None
    if given.ndim == 0 or not given.size:
        raise CorpusError(f"{name} is no grid: it has no cells")
    if given.dtype.kind not in "iuf":
        raise CorpusError(f"{name} holds {given.dtype}, not counts")
    if not np.all(np.isfinite(given)) or np.any(given < 0) or np.any(given != np.floor(given)):
        raise CorpusError(f"{name} holds something other than counts", why="a count is a whole number from 0 up")
    if not 0 < given.sum(dtype=np.float64) < 2.0**53:
        raise CorpusError(f"{name} holds no records, or more than can be added up")
    return np.array(given, dtype=np.int64, order="C")


def coarsened(counts: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A grid with fewer cells, each the sum of a block whose sides are equal, or differ by one.

    >>> coarsened(np.arange(6), (3,))
    array([1, 5, 9])
    >>> coarsened(np.arange(5), (2,))
    array([3, 7])
    """
    pairs = list(zip(counts.shape, shape, strict=False))
    if len(shape) != counts.ndim or any(not 1 <= side <= whole for whole, side in pairs):
        raise CorpusError(
            f"a grid of shape {counts.shape} is not coarsened to {shape}",
            why="cells are added up in blocks, so no new side is longer than the old one",
        )
    for axis, (whole, side) in enumerate(pairs):
        if side < whole:
            counts = np.add.reduceat(counts, -(-np.arange(side) * whole // side), axis=axis)
    return counts


def drawn(
    counts: NDArray[np.int64] | NDArray[np.float64], records: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """So many records, drawn independently from the distribution that a grid's counts are in proportion to.

    They are the same in every version of numpy: single draws of a `RandomState` are, by numpy's promise. Its draws of
    all cells at once are others from 2.5 on, as all binomial ones of `Generator` are. Of that one's other draws, those
    that corpora are made by are tested to stay.
    """
    chances = (counts.ravel() / counts.sum()).tolist()
    frozen = np.random.RandomState(generator.bit_generator)
    found, left = np.zeros(len(chances), dtype=np.int64), 1.0
    for cell in np.flatnonzero(counts.ravel()[:-1]).tolist():
        if not records:
            break
        chance = chances[cell]
        found[cell] = many = frozen.binomial(records, chance / left if chance < left else 1.0)
        records, left = records - many, left - chance
    found[-1] = records
    return found.reshape(counts.shape)


Jobs = list[tuple[PublicDatabase, Spec]]


def default_jobs(databases: Iterable[PublicDatabase], axes: Collection[int] = (), *, declared: bool = False) -> Jobs:
    """The instances of public databases to be rehearsed on; of those with axes, only with so many, if said.

    With *declared*, each comes a second time, with a schema that declares the number of rows: what is rehearsed there
    is what a maker learns for such tables.
    """
    jobs = [
        (database, spec)
        for database in databases
        if not axes or database.axes is None or database.axes in axes
        for spec in database.usual()
    ]
    return [*jobs, *((database, evolve(spec, declared=True)) for database, spec in jobs if declared)]


def few_jobs(databases: Iterable[PublicDatabase]) -> Jobs:
    """Few instances of public databases, and small ones."""
    return [(database, spec) for database in databases for spec in database.few()]


def _fitting(sides: Shape, shapes: Mapping[int, tuple[Shape, ...]]) -> Iterator[Shape]:
    for shape in shapes.get(len(sides), ()):
        if all(whole % side == 0 for whole, side in zip(sides, shape, strict=True)):
            yield shape
