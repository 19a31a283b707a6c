"""Regret and hindsight, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.choice.learning.regret import figures, honest_best, weights_of
from jostle.errors import ChoiceError


def test_hindsight_is_measured_where_it_was_not_chosen() -> None:
    """Two coins with means that are equal: the best of each trial is 0, but nobody could have known which."""
    losses = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]])
    # Without the first trial the means are (.5, .5): the first Option, 0. Without the second they are (0, 1): the first
    # Option, 1. Without the third: (.5, .5), the first Option, 0.
    assert honest_best(losses).tolist() == [pytest.approx(1 / 3)]
    assert losses.min(axis=1).mean() == 0, "dishonest hindsight would be perfect"
    clear = np.array([[[0.1, 0.2], [0.5, 0.6]]])
    assert honest_best(clear).tolist() == [pytest.approx(0.15)]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 5), st.integers(0, 10**6))
def test_hindsight_is_what_the_slow_way_finds(cells: int, options: int, repeats: int, seed: int) -> None:
    losses = np.random.default_rng(seed).random((cells, options, repeats))
    slow = []
    for cell in losses:
        total = 0.0
        for left_out in range(repeats):
            others = [np.mean([x for place, x in enumerate(option) if place != left_out]) for option in cell]
            total += cell[int(np.argmin(others))][left_out]
        slow.append(total / repeats)
    np.testing.assert_allclose(honest_best(losses), slow)


def test_hindsight_needs_two_trials() -> None:
    with pytest.raises(ChoiceError, match="two repeats"):
        honest_best(np.zeros((1, 2, 1)))


def test_figures_by_hand() -> None:
    chosen = np.array([0.2, 0.3, 0.001, 0.5])
    single = np.array([0.4, 0.3, 0.0, 0.4])
    hindsight = np.array([0.2, 0.2, 0.0, 0.4])
    found = figures(chosen, single, hindsight, floor=0.01)
    # The third cell: both sides are at the floor, so there is no regret.
    assert found.cells == 4
    assert found.regret_mean == pytest.approx((1 + 1.5 + 1 + 1.25) / 4)
    assert found.regret_max == pytest.approx(1.5)
    assert found.regret_p95 == pytest.approx(np.quantile([1, 1.5, 1, 1.25], 0.95))
    assert found.worse_share == 0.25, "the last cell alone is more than 2% worse than the single best"
    assert found.gap_closed == pytest.approx((0.275 - 0.25025) / (0.275 - 0.2))
    assert (found.loss_mean, found.single_mean, found.hindsight_mean) == pytest.approx((0.25025, 0.275, 0.2))


def test_weights_count_and_losses_without_a_floor_are_in_units_of_hindsight() -> None:
    chosen, single, hindsight = np.array([2.0, 1e-6]), np.array([4.0, 3e-6]), np.array([2.0, 1e-6])
    found = figures(chosen, single, hindsight, floor=0.0, weights=np.array([3.0, 1.0]))
    assert found.gap_closed == pytest.approx(1.0)
    half = figures(np.array([3.0, 2e-6]), single, hindsight, floor=0.0, weights=np.array([3.0, 1.0]))
    # In units of hindsight the first cell is 1.5 of 2 and the second 2 of 3; weighted, 1.625 chosen, 2.25 single.
    assert half.gap_closed == pytest.approx((2.25 - 1.625) / 1.25)
    assert half.regret_mean == pytest.approx(1.625)


def test_no_gap_is_no_number_and_no_cells_are_refused() -> None:
    same = np.array([0.5])
    assert math.isnan(figures(same, same, same, floor=0.01).gap_closed)
    with pytest.raises(ChoiceError, match="no cells"):
        figures(np.empty(0), np.empty(0), np.empty(0), floor=0.01)


def test_every_group_has_the_same_say() -> None:
    weights = weights_of(np.array(["a", "a", "a", "b"]))
    assert weights[:3].sum() == pytest.approx(weights[3])
    assert weights.mean() == pytest.approx(1)
