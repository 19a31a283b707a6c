"""Blocks: some rows of a table as integer codes, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.columns import Numeric
from jostle.tables.features import Bits, BitsColumns
from jostle.tables.fields import Integers, Truths
from jostle.tables.schema import Schema
from jostle.tables.values import Grain

Codes = NDArray[np.unsignedinteger[Any]]

Where = tuple[tuple[str, tuple[int, ...]], ...]
"""A conjunction of conditions: each names a column and the codes it may have."""


def code_type(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The narrowest type for codes below *size*."""
    return np.min_scalar_type(max(size - 1, 0))


@frozen(eq=False, repr=False)
class Whose:
    """Whose each of some rows is. No repr: nothing should ever print one."""

    codes: NDArray[np.signedinteger[Any]]
    """Each row's person, by its place among these; of several places with one name, any."""
    names: pa.Array
    """Whole numbers, or texts in the one way to write what they say; none of them is kept once rows are bounded."""
    marks: NDArray[np.uint64] | None = None
    """Once rows are bounded: a hash of each person, by which portions are dealt."""
    read: Integers | None = None
    """Once rows are bounded: how many rows of each person were read, held or not."""

    def rows(self, places: slice | NDArray[np.intp]) -> Whose:
        """Whose the rows at these places are."""
        return evolve(self, codes=self.codes[places])


class TakenColumns(Mapping[str, Codes]):
    """Columns at some of the rows, taken when they are asked for."""

    def __init__(self, columns: Mapping[str, Codes], places: NDArray[np.intp]) -> None:
        self._columns, self._places = columns, places
        self._taken: dict[str, Codes] = {}

    def __getitem__(self, name: str) -> Codes:
        if name not in self._taken:
            self._taken[name] = self._columns[name][self._places]
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@frozen(eq=False, repr=False)
class Block:
    """Some rows. No repr: nothing should ever print one."""

    columns: Mapping[str, Codes]
    """Codes, or blanks (see `columns`)."""
    length: int
    multiplicity: Integers | None = None
    """How many records each row stands for; None means one each."""
    bits: Bits | None = None
    """Which sparse features the rows have, where the schema declares any: they are columns too, by their names."""
    steps: Mapping[str, Codes] = field(factory=dict)
    """Of columns of numbers, each row's step on the column's grain."""
    whose: Whose | None = None
    """Whose the rows are, where the schema declares a person."""

    def __attrs_post_init__(self) -> None:
        """Let features be found among the columns."""
        if self.bits is not None:
            object.__setattr__(self, "columns", BitsColumns(self.columns, self.bits))

    @property
    def records(self) -> int:
        """How many records the rows stand for."""
        return self.length if self.multiplicity is None else int(self.multiplicity.sum())

    def count(self, rows: Truths) -> int:
        """How many records some of the rows stand for."""
        return int(rows.sum() if self.multiplicity is None else self.multiplicity[rows].sum())

    def where(self, conditions: Where) -> Block:
        """The rows that meet every condition."""
        if not conditions:
            return self
        keep = np.ones(self.length, dtype=np.bool_)
        for name, codes in conditions:
            column = self.columns[name]
            keep &= column == codes[0] if len(codes) == 1 else np.isin(column, codes)
        places = np.flatnonzero(keep)
        if self.bits is not None:
            return self.rows(places)
        # What is asked of them is about few columns.
        taken, steps = TakenColumns(self.columns, places), TakenColumns(self.steps, places)
        return self._picked(places, len(places), taken, steps)

    def rows(self, places: NDArray[np.intp]) -> Block:
        """The rows at these places."""
        bits = None if self.bits is None else self.bits.rows(places)
        return self._picked(places, len(places), _taken(self.columns, places), _taken(self.steps, places), bits)

    def part(self, rows: slice) -> Block:
        """Some rows that stand one after the other."""
        bits = None if self.bits is None else self.bits.part(rows.start, rows.stop)
        length = rows.stop - rows.start
        return self._picked(rows, length, _taken(self.columns, rows), _taken(self.steps, rows), bits)

    def cut(self, most: int) -> Iterable[Block]:
        """The rows, at most so many at once; nothing where there are none."""
        if 0 < self.length <= most:
            return (self,)
        return (self.part(slice(start, min(start + most, self.length))) for start in range(0, self.length, most))

    def _picked(
        self,
        at: slice | NDArray[np.intp],
        length: int,
        columns: Mapping[str, Codes],
        steps: Mapping[str, Codes],
        bits: Bits | None = None,
    ) -> Block:
        """What these are of some rows, with how often each is there and whose it is."""
        times = None if self.multiplicity is None else self.multiplicity[at]
        return Block(columns, length, times, bits, steps, None if self.whose is None else self.whose.rows(at))

    def full(self, names: Iterable[str], schema: Schema) -> Block:
        """These columns of the rows that have a value in all of them; the block itself where no row has a blank."""
        wanted = tuple(dict.fromkeys(names))
        keep = self.filled(wanted, schema)
        if keep is None:
            return self
        places = np.flatnonzero(keep)
        return self._picked(places, len(places), {name: self.columns[name][places] for name in wanted}, {})

    def having(self, names: Iterable[str], schema: Schema) -> Block:
        """All columns of the rows that have a value in all of these; the block itself where no row has a blank."""
        keep = self.filled(names, schema)
        return self if keep is None else self.rows(np.flatnonzero(keep))

    def labelled(self, schema: Schema) -> Block:
        """The rows to learn from: those that have a label, where the schema names one."""
        return self if schema.label is None else self.having((schema.label,), schema)

    def filled(self, names: Iterable[str], schema: Schema) -> Truths | None:
        """Which rows have a value in all of these columns; None where all do."""
        keep = None
        for name in names:
            if self._has_blanks(name, schema):
                here = self.columns[name] != schema[name].blank
                keep = here if keep is None else keep & here
        return keep

    def first_for_blank(self, names: Iterable[str], schema: Schema) -> Block:
        """The same rows with the first code in place of a blank in these columns: where branches send it."""
        blanks = [name for name in names if self._has_blanks(name, schema)]
        if not blanks:
            return self
        first = {
            name: np.where(codes == schema[name].blank, 0, codes) for name in blanks for codes in [self.columns[name]]
        }
        return Block({**self.columns, **first}, self.length, self.multiplicity, self.bits, self.steps, self.whose)

    def _has_blanks(self, name: str, schema: Schema) -> bool:
        blank = schema[name].blank
        return blank is not None and bool(self.columns[name].max(initial=0) == blank)

    def numbers(self, name: str, schema: Schema) -> Integers:
        """Each row's step on the grain of a column; its bin's middle, where all that is known is a bin.

        So it is in a grid, whose records are cells. Of bins that are one wide, as there, it is the lower end.
        """
        if name in self.steps:
            return self.steps[name].astype(np.int64)
        return _steps_of_bins(self.columns[name], schema, name)

    def keys(self, names: tuple[str, ...], schema: Schema) -> Integers:
        """Each row's place among all combinations of the named columns' codes, in row-major order; none is a blank.

        Combinations are at most 2**63, so places fit, and everything on the way to them.
        """
        keys = np.zeros(self.length, dtype=np.int64)
        for name in names:
            keys *= schema[name].size
            keys += self.columns[name].astype(np.int64)
        return keys


