"""Rows of a query, where its database is: read in batches, or counted there.

Where a kernel needs a few columns alone, the database says how often each combination of their cells occurs. These are
encoded here, each once, and count as often as they occur: the same integers, since a code is a function of the cell.
Numbers are never added up by a database, and anything else, portions and persons, reads the rows.

All questions are about the rows of one moment, which the database keeps for as long as the connection lives. Nothing is
asked of rows that were counted elsewhere, so there is no hash of them, and no other snapshot is ever taken for one.

A promise is about rows of the query's *result*. Where a query only picks rows and cells, these are the database's rows.
Where it joins, aggregates or compares them, one person could be in many, or change many: then it takes the owner's word
that each row of the result is of one person alone. Random functions and LIMIT are refused: by them, which rows there
are hangs on others, and on when they are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import cast

import numpy as np
from attrs import frozen

from jostle.errors import TableError, described
from jostle.progress import stage
from jostle.tables.block import Block, Where
from jostle.tables.databases import Database, QueryPlan, connect, file_of, is_database
from jostle.tables.encode import Cells, Census, encode_block
from jostle.tables.engines import Partial, tally_blocks
from jostle.tables.frames import check_columns
from jostle.tables.kernels import Counts, Kernel, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Ranks
from jostle.tables.pools import Stack
from jostle.tables.schema import Schema
from jostle.tables.sources import MOST_PARTS, SPILLED_BYTES, Reader, ReadSource

EACH_OF_ONE = (
    "each_of_one=True (--each-of-one) is your word that each row of the result is made of one person's data alone, and "
    "that one person has no more of them than the schema's rows_per_person; without persons, that one row makes one"
)


@frozen(eq=False, repr=False)
class OwnQuery:
    """What is asked of a database. No repr: what opens it may stand in its URL."""

    database: str
    text: str
    each_of_one: bool = False

    @property
    def file(self) -> Path | None:
        """The file that it is of, if it is one."""
        return file_of(self.database)


@frozen(eq=False, repr=False)
class QueryReader(Reader):
    """A query's rows, as of the moment when its table was opened."""

    database: Database
    text: str
    columns: tuple[object, ...]
    size: int = SPILLED_BYTES * (MOST_PARTS // 4)
    """Nobody knows."""

    @property
    def identity(self) -> bytes:
        """A hash of what is asked, and where: of nothing that opens it, and of no row."""
        return hashlib.blake2b(f"{self.database.place}\0{self.text}".encode(), digest_size=16).digest()

    def batches(
        self,
        names: tuple[str, ...],
        few: AbstractSet[str] = frozenset(),
        census: Census | None = None,
    ) -> Iterator[tuple[Mapping[str, Cells], int]]:
        rows = 0
        with stage(f"reading from {self.database.kind}") as said:
            for cells, length in self.database.batches(self.text, names):
                rows += length
                said.doing(f"{rows:,} rows")
                yield dict(zip(names, cells, strict=False)), length


@frozen(eq=False, repr=False)
class QuerySource(ReadSource):
    """A query's rows, counted where they are, or read anew for a tally that needs them."""

    stays_there = True

    @property
    def query(self) -> QueryReader:
        """What is asked."""
        return cast("QueryReader", self.reader)

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        kernel.cells(self.schema)
        needed = columns_of(kernel)
        blocks = self.blocks() if needed is None else self._blocks((*needed, *(name for name, _ in where)))
        return tally_blocks(blocks, self.schema, kernel, where)

    def _blocks(self, needed: Iterable[str]) -> Iterator[Block]:
        """Yield these columns of the rows alone, and of those that a row is dropped for."""
        schema = self.schema
        dropping = (name for name, column in schema.columns if "drop" in {column.outside, column.missing})
        names = tuple(dict.fromkeys((*needed, *dropping)))
        counted = self.query.database.counted(self.query.text, names)
        if counted is None:
            for columns, length in self.query.batches(names):
                yield encode_block(columns, schema, length)
            return
        with stage(f"counting in {self.query.database.kind}"):
            for (*cells, times), length in counted:
                multiplicity = np.array(times, dtype=np.int64)
                yield encode_block(dict(zip(names, cells, strict=True)), schema, length, multiplicity=multiplicity)


def columns_of(kernel: Kernel) -> tuple[str, ...] | None:
    """The columns that a kernel needs, where these are few; None where it looks at whole rows, or at persons."""
    if kernel.of_persons:
        return None
    match kernel:
        case Counts(groups):
            return tuple(name for group in groups for name in group)
        case SparseCounts() | Marks():
            return kernel.columns
        case Sums() | NumberSum() | Moments() | Ranks():
            return (kernel.column, *getattr(kernel, "by", ()))
        case Stack(layers):
            named = ((*layer.columns, *(name for name, _ in layer.where), layer.weighted) for layer in layers)
            return tuple(name for names in named for name in names if name is not None)
    return None


def open_query(url: str, text: object, schema: Schema, *, each_of_one: bool) -> QuerySource:
    """A query's rows as a source, after a look at what it does."""
    if not is_database(url):
        raise TableError(
            "that is no database",  # and may be a password
            fix='"postgresql://HOST/NAME", "sqlite:///FILE" or "duckdb:///FILE"',
        )
    if not isinstance(text, str) or not text.strip():
        raise TableError(
            f"the query is {described(text)}, not a text",
            fix='Table.query(url, "select age, ward from visits", schema)',
        )
    text = text.strip().rstrip(";").strip()
    database = connect(url)
    try:
        names = database.names(text)
        _check_plan(database.plan(text), each_of_one=each_of_one)
        check_columns(names, schema.sources, "the query")
    except BaseException:
        database.close()  # or it would hold its snapshot as long as somebody looks at the mistake
        raise
    return QuerySource(QueryReader(database, text, names), schema)


def _check_plan(plan: QueryPlan, *, each_of_one: bool) -> None:
    if plan.limit:
        raise TableError(
            "the query has a LIMIT",
            why="which rows it takes hangs on all others, so that one row more puts another out",
            fix="leave it out: what is asked of all rows costs no more",
        )
    if plan.volatile:
        raise TableError(
            f"the query calls {', '.join(plan.volatile)}, which may say something else when asked again",
            why="a row could be in two parts of the table, which are paid for as if they shared none",
            fix="write such a column into a table first",
        )
    if plan.mixes and not each_of_one:
        raise TableError(
            f"the query {' and '.join(plan.mixes)}",
            why="the promise is about rows of its result, and one person's data could be in many of them",
            fix=EACH_OF_ONE,
        )
