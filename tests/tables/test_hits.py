"""Counting the rows that a public rule gets right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from jostle import Categorical, Schema, Table
from jostle.errors import TableError
from jostle.tables.block import Block, code_type
from jostle.tables.routes import Routing
from jostle.tables.rules import MOST_POINTS, Hits, ManyHits, Points

SCHEMA = Schema(
    {"a": Categorical(["0", "1"]), "b": Categorical(["0", "1", "2"]), "c": Categorical(["n", "y", "z"])}, label="c"
)
SIZES = (2, 3, 3)
EVERY_ROW = [(a, b, c) for a in range(2) for b in range(3) for c in range(3)]

#   tree 0: split a; a=0 is leaf 2; a=1 is leaf 3.   tree 1: split b; leaf 4 for 0 and 1, leaf 5 for 2.
TREES = Routing(
    ("a", "b"),
    roots=[0, 1],
    attribute=[0, 1, -1, -1, -1, -1],
    first=[0, 2, 0, 0, 0, 0],
    children=[2, 3, 4, 4, 5],
    depth=1,
)
small = st.integers(-3, 3)
many_rows = st.lists(st.sampled_from(EVERY_ROW), max_size=30)


def tables(cells: int) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(st.lists(small, min_size=3, max_size=3), min_size=cells, max_size=cells)


def block(rows: Sequence[tuple[int, ...]], multiplicity: NDArray[np.int64] | None = None) -> Block:
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(SIZES[place])) for place, name in enumerate("abc")
    }
    return Block(columns, len(rows), multiplicity)


def tally(kernel: Hits, rows: Sequence[tuple[int, ...]]) -> int:
    totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
    kernel.add(block(rows), SCHEMA, totals)
    return int(totals[0])


def predicted(points: list[int]) -> int:
    """Return the first class that no other has more points than."""
    return next(place for place, each in enumerate(points) if each == max(points))


@given(many_rows, tables(1), tables(2), tables(6))
def test_an_additive_rule_is_what_adding_up_by_hand_gives(
    rows: Sequence[tuple[int, ...]], start: list[list[int]], of_a: list[list[int]], of_both: list[list[int]]
) -> None:
    kernel = Hits([Points((), start), Points(["a"], of_a), Points(("a", "b"), of_both)])
    right = 0
    for a, b, c in rows:
        points = [start[0][label] + of_a[a][label] + of_both[3 * a + b][label] for label in range(3)]
        right += predicted(points) == c

    assert tally(kernel, rows) == right


@given(many_rows, st.lists(st.tuples(tables(1), tables(2), tables(3)), min_size=1, max_size=3))
def test_many_rules_at_once_are_each_by_itself(rows: Sequence[tuple[int, ...]], rules: list[tuple[Any, ...]]) -> None:
    """Points of the classes but the first are told less those of the first."""
    start, of_a, of_b = (
        np.hstack([np.array(rule[part])[:, 1:] - np.array(rule[part])[:, :1] for rule in rules]) for part in range(3)
    )
    kernel = ManyHits(("a", "b"), (of_a, of_b), start[0])
    for times in (None, np.arange(len(rows)) % 3):
        totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
        kernel.add(block(rows, times), SCHEMA, totals)
        for rule, count in zip(rules, totals.tolist(), strict=True):
            one = np.zeros(1, dtype=np.int64)
            terms = [Points(columns, table) for columns, table in zip(((), ("a",), ("b",)), rule, strict=True)]
            Hits(terms).add(block(rows, times), SCHEMA, one)
            assert count == one[0]


@given(many_rows, tables(4), tables(12))
def test_a_rule_of_trees_is_what_walking_them_by_hand_gives(
    rows: Sequence[tuple[int, ...]], of_leaf: list[list[int]], inside: list[list[int]]
) -> None:
    """Leaves 2, 3, 4, 5 have places 0 to 3; in each, the code of b gives points as well."""
    kernel = Hits([Points((), of_leaf, by_leaf=True), Points(("b",), inside, by_leaf=True)], TREES)
    right = 0
    for a, b, c in rows:
        leaves = (a, 2 if b < 2 else 3)
        points = [sum(of_leaf[leaf][label] + inside[3 * leaf + b][label] for leaf in leaves) for label in range(3)]
        right += predicted(points) == c

    assert tally(kernel, rows) == right


RULE = Hits([Points((), [[1, 0, 0]]), Points(("b",), [[0, 0, 0], [0, 2, 0], [0, 0, 3]])])
FOREST = Hits([Points((), [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]], by_leaf=True)], TREES)


@pytest.mark.parametrize("kernel", [RULE, FOREST])
def test_no_row_moves_the_count_by_more_than_1_and_some_do(kernel: Hits) -> None:
    """Brute force over all rows, and over all pairs of one that becomes another."""
    added = [tally(kernel, [row]) for row in EVERY_ROW]

    assert set(added) == {0, 1}
    assert kernel.bound(SCHEMA) == max(added) == 1
    assert kernel.replaced(SCHEMA) == max(abs(one - other) for one in added for other in added) == 1


@given(many_rows, st.sampled_from([RULE, FOREST]))
def test_misses_are_the_rows_that_are_not_hits(rows: list[tuple[int, ...]], kernel: Hits) -> None:
    both = np.zeros(2, dtype=np.int64)
    evolve(kernel, misses=True).add(block(rows), SCHEMA, both)

    assert both.tolist() == [tally(kernel, rows), len(rows) - tally(kernel, rows)]


@pytest.mark.parametrize("kernel", [evolve(RULE, misses=True), evolve(FOREST, misses=True)])
def test_where_misses_count_a_row_that_comes_adds_1_and_one_that_changes_moves_2(kernel: Hits) -> None:
    added = []
    for row in EVERY_ROW:
        totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
        kernel.add(block([row]), SCHEMA, totals)
        added.append(totals)

    assert kernel.bound(SCHEMA) == max(int(np.abs(each).sum()) for each in added) == 1
    assert kernel.replaced(SCHEMA) == max(int(np.abs(one - other).sum()) for one in added for other in added) == 2


@settings(max_examples=25)
@given(st.lists(st.sampled_from(EVERY_ROW), min_size=1, max_size=20), st.integers(1, 5), st.randoms())
def test_the_order_of_rows_and_where_blocks_end_do_not_matter(
    rows: list[tuple[int, ...]], size: int, chance: st.DataObject
) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    for kernel in (RULE, FOREST):
        totals = np.zeros(1, dtype=np.int64)
        for start in range(0, len(rows), size):
            kernel.add(block(shuffled[start : start + size]), SCHEMA, totals)
        assert totals[0] == tally(kernel, rows)


def test_multiplicities_count() -> None:
    rows = [(0, 1, 1), (1, 2, 0), (0, 0, 0)]
    for kernel in (RULE, FOREST):
        totals = np.zeros(1, dtype=np.int64)
        kernel.add(block(rows, np.array([3, 2, 5])), SCHEMA, totals)
        assert totals[0] == tally(kernel, [rows[0]] * 3 + [rows[1]] * 2 + [rows[2]] * 5)


@pytest.mark.parametrize("kernel", [RULE, FOREST])
def test_every_engine_gives_the_same(kernel: Hits, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    dask_frame = pytest.importorskip("dask.dataframe")
    rows = [EVERY_ROW[place % 18] for place in range(50)] + [EVERY_ROW[3]] * 5
    frame = pandas.DataFrame([(str(a), str(b), "nyz"[c]) for a, b, c in rows], columns=list("abc"))
    file = tmp_path / "rows.parquet"
    pa_parquet.write_table(pa.Table.from_pandas(frame), file)
    for table in (
        Table.from_frame(frame, SCHEMA),
        Table.read(file, SCHEMA),
        Table.read(file, SCHEMA, stream=True),
        Table.from_frame(dask_frame.from_pandas(frame, npartitions=3), SCHEMA),
    ):
        assert np.asarray(table._source.tally(kernel, ())).tolist() == [tally(kernel, rows)]


@pytest.mark.parametrize(
    "wrong",
    [
        Hits([Points((), [[1, 0]])]),
        Hits([Points(("a",), [[1, 0, 0]])]),
        Hits([Points(("c",), [[1, 0, 0]] * 3)]),
        Hits([Points((), [[1, 0, 0]] * 4, by_leaf=True)]),
        Hits([Points((), [[1, 0, 0]] * 3, by_leaf=True)], TREES),
        Hits([], Routing(("c",), roots=[0], attribute=[0, -1], first=[0, 0], children=[1, 1, 1], depth=1)),
        Hits([], Routing(("a",), roots=[0], attribute=[-1], first=[0], children=[], depth=0, part_key=3)),
    ],
)
def test_a_rule_that_does_not_fit_is_refused_before_any_row_is_read(wrong: Hits) -> None:
    with pytest.raises(TableError):
        wrong.cells(SCHEMA)


def test_a_rule_needs_a_label() -> None:
    with pytest.raises(TableError, match="label"):
        RULE.cells(Schema({"b": Categorical(["0", "1", "2"])}))


@pytest.mark.parametrize("table", [[1, 2, 3], [[0.5, 0, 0]], [[MOST_POINTS + 1, 0, 0]], [[-MOST_POINTS - 1, 0, 0]]])
def test_points_are_a_table_of_whole_numbers_that_add_up(table: list[object]) -> None:
    with pytest.raises(TableError):
        Points((), table)
