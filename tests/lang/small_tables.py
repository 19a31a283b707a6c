"""A small table that programs in tests run on, and a probe that counts what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from jostle import Categorical, Numeric, Probe, Schema, Table, rehearse
from jostle.errors import Source
from jostle.lang.program import Program, load_source
from jostle.tables.schema import Neighbours

__all__ = ["ROWS", "SCHEMA", "opened", "program", "schema_under", "table_of_rows"]

COLUMNS = {
    "region": Categorical(["north", "east", "south"]),
    "age": Numeric(0, 80, bins=4),
    "height": Numeric(0, 3, bins=3),
    "label": Categorical(["no", "yes"]),
}
SCHEMA = Schema(COLUMNS, label="label")
ROWS = (
    *[("north", 10.0, 1.0, "yes")] * 40,
    *[("north", 30.0, 2.0, "no")] * 25,
    *[("east", 50.0, 1.0, "no")] * 30,
    *[("south", 70.0, 2.0, "yes")] * 5,
)


def schema_under(neighbours: Neighbours) -> Schema:
    """Return the schema under another neighbour relation."""
    return SCHEMA.with_neighbours(neighbours)


def table_of_rows(rows: Sequence[tuple[Any, ...]] = ROWS, schema: Schema = SCHEMA) -> Table:
    """Return a table of these rows."""
    columns = {
        name: pa.array([row[place] for row in rows], pa.string() if name in {"region", "label"} else pa.float64())
        for place, name in enumerate(schema.names)
    }
    return Table.from_frame(pa.table(columns), schema)


def opened(epsilon: str | None = "1", *, seed: int = 1, schema: Schema = SCHEMA) -> Probe:
    """Return a probe on the small table."""
    return rehearse(table_of_rows(schema=schema), epsilon=epsilon, seed=seed)


def program(text: str) -> Program:
    """Return a program, checked."""
    return load_source(Source("test.jst", text))
