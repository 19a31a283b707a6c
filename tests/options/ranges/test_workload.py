"""Workloads answer as naive sums do, and refuse boxes that do not lie in the grid."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.instances import mean_relative, scaled_l1, scaled_l2

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def naive(workload: Workload, grid: NDArray[Any]) -> list[float]:
    answers = []
    for low, high in zip(workload.low, workload.high, strict=True):
        cells = product(*(range(start, end) for start, end in zip(low, high, strict=True)))
        answers.append(float(sum(grid[cell] for cell in cells)))
    return answers


@given(shapes, st.integers(0, 1000))
def test_every_kind_of_workload_sums_the_cells_of_its_boxes(shape: tuple[int, ...], seed: int) -> None:
    grid = np.random.default_rng(seed).integers(-9, 99, shape)

    for workload in (
        Workload.identity(shape),
        Workload.prefixes(shape),
        Workload.all_ranges(shape),
        Workload.random_ranges(shape, 20, seed=seed),
    ):
        assert workload.answers(grid).tolist() == pytest.approx(naive(workload, grid), abs=1e-9)
        assert workload.sizes().tolist() == naive(workload, np.ones(shape))
        assert (workload.coverage() @ grid.ravel()).tolist() == pytest.approx(naive(workload, grid), abs=1e-9)


@given(shapes)
def test_all_ranges_are_every_range_once(shape: tuple[int, ...]) -> None:
    workload = Workload.all_ranges(shape)
    seen = {(tuple(low), tuple(high)) for low, high in zip(workload.low.tolist(), workload.high.tolist(), strict=True)}

    assert len(seen) == len(workload) == np.prod([side * (side + 1) // 2 for side in shape])


def test_random_ranges_have_uniform_sides_and_come_again_with_their_seed() -> None:
    first, again = Workload.random_ranges((10, 4), 5000, seed=3), Workload.random_ranges((10, 4), 5000, seed=3)

    assert np.array_equal(first.low, again.low)
    assert np.array_equal(first.high, again.high)
    # 500 are expected of each length; five standard deviations, and the seed is fixed.
    assert np.bincount(first.high[:, 0] - first.low[:, 0], minlength=11)[1:] == pytest.approx(500, abs=110)


def test_boxes_are_given_by_their_corners() -> None:
    workload = Workload.boxes((2, 3), [((0, 0), (1, 2)), ((1, 1), (2, 3))])

    assert workload.answers(np.array([[1, 2, 4], [8, 16, 32]])).tolist() == [3, 48]
    assert Workload.boxes(4, [(1, 3)]).answers([1, 2, 4, 8]).tolist() == [6]


@given(shapes, st.integers(1, 30))
def test_a_sample_is_part_of_the_workload(shape: tuple[int, ...], count: int) -> None:
    workload = Workload.all_ranges(shape)
    sample = workload.sample(count)
    whole = {(*low, *high) for low, high in zip(workload.low.tolist(), workload.high.tolist(), strict=True)}

    assert len(sample) == min(count, len(workload))
    assert {(*low, *high) for low, high in zip(sample.low.tolist(), sample.high.tolist(), strict=True)} <= whole


def test_the_measures_of_error_are_those_of_the_literature() -> None:
    truth, answers = [0, 10, 100], [3, 6, 100]

    assert scaled_l2(truth, answers, scale=10) == 5 / 3 / 10
    assert scaled_l1(truth, answers, scale=10) == pytest.approx(7 / 3 / 10)
    assert mean_relative(truth, answers, theta=5) == pytest.approx((3 / 5 + 4 / 10) / 3)
    with pytest.raises(OptionError, match="theta"):
        mean_relative(truth, answers, theta=0)
    with pytest.raises(OptionError, match="3 answers are compared with 2"):
        scaled_l1([1, 2], answers, scale=1)
