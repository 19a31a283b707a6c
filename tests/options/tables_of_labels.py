"""Small labelled tables to learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from jostle import Categorical, Numeric, Schema, Table
from jostle.tables.schema import Neighbours

Rows = Sequence[Sequence[int]]


def schema_of(*sizes: int, neighbours: Neighbours = "add_remove", rows: int | None = None) -> Schema:
    """Return a schema of columns a0, a1, ... of these sizes, the last one being the label."""
    columns = {f"a{place}": Categorical([f"v{code}" for code in range(size)]) for place, size in enumerate(sizes[:-1])}
    columns["label"] = Categorical([f"c{code}" for code in range(sizes[-1])])
    return Schema(columns, label="label", neighbours=neighbours, rows=rows)


def arrow(rows: Rows, schema: Schema) -> pa.Table:
    """Return rows of codes as a frame of the values they stand for; numeric columns hold the middle of a bin."""
    columns = {}
    for place, name in enumerate(schema.names):
        column = schema[name]
        codes = [row[place] for row in rows]
        if isinstance(column, Numeric):
            cuts = column.cut_points
            columns[name] = pa.array([(cuts[code] + cuts[code + 1]) / 2 for code in codes], pa.float64())
        else:
            columns[name] = pa.array([column.labels[code] for code in codes], pa.string())
    return pa.table(columns)


def table_of(rows: Rows, schema: Schema) -> Table:
    """Return a table of rows of codes."""
    return Table.from_frame(arrow(rows, schema), schema)


def correlated(
    count: int,
    *,
    neighbours: Neighbours = "add_remove",
    rows: int | None = None,
    seed: int = 7,
    classes: int = 3,
) -> tuple[Schema, list[tuple[int, ...]]]:
    """Return a schema with a numeric, a telling, a noisy and a constant attribute, and random rows under it."""
    random = np.random.default_rng(seed)
    schema = Schema(
        {
            "size": Numeric(0, 8, bins=8),
            "colour": Categorical(["red", "green", "blue"]),
            "noise": Categorical(["x", "y"]),
            "constant": Categorical(["only"]),
            "label": Categorical([f"c{code}" for code in range(classes)]),
        },
        label="label",
        neighbours=neighbours,
        rows=rows,
    )
    size, colour, noise = (random.integers(0, bound, count) for bound in (8, 3, 2))
    label = (2 * (size >= 4) + (colour == 1)) % classes
    label = np.where(random.random(count) < 0.1, random.integers(0, classes, count), label)
    constant = np.zeros(count, dtype=np.int64)
    return schema, [tuple(map(int, row)) for row in zip(size, colour, noise, constant, label, strict=True)]
