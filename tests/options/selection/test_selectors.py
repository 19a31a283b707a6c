"""Selectors: they find what is there, keep to their bounds, and what is not private stays off private rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve
from scipy import sparse

import jostle
from jostle import Categorical, Schema, SparseFeatures, Table
from jostle.errors import JostleError, OptionError, PrivateDataError
from jostle.options import get, names
from jostle.options.selection import SelectedFeatures
from jostle.options.selection.selectors import clustered
from jostle.privacy.column_scores import Discernibility, FeatureDiscernibility, ScoreName
from jostle.tables.engines import MemorySource
from jostle.tables.features import Bits
from jostle.tables.schema import Neighbours
from jostle.tasks import SELECTION

SELECTORS = names("selection")
PRIVATE = tuple(name for name in SELECTORS if get(name).private)
ASKING = tuple(name for name in SELECTORS if name != "FirstFeatures")
"""All that ask the table which features are good."""
SCORED = tuple(name for name in PRIVATE if name not in {"PrivateKD", "FirstFeatures"})
WORDS = [f"w{place}" for place in range(40)]


def texts(rows: int = 3000, neighbours: Neighbours = "add_remove") -> Table:
    """Return records of which w0 .. w4 say the class; each has 8 words in the mean."""
    chance = np.random.default_rng(0)
    labels = chance.random(rows) < 0.4
    chances = np.full((rows, 40), 0.15)
    chances[:, :5] = np.where(labels[:, None], 0.8, 0.05)
    matrix = sparse.csr_array((chance.random((rows, 40)) < chances).astype(float))
    schema = Schema(
        {"label": Categorical(["ham", "spam"])},
        label="label",
        features=SparseFeatures("text", words=WORDS),
        neighbours=neighbours,
    )
    return Table.from_matrix(matrix, pa.table({"label": np.where(labels, "spam", "ham")}), schema)


@pytest.mark.representative("name")
@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("name", ASKING)
def test_without_noise_to_speak_of_the_features_that_say_the_class_are_found(name: str, relation: Neighbours) -> None:
    """By all but k-discernibility, for which five that say the same are one."""
    top = 1 if name == "PrivateKD" else 5
    option: Any = get(f"{name}(top={top}, most=100)")
    selected = option(jostle.rehearse(texts(neighbours=relation), seed=1), epsilon=10**5)
    assert set(selected.places) <= set(range(5))
    assert len(selected) >= top - 1  # the threshold lies right at the last one, give or take noise
    assert selected.names == tuple(f"text=w{place}" for place in selected.places)
    assert selected.columns == selected.names


@pytest.mark.parametrize(("score", "threshold"), [("TC", 800), ("DC", 500), ("IG", 400)])
@pytest.mark.parametrize("name", SCORED)
def test_by_threshold_what_is_above_it_is_found_and_no_more(name: str, score: ScoreName, threshold: int) -> None:
    """At most 20 of 40; TC of the others is near 450, of the five near 1,050. PI of all is high: of what lacks them."""
    few = ", clusters=2" if name == "ClusterSelection" else ""
    option: Any = get(f"{name}(top=20, most=100, score={score}, threshold={threshold}{few})")
    selected = option(jostle.rehearse(texts(), seed=1), epsilon=10**5)
    assert sorted(selected.places) == [0, 1, 2, 3, 4]


def test_nothing_above_a_threshold_is_an_answer_too() -> None:
    for name in SCORED:
        option: Any = get(f"{name}(score=TC, threshold=1000000)")
        selected = option(jostle.rehearse(texts(200), seed=1), epsilon=10)
        assert selected.places == ()
        assert str(selected) == "no feature was selected"


@pytest.mark.parametrize("name", PRIVATE)
def test_what_hangs_on_rows_gives_an_answer_never_a_message(name: str) -> None:
    """No rows, no positives, no words at all."""
    schema = texts(10).schema
    empty: Any = np.zeros((0, 40))
    bare: Any = np.zeros((5, 40))
    for matrix, labels in ((empty, []), (bare, ["ham"] * 5), (np.ones((5, 40)), ["ham"] * 5)):
        frame = pa.table({"label": pa.array(labels, pa.string())})
        table = Table.from_matrix(sparse.csr_array(matrix), frame, schema)
        option: Any = get(name)
        db = jostle.protect(table, epsilon=1)
        assert isinstance(option(db, epsilon="1/3"), SelectedFeatures)
        assert db.spent == Fraction(1, 3)


def test_select_train_predict() -> None:
    """With half of the budget for each, on texts."""
    chance = np.random.default_rng(2)
    frame = pd.DataFrame({"label": np.where(chance.random(4000) < 0.3, "spam", "ham")})
    frame["text"] = [
        " ".join(chance.choice(["free", "win"] if label == "spam" else ["meet", "home"], 2))
        + " "
        + " ".join(chance.choice(WORDS, 4))
        for label in frame["label"]
    ]
    schema = Schema(
        {"label": Categorical(["ham", "spam"])},
        label="label",
        features=SparseFeatures("text", words=[*WORDS, "free", "win", "meet", "home"]),
    )
    db = jostle.protect(Table.from_frame(frame, schema), epsilon=2)
    selected = get("Peeling(top=4)")(db, epsilon=1)
    model = get("NaiveBayes")(db.only(*selected.columns), epsilon=1)
    assert db.left == 0
    assert model.score(selected.of(frame)) > 0.95
    assert set(model.schema.attributes) == set(selected.columns)


@pytest.mark.parametrize("name", PRIVATE)
def test_one_budget_selects_and_trains(name: str) -> None:
    """The model is naive Bayes on the columns selected, of which there may be none."""
    nothing = ["", ", threshold=1000000"] if name in SCORED else [""]
    for more in nothing:
        option: Any = get(name if name == "FirstFeatures" else f"{name}(training=3/10{more})")
        db = jostle.protect(texts(300), epsilon=1)
        selected = option(db, epsilon="1/3")
        assert db.spent == Fraction(1, 3)
        assert set(selected.model.schema.attributes) == set(selected.columns)
        assert selected.model.epsilon == (Fraction(1, 3) if name == "FirstFeatures" else Fraction(1, 10))
        assert "NaiveBayes was trained on them" in str(selected) or not selected.places
        assert selected.data()["model"]["made_by"] == "NaiveBayes"
        assert "trained" in selected.privacy


def test_a_selection_is_tested_on_rows_it_was_not_trained_on() -> None:
    option: Any = get("Peeling(training=1/2, top=5)")
    selected = option(jostle.rehearse(texts(), seed=1), epsilon=100)
    db = jostle.protect(texts(2000), epsilon=2)
    assert jostle.private_roc_auc(db, selected, epsilon=1).auc > 0.9
    with pytest.raises(OptionError, match="gives no scores"):
        jostle.private_roc_auc(db, evolve(selected, model=None), epsilon=1)
    assert db.spent == 1
    with pytest.raises(OptionError, match="from another table"):
        SELECTION.rehearsal.instance(*SELECTION.rehearsal.example()).loss(selected)


def test_a_selection_is_judged_by_what_one_budget_selected_and_trained() -> None:
    """Where a part of it trains nothing, by naive Bayes with as much again."""
    database, spec = SELECTION.rehearsal.example()
    instance: Any = SELECTION.rehearsal.instance(database, spec)
    db = jostle.rehearse(instance.table, seed=1)
    option: Any = get("Peeling(training=1/2)")
    selected = option(db, epsilon=1000)
    alone = evolve(selected, model=None)
    assert instance.read(selected).shape == instance.read(alone).shape
    assert instance.loss(selected) == pytest.approx(instance.loss(alone), abs=0.02)
    assert instance.loss(selected) < 1 - instance.sameness
    assert instance.loss(evolve(alone, epsilon=Fraction(1, 10**6))) > instance.loss(alone) + 0.1
    assert instance.loss(evolve(selected, epsilon=Fraction(1, 10**6))) == instance.loss(selected)


def test_of_a_column_with_a_selected_value_the_whole_is_kept() -> None:
    schema = Schema(
        {"a": Categorical(["x", "y", "z"]), "b": Categorical(["u", "v"]), "label": Categorical(["n", "o"])},
        label="label",
    )
    selected = SelectedFeatures(schema=schema, places=(2, 0, 3), made_by="me")
    assert selected.names == ("a=z", "a=x", "b=v")
    assert selected.columns == ("a", "b")
    frame = pa.table({"a": ["x"], "b": ["u"], "label": ["n"], "more": [1]})
    assert list(selected.of(frame)) == ["a", "b", "label"]
    assert selected.data()["features"][0] == {"column": "a", "value": "z"}


# What is refused


def test_private_threshold_testing_is_refused_on_private_rows_with_the_counterexample() -> None:
    option: Any = get("PrivateThresholdTesting")
    db = jostle.protect(texts(50), epsilon=1)
    with pytest.raises(PrivateDataError) as refused:
        option(db, epsilon=1)
    said = str(refused.value)
    assert "(0, 1)" in said
    assert "(1, 1)" in said
    assert db.spent == 0


def test_no_maker_chooses_what_is_not_private() -> None:
    from jostle.public import tableCorpus  # noqa: PLC0415 - reads packages

    with pytest.raises(JostleError, match="PrivateThresholdTesting"):
        jostle.MkChoiceMaker(among=["Peeling", "PrivateThresholdTesting"], trained_on=tableCorpus)


# k-discernibility over features


def some_bits(rows: int, count: int, seed: int) -> tuple[MemorySource, np.ndarray, Schema]:
    """Return records with features by chance, and the same features as columns of a schema."""
    chance = np.random.default_rng(seed)
    dense = chance.random((rows, count)) < 0.4
    schema = Schema(
        {"label": Categorical(["0", "1", "2"])},
        label="label",
        features=SparseFeatures("t", words=[f"w{place}" for place in range(count)]),
    )
    assert schema.features is not None
    ends, found = np.concatenate([[0], np.cumsum(dense.sum(axis=1))]), np.nonzero(dense)[1]
    bits = Bits(ends.astype(np.int64), found.astype(np.int32), schema.features)
    labels = chance.integers(0, 3, rows).astype(np.uint8)
    return MemorySource(schema, {"label": labels}, rows, bits=bits), dense, schema


@pytest.mark.parametrize("base", [(), (2,), (0, 3)])
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_discernibility_of_features_is_that_of_columns(base: tuple[int, ...], rows: int) -> None:
    source, dense, schema = some_bits(rows, 6, rows)
    score = FeatureDiscernibility(base, 6)
    found = score.scores(source.tally(score.kernel(schema), ()), schema)  # type: ignore[arg-type]  # a sparse tally
    candidates = score.candidates(schema).tolist()
    by_name = Discernibility([f"t=w{place}" for place in base], [f"t=w{place}" for place in candidates])
    told = by_name.scores(source.tally(by_name.kernel(schema), ()), schema)  # type: ignore[arg-type]  # as above
    assert found.tolist() == told.tolist()
    labels = source.columns["label"].tolist()
    for place, candidate in enumerate(candidates):
        chosen = dense[:, [*base, candidate]]
        pairs = sum(
            2
            for one, two in combinations(range(rows), 2)
            if labels[one] != labels[two] and (chosen[one] != chosen[two]).any()
        )
        assert found[place] == (1024 * pairs // rows if rows else 0)


def test_what_k_discernibility_picks_is_not_the_same_twice() -> None:
    """Two words that always come together tell one thing: the second is worth nothing once the first is there."""
    chance = np.random.default_rng(5)
    labels = chance.integers(0, 3, 900)
    columns = [labels == 1, labels == 1, labels == 2, chance.random(900) < 0.5]
    schema = Schema(
        {"label": Categorical(["0", "1", "2"])}, label="label", features=SparseFeatures("t", words=["a", "b", "c", "d"])
    )
    table = Table.from_matrix(sparse.csr_array(np.stack(columns, axis=1).astype(float)), {"label": labels}, schema)
    option: Any = get("PrivateKD(top=2)")
    found = option(jostle.rehearse(table, seed=1), epsilon=1000).places
    assert 2 in found
    assert len({0, 1} & set(found)) == 1


def test_points_near_each_other_are_of_one_cluster() -> None:
    points = np.array([[0.0], [1], [100], [101], [2], [1000]])
    found = clustered(points, 3).tolist()
    assert found[0] == found[1] == found[4]
    assert found[2] == found[3] != found[0]
    assert found[5] not in found[:5]
    assert clustered(points[:1], 5).tolist() == [0]
