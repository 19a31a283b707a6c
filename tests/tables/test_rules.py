"""Rows are counted where rules by hand put them: hits, margins, agreements, and the leaves of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from some_tables import added_up, block_of

from jostle import Categorical, Schema
from jostle.tables.block import Block
from jostle.tables.regions import haar
from jostle.tables.routes import LeafCounts, Routing, SplitCounts, part_of
from jostle.tables.rules import Agreements, Hits, ManyHits, MarginLevels, Margins, Points

# Counting the rows that a public rule gets right.


SCHEMA = Schema(
    {"a": Categorical(["0", "1"]), "b": Categorical(["0", "1", "2"]), "c": Categorical(["n", "y", "z"])}, label="c"
)
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


def tally(kernel: Hits, rows: Sequence[tuple[int, ...]]) -> int:
    return added_up(kernel, SCHEMA, rows)[0]


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
        for rule, count in zip(rules, added_up(kernel, SCHEMA, rows, times), strict=True):
            terms = [Points(columns, table) for columns, table in zip(((), ("a",), ("b",)), rule, strict=True)]
            assert [count] == added_up(Hits(terms), SCHEMA, rows, times)


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


@given(many_rows, st.sampled_from([RULE, FOREST]))
def test_misses_are_the_rows_that_are_not_hits(rows: list[tuple[int, ...]], kernel: Hits) -> None:
    assert added_up(evolve(kernel, misses=True), SCHEMA, rows) == [tally(kernel, rows), len(rows) - tally(kernel, rows)]


@pytest.mark.parametrize("kernel", [evolve(RULE, misses=True), evolve(FOREST, misses=True)])
def test_where_misses_count_a_row_that_comes_adds_1_and_one_that_changes_moves_2(kernel: Hits) -> None:
    added = [np.array(added_up(kernel, SCHEMA, [row])) for row in EVERY_ROW]

    assert kernel.bound(SCHEMA) == max(int(np.abs(each).sum()) for each in added) == 1
    assert kernel.replaced(SCHEMA) == max(int(np.abs(one - other).sum()) for one in added for other in added) == 2


# Counting the rows of a class, and of the others, by how high a public rule scores them.


EVERY_ROW_OF_MARGINS = [(label, x) for label in range(3) for x in range(4)]
RULE_OF_MARGINS = (Points((), [[1, 0, 1]]), Points(("x",), [[0, 5, 0], [2, 2, 3], [0, 0, 9], [4, 8, 4]]))
"""Points by x: (1, 5, 1), (3, 2, 4), (1, 0, 10), (5, 8, 5); margins of the second class: 4, -2, -10, 3."""
MARGINS = (4, -2, -10, 3)
rows_of = st.lists(st.sampled_from(EVERY_ROW_OF_MARGINS), max_size=20)
cuts_of = st.lists(st.integers(-12, 12), max_size=6, unique=True).map(sorted)


SCORED = Schema({"label": Categorical(["a", "b", "c"]), "x": Categorical(list("0123"))}, label="label")


@given(rows_of, cuts_of)
def test_rows_are_counted_where_adding_up_by_hand_puts_them(rows: list[tuple[int, int]], cuts: list[int]) -> None:
    expected = [[0] * (len(cuts) + 1) for _ in range(2)]
    for label, x in rows:
        expected[label != 1][sum(cut <= MARGINS[x] for cut in cuts)] += 1

    assert added_up(Margins(RULE_OF_MARGINS, positive=1, cuts=cuts), SCORED, rows) == expected[0] + expected[1]


@given(rows_of, cuts_of)
def test_levels_are_the_wavelet_of_each_half(rows: list[tuple[int, int]], cuts: list[int]) -> None:
    margins = Margins(RULE_OF_MARGINS, positive=1, cuts=cuts)
    levels = MarginLevels(margins)
    found = np.split(np.array(added_up(levels, SCORED, rows)), np.cumsum(levels.sizes(SCORED))[:-1])
    for half, counts in enumerate(np.array(added_up(margins, SCORED, rows)).reshape(2, -1)):
        side = 1 << len(cuts).bit_length()
        filled = np.concatenate([counts, np.zeros(side - len(counts), dtype=np.int64)])
        assert np.concatenate([np.split(level, 2)[half] for level in found]).tolist() == haar(filled, 0).tolist()


# Counting rows by which of several rules get them right.


SCHEMA_OF_AGREEMENTS = Schema({"label": Categorical(["n", "y"]), "x": Categorical(["0", "1", "2"])}, label="label")
EVERY_ROW_OF_AGREEMENTS = [(label, x) for label in range(2) for x in range(3)]
WHAT = {"never": (0, 0, 0), "first": (1, 0, 0), "upper": (0, 1, 1)}
"""The class that each rule predicts for x."""
RULES = tuple(Hits([Points(("x",), [[1 - one, one] for one in says])]) for says in WHAT.values())


@given(st.lists(st.sampled_from(EVERY_ROW_OF_AGREEMENTS), max_size=20))
def test_rows_are_counted_by_the_rules_that_are_right(rows: list[tuple[int, int]]) -> None:
    expected = [0] * 8
    for label, x in rows:
        expected[sum(1 << place for place, says in enumerate(WHAT.values()) if says[x] == label)] += 1

    assert added_up(Agreements(RULES), SCHEMA_OF_AGREEMENTS, rows) == expected


# Leading rows through public trees, and counting what arrives.


SCHEMA_OF_ROUTES = Schema(
    {"a": Categorical(["0", "1"]), "b": Categorical(["0", "1", "2"]), "c": Categorical(["n", "y"])}, label="c"
)
EVERY_ROW_OF_ROUTES = [(a, b, c) for a in range(2) for b in range(3) for c in range(2)]

#   tree 0: split a; a=0 is leaf 2; a=1 is node 3, split b: 0 and 1 to leaf 4, 2 to leaf 5.   tree 1: node 1, split b.
TREES_OF_ROUTES = {
    "columns": ("a", "b"),
    "roots": [0, 1],
    "attribute": [0, 1, -1, 1, -1, -1, -1, -1, -1],
    "first": [0, 5, 0, 2, 0, 0, 0, 0, 0],
    "children": [2, 3, 4, 4, 5, 6, 7, 8],
    "depth": 2,
}


def trees(**changed: object) -> Routing:
    return Routing(**{**TREES_OF_ROUTES, **changed})  # type: ignore[arg-type]  # one of the fields


def leaf_by_hand(tree: int, row: tuple[int, ...]) -> int:
    if tree == 1:
        return 6 + row[1]
    if row[0] == 0:
        return 2
    return 5 if row[1] == 2 else 4


many_rows_of_routes = st.lists(st.sampled_from(EVERY_ROW_OF_ROUTES), max_size=30)


@given(many_rows_of_routes)
def test_leaf_counts_are_what_a_walk_by_hand_finds(rows: Sequence[tuple[int, ...]]) -> None:
    expected = np.zeros((9, 2), dtype=np.int64)
    for row in rows:
        for tree in range(2):
            expected[leaf_by_hand(tree, row), row[2]] += 1
    routing = trees()
    assert added_up(LeafCounts(routing), SCHEMA_OF_ROUTES, rows) == expected[routing.leaves].ravel().tolist()
    by_leaf = added_up(LeafCounts(routing, by_class=False), SCHEMA_OF_ROUTES, rows)
    assert by_leaf == expected[routing.leaves].sum(axis=1).tolist()


@given(many_rows_of_routes)
def test_split_counts_are_what_a_walk_by_hand_finds(rows: Sequence[tuple[int, ...]]) -> None:
    open_leaves = [7, 4]
    expected = np.zeros((2, 5, 2), dtype=np.int64)
    for row in rows:
        for tree in range(2):
            leaf = leaf_by_hand(tree, row)
            if leaf in open_leaves:
                expected[open_leaves.index(leaf), row[0], row[2]] += 1
                expected[open_leaves.index(leaf), 2 + row[1], row[2]] += 1
    assert added_up(SplitCounts(trees(), open_leaves), SCHEMA_OF_ROUTES, rows) == expected.ravel().tolist()


def test_the_declared_bounds_are_reached() -> None:
    full = SplitCounts(trees(), [2, 4, 5, 6, 7, 8])
    added = [np.array(added_up(full, SCHEMA_OF_ROUTES, [row])) for row in EVERY_ROW_OF_ROUTES]
    assert max(int(np.abs(one).sum()) for one in added) == full.bound(SCHEMA_OF_ROUTES) == 4
    assert (
        max(int(np.abs(one - other).sum()) for one in added for other in added) == full.replaced(SCHEMA_OF_ROUTES) == 8
    )


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


@given(many_rows_of_routes, st.integers(0, 2**62))
def test_a_part_is_a_function_of_the_row_alone(rows: Sequence[tuple[int, ...]], key: int) -> None:
    """With a row more or less, all others stay in the tree they were in."""
    whole = part_of(block_of(SCHEMA_OF_ROUTES, rows).columns, SCHEMA_OF_ROUTES, key, 4, len(rows))
    for place in range(len(rows)):
        rest = [*rows[:place], *rows[place + 1 :]]
        without = part_of(block_of(SCHEMA_OF_ROUTES, rest).columns, SCHEMA_OF_ROUTES, key, 4, len(rest))
        assert np.array_equal(without, np.delete(whole, place))


@given(many_rows_of_routes, st.integers(0, 2**62))
def test_parts_share_no_row_and_leave_none_out(rows: Sequence[tuple[int, ...]], key: int) -> None:
    assert sum(added_up(LeafCounts(trees(part_key=key), by_class=False), SCHEMA_OF_ROUTES, rows)) == len(rows)
    assert LeafCounts(trees(part_key=key)).bound(SCHEMA_OF_ROUTES) == 1


def test_parts_are_about_even() -> None:
    """10,000 different rows over 10 parts: each within 5 standard deviations of 1,000; fails with chance below 1e-5."""
    schema = Schema({"n": Categorical(map(str, range(10_000)))})
    parts = part_of({"n": np.arange(10_000, dtype=np.uint16)}, schema, 12345, 10, 10_000)
    assert np.all(np.abs(np.bincount(parts, minlength=10) - 1000) < 5 * 30)
