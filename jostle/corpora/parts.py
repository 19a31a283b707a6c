"""Which part of a public database is rehearsed on: small values that go into keys."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from math import prod
from typing import Any

import numpy as np
from attrs import field, fields, frozen

from jostle.errors import CorpusError, shown

VERSION = 1
"""Of the code that makes instances: raised when the same spec of the same database comes to give another instance."""


def _whole(least: int, default: int | None) -> Any:
    def check(_: object, attribute: Any, value: object) -> None:
        if value is None and default is None:
            return
        if type(value) is not int or value < least:
            raise CorpusError(f"{attribute.name} is {shown(value)}, not a whole number from {least} up")

    def convert(value: object) -> object:
        return operator.index(value) if isinstance(value, np.integer) else value

    return field(default=default, converter=convert, validator=check)


@frozen
class Spec:
    """A part of a public database."""

    declared: bool = field(default=False, kw_only=True)
    """Whether its schema declares the number of rows; neighbours are those of replace_one then."""


@frozen
class TableSpec(Spec):
    """Some rows and some attributes of a public table."""

    rows: int | None = _whole(1, None)
    """How many rows to learn from; None for all but those held out."""
    attributes: int | None = _whole(1, None)
    """How many attributes, drawn at random; None for all."""
    seed: int = _whole(0, 0)
    bins: int = _whole(1, 16)
    """How many bins the schema has for a column of numbers."""


def _shape(shape: Any) -> tuple[int, ...] | None:
    return shape if shape is None else tuple(map(operator.index, np.atleast_1d(np.asarray(shape)).tolist()))


@frozen
class GridSpec(Spec):
    """So many records drawn from a public grid, perhaps with coarser cells."""

    records: int | None = _whole(1, None)
    """How many records to draw; None for the grid's own records, as they are."""
    shape: tuple[int, ...] | None = field(default=None, converter=_shape)
    """The sides after adding up neighbouring cells; None for those the grid has."""
    seed: int = _whole(0, 0)
    asks: str | None = None
    """What is asked of it, as a text that its task reads; None for what is asked where nobody says."""


def instance_key(digest: str, spec: Spec) -> str:
    """The key of an instance: the database's digest, the spec, and the version of the code.

    >>> instance_key("0c5f", TableSpec(300, None, 7))
    '0c5f rows=300 seed=7 bins=16 v1'
    """
    facts = ((part.name, getattr(spec, part.name)) for part in fields(type(spec)))
    said = [f"{name}={_shown(value)}" for name, value in facts if value is not None and value is not False]
    return " ".join([digest, *said, f"v{VERSION}"])


def _shown(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value).replace(" ", ":")


def seeds_of(digest: str, seed: int, stream: int) -> list[int]:
    """The seeds of a generator of public randomness for one purpose (the stream) on one database."""
    return [int(digest[:16], 16), seed, stream]


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


class Parts(ABC):
    """What has parts that can be rehearsed on."""

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


class TableParts(Parts, Sized):
    """The parts of a table: rows to learn from, others being held out."""

    def usual(self) -> Iterator[TableSpec]:
        """Rows as there may be in practice, and all of them in several cuts."""
        for rows in possible_rows(self, ROWS):
            yield from (TableSpec(rows=rows, seed=seed) for seed in range(CUTS if rows is None else 1))

    def few(self) -> Iterator[TableSpec]:
        """Few rows."""
        return (TableSpec(rows=rows) for rows in possible_rows(self, FEW_ROWS) if rows is not None)

    def small(self, number: int) -> TableSpec:
        """Few rows and attributes, and numbers in few bins."""
        sizes: Sequence[int | None] = [rows for rows in possible_rows(self, SMALL_ROWS) if rows is not None] or [None]
        return TableSpec(rows=sizes[number % len(sizes)], attributes=SMALL_ATTRIBUTES, bins=SMALL_BINS, seed=1)

    def cut(self, number: int) -> TableSpec:
        """All rows, other ones held out each time."""
        return TableSpec(seed=number)

    def sized(self, size: int) -> TableSpec:
        """So many rows."""
        return TableSpec(rows=size)


class GridParts(Parts):
    """The parts of a grid: records drawn from its shape, on perhaps fewer cells."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """How many cells there are along each axis."""

    @property
    def axes(self) -> int:
        """How many sides there are."""
        return len(self.shape)

    def usual(self) -> Iterator[GridSpec]:
        """Records and cells as there may be in practice."""
        shapes: list[Shape | None] = [*_fitting(self.shape, SHAPES)]
        if not shapes and prod(self.shape) <= MOST_CELLS:
            shapes = [None]
        for shape in shapes:
            yield from (GridSpec(records=records, shape=shape) for records in RECORDS)

    def few(self) -> Iterator[GridSpec]:
        """Few cells."""
        shape = next(_fitting(self.shape, SMALL_SHAPES), None)
        return (GridSpec(records=records, shape=shape) for records in FEW_RECORDS)

    def small(self, number: int) -> GridSpec:
        """Few cells."""
        shape = next(_fitting(self.shape, SMALL_SHAPES), None)
        return GridSpec(records=FEW_RECORDS[number % len(FEW_RECORDS)], shape=shape)

    def cut(self, number: int) -> GridSpec:  # noqa: ARG002 - a grid's own records are always the same
        """Its own records."""
        return GridSpec()

    def sized(self, size: int) -> GridSpec:
        """So many records, on the fewest of the usual cells that it can be coarsened to."""
        return GridSpec(records=size, shape=next(_fitting(self.shape, SHAPES), None))


def possible_rows(table: Sized, sizes: Iterable[int]) -> tuple[int | None, ...]:
    """Which of these numbers of rows a table can give with enough left to score on; None, for all, always is."""
    length = len(table)
    return (*(size for size in sizes if 5 * size <= 4 * length), None)


def _fitting(sides: Shape, shapes: Mapping[int, tuple[Shape, ...]]) -> Iterator[Shape]:
    for shape in shapes.get(len(sides), ()):
        if all(whole % side == 0 for whole, side in zip(sides, shape, strict=True)):
            yield shape
