"""How budgets are shared among the levels of a tree: against dense formulas, and for counts that are read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from jostle.options.ranges.tree import (
    Tree,
    best_shares,
    coarseness,
    exact_shares,
    grid_tree,
    halving_tree,
    least_squares,
    reading_shares,
    tree_error,
    tree_shares,
    variances,
)
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.task import evenness


@pytest.mark.parametrize("tree", [grid_tree((32,), 2), grid_tree((8, 8), 2)])
def test_the_error_of_shares_is_the_variance_of_least_squares(tree: Tree) -> None:
    """The formula is exact for trees whose nodes are alike."""
    workload = Workload.random_ranges(tree.shape, 40)
    shares = np.linspace(1, 2, len(tree.starts))
    shares /= shares.sum()
    _, spread = least_squares(tree, [np.zeros(len(each)) for each in tree.starts], (1 / shares**2).tolist())
    sizes = len(tree.starts[-1]) / np.array([len(each) for each in tree.starts])

    assert tree_error(shares, tree.load(workload), sizes) == pytest.approx(variances(tree, spread, workload).sum())


@pytest.mark.parametrize("tree", [grid_tree((64,), 2), grid_tree((8, 8), 2)])
def test_the_best_shares_are_not_beaten_by_a_general_search(tree: Tree) -> None:
    load = tree.load(Workload.random_ranges(tree.shape, 40))
    sizes = len(tree.starts[-1]) / np.array([len(each) for each in tree.starts])
    best = float(tree_error(best_shares(load, sizes), load, sizes))

    generator = np.random.default_rng(0)
    for _ in range(3):
        search = minimize(  # type: ignore[call-overload]  # as above
            lambda free: float(tree_error(np.abs(free) / np.abs(free).sum(), load, sizes)),
            generator.uniform(0.1, 1, len(load)),
            method="Nelder-Mead",
        )
        assert best <= 1.02 * search.fun


def test_shares_are_exact_and_add_up() -> None:
    shares = tree_shares(grid_tree((100, 37), 2), Workload.random_ranges((100, 37), 100))

    assert sum(shares) == 1
    assert min(shares) >= 0
    assert shares[-1] > 0
    assert sum(exact_shares([1e-9, 1, 0])) == 1
    assert exact_shares([1e-9, 1, 0])[0] > 0 == exact_shares([1e-9, 1, 0])[2]


def test_evenness_tells_one_place_from_all_places() -> None:
    assert evenness(np.array([0, 900, 0, 0]), 0.0) == 0
    assert evenness(np.array([225, 225, 225, 225]), 0.0) == pytest.approx(1)
    assert evenness(np.array([450, 0, 450, 0]), 0.0) == pytest.approx(0.5)
    assert evenness(np.array([7]), 0.0) == 0


@pytest.mark.parametrize("truth", [np.full(16, 100), np.array([800, 800, *[0] * 14]), np.array([1600, *[0] * 15])])
def test_evenness_takes_the_noise_out_of_the_squares(truth: NDArray[np.int64]) -> None:
    """Each square is too large by the noise's variance: without that, a spike would seem more of one than it is."""
    generator = np.random.default_rng(0)
    found = [evenness(truth + np.rint(generator.laplace(0, 20, 16)).astype(np.int64), 800.0) for _ in range(400)]

    assert np.mean(found) == pytest.approx(evenness(truth, 0.0), abs=0.04)


def test_evenness_of_noise_alone_is_a_share() -> None:
    for counts in ([0, 0, 0], [-5, -7, 1], [3, -3, 0]):
        assert 0 <= evenness(np.array(counts), 50.0) <= 1


def test_coarse_levels_get_more_the_fewer_and_the_more_even_records_are() -> None:
    assert coarseness(100, 0.9) > coarseness(100, 0.1) > 1
    assert coarseness(100, 0.5) > coarseness(10_000, 0.5)
    assert coarseness(1e9, 0.5) == 1
    assert coarseness(0, 0.5) == coarseness(1, 0.5)


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(1, 20), min_size=1, max_size=3).map(tuple),
    step=st.integers(1, 5),
    tilt=st.floats(1, 5),
    share=st.floats(0, 0.5),
    data=st.data(),
)
def test_shares_for_a_reading_add_up_and_count_the_leaves(
    shape: tuple[int, ...], step: int, tilt: float, share: float, data: st.DataObject
) -> None:
    tree = halving_tree(shape)
    level = data.draw(st.integers(0, max(0, len(tree.starts) - 2)))
    workload = Workload.random_ranges(shape, 30)
    shares = reading_shares(tree, workload, step=step, tilt=tilt, bought=(level, share))

    assert sum(shares) == 1
    assert min(shares) >= 0
    assert shares[-1] > 0
    assert all(not shares[each] for each in range(len(shares)) if (len(shares) - 1 - each) % step)


def test_what_a_level_was_bought_before_counts_towards_its_share() -> None:
    tree = halving_tree((64, 64))
    workload = Workload.random_ranges(tree.shape, 200)
    fresh = reading_shares(tree, workload, step=4, tilt=2.0)
    after = reading_shares(tree, workload, step=4, tilt=2.0, bought=(0, 0.1))

    assert float(after[0]) == pytest.approx((float(fresh[0]) - 0.1) / 0.9, abs=0.001)
    assert reading_shares(tree, workload, step=4, tilt=2.0, bought=(0, 0.9))[0] == 0