def _taken(columns: Mapping[str, Codes], at: slice | NDArray[np.intp]) -> dict[str, Codes]:
    return {name: codes[at] for name, codes in columns.items()}


def grain_in(schema: Schema, name: str) -> Grain:
    """The grain of a column of numbers; refuse any other."""
    column = schema.by_name.get(name)
    grain = column.grain if isinstance(column, Numeric) else None
    if grain is None:
        column = _numeric(schema, name)
        raise TableError(
            f"the bounds of {name!r}, {column.low:g} and {column.high:g}, are too close for numbers of their size",
            fix="declare the column as numbers from a public starting point",
        )
    return grain


def _numeric(schema: Schema, name: str) -> Numeric:
    column = schema[name]
    if not isinstance(column, Numeric):
        raise TableError(
            f"{name!r} is a column of categories, not of numbers",
            fix=f'db.histogram("{name}", epsilon=0.1) counts each of them',
        )
    return column


def _steps_of_bins(codes: Codes, schema: Schema, name: str) -> Integers:
    column, grain = _numeric(schema, name), grain_in(schema, name)
    bins = np.minimum(codes.astype(np.int64), column.bin_count - 1)
    if column.edges:
        edges = np.array(column.edges)
        left, right = edges[bins], edges[bins + 1]
    else:
        width = (float(column.high) - float(column.low)) / column.bins
        left, right = float(column.low) + width * bins, float(column.low) + width * (bins + 1)
    steps = grain.steps(np.where(right - left == 1, left, (left + right) / 2))
    steps[codes >= column.bin_count] = grain.none
    return steps
