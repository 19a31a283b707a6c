"""Counting rows by which of several rules get them right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jostle import Categorical, Schema
from jostle.tables.block import Block, code_type
from jostle.tables.rules import Agreements, Hits, Points

SCHEMA = Schema({"label": Categorical(["n", "y"]), "x": Categorical(["0", "1", "2"])}, label="label")
EVERY_ROW = [(label, x) for label in range(2) for x in range(3)]
WHAT = {"never": (0, 0, 0), "first": (1, 0, 0), "upper": (0, 1, 1)}
"""The class that each rule predicts for x."""
RULES = tuple(Hits([Points(("x",), [[1 - one, one] for one in says])]) for says in WHAT.values())


def tally(rows: Sequence[tuple[int, int]], counted: list[int] | None = None) -> list[int]:
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(size))
        for place, (name, size) in enumerate((("label", 2), ("x", 3)))
    }
    kernel = Agreements(RULES)
    totals = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
    kernel.add(Block(columns, len(rows), None if counted is None else np.array(counted)), SCHEMA, totals)
    return [int(each) for each in totals]


@given(st.lists(st.sampled_from(EVERY_ROW), max_size=20))
def test_rows_are_counted_by_the_rules_that_are_right(rows: list[tuple[int, int]]) -> None:
    expected = [0] * 8
    for label, x in rows:
        expected[sum(1 << place for place, says in enumerate(WHAT.values()) if says[x] == label)] += 1

    assert tally(rows) == expected
