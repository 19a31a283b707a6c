"""Turn columns of values into columns of codes, and tell the owner, and nobody else, what became of the rows.

Whether a table is empty, has no label left or one class only, holds values that its schema does not declare: all that
depends on rows, down to a single one. So nothing that answers about a table says it. A table's owner, who has the rows,
is told when it is opened, by `Table.notes`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, time
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from jostle.tables.block import Block, Codes, code_type
from jostle.tables.columns import MISSING, OTHER, Categorical, Column, Numeric
from jostle.tables.features import Bits
from jostle.tables.fields import Floats, Integers
from jostle.tables.persons import NOBODY, Repeats, whose_rows
from jostle.tables.schema import Schema
from jostle.tables.values import (
    EMPTY,
    UNSAID,
    as_numbers,
    as_texts,
    by_type,
    chunks,
    is_text,
    number_in,
    one_by_one,
    plain,
    same_however_written,
    time_in,
)


class CellCensus(NamedTuple):
    """How many cells of a column were read as something else than they are."""

    dropped: int = 0
    """With their rows: they are empty or undeclared."""
    blank: int = 0
    """Empty or undeclared, and out of what is asked about the column."""
    moved: int = 0
    """Numbers out of bounds, to the nearest bin."""
    other: int = 0
    """Undeclared, to the one extra value for all such."""
    missing: int = 0
    """Empty, to an extra value."""

    def merged(self, more: CellCensus) -> CellCensus:
        """Both together."""
        return CellCensus(*map(operator.add, self, more))


@define
class Census:
    """Counts of rows and cells, added up while they are read. As private as the rows."""

    rows: int = 0
    """Rows that were read, dropped ones included."""
    dropped: int = 0
    """Rows that were dropped for what a cell holds."""
    nobody: int = 0
    """Rows without a person, where the schema declares one."""
    lines: int | None = None
    """Lines of a CSV file; those that are not whole are no rows."""
    cells: dict[str, CellCensus] = field(factory=dict)
    """By column."""
    repeats: dict[str, Repeats] = field(factory=dict)
    """By column of identifiers, of those that the data have."""
    alone: tuple[int, int] = (0, 0)
    """Of a table that was joined with another, how many persons are in this one alone, and how many in the other."""
    unmatched: tuple[tuple[str, int], ...] = ()
    """Of a table with public columns, by the column of keys, how many rows have no match."""

    def count(self, name: str, column: Column, *, dropped: int, moved: int, codes: NDArray[np.int32]) -> None:
        """Add a column's cells."""
        extra = (
            column.blank,
            column.other_code if column.outside == "other" else None,
            column.missing_code if column.missing == "value" else None,
        )
        blank, other, missing = (0 if code is None else int(np.count_nonzero(codes == code)) for code in extra)
        cells = CellCensus(dropped, blank, moved, other, missing)
        self.cells[name] = self.cells.get(name, CellCensus()).merged(cells)

    def add(self, more: Census) -> None:
        """Add what was found in other rows of the table."""
        self.rows += more.rows
        self.dropped += more.dropped
        self.nobody += more.nobody
        if more.lines is not None:
            self.lines = (self.lines or 0) + more.lines
        for name, cells in more.cells.items():
            self.cells[name] = self.cells.get(name, CellCensus()).merged(cells)
        for name, repeats in more.repeats.items():
            self.repeats[name] = self.repeats.get(name, Repeats()).merged(repeats)


def counted_columns(schema: Schema, there: Iterable[object]) -> tuple[str, ...]:
    """The columns that a census for the owner goes by: sources, and those of identifiers that the data have."""
    sources, names = schema.sources, list(there)
    return (*sources, *(name for name in schema.identifiers if names.count(name) == 1 and name not in sources))


def of_persons(rows: int = 0, persons: int = 0, *, schema: Schema) -> Iterator[str]:
    """Yield what is to be said of rows that are not held."""
    if rows:
        yield (
            f"{_many(rows, 'row')} of {_many(persons, 'person')} {_are(rows)} beyond {schema.rows_per_person}, "
            "and left out"
        )


