"""Tables: rows behind a schema. The owner of the data holds one; an Option never does."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.errors import ProbeError, TableError, described, shown
from jostle.given import called_as, given_flag, given_path
from jostle.tables import dask_source, frames, readers
from jostle.tables.attributes import feature_names, joined, joined_labels
from jostle.tables.columns import PUBLIC, Numeric
from jostle.tables.encode import Census, notes
from jostle.tables.engines import MemorySource, RowSource
from jostle.tables.kernels import MOST_RECORDS, Counts
from jostle.tables.origins import RowOrigin
from jostle.tables.schema import Neighbours, Schema


class Table:
    """Rows and the public facts about them.

    Give it to `protect` to ask private questions, or, if it is public, to `rehearse`. What its `notes` say is for its
    owner alone.
    """

    __slots__ = ("__weakref__", "_census", "_source", "origin")

    def __init__(
        self,
        source: RowSource,
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
        found: Any = self._source.tally(Counts(((), label)), ())
        kept, *by_label = map(int, found)
        census = Census(rows=kept) if self._census is None else self._census()
        labels = dict(zip(self.schema.classes, by_label, strict=True)) if label else {}
        return notes(census, kept, labels, self.schema)

    @classmethod
    @called_as("Table.from_frame(frame, schema)", why=PUBLIC)
    def from_frame(cls, frame: Any, schema: Schema) -> Table:
        """A table of a dataframe's rows: pandas, polars, Arrow, Dask and others, or a dict of columns.

        Args:
            frame: the rows.
            schema: the public facts about them.

        Raises:
            TableError: a column is missing, or the rows cannot be read.
        """
        _check_schema(schema)
        if dask_source.is_dask(frame):
            pieces = dask_source.dask_source(frame, schema)
            return cls(pieces, pieces.census, [frame])
        census = Census()
        return cls(frames.frame_source(frame, schema, census), lambda: census, [frame])

    @classmethod
    @called_as("Table.from_features(X, y, schema)", why=PUBLIC)
    def from_features(cls, features: Any, labels: Any, schema: Schema) -> Table:
        """A table of attributes, a dataframe or an array, with the labels that come apart from them.

        Of a schema with sparse features and nothing else but the label, they are a sparse matrix.

        Args:
            features: rows of attributes, in the order of the schema where they have no names.
            labels: a label for each.
            schema: the public facts about them.

        Raises:
            TableError: a column is missing, or the rows cannot be read.
        """
        _check_schema(schema)
        if schema.features is not None and feature_names(features) is None:
            return cls.from_matrix(features, joined_labels(labels, schema), schema)
        census = Census()
        source = frames.frame_source(joined(features, labels, schema), schema, census)
        return cls(source, lambda: census, [features, labels])

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
        schema = Schema.read(schema) if isinstance(schema, str | Path) else schema
        _check_schema(schema)
        place = given_path(path, TableError)
        if isinstance(engine, str) and engine.startswith("dask://"):
            pieces = dask_source.connect(engine, place, schema)
            return cls(pieces, pieces.census, [place])
        if not isinstance(engine, str) or engine != "threads":
            raise TableError(f"there is no engine {shown(engine)}", fix='engine="threads" or "dask://HOST:PORT"')
        source = readers.open_file(place, schema)
        if given_flag(stream, "stream", error=TableError):
            return cls(source, source.census, [place])
        census = Census()
        return cls(readers.in_memory(source, census), lambda: census, [place])

    @classmethod
    def from_matrix(cls, matrix: Any, frame: Any, schema: Schema) -> Table:
        """A table of a dataframe's rows, each with the features that a sparse matrix has in the same row.

        The schema declares one feature per column of the matrix. What is not 0 in the matrix counts as 1.

        Args:
            matrix: of scipy.sparse: a row per row, a column per feature.
            frame: the other columns.
            schema: the public facts about both.

        Raises:
            TableError: a column is missing, or the rows cannot be read.
        """
        _check_schema(schema)
        census = Census()
        return cls(frames.matrix_source(matrix, frame, schema, census), lambda: census, [matrix, frame])

    @classmethod
    def from_grid(cls, counts: ArrayLike, *, neighbours: Neighbours = "add_remove", rows: int | None = None) -> Table:
        """A table of records that are cells of a grid: counts[x, y] of them at (x, y).

        The columns are called x, y, z, or axis0, axis1, ... where there are more; each has one bin per cell.

        Args:
            counts: how many records each cell has.
            neighbours: what privacy hides.
            rows: how many records there are, if that is public.

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

    def __repr__(self) -> str:
        return f"<Table of {len(self.schema.names)} columns>"

    def _repr_html_(self) -> str:
        """The columns for a notebook, and nothing of the rows, nor how many they are."""
        from jostle.markup import fact_table  # noqa: PLC0415 - for notebooks only

        rows = [(name, type(column).__name__, f"{column.size:,}") for name, column in self.schema.columns]
        return fact_table(("column", "kind", "values or bins"), rows)

    def __reduce__(self) -> NoReturn:
        raise ProbeError("a table is not pickled", why="a pickle would hold its rows", fix="share the file instead")


def _check_schema(schema: object) -> None:
    if not isinstance(schema, Schema):
        raise TableError(
            f"the schema is {type(schema).__name__}, not a Schema",
            fix='Schema({"age": Numeric(0, 100)}), or Schema.read("schema.toml")',
        )


def _checked_grid(counts: ArrayLike) -> NDArray[np.int64]:
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
