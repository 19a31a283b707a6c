"""Descent: how far one row moves the last step, by enumeration; what it computes; that ways in give the same."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from math import exp
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.privacy.descent import STEEPER, WIDE, Descent, bend, line_of
from jostle.tables.block import code_type
from jostle.tables.engines import MemorySource
from jostle.tables.schema import Neighbours
from jostle.tables.slopes import STEEPEST, UNIT, Slopes

ROWS = tuple(product(range(3), range(2)))
Rows = tuple[tuple[int, int], ...]
HALF = UNIT // 2
NUMBERS = (np.array([[HALF, 0], [0, HALF], [-HALF, HALF]]),)


def schema(relation: Neighbours) -> Schema:
    columns = {"x": Categorical(["a", "b", "c"]), "label": Categorical(["no", "yes"])}
    return Schema(columns, label="label", neighbours=relation)


def last_step(descent: Descent, rows: Rows, public: Schema) -> np.ndarray[Any, np.dtype[np.int64]]:
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(public[name].size))
        for place, name in enumerate(public.names)
    }
    source = MemorySource(public, columns, len(rows))
    return descent.collect(lambda kernel: source.tally(kernel, ()), public)


def neighbours(most: int, relation: Neighbours) -> Iterator[tuple[Rows, Rows]]:
    """Yield all pairs of small tables one row apart, as multisets."""
    for size in range(most):
        for held in combinations_with_replacement(ROWS, size):
            for row in ROWS:
                if relation == "add_remove":
                    yield held, tuple(sorted((*held, row)))
                else:
                    yield from (
                        (tuple(sorted((*held, row))), tuple(sorted((*held, other)))) for other in ROWS if other > row
                    )


def furthest(descent: Descent, relation: Neighbours, most: int) -> int:
    """Return the most that a row moves the last step, over all small tables."""
    public, known = schema(relation), dict[Rows, Any]()

    def step(rows: Rows) -> Any:
        if rows not in known:
            known[rows] = last_step(descent, rows, public)
        return known[rows]

    return max(int(np.abs(step(one) - step(other)).sum()) for one, other in neighbours(most, relation))


@pytest.mark.representative("loss")
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("loss", "rows", "bits", "classes"),
    [
        ("logistic", 1, 10, (1,)),
        ("huber", 1, 10, (1,)),
        ("huber", 2, 3, (0, 1)),
        ("logistic", 3, 1, (1,)),
        ("huber", 9, 2, (1,)),
    ],
)
def test_no_row_of_any_small_table_moves_the_last_step_farther_than_is_said(
    relation: Neighbours, loss: str, rows: int, bits: int, classes: tuple[int, ...]
) -> None:
    """With fewer rows than the public number, as many, and more; in coarse units and in fine ones."""
    descent = Descent(("x",), NUMBERS, (), 0, 1, HALF, classes, loss, "1/10", rows, 6, bits)
    descent.check(schema(relation), Fraction(1))
    found, said = furthest(descent, relation, 3), len(classes) * descent.moved(schema(relation))
    assert 0 < found <= said, f"{found} of {said}"


def test_the_bound_is_nearly_reached() -> None:
    """By one step of a single row: noise is not much wider than it has to be."""
    public = schema("add_remove")
    descent = Descent(("x",), (np.zeros((3, 1), dtype=np.int64),), (), 0, 1, UNIT, (1,), "huber", "1/1000", 1, 1, 20)
    found = int(np.abs(last_step(descent, ROWS[1:2], public)).sum())
    single = Descent((), (), (), 0, 1, UNIT, (1,), "huber", "1/1000", 1, 1, 20)
    assert single.moved(public) * 0.8 < found <= single.moved(public)


def test_a_table_of_many_rows_moves_by_no_more_than_a_public_number_that_is_small() -> None:
    """All divisors around where they change, with slopes of 1 all one way: the mean moves by WIDE / rows at most."""
    descent = Descent((), (), (), 0, 1, UNIT, (1,), "huber", "1/1000", 10, 1, 20)
    for count in range(200):
        before, after = (each / descent.divisor(each) for each in (count, count + 1))
        one, other = descent.divisor(count), descent.divisor(count + 1)
        assert max(before, after) <= STEEPER
        assert count * abs(1 / one - 1 / other) + 1 / other <= WIDE / 10


def test_a_step_is_that_of_the_mean_loss() -> None:
    """Against fractions and floats, by hand."""
    public, held = schema("add_remove"), (ROWS[0], ROWS[3], ROWS[3], ROWS[5])
    descent = Descent(("x",), NUMBERS, (), 0, 1, HALF, (1,), "logistic", "1/20", 4, 40, 25)
    x = np.hstack([np.full((4, 1), 0.5), np.array([NUMBERS[0][code] / UNIT for code, _ in held])])
    y = np.array([1.0 if label else -1.0 for _, label in held])
    weights = np.zeros(3)
    for _ in range(40):
        slopes = np.array([1 / (1 + exp(m)) for m in y * (x @ weights)])
        weights = (1 - float(descent.length) / 20) * weights + float(descent.length) * (x.T @ (slopes * y)) / 4
    assert np.abs(last_step(descent, held, public)[:, 0] / 2.0**25 - weights).max() < 1e-5


@pytest.mark.parametrize("loss", ["huber", "logistic"])
def test_slopes_fall_on_a_broken_line(loss: str) -> None:
    line, first = line_of(loss, 20)
    kernel = Slopes((), (), (), np.zeros((0, 1)), 0, 1, [0], (0,), line, first, 20)
    margins = np.random.default_rng(1).integers(-(2**33), 2**33, 5000)
    found = kernel.slopes(margins)
    true = [
        Fraction(1, 1) if m <= 2**26 else max(Fraction(0), Fraction(3 * 2**26 - m, 2**27)) for m in margins.tolist()
    ]
    exact = [float(each) for each in true] if loss == "huber" else 1 / (1 + np.exp(margins / 2.0**27))
    assert np.abs(found / STEEPEST - exact).max() < (2e-9 if loss == "huber" else 1e-6)
    assert bend(loss) <= (1 if loss == "huber" else Fraction(1, 4) + Fraction(1, 10**5))
    assert (np.diff(kernel.slopes(np.sort(margins))) <= 0).all()


def test_ways_in_give_the_same_last_step(tmp_path: Any) -> None:
    """In memory, in another order, in pieces of a file, by a grid's counts, and by Dask: to the last digit."""
    dask: Any = pytest.importorskip("dask.dataframe")
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"a": random.integers(0, 9, 40_000) + 0.0, "b": random.choice(["u", "v", "w"], 40_000)})
    frame["label"] = np.where(frame["a"] + random.normal(0, 3, 40_000) > 4, "yes", "no")
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7_001)
    public = Schema(
        {"a": Numeric(0, 9, bins=9), "b": Categorical(["u", "v", "w"]), "label": Categorical(["no", "yes"])},
        label="label",
    )
    numbers = [np.arange(-4, 5)[:, None] * 2000, np.eye(3, dtype=np.int64) * HALF]
    descent = Descent(("a", "b"), numbers, (), 0, 1, HALF, (1,), "logistic", "1/100", 30_000, 5, 24)
    counts = np.zeros((9, 3, 2), dtype=np.int64)
    cells = [frame["a"].clip(0, 8).astype(int), frame["b"].map("uvw".index), frame["label"].map(["no", "yes"].index)]
    np.add.at(counts, tuple(cells), 1)
    sources = [
        Table.from_frame(frame, public)._source,
        Table.from_frame(frame.sample(frac=1, random_state=1), public)._source,
        Table.read(tmp_path / "t.parquet", public, stream=True)._source,
        MemorySource.of_grid(counts, public, b""),
        Table.from_frame(dask.from_pandas(frame, npartitions=3), public)._source,
    ]
    found = [descent.collect(partial(source.tally, where=()), public) for source in sources]
    for each in found[1:]:
        assert np.array_equal(each, found[0])


def test_marks_are_the_same_as_columns_and_as_sparse_features() -> None:
    words = [f"w{place}" for place in range(6)]
    texts = ["w0w w1 w2", "w3", "", "w0 w1 w2 w3 w4 w5", "w1 w5"]
    labels = ["yes", "no", "yes", "no", "no"]
    features = jostle.SparseFeatures("t", words=words)
    sparse = Table.from_frame(
        pd.DataFrame({"t": texts, "label": labels}),
        Schema({"label": Categorical(["no", "yes"])}, label="label", features=features),
    )
    columns = {name: ["1" if name[2:] in text.split() else "0" for text in texts] for name in features.names}
    public = Schema(
        {**{name: Categorical(["0", "1"]) for name in columns}, "label": Categorical(["no", "yes"])}, label="label"
    )
    dense = Table.from_frame(pd.DataFrame({**columns, "label": labels}), public)
    descent = Descent((), (), features.names, HALF, 2, HALF, (1,), "huber", "1/10", 5, 9, 20)
    found = []
    for table in (sparse, dense):
        db = jostle.rehearse(table, epsilon=1, seed=4)
        found.append(db.only(*features.names).perform(descent, 1, site="weights"))
    assert np.array_equal(*found)
