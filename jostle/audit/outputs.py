"""Outputs of any shape, as keys to count and as numbers to learn from."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.audit.subjects import Outputs

__all__ = ["as_keys", "as_numbers", "canonical", "width_of"]

MOST_COLUMNS = 400
"""Longer outputs are cut for the classifiers; the keys still tell them apart."""
FILLER = -(2.0**40)
"""Stands for a number that an output does not have; no count comes near it."""
MOST_COMPARED = 5
"""With up to this many numbers in an output, their differences are features too."""


def canonical(output: Any) -> Hashable:
    """The output as something that can be counted: arrays, lists, sets and dictionaries become tuples.

    >>> canonical({"b": [1, 2], "a": None})
    (('a', None), ('b', (1, 2)))
    """
    if isinstance(output, np.ndarray):
        output = output.tolist()
    if isinstance(output, np.generic):
        return canonical(output.item())
    if isinstance(output, (list, tuple)):
        return tuple(canonical(part) for part in output)
    if isinstance(output, Mapping):
        return tuple(sorted(((canonical(key), canonical(value)) for key, value in output.items()), key=repr))
    if isinstance(output, AbstractSet):
        return tuple(sorted((canonical(part) for part in output), key=repr))
    if not isinstance(output, Hashable):
        raise TypeError(f"an output of type {type(output).__name__} cannot be counted; reduce it to numbers first")
    return output


def as_keys(outputs: Outputs) -> list[Hashable]:
    """One hashable key per run."""
    if isinstance(outputs, np.ndarray) and outputs.ndim <= 2:
        rows: list[Any] = outputs.tolist()
        return rows if outputs.ndim == 1 else [tuple(row) for row in rows]
    return [canonical(output) for output in outputs]


def width_of(outputs: Outputs) -> int:
    """How many numbers the longest output holds."""
    if isinstance(outputs, np.ndarray):
        return int(np.prod(outputs.shape[1:]))
    return max((len(list(_numbers(canonical(output)))) for output in outputs), default=0)


def as_numbers(outputs: Outputs, width: int) -> NDArray[np.float64]:
    """One row of numbers per run: the first *width* in the output, and their differences if they are few.

    Outputs that come as a sequence may differ in length, so theirs goes first; short ones are filled up.
    """
    width = min(width, MOST_COLUMNS)
    if isinstance(outputs, np.ndarray):
        columns = outputs.reshape(len(outputs), -1)[:, :width].astype(np.float64)
    else:
        columns = np.full((len(outputs), width + 1), FILLER)
        for row, output in enumerate(outputs):
            numbers = list(_numbers(canonical(output)))
            columns[row, 0] = len(numbers)
            columns[row, 1 : len(numbers) + 1] = numbers[:width]
    if 1 < columns.shape[1] <= MOST_COMPARED:
        differences = [columns[:, i] - columns[:, j] for i, j in combinations(range(columns.shape[1]), 2)]
        columns = np.column_stack([columns, *differences])
    return columns


def _numbers(output: Any) -> Iterator[float]:
    if isinstance(output, tuple):
        for part in output:
            yield from _numbers(part)
    elif isinstance(output, (bool, int, float)):
        yield float(output)
    elif output is None:
        yield -1.0
    else:
        # Any number will do that is the same each time; the built-in hash of a string is not.
        yield float(zlib.crc32(repr(output).encode()) % 2**20)
