"""The score that k is chosen by: against its definition by pairs, and how far one row moves two candidates apart."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables_of_labels import schema_of, table_of

import jostle
from jostle.privacy.column_scores import GRID, SetDiscernibility
from jostle.tables.pools import Layer
from jostle.tables.schema import Neighbours, Schema

Rows = list[tuple[int, ...]]
SIZES = (2, 3, 2, 3)
SCHEMA = schema_of(*SIZES)
TENTH = Fraction(1, 10)
SETS = ((), (0,), (1,), (0, 2), (0, 1, 2))
rows_of = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), max_size=14)


def score_of(sets: tuple[tuple[int, ...], ...], price: Fraction = TENTH) -> SetDiscernibility:
    return SetDiscernibility([layer(*(f"a{place}" for place in columns)) for columns in sets], price)


def layer(*columns: str, groups: tuple[tuple[int, ...], ...] = ()) -> Layer:
    return Layer((*columns, "label"), (*(groups or ((),) * len(columns)), ()))


def by_pairs(rows: Rows, columns: tuple[int, ...], price: Fraction) -> int:
    """Return the score as it is defined, in pairs per row, rounded down to the grid."""
    pairs = [(one, other) for one in rows for other in rows if one[-1] != other[-1]]
    told = sum(any(one[place] != other[place] for place in columns) for one, other in pairs)
    return math.floor(GRID * (told - price * len(columns) * len(pairs)) / max(1, len(rows)))


@given(rows_of, st.sampled_from([Fraction(0), TENTH, Fraction(1)]))
def test_it_is_as_it_is_defined(rows: Rows, price: Fraction) -> None:
    score = score_of(SETS, price)
    tally = table_of(rows, SCHEMA)._source.tally(score.kernel(SCHEMA), ())
    assert isinstance(tally, np.ndarray)
    assert score.scores(tally, SCHEMA).tolist() == [by_pairs(rows, columns, price) for columns in SETS]


def tallied(score: SetDiscernibility, rows: Rows, schema: Schema) -> np.ndarray:
    """Return the scores of a table."""
    parts = []
    for each in score.layers:
        own = [int(name[1:]) if name != "label" else len(schema.names) - 1 for name in each.columns]
        counts = np.zeros(each.shape(schema), dtype=np.int64)
        for row in rows:
            counts[tuple(row[place] for place in own)] += 1
        parts.append(counts.ravel())
    return score.scores(np.concatenate(parts), schema)


@pytest.mark.representative
@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("price", [TENTH, Fraction(1)])
def test_no_row_moves_two_sets_farther_apart_than_it_says(relation: Neighbours, price: Fraction) -> None:
    """All tables of up to five rows over all rows of two columns and two or three classes, and all their neighbours.

    Under replace_one a row may also enter or leave the portion that is scored.
    """
    score, worst = score_of(((0,), (1,), (0, 1), ()), price), 0
    for sizes, most in (((2, 2, 2), 5), ((2, 2, 3), 3)):
        schema = schema_of(*sizes, neighbours=relation)
        every = list(product(*map(range, sizes)))
        limit = 2 * score.sensitivity(schema)
        for count in range(most):
            for rows in map(list, combinations_with_replacement(every, count)):
                before = [tallied(score, [*rows, row], schema) for row in every]
                here = [tallied(score, rows, schema), *(before if relation == "replace_one" else [])]
                for one, other in product(here, before):
                    moved = other - one
                    apart = int(moved.max() - moved.min())
                    worst = max(worst, apart)
                    assert apart <= limit
    # Not by much less, either: half of what is said would be too little.
    assert worst > (GRID if relation == "add_remove" else 2 * GRID)


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_many_rows_move_two_sets_no_farther_apart_either(relation: Neighbours) -> None:
    """One row is of another label than all others, and told from them by a or by nothing: the proof's worst case."""
    rows: Rows = [(0, 0, 0)] * 200
    schema = schema_of(2, 2, 2, neighbours=relation)
    score = score_of(((0,), (1,), (0, 1), ()), Fraction(1))
    limit = 2 * score.sensitivity(schema)
    first, second = tallied(score, [*rows, (1, 0, 1)], schema), tallied(score, [*rows, (0, 1, 1)], schema)
    moved = second - (tallied(score, rows, schema) if relation == "add_remove" else first)
    assert GRID < moved.max() - moved.min() <= limit


def test_the_share_as_printed_would_not_be_private() -> None:
    """One row moves the share of what all columns discern by nearly 1, of one set up and of another down."""
    many: Rows = [(0, 0, 0)] * 200
    rows: Rows = [*many, (0, 0, 1), (1, 0, 0)]

    def shares(rows: Rows) -> list[float]:
        found = [by_pairs(rows, columns, Fraction(0)) for columns in ((0,), (1,), (0, 1))]
        return [each / found[-1] for each in found[:2]]

    before, after = shares(rows), shares([*rows, (0, 1, 1)])
    assert (before[0] - before[1]) - (after[0] - after[1]) > 1.95
    schema = schema_of(2, 2, 2)
    score = score_of(((0,), (1,)))
    moved = tallied(score, [*rows, (0, 1, 1)], schema) - tallied(score, rows, schema)
    assert moved.max() - moved.min() <= 2 * score.sensitivity(schema)


def test_a_pick_takes_few_columns_that_tell_under_both_relations() -> None:
    """Of two sets that tell as much, that of fewer columns; a set that tells nothing is not taken for being small."""
    rows = [(row % 2, row % 3, row // 7 % 2, row % 3) for row in range(900)]
    for relation in get_args(Neighbours):
        db = jostle.rehearse(table_of(rows, schema_of(*SIZES, neighbours=relation)), seed=1)
        assert db.pick(score_of(((0, 1, 2), (1,), (2,), ())), 1) == 1


def test_more_pairs_than_64_bits_hold_are_counted() -> None:
    schema = schema_of(2, 2)
    counts = np.array([2**32, 0, 0, 2**32])
    assert score_of(((0,),), Fraction(1, 2)).scores(counts, schema).tolist() == [GRID * 2**31]


def test_without_rows_no_set_is_better() -> None:
    assert tallied(score_of(SETS), [], SCHEMA).tolist() == [0] * len(SETS)
