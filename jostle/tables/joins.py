"""Rows with columns of another table: of the same persons, or public ones by a key.

*With a private table*, by the person alone, where both have one row a person. A row of the result is a function of one
person's row here and of the same person's row there, so one person more or less is one row more or less, and one whose
rows become others has one row that becomes another. By anything else, one row there could be in many rows here (a
doctor in those of all patients), and no bound on rows would bound a person.

*With a public table*, by a key. What a row gets is a public function of its own cell in the column of keys. Whether
keys are declared, and stand once, is looked at before any private row is read, and no row can make a join fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import TableError, described, shown
from jostle.given import given_items
from jostle.tables import readers
from jostle.tables.block import Block, Codes, Where, Whose, grain_in
from jostle.tables.columns import Categorical, Column, Numeric
from jostle.tables.encode import DROPPED, Cells, Census, empty_code, encode_public, strict, texts_of, with_columns
from jostle.tables.engines import (
    Fold,
    Folded,
    MemorySource,
    OtherSource,
    Partial,
    RowSource,
    RowView,
    TableSource,
    viewed,
)
from jostle.tables.fields import Integers
from jostle.tables.frames import check_columns, frame_columns
from jostle.tables.infer import infer_public
from jostle.tables.kernels import Kernel
from jostle.tables.origins import RowOrigin, check_public, read_public
from jostle.tables.persons import PUBLIC_KEY, bounded, check_persons, distinct, joined_whose
from jostle.tables.schema import Schema
from jostle.tables.sources import joined_blocks

WAYS_OUT = (
    "table.per_person(...) makes one row a person of both, which are joined on the person; of what is public, "
    'table.join_public(frame, on="ward")'
)
WIDEST_TABLE = 1 << 16
"""Keys no larger than this are looked up in a table."""
KEYS_ONCE = "a row gets the columns of one public row, or of none"


# Public columns by a key


@frozen(eq=False, repr=False)
class Lookup:
    """Public columns, and the keys that they are looked up by."""

    on: str
    """The column whose cells are keys."""
    keys: Integers
    """Codes of that column, or its steps where it is one of numbers: rising."""
    columns: tuple[tuple[str, Column], ...]
    codes: Mapping[str, NDArray[np.int32]]
    """By column, the code for each key, and one more for what has no match."""
    steps: Mapping[str, Codes]

    def added(self, block: Block, schema: Schema) -> Block:
        """A block with these columns as well."""
        places = self.places(block, schema)
        coded = {name: codes[places] for name, codes in self.codes.items()}
        stepped = {name: steps[places] for name, steps in self.steps.items()}
        return with_columns(block, coded, stepped, dict(self.columns))

    def places(self, block: Block, schema: Schema) -> Integers:
        """The place of each row's key, one more than the last where it has no match."""
        numbers = isinstance(schema[self.on], Numeric)
        cells: NDArray[Any] = block.numbers(self.on, schema) if numbers else block.columns[self.on]
        last, none = int(self.keys[-1]), len(self.keys)
        if last < WIDEST_TABLE:
            table = np.full(last + 2, none)
            table[self.keys] = np.arange(none)
            return np.asarray(table[np.minimum(cells, np.int64(last + 1))])  # of a type that holds it
        places = np.searchsorted(self.keys, cells)
        places[self.keys[np.minimum(places, none - 1)] != cells] = none
        return places


def lookup(
    frame: Any, on: str, columns: Mapping[str, Column] | Iterable[str] | None, schema: Schema
) -> tuple[Lookup, Schema]:
    """The columns of a public frame, or file, by a column of keys, and the public facts about rows that have them.

    Keys that are not declared, or there twice, are refused.
    """
    given: object = Path(frame) if isinstance(frame, str | Path) else frame
    content = read_public(given) if isinstance(given, Path) else None
    origin = RowOrigin.of(given if content is None else content)
    check_public(origin)
    key = _key_column(on, schema)
    if content is None:
        cells, length = frame_columns(frame)
    else:
        cells = dict(readers.read_columns(content, readers.header(content)))
        length = max(map(len, cells.values()), default=0)
    check_columns(tuple(cells), (on,), "the public frame")
    if not length:
        raise TableError("the public frame has no rows", fix="give one with a row for each key")
    added = _declared(cells, on, columns, schema)
    places = _keys(cells[on], on, key)
    order = np.argsort(places)
    codes: dict[str, NDArray[np.int32]] = {}
    steps: dict[str, Codes] = {}
    for name, column in added.items():
        coded, stepped, unknown = encode_public(cells[name], column)
        if unknown is not None:
            raise TableError(
                f"the public frame has {_said(cells[name], unknown)} in {shown(name)}, which is not declared",
                fix="declare it, or leave columns out: they are read off the public frame then",
            )
        codes[name] = np.append(coded[order], np.int32(empty_code(column)))
        if stepped is not None and isinstance(column, Numeric) and column.grain is not None:
            steps[name] = np.append(stepped[order], stepped.dtype.type(column.grain.none))
    read_off = (schema.inferred_from or RowOrigin()).beside(origin)
    facts = evolve(schema, columns={**dict(schema.columns), **added}, inferred_from=read_off)
    return Lookup(on, places[order], tuple(added.items()), codes, steps), facts


