"""What holds for every Option of the grid task."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import jostle
from jostle import Numeric, Schema, Table, options
from jostle.options.ranges.base import GridOption
from jostle.tables.schema import Neighbours
from jostle.tasks.ranges.estimate import Workload

NAMES = options.names("grid")
WITH_ERROR_BARS = (
    "AdaptiveGrid",
    "GreedyH",
    "HierarchicalB",
    "Identity",
    "PerturbedHistogram",
    "Privelet",
    "QuadTree",
    "UniformGrid",
)
SHAPES = [(37,), (13, 7), (4, 5, 3), (1,), (1, 1)]


def the_option(name: str) -> GridOption:
    found = options.get(name)
    assert isinstance(found, GridOption)
    return found


def made_up(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    return generator.poisson(np.where(generator.random(shape) < 0.3, 40, 1)).astype(np.int64)


@pytest.mark.representative("name")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "Uniform"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("shape", SHAPES)
def test_with_ever_more_budget_answers_become_exact(name: str, neighbours: Neighbours, shape: tuple[int, ...]) -> None:
    counts = made_up(shape)
    workload = Workload.random_ranges(shape, 50)
    db = jostle.rehearse(Table.from_grid(counts, neighbours=neighbours), epsilon=10**6, seed=1)

    answers = the_option(name)(db, workload, epsilon=10**6).answers(workload)

    # MWEM gets there in rounds, and stops asking once it is off by less than half a record.
    assert answers == pytest.approx(workload.answers(counts), abs=0.5 if name == "MWEM" else 1e-6)


@pytest.mark.representative
@pytest.mark.parametrize("name", NAMES)
def test_four_times_the_records_are_worth_four_times_the_budget(name: str) -> None:
    """Scaled error depends on records * epsilon: geometric means over 40 seeds agree to 40 %."""
    counts = made_up((32,), seed=3) * 5
    workload = Workload.random_ranges(32, 40)

    def scaled_error(times: int, epsilon: str) -> float:
        table = Table.from_grid(counts * times)
        truth = workload.answers(counts * times)
        errors = []
        for seed in range(40):
            db = jostle.rehearse(table, epsilon=epsilon, seed=seed + 1000 * times)
            answers = the_option(name)(db, workload, epsilon=epsilon).answers(workload)
            errors.append(np.linalg.norm(answers - truth) / times)
        return float(np.exp(np.mean(np.log(errors))))

    assert scaled_error(4, "1/16") / scaled_error(1, "1/4") == pytest.approx(1, abs=0.4)


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_without_records_has_next_to_none_in_the_estimate(name: str) -> None:
    db = jostle.rehearse(Table.from_grid(np.zeros((6, 5))), epsilon=1, seed=2)

    estimate = the_option(name)(db, epsilon=1)

    assert abs(estimate.total) < 30


@pytest.mark.parametrize("name", NAMES)
def test_the_columns_of_any_table_span_a_grid(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"west": [0.1, 0.9, 0.9, 0.5], "north": [0.0, 1.0, 1.0, 0.2]})
    schema = Schema({"west": Numeric(0, 1, bins=3), "north": Numeric(0, 1, bins=2)})
    db = jostle.rehearse(Table.from_frame(frame, schema), epsilon=10**6, seed=0)

    estimate = the_option(name)(db, Workload.identity((3, 2)), epsilon=10**6)

    if name != "Uniform":
        assert estimate.cells == pytest.approx(np.array([[1, 0], [1, 0], [0, 2]]), abs=0.5)


@pytest.mark.parametrize("name", NAMES)
def test_who_knows_the_errors_of_its_answers_says_them(name: str) -> None:
    workload = Workload.random_ranges((4, 5), 10)
    db = jostle.rehearse(Table.from_grid(made_up((4, 5)) + 500), epsilon=1, seed=0)
    estimate = the_option(name)(db, workload, epsilon=1)
    assert (estimate.deviations(workload) is not None) is (name in WITH_ERROR_BARS)
    assert name in WITH_ERROR_BARS or not estimate.linear


@pytest.mark.representative
@pytest.mark.parametrize("name", WITH_ERROR_BARS)
def test_error_bars_are_the_errors(name: str) -> None:
    """Root mean square of error / deviation over 200 runs, within 15 %, with fixed seeds."""
    counts = made_up((4, 5)) + 500
    workload = Workload.random_ranges((4, 5), 10)
    truth = workload.answers(counts)
    ratios = []
    for seed in range(200):
        db = jostle.rehearse(Table.from_grid(counts), epsilon=1, seed=seed)
        estimate = the_option(name)(db, workload, epsilon=1)
        deviations = estimate.deviations(workload)
        assert deviations is not None
        ratios.append((estimate.answers(workload) - truth) / deviations)
    # Counts of 500 are so far above the noise that taking out negative ones changes nothing.
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1, abs=0.15)