def notes(census: Census, kept: int, labels: Mapping[str, int], schema: Schema) -> Iterator[str]:
    """Yield the owner's warnings, in sentences; *kept* rows are left, with so many of each label."""
    torn = 0 if census.lines is None else census.lines - census.rows
    if torn > 0:
        yield f"{_many(torn, 'line')} of the file {_are(torn)} not whole, and left out"
    yield from _without_match(census)
    if not census.rows:
        yield "the table has no rows"
    elif census.dropped:
        yield _left_out(census, kept, schema)
    yield from _without_numbers(census, schema)
    if schema.rows is not None and schema.rows != kept:
        yield f"the schema says that there are {_many(schema.rows, 'row')}, and there {_are(kept)} {kept:,}"
    if not kept:
        return
    present = [label for label, count in labels.items() if count]
    if labels and len(present) == 1:
        yield f"all rows have {present[0]!r} as {schema.label!r}: there is nothing to tell apart"
    elif absent := [label for label, count in labels.items() if not count and label not in {OTHER, MISSING}]:
        yield f"no row has {', '.join(map(repr, absent))} as {schema.label!r}"
    for name, cells in census.cells.items():
        yield from _column_notes(name, schema[name], cells, census.rows)
    for name, repeats in census.repeats.items():
        yield from _repeated(name, repeats.most, schema)


def _left_out(census: Census, kept: int, schema: Schema) -> str:
    empty = {name: cells.dropped for name, cells in census.cells.items()}
    if census.nobody and schema.person is not None:
        empty[schema.person] = census.nobody
    by = ", ".join(f"{name!r} in {count:,}" for name, count in empty.items() if count)
    rows = f"{census.dropped:,} of {_many(census.rows, 'row')} {_are(census.dropped)}"
    every = f"all {census.rows:,} rows are" if census.rows > 1 else "the only row is"
    return f"{rows if kept else every} left out: empty or not declared is {by}"


def _repeated(name: str, most: int, schema: Schema) -> Iterator[str]:
    if most > 1 and schema.person is None:
        yield (
            f"one value of {name!r} stands in {most:,} rows: rows are protected, not who they are about; "
            f"person={name!r} in the schema protects those"
        )
    elif most > 1 and name != schema.person:
        yield f"one value of {name!r} stands in {most:,} rows: who {schema.person!r} names is protected, and no other"


def _without_match(census: Census) -> Iterator[str]:
    for key, missed in census.unmatched:
        if missed:
            yield f"{_many(missed, 'row')} of the table {'has' if missed == 1 else 'have'} no {key!r} that is public"
    here, there = census.alone
    if here:
        yield f"{_many(here, 'person')} of the table {_are(here)} not in the one it was joined with"
    if there:
        yield f"{_many(there, 'person')} of the table it was joined with {_are(there)} not in this one, and left out"


def _without_numbers(census: Census, schema: Schema) -> Iterator[str]:
    for name, cells in census.cells.items():
        column, empty = schema[name], max(cells.dropped, cells.blank, cells.missing)
        if isinstance(column, Numeric) and column.clock is None and empty == census.rows > 1:
            yield f"{name!r} has no numbers; dates and times are declared as Dates(start, end)"


def _column_notes(name: str, column: Column, found: CellCensus, rows: int) -> Iterator[str]:
    if found.missing == rows:
        yield f"{name!r} is empty in all rows"
    if found.blank:
        cells = f"{_many(found.blank, 'cell')} of {name!r} {_are(found.blank)}"
        rows_of = "its row takes" if found.blank == 1 else "their rows take"
        yield f"{cells} {_what_is_blank(column)}: {rows_of} no part in what is asked about {name!r}"
    if found.moved:
        yield (
            f"{_many(found.moved, 'number')} of {name!r} {_are(found.moved)} outside{_bounds(column)}, "
            f"and {_counts(found.moved)} as its ends"
        )
    if found.other:
        cells = f"{_many(found.other, 'cell')} of {name!r} {_are(found.other)}"
        yield f"{cells} not declared, and {_counts(found.other)} as {OTHER!r}"


