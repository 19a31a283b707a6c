"""Intervals for areas under ROC curves: how often they hold what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from jostle.options.ranges.wavelets import inverse_haar
from jostle.tables.regions import haar
from jostle.tasks.evaluation.curve import drawn_noise, population_interval, rows_interval

Floats = NDArray[np.float64]


def area(own: Floats, others: Floats, ties: float) -> float:
    below = np.cumsum(others) - others
    return float((own * (below + ties * others)).sum() / (own.sum() * others.sum()))


def test_without_noise_it_is_what_the_order_inside_intervals_leaves_open() -> None:
    own, others = np.array([1.0, 2, 3, 30]), np.array([40.0, 9, 2, 1])
    low, high = rows_interval(np.stack([own, others]), [1e-9], 0.95)

    assert low == pytest.approx(area(own, others, 0), abs=0.002)
    assert high == pytest.approx(area(own, others, 1), abs=0.002)


@pytest.mark.representative
@pytest.mark.parametrize("scales", [(1.0,), (12.0,), (3.0, 3.0, 3.0, 3.0)])
@pytest.mark.parametrize("sizes", [(40, 400), (5, 60), (500, 500)])
def test_it_holds_the_area_of_the_rows_in_at_least_its_share_of_runs(
    sizes: tuple[int, int], scales: tuple[float, ...]
) -> None:
    """Rows are in distinct places inside intervals of 8, so that order there matters."""
    random = np.random.default_rng(7)
    held = 0
    for _ in range(60):
        own = np.clip(random.normal(40, 9, sizes[0]), 0, 63.9)
        others = np.clip(random.normal(26, 9, sizes[1]), 0, 63.9)
        counts = np.stack([np.histogram(each, 8, (0, 64))[0] for each in (own, others)]).astype(np.float64)
        noisy = counts + _noise(random, scales, 8)
        low, high = rows_interval(noisy, scales, 0.8)
        true = float(np.mean(own[:, None] > others[None, :]))
        held += low <= true <= high
    assert held >= 40  # below which 80% of 60 come once in 400


def _noise(random: np.random.Generator, scales: tuple[float, ...], cells: int) -> Floats:
    if len(scales) == 1:
        return np.round(random.laplace(0, scales[0], (2, cells)))
    levels = [random.laplace(0, scale, (2, max(1, 2**level // 2))) for level, scale in enumerate(scales)]
    return np.stack([inverse_haar(half) for half in np.concatenate(levels, axis=1)])


def test_the_interval_for_the_population_holds_it_and_is_the_wider_one() -> None:
    random = np.random.default_rng(3)
    held = 0
    for _ in range(40):
        own, others = random.normal(1, 1, 60), random.normal(0, 1, 80)
        counts = np.stack([np.histogram(np.clip(each, -3, 3.9), 16, (-3, 4))[0] for each in (own, others)]).astype(
            float
        )
        noisy = counts + np.round(random.laplace(0, 1, (2, 16)))
        low, high = population_interval(noisy, [1.0], 0.9)
        inner = rows_interval(noisy, [1.0], 0.9)
        assert low <= inner[0] <= inner[1] <= high
        held += low <= 0.7602 <= high  # Phi(1 / sqrt 2)
    assert held >= 36


def test_where_noise_drowns_the_rows_nothing_is_said() -> None:
    counts = np.zeros((2, 8))

    assert rows_interval(counts, [5.0], 0.95) == (0, 1)
    assert population_interval(counts, [5.0], 0.95) == (0, 1)


def test_higher_levels_have_wider_intervals() -> None:
    counts = np.array([[1.0, 3, 9, 30], [60, 20, 9, 2]])
    ends = [rows_interval(counts, [2.0], level) for level in (0.5, 0.8, 0.95, 0.99)]

    assert ends == sorted(ends, key=lambda each: each[1] - each[0])


def test_noise_is_drawn_as_the_door_draws_it() -> None:
    """The variance of cells from noisy wavelets is that of the transform turned back."""
    scales, cells = [4.0, 1.0, 2.0, 3.0], 8
    columns = np.stack([inverse_haar(each) for each in np.eye(cells)])
    of_level = np.repeat([2 * scale**2 for scale in scales], [1, 1, 2, 4])
    expected = (columns**2 * of_level[:, None]).sum(axis=0)

    found = drawn_noise(scales, cells, 40_000).var(axis=0)
    assert np.allclose(found, expected, rtol=0.06, atol=0.06)
    assert haar(np.arange(8), 0)[0] == 28
    assert drawn_noise([5.0], 3, 40_000).var() == pytest.approx(50, rel=0.03)
