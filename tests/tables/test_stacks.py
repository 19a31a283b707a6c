"""Stacks: several grouped, conditioned, weighted tallies in one pass, with what a row adds to them bounded."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import jostle
from jostle.errors import TableError
from jostle.tables.kernels import LARGEST_WEIGHT, Counts, Sums
from jostle.tables.pools import Layer, Stack

SCHEMA = jostle.Schema(
    {
        "x": jostle.Numeric(0, 4, bins=4),
        "y": jostle.Numeric(0, 3, bins=3),
    }
)
WEIGHTS = (5, -2, 0, 1)
LAYERS = (
    Layer(("x", "y"), ((), ())),
    Layer(("y", "x"), ((), (0, 0, 1, 1)), (("x", (1, 2, 3)), ("x", (0, 1, 2)))),
    Layer((), (), (("y", ()),)),
    Layer(("y",), ((1, 0, 1),), (("y", (0, 2)),), "x", WEIGHTS),
    Layer((), (), (), "x", WEIGHTS),
)
STACK = Stack(LAYERS)

grids = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=4, max_size=4).map(np.array)


def tally(counts: NDArray[np.int64], kernel: Stack | Counts | Sums) -> NDArray[np.int64]:
    """Return what is found in a grid, where one row of codes stands for several records."""
    found = jostle.Table.from_grid(counts)._source.tally(kernel, ())
    assert isinstance(found, np.ndarray)
    return found


def by_hand(counts: NDArray[np.int64], layer: Layer) -> list[int]:
    """Return a layer's numbers, record by record."""
    found: Counter[tuple[int, ...]] = Counter()
    for place in product(range(4), range(3)):
        codes = dict(zip(("x", "y"), place, strict=True))
        if all(codes[name] in allowed for name, allowed in layer.where):
            groups = zip(layer.columns, layer.groups, strict=True)
            cell = tuple(group[codes[name]] if group else codes[name] for name, group in groups)
            weight = 1 if layer.weighted is None else layer.weights[codes[layer.weighted]]
            found[cell] += weight * int(counts[place])
    return [found[cell] for cell in product(*map(range, layer.shape(SCHEMA)))]


@given(grids)
def test_layers_stand_one_after_the_other(counts: NDArray[np.int64]) -> None:
    assert tally(counts, STACK).tolist() == [each for layer in LAYERS for each in by_hand(counts, layer)]


def test_plain_layers_are_counts_and_sums() -> None:
    counts = np.arange(12).reshape(4, 3)

    assert tally(counts, Stack((LAYERS[0],))).tolist() == tally(counts, Counts.of("x", "y")).tolist()
    assert tally(counts, Stack((LAYERS[4],))).tolist() == tally(counts, Sums("x", WEIGHTS, most=5)).tolist()


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_the_least_number_of_a_narrow_type_is_not_taken_for_its_own_magnitude(
    kind: type[np.signedinteger[Any]],
) -> None:
    """In such a type, abs(least) == least: the largest magnitude would be 1, and the noise would hide nothing."""
    least = int(np.iinfo(kind).min)
    weights = np.array([least, least, least, 1], dtype=kind)
    if -least > LARGEST_WEIGHT:
        with pytest.raises(TableError, match="weights is"):
            Layer(("y",), ((),), (), "x", weights)
    else:
        kernel = Stack((Layer(("y",), ((),), (), "x", weights),))
        counts = np.zeros((4, 3), dtype=np.int64)
        counts[0, 1] = 1
        assert tally(counts, kernel).tolist() == [0, least, 0]
        assert kernel.bound(SCHEMA) == -least
