"""Reading noisy counts of a tree by Bayes' rule, against plain integration on small trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from jostle.options.ranges import reading
from jostle.options.ranges.reading import SPLITS, SplitModel, careful_leaves, read_leaves
from jostle.options.ranges.tree import Tree, chain_tree, halving_tree, least_squares, nonnegative
from jostle.privacy.amounts import exact
from jostle.privacy.evidence import noise_variance
from jostle.tasks.ranges.estimate import Workload

EVEN = SplitModel(widths=(0.2,), kinds=[[0, 0, 1, 0]], handed_down=[[1]], first=[1])
ONE_SIDED = SplitModel(widths=(0.2,), kinds=[[0.5, 0.5, 0, 0]], handed_down=[[1]], first=[1])
ANYHOW = SplitModel(widths=(0.2,), kinds=[[0, 0, 0, 1]], handed_down=[[1]], first=[1])
MIXED = SplitModel(widths=(0.2,), kinds=[[0.2, 0.2, 0.4, 0.2]], handed_down=[[1]], first=[1])


def integrated(model: SplitModel, root: float, leaves: tuple[float, float], scale: float) -> NDArray[np.float64]:
    """Return the expected leaves, by adding up over all totals and all parts, a tenth of a record apart."""
    totals = np.arange(0.05, root + 20 * scale, 0.1)
    weights, firsts = [], []
    for total in totals:
        none, all_, uneven, anyhow = model.kinds[0]
        parts = np.arange(0.05, total, 0.1)
        shape = 1 / model.widths[0] ** 2 - 1
        density = uneven * beta_distribution.pdf(parts / total, shape / 2, shape / 2) / total + anyhow / total
        at = np.concatenate([[0.0, total], parts])
        mass = np.concatenate([[none, all_], density * 0.1])
        seen = np.abs(root - total) + np.abs(leaves[0] - at) + np.abs(leaves[1] - (total - at))
        likely = mass * np.exp(-seen / scale)
        weights.append(likely.sum())
        firsts.append((likely * at).sum())
    total = (np.array(weights) * totals).sum() / sum(weights)
    first = sum(firsts) / sum(weights)
    return np.array([first, total - first])


@pytest.mark.representative
@pytest.mark.parametrize(
    ("model", "root", "leaves"),
    [
        *[(EVEN, *seen) for seen in ((100, (45, 60)), (40, (8, 35)), (6, (3, -9)))],
        *[(ONE_SIDED, *seen) for seen in ((100, (90, -4)), (40, (8, 35)), (6, (3, -9)))],
        *[(model, *seen) for model in (ANYHOW, MIXED) for seen in ((100, (45, 60)), (100, (90, -4)), (6, (3, -9)))],
    ],
)
def test_two_leaves_are_expected_as_integration_has_it(model: SplitModel, root: int, leaves: tuple[int, int]) -> None:
    """To a sixth of the noise's deviation: messages are kept at few places, and a part goes by the expected total."""
    scale = 6.0
    noise = noise_variance(exact(scale, "scale"))
    found = read_leaves(halving_tree((2,)), [np.array([root]), np.array(leaves)], [noise, noise], model)

    assert found == pytest.approx(integrated(model, root, leaves, scale), abs=math.sqrt(noise) / 6)


def test_states_tell_a_spike_from_a_plain() -> None:
    """The same two leaves, 20 and 0 with noise of 8, are read as they lie: among spikes, or amid a plain."""
    tree = halving_tree((64,))
    scale = noise_variance(exact(8, "scale"))
    plain = np.full(64, 10)
    spiky = np.where(np.arange(64) % 16 == 0, 160, 0)
    for counts in (plain, spiky):
        counts[[32, 33]] = [20, 0]
    read = []
    for counts in (plain, spiky):
        sums = [np.add.reduceat(counts, starts) for starts in tree.starts]
        read.append(read_leaves(tree, sums, [scale] * len(sums)))
    smooth, rough = read[0][33], read[1][33]

    assert smooth > 7
    assert rough < 3


sides = st.integers(1, 40)


@settings(max_examples=60, deadline=None)
@given(side=sides, width=st.integers(1, 9), seed=st.integers(0, 999), scale=st.floats(0.3, 200), data=st.data())
def test_leaves_are_never_negative_and_add_up_to_the_expected_total(
    side: int, width: int, seed: int, scale: float, data: st.DataObject
) -> None:
    generator = np.random.default_rng(seed)
    truth = np.rint(generator.pareto(0.7, (side, width)) * generator.integers(0, 2, (side, width)) * 5).ravel()
    tree = halving_tree((side, width))
    levels = len(tree.starts)
    counted = [*data.draw(st.lists(st.booleans(), min_size=levels - 1, max_size=levels - 1)), True]
    variance = 2 * scale**2
    counts = [
        np.rint(np.add.reduceat(truth[tree.order], starts) + generator.laplace(0, scale, len(starts))) if seen else None
        for seen, starts in zip(counted, tree.starts, strict=True)
    ]
    noise = [variance if seen else math.inf for seen in counted]

    read = read_leaves(tree, counts, noise)
    found, spread = least_squares(tree, counts, noise)

    assert read.shape == (side * width,)
    assert np.isfinite(read).all()
    assert read.min() >= 0
    reach = reading.REACH * math.sqrt(max(spread[0][0], reading.NO_NOISE))
    assert abs(read.sum() - max(found[0][0], 0)) <= reach * (1 + 1e-9)


