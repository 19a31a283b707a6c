"""Attributes and labels that come apart, as scikit-learn hands them about: arrays or dataframes, and a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.errors import TableError
from jostle.tables.schema import Schema

__all__ = ["feature_columns", "feature_names", "joined", "joined_labels"]


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
                fix="compare the schema with the names of X's columns",
            )
        frame = nw.from_native(features, eager_only=True)
        return {name: frame.get_column(name) for name in names}
    # A list has no type of its own: numpy would look at all cells for one, and one row could change what others hold.
    array = np.asarray(features) if hasattr(features, "__array__") else np.array(features, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise TableError(
            "X is not a table" if array.ndim != 2 else f"X has {array.shape[1]} columns",
            why=f"an array's columns are the schema's {len(names)} attributes in order",
            fix=f"an array of rows by {len(names)} columns, or a dataframe",
        )
    return {name: array[:, place] for place, name in enumerate(names)}


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
    if schema.label is None:
        raise TableError("the schema names no label", fix='Schema(columns, label="...")')
    names = tuple(name for name in schema.sources if name != schema.label)
    return {**feature_columns(features, names), schema.label: labels}