def _what_is_blank(column: Column) -> str:
    words = {"missing": "empty", "outside": "not declared"}
    if isinstance(column, Numeric):
        words = {"missing": "empty, or no number", "outside": "out of bounds"}
    return " or ".join(word for policy, word in words.items() if getattr(column, policy) == "blank")


def _bounds(column: Column) -> str:
    if isinstance(column, Categorical):
        return ""
    if column.clock is not None:
        return f" {column.clock.written(column.low)} to {column.clock.written(column.high)}"
    return f" {column.low:g} to {column.high:g}"


def _counts(count: int) -> str:
    return "counts" if count == 1 else "count"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + "s" * (count != 1)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


Cells: TypeAlias = pa.Array | pa.ChunkedArray | list[object]
"""A column of one type, or of Python objects each of its own."""

Signed = NDArray[np.int32]
"""Codes that may be DROPPED, or say of a number that it was moved to an end (see `_moved`)."""

Coded = TypeVar("Coded", bound=np.integer[Any])

DROPPED = -1
SINGLE_DIGITS = 6
"""A number of so few digits is found as the nearest float of 32 bits as well, which no other such number is."""
WIDEST_TABLE = 1 << 10
"""Whole numbers no farther apart than this are looked up in a table."""


def encode_block(
    columns: Mapping[str, Cells],
    schema: Schema,
    length: int,
    census: Census | None = None,
    bits: Bits | None = None,
    *,
    multiplicity: Integers | None = None,
) -> Block:
    """The rows as codes, without those that a column's policy drops; a census counts what became of cells.

    Sparse features are read from the column of texts that the schema names, unless they are given. Columns that are not
    there are not in the block either.
    """
    encoded, steps = {}, {}
    keep = np.ones(length, dtype=np.bool_)
    for name, column in schema.columns:
        if name not in columns:
            continue
        marked, steps[name] = _encoded(columns[name], column)
        encoded[name] = codes = _unmarked(marked)
        here = codes != DROPPED
        keep &= here
        if census is not None:
            dropped, moved = length - int(np.count_nonzero(here)), int(np.count_nonzero(marked < DROPPED))
            census.count(name, column, dropped=dropped, moved=moved, codes=codes)
    whose = None if schema.person is None or schema.person not in columns else whose_rows(columns[schema.person])
    if whose is not None:
        here = whose.codes != NOBODY
        keep &= here
        if census is not None:
            census.nobody += length - int(np.count_nonzero(here))
    if census is not None:
        census.rows += length
        census.dropped += length - int(np.count_nonzero(keep))
        repeats = {name: Repeats.of(columns[name]) for name in schema.identifiers if name in columns}
        census.add(Census(repeats=repeats))
    if bits is None and schema.features is not None and (texts := schema.features.column) in columns:
        bits = schema.features.bits_of(texts_of(columns[texts]))
    narrow = {name: codes.astype(code_type(held(schema[name]))) for name, codes in encoded.items()}
    kept = {name: places for name, places in steps.items() if places is not None}
    block = Block(narrow, length, multiplicity, bits, kept, whose)
    return block if keep.all() else block.rows(np.flatnonzero(keep))


def held(column: Column) -> int:
    """How many different numbers a block has of a column: its codes, and perhaps a blank."""
    return column.size + (column.blank is not None)


def with_columns(
    block: Block,
    codes: Mapping[str, Signed],
    steps: Mapping[str, Codes],
    columns: Mapping[str, Column],
    census: Census | None = None,
) -> Block:
    """The rows with more columns, without those that these drop; a census counts what became of cells."""
    narrow = {name: codes[name].astype(code_type(held(column))) for name, column in columns.items()}
    more = evolve(block, columns={**block.columns, **narrow}, steps={**block.steps, **steps})
    keep = np.ones(block.length, dtype=np.bool_)
    for name, column in columns.items():
        here = codes[name] != DROPPED
        keep &= here
        if census is not None:
            census.count(name, column, dropped=int(np.count_nonzero(~here)), moved=0, codes=codes[name])
    if census is not None:
        census.rows += block.length
        census.dropped += int(np.count_nonzero(~keep))
    return more if keep.all() else more.rows(np.flatnonzero(keep))