def test_nearly_exact_counts_are_taken_as_they_are() -> None:
    tree = halving_tree((8,))
    truth = np.array([5.0, 0, 0, 3, 1000, 1, 0, 0])
    counts = [np.add.reduceat(truth, starts) for starts in tree.starts]
    for variance in (1e-200, 1e-6, 0.049, 0.06):
        read = read_leaves(tree, counts, [variance] * len(counts))

        assert read == pytest.approx(truth, abs=0.4)


def test_parts_of_uneven_size_share_by_size() -> None:
    """A part of 30 cells and one of 10, both all noise, are read as the smooth grid they may be."""
    tree = chain_tree((40,), np.arange(40), np.array([0, 30]))
    counts = [np.array([4000]), np.array([2980, 1020])]
    read = read_leaves(tree, counts, [200.0, 80_000.0])

    assert read == pytest.approx([3000, 1000], rel=0.03)


def test_below_the_leaves_that_are_read_counts_are_split_by_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = halving_tree((16,))
    truth = np.arange(16) * 10.0
    generator = np.random.default_rng(3)
    counts = [np.add.reduceat(truth, starts) + generator.laplace(0, 5, len(starts)) for starts in tree.starts]
    noise = [50.0] * len(counts)
    whole = read_leaves(tree, counts, noise)
    monkeypatch.setattr(reading, "MOST_READ", 4)
    part = read_leaves(tree, counts, noise)
    plain = nonnegative(tree, *least_squares(tree, counts, noise))

    assert part.sum() == pytest.approx(whole.sum(), rel=0.02)
    # Least squares leaves the differences within a part of four cells as they were found.
    assert np.diff(part.reshape(4, 4), axis=1)[:, 0] == pytest.approx(np.diff(plain.reshape(4, 4), axis=1)[:, 0])


def steps(generator: np.random.Generator) -> NDArray[np.float64]:
    return np.repeat(generator.uniform(0, 40, 8), 32)


def spikes(generator: np.random.Generator) -> NDArray[np.float64]:
    return np.where(generator.uniform(size=256) < 0.05, generator.pareto(1, 256) * 100, 0)


def bell(generator: np.random.Generator) -> NDArray[np.float64]:
    middle, width = generator.uniform(60, 200), generator.uniform(8, 60)
    heights: NDArray[np.float64] = 4000 / width * np.exp(-(((np.arange(256) - middle) / width) ** 2))
    return heights


def rough(generator: np.random.Generator) -> NDArray[np.float64]:
    return generator.gamma(0.5, 40, 256)


def comb(generator: np.random.Generator) -> NDArray[np.float64]:
    return np.where(np.arange(256) % 3 == generator.integers(3), 60.0, 1.0)


@pytest.mark.representative
@pytest.mark.parametrize("kind", [steps, spikes, bell, rough, comb])
@pytest.mark.parametrize("scale", [3.0, 30.0])
@pytest.mark.parametrize("levels", [{0, 4, 8}, {2, 5, 8}], ids=str)
def test_no_reading_is_much_worse_than_least_squares(
    kind: Callable[[np.random.Generator], NDArray[np.float64]], scale: float, levels: set[int]
) -> None:
    """By 5% at most, over grids of a kind, whether or not the model knows that kind; by ranges, not by cells."""
    tree = halving_tree((256,))
    workload = Workload.random_ranges((256,), 200, seed=1)
    ways = {"read": read_leaves, "careful": careful_leaves, "plain": fitted_leaves}
    off: dict[str, list[float]] = {name: [] for name in ways}
    for seed in range(12):
        generator = np.random.default_rng(seed)
        truth = generator.poisson(kind(generator))
        sums = [np.add.reduceat(truth, starts) for starts in tree.starts]
        counts = [
            np.rint(sums[level] + generator.laplace(0, scale, len(sums[level]))) if level in levels else None
            for level in range(len(sums))
        ]
        noise = [2 * scale**2 if level in levels else math.inf for level in range(len(sums))]
        for name, way in ways.items():
            answers = workload.answers(way(tree, counts, noise))
            off[name].append(float(np.linalg.norm(answers - workload.answers(truth))))
    assert np.mean(off["read"]) <= 1.05 * np.mean(off["plain"])
    assert np.mean(off["careful"]) <= 1.05 * np.mean(off["plain"])


def fitted_leaves(
    tree: Tree, counts: Sequence[NDArray[np.float64] | None], noise: Sequence[float]
) -> NDArray[np.float64]:
    return nonnegative(tree, *least_squares(tree, counts, noise))


def test_the_model_is_made_of_chances() -> None:
    for rows in (SPLITS.kinds, SPLITS.handed_down, SPLITS.first):
        assert rows.sum(axis=-1) == pytest.approx(1)
        assert rows.min() >= 0
    assert norm.cdf(reading.REACH) > 0.9999
