"""Blocks: some rows of a table as integer codes, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.features import Bits, BitsColumns
from jostle.tables.schema import Schema

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
    bits: Bits | None = None
    """Which sparse features the rows have, where the schema declares any: they are columns too, by their names."""

    def __attrs_post_init__(self) -> None:
        """Let features be found among the columns."""
        if self.bits is not None:
            object.__setattr__(self, "columns", BitsColumns(self.columns, self.bits))

    def where(self, conditions: Where) -> Block:
        """Return the rows that meet every condition."""
        if not conditions:
            return self
        keep = np.ones(self.length, dtype=np.bool_)
        for name, codes in conditions:
            column = self.columns[name]
            keep &= column == codes[0] if len(codes) == 1 else np.isin(column, codes)
        return self.rows(np.flatnonzero(keep))

    def rows(self, places: NDArray[np.intp]) -> Block:
        """Return the rows at these places."""
        return Block(
            {name: codes[places] for name, codes in self.columns.items()},
            len(places),
            None if self.multiplicity is None else self.multiplicity[places],
            None if self.bits is None else self.bits.rows(places),
        )

    def keys(self, names: tuple[str, ...], schema: Schema) -> Codes:
        """Return each row's place among all combinations of the named columns' codes, in row-major order.

        The keys have the narrowest type that holds the number of combinations, and with it everything on the way: each
        key so far is below the product of the sizes so far, and no size is above the product of all.
        """
        kind = code_type(schema.size(*names) + 1)
        if not names:
            return np.zeros(self.length, dtype=kind)
        keys: Codes = self.columns[names[0]].astype(kind)  # a copy, to be changed
        for name in names[1:]:
            keys *= kind.type(schema[name].size)
            keys += self.columns[name]
        return keys
