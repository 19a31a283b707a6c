"""Options that allow for the noise in what they released: with little of it they learn, in much they do not."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tables_of_labels import Rows, arrow, correlated, schema_of, table_of

import jostle
from jostle import Schema
from jostle.options import get
from jostle.options.classification.noisy_tables import (
    averaged,
    log_shares,
    noise_variance,
    pooled_shares,
    worthwhile_depth,
)
from jostle.options.classification.pooled_tree import SPLITS, _drawn, _fitting_weight, _in_boxes, _ranges
from jostle.options.growing import Grove
from jostle.options.models.kinds import BayesTreeModel, TreeModel
from jostle.privacy.amounts import Amount
from jostle.privacy.noise import Noise, SeededBits
from jostle.sites import force
from jostle.tables.kernels import Counts
from jostle.tables.schema import Neighbours
from jostle.tasks.classification.model import Model
from jostle.trace.records import Charged, Chosen, Trace

NOISE_AWARE = ("PooledTree", "PooledBayes", "MarginalRegression")
SIZES = np.array([3, 2], dtype=np.int64)


def learnt(name: str, schema: Schema, rows: Rows, epsilon: Amount, seed: int = 1) -> Model:
    option: Any = get(name)
    model: Model = option(jostle.rehearse(table_of(rows, schema), epsilon=epsilon, seed=seed), epsilon=epsilon)
    return model


def every_row(schema: Schema) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(list(product(*(range(schema[name].size) for name in schema.attributes))), dtype=np.int64)


# Limits


@pytest.mark.representative
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NOISE_AWARE)
def test_where_noise_drowns_the_tables_but_not_the_classes_they_say_the_commonest_class(name: str, seed: int) -> None:
    """Of 4,000 rows 95% are of one class, which two attributes say nothing about; tables have noise of scale 200."""
    random = np.random.default_rng(seed)
    schema = schema_of(4, 4, 2)
    rows = np.column_stack([random.integers(0, 4, (4000, 2)), random.random(4000) < 0.05]).tolist()
    codes = every_row(schema)
    majority = learnt("Majority", schema, rows, "1/100", seed).chances(codes).argmax(axis=1)
    assert np.array_equal(learnt(name, schema, rows, "1/100", seed).chances(codes).argmax(axis=1), majority)


@pytest.mark.parametrize("name", ["PooledTree", "PooledBayes"])
def test_pooled_models_find_what_depends_on_two_attributes_together(name: str) -> None:
    """The label is whether two attributes differ: naive Bayes knows nothing of it, and no single split does."""
    random = np.random.default_rng(3)
    schema = schema_of(2, 2, 3, 2)
    drawn = random.integers(0, 2, (4000, 2))
    rows = [(int(a), int(b), int(c), int(a != b)) for (a, b), c in zip(drawn, random.integers(0, 3, 4000), strict=True)]
    frame = arrow(rows, schema)
    assert learnt("NaiveBayes", schema, rows, 1000).score(frame) < 0.6
    assert learnt(name, schema, rows, 1000).score(frame) == 1


def test_pooled_bayes_buys_tables_only_where_they_are_worth_it() -> None:
    schema, rows = correlated(3000)
    assert type(learnt("PooledBayes", schema, rows, 10)) is BayesTreeModel
    assert type(learnt("PooledBayes", schema, rows, "1/100")) is TreeModel


def test_where_attributes_speak_for_themselves_pooled_bayes_is_ahead_of_the_tree_alone() -> None:
    """Twenty attributes each agree with the label seven times in ten: they have to be heard together."""
    random = np.random.default_rng(4)
    label = random.integers(0, 2, 4000)
    agree = random.random((4000, 20)) < 0.7
    schema = schema_of(*[2] * 21)
    rows = np.where(np.column_stack([agree, np.ones(4000, dtype=bool)]), label[:, None], 1 - label[:, None]).tolist()
    frame = arrow(rows, schema)
    tree, blend = (learnt(name, schema, rows, 10).score(frame) for name in ("PooledTree", "PooledBayes"))
    assert blend > tree + 0.02


# Gates


@pytest.mark.parametrize(("epsilon", "sites"), [("1/1000", []), ("3", ["split level 0", "split level 1"])])
def test_splits_are_left_to_chance_where_rows_are_few(epsilon: str, sites: list[str]) -> None:
    """Of 400 rows, 0.4 at the smaller epsilon: what a pick would cost goes to the leaves. All of it is spent."""
    schema, rows = correlated(400)
    trace = Trace()
    db = jostle.rehearse(table_of(rows, schema), epsilon=epsilon, seed=6, trace=trace)
    get("PooledTree")(db, epsilon=epsilon)
    asked = [record.site.rpartition("/")[2] for record in trace.records if isinstance(record, Charged)]
    assert [site for site in asked if site.startswith("split")][:2] == sites
    assert db.spent == Fraction(epsilon)


def test_how_splits_come_about_is_a_choice_that_is_traced_and_can_be_forced() -> None:
    schema, rows = correlated(400)
    for epsilon, rule in (("1/1000", "random"), ("3", "Max"), ("50", "Gini")):
        trace = Trace()
        db = jostle.rehearse(table_of(rows, schema), epsilon=epsilon, seed=6, trace=trace)
        get("PooledTree")(db, epsilon=epsilon)
        (chosen,) = [record for record in trace.records if isinstance(record, Chosen)]
        assert (chosen.label, chosen.taken) == ("splits", ((rule, 1),))
        assert "rows times epsilon" in chosen.why
    for rule in SPLITS:
        db = jostle.rehearse(table_of(rows, schema), epsilon=3, seed=6)
        with force({"splits": rule}):
            get("PooledTree")(db, epsilon=3)
        assert db.spent == 3


def test_gini_finds_what_moves_shares_and_not_the_commonest_class() -> None:
    """Of 20,000 rows 9 in 10 have the commoner class, 4 in 5 with one value and all with the other: no gain for Max."""
    random = np.random.default_rng(5)
    schema = schema_of(2, 2, 2)
    told = random.integers(0, 2, 20_000)
    rows = np.column_stack([random.integers(0, 2, 20_000), told, (random.random(20_000) < 0.2) & (told == 1)]).tolist()
    shares = learnt("PooledTree(most_gini_depth=1)", schema, rows, 1).chances(every_row(schema))
    assert shares[:, 1] == pytest.approx([0, 0.2, 0, 0.2], abs=0.02)


@pytest.mark.parametrize(("count", "levels"), [(1000, {2: 4, 16: 4}), (3200, {2: 5, 16: 6})])
def test_of_many_classes_a_tree_is_deeper_where_each_has_rows_enough(count: int, levels: dict[int, int]) -> None:
    """With fewer leaves than classes it is wrong about some of them; of fewer rows, more leaves make more of noise."""
    found = {}
    for kinds in levels:
        rows = np.random.default_rng(7).integers(0, [*[2] * 12, kinds], (count, 13)).tolist()
        trace = Trace()
        db = jostle.rehearse(table_of(rows, schema_of(*[2] * 12, kinds)), epsilon=1, seed=6, trace=trace)
        get("PooledTree")(db, epsilon=1)
        found[kinds] = sum("split level" in each.site for each in trace.records if isinstance(each, Charged))
    assert found == levels


def test_a_column_of_many_values_is_split_by_them_where_that_pays() -> None:
    """Each of 100 values has one of 16 classes, in no order: cuts in two, one after the other, hear half of it."""
    random = np.random.default_rng(8)
    classes = random.permutation(100) % 16
    codes = random.integers(0, [100, 4], (3000, 2))
    schema = schema_of(100, 4, 16)
    rows = np.column_stack([codes, classes[codes[:, 0]]]).tolist()
    right = {
        name: np.mean(learnt(name, schema, rows, 1).chances(every_row(schema)).argmax(axis=1) == np.repeat(classes, 4))
        for name in ("PooledTree", "PooledTree(numeric=ordered)")
    }
    assert right["PooledTree"] > 0.9
    assert right["PooledTree(numeric=ordered)"] < 0.6


def test_below_a_split_by_value_the_fewer_levels_that_are_left_get_more() -> None:
    """Four values of two columns make 16 classes: after a split in four, two levels are left in place of three."""
    codes = np.random.default_rng(9).integers(0, [4, 4, 8, 8], (1500, 4))
    schema = schema_of(4, 4, 8, 8, 16)
    rows = np.column_stack([codes, 4 * codes[:, 0] + codes[:, 1]]).tolist()
    trace = Trace()
    db = jostle.rehearse(table_of(rows, schema), epsilon=1, seed=6, trace=trace)
    model: Any = get("PooledTree")(db, epsilon=1)
    spent = [each.epsilon for each in trace.records if isinstance(each, Charged) and "split level" in each.site]
    assert spent == [Fraction(9, 20) * share for share in (Fraction(1, 4), Fraction(3, 8), Fraction(3, 8))]
    assert db.spent == 1
    assert (model.chances(every_row(schema)).argmax(axis=1).reshape(16, 64) == np.arange(16)[:, None]).all()


# Ledger


# Estimates


@pytest.mark.parametrize(("relation", "changed"), [("add_remove", 1), ("replace_one", 2)])
def test_the_variance_said_is_that_of_the_noise_drawn(relation: Neighbours, changed: int) -> None:
    """Over 200,000 draws of kurtosis 6 the variance is off by 0.5% (one sigma); 2.5% leaves five."""
    schema = schema_of(2, 2, neighbours=relation)
    for epsilon in (Fraction(1, 10), Fraction(3)):
        drawn = Noise(SeededBits(5)).discrete_laplace(changed / epsilon, 200_000)
        said = noise_variance(Counts.of("label"), schema, epsilon)
        assert said == pytest.approx(float(np.mean(drawn.astype(float) ** 2)), rel=0.025)


def test_two_copies_are_weighted_by_how_sure_they_are() -> None:
    assert averaged(np.array([8.0]), 1.0, np.array([0.0]), 3.0).tolist() == [6.0]


def test_a_tree_is_a_level_deeper_where_its_mean_leaf_allows() -> None:
    assert worthwhile_depth(0, 1, 10, 6) == 1
    assert worthwhile_depth(119, 1, 10, 6) == 1
    assert worthwhile_depth(120, 1, 10, 6) == 2  # 4 leaves, 3 queries, 10 scales each
    assert worthwhile_depth(1e9, 1, 10, 6) == 6
    assert worthwhile_depth(1e9, 1, 10, 1) == 1


def stump() -> Grove:
    """Return a tree that cuts the first of two columns between its codes 0 and 1."""
    grove = Grove(schema_of(3, 2, 2), numeric="ordered")
    grove.split(grove.seedlings(), np.array([0]))
    return grove


def test_a_leaf_keeps_its_own_shares_without_noise_and_takes_its_parent_s_where_noise_is_all() -> None:
    counts = np.array([[6000.0, 2000.0], [5000.0, 0.0], [1000.0, 2000.0]])
    own = pooled_shares(stump(), counts, np.full(3, 1e-9), counts[0], 1e-9)
    assert own[0].tolist() == pytest.approx([0.75, 0.25], abs=1e-3)
    assert own[2].tolist() == pytest.approx([1 / 3, 2 / 3], abs=1e-2)
    drowned = pooled_shares(stump(), counts, np.full(3, 1e12), counts[0], 1e-9)
    assert np.allclose(drowned, drowned[0], atol=1e-3)


def test_parts_that_noise_alone_sets_apart_have_their_parent_s_shares_and_others_their_own() -> None:
    """A noise of variance 400 moves a count by 20: a difference of 10 is none, one of 190 is."""
    for apart, found in ((10, 0.5), (190, 0.975)):
        counts = np.array([[400.0, 400.0], [200.0 + apart, 200.0 - apart], [200.0 - apart, 200.0 + apart]])
        shares = pooled_shares(stump(), counts, np.full(3, 400.0), counts[0], 400.0)
        assert shares[1:, 0].tolist() == pytest.approx([found, 1 - found], abs=0.02)


def test_a_part_whose_rows_drown_in_the_noise_of_many_classes_is_taken_to_have_an_even_part() -> None:
    """Of 20 classes with noise of deviation 10 the sum is off by 45; the one class of 50 rows is seen."""
    counts = np.zeros((3, 20))
    counts[1, 3], counts[2, 5], counts[1, 10:] = 50, 50, -5
    counts[0] = counts[1] + counts[2]
    shares = pooled_shares(stump(), counts, np.array([200.0, 100.0, 100.0]), np.maximum(counts[0], 0), 1.0)
    assert shares[1].argmax() == 3
    assert shares[2].argmax() == 5
    assert min(shares[1, 3], shares[2, 5]) > 0.6


def test_tables_that_noise_alone_explains_mostly_become_independent() -> None:
    """All tables together pass for telling where they stand out by one deviation: about a quarter of the time here."""
    random = np.random.default_rng(2)
    totals, independent = np.array([300.0, 100.0]), 0
    for _ in range(200):
        logs = log_shares(random.laplace(scale=1000, size=(5, 2)), 2e6, totals, SIZES)
        assert np.exp(logs[:3]).sum(axis=0).tolist() == pytest.approx([1, 1])
        independent += np.allclose(logs[:, 0], logs[:, 1])
    assert independent > 130


def test_tables_without_noise_are_the_shares_counted() -> None:
    counts = np.array([[30000, 0], [20000, 5000], [0, 20000], [25000, 12500], [25000, 12500]], dtype=np.float64)
    shares = np.exp(log_shares(counts, 1e-9, np.array([50000.0, 25000.0]), SIZES))
    assert shares[:3, 0].tolist() == pytest.approx([0.6, 0.4, 0], abs=1e-3)
    assert shares[3:].ravel().tolist() == pytest.approx([0.5] * 4, abs=1e-3)


def test_a_box_holds_what_its_ranges_hold() -> None:
    logs = np.log(np.array([[0.2, 0.5], [0.3, 0.4], [0.5, 0.1], [0.6, 0.3], [0.4, 0.7]]))
    low, high = _ranges(stump().routing(), SIZES)
    assert low.tolist() == [[0, 0], [1, 0]]
    assert high.tolist() == [[1, 2], [3, 2]]
    within, boxes = _in_boxes(logs, SIZES, low, high)
    assert np.exp(boxes).ravel().tolist() == pytest.approx([0.2, 0.5, 0.8, 0.5])
    assert np.exp(within[1, 1:3]).ravel().tolist() == pytest.approx([3 / 8, 4 / 5, 5 / 8, 1 / 5])


def test_the_weight_is_1_where_leaves_are_as_the_tables_say_and_0_where_they_are_not() -> None:
    boxes = np.log(np.array([[0.8, 0.2], [0.2, 0.8]]))
    start = np.log(np.array([0.5, 0.5]))
    assert _fitting_weight(start, boxes, np.array([[80.0, 20.0], [20.0, 80.0]]))[0] == 1
    assert _fitting_weight(start, boxes, np.array([[50.0, 50.0], [50.0, 50.0]]))[0] == 0
    weight, said = _fitting_weight(start, boxes, np.array([[65.0, 35.0], [35.0, 65.0]]))
    assert 0 < weight < 1
    assert said[0, 0] == pytest.approx(0.65, abs=0.03)


def test_a_leaf_is_what_the_tables_say_of_it_unless_the_counts_say_they_are_wrong() -> None:
    said = np.array([[0.8, 0.2], [0.2, 0.8]])
    alike = np.array([[790.0, 210.0], [195.0, 805.0]])
    assert np.allclose(_drawn(alike, 100.0, said), said)
    opposite = alike[::-1].copy()
    assert np.allclose(_drawn(opposite, 1.0, said), opposite / 1000, atol=0.01)
    assert np.allclose(_drawn(opposite, 1e9, said), said)
