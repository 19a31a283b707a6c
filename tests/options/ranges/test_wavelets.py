"""The Haar transform of whole numbers, its inverse, and the variances of ranges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.options.ranges.wavelets import (
    Privelet,
    haar_variances,
    inverse_haar,
    join_levels,
    level_loads,
    level_weights,
)
from jostle.tables.regions import Haar, haar, haar_side
from jostle.tasks.ranges.estimate import Workload

shapes = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)


def coefficients(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[np.ndarray]:
    table = jostle.Table.from_grid(counts)
    kernel = Haar(table.schema.names)
    flat = table._source.tally(kernel, ())
    assert isinstance(flat, np.ndarray)
    ends = np.cumsum(kernel.sizes(table.schema))
    return np.split(flat, ends[:-1])


@given(shapes, st.integers(0, 1000))
def test_cells_come_back_exactly_whatever_the_sides(shape: tuple[int, ...], seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 50, shape)

    cells = join_levels(coefficients(counts), shape)
    for axis in range(len(shape)):
        cells = inverse_haar(cells, axis)

    assert np.array_equal(cells[tuple(map(slice, shape))], counts)


@given(shapes)
def test_a_row_changes_one_coefficient_of_each_level_by_one(shape: tuple[int, ...]) -> None:
    """The claim that the noise is calibrated to, for the first and the last cell."""
    for place in (tuple(0 for _ in shape), tuple(side - 1 for side in shape)):
        counts = np.zeros(shape, dtype=np.int64)
        counts[place] = 1
        for level in coefficients(counts):
            assert np.abs(level).sum() == 1


def test_the_transform_is_sums_and_differences() -> None:
    assert haar(np.array([1, 2, 3, 4]), 0).tolist() == [10, -4, -1, -1]
    assert [haar_side(size) for size in (1, 2, 3, 4, 5)] == [1, 2, 4, 4, 8]


@pytest.mark.parametrize("shape", [(5,), (8,), (3, 4), (2, 3, 2)])
def test_variances_are_those_of_the_inverse_written_out(shape: tuple[int, ...]) -> None:
    workload = Workload.random_ranges(shape, 25)
    levels = coefficients(np.zeros(shape, dtype=np.int64))
    noise = np.random.default_rng(0).uniform(1, 5, len(levels))

    columns, spread = [], []
    for number, level in enumerate(levels):
        for place in range(len(level)):
            unit = [np.zeros(len(each), dtype=np.int64) for each in levels]
            unit[number][place] = 1
            cells = join_levels(unit, shape)
            for axis in range(len(shape)):
                cells = inverse_haar(cells, axis)
            columns.append(workload.answers(cells[tuple(map(slice, shape))]))
            spread.append(noise[number])
    expected = (np.stack(columns, axis=1) ** 2 * np.array(spread)).sum(axis=1)

    assert haar_variances(workload, noise.tolist()) == pytest.approx(expected)
    assert (level_loads(workload) * noise).sum() == pytest.approx(expected.sum())


@given(st.sampled_from([1, 2, 7, 64, 2**15, 2**15 + 1, 2**20]), st.integers(0, 1000))
def test_a_query_weighs_on_the_blocks_that_hold_its_ends(side: int, seed: int) -> None:
    """Block by block as the definition has it, below and above the side from which squares need more than 32 bits."""
    workload = Workload.random_ranges(side, 5, seed=seed)
    found = level_weights(workload, 0)
    sizes = [haar_side(side) >> depth for depth in range(haar_side(side).bit_length() - 1)]
    for low, high, weights in zip(workload.low[:, 0].tolist(), workload.high[:, 0].tolist(), found, strict=True):
        expected = [Fraction(high - low, haar_side(side)) ** 2]
        for size in sizes:
            total = Fraction(0)
            for block in {low // size, (high - 1) // size}:
                counts = [
                    max(0, min(high, start + size // 2) - max(low, start))
                    for start in (block * size, block * size + size // 2)
                ]
                total += Fraction(counts[0] - counts[1], size) ** 2
            expected.append(total)
        assert weights.tolist() == [float(weight) for weight in expected]


@pytest.mark.slow
def test_privelets_error_bars_are_its_errors() -> None:
    """Root mean square of (error / deviation) over 300 runs and 10 queries is near 1; fixed seeds."""
    counts = np.random.default_rng(0).integers(0, 30, 13)
    table, workload = jostle.Table.from_grid(counts), Workload.random_ranges(13, 10)
    truth = workload.answers(counts)

    ratios = []
    for seed in range(300):
        estimate = Privelet()(jostle.rehearse(table, epsilon=1, seed=seed), workload, epsilon=1)
        deviations = estimate.deviations(workload)
        assert deviations is not None
        ratios.append((estimate.answers(workload) - truth) / deviations)

    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1, abs=0.05)
    assert np.mean(ratios) == pytest.approx(0, abs=0.1)
