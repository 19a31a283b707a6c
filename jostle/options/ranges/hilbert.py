"""A line through all cells of a grid that keeps neighbours near each other: Hilbert's curve, in any dimension.

Skilling, Programming the Hilbert curve, AIP Conference Proceedings 707, 2004.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["hilbert_order"]


@lru_cache(maxsize=16)
def hilbert_order(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The cells' row-major numbers in the order of the curve; in one dimension, as they are.

    Sides that are not the same power of two are laid into a cube whose other cells are passed over.

    >>> hilbert_order((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    cells = np.indices(shape, dtype=np.int64).reshape(len(shape), -1)
    if len(shape) == 1:
        line: NDArray[np.int64] = cells[0]
        return line
    bits = max(1, (max(shape) - 1).bit_length())
    axes = _untangle(list(cells), bits)
    place = np.zeros(cells.shape[1], dtype=np.int64)
    for bit in reversed(range(bits)):
        for axis in axes:
            place = place << 1 | (axis >> bit & 1)
    return np.argsort(place, kind="stable").astype(np.int64)


def _untangle(axes: list[NDArray[np.int64]], bits: int) -> list[NDArray[np.int64]]:
    """The coordinates turned into the transpose of the place on the curve."""
    bit = 1 << (bits - 1)
    while bit > 1:
        low = bit - 1
        for index in range(len(axes)):
            turned = (axes[index] & bit) != 0
            swap = np.where(turned, 0, (axes[0] ^ axes[index]) & low)
            axes[0] = np.where(turned, axes[0] ^ low, axes[0] ^ swap)
            if index:
                axes[index] = axes[index] ^ swap
        bit >>= 1
    for index in range(1, len(axes)):
        axes[index] = axes[index] ^ axes[index - 1]
    flips = np.zeros_like(axes[0])
    bit = 1 << (bits - 1)
    while bit > 1:
        flips = np.where((axes[-1] & bit) != 0, flips ^ (bit - 1), flips)
        bit >>= 1
    return [axis ^ flips for axis in axes]
