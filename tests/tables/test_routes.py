"""Leading rows through public trees, and counting what arrives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle import Categorical, Schema, Table
from jostle.errors import TableError
from jostle.tables.block import Block, code_type
from jostle.tables.kernels import DenseKernel
from jostle.tables.routes import LeafCounts, Routing, SplitCounts, part_of

SIZES = (2, 3, 2)
SCHEMA = Schema(
    {"a": Categorical(["0", "1"]), "b": Categorical(["0", "1", "2"]), "c": Categorical(["n", "y"])}, label="c"
)
EVERY_ROW = [(a, b, c) for a in range(2) for b in range(3) for c in range(2)]

#   tree 0: split a; a=0 is leaf 2; a=1 is node 3, split b: 0 and 1 to leaf 4, 2 to leaf 5.   tree 1: node 1, split b.
TREES = {
    "columns": ("a", "b"),
    "roots": [0, 1],
    "attribute": [0, 1, -1, 1, -1, -1, -1, -1, -1],
    "first": [0, 5, 0, 2, 0, 0, 0, 0, 0],
    "children": [2, 3, 4, 4, 5, 6, 7, 8],
    "depth": 2,
}


def trees(**changed: object) -> Routing:
    return Routing(**{**TREES, **changed})  # type: ignore[arg-type]  # one of the fields


def block(rows: Sequence[tuple[int, ...]]) -> Block:
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(SIZES[place])) for place, name in enumerate("abc")
    }
    return Block(columns, len(rows))


def leaf_by_hand(tree: int, row: tuple[int, ...]) -> int:
    if tree == 1:
        return 6 + row[1]
    if row[0] == 0:
        return 2
    return 5 if row[1] == 2 else 4


def tally(kernel: DenseKernel, rows: Sequence[tuple[int, ...]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
    kernel.add(block(rows), SCHEMA, totals)
    return totals


many_rows = st.lists(st.sampled_from(EVERY_ROW), max_size=30)


@given(many_rows)
def test_leaf_counts_are_what_a_walk_by_hand_finds(rows: Sequence[tuple[int, ...]]) -> None:
    expected = np.zeros((9, 2), dtype=np.int64)
    for row in rows:
        for tree in range(2):
            expected[leaf_by_hand(tree, row), row[2]] += 1
    routing = trees()
    assert np.array_equal(tally(LeafCounts(routing), rows), expected[routing.leaves].ravel())
    assert np.array_equal(tally(LeafCounts(routing, by_class=False), rows), expected[routing.leaves].sum(axis=1))


@given(many_rows)
def test_split_counts_are_what_a_walk_by_hand_finds(rows: Sequence[tuple[int, ...]]) -> None:
    open_leaves = [7, 4]
    expected = np.zeros((2, 5, 2), dtype=np.int64)
    for row in rows:
        for tree in range(2):
            leaf = leaf_by_hand(tree, row)
            if leaf in open_leaves:
                expected[open_leaves.index(leaf), row[0], row[2]] += 1
                expected[open_leaves.index(leaf), 2 + row[1], row[2]] += 1
    assert np.array_equal(tally(SplitCounts(trees(), open_leaves), rows), expected.ravel())


KERNELS_HERE = [
    LeafCounts(trees()),
    LeafCounts(trees(), by_class=False),
    LeafCounts(trees(part_key=5)),
    SplitCounts(trees(), [2, 4, 5, 6, 7, 8]),
    SplitCounts(trees(), [4]),
    SplitCounts(trees(part_key=5), [2, 4, 5, 6, 7, 8]),
]


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_no_row_moves_a_tally_by_more_than_declared(kernel: DenseKernel) -> None:
    """Brute force over all rows: what one adds, and what changes when one becomes another."""
    added = [tally(kernel, [row]) for row in EVERY_ROW]
    assert max(int(np.abs(one).sum()) for one in added) <= kernel.bound(SCHEMA)
    changed = max(int(np.abs(one - other).sum()) for one in added for other in added)
    assert max(changed, *(int(np.abs(one).sum()) for one in added)) <= kernel.replaced(SCHEMA)


def test_the_declared_bounds_are_reached() -> None:
    full = SplitCounts(trees(), [2, 4, 5, 6, 7, 8])
    added = [tally(full, [row]) for row in EVERY_ROW]
    assert max(int(np.abs(one).sum()) for one in added) == full.bound(SCHEMA) == 4
    assert max(int(np.abs(one - other).sum()) for one in added for other in added) == full.replaced(SCHEMA) == 8


ONE_LEAF = {"attribute": [-1], "first": [0], "children": [], "depth": 0}


@pytest.mark.parametrize("count", [1, 2, 7])
def test_trees_that_share_their_one_leaf_count_a_row_once_each(count: int) -> None:
    """A single cell: a row that becomes another changes nothing, but one that enters a part adds 1 per tree."""
    single = Schema({"n": Categorical(["0"]), "c": Categorical(["y"])}, label="c")
    routing = Routing(("n",), roots=[0] * count, **ONE_LEAF)  # type: ignore[arg-type]  # as above
    row = Block({"n": np.zeros(1, dtype=np.uint8), "c": np.zeros(1, dtype=np.uint8)}, 1)
    for kernel in (LeafCounts(routing), LeafCounts(routing, by_class=False), SplitCounts(routing, [0])):
        totals = np.zeros(kernel.cells(single), dtype=np.int64)
        kernel.add(row, single, totals)
        assert totals.tolist() == [count]
        assert kernel.bound(single) == kernel.replaced(single) == count


def test_a_depth_that_no_tree_has_is_refused_at_once() -> None:
    """Levels are gone through one by one, so that one of 2**62 would never come to an end."""
    for depth in (2**17, 2**62):
        with pytest.raises(TableError, match="depth is"):
            trees(depth=depth)
    assert LeafCounts(trees(depth=2**16)).cells(SCHEMA) == tally(LeafCounts(trees()), []).size


@pytest.mark.parametrize(
    "wrong",
    [
        {"roots": [0.5]},
        {"roots": [[0]]},
        {"roots": np.array([0, np.nan])},
        {"roots": np.array([2**63], dtype=np.uint64)},
        {"roots": [True]},
        {"roots": 0},
        {"first": np.array(["0"])},
        {"children": [None]},
        {"depth": 1.5},
        {"depth": float("nan")},
        {"depth": np.array([2])},
        {"depth": -1},
        {"part_key": 0.5},
        {"part_key": np.arange(3)},
        {"part_key": -1},
        {"part_key": 2**64},
        {"columns": ("a", 1)},
    ],
    ids=repr,
)
def test_arrays_and_numbers_of_trees_are_whole(wrong: dict[str, object]) -> None:
    with pytest.raises(TableError):
        trees(**wrong)


def test_trees_are_the_same_whatever_their_numbers_came_as() -> None:
    wide = trees(roots=np.array([0, 1], dtype=">i2"), depth=np.uint8(2), part_key=np.uint64(2**64 - 1))
    assert wide.roots.dtype == np.int64
    assert wide.roots.dtype.isnative
    assert not wide.roots.flags.writeable
    assert (type(wide.depth), type(wide.part_key)) == (int, int)


def test_a_tree_of_one_leaf_that_is_not_told_by_class_counts_rows() -> None:
    stump = LeafCounts(Routing(("a",), roots=[0], attribute=[-1], first=[0], children=[], depth=0), by_class=False)
    assert tally(stump, EVERY_ROW).tolist() == [12]
    assert stump.bound(SCHEMA) == stump.replaced(SCHEMA) == 1


@given(many_rows, st.integers(0, 2**62))
def test_a_part_is_a_function_of_the_row_alone(rows: Sequence[tuple[int, ...]], key: int) -> None:
    """With a row more or less, all others stay in the tree they were in."""
    whole = part_of(block(rows).columns, SCHEMA, key, 4, len(rows))
    for place in range(len(rows)):
        rest = [*rows[:place], *rows[place + 1 :]]
        without = part_of(block(rest).columns, SCHEMA, key, 4, len(rest))
        assert np.array_equal(without, np.delete(whole, place))


@given(many_rows, st.integers(0, 2**62))
def test_parts_share_no_row_and_leave_none_out(rows: Sequence[tuple[int, ...]], key: int) -> None:
    counts = tally(LeafCounts(trees(part_key=key), by_class=False), rows)
    assert counts.sum() == len(rows)
    assert LeafCounts(trees(part_key=key)).bound(SCHEMA) == 1


def test_parts_are_about_even() -> None:
    """10,000 different rows over 10 parts: each within 5 standard deviations of 1,000; fails with chance below 1e-5."""
    schema = Schema({"n": Categorical(map(str, range(10_000)))})
    parts = part_of({"n": np.arange(10_000, dtype=np.uint16)}, schema, 12345, 10, 10_000)
    assert np.all(np.abs(np.bincount(parts, minlength=10) - 1000) < 5 * 30)


@settings(max_examples=25)
@given(st.lists(st.sampled_from(EVERY_ROW), min_size=1, max_size=20), st.integers(1, 5))
def test_blocks_add_up(rows: Sequence[tuple[int, ...]], size: int) -> None:
    for kernel in KERNELS_HERE:
        totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
        for start in range(0, len(rows), size):
            kernel.add(block(rows[start : start + size]), SCHEMA, totals)
        assert np.array_equal(totals, tally(kernel, rows))


def test_multiplicities_count() -> None:
    rows = [(0, 1, 1), (1, 2, 0)]
    totals = np.zeros(LeafCounts(trees()).cells(SCHEMA), dtype=np.int64)
    weighted = Block(block(rows).columns, 2, np.array([3, 2]))
    LeafCounts(trees()).add(weighted, SCHEMA, totals)
    assert np.array_equal(totals, tally(LeafCounts(trees()), [rows[0]] * 3 + [rows[1]] * 2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"children": [0, 3, 4, 4, 5, 6, 7, 8]},
        {"children": [2, 3, 4, 4, 5, 6, 7, 9]},
        {"children": [2, 3, 4]},
        {"attribute": [0, 2, -1, 1, -1, -1, -1, -1, -1]},
        {"attribute": [0, -2, -1, 1, -1, -1, -1, -1, -1]},
        {"first": [0, 6, 0, 2, 0, 0, 0, 0, 0]},
        {"first": [-1, 5, 0, 2, 0, 0, 0, 0, 0]},
        {"roots": [0, 9]},
        {"roots": []},
        {"depth": 1},
    ],
)
def test_arrays_that_lead_nowhere_are_refused_before_any_row_is_read(wrong: dict[str, object]) -> None:
    with pytest.raises(TableError):
        LeafCounts(trees(**wrong)).cells(SCHEMA)


@pytest.mark.parametrize("open_leaves", [[0], [9], [-1], [4, 4]])
def test_open_leaves_must_be_leaves_and_named_once(open_leaves: list[int]) -> None:
    with pytest.raises(TableError, match="open leaf"):
        SplitCounts(trees(), open_leaves).cells(SCHEMA)


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_every_engine_gives_the_same(kernel: DenseKernel, tmp_path: Path) -> None:
    rows = [EVERY_ROW[place % 12] for place in range(50)] + [EVERY_ROW[3]] * 5
    labels = (("0", "1"), ("0", "1", "2"), ("n", "y"))
    frame = pa.table({name: [labels[place][row[place]] for row in rows] for place, name in enumerate("abc")})
    file = tmp_path / "rows.parquet"
    pa_parquet.write_table(frame, file)
    expected = tally(kernel, rows)
    for table in (Table.from_frame(frame, SCHEMA), Table.read(file, SCHEMA), Table.read(file, SCHEMA, stream=True)):
        assert np.array_equal(np.asarray(table._source.tally(kernel, ())), expected)


def test_dask_gives_the_same() -> None:
    dask_frame = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    rows = [EVERY_ROW[place % 12] for place in range(50)]
    frame = pandas.DataFrame([(str(a), str(b), "ny"[c]) for a, b, c in rows], columns=list("abc"))
    table = Table.from_frame(dask_frame.from_pandas(frame, npartitions=3), SCHEMA)
    for kernel in KERNELS_HERE:
        assert np.array_equal(np.asarray(table._source.tally(kernel, ())), tally(kernel, rows))