def _key_column(on: object, schema: Schema) -> Column:
    """The private column that rows are looked up by."""
    if isinstance(on, str) and on == schema.person:
        raise TableError(
            f"{shown(on)} says who a person is, and no public table is looked up by it",
            why="what is known of single persons is private, and so is who is in the table",
            fix=f"Table.from_frame(frame, schema), and table.join(other, on={on!r})",
        )
    if not isinstance(on, str) or on not in schema:
        raise TableError(
            f"{described(on)} is no column of the table",
            why="keys are cells of a declared column",
            fix=f"one of {', '.join(map(repr, schema.names))}",
        )
    column = schema[on]
    if isinstance(column, Numeric) and column.unit is None:
        raise TableError(
            f"{shown(on)} has numbers without a unit, of which no two need be the same",
            fix="unit=1 says that it has whole numbers",
        )
    return column


def _declared(
    cells: Mapping[str, Cells], on: str, columns: Mapping[str, Column] | Iterable[str] | None, schema: Schema
) -> dict[str, Column]:
    """The public columns that are wanted: as they are declared, or else read off the public rows."""
    if columns is None:
        names = tuple(name for name in cells if name != on)
    elif isinstance(columns, Mapping):
        names = tuple(columns)
    else:
        names = given_items(columns, "columns by name", fix='columns={"beds": Numeric(0, 100)}', error=TableError)
    check_columns(tuple(cells), names, "the public frame")
    for name in names:
        if name in {*schema.sources, *schema.identifiers, schema.person}:
            raise TableError(
                f"the table and the public frame both have a column {shown(name)}",
                fix="rename one, or name the others: columns=[...]",
            )
    if isinstance(columns, Mapping):
        return dict(Schema(columns).columns)
    read = dict(infer_public({name: cells[name] for name in names}).columns) if names else {}
    if not read:
        raise TableError("the public frame has no columns to add", fix="columns=[...], of those beside the key")
    return read


def _keys(cells: Cells, on: str, column: Column) -> Integers:
    """The key of each public row; refuse one that is not declared, empty, or there twice."""
    codes, steps, unknown = encode_public(cells, strict(column))
    if unknown is None and (codes == DROPPED).any():
        unknown = int(np.argmax(codes == DROPPED))
    if unknown is not None:
        raise TableError(
            f"the public frame has {_said(cells, unknown)} in {shown(on)}, which is not declared",
            why="no row of the table has such a cell, and what was meant may be written otherwise",
            fix="declare it in the schema, or leave its row out of the public frame",
        )
    keys = (codes if steps is None or isinstance(column, Categorical) else steps).astype(np.int64)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    if (counts > 1).any():
        twice = int(first[np.argmax(counts > 1)])
        raise TableError(
            f"the public frame has {_said(cells, twice)} in {shown(on)} twice",
            why=KEYS_ONCE,
            fix=f"one row for each {on}",
        )
    return keys


def _said(cells: Cells, row: int) -> str:
    """What a public cell says."""
    text = texts_of(cells)[row]
    return "an empty cell" if text is None else shown(text)


@frozen(eq=False, repr=False)
class LookupSource(OtherSource, TableSource):
    """The rows of another source, with public columns that are looked up for each row."""

    schema: Schema
    rows: Any
    """A `TableSource`; once the rows are bounded, a `RowSource`."""
    lookup: Lookup

    def bounded(self, key: bytes) -> RowSource:
        """The same of the rows that are held of each person; of rows in memory, with the columns written out."""
        rows = self.rows.bounded(key)
        if not isinstance(rows, MemorySource):
            return evolve(self, rows=rows)
        return MemorySource.of_block(self.schema, self.lookup.added(rows.whole, rows.schema), rows.identity)

    def fold(self, fold: Folded) -> Folded:
        whole: Folded = self.rows.fold(_LookupFold(fold, self.lookup, self.rows.schema)).fold
        return whole

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        kernel.cells(self.schema)
        tally: Partial = self.rows.tally(viewed(kernel, _WithLookup(self.schema, self.lookup), where), ())
        return tally


@frozen
class _WithLookup(RowView):
    """Rows with the columns that are looked up as well."""

    lookup: Lookup

    def block(self, block: Block, schema: Schema) -> Block:
        return self.lookup.added(block, schema)


# Private columns of the same persons


