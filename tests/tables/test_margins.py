"""Counting the rows of a class, and of the others, by how high a public rule scores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle import Categorical, Schema, Table
from jostle.errors import TableError
from jostle.privacy.mechanisms import sensitivity
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


KERNELS = [
    Margins(RULE, positive=1, cuts=[-2, 3, 4]),
    Margins(RULE, positive=0, cuts=[]),
    Margins(RULE, positive=2, cuts=[0]),
    *(MarginLevels(Margins(RULE, positive=1, cuts=cuts)) for cuts in ([-2, 3, 4], [], [0], [-5, 1, 2, 3, 4])),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_row_changes_more_than_the_noise_is_made_for_and_some_change_as_much(kernel: DenseKernel) -> None:
    """Brute force: all rows that come, go, enter a part, and all pairs of one that becomes another."""
    added = [np.array(tally(kernel, [row])) for row in EVERY_ROW]
    for neighbours in get_args(Neighbours):
        comes = [(each,) for each in added]
        changes = comes if neighbours == "add_remove" else [*comes, *((one, two) for one in added for two in added)]
        moved = [np.abs(each[0] - each[1] if len(each) > 1 else each[0]) for each in changes]
        assert max(each.sum() for each in moved) == sensitivity(kernel, schema(neighbours))
        if isinstance(kernel, MarginLevels):
            ends = np.cumsum(kernel.sizes(schema()))[:-1]
            most = np.max([[level.sum() for level in np.split(each, ends)] for each in moved], axis=0)
            assert most.tolist() == list(kernel.changes(schema(neighbours)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_stand_for_several_count_as_several(kernel: DenseKernel) -> None:
    rows = [(1, 0), (0, 2), (1, 2)]

    assert tally(kernel, rows, [2, 0, 3]) == tally(kernel, [rows[0]] * 2 + [rows[2]] * 3)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"positive": 3}, "the label has the codes 0 to 2"),
        ({"positive": -1}, "the label has the codes 0 to 2"),
        ({"cuts": [1, 1]}, "cuts do not rise"),
        ({"cuts": [2, 1]}, "cuts do not rise"),
        ({"terms": [Points(("label",), [[0, 0, 0]] * 3)]}, "by the label"),
        ({"terms": [Points(("x",), [[0, 0, 0]] * 3)]}, "does not have the cells"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_before_any_charge(change: dict[str, Any], fault: str) -> None:
    asked: dict[str, Any] = {"terms": RULE, "positive": 1, "cuts": [0], **change}
    table = Table.from_frame(pa.table({"label": ["a"], "x": ["0"]}), schema())
    for kernel in (Margins(**asked), MarginLevels(Margins(**asked))):
        db = jostle.rehearse(table, epsilon=1)
        with pytest.raises(TableError, match=fault):
            db.measure(kernel, 1)
        assert db.spent == 0


def test_a_label_of_one_class_is_refused() -> None:
    one = Schema({"label": Categorical(["a"]), "x": Categorical(list("01"))}, label="label")
    with pytest.raises(TableError, match="one class only"):
        Margins([Points((), [[1]])], positive=0, cuts=[]).cells(one)
