"""What a model can be asked, on frames of any library, and that a file of it says the same."""

from __future__ import annotations

import io
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables_of_labels import arrow, correlated, table_of

import jostle
from jostle import Categorical, Numeric, Schema
from jostle.errors import TableError
from jostle.options import get
from jostle.options.models.kinds import AdditiveModel, Term, TreeModel
from jostle.tables.attributes import UNKNOWN, attribute_codes, label_codes
from jostle.tables.routes import Routing
from jostle.tasks.classification.model import Model

KINDS = ("NaiveBayes", "FriedmanSchuster", "Jagannathan", "RandomForest", "BayesTree", "Majority", "PooledBayes")
SCHEMA, ROWS = correlated(300)
FRAME = arrow(ROWS, SCHEMA)


def learnt(name: str) -> Model:
    option: Any = get(name)
    model: Model = option(jostle.rehearse(table_of(ROWS, SCHEMA), seed=2), epsilon=5)
    return model


def by_hand() -> TreeModel:
    """Return a tree that splits by colour, and where that is red, by weight, cut in two."""
    schema = Schema(
        {
            "colour": Categorical(["red", "blue"]),
            "weight": Categorical(["light", "middle", "heavy"]),
            "label": Categorical(["no", "yes"]),
        },
        label="label",
    )
    routing = Routing(
        ("colour", "weight"),
        roots=[0],
        attribute=[0, 1, -1, -1, -1],
        first=[0, 2, 0, 0, 0],
        children=[1, 2, 3, 3, 4],
        depth=2,
    )
    shares = np.array([[0.5, 0.5], [0.4, 0.6], [0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    return TreeModel(schema=schema, made_by="Hand", epsilon=Fraction(1, 2), routing=routing, shares=shares)


UNLABELLED = pa.table({"weight": ["heavy", "light", "light", "odd"], "colour": ["red", "red", "blue", "red"]})


def test_a_row_goes_where_its_values_lead_and_first_where_one_is_unknown() -> None:
    model = by_hand()
    assert model.predict_proba(UNLABELLED)[:, 1].tolist() == [0.3, 0.8, 0.1, 0.8]
    assert model.predict(UNLABELLED).tolist() == ["no", "yes", "no", "yes"]


def test_score_is_the_share_of_rows_predicted_right() -> None:
    labelled = UNLABELLED.append_column("label", pa.array(["no", "no", "no", "yes"]))
    assert by_hand().score(labelled) == 0.75


@pytest.mark.parametrize("nothing", ["undeclared", "", None])
def test_rows_without_a_declared_label_are_no_mistakes_and_those_alone_have_no_score(nothing: str | None) -> None:
    """The worst score there is would say that the model is wrong, where nobody knows."""
    some, none = (
        UNLABELLED.append_column("label", pa.array(labels, pa.string()))
        for labels in (["no", "no", nothing, nothing], [nothing] * 4)
    )
    assert by_hand().score(some) == 0.5
    assert math.isnan(by_hand().score(none))


def test_the_text_is_the_tree() -> None:
    assert by_hand().text().split("\n") == [
        "colour = red",
        "|  weight = light to middle: yes (0.80)",
        "|  weight = heavy: no (0.70)",
        "colour = blue: no (0.90)",
    ]


@pytest.mark.parametrize("name", KINDS)
def test_every_model_is_drawn_whatever_things_are_called(name: str) -> None:
    pytest.importorskip("matplotlib")
    columns = {"$x^$": Categorical(["$", "b_{"]), "n": Numeric(0, 4, bins=3), "y": Categorical(["$_", "no"])}
    rows = {"$x^$": ["$", "b_{"] * 60, "n": [0.5, 3.5] * 60, "y": ["$_", "no"] * 60}
    db = jostle.rehearse(jostle.Table.from_frame(rows, Schema(columns, label="y")), seed=1)
    drawn = io.BytesIO()
    figure = get(name)(db, epsilon=50).plot()
    figure.savefig(drawn)

    assert drawn.getvalue()[:4] == b"\x89PNG"
    if name == "NaiveBayes":
        assert {axes.get_title() for axes in figure.axes} == {r"\$x^\$", "n", ""}
        assert figure.axes[-1].get_ylabel() == "added to the log-odds of a class"
    if name == "Majority":
        assert sum(bar.get_width() for bar in figure.axes[0].patches) == pytest.approx(1)
        assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [r"\$_", "no"]


def test_forests_vote_or_average() -> None:
    first = by_hand()
    forest = Routing(
        first.routing.columns,
        roots=[0, 2, 3],
        attribute=first.routing.attribute,
        first=first.routing.first,
        children=first.routing.children,
        depth=2,
    )
    shared: dict[str, Any] = {"schema": first.schema, "routing": forest, "shares": first.shares}
    row = UNLABELLED.slice(1, 1)
    assert TreeModel(**shared, combine="vote").predict_proba(row).tolist() == [
        [pytest.approx(1 / 3), pytest.approx(2 / 3)]
    ]
    assert TreeModel(**shared, combine="mean").predict_proba(row)[0, 1] == pytest.approx((0.8 + 0.1 + 0.8) / 3)


def test_terms_add_up_and_an_unknown_value_adds_nothing() -> None:
    schema = by_hand().schema
    term = Term(("colour", "weight"), np.arange(12.0).reshape(6, 2) * np.array([0.0, 1.0]))
    model = AdditiveModel(schema=schema, start=np.array([0.0, -1.0]), terms=(term,))
    odds = np.log(model.predict_proba(UNLABELLED)[:, 1] / model.predict_proba(UNLABELLED)[:, 0])
    assert odds.tolist() == pytest.approx([-1 + 5, -1 + 1, -1 + 7, -1])


@pytest.mark.parametrize("name", KINDS)
def test_a_model_says_what_is_covered(name: str) -> None:
    assert f"{name} released at epsilon 5 under add_remove" in learnt(name).privacy
    assert learnt(name).privacy.startswith("All outputs")
    assert learnt(name).text()


@pytest.mark.parametrize("name", KINDS)
def test_frames_of_any_library_are_predicted_alike(name: str) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    model = learnt(name)
    expected = model.predict_proba(FRAME)
    data = FRAME.to_pydict()
    del data["label"]
    for frame in (pandas.DataFrame(data), polars.DataFrame(data), FRAME.drop_columns(["label"])):
        assert np.array_equal(model.predict_proba(frame), expected)


def test_codes_are_those_of_a_table_and_no_row_is_left_out() -> None:
    assert attribute_codes(FRAME, SCHEMA).tolist() == [list(row[:-1]) for row in ROWS]
    assert label_codes(FRAME, SCHEMA).tolist() == [row[-1] for row in ROWS]
    odd = pa.table({"colour": ["red", "green", None], "weight": ["heavy", "odd", "light"]})
    assert attribute_codes(odd, by_hand().schema).tolist() == [[0, 2], [UNKNOWN, UNKNOWN], [UNKNOWN, 0]]


def test_a_frame_without_an_attribute_is_refused() -> None:
    with pytest.raises(TableError, match="weight"):
        by_hand().predict(pa.table({"colour": ["red"]}))
