"""Kernels over grids: what they count, and that a row adds no more than they say."""

from __future__ import annotations

import numpy as np
import pytest

import jostle
from jostle.errors import ProbeError, TableError
from jostle.privacy.scores import Misfit
from jostle.tables.regions import Box, LevelKernel, Regions


def tally(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]], kernel: LevelKernel) -> list[int]:
    table = jostle.Table.from_grid(counts)
    found = table._source.tally(kernel, ())
    assert isinstance(found, np.ndarray)
    return [int(each) for each in found]


def test_regions_count_the_cells_of_each_run_of_the_order() -> None:
    counts = np.array([[1, 2], [4, 8]])
    kernel = Regions(("x", "y"), np.array([3, 0, 2, 1]), (np.array([0, 1]), np.array([0]), np.array([0, 2, 3])))

    assert tally(counts, kernel) == [8, 7, 15, 9, 4, 2]


def test_boxes_count_what_is_inside() -> None:
    counts = np.array([[1, 2, 4], [8, 16, 32]])

    assert tally(counts, Box(("x", "y"), (0, 1), (2, 2))) == [18]
    assert tally(counts, Box(("x", "y"), (1, 0), (2, 3))) == [56]


def test_the_box_that_is_answered_worst_is_picked_when_there_is_budget() -> None:
    counts = np.array([5, 5, 90, 5])
    low, high = np.array([[0], [2], [0]]), np.array([[2], [3], [4]])
    db = jostle.rehearse(jostle.Table.from_grid(counts), epsilon=100, seed=0)

    assert db.pick(Misfit(("x",), low, high, np.array([10, 40, 100])), 50) == 1
    with pytest.raises(ProbeError, match="do not lie in the grid"):
        db.pick(Misfit(("x",), low, high + 1, np.array([10, 40, 100])), 1)
    with pytest.raises(TableError, match="answers is"):
        db.pick(Misfit(("x",), low, high, np.array([10, 40, -(2**63)])), 1)
