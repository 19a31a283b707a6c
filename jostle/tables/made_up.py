"""Rows of nobody: made up from a schema alone, so that a program can be tried on the right columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from jostle.errors import TableError, shown
from jostle.files.kinds import writing
from jostle.tables.columns import Categorical, Column
from jostle.tables.features import SparseFeatures
from jostle.tables.fields import Integers
from jostle.tables.origins import check_public
from jostle.tables.schema import Schema

MOST_ROWS = 10_000_000
TELLING = 1.5
"""How much values tell of the label, next to chance."""
WORDS, MADE_UP_WORDS = 5, 1000
"""Of a text, and to choose from where a schema names none."""
EMPTY = 0.02
"""Of the cells of a column that may be empty."""


def made_up(schema: Schema, rows: int, *, seed: int = 0) -> pa.Table:
    """Rows that a table of this schema could have: the same for the same schema, number and seed.

    Values that are declared first are commoner; numbers lie anywhere within their bounds; the label hangs on the other
    columns, so that there is something to learn. Nothing in them is about anybody.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise TableError(f"rows is {shown(rows)}", why="so many rows are made up", fix=f"1 to {MOST_ROWS:,}")
    chance = np.random.default_rng(seed)
    codes = {name: _codes(schema[name], rows, chance) for name in schema.attributes}
    if schema.label is not None:
        codes[schema.label] = _told(schema, codes, rows, chance)
    cells = {name: _cells(schema[name], codes[name], chance) for name in schema.names}
    if schema.features is not None:
        cells[schema.features.column] = _texts(schema.features, rows, chance)
    return pa.table(cells)


def write_made_up(schema: Schema, path: str | Path, rows: int, *, seed: int = 0) -> None:
    """Write such rows to a new CSV file; a file that is there is left alone."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise TableError(f"{path} does not end in .csv", why="made-up rows are written as CSV", fix="--out rows.csv")
    check_public(path)
    if path.exists():
        raise TableError(f"there is a file {path} already", why="it may hold rows of somebody", fix="name a new file")
    frame = made_up(schema, rows, seed=seed)
    with writing(path, TableError), path.open("xb") as file:
        pa_csv.write_csv(frame, file)


def _texts(features: SparseFeatures, rows: int, chance: np.random.Generator) -> pa.Array:
    """Texts of a few words, those that are declared first being commoner."""
    words = np.array(features.words or [f"word{number}" for number in range(MADE_UP_WORDS)], dtype=object)
    weights = 1 / np.arange(1, len(words) + 1)
    drawn = chance.choice(words, (rows, WORDS), p=weights / weights.sum())
    return pa.array([" ".join(words_of_text) for words_of_text in drawn], pa.string())


def _codes(column: Column, rows: int, chance: np.random.Generator) -> Integers:
    count = column.declared_count
    if not isinstance(column, Categorical):
        return chance.integers(0, count, rows)
    weights = 1 / np.arange(1, count + 1)
    return chance.choice(count, rows, p=weights / weights.sum())


def _told(schema: Schema, codes: dict[str, Integers], rows: int, chance: np.random.Generator) -> Integers:
    """Classes that the attributes speak for, and chance."""
    classes = schema[schema.target].declared_count
    points = chance.gumbel(size=(rows, classes))
    for name, column_codes in codes.items():
        points += chance.normal(0, TELLING, (schema[name].declared_count, classes))[column_codes] / np.sqrt(len(codes))
    return np.asarray(np.argmax(points, axis=1), dtype=np.int64)


def _cells(column: Column, codes: Integers, chance: np.random.Generator) -> pa.Array:
    empty = chance.random(len(codes)) < EMPTY if column.missing == "value" else np.zeros(len(codes), dtype=np.bool_)
    if isinstance(column, Categorical):
        return pa.array(np.array(column.values, dtype=object)[codes], pa.string(), mask=empty)
    cuts = np.array(column.cut_points)
    numbers = cuts[codes] + (cuts[codes + 1] - cuts[codes]) * chance.random(len(codes))
    if (
        isinstance(column.low, int)
        and isinstance(column.high, int)
        and column.high - column.low >= column.declared_count
    ):
        return pa.array(np.floor(numbers).astype(np.int64), mask=empty)
    return pa.array(numbers, mask=empty)
