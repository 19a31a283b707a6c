"""ROC curves on private rows: what they come to, what they cost, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tables_of_labels import arrow, correlated, table_of

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import JostleError
from jostle.options.evaluation.pri_roc import PriROC, concave_curve, rising_curve, scorer_of
from jostle.options.models.kinds import UNIT, TreeModel
from jostle.tables.schema import Neighbours
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation import RocCurve
from jostle.tasks.evaluation.instances import area_between, scored_table, true_curve
from jostle.trace.records import Released, Trace

Floats = NDArray[np.float64]


def binormal(own: int, others: int, apart: float = 1.5, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    scores = np.concatenate([random.normal(apart, 1, own), random.normal(0, 1, others)])
    return scores, np.repeat([1, 0], [own, others])


def scored(scores: Floats, labels: NDArray[np.int64], neighbours: Neighbours = "add_remove") -> Table:
    return scored_table(scores, labels, Numeric(-5, 7, bins=1024), neighbours=neighbours)


def off(curve: RocCurve, scores: Floats, labels: NDArray[np.int64]) -> float:
    return area_between((curve.false_positive_rates, curve.true_positive_rates), true_curve(scores, labels))


VARIANTS = [
    PriROC(),
    PriROC(thresholds="FixedSpace", levels=6),
    PriROC(counts="Privelet", levels=5),
    PriROC(reading="rising", counts="intervals"),
    PriROC(levels=8),
]


@pytest.mark.representative("option")
@pytest.mark.parametrize("option", VARIANTS, ids=lambda option: option.name)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_with_much_budget_it_is_the_curve_of_the_rows(option: PriROC, neighbours: Neighbours) -> None:
    scores, labels = binormal(400, 900)
    curve = option(jostle.rehearse(scored(scores, labels, neighbours), seed=1), epsilon=1000)
    x, y = true_curve(scores, labels)
    area = float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())
    low, high = curve.interval()

    assert off(curve, scores, labels) < 0.02
    assert low <= area <= high
    assert high - low < 0.11
    assert abs(curve.auc - area) < 0.01


def test_the_rates_are_shares_of_the_rows_at_or_above_each_threshold() -> None:
    scores, labels = binormal(300, 500)
    scores = np.round(scores, 1) + 0.05  # bins have cuts elsewhere
    option = PriROC(thresholds="FixedSpace", reading="rising", counts="intervals")
    curve = option(jostle.rehearse(scored(scores, labels), seed=1), epsilon=10_000)
    for place, threshold in enumerate(curve.thresholds.tolist(), start=1):
        assert curve.true_positive_rates[place] == pytest.approx(np.mean(scores[labels == 1] >= threshold), abs=1e-9)
        assert curve.false_positive_rates[place] == pytest.approx(np.mean(scores[labels == 0] >= threshold), abs=1e-9)


def test_scores_that_speak_for_the_other_class_have_an_area_below_one_half() -> None:
    scores, labels = binormal(400, 900, apart=-1.5)
    curve = PriROC()(jostle.rehearse(scored(scores, labels), seed=1), epsilon=5)
    same = PriROC()(jostle.rehearse(scored(scores, labels), seed=1), "score", "no", epsilon=5)

    assert curve.auc == pytest.approx(0.15, abs=0.03)
    assert off(curve, scores, labels) < 0.03
    assert same.auc == pytest.approx(0.85, abs=0.03)


@pytest.mark.parametrize(("neighbours", "times"), [("add_remove", 1), ("replace_one", 2)])
def test_counts_of_both_kinds_have_noise_for_all_that_medians_leave(neighbours: Neighbours, times: int) -> None:
    """Under add_remove the paper's would be for half of it, in each."""
    trace = Trace()
    option = PriROC(medians_share=Fraction(1, 5), counts="intervals")
    db = jostle.rehearse(scored(*binormal(30, 60), neighbours), epsilon=2, seed=1, trace=trace)
    option(db, epsilon=2)
    released = [each for each in trace.records if isinstance(each, Released)]

    assert [each.site.rpartition("/")[2] for each in released] == [*(f"medians {n}" for n in (1, 2, 3, 4)), "counts"]
    assert released[-1].scale == times / (2 * Fraction(4, 5))
    assert 2 * 12 < released[-1].size <= 2 * 16  # medians that are neighbours leave nothing to halve


