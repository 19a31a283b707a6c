"""AskedCells: which axes and runs of cells it counts, where it is another Option, and what it gains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import Numeric, Schema, Table
from jostle.options import get
from jostle.options.ranges.asked_cells import Facet, facets_of, fitted, tells_all
from jostle.options.ranges.tree import tree_over
from jostle.tables.schema import Neighbours
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.questions import RangeQuestion


def asked(kind: str, shape: tuple[int, ...]) -> Workload:
    return RangeQuestion.of(kind).workload(shape)


def test_queries_of_one_axis_at_a_time_are_counted_axis_by_axis() -> None:
    facets, shares = facets_of(asked("marginals", (64, 64)))
    assert sorted(facet.axes for facet in facets) == [(0,), (1,)]
    assert [len(facet.tree.order) for facet in facets] == [64, 64]
    assert sum(shares) == 1
    assert abs(shares[0] - Fraction(1, 2)) < Fraction(1, 1000)


def test_rare_sets_of_axes_have_no_count_of_their_own() -> None:
    """Of ranges of all axes, a few hold one whole by chance."""
    facets, shares = facets_of(asked("ranges 500 0", (64, 64)))
    assert [facet.axes for facet in facets] == [(0, 1)]
    assert shares == (Fraction(1),)


def test_runs_that_no_query_cuts_are_one_leaf() -> None:
    workload = Workload.boxes(1000, [(10, 500), (250, 500), (990, 1000)])
    runs = workload.runs()
    assert runs[0].tolist() == [0, 10, 250, 500, 990]
    tree = tree_over((1000,), runs)
    assert tree.starts[-1].tolist() == runs[0].tolist()
    assert [len(starts) for starts in tree.starts] == [1, 2, 4, 5]


@pytest.mark.parametrize(("name", "plain"), [("AskedCells", "ShrunkTree"), ("AskedCells(tree=refined)", "RefinedTree")])
def test_where_all_cells_are_told_apart_it_is_the_option_that_it_counts_by(name: str, plain: str) -> None:
    table = Table.from_grid(np.arange(64).reshape(8, 8) % 7)
    workload = Workload.identity((8, 8))
    assert tells_all(workload)
    mine, other = (get(each)(jostle.rehearse(table, epsilon=1, seed=3), workload, epsilon=1) for each in (name, plain))
    assert np.array_equal(mine.cells, other.cells)


@pytest.mark.parametrize(("relation", "rows"), [("add_remove", False), ("replace_one", False), ("replace_one", True)])
def test_all_sets_of_axes_together_cost_epsilon(relation: Neighbours, rows: bool) -> None:
    counts = np.arange(64).reshape(8, 8) % 7
    table = Table.from_grid(counts, neighbours=relation, rows=int(counts.sum()) if rows else None)
    db = jostle.rehearse(table, epsilon=1, seed=1)
    get("AskedCells")(db, asked("marginals", (8, 8)), epsilon="1/3")
    assert db.spent == Fraction(1, 3)


def test_a_grid_has_the_counts_of_leaves_that_it_is_fitted_to() -> None:
    truth = np.random.default_rng(0).integers(1, 9, (4, 6, 5)).astype(float)
    workload = Workload.boxes((4, 6, 5), [((0, 1, 0), (2, 6, 5)), ((1, 0, 2), (4, 4, 3))])
    facets = [Facet.of(workload, (0, 1)), Facet.of(workload, (2,))]
    sums = [truth.sum(axis=2), truth.sum(axis=(0, 1))]
    leaves = [
        np.add.reduceat(cells.ravel()[facet.tree.order], facet.tree.starts[-1])
        for facet, cells in zip(facets, sums, strict=True)
    ]
    grid = fitted((4, 6, 5), list(zip(facets, leaves, strict=True)), [1.0, 1.0])
    for facet, cells, others in zip(facets, sums, ((2,), (0, 1)), strict=True):
        assert np.allclose(facet.workload.answers(grid.sum(axis=others)), facet.workload.answers(cells))
    nothing = fitted((4, 6, 5), [(facet, 0 * counts) for facet, counts in zip(facets, leaves, strict=True)], [1.0, 1.0])
    assert (nothing == 0).all()


def test_sets_that_share_an_axis_are_counted_together() -> None:
    """Two counts of one axis, each spread evenly over runs of its own, would not agree inside these."""
    workload = Workload.boxes((9, 8, 7), [((1, 2, 0), (5, 6, 7)), ((0, 3, 1), (9, 7, 6))])
    facets, _ = facets_of(workload)
    assert [facet.axes for facet in facets] == [(0, 1, 2)]


def test_where_cells_may_be_blank_all_columns_are_counted_together() -> None:
    """A record without a value in one of them is in no cell, so it is in none of the counts of the other either."""
    rows = {"x": [0.5] * 3000, "y": [0.5, None, None] * 1000}
    schema = Schema({name: Numeric(0, 4, bins=4, missing="blank") for name in ("x", "y")})
    db = jostle.rehearse(Table.from_frame(rows, schema), epsilon=10, seed=1)
    estimate = get("AskedCells")(db, [{"x": (0, 1)}, {"y": (0, 1)}], epsilon=10)
    assert abs(estimate.total - 1000) < 50


@pytest.mark.parametrize(("kind", "factor"), [("marginals", 0.7), ("few 8 0", 0.8)])
def test_it_is_nearer_than_the_tree_that_it_counts_by(kind: str, factor: float) -> None:
    x, y = np.meshgrid(*[np.linspace(-2, 2, 64)] * 2)
    shape = np.exp(-(x**2 + y**2 + x * y)) + 0.1
    counts = np.random.default_rng(1).multinomial(30_000, (shape / shape.sum()).ravel()).reshape(64, 64)
    workload = asked(kind, counts.shape)
    truth = workload.answers(counts)

    def loss(name: str) -> float:
        found = [
            get(name)(jostle.rehearse(Table.from_grid(counts), epsilon=1, seed=seed), workload, epsilon="1/10")
            for seed in range(6)
        ]
        return float(np.mean([np.linalg.norm(each.answers(workload) - truth) for each in found]))

    assert loss("AskedCells") < factor * loss("ShrunkTree")


@pytest.mark.parametrize(("tree", "counted"), [("shrunk", "ShrunkTree"), ("refined", "RefinedTree")])
def test_its_intervals_are_those_of_what_it_counts_by_where_all_cells_are_told_apart(tree: str, counted: str) -> None:
    table, few = Table.from_grid(np.arange(64)), Workload.boxes(64, [(3, 40), (10, 64)])
    own, other = (
        {
            len(queries): get(name)(jostle.rehearse(table, seed=1), queries, epsilon=1)
            for queries in (few, Workload.all_ranges((64,)))
        }
        for name in (f"AskedCells(tree={tree})", counted)
    )
    most = max(own)
    assert np.allclose(own[most].interval(few, 0.9), other[most].interval(few, 0.9))
    assert not np.allclose(own[2].interval(few, 0.9), other[2].interval(few, 0.9))
