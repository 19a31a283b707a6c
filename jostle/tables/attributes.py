"""Attributes without, or apart from, their labels: as scikit-learn hands them about, and as rows to be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle.errors import TableError
from jostle.tables.encode import encode_column
from jostle.tables.fields import Integers
from jostle.tables.frames import frame_columns, index_names, way_to
from jostle.tables.schema import Schema

UNKNOWN = -1
"""The code of a blank, or of a value that a table's rows would be dropped for."""


def attribute_codes(frame: Any, schema: Schema) -> Integers:
    """The codes of a dataframe's attributes, a column per attribute; UNKNOWN where the schema has no code."""
    return _codes(frame, schema, schema.attributes)


def label_codes(frame: Any, schema: Schema) -> Integers:
    """The codes of a dataframe's label; UNKNOWN where the schema has no code."""
    return _codes(frame, schema, (schema.target,))[:, 0]


def _codes(frame: Any, schema: Schema, names: tuple[str, ...]) -> Integers:
    cells, length = frame_columns(frame, names)
    codes = np.empty((length, len(names)), dtype=np.int64, order="F")
    for index, name in enumerate(names):
        own = encode_column(cells[name], schema[name])
        codes[:, index] = np.where(own == schema[name].blank, UNKNOWN, own)
    return codes


def feature_names(features: Any) -> tuple[object, ...] | None:
    """Names of a dataframe's columns; None for what has none."""
    import narwhals as nw  # noqa: PLC0415 - it takes its time to load, and most tables come with their labels

    frame = nw.from_native(features, pass_through=True, eager_only=True)
    return tuple(frame.columns) if isinstance(frame, nw.DataFrame) else None


def feature_columns(features: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of these names: a dataframe's, or those of an array, which has just these in order.

    What is refused is a matter of shape and names: no cell is looked at.
    """
    import narwhals as nw  # noqa: PLC0415 - as above

    present = feature_names(features)
    if present is not None:
        absent = [name for name in names if name not in present]
        if absent:
            raise TableError(
                f"X has no column {', '.join(map(repr, absent))}",
                why="every attribute that the schema declares is read",
                fix=way_to(absent, present, in_text=False, index=index_names(features)),
            )
        frame = nw.from_native(features, eager_only=True)
        return {name: frame.get_column(name) for name in names}
    if isinstance(nw.from_native(features, pass_through=True), nw.LazyFrame):
        raise TableError(
            f"X is a {type(features).__name__} that is not computed yet",
            why="as an array it would have no names, and types that are found among its rows",
            fix="X.compute(), X.collect(), or Table.from_frame(frame, schema) of a frame with its labels",
        )
    if isinstance(features, Sequence) and not isinstance(features, str | bytes) and not hasattr(features, "__array__"):
        return _listed_columns(features, names)
    array = np.asarray(features) if hasattr(features, "__array__") else np.array(features, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise _no_table(array.shape[1] if array.ndim == 2 else None, names)
    return {name: array[:, index] for index, name in enumerate(names)}


def _listed_columns(rows: Sequence[object], names: tuple[str, ...]) -> dict[str, Any]:
    """The columns of rows in a list, each read by itself.

    A list has no type and no width of its own: numpy would look at all cells for one, and one row could change what
    others hold, or whether they are a table at all. So how many columns there are, which is public, is said by the
    first row; a later one of another length has empty cells, and a list without rows is a table without any.
    """
    cells = [_row(row) for row in rows]
    if cells and (cells[0] is None or len(cells[0]) != len(names)):
        raise _no_table(None if cells[0] is None else len(cells[0]), names)
    whole = [row if row is not None and len(row) == len(names) else (None,) * len(names) for row in cells]
    return {name: [row[index] for row in whole] for index, name in enumerate(names)}


def _row(row: object) -> Sequence[Any] | None:
    """A row's cells; None of what is no row."""
    if isinstance(row, Sequence) and not isinstance(row, str | bytes) and not hasattr(row, "__array__"):
        return row
    array = np.asarray(row) if hasattr(row, "__array__") else None
    return None if array is None or array.ndim != 1 else list(array)


def _no_table(columns: int | None, names: tuple[str, ...]) -> TableError:
    return TableError(
        "X is not a table" if columns is None else f"X has {columns} column" + "s" * (columns != 1),
        why=f"an array's columns are the schema's {len(names)} attributes in order",
        fix=f"an array of rows by {len(names)} columns, or a dataframe",
    )


def joined_labels(labels: Any, schema: Schema) -> dict[str, Any]:
    """The labels as the one column beside sparse features; refuse a schema that declares attributes beside them."""
    if schema.label is None or schema.attributes:
        raise TableError(
            "the schema declares columns beside its sparse features",
            fix="declare the label alone beside them, or give a dataframe to Table.from_matrix(matrix, frame, schema)",
        )
    return {schema.label: labels}


def joined(features: Any, labels: Any, schema: Schema) -> dict[str, Any]:
    """Columns of a schema, its label among them."""
    names = tuple(name for name in schema.sources if name != schema.target)
    return {**feature_columns(features, names), schema.target: labels}
