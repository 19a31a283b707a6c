"""Labels as the schema declares them: of whole numbers, numbers, truths or texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.schema import Schema
from jostle.tables.values import TRUTHS

__all__ = ["Labels", "labels_of"]

READERS: tuple[Callable[[str], object], ...] = (int, float, lambda text: bool(TRUTHS[text.lower()]))
"""What classes may be, but for texts."""


@frozen(eq=False)
class Labels:
    """The classes as a user knows them, sorted, and which of the schema's classes each is."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]


def labels_of(schema: Schema) -> Labels:
    """The schema's classes, all that are declared: as what all of them are.

    The type that labels come in does not count: one empty or odd label changes it, and would show in `classes_`.
    """
    classes = np.array(schema.classes)
    for read in READERS:
        try:
            classes = np.array([read(text) for text in schema.classes])
        except (ValueError, KeyError, OverflowError):
            continue
        break
    codes = np.argsort(classes, kind="stable").astype(np.int64)
    return Labels(classes[codes], codes)
