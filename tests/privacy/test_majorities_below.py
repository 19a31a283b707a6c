"""DiffGen's score: by its definition, and how far one row moves it."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pytest
from tables_of_labels import schema_of

from jostle.privacy.split_scores import MajoritiesBelow
from jostle.tables.pools import Layer
from jostle.tables.schema import Neighbours

SCHEMA = schema_of(3, 2, 2)
LAYERS = (Layer(("a0", "label"), ((0, 1, 1), ()), (("a0", (0, 1)),)), Layer(("a1", "label"), ((), ())))
SCORE = MajoritiesBelow(LAYERS)


def tally(rows: tuple[tuple[int, int, int], ...]) -> np.ndarray:
    counts = np.zeros(8, dtype=np.int64)
    for a, b, label in rows:
        if a < 2:
            counts[(a > 0) * 2 + label] += 1
        counts[4 + b * 2 + label] += 1
    return counts


def test_it_is_how_many_rows_the_commonest_classes_of_the_children_have() -> None:
    rows = ((0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 1, 1), (2, 1, 1))
    assert SCORE.scores(tally(rows), SCHEMA).tolist() == [2 + 1, 2 + 3]


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_no_row_moves_it_farther_or_another_way_than_it_says(relation: Neighbours) -> None:
    """All tables of up to three rows, and all their neighbours."""
    schema = schema_of(3, 2, 2, neighbours=relation)
    everyone = list(product(range(3), range(2), range(2)))
    for count in range(4):
        for rows in combinations_with_replacement(everyone, count):
            before = SCORE.scores(tally(rows), schema)
            grown = [SCORE.scores(tally((*rows, row)), schema) for row in everyone]
            moves = (
                [each - before for each in grown]
                if relation == "add_remove"
                else [one - other for one, other in product(grown, grown)]
            )
            assert max(int(np.abs(move).max()) for move in moves) <= SCORE.sensitivity(schema)
            one_way = all((move >= 0).all() or (move <= 0).all() for move in moves)
            assert one_way or not SCORE.monotone(schema)
