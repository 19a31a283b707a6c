"""Arrays in .npy files, read from bytes that are there: nothing is made room for that a header only claims.

numpy's own reader makes room first, takes an archive of arrays for an array, and reads headers of Python 2 by a
tokenizer, which raises errors of its own.
"""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.files.content import FileContent, Place, path_of
from jostle.tables.frames import guarded

GRID_ENDING = ".npy"
NUMBERS = "biufc"
"""The kinds of cells that are read; which of them are counts is looked at later."""
MOST_HEADER = 1 << 14


def check_array(place: Place) -> None:
    """Refuse a file that does not begin as an array does."""
    path = path_of(place)
    with guarded(_unreadable(place)):
        if isinstance(place, FileContent):
            head = place.data[:MOST_HEADER]
        else:
            with path.open("rb") as file:
                head = file.read(MOST_HEADER)
        _header(io.BytesIO(head))


def read_array(content: FileContent) -> NDArray[Any]:
    """The array in a .npy file."""
    with guarded(_unreadable(content)):
        head = io.BytesIO(content.data)
        shape, by_columns, kind = _header(head)
        start, count = head.tell(), math.prod(shape)
        if kind.kind not in NUMBERS:
            raise TableError(f"the file {content.path} holds no array of numbers", fix="give an array of counts")
        if min(shape, default=0) < 0 or count * kind.itemsize != len(content.data) - start:
            raise TableError(f"the file {content.path} has not as many cells as it says", fix="save the array anew")
        flat = np.frombuffer(content.data, dtype=kind, count=count, offset=start)
        return flat.reshape(shape, order="F" if by_columns else "C")


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether the first axis runs fastest, and the type of cells."""
    version = npy.read_magic(file)
    if version not in {(1, 0), (2, 0)}:
        raise ValueError("a version for records")
    return (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)


def _unreadable(place: Place) -> str:
    return f"the file {path_of(place)} cannot be read as a NumPy array"
