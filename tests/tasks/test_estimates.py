"""Estimates in the units of a table's columns: what is asked, the frames, files and curves that are made of them."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import OptionError
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate, Workload
from jostle.trace.records import Chosen

SCHEMA = Schema(
    {
        "income": Numeric(0, 100_000, bins=20, missing="value"),
        "region": Categorical(["north", "east", "south"]),
    }
)
SHAPE = (21, 3)
CELLS = np.arange(63, dtype=np.float64).reshape(SHAPE)


def estimate(cells: NDArray[np.float64] = CELLS, schema: Schema = SCHEMA) -> Estimate:
    return Estimate(cells, schema=schema)


def of_rows(*rows: tuple[float, str]) -> Table:
    return Table.from_frame({"income": [low for low, _ in rows], "region": [name for _, name in rows]}, SCHEMA)


@pytest.mark.parametrize(
    ("box", "low", "high"),
    [
        ({"income": (20_000, 50_000)}, [4, 0], [10, 3]),
        ({"income": (None, 5_000), "region": "east"}, [0, 1], [1, 2]),
        ({"income": (95_000, None)}, [19, 0], [20, 3]),
        ({"region": ["south", "east"]}, [0, 1], [21, 3]),
        ({}, [0, 0], [21, 3]),
    ],
)
def test_a_box_in_units_is_a_box_of_cells(box: dict[str, Any], low: list[int], high: list[int]) -> None:
    workload = Workload.in_units(SCHEMA, box)

    assert (workload.low.tolist(), workload.high.tolist()) == ([low], [high])
    assert estimate().answers(box).tolist() == [CELLS[tuple(map(slice, low, high))].sum()]


edges_of_columns = st.one_of(
    st.tuples(st.floats(-1e6, 1e6), st.floats(0.001, 1e6), st.integers(1, 400)).map(
        lambda given: Numeric(given[0], given[0] + given[1], bins=given[2])
    ),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9, unique=True)
    .map(sorted)
    .filter(lambda edges: min(np.diff(edges)) > 1e-6)
    .map(lambda edges: Numeric(edges[0], edges[-1], edges=edges)),
)


@given(edges_of_columns, st.data())
def test_every_edge_is_known_by_its_number_or_one_as_near_as_decimals_are(column: Numeric, data: st.DataObject) -> None:
    schema = Schema({"x": column})
    first = data.draw(st.integers(0, column.bins - 1))
    last = data.draw(st.integers(first + 1, column.bins))
    low, high = column.cut_points[first], column.cut_points[last]

    # As it is where decimals stand for an edge: off by less than anybody means.
    near = 1e-10 * min(np.diff(column.cut_points))
    for box in ({"x": (low, high)}, {"x": (low - near, high + near)}):
        workload = Workload.in_units(schema, box)
        assert (workload.low.tolist(), workload.high.tolist()) == ([[first]], [[last]])


@pytest.mark.parametrize("name", ["Identity", "ThresholdedHistogram", "ShrunkTree"])
def test_options_take_ranges_in_units_and_their_estimates_answer_them(name: str) -> None:
    db = jostle.rehearse(of_rows(*[(22_000, "north")] * 30, *[(70_000, "south")] * 20), epsilon=10**6, seed=1)

    found = jostle.options.get(name)(db, {"income": (20_000, 50_000)}, epsilon=10**5)

    assert found.answers([{"income": (20_000, 50_000)}, {"region": "south"}]) == pytest.approx([30, 20], abs=1e-3)


def test_makers_and_functions_are_given_ranges_in_units_as_workloads_and_refuse_others_before_they_pay() -> None:
    seen: list[Any] = []

    @jostle.option(task="grid")
    def Asked(db: jostle.Probe, workload: Workload, *, epsilon: Any) -> Estimate:  # noqa: N802
        seen.append(workload)
        db.count(epsilon)
        return Estimate(np.zeros(SHAPE))

    db = jostle.rehearse(of_rows((1.0, "north")), epsilon=2)
    maker = jostle.pretrained("ranges")
    for option in (Asked, maker):
        with pytest.raises(OptionError, match="lies inside a bin"):
            option(db, {"income": (1, 2)}, epsilon=1)
    assert db.left == 2

    assert Asked(db, {"income": (0, 5_000)}, epsilon=1).answers({"region": "north"}) == [0]
    assert isinstance(seen[0], Workload)
    assert maker(db, {"income": (0, 5_000)}, epsilon=1).answers({"income": (0, 5_000)}).shape == (1,)


def test_one_maker_answers_ranges_of_one_to_three_axes() -> None:
    maker = jostle.pretrained("ranges")
    for shape in ((32,), (8, 8), (4, 2, 4)):
        trace = jostle.Trace()
        db = jostle.rehearse(Table.from_grid(np.ones(shape, dtype=np.int64)), epsilon=1, trace=trace)
        assert maker(db, Workload.identity(shape), epsilon=1).shape == shape
        assert next(record.why for record in trace.records if isinstance(record, Chosen)).startswith(
            "asked: single cells; "
        )

    deep = jostle.rehearse(Table.from_grid(np.ones((2, 2, 2, 2), dtype=np.int64)), epsilon=1)
    with pytest.raises(OptionError, match=r"it learned from grids of .*, and this table has 4"):
        maker(deep, epsilon=1)
    assert deep.left == 1


def test_a_frame_has_a_row_per_cell_with_values_ends_of_bins_counts_and_deviations() -> None:
    db = jostle.rehearse(of_rows((22_000, "north")), epsilon=1, seed=2)
    found = jostle.options.get("Identity")(db, epsilon=1)
    frame = found.to_frame()

    assert frame.column_names == ["income_from", "income_to", "region", "count", "deviation"]
    rows = frame.to_pylist()
    assert [rows[place]["income_from"] for place in (0, 1, 3, 60)] == [0.0, 0.0, 5_000.0, None]
    assert rows[4] == {**rows[4], "income_to": 10_000.0, "region": "east", "count": found.cells[1, 1]}
    assert frame["deviation"].to_pylist() == pytest.approx(found.deviations(Workload.identity(SHAPE)))
    assert found.to_frame("pandas")["count"].tolist() == found.to_frame("polars")["count"].to_list()
    with pytest.raises(OptionError, match="no frames of 'spark'"):
        found.to_frame("spark")  # type: ignore[arg-type]


def test_a_sparse_frame_lists_the_cells_that_are_listed() -> None:
    sparse = SparseEstimate(SHAPE, np.array([4, 60]), np.array([7, 9]), schema=SCHEMA)

    rows = sparse.to_frame().to_pylist()
    assert [(row["income_from"], row["region"], row["count"]) for row in rows] == [
        (5_000.0, "east", 7.0),
        (None, "north", 9.0),
    ]
    assert sparse.cumulative("income").counts[-1] == 7


def test_a_file_is_what_its_ending_says(tmp_path: Path) -> None:
    made = estimate()
    for ending in ("csv", "parquet", "npy", "json", "JSON"):
        made.write(tmp_path / f"cells.{ending}")

    assert pa_csv.read_csv(tmp_path / "cells.csv")["count"].to_pylist() == CELLS.ravel().tolist()
    assert pa_parquet.read_table(tmp_path / "cells.parquet").equals(made.to_frame())
    assert np.load(tmp_path / "cells.npy").tolist() == CELLS.tolist()
    assert json.loads((tmp_path / "cells.JSON").read_text())["shape"] == [21, 3]
    with pytest.raises(OptionError, match=r"no estimate is written to a file \.xlsx"):
        made.write(tmp_path / "cells.xlsx")


counts = st.lists(st.integers(-20, 50), min_size=1, max_size=8)


@given(counts)
def test_a_curve_never_falls_and_is_the_nearest_that_does_not(given_counts: list[int]) -> None:
    schema = Schema({"x": Numeric(0, len(given_counts), bins=len(given_counts))})
    curve = estimate(np.array(given_counts, dtype=np.float64), schema).cumulative()
    raw = np.cumsum(given_counts)

    assert np.all(np.diff(curve.counts) >= -1e-9)
    assert curve.counts[0] == 0
    ours = float(((curve.counts[1:] - raw) ** 2).sum())
    # Against brute force: the best rising curve takes its steps at means of runs of the raw one, cut off at 0.
    best = min(
        float(((pieced - raw) ** 2).sum())
        for cuts in product([False, True], repeat=len(raw) - 1)
        if np.all(np.diff(pieced := _pieced(raw, cuts)) >= 0)
    )
    assert ours == pytest.approx(best, abs=1e-6)


def _pieced(raw: NDArray[Any], cuts: tuple[bool, ...]) -> NDArray[np.float64]:
    pieces = np.split(raw.astype(np.float64), [place + 1 for place, cut in enumerate(cuts) if cut])
    means: list[float] = [float(piece.mean()) for piece in pieces for _ in piece]
    found: NDArray[np.float64] = np.maximum(np.array(means), 0)
    return found


def test_quantiles_are_where_the_curve_reaches_their_share() -> None:
    schema = Schema({"x": Numeric(0, 40, bins=4)})
    made = estimate(np.array([10.0, 0.0, 0.0, 30.0]), schema)

    assert [made.quantile(share) for share in (0, 0.125, 0.25, 0.5, 1)] == [0, 5, 10, 30 + 10 / 3, 40]
    assert made.cumulative().below(35) == 25
    for share in (-0.1, 1.5, math.nan, "half", True):
        with pytest.raises(OptionError, match="is not a share"):
            made.quantile(share)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="no records, and so no quantiles"):
        estimate(np.array([-1.0, 0.0, 0.0, -3.0]), schema).quantile(0.5)
    with pytest.raises(OptionError, match="not numeric"):
        estimate().quantile(0.5, "region")
    with pytest.raises(OptionError, match="which column is meant is not said"):
        estimate().quantile(0.5)


def test_a_marginal_adds_up_the_others_with_its_deviations() -> None:
    db = jostle.rehearse(of_rows((22_000, "north")), epsilon=1, seed=2)
    found = jostle.options.get("Identity")(db, epsilon=1)
    assert isinstance(found, Estimate)
    regions = found.marginal("region")

    assert regions.cells == pytest.approx(found.cells.sum(axis=0))
    asked: list[dict[str, Any]] = [{"region": "north"}, {"region": ["east", "south"]}]
    assert regions.answers(asked) == pytest.approx(found.answers(asked))
    assert regions.deviations(asked) == pytest.approx(found.deviations(asked))
    with pytest.raises(OptionError, match="no columns are named"):
        found.marginal()


def test_plots_show_the_counts_of_one_axis_or_two() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    assert matplotlib
    db = jostle.rehearse(of_rows((22_000, "north")), epsilon=1, seed=2)
    found = jostle.options.get("Identity")(db, epsilon=1)
    assert isinstance(found, Estimate)

    for figure, label in ((found.plot(), "region"), (found.marginal("income").plot(), "income")):
        figure.canvas.draw()
        assert figure.axes[0].get_xlabel() == label
    solid = estimate(np.ones((2, 2, 2)), Schema({name: Numeric(0, 2, bins=2) for name in "abc"}))
    with pytest.raises(OptionError, match=r"marginal\('a', 'b'\)"):
        solid.plot()
