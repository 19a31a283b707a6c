"""The sparse histogram is distributed as the dense one cut off at its threshold, and never visits empty cells."""

from __future__ import annotations

import numpy as np
import pytest

import jostle
from jostle import Numeric, Schema, Table
from jostle.options.ranges.cells import Identity, ThresholdedHistogram, threshold
from jostle.tables.schema import Neighbours
from jostle.tasks.ranges.estimate import SparseEstimate


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_it_is_the_dense_construction_in_distribution(neighbours: Neighbours) -> None:
    """2,000 runs of both: how often each cell is kept, and its mean, agree within five standard errors; fixed seeds."""
    counts = np.array([0, 3, 0, 9, 0, 1, 0, 0])
    rows = int(counts.sum())
    table = Table.from_grid(counts, neighbours=neighbours)
    rate = 1.0 if neighbours == "add_remove" else 0.5
    least = threshold(rows, 8, rate, 0.5)
    runs = 2000

    dense, sparse = np.zeros((runs, 8)), np.zeros((runs, 8))
    for seed in range(runs):
        noisy = Identity()(jostle.rehearse(table, epsilon=1, seed=seed), epsilon=1).cells
        whole = jostle.rehearse(table, seed=seed + runs)
        whole.count(10**6)
        dense[seed] = np.where(noisy > least, noisy, 0)
        sparse[seed] = ThresholdedHistogram()(whole, epsilon=1).cells

    for left, right in ((dense > 0, sparse > 0), (dense, sparse), (dense.prod(axis=1) > 0, sparse.prod(axis=1) > 0)):
        error = np.sqrt((left.var(axis=0) + right.var(axis=0)) / runs)
        assert np.all(np.abs(left.mean(axis=0) - right.mean(axis=0)) <= 5 * error + 1e-12)
    # Whether two empty cells are kept together: independent in both.
    both = ((dense[:, 0] > 0) & (dense[:, 2] > 0)).mean(), ((sparse[:, 0] > 0) & (sparse[:, 2] > 0)).mean()
    assert both[0] == pytest.approx(both[1], abs=0.05)


def test_a_domain_of_2_to_the_60_cells_takes_memory_for_its_rows_only() -> None:
    """20,000 rows; of a million, docs/benchmarks/histograms.md says what they take."""
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    schema = Schema({name: Numeric(0, 1, bins=2**20) for name in "abc"})
    frame = pandas.DataFrame({name: np.repeat(generator.random(200), 100) for name in "abc"})
    db = jostle.rehearse(Table.from_frame(frame, schema), epsilon=2, seed=0)

    estimate = ThresholdedHistogram()(db, epsilon=2)

    assert isinstance(estimate, SparseEstimate)
    # The 200 cells of 100 rows each are far above the threshold of about log(2**60 / 20000) / 2.
    assert np.sum(estimate.values > 60) == 200
    assert len(estimate.keys) < 3 * 20_000
    assert np.all(np.diff(estimate.keys) > 0)
    assert estimate.keys.max() < 2**60


def test_the_threshold_is_the_papers_until_empty_cells_would_drown_the_rest() -> None:
    assert threshold(1000, 2000, 1.0, 0.5) == 3  # log(1000) / 2 = 3.45
    assert threshold(1000, 2**60, 1.0, 0.5) == 34  # log(2**60 / 1000) = 34.7
    assert threshold(0, 1, 1.0, 0.5) == 0
