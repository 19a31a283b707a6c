"""Scores by which columns, sets, grids and splits are picked move no farther than they say."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openings import schema
from tables_of_labels import schema_of, table_of

import jostle
from jostle.audit.forks import permute_and_flip_chances
from jostle.privacy.column_scores import (
    SLACK,
    SPAN,
    UNIT,
    Dependence,
    Discernibility,
    GridQuality,
    SetDiscernibility,
    lost,
)
from jostle.privacy.scores import Fullest, pick_rate
from jostle.privacy.split_scores import GRID, MajoritiesBelow
from jostle.tables.kernels import SparseTally
from jostle.tables.pools import Layer, Pool
from jostle.tables.schema import Neighbours, Schema

SCHEMA = schema()
CELLS = 3
TALLIES = [np.array(counts, dtype=np.int64) for counts in product(range(4), repeat=CELLS)]
UNITS = np.eye(CELLS, dtype=np.int64)


def neighbours(tally: np.ndarray, relation: Neighbours) -> list[np.ndarray]:
    """Return the counts with a row more, or with one row replaced; a row that enters a part counts as replaced."""
    entered = [tally + unit for unit in UNITS]
    if relation == "add_remove":
        return entered
    moved = [tally - one + other for one in UNITS for other in UNITS if np.all(tally >= one)]
    return entered + moved


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_fullest_moves_no_farther_than_it_says(relation: Neighbours) -> None:
    score, public = Fullest("region"), schema(relation)
    apart = 0
    for tally in TALLIES:
        for other in neighbours(tally, relation):
            moved = score.scores(other, public) - score.scores(tally, public)
            apart = max(apart, int(np.abs(moved).max()))
            assert not score.monotone(public) or np.all(moved >= 0)
    assert apart == score.sensitivity(public)


def test_columns_are_given_one_by_one_or_together() -> None:
    assert Fullest("region") == Fullest(["region"]) == Fullest(("region",))
    assert Fullest("region").kernel(SCHEMA).cells(SCHEMA) == 4


def loss(relation: Neighbours, rate: Fraction) -> float:
    """Return the largest privacy loss of a pick at this rate, over all small tallies and their neighbours."""
    worst = 0.0
    for tally in TALLIES:
        here = permute_and_flip_chances(tally.tolist(), rate)
        for other in neighbours(tally, relation):
            worst = max(
                worst,
                *(
                    abs(math.log(a / b))
                    for a, b in zip(here, permute_and_flip_chances(other.tolist(), rate), strict=True)
                ),
            )
    return worst


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_a_pick_loses_epsilon_and_no_more(epsilon: Fraction) -> None:
    """A monotone score affords twice the rate; one that is not would lose more at that rate."""
    twice, once = (pick_rate(epsilon, Fraction(1), monotone=monotone) for monotone in (True, False))

    assert twice == 2 * once
    assert loss("add_remove", twice) <= float(epsilon) + 1e-9
    assert loss("replace_one", once) <= float(epsilon) + 1e-9
    assert loss("replace_one", twice) > float(epsilon) * 1.05


# PrivBayes's score: by its definition, and how far one row moves it.


SCHEMA_OF_DEPENDENCE = schema_of(2, 3, 2)
POOL = Pool(("a0", "a1"), ([[0, 1]], [[0, 1, 2]]), [[0, 0]])
SCORE = Dependence(POOL, (0,))


def by_definition(counts: np.ndarray) -> float:
    rows = counts.sum()
    shares = counts / max(1, rows)
    return float(rows * np.abs(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum() / 2)


def scored(counts: np.ndarray) -> int:
    return int(SCORE.scores(np.pad(counts, ((0, 1), (0, 1))).ravel(), SCHEMA_OF_DEPENDENCE)[0])  # no row is blank


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


# k-discernibility: against its definition by pairs, and how far one row moves two candidates apart.


Rows = list[tuple[int, ...]]
SIZES = (2, 3, 2, 3)
SCHEMA_OF_DISCERNIBILITY = schema_of(*SIZES)
rows_of = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), max_size=14)


def by_pairs(rows: Rows, columns: set[int]) -> int:
    """Return how many ordered pairs some columns and the label, which is last, discern: the definition."""
    return sum(
        one[-1] != other[-1] and any(one[column] != other[column] for column in columns)
        for one in rows
        for other in rows
    )


def scores(
    rows: Rows, base: tuple[str, ...], candidates: tuple[str, ...], schema: Schema = SCHEMA_OF_DISCERNIBILITY
) -> list[int]:
    return scored_of_discernibility(Discernibility(base, candidates), rows, schema)


def scored_of_discernibility(score: Discernibility, rows: Rows, schema: Schema) -> list[int]:
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
    assert scored_of_discernibility(Discernibility((), ("a1",), ((0, 1, 0),)), rows, SCHEMA_OF_DISCERNIBILITY) == [
        GRID * 4 // 3
    ]


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


# The score that k is chosen by: against its definition by pairs, and how far one row moves two candidates apart.


SCHEMA_OF_SETS = schema_of(*SIZES)
TENTH = Fraction(1, 10)
SETS = ((), (0,), (1,), (0, 2), (0, 1, 2))


def score_of(sets: tuple[tuple[int, ...], ...], price: Fraction = TENTH) -> SetDiscernibility:
    return SetDiscernibility([layer(*(f"a{place}" for place in columns)) for columns in sets], price)


def layer(*columns: str, groups: tuple[tuple[int, ...], ...] = ()) -> Layer:
    return Layer((*columns, "label"), (*(groups or ((),) * len(columns)), ()))


def by_pairs_of_sets(rows: Rows, columns: tuple[int, ...], price: Fraction) -> int:
    """Return the score as it is defined, in pairs per row, rounded down to the grid."""
    pairs = [(one, other) for one in rows for other in rows if one[-1] != other[-1]]
    told = sum(any(one[place] != other[place] for place in columns) for one, other in pairs)
    return math.floor(GRID * (told - price * len(columns) * len(pairs)) / max(1, len(rows)))


@given(rows_of, st.sampled_from([Fraction(0), TENTH, Fraction(1)]))
def test_it_is_as_it_is_defined(rows: Rows, price: Fraction) -> None:
    score = score_of(SETS, price)
    tally = table_of(rows, SCHEMA_OF_SETS)._source.tally(score.kernel(SCHEMA_OF_SETS), ())
    assert isinstance(tally, np.ndarray)
    assert score.scores(tally, SCHEMA_OF_SETS).tolist() == [by_pairs_of_sets(rows, columns, price) for columns in SETS]


def tallied_of_sets(score: SetDiscernibility, rows: Rows, schema: Schema) -> np.ndarray:
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
                before = [tallied_of_sets(score, [*rows, row], schema) for row in every]
                here = [tallied_of_sets(score, rows, schema), *(before if relation == "replace_one" else [])]
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
    first, second = (
        tallied_of_sets(score, [*rows, (1, 0, 1)], schema),
        tallied_of_sets(score, [*rows, (0, 1, 1)], schema),
    )
    moved = second - (tallied_of_sets(score, rows, schema) if relation == "add_remove" else first)
    assert GRID < moved.max() - moved.min() <= limit


def test_the_share_as_printed_would_not_be_private() -> None:
    """One row moves the share of what all columns discern by nearly 1, of one set up and of another down."""
    many: Rows = [(0, 0, 0)] * 200
    rows: Rows = [*many, (0, 0, 1), (1, 0, 0)]

    def shares(rows: Rows) -> list[float]:
        found = [by_pairs_of_sets(rows, columns, Fraction(0)) for columns in ((0,), (1,), (0, 1))]
        return [each / found[-1] for each in found[:2]]

    before, after = shares(rows), shares([*rows, (0, 1, 1)])
    assert (before[0] - before[1]) - (after[0] - after[1]) > 1.95
    schema = schema_of(2, 2, 2)
    score = score_of(((0,), (1,)))
    moved = tallied_of_sets(score, [*rows, (0, 1, 1)], schema) - tallied_of_sets(score, rows, schema)
    assert moved.max() - moved.min() <= 2 * score.sensitivity(schema)


def test_a_pick_takes_few_columns_that_tell_under_both_relations() -> None:
    """Of two sets that tell as much, that of fewer columns; a set that tells nothing is not taken for being small."""
    rows = [(row % 2, row % 3, row // 7 % 2, row % 3) for row in range(900)]
    for relation in get_args(Neighbours):
        db = jostle.rehearse(table_of(rows, schema_of(*SIZES, neighbours=relation)), seed=1)
        assert db.pick(score_of(((0, 1, 2), (1,), (2,), ())), 1) == 1


def test_more_pairs_of_sets_than_64_bits_hold_are_counted() -> None:
    schema = schema_of(2, 2)
    counts = np.array([2**32, 0, 0, 2**32])
    assert score_of(((0,),), Fraction(1, 2)).scores(counts, schema).tolist() == [GRID * 2**31]


def test_without_rows_no_set_is_better() -> None:
    assert tallied_of_sets(score_of(SETS), [], SCHEMA_OF_SETS).tolist() == [0] * len(SETS)


# PrivPfC's quality: its values, and how far one row moves two grids apart, by search and by the proof's bound.


POOL_OF_GRIDS = Pool(
    ("a0", "a1", "label"),
    ([[0, 1]], [[0, 0, 1], [0, 1, 2]], [[0, 1]]),
    [(*levels, 0) for levels in product(range(-1, 1), range(-1, 2))],
)
SCALES = (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(17), Fraction(300))


def test_what_noise_loses_is_the_chance_of_a_lost_majority_times_the_lead() -> None:
    random = np.random.default_rng(3)
    noise = random.laplace(0, 2, (2, 200_000))
    for lead in (1, 3, 8):
        share = float(np.mean(noise[0] - noise[1] > lead))
        assert lost(np.array([lead]), Fraction(2))[0] / UNIT == pytest.approx(lead * share, abs=0.02)


def test_the_bound_is_that_of_the_proof() -> None:
    c = (1 + math.sqrt(3)) / 2 * math.exp(-(1 + math.sqrt(3)))
    assert 1 + 2 * c < SPAN < 1 + 2 * c + 0.0001


@pytest.mark.representative
@pytest.mark.parametrize("scale", SCALES)
def test_what_a_row_loses_more_or_less_lies_within_the_proof(scale: Fraction) -> None:
    """Every lead up to where nothing is lost any more, so every pair of neighbouring cells."""
    steps = np.diff(lost(np.arange(min(4000, int(60 * scale) + 5)), scale)) / UNIT
    c = (SPAN - 1) / 2
    assert steps.min() >= -float(c) - 2 / UNIT
    assert steps.max() <= 0.5 + 2 / UNIT
    if scale > 10:
        assert steps.min() < -float(c) * 0.98  # and no smaller bound would do


@pytest.mark.parametrize("scale", [Fraction(1, 2**40), Fraction(1, 2**41), Fraction("1e-320"), Fraction("1e-400")])
def test_scales_that_are_no_floats(scale: Fraction) -> None:
    """Without noise, no majority is lost, and where there is none, nothing is."""
    gaps = np.array([0, 1, 2, 10**6, 2**33])
    assert lost(gaps, scale).tolist() == [0] * 5


def quality_of(cell: np.ndarray, score: GridQuality) -> int:
    """Return the score of a grid of one cell of these class counts: all that a row can meet."""
    return int(score.scores(np.append(cell, 0), schema_of(1, 1, len(cell)))[0])  # no row is without a label


@pytest.mark.representative
@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("classes", [2, 3])
def test_no_row_moves_two_grids_farther_apart_than_it_says(relation: Neighbours, classes: int) -> None:
    """All pairs of cells of up to eight rows of each class, one for either grid, and every row that comes to them."""
    pool = Pool(("label",), (np.arange(classes)[None],), [[0]])
    schema = schema_of(1, 1, classes, neighbours=relation)
    most = 9 if classes == 2 else 5
    cells = np.array(list(product(range(most), repeat=classes)))
    for scale in SCALES[:3]:
        score = GridQuality(pool, scale)
        quality = {tuple(cell.tolist()): quality_of(cell, score) for cell in cells}
        moved = []
        for label in range(classes):
            one = np.eye(classes, dtype=int)[label]
            changes = [
                quality[tuple((cell + one).tolist())] - quality[tuple(cell.tolist())]
                for cell in cells
                if cell[label] + 1 < most
            ]
            moved.append((min(changes), max(changes)))
        enter = max(high - low for low, high in moved)
        # One row out and another in: what two entries move two grids apart, added.
        swap = 2 * enter
        limit = 2 * score.sensitivity(schema)
        assert (enter if relation == "add_remove" else swap) <= limit
        assert enter <= SPAN * UNIT + SLACK


def test_the_better_grid_is_picked() -> None:
    rows = [(row % 2, row % 3, row % 3 // 2) for row in range(600)]
    for relation in get_args(Neighbours):
        db = jostle.rehearse(table_of(rows, schema_of(2, 3, 2, neighbours=relation)), seed=2)
        assert POOL_OF_GRIDS.taken[db.pick(GridQuality(POOL_OF_GRIDS, Fraction(2)), 1), 1] >= 0


# DiffGen's score: by its definition, and how far one row moves it.


SCHEMA_OF_MAJORITIES = schema_of(3, 2, 2)
LAYERS = (Layer(("a0", "label"), ((0, 1, 1), ()), (("a0", (0, 1)),)), Layer(("a1", "label"), ((), ())))
SCORE_OF_MAJORITIES = MajoritiesBelow(LAYERS)


def tally(rows: tuple[tuple[int, int, int], ...]) -> np.ndarray:
    counts = np.zeros(8, dtype=np.int64)
    for a, b, label in rows:
        if a < 2:
            counts[(a > 0) * 2 + label] += 1
        counts[4 + b * 2 + label] += 1
    return counts


def test_it_is_how_many_rows_the_commonest_classes_of_the_children_have() -> None:
    rows = ((0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 1, 1), (2, 1, 1))
    assert SCORE_OF_MAJORITIES.scores(tally(rows), SCHEMA_OF_MAJORITIES).tolist() == [2 + 1, 2 + 3]


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_no_row_moves_it_farther_or_another_way_than_it_says(relation: Neighbours) -> None:
    """All tables of up to three rows, and all their neighbours."""
    schema = schema_of(3, 2, 2, neighbours=relation)
    everyone = list(product(range(3), range(2), range(2)))
    for count in range(4):
        for rows in combinations_with_replacement(everyone, count):
            before = SCORE_OF_MAJORITIES.scores(tally(rows), schema)
            grown = [SCORE_OF_MAJORITIES.scores(tally((*rows, row)), schema) for row in everyone]
            moves = (
                [each - before for each in grown]
                if relation == "add_remove"
                else [one - other for one, other in product(grown, grown)]
            )
            assert max(int(np.abs(move).max()) for move in moves) <= SCORE_OF_MAJORITIES.sensitivity(schema)
            one_way = all((move >= 0).all() or (move <= 0).all() for move in moves)
            assert one_way or not SCORE_OF_MAJORITIES.monotone(schema)
