"""Turn rows that are to be predicted into codes: the attributes only, and no row left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.encode import encode_column
from jostle.tables.frames import frame_columns
from jostle.tables.schema import Schema

__all__ = ["UNKNOWN", "attribute_codes", "label_codes"]

UNKNOWN = -1
"""The code of a value that a table's rows would be dropped for."""


def attribute_codes(frame: Any, schema: Schema) -> NDArray[np.int64]:
    """The codes of a dataframe's attributes, a column per attribute; UNKNOWN where the schema has no code."""
    return _codes(frame, schema, schema.attributes)


def label_codes(frame: Any, schema: Schema) -> NDArray[np.int64]:
    """The codes of a dataframe's label; UNKNOWN where the schema has no code."""
    if schema.label is None:
        raise TableError("the schema names no label", fix='Schema(columns, label="...")')
    return _codes(frame, schema, (schema.label,))[:, 0]


def _codes(frame: Any, schema: Schema, names: tuple[str, ...]) -> NDArray[np.int64]:
    cells, length = frame_columns(frame, names)
    codes = np.empty((length, len(names)), dtype=np.int64, order="F")
    for place, name in enumerate(names):
        codes[:, place] = encode_column(cells[name], schema[name])
    return codes
