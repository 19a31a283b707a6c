"""Models that tell no rows apart say so, from what they hold: against all rows there can be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables_of_labels import correlated, table_of

import jostle
from jostle.options.models import AdditiveModel, Model, Term
from jostle.tables.columns import Categorical
from jostle.tables.schema import Schema

SCHEMA = Schema(
    {"a": Categorical(["0", "1", "2"]), "b": Categorical(["0", "1"]), "label": Categorical(["x", "y", "z"])},
    label="label",
)
ROWS = np.array(list(product(range(3), range(2))))
weights = st.lists(st.integers(-3, 3), min_size=3, max_size=3)


@given(weights, st.lists(weights, min_size=3, max_size=3), st.lists(weights, min_size=2, max_size=2))
def test_additive_models_know_exactly(start: list[int], first: list[list[int]], second: list[list[int]]) -> None:
    terms = (Term(("a",), np.array(first, dtype=float)), Term(("b",), np.array(second, dtype=float)))
    model = AdditiveModel(schema=SCHEMA, start=np.array(start, dtype=float), terms=terms)
    said = set(np.argmax(model.chances(ROWS), axis=1).tolist())
    assert (model.only_class is not None) == (len(said) == 1)
    if model.only_class is not None:
        assert model.classes[said.pop()] == model.only_class


def every_row(schema: Schema) -> np.ndarray:
    return np.array(list(product(*(range(schema[name].size) for name in schema.attributes))))


@pytest.mark.parametrize("name", ["PooledTree", "RandomForest", "BayesTree", "Mohammed(depth=1)", "FletcherIslam"])
def test_whatever_says_so_gives_one_class_to_every_row(name: str) -> None:
    schema, rows = correlated(300)
    told = {True: 0, False: 0}
    for seed, epsilon in product(range(4), ("1/1000", "10")):
        option: jostle.options.Option[Model] = jostle.options.get(name)
        model = option(jostle.rehearse(table_of(rows, schema), seed=seed), epsilon=epsilon)
        said = set(np.argmax(model.chances(every_row(schema)), axis=1).tolist())
        told[model.only_class is not None] += 1
        if model.only_class is not None:
            assert {model.classes[code] for code in said} == {model.only_class}
            assert str(model).startswith(f"predicts {model.only_class!r} for every row")
        else:
            assert str(model) == model.text()
    assert told[False] > 0


def test_one_that_only_counts_classes_says_so_wherever_it_is_shown() -> None:
    schema, rows = correlated(300)
    model = jostle.options.get("Majority")(jostle.rehearse(table_of(rows, schema), seed=1), epsilon=1)
    said = jostle.options.get("Majority").task.shown.text(model)
    assert said.startswith(f"predicts {model.only_class!r} for every row: what was released tells no rows apart")
