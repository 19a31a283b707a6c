"""Kernels over grids: what they count, and that a row adds no more than they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.errors import ProbeError, TableError
from jostle.privacy.mechanisms import AddNoiseByLevel, sensitivity
from jostle.privacy.scores import Misfit
from jostle.tables.regions import Box, Haar, LevelKernel, Regions, box_sums


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


KERNELS: list[LevelKernel] = [
    Regions(("x", "y"), np.arange(6)[::-1].copy(), (np.array([0]), np.array([0, 2]), np.arange(6))),
    Haar(("x", "y")),
    Box(("x", "y"), (0, 0), (1, 2)),
]


@pytest.mark.parametrize("kernel", KERNELS)
@given(st.integers(0, 5), st.integers(0, 5))
def test_no_row_changes_more_than_the_noise_is_made_for(kernel: LevelKernel, first: int, second: int) -> None:
    """Add a row to any cell, and replace one in any cell by one in any other."""
    base = np.full((2, 3), 4)
    added, replaced = base.copy(), base.copy()
    added.flat[first] += 1
    replaced.flat[first] += 1
    replaced.flat[second] -= 1
    for neighbours, other in (("add_remove", added), ("replace_one", replaced)):
        schema = jostle.Table.from_grid(base, neighbours=neighbours).schema  # type: ignore[arg-type]  # both are
        change = np.abs(np.array(tally(base, kernel)) - np.array(tally(other, kernel)))
        ends = np.cumsum(kernel.sizes(schema))
        assert change.sum() <= sensitivity(kernel, schema)
        for level, most in zip(np.split(change, ends[:-1]), kernel.changes(schema), strict=True):
            assert level.sum() <= most


@pytest.mark.parametrize(
    "kernel",
    [
        Regions(("x",), np.array([0, 0, 2]), (np.array([0]),)),
        Regions(("x",), np.array([0, 1]), (np.array([0]),)),
        Regions(("x",), np.arange(3), (np.array([1]),)),
        Regions(("x",), np.arange(3), (np.array([0, 2, 2]),)),
        Regions(("x",), np.arange(3), (np.array([0, 3]),)),
        Box(("x",), (0,), (4,)),
        Box(("x",), (2,), (2,)),
    ],
)
def test_what_would_count_a_row_twice_is_refused_before_any_charge(kernel: Regions | Box) -> None:
    db = jostle.rehearse(jostle.Table.from_grid([1, 2, 3]), epsilon=1, seed=0)

    with pytest.raises((TableError, ProbeError)):
        db.perform(AddNoiseByLevel(kernel, (Fraction(1),)), 1, site="regions")
    with pytest.raises((TableError, ProbeError)):
        db.measure(kernel, 1)
    assert db.spent == 0


@pytest.mark.parametrize("shares", [(), (Fraction(1),), (Fraction(1, 2), Fraction(1, 3)), (Fraction(1), Fraction(0))])
def test_shares_that_do_not_split_the_budget_are_refused(shares: tuple[Fraction, ...]) -> None:
    db = jostle.rehearse(jostle.Table.from_grid([1, 2, 3]), epsilon=1, seed=0)
    kernel = Regions(("x",), np.arange(3), (np.array([0]), np.arange(3)))

    with pytest.raises(ProbeError, match="do not split it among 2 levels"):
        db.perform(AddNoiseByLevel(kernel, shares), 1, site="regions")
    assert db.spent == 0


def test_the_box_that_is_answered_worst_is_picked_when_there_is_budget() -> None:
    counts = np.array([5, 5, 90, 5])
    low, high = np.array([[0], [2], [0]]), np.array([[2], [3], [4]])
    db = jostle.rehearse(jostle.Table.from_grid(counts), epsilon=100, seed=0)

    assert db.pick(Misfit(("x",), low, high, np.array([10, 40, 100])), 50) == 1
    with pytest.raises(ProbeError, match="do not lie in the grid"):
        db.pick(Misfit(("x",), low, high + 1, np.array([10, 40, 100])), 1)
    with pytest.raises(TableError, match="answers is"):
        db.pick(Misfit(("x",), low, high, np.array([10, 40, -(2**63)])), 1)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 99))
def test_box_sums_of_whole_numbers_are_exact(sides: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    grid = generator.integers(0, 2**40, sides)
    low = np.array([[generator.integers(0, side) for side in sides]])
    high = np.array([[generator.integers(start + 1, side + 1) for start, side in zip(low[0], sides, strict=True)]])

    inside = tuple(slice(start, end) for start, end in zip(low[0], high[0], strict=True))
    assert box_sums(grid, low, high).tolist() == [int(grid[inside].sum())]
