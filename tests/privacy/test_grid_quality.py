"""PrivPfC's quality: its values, and how far one row moves two grids apart, by search and by the proof's bound."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import get_args

import numpy as np
import pytest
from tables_of_labels import schema_of, table_of

import jostle
from jostle.privacy.column_scores import SLACK, SPAN, UNIT, GridQuality, lost
from jostle.tables.pools import GridCounts, Pool
from jostle.tables.schema import Neighbours

SCHEMA = schema_of(2, 3, 2)
POOL = Pool(
    ("a0", "a1", "label"),
    ([[0, 1]], [[0, 0, 1], [0, 1, 2]], [[0, 1]]),
    [(*levels, 0) for levels in product(range(-1, 1), range(-1, 2))],
)
SCALES = (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(17), Fraction(300))


def test_grids_are_counted_as_row_by_row() -> None:
    random = np.random.default_rng(1)
    rows = [tuple(map(int, row)) for row in random.integers(0, (2, 3, 2), (40, 3))]
    found = table_of(rows, SCHEMA)._source.tally(GridCounts(POOL), ())
    expected: list[int] = []
    for levels in POOL.taken.tolist():
        about = [place for place, level in enumerate(levels) if level >= 0]
        groups = [POOL.levels[place][levels[place]] for place in about]
        counts = np.zeros([int(each.max()) + 1 for each in groups], dtype=int)
        for row in rows:
            counts[tuple(own[row[place]] for own, place in zip(groups, about, strict=True))] += 1
        expected += counts.ravel().tolist()
    assert np.asarray(found).tolist() == expected


def test_a_grid_kernel_bounds_what_a_row_adds() -> None:
    kernel = GridCounts(POOL)
    whole = [
        np.asarray(table_of([row], SCHEMA)._source.tally(kernel, ())) for row in product(range(2), range(3), range(2))
    ]
    assert max(int(each.sum()) for each in whole) == kernel.bound(SCHEMA) == 6
    assert max(int(np.abs(one - other).sum()) for one in whole for other in whole) <= kernel.replaced(SCHEMA) == 12


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
        assert POOL.taken[db.pick(GridQuality(POOL, Fraction(2)), 1), 1] >= 0
