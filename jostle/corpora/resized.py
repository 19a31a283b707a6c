"""Grids made of other grids: with fewer cells, or of so many records drawn from their shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jostle.errors import CorpusError

__all__ = ["coarsened", "drawn"]


def coarsened(counts: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A grid with fewer cells, each the sum of a block of equal sides.

    >>> coarsened(np.arange(6), (3,))
    array([1, 5, 9])
    """
    pairs = list(zip(counts.shape, shape, strict=False))
    if len(shape) != counts.ndim or any(side < 1 or whole % side for whole, side in pairs):
        raise CorpusError(
            f"a grid of shape {counts.shape} is not coarsened to {shape}",
            why="cells are added up in blocks, so each new side divides the old one",
        )
    split = [part for whole, side in zip(counts.shape, shape, strict=True) for part in (side, whole // side)]
    sums: NDArray[np.int64] = counts.reshape(split).sum(axis=tuple(range(1, 2 * counts.ndim, 2)))
    return sums


def drawn(
    counts: NDArray[np.int64] | NDArray[np.float64], records: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """So many records, drawn independently from the distribution that a grid's counts are in proportion to.

    They are the same in every version of numpy, as `RandomState` is, by numpy's promise, and `Generator` is not: its
    binomial draws are others from 2.5 on. Of its other draws, those that corpora are made by are tested to stay.
    """
    chances = counts.ravel() / counts.sum()
    frozen = np.random.RandomState(generator.bit_generator)
    return frozen.multinomial(records, chances).astype(np.int64).reshape(counts.shape)
