"""Labels in the type they came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.schema import Schema

__all__ = ["Labels", "kind_of", "labels_of"]

TRUTHS = {"False": False, "True": True, "false": False, "true": True, "0": False, "1": True}
READERS: Mapping[str, tuple[Callable[[str], object], ...]] = {
    "b": (TRUTHS.__getitem__,),
    "f": (int, float),
    "": (int, float, TRUTHS.__getitem__),
}


@frozen(eq=False)
class Labels:
    """The classes as a user knows them, sorted, and which of the schema's classes each is."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]


def kind_of(y: Any) -> str:
    """What labels are, as numpy's letters have it: numbers "f", truths "b", texts "U", any objects "O"; or nothing.

    That is the type of a column or an array, which is taken to be as public as the names of columns. Of numbers no more
    is told: one empty cell makes floats of whole numbers, so a single row could be seen in it. A list and a column of
    categories have no type but that of their cells, where one empty cell would show as well: nothing is told of them.
    """
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return "f" if series.dtype.is_numeric() else "b"
        return "" if series.dtype in {nw.Categorical, nw.Enum} else "O"
    if not isinstance(y, np.ndarray):
        return ""
    return "f" if y.dtype.kind in "iuf" else y.dtype.kind


def labels_of(schema: Schema, kind: str) -> Labels:
    """The schema's classes, all that are declared, as labels of a kind; as texts where they are none of it.

    Whether numbers are whole ones, the declared classes say.
    """
    classes = np.array(schema.classes, dtype=object if kind == "O" else np.str_)
    for read in READERS.get(kind, ()):
        try:
            classes = np.array([read(text) for text in schema.classes])
        except (ValueError, KeyError, OverflowError):
            continue
        break
    codes = np.argsort(classes, kind="stable").astype(np.int64)
    return Labels(classes[codes], codes)
