"""Weights that noisy counts of partitions bend, and the partitions that are cut around a box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.options.ranges.mwem import Weights, cut_around

EXACT = 0.0


def boxes(sides: tuple[int, ...]) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Return boxes in a grid."""
    corners = [st.lists(st.integers(0, side), min_size=2, max_size=2, unique=True).map(sorted) for side in sides]
    return st.tuples(*corners).map(lambda pairs: (np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])))


@given(data=st.data(), sides=st.sampled_from([(1,), (9,), (4, 7), (3, 2, 5)]), least=st.floats(0.1, 50))
def test_a_cut_has_the_box_as_a_union_of_parts_and_each_part_is_a_box(
    data: st.DataObject, sides: tuple[int, ...], least: float
) -> None:
    low, high = data.draw(boxes(sides))
    grid = np.arange(float(np.prod(sides))).reshape(sides)

    part, parts = cut_around(grid, low, high, least)

    label = part.reshape(sides)
    assert sorted(set(part.tolist())) == list(range(parts))
    inside = np.zeros(sides, dtype=bool)
    inside[tuple(map(slice, low, high))] = True
    assert not set(label[inside].tolist()) & set(label[~inside].tolist())
    for number in range(parts):
        cells = np.argwhere(label == number)
        assert len(cells) == np.prod(cells.max(axis=0) - cells.min(axis=0) + 1)
        # Only single cells hold what would have been cut again.
        assert len(cells) == 1 or grid[label == number].sum() < 2 * least


def test_nothing_is_cut_where_next_to_nothing_is_expected() -> None:
    grid = np.zeros(16)
    grid[12] = 100

    part, parts = cut_around(grid, np.array([2]), np.array([8]), least=5)

    # Before the box, the box, and the last eight cells in halves around cell 12.
    runs = np.split(np.arange(16), np.flatnonzero(np.diff(part)) + 1)
    assert [(run[0], run[-1]) for run in runs] == [(0, 1), (2, 7), (8, 11), (12, 12), (13, 13), (14, 15)]
    assert parts == 6


def test_exact_counts_of_rows_and_columns_are_met_by_their_product() -> None:
    """Of all grids with these sums, the one of largest entropy has independent rows and columns."""
    rows, columns = np.array([10.0, 30.0]), np.array([8.0, 12.0, 20.0])
    weights = Weights.flat((2, 3), 40, EXACT, firmness=5)

    weights.learn(np.array([0, 0, 0, 1, 1, 1]), rows, EXACT)
    weights.learn(np.array([0, 1, 2, 0, 1, 2]), columns, EXACT)
    weights.fit(60)

    assert weights.grid() == pytest.approx(np.outer(rows, columns) / 40, rel=1e-6)


def test_where_no_partition_tells_cells_apart_they_are_equal_and_held_once() -> None:
    weights = Weights.flat((6,), 12, EXACT, firmness=5)

    weights.learn(np.array([0, 0, 1, 1, 0, 0]), np.array([2.0, 10.0]), EXACT)
    weights.fit(60)

    assert weights.grid() == pytest.approx([0.5, 0.5, 5, 5, 0.5, 0.5], rel=1e-6)
    assert weights.cells.tolist() == [4, 2]


@given(counts=st.lists(st.floats(-20, 60), min_size=4, max_size=4), deviation=st.floats(2, 30))
def test_the_fit_is_where_each_factor_is_the_pull_of_its_misfit(counts: list[float], deviation: float) -> None:
    """The docstring's condition, checked for one partition and a doubtful total; no weight is below 0."""
    weights = Weights.flat((4,), 50, 9.0, firmness=3)
    weights.learn(np.arange(4), np.array(counts), deviation**2)
    weights.fit(1000)

    held = weights.grid()
    total, cells = weights.bought
    assert np.all(held >= 0)
    assert cells.raised == pytest.approx(3 / deviation * (np.array(counts) - held), abs=1e-2)
    assert total.raised == pytest.approx([3 * deviation / 9 * (50 - held.sum())], abs=1e-2)
    assert held == pytest.approx(50 / 4 * np.exp(cells.raised + total.raised), rel=1e-6)
