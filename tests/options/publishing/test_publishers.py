"""Options that publish rows: what they publish, and what they say where nothing can come of it."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables_of_labels import arrow, correlated, schema_of, table_of

import jostle
from jostle import Dates, Numeric, Schema, Table
from jostle.errors import FewRowsWarning, OptionError
from jostle.options import get, names
from jostle.options.publishing.projected_histogram import mda, nonprivate_kd
from jostle.tables.columns import Categorical
from jostle.tables.schema import Neighbours
from jostle.tasks.publishing import Published
from jostle.tasks.publishing.published import PublishedColumn
from jostle.tasks.publishing.task import learn
from jostle.trace.records import Charged, Trace

PUBLISHERS = names("publishing")
PARTITION = "ProjectedHistogram(choose_k=partition)"
SHAPES: dict[str, tuple[tuple[int, ...], list[tuple[int, ...]]]] = {
    "empty": ((3, 2, 2), []),
    "one row": ((3, 2, 2), [(2, 1, 1)]),
    "one class": ((3, 2, 1), [(0, 1, 0), (1, 1, 0)]),
    "one attribute": ((4, 2), [(3, 1), (0, 0), (3, 1)]),
    "a constant attribute": ((1, 2), [(0, 1), (0, 0), (0, 1)]),
    "no attribute": ((2,), [(0,), (1,), (1,)]),
    "wide": ((900,) * 6 + (2,), [(7,) * 6 + (1,)] * 30),
}


def published(name: str, *, epsilon: int = 1000, count: int = 2000) -> tuple[Published, Schema, list[tuple[int, ...]]]:
    schema, rows = correlated(count)
    option: Any = get(name)
    return option(jostle.rehearse(table_of(rows, schema), epsilon=epsilon, seed=1), epsilon=epsilon), schema, rows


@pytest.mark.representative("name")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*PUBLISHERS, PARTITION])
def test_tables_at_the_edge_work_and_cost_what_they_should(name: str, shape: str) -> None:
    sizes, rows = SHAPES[shape]
    option: Any = get(name)
    for relation in ("add_remove", "replace_one"):
        schema = schema_of(*sizes, neighbours=relation)
        db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=4)
        found = option(db, epsilon=1)
        assert db.spent == 1
        assert set(found.names) <= set(schema.names)
        assert found.to_frame().num_rows == found.rows
        codes = np.zeros((3, len(schema.attributes)), dtype=np.int64)
        assert np.allclose(learn(found).chances(codes).sum(axis=1), 1)
        json.dumps(found.data())
        assert str(found)


@pytest.mark.parametrize("name", PUBLISHERS)
def test_without_noise_to_speak_of_a_classifier_learns_from_them(name: str) -> None:
    found, _, rows = published(name)
    assert abs(found.rows - len(rows)) < 25
    codes = np.array([row[:-1] for row in rows])
    right = np.argmax(learn(found).chances(codes), axis=1) == [row[-1] for row in rows]
    assert right.mean() > 0.75


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_published_tree_says_what_the_default_classifier_says(name: str) -> None:
    schema, rows = correlated(400)
    option: Any = get(name)
    found = option(jostle.rehearse(table_of(rows, schema), epsilon=1, seed=6), epsilon=1)
    tree: Any = get(f"PublishedTree(publisher={name})")
    model = tree(jostle.rehearse(table_of(rows, schema), epsilon=1, seed=6), epsilon=1)
    codes = np.array([row[:-1] for row in rows])
    assert np.allclose(model.chances(codes), learn(found).chances(codes))
    assert type(model).from_json(model.to_json()).to_json() == model.to_json()


@pytest.mark.parametrize("name", PUBLISHERS)
def test_the_rows_are_of_the_schema_and_can_be_read_again(name: str, tmp_path: Path) -> None:
    found, schema, _ = published(name, epsilon=1)
    some = Schema({each: schema[each] for each in found.names}, label="label")
    for path in (tmp_path / "rows.csv", tmp_path / "rows.parquet"):
        found.write(path)
        again = Table.read(path, some)
        assert not again.notes
        assert jostle.rehearse(again, seed=1).count(10**6) == found.rows
    assert pq.read_table(tmp_path / "rows.parquet").equals(found.to_frame())
    frame = found.to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(found.names)
    assert found.to_frame("polars").shape == frame.shape
    assert str(found.epsilon) == "1"
    assert "epsilon 1 under add_remove" in found.privacy


def test_a_value_of_a_group_is_drawn_evenly() -> None:
    schema = Schema(
        {"a": Categorical(list("wxyz"), taxonomy=[["w", "x"], ["y", "z"]]), "label": Categorical(["n", "o"])},
        label="label",
    )
    rows = [("x", "n")] * 400 + [("y", "o")] * 400
    frame = pa.table({"a": [a for a, _ in rows], "label": [label for _, label in rows]})
    found = get("PrivPfC(pool=2)")(jostle.rehearse(Table.from_frame(frame, schema), seed=1), epsilon=100)
    counts = found.to_frame("pandas")["a"].value_counts()
    assert all(150 < counts[value] < 250 for value in "wxyz")
    assert found.group_names("a") == ("w to x", "y to z")
    assert found.to_frame().equals(found.to_frame())


def test_dates_are_published_as_dates_and_times_as_times(tmp_path: Path) -> None:
    days = pa.array([f"2020-{month:02}-03" for month in range(1, 13)] * 50).cast(pa.date32())
    frame = pa.table({"when": days, "y": ["a", "b"] * 300})
    for unit, kind in (("day", pa.date32()), ("hour", pa.timestamp("s"))):
        when = Dates("2020-01-01", "2020-12-31", unit=unit, bins=4)
        schema = Schema({"when": when, "y": Categorical(["a", "b"])}, label="y")
        table = Table.from_frame(frame, schema)
        found = get("PrivBayes")(jostle.rehearse(table, epsilon=100, seed=1), epsilon=100)
        assert found.to_frame().schema.field("when").type == kind
        assert found.group_names("when")[0].startswith("[2020-01-01")
        for path in (tmp_path / "rows.csv", tmp_path / "rows.parquet"):
            found.write(path)
            again = Table.read(path, schema)
            assert not again.notes
            assert jostle.rehearse(again, seed=1).count(10**6) == found.rows


def test_groups_are_named_by_where_they_begin_and_end() -> None:
    schema = Schema(
        {
            "n": Numeric(0, 8, bins=4, missing="value"),
            "a": Categorical(list("vwxyz"), taxonomy=[["v", "x", "y", "z"], "w"]),
            "y": Categorical(["a", "b"]),
        },
        label="y",
    )
    columns = tuple(
        PublishedColumn(name, np.array(groups), np.zeros(max(groups) + 1))
        for name, groups in (("n", [0, 0, 1, 1, 2]), ("a", [0, 1, 0, 0, 0]), ("y", [0, 1]))
    )
    found = Published(schema=schema, columns=columns, cells=np.zeros((0, 3), dtype=int), counts=np.zeros(0, dtype=int))
    assert found.group_names("n") == ("[0, 4)", "[4, 8]", "(missing)")
    assert found.group_names("a") == ("v, x, y and 1 more", "w")


def test_without_a_number_of_columns_a_projected_histogram_has_about_as_many_rows_as_there_are() -> None:
    """Columns of many values tell labels apart best, and have far more cells than there are rows."""
    schema = schema_of(40, 40, 40, 2, 2)
    rows = [(place % 40, place * 7 % 40, place * 11 % 40, place % 2, place % 2) for place in range(600)]
    for count, most in (("", 700), ("(k=3)", 700)):
        db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=2)
        found = get(f"ProjectedHistogram{count}")(db, epsilon=1)
        assert found.rows < most
        assert db.spent == 1
        assert math.prod(len(column.counts) for column in found.columns) <= (600 if not count else 2 * 40**3)


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_partition_and_select_takes_the_columns_that_tell_and_costs_its_share(relation: Neighbours) -> None:
    """Two columns tell all labels apart, three others nothing: neither one column is taken, nor three."""
    random = np.random.default_rng(1)
    columns = random.integers(0, 4, (8000, 5))
    rows = [(*row, 2 * (row[1] // 2) + row[3] // 2) for row in columns.tolist()]
    table = table_of(rows, schema_of(4, 4, 4, 4, 4, 4, neighbours=relation))
    trace = Trace()
    found = get(f"{PARTITION[:-1]}, gamma=1/2)")(jostle.rehearse(table, epsilon=1, seed=3, trace=trace), epsilon=1)
    assert found.names == ("a1", "a3", "label")
    charged: dict[str, Fraction] = {}
    for record in trace.records:
        if isinstance(record, Charged) and "portion " in record.site:
            portion = record.site.split("portion ")[1].split("/")[0]
            charged[portion] = charged.get(portion, Fraction(0)) + record.epsilon
    left = Fraction(97, 100)
    each = left / 2 if relation == "add_remove" else left / 4
    assert charged == {f"{place} of 5": each for place in range(1, 6)}
    cells = next(record for record in trace.records if isinstance(record, Charged) and "cells above" in record.site)
    assert cells.epsilon == left / 2


def test_partition_and_select_chooses_where_there_is_a_choice() -> None:
    """Not of a single column, nor where k is given; of two, it does not try three, and all are taken for nothing."""
    for sizes, name, portions in (
        ((3, 2), PARTITION, 0),
        ((3, 3, 2), PARTITION, 2),
        ((3, 3, 2), f"{PARTITION[:-1]}, k=1)", 0),
    ):
        rows = [tuple(place % size for size in sizes) for place in range(300)]
        trace = Trace()
        get(name)(jostle.rehearse(table_of(rows, schema_of(*sizes)), epsilon=9, seed=3, trace=trace), epsilon=9)
        asked = {record.site for record in trace.records if isinstance(record, Charged) and "portion " in record.site}
        assert len({site.split("portion ")[1].split("/")[0] for site in asked}) == portions


# Public data


def test_on_public_rows_the_telling_columns_are_taken() -> None:
    schema, rows = correlated(800)
    frame = arrow(rows, schema)
    assert nonprivate_kd(frame, schema, 2) == ("size", "colour")
    assert mda(frame, schema, 0.0)[0] == "size"
    assert len(mda(frame, schema, 0.5)) < len(mda(frame, schema, 0.0))
    with pytest.raises(OptionError, match="k=9 columns"):
        nonprivate_kd(frame, schema, 9)


@pytest.mark.parametrize(("columns", "values"), [pytest.param(1300, 2, marks=pytest.mark.slow), (250, 20)])
def test_as_many_columns_as_there_are_may_be_asked_for(columns: int, values: int) -> None:
    """More cells than a float holds, and fewer rows alike than it tells from none."""
    schema = schema_of(*(values,) * columns, 2)
    rows = [(*(place % values for _ in range(columns)), place % 2) for place in range(40)]
    db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=1)
    found = get(f"ProjectedHistogram(k={columns})")(db, epsilon=1)
    assert "more than 2**48 cells" in found.caution
    assert found.epsilon == db.spent == 1


@pytest.mark.slow
def test_more_attributes_than_an_array_has_sides_are_published() -> None:
    """Seventy of them, of which a grid takes a few."""
    schema = schema_of(*(4,) * 70, 2)
    rows = [(*(place % 4 for _ in range(70)), place % 4 // 2) for place in range(400)]
    for name in PUBLISHERS:
        option: Any = get(name)
        found = option(jostle.rehearse(table_of(rows, schema), epsilon=50, seed=1), epsilon=50)
        assert set(found.names) <= set(schema.names)


def test_diffgen_splits_what_tells_labels_apart_step_by_step() -> None:
    """Node by node. Below half of the rows, majorities have fewer rows than in a column that says nothing."""
    values = ["p", "q", "r", "s"]
    schema = Schema(
        {
            "tree": Categorical(values, taxonomy=[["p", "q"], ["r", "s"]]),
            "empty": Categorical(["x", "y"]),
            "label": Categorical(["n", "y"]),
        },
        label="label",
    )
    frame = pd.DataFrame(
        {"tree": values * 200, "empty": ["x"] * 400 + ["y"] * 400, "label": ["n", "y", "y", "y"] * 200}
    )
    for steps, groups, columns in ((1, [0, 0, 1, 1], 2), (2, [0, 0, 1, 1], 3), (4, [0, 1, 2, 3], 3)):
        found = get(f"DiffGen(steps={steps})")(jostle.rehearse(Table.from_frame(frame, schema), seed=2), epsilon=100)
        assert found.columns[0].groups.tolist() == groups
        assert len(found.names) == columns
        assert abs(found.rows - 800) < 3


# What is refused, and warned of


@pytest.mark.parametrize("name", [*PUBLISHERS, "PublishedTree"])
def test_too_little_to_count_with_is_refused_whatever_the_rows(name: str) -> None:
    schema, rows = correlated(50)
    db = jostle.rehearse(table_of(rows, schema), epsilon=1)
    with pytest.raises(OptionError, match=r"does not run here: epsilon 1e-7 is too little"):
        get(name)(db, epsilon="1e-7")
    assert db.spent == 0


def test_a_maker_passes_over_an_option_that_is_hopeless_and_charges_nothing_where_all_are() -> None:
    schema, rows = correlated(120, neighbours="replace_one", rows=120)
    maker = jostle.pretrained("publishing")
    db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=1)
    assert maker(db, epsilon=1).made_by == "PrivPfC"
    db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=1)
    assert maker(db, epsilon=Fraction(1, 1000)).made_by != "PrivPfC"
    db = jostle.rehearse(table_of(rows, schema), epsilon=1)
    with pytest.raises(OptionError, match="with none of its Options: epsilon 1e-7 is too little"):
        maker(db, epsilon="1e-7")
    assert db.spent == 0


@pytest.mark.filterwarnings("error")
def test_too_few_rows_for_the_columns_are_warned_of_before_anything_is_spent() -> None:
    """A table of 176 rows and 80 columns gives noise."""
    sizes = (4,) * 80 + (2,)
    schema = schema_of(*sizes, neighbours="replace_one", rows=176)
    db = jostle.rehearse(table_of([(0,) * 81] * 176, schema), epsilon=1)
    for name in ("ProjectedHistogram(k=6)", "PrivPfC", "PrivBayes", "DiffGen(steps=20)"):
        with pytest.raises(FewRowsWarning, match="176 rows are few"):  # where warnings are errors
            get(name)(db, epsilon=Fraction(1, 10))
    assert db.spent == 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = get("ProjectedHistogram(k=6)")(db, epsilon=Fraction(1, 10))
    assert len(said) == 1
    assert found.caution == str(said[0].message)
    assert found.caution in found.text()


def test_a_number_of_rows_that_was_handed_on_leaves_all_of_epsilon_to_grids() -> None:
    """41 rows at epsilon 1/10 are enough for a cell, and would not be if counting them had cost 3% of it."""
    schema, rows = correlated(41)
    with pytest.warns(UserWarning, match="41 rows are few"):
        found = get("PrivPfC")(counted_before(table_of(rows, schema)), epsilon=Fraction(1, 10))
    assert "at most 1 cells" in found.caution
    with pytest.raises(OptionError, match="too few for a grid of even one cell"):
        get("PrivPfC")(counted_before(table_of(rows[:-1], schema)), epsilon=Fraction(1, 10))


def counted_before(table: jostle.Table) -> jostle.Probe:
    db = jostle.rehearse(table, seed=1)
    db.count(10**6)
    return db.allot(1)


@pytest.mark.filterwarnings("error")
def test_a_bought_number_of_rows_is_warned_of_before_the_rest_is_spent() -> None:
    schema = schema_of(*(4,) * 80, 2)
    table = table_of([(0,) * 81] * 176, schema)
    db = jostle.rehearse(table, epsilon=1, seed=1)
    with pytest.warns(FewRowsWarning, match="rows are few") as said:
        found = get("ProjectedHistogram(k=6)")(db, epsilon=1)
    assert [str(each.message) for each in said] == [found.caution]
    assert said[0].filename == __file__
    db = jostle.rehearse(table, epsilon=1, seed=1)
    with pytest.raises(FewRowsWarning):  # where warnings are errors
        get("ProjectedHistogram(k=6)")(db, epsilon=1)
    assert "cells above" not in " ".join(charge.site for charge in db.charges)


def test_rows_that_were_counted_with_their_cells_are_cautioned_of_in_what_is_published() -> None:
    schema, rows = correlated(20)
    found = get("DiffGen")(jostle.rehearse(table_of(rows, schema), epsilon=1, seed=1), epsilon=Fraction(1, 10))
    assert "8 splits give cells that hold less than the noise" in found.caution
    schema = schema_of(9, 9, 9, 9, 2)
    rows = [(place % 9, place % 7, place % 5, place % 4, place % 2) for place in range(500)]
    found = get("DiffGen(steps=4)")(jostle.rehearse(table_of(rows, schema), epsilon=1, seed=1), epsilon=1)
    assert "cells that the splits gave hold less than the noise" in found.caution
