"""Outputs of any shape can be counted and learned from."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.audit.outputs import as_keys, as_numbers, canonical, width_of


def test_outputs_of_all_shapes_become_keys() -> None:
    assert as_keys(np.array([3, 4])) == [3, 4]
    assert as_keys(np.array([[1, 2], [3, 4]])) == [(1, 2), (3, 4)]
    assert as_keys([np.array([[1], [2]]), (1, "a"), None, {2, 1}, np.int64(7)]) == [
        ((1,), (2,)),
        (1, "a"),
        None,
        (1, 2),
        7,
    ]
    assert as_keys(np.zeros((1, 2, 1), dtype=np.int64)) == [((0,), (0,))]


def test_an_output_that_cannot_be_counted_is_refused() -> None:
    class Model:
        __hash__ = None  # type: ignore[assignment]  # the point: it has no hash

    with pytest.raises(TypeError, match="of type Model cannot be counted"):
        canonical(Model())


def test_numbers_are_read_off_with_their_differences() -> None:
    rows = np.array([[5, 3], [1, 9]])

    assert as_numbers(rows, width_of(rows)).tolist() == [[5, 3, 2], [1, 9, -8]]


def test_outputs_of_different_length_are_filled_up_and_know_their_length() -> None:
    outputs = [(7, "x"), (7,), ()]
    numbers = as_numbers(outputs, width_of(outputs))

    assert width_of(outputs) == 2
    assert numbers[:, 0].tolist() == [2, 1, 0]
    assert numbers[0, 1] == numbers[1, 1] == 7
    assert numbers[2, 1] == numbers[1, 2] < -1e9