def empty_code(column: Column) -> int:
    """The code of an empty cell, DROPPED where its row is dropped."""
    return int(encode_column(pa.nulls(1, pa.large_string()), column)[0])


def strict(column: Column) -> Column:
    """The column, where a row is dropped for an empty or undeclared cell."""
    return evolve(column, outside="drop", missing="drop")


def encode_public(values: Cells, column: Column) -> tuple[Signed, Codes | None, int | None]:
    """The codes and steps of public cells, and where the first is that is neither empty nor declared, if one is."""
    unknown = np.empty(0, dtype=np.intp)
    if column.outside != "other" and (dropped := encode_column(values, strict(column)) == DROPPED).any():
        said = texts_of(values)
        unknown = np.array([row for row in np.flatnonzero(dropped) if said[row] is not None], dtype=np.intp)
    first = int(unknown[0]) if unknown.size else None
    marked, steps = _encoded(values, column)
    return _unmarked(marked), steps, first


def texts_of(values: Cells) -> list[str | None]:
    """Each cell as a text, None for an empty one; numbers, truths and moments in one way, however they came."""
    if isinstance(values, list):
        texts: list[str | None] = [None] * len(values)
        for places, cells in by_type(values):
            for row, text in zip(places.tolist(), texts_of(cells), strict=True):
                texts[row] = text
        return texts
    return [text for chunk in _chunks(values) for text in _written(chunk)]


def _written(values: pa.Array | list[object]) -> list[str | None]:
    if isinstance(values, list):
        return texts_of(values)
    if not pa.types.is_dictionary(values.type):
        return [same_however_written(text) for text in as_texts(values).to_pylist()]
    entries = _written(plain(values.dictionary))
    return [None if entry is None else entries[entry] for entry in values.indices.to_pylist()]


def _chunks(values: pa.Array | pa.ChunkedArray) -> list[pa.Array | list[object]]:
    """A column in parts: Arrow's arrays, or objects where it has no single values."""
    parts = list(map(plain, chunks(values)))
    return [part if objects is None else objects for part, objects in zip(parts, map(one_by_one, parts), strict=True)]


def encode_column(values: Cells, column: Column) -> Signed:
    """The code of each value, -1 where its row is to be dropped."""
    return _unmarked(_encoded(values, column)[0])


def _encoded(values: Cells, column: Column) -> tuple[Signed, Codes | None]:
    """The codes, numbers that were moved being marked, and of numbers the steps on their column's grain."""
    if isinstance(values, list):
        if isinstance(column, Numeric):
            numbers = np.full(len(values), np.nan)
            for places, cells in by_type(values):
                numbers[places] = _numbers(cells, column)
            return _bin(numbers, column), _steps(numbers, column)
        codes = np.full(len(values), _or_dropped(column.missing_code), dtype=np.int32)
        for places, cells in by_type(values):
            codes[places] = _encode(cells, column)
        return codes, None
    parts = [
        _encoded(chunk, column) if isinstance(chunk, list) else _encoded_array(chunk, column)
        for chunk in _chunks(values)
    ]
    if len(parts) == 1:
        return parts[0]
    codes = np.concatenate([np.empty(0, dtype=np.int32), *(codes for codes, _ in parts)])
    if isinstance(column, Categorical) or column.grain is None:
        return codes, None
    kept = [steps for _, steps in parts if steps is not None]
    return codes, np.concatenate(kept) if kept else np.empty(0, dtype=np.uint8)


def _encoded_array(values: pa.Array, column: Column) -> tuple[Signed, Codes | None]:
    if pa.types.is_dictionary(values.type):
        table, table_of_steps = _encoded_array(plain(values.dictionary), column)
        codes = _by_table(table, values.indices, _or_dropped(column.missing_code))
        if isinstance(column, Categorical) or column.grain is None or table_of_steps is None:
            return codes, None
        return codes, _by_table(table_of_steps, values.indices, column.grain.none)
    if isinstance(column, Categorical):
        return _encode(values, column), None
    numbers = _numbers(values, column)
    return _bin(numbers, column), _steps(numbers, column)


