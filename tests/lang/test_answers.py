"""Answers as data: nothing in them is lost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from jostle.lang.running import as_data


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        ({"a": 1, "b": Fraction(1, 2)}, {"a": 1, "b": 0.5}),
        ({1: 5, "1": 6}, [[1, 5], ["1", 6]]),
        ({("a, b", "c"): 5, ("a", "b, c"): 6}, [[["a, b", "c"], 5], [["a", "b, c"], 6]]),
        ({True: 1, "True": 2}, [[True, 1], ["True", 2]]),
        ([{1: {2: (3,)}}], [{"1": {"2": [3]}}]),
    ],
)
def test_groups_that_look_alike_are_told_apart(answer: Any, data: Any) -> None:
    assert as_data(answer) == data