def test_where_few_scores_are_possible_none_of_the_budget_is_spent_on_medians() -> None:
    scores, labels = binormal(200, 300)
    table = scored_table(scores, labels, Numeric(-5, 7, bins=12))
    trace = Trace()
    curve = PriROC()(jostle.rehearse(table, epsilon=1, seed=1, trace=trace), epsilon=1)

    assert [each.scale for each in trace.records if isinstance(each, Released)] == [1]
    assert len(curve.thresholds) == 11


@pytest.mark.representative
@pytest.mark.parametrize(
    "name", ["NaiveBayes", "PooledTree", "RandomForest(trees=7)", "BayesTree(depth=1)", "PatilSingh(trees=3)"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_scores_rows_as_it_predicts_their_chances(name: str, classes: int) -> None:
    """Rows by interval of margins, as counted among rows, beside those that the model itself orders."""
    schema, data = correlated(300, classes=classes)
    table = table_of(data, schema)
    model = jostle.options.get(name)(jostle.rehearse(table, seed=2), epsilon=5)
    positive = schema.classes[1]
    scorer = scorer_of(schema, model, positive)
    counted = jostle.rehearse(table, seed=2).measure(scorer.margins, 10_000).reshape(2, -1)
    scores = margins_of(model, arrow(data, schema), positive)
    truth = np.array([row[-1] for row in data]) == 1
    interval = np.searchsorted(scorer.values + 1e-12 * np.abs(scorer.values), scores + 2 / UNIT, side="right")
    for half, which in enumerate((truth, ~truth)):
        expected = np.bincount(interval[which], minlength=scorer.intervals)
        assert np.abs(np.cumsum(counted[half]) - np.cumsum(expected)).max() <= 1  # of rows that are on a cut


def margins_of(model: Model, data: Any, positive: str) -> Floats:
    """Return what the class leads by, in the units of a scorer, from the model's chances."""
    chances = model.predict_proba(data)
    place = model.classes.index(positive)
    if isinstance(model, TreeModel):
        times = model.routing.trees if model.combine == "vote" and model.routing.trees > 1 else 1
        return np.asarray(np.round(chances[:, place] * times) / times if times > 1 else chances[:, place])
    logs = np.log(np.maximum(chances, 1e-300))
    return np.asarray(logs[:, place] - np.delete(logs, place, axis=1).max(axis=1))


LABEL = Categorical(["no", "yes"])
REFUSED: list[tuple[str, Schema, str]] = [
    ("one bin", Schema({"score": Numeric(0, 1, bins=1), "label": LABEL}, label="label"), "one threshold"),
    ("one threshold", Schema({"score": Numeric(0, 1, bins=2), "label": LABEL}, label="label"), "one thresh"),
    (
        "no bounds",
        Schema({"score": Categorical(["0.1", "0.2"]), "label": LABEL}, label="label"),
        "have no bounds",
    ),
    ("no scores", Schema({"age": Numeric(0, 1), "label": LABEL}, label="label"), "no column 'score'"),
    ("no label", Schema({"score": Numeric(0, 1)}), "names no label"),
    (
        "one class",
        Schema({"score": Numeric(0, 1), "label": Categorical(["no"])}, label="label"),
        "one class only",
    ),
    (
        "three classes",
        Schema({"score": Numeric(0, 1), "label": Categorical(["a", "b", "c"])}, label="label"),
        "has 3 classes",
    ),
]


@pytest.mark.parametrize(("what", "schema", "fault"), REFUSED, ids=[each[0] for each in REFUSED])
def test_what_public_facts_rule_out_is_refused_in_a_sentence_and_nothing_is_charged(
    what: str, schema: Schema, fault: str
) -> None:
    assert what
    label = {schema.label: ["no"]} if schema.label else {}
    frame = pa.table({name: ["0.1"] for name in schema.names if name != schema.label} | label)
    db = jostle.protect(Table.from_frame(frame, schema), epsilon=1)
    with pytest.raises(JostleError, match=fault):
        PriROC()(db, epsilon=1)
    assert db.spent == 0


def test_a_model_of_another_schema_is_refused() -> None:
    schema, data = correlated(50, classes=2)
    model = jostle.options.get("Majority")(jostle.rehearse(table_of(data, schema), seed=1), epsilon=1)
    db = jostle.rehearse(scored(*binormal(5, 5)), epsilon=1)
    with pytest.raises(JostleError, match="another schema"):
        PriROC()(db, model, epsilon=1)
    with pytest.raises(JostleError, match="gives all rows one score"):
        PriROC()(jostle.rehearse(table_of(data, schema), epsilon=1), model, epsilon=1)


@pytest.mark.representative("option")
@pytest.mark.parametrize(
    "rows",
    [
        binormal(0, 50),
        binormal(50, 0),
        binormal(0, 0),
        (np.full(400, 0.5), np.repeat([0, 1], 200)),
    ],
    ids=["no positives", "no others", "no rows", "all alike"],
)
@pytest.mark.parametrize("option", VARIANTS, ids=lambda option: option.name)
def test_what_hangs_on_rows_gives_a_wide_answer_and_no_message(
    option: PriROC, rows: tuple[Floats, NDArray[np.int64]]
) -> None:
    for epsilon in (Fraction(1, 100), 1, 100):
        curve = option(jostle.rehearse(scored(*rows), seed=1), epsilon=epsilon)
        low, high = curve.interval()
        assert 0 <= low <= curve.auc <= high <= 1
        assert high - low > 0.3
        assert np.all(np.diff(curve.false_positive_rates) >= 0)
        assert np.all(np.diff(curve.true_positive_rates) >= 0)
        assert curve.text()


def test_scores_beyond_their_bounds_count_as_those_at_the_bounds() -> None:
    inside, beyond = (
        PriROC()(jostle.rehearse(scored(ends, np.array([1, 0, 1])), seed=1), epsilon=1)
        for ends in (np.array([7, -5, 3.0]), np.array([1e9, -1e9, 3.0]))
    )

    assert inside.data() == beyond.data()


def test_missing_scores_count_as_lowest() -> None:
    schema = Schema({"score": Numeric(0, 1, bins=4, missing="value", outside="other"), "label": LABEL}, label="label")
    frame = pa.table({"score": [None, 0.1, 7.0, 0.9], "label": ["yes", "yes", "no", "no"]})
    curve = PriROC(reading="rising")(jostle.rehearse(Table.from_frame(frame, schema), seed=1), epsilon=1000)

    assert curve.counts.tolist() == [[2, 0, 0, 0], [1, 0, 0, 1]]
    assert curve.thresholds.tolist() == [0.75, 0.5, 0.25]


def test_a_curve_is_saved_drawn_and_read_off(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curve = jostle.private_roc_auc(jostle.rehearse(scored(*binormal(200, 300)), seed=1), epsilon=5)
    for name in ("curve.png", "curve.json"):
        curve.save(tmp_path / name)

    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert '"auc"' in (tmp_path / "curve.json").read_text()
    assert curve.true_positive_rate(0) <= curve.true_positive_rate(0.2) <= curve.true_positive_rate(1) == 1
    with pytest.raises(JostleError, match="share of rows"):
        curve.true_positive_rate(2)
    with pytest.raises(JostleError, match="a rate is 'half'"):
        curve.true_positive_rate("half")  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(JostleError, match="level of an interval is None"):
        curve.interval(None)  # type: ignore[arg-type]  # likewise
    with pytest.raises(JostleError, match="a path is wanted"):
        curve.save(3)  # type: ignore[arg-type]  # likewise
    for name in ("curve.png", "curve.json"):
        with pytest.raises(JostleError, match="cannot write"):
            curve.save(tmp_path / "none" / name)
    with pytest.raises(JostleError, match="chance between 0 and 1"):
        curve.interval(95)


def test_a_concave_reading_gives_way_where_counts_contradict_it() -> None:
    """The class is in the middle of all scores: neither high nor low ones speak for it."""
    counts = np.array([[0.0, 100, 100, 0], [100, 0, 0, 100]])

    assert concave_curve(counts, 2.0, None) is None
    assert rising_curve(counts)[1].tolist() == [0, 0, 0.5, 1, 1]


def test_noise_is_smoothed_to_a_concave_curve() -> None:
    random = np.random.default_rng(0)
    truth = np.array([[1.0, 2, 5, 20], [20, 15, 10, 5]])
    found = concave_curve(truth + random.laplace(0, 2, (2, 4)), 8.0, None)

    assert found is not None
    slopes = np.diff(found[1]) / np.diff(found[0])
    assert np.all(np.diff(slopes) <= 1e-9)