def binned(numbers: Floats, column: Numeric) -> tuple[Signed, Codes | None]:
    """The codes and steps of numbers in the units of a column; not-a-number is an empty cell."""
    return _unmarked(_bin(numbers, column)), _steps(numbers, column)


def _numbers(values: pa.Array, column: Numeric) -> Floats:
    return as_numbers(values) if column.clock is None else column.clock.numbers(values)


def _steps(numbers: Floats, column: Numeric) -> Codes | None:
    """The numbers' steps on the column's grain: its end for one that is moved there, none for one left out."""
    grain = column.grain
    if grain is None:
        return None
    steps = grain.steps(numbers)
    if column.outside != "clamp":
        steps[(numbers < column.low) | (numbers > column.high)] = grain.none
    return steps.astype(code_type(grain.none + 1))


def _encode(values: pa.Array, column: Categorical) -> Signed:
    kind = values.type
    if pa.types.is_integer(kind):
        return _encode_integers(values, column)
    if pa.types.is_floating(kind):
        # Not all versions of pyarrow find distinct ones of half width; how they are written goes by their width.
        distinct = (values.cast(pa.float32()) if kind == pa.float16() else values).dictionary_encode()
        table = _look_up(distinct.dictionary.cast(kind), column)
        return _by_table(table, distinct.indices, _or_dropped(column.missing_code))
    return _look_up(values, column)


def _by_table(table: NDArray[Coded], places: pa.Array, empty: int) -> NDArray[Coded]:
    """The table's entry for each place; *empty* for an empty place.

    A place outside the table, which only a damaged file has, is an empty cell as well: an error would tell of a row.
    """
    if places.null_count == 0:
        numbers = places.to_numpy()
        if not numbers.size or (numbers.min() >= 0 and numbers.max() < len(table)):
            entries: NDArray[Coded] = table[numbers]
            return entries
    codes = np.full(len(places), empty, dtype=table.dtype)
    present = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False))
    numbers = places.drop_null().to_numpy()
    there = (numbers >= 0) & (numbers < len(table))
    codes[present[there]] = table[numbers[there]]
    return codes


def _encode_integers(values: pa.Array, column: Categorical) -> Signed:
    """The codes of whole numbers, each distinct one looked up once."""
    bounds = pc.min_max(values).as_py()
    low, high = bounds["min"], bounds["max"]
    if low is None or high - low >= WIDEST_TABLE:
        distinct = values.dictionary_encode()
        return _by_table(_look_up(distinct.dictionary, column), distinct.indices, _or_dropped(column.missing_code))
    wide = pa.uint64() if low >= 0 else pa.int64()
    table = _look_up(pa.array(list(range(low, high + 1)), wide), column)
    places = pc.subtract(pc.cast(values, wide), pa.scalar(low, wide))
    return _by_table(table, places, _or_dropped(column.missing_code))


@frozen(eq=False)
class Declared:
    """A column's values, as cells are looked up among them.

    What a value becomes depends on that value and its column's declaration, whatever type it comes in. In particular
    nothing here raises because of what a cell holds: an error that one row can cause is an answer about that row.
    """

    texts: pa.Array
    numbers: pa.Array
    """Of the values that are numbers, how cells may hold them."""
    codes: Signed
    """Theirs."""
    moments: Mapping[datetime | time, int]
    """Codes of those that are moments, or times of day."""
    empty: pa.Array
    """Texts that are empty cells."""


