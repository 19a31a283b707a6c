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
READERS: Mapping[str, tuple[Callable[[str], object], ...]] = {"b": (TRUTHS.__getitem__,), "f": (int, float)}


@frozen(eq=False)
class Labels:
    """The classes as a user knows them, sorted, and which of the schema's classes each is."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]


def kind_of(y: Any) -> str:
    """What labels are, as numpy's letters have it: numbers "f", truths "b", texts "U", or any objects "O".

    That is a matter of their type, which is taken to be as public as the names of columns. Of numbers no more is told:
    one empty cell makes floats of whole numbers, so a single row could be seen in it.
    """
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        return "f" if series.dtype.is_numeric() else "b"
    kind = np.asarray(y).dtype.kind
    return "f" if kind in "iuf" else kind


def labels_of(schema: Schema, kind: str) -> Labels:
    """Return the schema's classes, all that are declared, as labels of a kind; as texts where they are none of it.

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
