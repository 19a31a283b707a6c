"""Blocks: some rows of a table as integer codes, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

__all__ = ["Block", "Codes", "Where", "code_type"]

Codes = NDArray[np.unsignedinteger[Any]]

Where = tuple[tuple[str, tuple[int, ...]], ...]
"""A conjunction of conditions: each names a column and the codes it may have."""


def code_type(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the narrowest type for codes below *size*."""
    return np.min_scalar_type(max(size - 1, 0))


@frozen(eq=False, repr=False)
class Block:
    """Some rows. No repr: nothing should ever print one."""

    columns: Mapping[str, Codes]
    length: int
    multiplicity: NDArray[np.int64] | None = None
    """How many records each row stands for; None means one each."""

    def where(self, conditions: Where) -> Block:
        """Return the rows that meet every condition."""
        if not conditions:
            return self
        keep = np.ones(self.length, dtype=np.bool_)
        for name, codes in conditions:
            keep &= np.isin(self.columns[name], codes)
        rows = np.flatnonzero(keep)
        return Block(
            {name: codes[rows] for name, codes in self.columns.items()},
            len(rows),
            None if self.multiplicity is None else self.multiplicity[rows],
        )
