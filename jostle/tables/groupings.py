"""Groups of codes: which cell a row falls into where a column's codes are put together into fewer, publicly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.schema import Schema

__all__ = ["Groups", "group_keys", "group_sides"]

Groups = tuple[tuple[int, ...], ...]
"""For each of some columns, the group of each of its codes, from 0 up; none where each code is its own."""


def group_sides(columns: tuple[str, ...], groups: Groups, schema: Schema) -> tuple[int, ...]:
    """How many groups each column has; refuse groups that do not fit the schema."""
    if len(groups) != len(columns):
        raise TableError(f"{len(groups)} groupings for {len(columns)} columns")
    return tuple(_side(name, given, schema) for name, given in zip(columns, groups, strict=True))


def _side(name: str, groups: tuple[int, ...], schema: Schema) -> int:
    size = schema[name].size
    if not groups:
        return size
    if len(groups) != size:
        raise TableError(f"{len(groups)} groups are given for the {size} codes of {name!r}", why="each code is in one")
    if min(groups) < 0 or max(groups) >= size:
        raise TableError(f"a group of {name!r} is not one of 0 to {size - 1}")
    return max(groups) + 1


def group_keys(block: Block, columns: tuple[str, ...], groups: Groups, schema: Schema) -> NDArray[np.int64]:
    """Each row's place among all combinations of the columns' groups, in row-major order."""
    if not any(groups):  # each code is its own group
        return block.keys(columns, schema)
    keys = np.zeros(block.length, dtype=np.int64)
    for name, given, side in zip(columns, groups, group_sides(columns, groups, schema), strict=True):
        codes = block.columns[name]
        keys *= side
        keys += np.array(given, dtype=np.int64)[codes] if given else codes.astype(np.int64)
    return keys