def joined_schema(left: Schema, right: Schema, on: object) -> Schema:
    """The public facts about the persons of both; refuse tables that are not of the same persons, a row each."""
    for schema in (left, right):
        if schema.person is None:
            raise TableError(
                "two private tables are joined on the person, and one of them names none",
                why="by any other column, one row there could be in many rows here, and no bound would hold",
                fix=f'Schema(columns, person="patient_id", people="ward 7"); {WAYS_OUT}',
            )
    if not isinstance(on, str) or on not in {left.person, right.person}:
        raise TableError(
            f"two private tables are not joined on {described(on)}",
            why="one person there could be in the rows of many here, and no bound on rows would bound a person",
            fix=f"on={left.person!r}; {WAYS_OUT}",
        )
    for schema, which in ((left, "this table"), (right, "the other")):
        if schema.rows_per_person != 1:
            raise TableError(
                f"{which} has up to {schema.rows_per_person:,} rows a person",
                why="every row of a person here would meet every one there",
                fix=f"rows_per_person=1, where a person has one; {WAYS_OUT}",
            )
    if left.people is None or left.people != right.people:
        raise TableError(
            "nothing says that the persons of both tables are of one population",
            why="what is asked of both together is paid for by the promise that these people were given",
            fix='people="ward 7" in both schemas, where they are',
        )
    if left.neighbours != right.neighbours:
        raise TableError(
            f"one table is private under {left.neighbours}, and the other under {right.neighbours}",
            fix="schema.with_neighbours(...), alike in both",
        )
    if right.features is not None:
        raise TableError("the other table has features of texts", fix="other.join(table, on=...), if this one has none")
    taken = {*left.sources, *left.identifiers, *(left.features.places if left.features is not None else ())}
    if twice := [name for name in right.names if name in taken]:
        raise TableError(
            f"both tables have a column {shown(twice[0])}",
            fix=f'give it another name: other.per_person(other_name="commonest {twice[0]}")',
        )
    return evolve(
        left,
        columns=dict((*left.columns, *right.columns)),
        label=left.label or right.label,
        identifiers=(*left.identifiers, *(name for name in right.identifiers if name not in left.identifiers)),
        inferred_from=(left.inferred_from or RowOrigin()).beside(right.inferred_from or RowOrigin()),
    )


def joined_rows(mine: Block, theirs: Block, schema: Schema, census: Census, *, inner: bool) -> Block:
    """Rows of persons here, with what the same persons have there; both have a row a person.

    What they have there is empty where they are not there. A census is told how many that are.
    """
    here, there = check_persons(mine.whose, schema), check_persons(theirs.whose, schema)
    persons = distinct(joined_whose([here, there])).codes
    row_of = np.full(max(int(persons.max(initial=0)) + 1, 1), theirs.length)
    row_of[persons[mine.length :]] = np.arange(theirs.length)
    match = row_of[persons[: mine.length]]
    missed = int(np.count_nonzero(match == theirs.length))
    census.alone = missed, theirs.length - (mine.length - missed)
    if inner:
        both = np.flatnonzero(match < theirs.length)
        mine, match = mine.rows(both), match[both]
    columns = {name: schema[name] for name in theirs.columns}
    codes = {
        name: np.append(theirs.columns[name].astype(np.int32), np.int32(empty_code(column)))[match]
        for name, column in columns.items()
    }
    steps = {
        name: np.append(steps, steps.dtype.type(grain_in(schema, name).none))[match]
        for name, steps in theirs.steps.items()
    }
    return with_columns(mine, codes, steps, columns, census)


@frozen(eq=False, repr=False)
class RowsFold(Fold):
    """All rows of a table, in memory."""

    schema: Schema
    blocks: tuple[Block, ...] = ()

    def of(self, block: Block) -> RowsFold:
        return evolve(self, blocks=(block,))

    def merged(self, other: RowsFold) -> RowsFold:
        return evolve(self, blocks=(*self.blocks, *other.blocks))

    def rows(self) -> Block:
        """One row a person: of several, one that is held by the rule of `persons`, which looks at these alone."""
        whole = joined_blocks(list(self.blocks), self.schema)
        whose = distinct(check_persons(whole.whose, self.schema))
        held = bounded(evolve(whole, columns=dict(whole.columns), whose=whose), self.schema, PUBLIC_KEY)
        codes = check_persons(held.whose, self.schema).codes
        return evolve(held, columns=dict(held.columns), whose=Whose(codes, whose.names))  # which bounding forgets


@frozen(eq=False, repr=False)
class MatchFold(Fold):
    """How many rows have no match among public keys."""

    lookup: Lookup
    schema: Schema
    missed: int = 0

    def of(self, block: Block) -> MatchFold:
        places = self.lookup.places(block, self.schema)
        return evolve(self, missed=int(np.count_nonzero(places == len(self.lookup.keys))))

    def merged(self, other: MatchFold) -> MatchFold:
        return evolve(self, missed=self.missed + other.missed)


@frozen(eq=False, repr=False)
class _LookupFold(Fold):
    """A fold of rows with public columns as well."""

    fold: Fold
    lookup: Lookup
    schema: Schema

    def of(self, block: Block) -> _LookupFold:
        return evolve(self, fold=self.fold.of(self.lookup.added(block, self.schema)))

    def merged(self, other: _LookupFold) -> _LookupFold:
        return evolve(self, fold=self.fold.merged(other.fold))
