"""Tables and schemas made up for tests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from jostle import Categorical, Numeric, Schema
from jostle.tables.block import Block, code_type
from jostle.tables.columns import MISSING, OTHER
from jostle.tables.engines import TableSource
from jostle.tables.kernels import Kernel, SparseTally
from jostle.tables.table import Table
from jostle.tables.values import EMPTY, moment_in, number_in
from jostle.visible import steers

SMALL = Schema(
    {
        "colour": Categorical(["red", "green", "blue"], outside="other", missing="value"),
        "age": Numeric(0, 100, bins=4, missing="value"),
        "ill": Categorical(["no", "yes"], outside="drop", missing="drop"),
    },
    label="ill",
)
"""Sizes 5, 5 and 2; a row goes only if it has no label."""

SMALL_ROWS: list[tuple[object, object, object]] = [
    ("red", 10, "no"),
    ("green", 25, "yes"),
    ("mauve", 100, "yes"),
    (None, -5, "no"),
    ("blue", None, "no"),
    ("blue", 99.5, "yes"),
    ("red", 50, "perhaps"),
    ("red", 50, None),
]
SMALL_CODES = [(0, 0, 0), (1, 1, 1), (3, 3, 1), (4, 0, 0), (2, 4, 0), (2, 3, 1)]
"""What the rows are read as; the last two are dropped."""


def small_frame() -> pd.DataFrame:
    return pd.DataFrame(SMALL_ROWS, columns=list(SMALL.names))


letters = st.characters(codec="utf-8").filter(lambda letter: not steers(letter))
"""What may stand in a schema."""
words = st.text(letters, max_size=6)
values = words.filter(lambda word: word not in {*EMPTY, OTHER, MISSING} and abs(number_in(word) or 0) < 2**53)


def said(value: str) -> object:
    """Return what two values that are the same have in common."""
    number = number_in(value)
    return moment_in(value) or value if number is None else number


@st.composite
def categoricals(draw: st.DrawFn) -> Categorical:
    return Categorical(
        draw(st.lists(values | st.sampled_from(["1", "2.5", "False"]), min_size=1, max_size=6, unique_by=said)),
        outside=draw(st.sampled_from(["blank", "other", "drop"])),
        missing=draw(st.sampled_from(["blank", "value", "drop"])),
    )


@st.composite
def numerics(draw: st.DrawFn) -> Numeric:
    finite = st.integers(-1000, 1000) | st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
    cuts = sorted(draw(st.lists(finite, min_size=2, max_size=6, unique=True)))
    edges = draw(st.booleans())
    return Numeric(
        cuts[0],
        cuts[-1],
        bins=draw(st.integers(1, 20)),
        edges=cuts if edges else (),
        outside=draw(st.sampled_from(["clamp", "blank", "other", "drop"])),
        missing=draw(st.sampled_from(["blank", "value", "drop"])),
    )


columns = categoricals() | numerics()


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    made = draw(st.dictionaries(words, columns, min_size=1, max_size=4))
    labels = [name for name, column in made.items() if isinstance(column, Categorical)]
    rows = draw(st.none() | st.integers(0, 10**9))
    return Schema(
        made,
        label=draw(st.none() | st.sampled_from(labels)) if labels else None,
        neighbours=draw(st.sampled_from(["add_remove", "replace_one"])) if rows is None else "replace_one",
        rows=rows,
    )


class Unprintable:
    """An object that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("secret")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    __hash__ = None  # type: ignore[assignment]  # as objects in a frame may be


class Stubborn(int):
    """A number that does not say which."""

    def __int__(self) -> int:
        raise RuntimeError("secret")


objects: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**1100), 2**1100),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["1", "1.0", "2.5", " 3 ", "1e2", "-inf", "nan", "True", "\ud800", "red"]),
    st.binary(max_size=3),
    st.binary(max_size=3).map(bytearray),
    st.binary(max_size=3).map(lambda held: memoryview(held)),  # noqa: PLW0108 - mypy takes the class for a generic one
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.floats(width=32).map(np.float32),
    st.integers(-128, 127).map(np.int8),
    st.booleans().map(np.bool_),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(
        [pd.NA, pd.NaT, Decimal("sNaN"), np.datetime64("NaT", "s"), dt.timedelta(1), Unprintable(), Stubborn()]
    ),
)
"""Whatever a cell of a pandas column of objects may hold."""


def source_of(table: Table) -> TableSource:
    return table._source


def tally(table: Table, kernel: Kernel, where: Any = ()) -> list[int]:
    """Return a dense tally, or a sparse one spread out."""
    found = source_of(table).tally(kernel, where)
    if isinstance(found, SparseTally):
        dense = np.zeros(kernel.cells(table.schema), dtype=np.int64)
        dense[found.keys] = found.counts
        return [int(count) for count in dense]
    return [int(count) for count in found]


def block_of(schema: Schema, rows: Sequence[tuple[int, ...]], times: Any = None) -> Block:
    """Return rows of codes; blanks come after the codes."""
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(schema[name].size + 1))
        for place, name in enumerate(schema.names)
    }
    return Block(columns, len(rows), None if times is None else np.array(times, dtype=np.int64))


def added_up(kernel: Any, schema: Schema, rows: Sequence[tuple[int, ...]], times: Any = None) -> list[int]:
    """Return what a kernel finds in rows of codes, in the order of the schema's columns."""
    totals = np.zeros(kernel.cells(schema), dtype=np.int64)
    kernel.add(block_of(schema, rows, times), schema, totals)
    return [int(total) for total in totals]
