"""PrivBayes's score: by its definition, and how far one row moves it."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables_of_labels import schema_of

from jostle.privacy.column_scores import GRID, Dependence
from jostle.tables.pools import Pool
from jostle.tables.schema import Neighbours

SCHEMA = schema_of(2, 3, 2)
POOL = Pool(("a0", "a1"), ([[0, 1]], [[0, 1, 2]]), [[0, 0]])
SCORE = Dependence(POOL, (0,))


def by_definition(counts: np.ndarray) -> float:
    rows = counts.sum()
    shares = counts / max(1, rows)
    return float(rows * np.abs(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum() / 2)


def scored(counts: np.ndarray) -> int:
    return int(SCORE.scores(np.pad(counts, ((0, 1), (0, 1))).ravel(), SCHEMA)[0])  # no row is blank


@given(st.lists(st.integers(0, 50), min_size=6, max_size=6))
def test_it_is_the_distance_from_independence_in_rows(given_counts: list[int]) -> None:
    counts = np.array(given_counts).reshape(2, 3)
    assert abs(scored(counts) / GRID - by_definition(counts)) <= 1 / GRID + 1e-9


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_no_row_moves_it_farther_than_it_says(relation: Neighbours) -> None:
    """All tables of up to six rows of six kinds, and all their neighbours; and large ones."""
    limit = SCORE.sensitivity(schema_of(2, 3, 2, neighbours=relation))
    cells = list(np.eye(6, dtype=np.int64).reshape(6, 2, 3))
    for count in range(6):
        for rows in combinations_with_replacement(range(6), count):
            counts = sum((cells[row] for row in rows), np.zeros((2, 3), dtype=np.int64))
            grown = [scored(counts + cell) for cell in cells]
            before = [scored(counts)] if relation == "add_remove" else grown
            assert max(abs(one - other) for one, other in product(grown, before)) <= limit
    large = np.array([[400, 0, 0], [0, 0, 0]])
    moved = scored(large + np.array([[0, 0, 0], [0, 0, 1]])) - scored(large)
    assert abs(moved) <= limit
    even = np.array([[200, 0, 0], [0, 200, 0]])
    assert abs(scored(even + np.array([[0, 1, 0], [0, 0, 0]])) - scored(even)) <= limit


def test_more_rows_than_products_of_64_bits_allow_are_counted() -> None:
    counts = np.array([[2**32, 0, 0], [0, 2**32, 0]])
    assert scored(counts) == GRID * 2**32
