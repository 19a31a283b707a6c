"""Joints: what is counted in place of many grids gives what these would count one by one."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from jostle import Categorical, Schema
from jostle.tables import joints as module
from jostle.tables.block import code_type
from jostle.tables.engines import MemorySource
from jostle.tables.joints import joints
from jostle.tables.pools import GridCounts, Pool

SIDES = (5, 1, 4, 3)
"""Codes of each column; blanks come after them in all but the last."""


def schema() -> Schema:
    """Return columns of which a row may be blank in all but one."""
    columns = {f"c{place}": Categorical(range(side)) for place, side in enumerate(SIDES[:-1])}
    return Schema({**columns, "label": Categorical(range(SIDES[-1]), outside="drop", missing="drop")}, label="label")


SCHEMA = schema()
TAXONOMY = ([0, 0, 1, 1, 1], [0, 0, 1, 2, 2], [3, 4, 2, 1, 0])
"""Levels of which each splits the one before; the last is in another order."""
CROSSING = ([0, 0, 1, 1], [0, 1, 0, 1])
"""Levels of which neither splits the other."""


def a_pool(chance: random.Random) -> Pool:
    """Return grids of levels in any order, some of them twice, with groups that no code is in."""
    levels = (
        chance.sample(TAXONOMY, 3),
        ([0],),
        chance.choice([CROSSING, ([0, 2, 2, 0],), ([0, 0, 0, 0], [0, 1, 2, 3])]),
        ([0, 1, 2],),
    )
    taken = [[chance.randrange(-1, len(own)) for own in levels] for _ in range(chance.randint(1, 40))]
    return Pool(SCHEMA.names, tuple(map(np.array, levels)), taken)


def rows(chance: random.Random, count: int, *, blanks: bool) -> MemorySource:
    """Return rows, some of them several times."""
    columns = {
        name: np.array(
            [chance.randrange(side + (blanks and name != "label")) for _ in range(count)], dtype=code_type(side + 1)
        )
        for name, side in zip(SCHEMA.names, SIDES, strict=True)
    }
    times = np.array([chance.choice([1, 1, 2, 7]) for _ in range(count)]) if chance.random() < 0.5 else None
    return MemorySource(SCHEMA, columns, count, times)


def by_hand(source: MemorySource, pool: Pool) -> list[int]:
    """Return the counts of all grids, row by row."""
    found: list[int] = []
    for taken in pool.taken.tolist():
        about = [place for place, level in enumerate(taken) if level >= 0]
        sides = [int(pool.levels[place][taken[place]].max()) + 1 for place in about]
        counts = dict.fromkeys(product(*map(range, sides)), 0)
        for row in range(source.length):
            codes = [int(source.columns[pool.columns[place]][row]) for place in about]
            if all(code < SIDES[place] for place, code in zip(about, codes, strict=True)):
                cell = tuple(
                    int(pool.levels[place][taken[place]][code]) for place, code in zip(about, codes, strict=True)
                )
                counts[cell] += 1 if source.multiplicity is None else int(source.multiplicity[row])
        found += counts.values()
    return found


@pytest.mark.parametrize("room", [1, 60, 2**15])
@pytest.mark.parametrize("blanks", [False, True])
def test_they_give_the_counts_of_all_grids(monkeypatch: pytest.MonkeyPatch, room: int, blanks: bool) -> None:
    monkeypatch.setattr(module, "LEAST_JOINT", room)
    for number in range(25):
        chance = random.Random(number)
        pool, source = a_pool(chance), rows(chance, 30, blanks=blanks)
        made = joints.__wrapped__(pool, SCHEMA)
        tally = np.asarray(source.tally(GridCounts(made.counted), ()))
        expected = by_hand(source, pool)
        assert made.added_up(tally).tolist() == expected
        assert np.asarray(source.tally(GridCounts(pool), ())).tolist() == expected
        assert len(made.counted.taken) <= len(pool.taken)


def test_a_row_is_in_one_cell_of_each_joint_even_where_it_is_blank() -> None:
    chance = random.Random(3)
    kernel = GridCounts(joints(a_pool(chance), SCHEMA).counted)
    for _ in range(50):
        assert np.asarray(rows(chance, 1, blanks=True).tally(kernel, ())).sum() % kernel.bound(SCHEMA) == 0


def test_grids_that_lie_in_one_another_are_counted_once() -> None:
    levels = ([[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]], [[0]], [[0, 1, 2, 3]], [[0, 1, 2]])
    pool = Pool(SCHEMA.names, levels, list(product(range(-1, 2), [-1], range(-1, 1), [0])))
    made = joints(pool, SCHEMA)
    assert made.counted.taken.tolist() == [[1, -1, 0, 0]]
    assert made.counted.sizes == [6 * 5 * 3]  # with a group for those that are blank


def test_no_more_cells_are_held_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(SCHEMA.names, ([list(range(5))], [[0]], [list(range(4))], [[0, 1, 2]]),
                [[0, -1, -1, -1], [-1, -1, 0, -1], [-1, -1, -1, 0]])  # fmt: skip
    monkeypatch.setattr(module, "MOST_HELD", 6 + 5 + 3 + 4)
    made = joints.__wrapped__(pool, SCHEMA)
    assert sorted(made.counted.sizes) == [3, 5, 6]
