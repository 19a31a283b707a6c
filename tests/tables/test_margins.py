"""Counting the rows of a class, and of the others, by how high a public rule scores them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jostle import Categorical, Schema
from jostle.tables.block import Block, code_type
from jostle.tables.kernels import DenseKernel
from jostle.tables.regions import haar
from jostle.tables.rules import MarginLevels, Margins, Points
from jostle.tables.schema import Neighbours

SIZES = (3, 4)
EVERY_ROW = [(label, x) for label in range(3) for x in range(4)]
RULE = (Points((), [[1, 0, 1]]), Points(("x",), [[0, 5, 0], [2, 2, 3], [0, 0, 9], [4, 8, 4]]))
"""Points by x: (1, 5, 1), (3, 2, 4), (1, 0, 10), (5, 8, 5); margins of the second class: 4, -2, -10, 3."""
MARGINS = (4, -2, -10, 3)
rows_of = st.lists(st.sampled_from(EVERY_ROW), max_size=20)
cuts_of = st.lists(st.integers(-12, 12), max_size=6, unique=True).map(sorted)


def schema(neighbours: Neighbours = "add_remove") -> Schema:
    columns = {"label": Categorical(["a", "b", "c"]), "x": Categorical(list("0123"))}
    return Schema(columns, label="label", neighbours=neighbours)


def tally(kernel: DenseKernel, rows: Sequence[tuple[int, ...]], counted: list[int] | None = None) -> list[int]:
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(SIZES[place]))
        for place, name in enumerate(("label", "x"))
    }
    totals = np.zeros(kernel.cells(schema()), dtype=np.int64)
    kernel.add(Block(columns, len(rows), None if counted is None else np.array(counted)), schema(), totals)
    return [int(each) for each in totals]


@given(rows_of, cuts_of)
def test_rows_are_counted_where_adding_up_by_hand_puts_them(rows: list[tuple[int, int]], cuts: list[int]) -> None:
    expected = [[0] * (len(cuts) + 1) for _ in range(2)]
    for label, x in rows:
        expected[label != 1][sum(cut <= MARGINS[x] for cut in cuts)] += 1

    assert tally(Margins(RULE, positive=1, cuts=cuts), rows) == expected[0] + expected[1]


@given(rows_of, cuts_of)
def test_levels_are_the_wavelet_of_each_half(rows: list[tuple[int, int]], cuts: list[int]) -> None:
    margins = Margins(RULE, positive=1, cuts=cuts)
    levels = MarginLevels(margins)
    found = np.split(np.array(tally(levels, rows)), np.cumsum(levels.sizes(schema()))[:-1])
    for half, counts in enumerate(np.array(tally(margins, rows)).reshape(2, -1)):
        side = 1 << len(cuts).bit_length()
        filled = np.concatenate([counts, np.zeros(side - len(counts), dtype=np.int64)])
        assert np.concatenate([np.split(level, 2)[half] for level in found]).tolist() == haar(filled, 0).tolist()