@lru_cache(maxsize=4096)
def _declared(column: Categorical) -> Declared:
    numbers: dict[float, int] = {}
    moments: dict[datetime | time, int] = {}
    for code, text in enumerate(column.values):
        number, moment = number_in(text), time_in(text)
        if number is not None:
            numbers[number] = code
        if moment is not None:
            moments[moment] = code
    for number, code in list(numbers.items()):
        if float(f"{number:.{SINGLE_DIGITS}g}") == number:
            with np.errstate(over="ignore"):
                numbers.setdefault(float(np.float32(number)), code)
    texts = pa.array(column.values, pa.large_string())
    empty = pa.array([*EMPTY, *(UNSAID - set(column.values)), None], pa.large_string())
    codes = np.array([*numbers.values(), DROPPED], np.int32)
    return Declared(texts, pa.array(numbers, pa.float64()), codes, moments, empty)


def _look_up(values: pa.Array, column: Categorical) -> Signed:
    """The code of each cell: of the value that is the same, however it is written."""
    texts = as_texts(values).cast(pa.large_string())
    if is_text(values.type):
        values = texts
    declared = _declared(column)
    empty = pc.is_in(texts, declared.empty).to_numpy(zero_copy_only=False)
    codes = np.full(len(texts), DROPPED, dtype=np.int32)
    if not pa.types.is_floating(values.type):  # of which one number is written otherwise in another width
        codes = _places(texts, declared.texts)
    if (unknown := np.flatnonzero((codes == DROPPED) & ~empty)).size:
        numbers = as_numbers(values.take(pa.array(unknown))) + 0.0  # which makes zero of minus zero
        codes[unknown] = declared.codes[_places(pa.array(numbers, from_pandas=True), declared.numbers)]
    if declared.moments and (unknown := np.flatnonzero((codes == DROPPED) & ~empty)).size:
        distinct = texts.take(pa.array(unknown)).dictionary_encode()
        said = map(time_in, distinct.dictionary.to_pylist())
        table = [DROPPED if moment is None else declared.moments.get(moment, DROPPED) for moment in said]
        codes[unknown] = np.array(table, dtype=np.int32)[distinct.indices.to_numpy()]
    codes[(codes == DROPPED) & ~empty] = _or_dropped(column.other_code)
    codes[empty] = _or_dropped(column.missing_code)
    return codes


def _places(values: pa.Array, among: pa.Array) -> Signed:
    """The place of each value among others, -1 where it is not there or null."""
    places = pc.index_in(values, value_set=among, skip_nulls=True).fill_null(DROPPED)
    return np.array(places.to_numpy(zero_copy_only=False), dtype=np.int32)


def _bin(numbers: Floats, column: Numeric) -> Signed:
    low, high = float(column.low), float(column.high)
    codes = _bins_inside(np.where((numbers >= low) & (numbers <= high), numbers, low), column)
    below, above = numbers < low, numbers > high
    if column.outside == "clamp":
        codes[below] = _moved(0)
        codes[above] = _moved(column.bin_count - 1)
    else:
        codes[below | above] = _or_dropped(column.other_code)
    codes[np.isnan(numbers)] = _or_dropped(column.missing_code)
    return codes


def _bins_inside(numbers: Floats, column: Numeric) -> Signed:
    """The bins that numbers within bounds fall in."""
    last = column.bin_count - 1
    if column.edges:
        inner = np.array(column.edges[1:-1])
        return np.searchsorted(inner, numbers, side="right").astype(np.int32)
    low, width = float(column.low), float(column.high) - float(column.low)
    # Where the bins are as narrow as a schema allows, rounding puts a number at most one bin off.
    codes = np.minimum((numbers - low) / width * column.bins, last).astype(np.int64)
    codes -= numbers < low + width * codes / column.bins
    codes += (numbers >= low + width * (codes + 1) / column.bins) & (codes < last)
    return codes.astype(np.int32)


def _moved(code: int) -> int:
    """The mark of a number that was moved to this code from out of bounds: all marks are below DROPPED."""
    return DROPPED - 1 - code


def _unmarked(codes: Signed) -> Signed:
    """The codes that marks stand for."""
    return codes if codes.min(initial=DROPPED) == DROPPED else np.where(codes < DROPPED, DROPPED - 1 - codes, codes)


def _or_dropped(code: int | None) -> int:
    return DROPPED if code is None else code
