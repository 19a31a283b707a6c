"""Sums of products: what they are of every small table, and that no row changes more than is said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jostle import Categorical, Schema
from jostle.tables.block import Block, code_type
from jostle.tables.number_kernels import LARGEST_NUMBER, Products

SCHEMA = Schema(
    {"a": Categorical(["0", "1", "2"]), "label": Categorical(["n", "y"]), "b": Categorical(["0", "1"])}, label="label"
)
A, B = np.array([[5, 0], [0, 5], [0, 0]]), np.array([[-3], [2]])
EVERY_ROW = list(product(range(3), range(2), range(2)))
KERNEL = Products(("a", "b"), (A, B), 4)


def tally(kernel: Products, rows: Sequence[tuple[int, ...]], counted: list[int] | None = None) -> list[int]:
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(SCHEMA[name].size))
        for place, name in enumerate(SCHEMA.names)
    }
    totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
    kernel.add(Block(columns, len(rows), None if counted is None else np.array(counted)), SCHEMA, totals)
    return [int(each) for each in totals]


def by_hand(rows: Sequence[tuple[int, ...]]) -> list[int]:
    found = np.zeros(6 + 2 * 4, dtype=np.int64)
    for a, label, b in rows:
        x = [*A[a].tolist(), *B[b].tolist()]
        found[:6] += [x[f] * x[g] for f in range(3) for g in range(f, 3)]
        found[6 + 4 * label : 10 + 4 * label] += [4 * each for each in (4, *x)]
    return [int(each) for each in found]


@given(st.lists(st.tuples(st.sampled_from(EVERY_ROW), st.integers(0, 3)), max_size=12))
def test_products_and_sums_by_class_are_added_up(rows: list[tuple[tuple[int, ...], int]]) -> None:
    plain = [row for row, times in rows for _ in range(times)]
    assert tally(KERNEL, plain) == by_hand(plain)
    assert tally(KERNEL, [row for row, _ in rows], [times for _, times in rows]) == by_hand(plain)


def test_many_rows_of_the_largest_numbers_are_added_up_exactly() -> None:
    kernel = Products(("a",), (np.array([[LARGEST_NUMBER, LARGEST_NUMBER - 1]] * 3),), LARGEST_NUMBER)
    count = 40_001
    once = tally(kernel, [(0, 1, 0)])
    assert tally(kernel, [(0, 1, 0)] * count) == [count * each for each in once]
    assert tally(kernel, [(0, 1, 0)], [2**33]) == [2**33 * each for each in once]
