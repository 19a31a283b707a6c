"""Regressions by descent: what public facts make of them, and what they learn; rules that are bred."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables_of_labels import arrow, correlated, schema_of, table_of

import jostle
from jostle import Categorical, Numeric, Schema, SparseFeatures, Table
from jostle.options import get
from jostle.options.classification.linear_rules import LARGEST_PENALTY, LEAST_PENALTY, PLR, line_numbers
from jostle.tables.slopes import UNIT

SCHEMA = Schema(
    {
        "n": Numeric(0, 4, bins=4, missing="value"),
        "two": Categorical(["x", "y"]),
        "three": Categorical(["p", "q", "r"]),
        "label": Categorical(["no", "yes"]),
    },
    label="label",
)


def test_numbers_of_codes_lie_between_both_ends() -> None:
    assert line_numbers(SCHEMA, "n", 8).tolist() == [[-6], [-2], [2], [6], [0]], "no number counts as 0"
    assert line_numbers(SCHEMA, "two", 8).tolist() == [[-8], [8]]
    assert line_numbers(SCHEMA, "three", 8).tolist() == (8 * np.eye(3, dtype=int)).tolist()


@pytest.mark.parametrize("rows", [1, 100, 10**6, 2**33])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(1000)])
def test_the_question_is_one_that_the_door_takes_whatever_was_released(rows: int, epsilon: Fraction) -> None:
    """Rows of norm 1 at most, weights that fit, and noise that can be drawn; fewer bits where there are fewer rows."""
    for schema in (SCHEMA, schema_of(3, 4, 5), schema_of(2)):
        descent = PLR()._descent(schema, epsilon, rows)
        descent.check(schema, epsilon)
        assert LEAST_PENALTY <= descent.penalty <= LARGEST_PENALTY
        assert 0 < descent.scale(schema, epsilon) < 2**52
        longest = sum(int((own * own).sum(axis=1).max()) for own in descent.numbers) + descent.constant**2
        assert UNIT**2 * 0.8 < longest <= UNIT**2


@pytest.mark.parametrize("name", ["PLR", "PrivateERM"])
def test_it_learns_what_a_line_can_tell(name: str) -> None:
    schema, rows = correlated(3000)
    model: Any = get(name)(jostle.rehearse(table_of(rows, schema), epsilon=20, seed=1), epsilon=20)
    assert model.score(arrow(rows, schema)) > 0.75


def test_it_learns_from_words_of_texts() -> None:
    """Many columns of 0 and 1 are marks: the words that tell get the larger weights."""
    random = np.random.default_rng(1)
    words = [f"w{place}" for place in range(60)]
    texts = [" ".join(random.choice(words, 8, replace=False)) for _ in range(3000)]
    labels = ["yes" if "w3 " in f"{text} " or "w7 " in f"{text} " else "no" for text in texts]
    schema = Schema({"label": Categorical(["no", "yes"])}, label="label", features=SparseFeatures("t", words=words))
    table = Table.from_frame(pd.DataFrame({"t": texts, "label": labels}), schema)
    db = jostle.rehearse(table, epsilon=50, seed=2).only(*(f"t={word}" for word in words))
    model: Any = get("PrivateERM")(db, epsilon=50)
    leads = {term.columns[0]: term.weights[1, 1] - term.weights[1, 0] for term in model.terms}
    assert sorted(leads, key=lambda name: -leads[name])[:2] in (["t=w3", "t=w7"], ["t=w7", "t=w3"])
