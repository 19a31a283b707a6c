"""Trees over grids: least squares and variances against dense matrices, and counts that are never negative."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from jostle.options.ranges.partitions import cut_further, even_cuts
from jostle.options.ranges.reading import read_leaves
from jostle.options.ranges.tree import (
    Tree,
    chain_tree,
    grid_tree,
    halving_tree,
    hilbert_order,
    least_squares,
    nonnegative,
    simplex,
    top_down,
    tree_of_cuts,
    variances,
)
from jostle.tasks.ranges.estimate import Workload

Floats = NDArray[np.float64]

TREES = [
    grid_tree((7,), 2),
    grid_tree((9,), 3),
    grid_tree((4, 3), 2),
    halving_tree((5, 3)),
    halving_tree((2, 3, 2)),
    chain_tree((11,), np.arange(11), np.array([0, 1, 4, 5, 9])),
]


def membership(tree: Tree) -> list[Floats]:
    """Return per level which leaves are under which nodes, as matrices."""
    leaves = len(tree.starts[-1])
    matrices = []
    for starts in tree.starts:
        owner = np.searchsorted(starts, tree.starts[-1], side="right") - 1
        matrices.append((owner == np.arange(len(starts))[:, None]).astype(np.float64).reshape(-1, leaves))
    return matrices


@pytest.mark.parametrize("tree", TREES)
def test_every_level_is_a_partition_that_refines_the_one_above(tree: Tree) -> None:
    assert sorted(tree.order.tolist()) == list(range(math.prod(tree.shape)))
    assert len(tree.starts[0]) == 1
    for upper, lower in zip(tree.starts, tree.starts[1:], strict=False):
        assert set(upper.tolist()) <= set(lower.tolist())


@pytest.mark.parametrize("tree", TREES)
def test_two_passes_are_dense_least_squares(tree: Tree) -> None:
    generator = np.random.default_rng(5)
    noise = [float(each) for each in generator.uniform(0.5, 9, len(tree.starts))]
    counts: list[Floats | None] = [generator.normal(10, 20, len(starts)) for starts in tree.starts]
    counts[0] = None  # a level that was not counted

    found = top_down(tree, *least_squares(tree, counts, noise))

    rows, wanted = [], []
    for matrix, level, variance in zip(membership(tree), counts, noise, strict=True):
        if level is not None:
            rows.append(matrix / math.sqrt(variance))
            wanted.append(level / math.sqrt(variance))
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate(wanted), rcond=None)[0]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("tree", [tree for tree in TREES if len(tree.starts[-1]) == len(tree.order)])
def test_variances_are_those_of_dense_least_squares(tree: Tree) -> None:
    generator = np.random.default_rng(6)
    noise = [float(each) for each in generator.uniform(0.5, 9, len(tree.starts))]
    counts = [np.zeros(len(starts)) for starts in tree.starts]
    workload = Workload.random_ranges(tree.shape, 30)

    _, spread = least_squares(tree, counts, noise)

    told = sum(matrix.T @ matrix / variance for matrix, variance in zip(membership(tree), noise, strict=True))
    covariance = np.linalg.inv(told)
    queries = workload.coverage()[:, tree.order].astype(np.float64)
    expected = np.einsum("qi,ij,qj->q", queries, covariance, queries)
    assert variances(tree, spread, workload) == pytest.approx(expected)


@given(st.integers(0, 10_000), st.sampled_from(TREES))
def test_nonnegative_counts_add_up_to_the_root(seed: int, tree: Tree) -> None:
    generator = np.random.default_rng(seed)
    counts = [generator.normal(3, 20, len(starts)) for starts in tree.starts]

    found, spread = least_squares(tree, counts, [4.0] * len(counts))
    leaves = nonnegative(tree, found, spread)

    assert leaves.min() >= 0
    assert leaves.sum() == pytest.approx(max(found[0][0], 0), abs=1e-9)


def test_a_family_is_projected_onto_counts_that_add_up_to_its_total() -> None:
    wanted, spread = np.array([5.0, -3.0, 1.0, 0.5]), np.array([1.0, 2.0, 0.5, 3.0])

    found = simplex(wanted, spread, np.array([4.0]), np.array([0]), np.zeros(4, dtype=np.int64))

    def far(counts: Floats) -> float:
        return float(((counts - wanted) ** 2 / spread).sum())

    best = minimize(  # type: ignore[call-overload]  # its stubs want one-dimensional arrays only
        far,
        np.full(4, 1.0),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda counts: counts.sum() - 4},
    )
    assert found == pytest.approx(best.x, abs=1e-4)


def reconcile(count: float, parts: NDArray[np.float64], count_noise: float, part_noise: float) -> NDArray[np.float64]:
    """The parts' counts made consistent with the count of the whole: the paper's inference, for one cell.

    The whole is estimated as the mean of its own count and the parts' sum, weighted by 1 / variance; what the parts
    lack of that is shared out evenly. With shares alpha and 1 - alpha, and m2**2 parts, the weight of the own count is
    alpha**2 * m2**2 / ((1-alpha)**2 + alpha**2 * m2**2). It is least squares on a tree of two levels.
    """
    summed = float(parts.sum())
    weight = len(parts) * part_noise / (len(parts) * part_noise + count_noise)
    whole = weight * count + (1 - weight) * summed
    return parts + (whole - summed) / len(parts)


def test_an_adaptive_grids_inference_is_least_squares_on_two_levels() -> None:
    tree = Tree((4,), np.arange(4), (np.array([0]), np.arange(4)))
    count, parts, alpha = 30.0, np.array([4.0, 9.0, 2.0, 7.0]), 0.3
    own, fine = 1 / alpha**2, 1 / (1 - alpha) ** 2

    found = top_down(tree, *least_squares(tree, [np.array([count]), parts], [own, fine]))

    weight = alpha**2 * 4 / ((1 - alpha) ** 2 + alpha**2 * 4)  # as the paper has it, with m2 = 2
    whole = weight * count + (1 - weight) * parts.sum()
    assert found == pytest.approx(parts + (whole - parts.sum()) / 4)
    assert reconcile(count, parts, own, fine) == pytest.approx(found)


def test_parts_of_parts_are_cut_as_far_as_they_have_cells() -> None:
    cuts = [even_cuts(5, 2), even_cuts(4, 1)]
    coarse = tree_of_cuts((5, 4), [[even_cuts(5, 1), even_cuts(4, 1)], cuts])

    fine = cut_further(coarse, cuts, np.array([1, 9]))

    label = np.empty(20, dtype=np.int64)
    label[fine.order] = np.repeat(np.arange(len(fine.starts[-1])), fine.leaf_sizes)
    grid = label.reshape(5, 4)
    assert len(np.unique(grid[:2])) == 1  # one part of 2 x 4 cells
    assert len(np.unique(grid[2:])) == 12  # and 3 x 4 single ones
    assert not set(grid[:2].ravel()) & set(grid[2:].ravel())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple))
def test_hilberts_curve_visits_each_cell_once(shape: tuple[int, ...]) -> None:
    assert sorted(hilbert_order(shape).tolist()) == list(range(math.prod(shape)))


@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 4), (2, 2, 2, 2)])
def test_hilberts_curve_goes_from_neighbour_to_neighbour(shape: tuple[int, ...]) -> None:
    places = np.stack(np.unravel_index(hilbert_order(shape), shape))

    assert np.abs(np.diff(places)).sum(axis=0).max() == 1


def test_shrinking_beats_least_squares_on_a_flat_grid_and_on_one_of_spikes() -> None:
    """The two ends between which grids lie; 20 draws each, with a fixed seed."""
    generator = np.random.default_rng(1)
    tree = halving_tree((64,))
    spikes = np.zeros(64)
    spikes[[7, 40]] = [500, 900]
    for truth in (np.full(64, 10.0), spikes):
        shrunk_error = plain_error = 0.0
        for _ in range(20):
            exact = [np.add.reduceat(truth[tree.order], starts) for starts in tree.starts]
            counts = [np.rint(each + generator.laplace(0, 10, len(each))).astype(np.int64) for each in exact]
            noise = [200.0] * len(counts)
            plain = top_down(tree, *least_squares(tree, counts, noise))
            shrunk = read_leaves(tree, counts, noise)
            plain_error += float(((plain - truth[tree.order]) ** 2).sum())
            shrunk_error += float(((shrunk - truth[tree.order]) ** 2).sum())
            assert shrunk.min() >= 0
        assert shrunk_error < plain_error / 4
