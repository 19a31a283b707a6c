"""Counting the rows that a public rule gets right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jostle import Categorical, Schema
from jostle.tables.block import Block, code_type
from jostle.tables.routes import Routing
from jostle.tables.rules import Hits, ManyHits, Points

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
