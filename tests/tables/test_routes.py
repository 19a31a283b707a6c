"""Leading rows through public trees, and counting what arrives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import Categorical, Schema
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
