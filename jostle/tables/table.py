"""Tables: rows behind a schema. The owner of the data holds one; an Option never does."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike

from jostle.errors import ProbeError, TableError, described, shown
from jostle.given import called_as, given_as, given_flag, given_path
from jostle.tables import dask_source, frames, pieces, queries, readers
from jostle.tables.attributes import feature_names, joined, joined_labels
from jostle.tables.block import Block
from jostle.tables.columns import PUBLIC, Column, Numeric
from jostle.tables.encode import Census, notes, of_persons
from jostle.tables.engines import MemorySource, TableSource, bound
from jostle.tables.fields import Integers
from jostle.tables.joins import LookupSource, MatchFold, RowsFold, joined_rows, joined_schema, lookup
from jostle.tables.kernels import MOST_RECORDS, Counts
from jostle.tables.origins import RowOrigin
from jostle.tables.per_person import PersonFold, aggregates_of, schema_per_person
from jostle.tables.persons import PUBLIC_KEY, BeyondCount
from jostle.tables.pieces import PiecesSource
from jostle.tables.schema import Neighbours, Schema
from jostle.tables.sources import ReadSource

CLUSTERS: tuple[tuple[Callable[[object], bool], Callable[[Any, Schema], PiecesSource]], ...] = (
    (dask_source.is_dask, dask_source.dask_source),
    (pieces.is_spark, pieces.spark_source),
    (pieces.is_ray, pieces.ray_source),
)
"""Which frames are in pieces on workers, and how these are asked."""


class Table:
    """Rows and the public facts about them.

    Give it to `protect` to ask private questions, or, if it is public, to `rehearse`. What its `notes` say is for its
    owner alone.
    """

    __slots__ = ("__weakref__", "_census", "_source", "origin")

    def __init__(
        self,
        source: TableSource,
        census: Callable[[], Census] | None = None,
        made_of: Iterable[object] = (),
    ) -> None:
        given: object = source
        if not hasattr(given, "tally"):
            raise TableError(
                f"a table is not made of {described(given)}",
                fix='Table.from_frame(frame, schema), or Table.read("rows.csv", schema)',
            )
        self._source = source
        self._census = census
        self.origin = RowOrigin.of(source, *made_of)
        """Where its rows came from, by which they are known again without a look at them."""

    @property
    def schema(self) -> Schema:
        """The public facts."""
        return self._source.schema

    @property
    def notes(self) -> tuple[str, ...]:
        """The owner's warnings on the rows: that there are none, or no label left, or undeclared values.

        Nobody else is told: each of these may hang on a single row, and none of it has noise. So it is not printed
        anywhere by itself, and nothing that a probe leads to has it.
        """
        label = () if self.schema.label is None else (self.schema.label,)
        held = bound(self._source, PUBLIC_KEY)
        counts: Any = held.tally(Counts(((), label)), ())
        kept, *by_label = map(int, counts)
        beyond: Any = () if self.schema.person is None else held.tally(BeyondCount(), ())
        census = Census(rows=kept) if self._census is None else self._census()
        labels = dict(zip(self.schema.classes, by_label, strict=True)) if label else {}
        return (*notes(census, kept, labels, self.schema), *of_persons(*map(int, beyond), schema=self.schema))

    @classmethod
    @called_as("Table.from_frame(frame, schema)", why=PUBLIC)
    def from_frame(cls, frame: Any, schema: Schema) -> Table:
        """A table of a dataframe's rows: pandas, polars, Arrow, Dask, Spark, Ray and others, or a dict of columns.

        What is not in memory yet, a lazy frame or whatever has `__arrow_c_stream__`, is read once, batch by batch.

        Raises:
            TableError: a column is missing, or the rows cannot be read.
        """
        schema = _schema_of(schema)
        for is_of, source_of in CLUSTERS:
            if is_of(frame):
                rows = source_of(frame, schema)
                return cls(rows, rows.census, [frame])
        return cls._of(frame, schema, [frame])

    @classmethod
    @called_as("Table.from_features(X, y, schema)", why=PUBLIC)
    def from_features(cls, features: Any, labels: Any, schema: Schema) -> Table:
        """A table of attributes, a dataframe or an array, with the labels that come apart from them.

        Without names, attributes are in the order of the schema. Of a schema with sparse features and nothing else but
        the label, they are a sparse matrix.

        Raises:
            TableError: a column is missing, or the rows cannot be read.
        """
        schema = _schema_of(schema)
        if schema.features is not None and feature_names(features) is None:
            return cls.from_matrix(features, joined_labels(labels, schema), schema)
        return cls._of(joined(features, labels, schema), schema, [features, labels])

    @classmethod
    @called_as('Table.read("rows.csv", schema)', why=PUBLIC)
    def read(
        cls, path: str | Path, schema: Schema | str | Path, *, engine: str = "threads", stream: bool = False
    ) -> Table:
        """A table of a CSV or Parquet file's rows.

        With *stream*, the file is read anew for every question, in batches, and may be larger than memory. With
        *engine* "dask://HOST:PORT", a cluster reads and tallies it.

        Args:
            path: the file.
            schema: the public facts about the rows, or a TOML file of them.
            engine: what tallies: "threads", or a Dask cluster.
            stream: whether the rows stay in the file.

        Raises:
            TableError: the file cannot be read, or a column is missing.
            SchemaError: the schema cannot be read.
        """
        schema = _schema_of(schema)
        file = given_path(path, TableError)
        if isinstance(engine, str) and engine.startswith("dask://"):
            rows = dask_source.connect(engine, file, schema)
            return cls(rows, rows.census, [file])
        if not isinstance(engine, str) or engine != "threads":
            raise TableError(f"there is no engine {shown(engine)}", fix='engine="threads" or "dask://HOST:PORT"')
        source = readers.open_file(file, schema)
        if given_flag(stream, "stream", error=TableError):
            return cls(source, source.census, [file])
        census = Census()
        return cls(source.kept(census), lambda: census, [file])

    @classmethod
    def _of(cls, frame: Any, schema: Schema, made_of: Iterable[object]) -> Table:
        census, reader = Census(), readers.scanned_file(frame) or frames.frame_reader(frame)
        frames.check_columns(reader.columns, schema.sources, "the frame", index=reader.index)
        return cls(ReadSource(reader, schema).kept(census), lambda: census, made_of)

    @classmethod
    @called_as('Table.query("postgresql://HOST/NAME", "select age, ward from visits", schema)', why=PUBLIC)
    def query(cls, database: str, query: str, schema: Schema | str | Path, *, each_of_one: bool = False) -> Table:
        """A table of a query's rows, in PostgreSQL or in a file of SQLite or DuckDB, as of this moment.

        They stay there: what can be counted in the database is counted there, the rest is read in batches. The promise
        is about rows of the query's result.

        Args:
            database: postgresql://HOST/NAME, sqlite:///FILE or duckdb:///FILE. What opens it may stand in the
                environment or a service file.
            query: a SELECT, written by whoever owns the data.
            schema: the public facts about its rows, or a TOML file of them.
            each_of_one: where the query joins or aggregates, the owner's word that each row of its result is made of
                one person's data alone, and that one has no more of them than rows_per_person; without persons, that
                one row makes one.

        Raises:
            TableError: the database cannot be opened, the query does not run or mixes rows, or a column is missing.
            SchemaError: the schema cannot be read.
        """
        schema = _schema_of(schema)
        word = given_flag(each_of_one, "each_of_one", error=TableError)
        source = queries.open_query(database, query, schema, each_of_one=word)
        file = source.query.database.file
        return cls(source, source.census, [] if file is None else [file])

    @classmethod
    def from_matrix(cls, matrix: Any, frame: Any, schema: Schema) -> Table:
        """A table of a dataframe's rows, each with the features that a sparse matrix has in the same row.

        The schema declares one feature per column of the matrix. What is not 0 in the matrix counts as 1.

        Raises:
            TableError: a column is missing, or the rows cannot be read.
        """
        schema = _schema_of(schema)
        census = Census()
        return cls(frames.matrix_source(matrix, frame, schema, census), lambda: census, [matrix, frame])

    @classmethod
    def from_grid(cls, counts: ArrayLike, *, neighbours: Neighbours = "add_remove", rows: int | None = None) -> Table:
        """A table of records that are cells of a grid: counts[x, y] of them at (x, y).

        The columns are called x, y, z, or axis0, axis1, ... where there are more; each has one bin per cell.

        Raises:
            TableError: counts are no whole numbers from 0 up.
        """
        grid = _checked_grid(counts)
        names = ("x", "y", "z")[: grid.ndim] if grid.ndim <= 3 else tuple(f"axis{axis}" for axis in range(grid.ndim))
        schema = Schema(
            {name: Numeric(0, size, bins=size, missing="drop") for name, size in zip(names, grid.shape, strict=True)},
            neighbours=neighbours,
            rows=rows,
        )
        identity = hashlib.blake2b(f"{grid.shape}".encode() + grid.tobytes(), digest_size=16).digest()
        return cls(MemorySource.of_grid(grid, schema, identity), made_of=[counts])

    def per_person(self, /, **aggregates: str) -> Table:
        """A table of one row a person, worked out from all of that person's rows, those beyond the bound as well.

        It is of the same people, and charged to the same promise. Empty cells are left out; where a person has no
        others, the result is empty. It is worked out at once, and held in memory.

        Args:
            **aggregates: by the name of the result, what it is: "count", "count up to 100", "any fall", "all fall",
                "any ward is B", "first ward by date", "last ward by date", "commonest ward", "least age", "most age",
                "sum days up to 60", "mean age". Without a column, it is the one of the result's name: "last by date".

        Raises:
            TableError: the schema names no person, an aggregate is not written so, or does not fit the schema.
            SchemaError: there is no such column.
        """
        schema = self.schema
        asked = aggregates_of(aggregates, schema)
        results, census = schema_per_person(asked, schema), Census()
        rows = self._source.fold(PersonFold(asked, schema)).rows(census)
        return self._derived(rows, results, census)

    @called_as('table.join(other, on="patient_id")')
    def join(self, other: Table, on: str, *, how: Literal["left", "inner"] = "left") -> Table:
        """A table of the same persons with the columns of another private one; both have a row a person.

        Every person of this table stays; one who is not in the other has empty cells there, and persons of the other
        alone are left out. With how="inner", those who are in both stay. It is worked out at once, and held in memory.

        Raises:
            TableError: they are not joined on the person, one has several rows a person, or they are not of one
                population.
        """
        given_as(other, Table, "a table", fix='table.join(other, on="patient_id")', error=TableError)
        kept: object = how
        if not isinstance(kept, str) or kept not in {"left", "inner"}:
            raise TableError(f"how is {shown(how)}", fix='how="left" or how="inner"')
        schema, census = joined_schema(self.schema, other.schema, on), Census()
        mine, theirs = (source.fold(RowsFold(source.schema)).rows() for source in (self._source, other._source))
        rows = joined_rows(mine, theirs, schema, census, inner=how == "inner")
        return self._derived(rows, schema, census, other)

    @called_as('table.join_public(frame, on="ward")')
    def join_public(self, frame: Any, on: str, columns: Mapping[str, Column] | Iterable[str] | None = None) -> Table:
        """The table with columns of a public frame, or file, that each row gets by its cell in a column of keys.

        A row whose key is not in the public frame has empty cells there. The keys are checked before any row of the
        table is read.

        Args:
            frame: public rows, one for each key.
            on: the column of keys, in both: one with declared values, dates, or numbers with a unit.
            columns: which columns are added, by name; or declared, by name. Without, all of them. What is not declared
                is declared as the public frame has it.

        Raises:
            PrivateDataError: the frame is private.
            TableError: a key is there twice or not declared, or a value is not declared.
        """
        public, schema = lookup(frame, on, columns, self.schema)
        source = LookupSource(schema, self._source, public)
        told = self._census

        def census() -> Census:
            missed = self._source.fold(MatchFold(public, self.schema)).missed
            before = Census() if told is None else told()
            return evolve(before, unmatched=(*before.unmatched, (on, missed)))

        return self._beside(Table(source, None if told is None else census))

    def _derived(self, rows: Block, schema: Schema, census: Census, *others: Table) -> Table:
        """A table of rows that were worked out from those of this one, and of others."""
        # The same people's data: known again as what they are made of.
        identity = b"".join(table._source.identity for table in (self, *others))  # noqa: SLF001 - of tables
        return self._beside(Table(MemorySource.of_block(schema, rows, identity), lambda: census), *others)

    def _beside(self, made: Table, *others: Table) -> Table:
        made.origin = self.origin.beside(made.origin, *(table.origin for table in others))
        return made

    def __repr__(self) -> str:
        return f"<Table of {len(self.schema.names)} columns>"

    def _repr_html_(self) -> str:
        """The columns for a notebook, and nothing of the rows, nor how many they are."""
        from jostle.markup import fact_table  # noqa: PLC0415 - for notebooks only

        rows = [(name, type(column).__name__, f"{column.size:,}") for name, column in self.schema.columns]
        return fact_table(("column", "kind", "values or bins"), rows)

    def __reduce__(self) -> NoReturn:
        raise ProbeError("a table is not pickled", why="a pickle would hold its rows", fix="share the file instead")


def _schema_of(given: object) -> Schema:
    """A schema, or that in a file; refuse what is none."""
    schema = Schema.read(given) if isinstance(given, str | Path) else given
    if not isinstance(schema, Schema):
        raise TableError(
            f"the schema is {type(schema).__name__}, not a Schema",
            fix='Schema({"age": Numeric(0, 100)}), or Schema.read("schema.toml")',
        )
    return schema


def _checked_grid(counts: ArrayLike) -> Integers:
    """The counts as whole numbers of 64 bits; what they are is not told, only what is wrong with them."""
    try:
        grid = np.asarray(counts)
    except ValueError:
        raise TableError("the grid has sides of different lengths", fix="give an array") from None
    if grid.ndim == 0 or not grid.size:
        raise TableError("the grid has no cells", fix="give an array with at least one cell on every side")
    with np.errstate(over="ignore", invalid="ignore"):  # what cannot be added up is refused
        total = float(grid.sum(dtype=np.float64)) if grid.dtype.kind in "iuf" else math.nan
    if not math.isfinite(total) or np.any(grid < 0) or np.any(grid != np.floor(grid)):
        raise TableError("the grid holds something other than counts", why="a count is a whole number from 0 up")
    if total > MOST_RECORDS:
        raise TableError("the grid holds more than 2**33 records", why="sums over more may not fit 63 bits")
    return grid.astype(np.int64)
