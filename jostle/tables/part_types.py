"""Types that a dataframe in parts promises: a part that comes in others is refused.

What a cell says depends on its column's type, which is public. Of a dataframe in parts, that is the type that the frame
as a whole says its column has. Parts that a function reads one by one (each a file, say) get types of their own from
it: one row that is no number makes texts of all numbers of its part, or leaves all its dates unread. Then a row would
change how others are read, and more counts than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import frozen

from jostle.errors import TableError
from jostle.tables.columns import Categorical
from jostle.tables.encode import declared_numbers
from jostle.tables.schema import Schema

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["PartTypes"]

Kind: TypeAlias = str
"""How cells of a type are read, in a word."""

NUMBERS, TEXTS, CATEGORIES = "numbers", "texts", "categories of "
UNKNOWN = "__UNKNOWN_CATEGORIES__"
"""Stands as the only category where Dask does not know which there are."""
EXACT = 2.0**53
"""Below it, whole numbers and floats are the same numbers."""


@frozen
class PartTypes:
    """The types of the columns that a schema reads."""

    kinds: Mapping[str, Kind]

    @classmethod
    def of(cls, frame: Any, schema: Schema) -> PartTypes:
        """The types that a frame says its columns have."""
        wrapped = _wrapped(frame)
        return cls({name: _kind(wrapped.get_column(name), mixes=_mixes(schema, name)) for name in schema.sources})

    def check(self, part: Any, schema: Schema) -> None:
        """Refuse a part with other types; a column that is empty in all rows has nothing to read in any type."""
        wrapped = _wrapped(part)
        for name, promised in self.kinds.items():
            column = wrapped.get_column(name)
            found = _kind(column, mixes=_mixes(schema, name))
            known = promised != CATEGORIES + UNKNOWN or not found.startswith(CATEGORIES)
            if found != promised and known and not column.is_null().all():
                raise TableError(f"the cells of column {name!r} are of another type in a part than in the whole")


def _wrapped(frame: Any) -> nw.DataFrame[Any]:
    import narwhals as nw  # noqa: PLC0415 - it takes its time to load, and most tables are in one part

    return nw.from_native(frame, eager_only=True)


def _mixes(schema: Schema, name: str) -> bool:
    """Whether a number is read as the same in a column of whole numbers and in one of floats.

    An empty cell makes the one of the other. As what is declared, a number is found by how it is written first; so each
    number must be written in one way only there, and be exact in both.
    """
    if name not in schema:  # texts with features
        return False
    column = schema[name]
    if not isinstance(column, Categorical):
        return True
    numbers = declared_numbers(column)
    return bool(np.all(np.abs(numbers) < EXACT)) and len(np.unique(numbers)) == len(numbers)


def _kind(column: nw.Series[Any], *, mixes: bool) -> Kind:
    import narwhals as nw  # noqa: PLC0415 - as above

    kind = column.dtype
    if kind in {nw.String, nw.Object}:  # which of the two, narwhals says by a look at the cells
        return TEXTS
    if kind in {nw.Categorical, nw.Enum}:
        return CATEGORIES + _kind_of_categories(column, mixes=mixes)
    if mixes and (kind.is_integer() or kind == nw.Float64):
        return NUMBERS
    if isinstance(kind, nw.Datetime):  # the same in any unit
        return f"times of {kind.time_zone}"
    return str(kind)


def _kind_of_categories(column: nw.Series[Any], *, mixes: bool) -> Kind:
    categories = getattr(getattr(column.to_native(), "dtype", None), "categories", None)
    if categories is None:
        return TEXTS
    if list(categories) == [UNKNOWN]:
        return UNKNOWN
    import narwhals as nw  # noqa: PLC0415 - as above

    return _kind(nw.from_native(categories.to_series(), series_only=True), mixes=mixes)
