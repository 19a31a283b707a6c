"""Stacks: several grouped, conditioned, weighted tallies in one pass, with what a row adds to them bounded."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import jostle
from jostle.errors import SchemaError, TableError
from jostle.privacy.mechanisms import sensitivity
from jostle.tables.block import Block
from jostle.tables.kernels import LARGEST_WEIGHT, MOST_CELLS, Counts, Sums
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


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=9))
def test_rows_one_by_one_give_the_same_as_rows_with_multiplicities(rows: list[tuple[int, int]]) -> None:
    codes = np.array(rows, dtype=np.uint8).reshape(-1, 2)
    totals = np.zeros(STACK.cells(SCHEMA), dtype=np.int64)
    STACK.add(Block({"x": codes[:, 0], "y": codes[:, 1]}, len(rows)), SCHEMA, totals)

    counts = np.zeros((4, 3), dtype=np.int64)
    np.add.at(counts, tuple(codes.T), 1)
    assert totals.tolist() == tally(counts, STACK).tolist()


def test_plain_layers_are_counts_and_sums() -> None:
    counts = np.arange(12).reshape(4, 3)

    assert tally(counts, Stack((LAYERS[0],))).tolist() == tally(counts, Counts.of("x", "y")).tolist()
    assert tally(counts, Stack((LAYERS[4],))).tolist() == tally(counts, Sums("x", WEIGHTS, most=5)).tolist()


@pytest.mark.parametrize("kernel", [STACK, *(Stack((layer,)) for layer in LAYERS)])
def test_no_row_changes_more_than_is_said(kernel: Stack) -> None:
    single = {}
    for place in product(range(4), range(3)):
        counts = np.zeros((4, 3), dtype=np.int64)
        counts[place] = 1
        single[place] = tally(counts, kernel)

    assert max(int(np.abs(one).sum()) for one in single.values()) <= sensitivity(kernel, SCHEMA)
    replaced = SCHEMA.with_neighbours("replace_one")
    changes = [one - other for one in single.values() for other in single.values()]
    assert max(int(np.abs(change).sum()) for change in changes) <= sensitivity(kernel, replaced)


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


@pytest.mark.parametrize(
    "weights",
    [
        np.array([np.nan, 1, 1, 1]),
        [float("nan"), 1, 1, 1],
        [float("inf"), 1, 1, 1],
        [0.5, 1, 1, 1],
        [Fraction(1, 2), 1, 1, 1],
        [True, 1, 1, 1],
        np.array([True, False, True, True]),
        np.ones((4, 1), dtype=np.int64),
        np.array(1),
        [np.array([1]), 1, 1, 1],
        ["1", 1, 1, 1],
        "1111",
        b"1111",
        {1, 2, 3, 4},
        1,
    ],
    ids=repr,
)
def test_weights_are_whole_numbers_or_refused(weights: Any) -> None:
    with pytest.raises(TableError):
        Layer(("y",), ((),), (), "x", weights)


def test_what_is_not_a_number_is_no_group_and_no_code() -> None:
    for groups, where in (
        ((np.array([0, np.nan, 0, 0]),), ()),
        (((0, 0.5, 1, 1),), ()),
        (((0, True, 1, 1),), ()),
        (((),), (("x", (np.nan,)),)),
        (((),), (("x", (True,)),)),
        (((),), (("x", 1),)),
        (((),), ((1, (1,)),)),
    ):
        with pytest.raises(TableError):
            Layer(("x",), groups, where)  # type: ignore[arg-type]  # that is what is wrong with it


WRONG: dict[str, Callable[[], Layer]] = {
    "groupings missing": lambda: Layer(("x",)),
    "too few groups": lambda: Layer(("x",), ((0, 1),)),
    "a group below 0": lambda: Layer(("x",), ((0, 1, -1, 0),)),
    "a group beyond": lambda: Layer(("x",), ((0, 1, 4, 0),)),
    "a code that is none": lambda: Layer((), (), (("x", (4,)),)),
    "too few weights": lambda: Layer((), (), (), "x", (1,)),
    "a weight beyond numbers": lambda: Layer((), (), (), "x", (1, 1, 1, -(2**30))),
    "a column that is none": lambda: Layer(("z",), ((),)),
    "a condition on none": lambda: Layer((), (), (("z", (0,)),)),
    "weights of none": lambda: Layer((), (), (), "z", (0,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_layers_that_do_not_fit_the_schema_cost_nothing(name: str) -> None:
    db = jostle.rehearse(jostle.Table.from_grid(np.ones((4, 3), dtype=int)), epsilon=1)
    with pytest.raises((TableError, SchemaError)):
        db.measure(Stack((WRONG[name](),)), 1)
    with pytest.raises(TableError):
        db.measure(Stack(()), 1)
    assert db.spent == 0


def test_all_layers_together_are_not_too_large() -> None:
    wide = jostle.Schema({"x": jostle.Numeric(0, 1, bins=2**20), "y": jostle.Numeric(0, 1, bins=2**10)})
    layer = Layer(("x", "y"), ((), ()))

    assert Stack((layer, layer)).cells(wide) == MOST_CELLS
    with pytest.raises(TableError, match="are more than"):
        Stack((layer, layer, layer)).cells(wide)


def test_stacks_are_sent_to_other_machines() -> None:
    assert pickle.loads(pickle.dumps(STACK)) == STACK
