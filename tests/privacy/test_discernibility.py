"""k-discernibility: against its definition by pairs, and how far one row moves two candidates apart."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables_of_labels import schema_of, table_of

import jostle
from jostle.privacy.column_scores import GRID, Discernibility
from jostle.tables.kernels import SparseTally
from jostle.tables.schema import Neighbours, Schema

Rows = list[tuple[int, ...]]
SIZES = (2, 3, 2, 3)
SCHEMA = schema_of(*SIZES)
rows_of = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), max_size=14)


def by_pairs(rows: Rows, columns: set[int]) -> int:
    """Return how many ordered pairs some columns and the label, which is last, discern: the definition."""
    return sum(
        one[-1] != other[-1] and any(one[column] != other[column] for column in columns)
        for one in rows
        for other in rows
    )


def scores(rows: Rows, base: tuple[str, ...], candidates: tuple[str, ...], schema: Schema = SCHEMA) -> list[int]:
    return scored(Discernibility(base, candidates), rows, schema)


def scored(score: Discernibility, rows: Rows, schema: Schema) -> list[int]:
    found = table_of(rows, schema)._source.tally(score.kernel(schema), ())
    assert isinstance(found, SparseTally)
    return list(map(int, score.scores(found, schema)))


@given(rows_of)
def test_it_counts_the_pairs_of_its_definition(rows: Rows) -> None:
    for base, candidates in (((), (0, 1, 2)), ((1,), (0, 2)), ((2, 0), (1,))):
        found = scores(rows, tuple(f"a{place}" for place in base), tuple(f"a{place}" for place in candidates))
        pairs = [by_pairs(rows, {*base, candidate}) for candidate in candidates]
        assert found == [GRID * each // max(1, len(rows)) for each in pairs]


@given(rows_of)
def test_it_never_falls_and_gains_ever_less_as_columns_are_added(rows: Rows) -> None:
    """Submodular: what a column adds to some columns is at least what it adds to these and more."""
    sets = [{place for place in range(3) if bits >> place & 1} for bits in range(8)]
    pairs = {frozenset(columns): by_pairs(rows, columns) for columns in sets}
    for one, other in product(pairs, pairs):
        assert pairs[one | other] + pairs[one & other] <= pairs[one] + pairs[other]
        assert pairs[one | other] >= pairs[one]


def test_groups_put_codes_together() -> None:
    rows: Rows = [(0, 0, 0, 0), (0, 2, 0, 1), (1, 1, 1, 2)]
    assert scored(Discernibility((), ("a1",), ((0, 1, 0),)), rows, SCHEMA) == [GRID * 4 // 3]


def tallied(rows: Rows, schema: Schema) -> np.ndarray:
    """Return the scores of every column but the label."""
    counts = Counter(rows)
    score = Discernibility((), schema.attributes)
    kernel = score.kernel(schema)
    keys: Counter[int] = Counter()
    for row, times in counts.items():
        start = 0
        for place, size in enumerate(kernel.sizes(schema)):
            keys[start + row[place] * len(schema.classes) + row[-1]] += times
            start += size
    held = sorted(keys)
    tally = SparseTally(np.array(held, dtype=np.int64), np.array([keys[key] for key in held], dtype=np.int64))
    return score.scores(tally, schema)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_no_row_moves_two_candidates_farther_apart_than_it_says(relation: Neighbours) -> None:
    """All tables of up to six rows over all rows of two columns and two or three classes, and all their neighbours."""
    worst = 0
    for sizes, most in (((2, 2, 2), 6), ((2, 2, 3), 4)):
        schema = schema_of(*sizes, neighbours=relation)
        every = list(product(*map(range, sizes)))
        limit = 2 * Discernibility((), schema.attributes).sensitivity(schema)
        for count in range(most):
            for rows in map(list, combinations_with_replacement(every, count)):
                before = {row: tallied([*rows, row], schema) for row in every}
                here = [tallied(rows, schema)] if relation == "add_remove" else list(before.values())
                for one, other in product(here, before.values()):
                    moved = other - one
                    apart = int(moved.max() - moved.min())
                    worst = max(worst, apart)
                    assert apart <= limit
    # Not by much less, either: half of what is said would be too little.
    assert worst > (GRID if relation == "add_remove" else 2 * GRID)


def test_the_bound_is_come_near_to_by_many_rows() -> None:
    """All rows alike in a, and of one label but x: half the mistake would show."""
    rows: Rows = [(0, 0, 0)] * 200
    schema = schema_of(2, 2, 2)
    moved = tallied([*rows, (1, 0, 1)], schema) - tallied(rows, schema)
    assert 2 * GRID * Fraction(99, 100) < moved.max() - moved.min() <= 2 * GRID + 2


def test_more_pairs_than_64_bits_hold_are_counted() -> None:
    score = Discernibility((), ("a0",))
    schema = schema_of(2, 2)
    tally = SparseTally(np.array([0, 3]), np.array([2**32, 2**32]))
    assert score.scores(tally, schema).tolist() == [GRID * 2**32]


def test_a_pick_takes_the_column_that_tells_and_says_so_under_both_relations() -> None:
    rows = [(row % 2, row % 3, row // 7 % 2, row % 3) for row in range(300)]
    for relation in get_args(Neighbours):
        schema = schema_of(*SIZES, neighbours=relation)
        db = jostle.rehearse(table_of(rows, schema), seed=1)
        assert db.pick(Discernibility((), ("a0", "a1", "a2")), 1) == 1
