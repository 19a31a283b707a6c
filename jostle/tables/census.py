"""What became of the rows when they were read: told to the owner of a table, and to nobody else.

Whether a table is empty, has no label left or one class only, holds values that its schema does not declare: all that
depends on rows, down to a single one. So nothing that answers about a table says it. A table's owner, who has the rows,
is told when it is opened, by `Table.notes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from jostle.tables.columns import MISSING, OTHER, Categorical, Column, Numeric
from jostle.tables.schema import Schema

__all__ = ["Census", "notes"]


@define
class CellCensus:
    """How many cells of a column were read as something else than they are."""

    dropped: int = 0
    """With their rows: they are empty or undeclared."""
    moved: int = 0
    """Numbers out of bounds, to the nearest bin."""
    other: int = 0
    """Undeclared, to the one extra value for all such."""
    missing: int = 0
    """Empty, to an extra value."""

    def merged(self, more: CellCensus) -> CellCensus:
        """Both together."""
        return CellCensus(
            self.dropped + more.dropped, self.moved + more.moved, self.other + more.other, self.missing + more.missing
        )


@define
class Census:
    """Counts of rows and cells, added up while they are read. As private as the rows."""

    rows: int = 0
    """Rows that were read, dropped ones included."""
    dropped: int = 0
    """Rows that were dropped for what a cell holds."""
    lines: int | None = None
    """Lines of a CSV file; those that are not whole are no rows."""
    cells: dict[str, CellCensus] = field(factory=dict)
    """By column."""

    def count(self, name: str, column: Column, *, dropped: int, moved: int, codes: NDArray[np.int32]) -> None:
        """Add a column's cells."""
        other, missing = column.other_code, column.missing_code
        found = CellCensus(
            dropped,
            moved,
            0 if other is None else int(np.count_nonzero(codes == other)),
            0 if missing is None or missing == other else int(np.count_nonzero(codes == missing)),
        )
        self.cells[name] = self.cells.get(name, CellCensus()).merged(found)

    def add(self, more: Census) -> None:
        """Add what was found in other rows of the table."""
        self.rows += more.rows
        self.dropped += more.dropped
        if more.lines is not None:
            self.lines = (self.lines or 0) + more.lines
        for name, found in more.cells.items():
            self.cells[name] = self.cells.get(name, CellCensus()).merged(found)


def notes(census: Census, kept: int, labels: Mapping[str, int], schema: Schema) -> tuple[str, ...]:
    """The owner's warnings, in sentences; *kept* rows are left, with so many of each label."""
    return tuple(_notes(census, kept, labels, schema))


def _notes(census: Census, kept: int, labels: Mapping[str, int], schema: Schema) -> Iterator[str]:
    torn = 0 if census.lines is None else census.lines - census.rows
    if torn > 0:
        yield f"{_many(torn, 'line')} of the file {_are(torn)} not whole, and left out"
    if not census.rows:
        yield "the table has no rows"
    elif census.dropped:
        by = ", ".join(f"{name!r} in {found.dropped:,}" for name, found in census.cells.items() if found.dropped)
        rows = f"{census.dropped:,} of {_many(census.rows, 'row')} {_are(census.dropped)}"
        every = f"all {census.rows:,} rows are" if census.rows > 1 else "the only row is"
        yield f"{rows if kept else every} left out: empty or not declared is {by}"
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
    for name, found in census.cells.items():
        yield from _column_notes(name, schema[name], found, census.rows)


def _without_numbers(census: Census, schema: Schema) -> Iterator[str]:
    for name, found in census.cells.items():
        column, empty = schema[name], max(found.dropped, found.missing)
        if isinstance(column, Numeric) and column.clock is None and empty == census.rows > 1:
            yield f"{name!r} has no numbers; dates and times are declared as Dates(start, end)"


def _column_notes(name: str, column: Column, found: CellCensus, rows: int) -> Iterator[str]:
    if found.missing == rows:
        yield f"{name!r} is empty in all rows"
    if found.moved:
        yield (
            f"{_many(found.moved, 'number')} of {name!r} {_are(found.moved)} outside{_bounds(column)}, "
            f"and {_counts(found.moved)} as its ends"
        )
    if found.other:
        cells = f"{_many(found.other, 'cell')} of {name!r} {_are(found.other)}"
        yield f"{cells} not declared, and {_counts(found.other)} as {OTHER!r}"


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
