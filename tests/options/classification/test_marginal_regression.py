"""A regression on noisy marginals: what it makes of counts, and which counts it buys."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables_of_labels import Rows, arrow, schema_of, table_of

import jostle
from jostle import Schema
from jostle.options import get
from jostle.options.classification.noisy_tables import (
    SmoothedTable,
    attribute_weights,
    groups_of,
    smoothed_tables,
    thresholds,
)
from jostle.options.models.kinds import AdditiveModel
from jostle.privacy.amounts import Amount
from jostle.trace.records import Charged, Trace

EVEN = np.array([0.5, 0.5])


def learnt(
    schema: Schema, rows: Rows, epsilon: Amount, name: str = "MarginalRegression", seed: int = 1
) -> AdditiveModel:
    option: Any = get(name)
    model: AdditiveModel = option(jostle.rehearse(table_of(rows, schema), epsilon=epsilon, seed=seed), epsilon=epsilon)
    return model


def sites(schema: Schema, rows: Rows, epsilon: str) -> list[str]:
    trace = Trace()
    db = jostle.rehearse(table_of(rows, schema), epsilon=epsilon, seed=1, trace=trace)
    get("MarginalRegression")(db, epsilon=epsilon)
    assert db.spent == Fraction(epsilon)
    _, *asked = (record.site.rpartition("/")[2] for record in trace.records if isinstance(record, Charged))
    return asked


def noisy_copies(label: np.ndarray[Any, Any], copies: int, right: float, seed: int) -> np.ndarray[Any, Any]:
    """Columns that each agree with the label with this chance, independently."""
    agree = np.random.default_rng(seed).random((len(label), copies)) < right
    return np.where(agree, label[:, None], 1 - label[:, None])


# What is bought


def test_pairs_are_bought_where_rows_are_many_and_attributes_are_picked_where_they_are_few() -> None:
    label = np.random.default_rng(0).integers(0, 2, 4000)
    rows = np.column_stack([noisy_copies(label, 10, 0.8, 1), label]).tolist()
    schema = schema_of(*[2] * 11)
    assert sites(schema, rows, "100") == ["classes", "values", "pairs"]
    assert sites(schema, rows, "1/5") == ["classes", "values"]
    asked = sites(schema, rows[:40], "1")
    assert asked == ["classes", *["attribute"] * (len(asked) - 2), "values"]
    assert 0 < asked.count("attribute") < 7


@pytest.mark.slow
def test_of_many_attributes_it_hears_those_that_tell_more_often() -> None:
    """Of 40 attributes 2 tell of the label, and about 2 are heard: by chance, each of them in 1 of 20 runs."""
    random = np.random.default_rng(2)
    label = random.integers(0, 2, 600)
    codes = random.integers(0, 2, (600, 40))
    codes[:, [7, 31]] = noisy_copies(label, 2, 0.95, 3)
    schema, rows = schema_of(*[2] * 41), np.column_stack([codes, label]).tolist()
    table, heard = table_of(rows, schema), Counter[str]()
    for seed in range(20):
        model: Any = get("MarginalRegression")(jostle.rehearse(table, epsilon="1/2", seed=seed), epsilon="1/2")
        assert len(model.terms) < 20
        heard.update(name for term in model.terms for name in term.columns)
    assert min(heard["a7"], heard["a31"]) >= 8
    assert {name for name, _ in heard.most_common(2)} == {"a7", "a31"}


def test_a_column_that_nearly_fixes_the_label_is_picked_among_many_of_few_rows() -> None:
    """Of 800 rows, 100 times epsilon: class counts have noise of 160, and classes seem rarer than they are."""
    random = np.random.default_rng(3)
    label = random.integers(0, 2, 800)
    codes = np.column_stack([noisy_copies(label, 1, 0.98, 4), random.integers(0, 4, (800, 20))])
    schema, rows = schema_of(2, *[4] * 20, 2), np.column_stack([codes, label]).tolist()
    frame = arrow(rows, schema)
    wrong = [1 - learnt(schema, rows, "1/8", seed=seed).score(frame) for seed in range(8)]
    assert np.mean([each < 0.05 for each in wrong]) >= 0.8


# What is made of it


def test_tables_without_noise_are_as_counted() -> None:
    counts = np.array([[30000, 0], [20000, 5000], [0, 20000], [25000, 12500], [25000, 12500]], dtype=np.float64)
    first, second = smoothed_tables(counts, 1e-9, np.array([50000.0, 25000.0]), np.array([3, 2]))
    assert first.shares[:, 0].tolist() == pytest.approx([0.6, 0.4, 0], abs=0.02)
    assert first.lifts[1].tolist() == pytest.approx([np.log(0.8 * 1.5), np.log(0.2 * 3)], abs=0.02)
    assert np.allclose(second.lifts, 0, atol=0.01)


def test_tables_that_noise_drowns_say_next_to_nothing() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        noisy = random.laplace(scale=1e4, size=(24, 2))
        for table in smoothed_tables(noisy, 2e8, np.array([300.0, 100.0]), np.array([8, 16])):
            assert np.abs(table.lifts).max() < 0.5


def test_bins_that_lie_near_each_other_share_what_they_know() -> None:
    """The chance of a class rises over 16 bins; smoothed in order it is nearer the truth than bin by bin."""
    rows, truth = 600.0, np.linspace(0.2, 0.8, 16)
    exact = rows * np.column_stack([1 - truth, truth])
    random = np.random.default_rng(5)
    shuffled = random.permutation(16)
    apart = {"ordered": 0.0, "shuffled": 0.0}
    for _ in range(20):
        noisy = exact + random.laplace(scale=60, size=exact.shape)
        for name, order in (("ordered", np.arange(16)), ("shuffled", shuffled)):
            (table,) = smoothed_tables(noisy[order], 7200, np.array([4800.0, 4800.0]), np.array([16]))
            apart[name] += float(((np.exp(table.lifts[:, 1]) / 2 - truth[order]) ** 2).sum())
    assert apart["ordered"] < 0.7 * apart["shuffled"]


def exactly(right: float) -> SmoothedTable:
    """The table of a value that agrees with one of two even classes with this chance, in 1,000 rows."""
    shares = np.array([[right, 1 - right], [1 - right, right]])
    return SmoothedTable(np.array([500.0, 500.0]), np.log(shares / 0.5))


def test_independent_attributes_count_once_and_a_copy_counts_half() -> None:
    tables = [exactly(0.8)] * 3
    groups = [groups_of(table, 3) for table in tables]
    assert [group.tolist() for group in groups] == [[0, 1]] * 3
    shares = np.exp(tables[0].lifts) / 2
    independent = 1000 * (shares * EVEN) @ shares.T
    copied = np.diag([500.0, 500.0])
    alone = attribute_weights(tables, groups, np.concatenate([independent.ravel()] * 3), 1e-9, EVEN)
    assert alone.tolist() == pytest.approx([1, 1, 1], abs=1e-6)
    pairs = np.concatenate([copied.ravel(), independent.ravel(), independent.ravel()])
    weights = attribute_weights(tables, groups, pairs, 1e-9, EVEN)
    assert weights.tolist() == pytest.approx([0.5, 0.5, 1], abs=0.05)
    assert np.allclose(attribute_weights(tables, groups, pairs, 1e9, EVEN), 1, atol=0.01)


def test_classes_tie_midway_between_the_means_of_their_rows() -> None:
    """Of symmetric attributes that is at 0, whatever their weights; of others, not."""
    assert thresholds([], np.array([]), EVEN).tolist() == [0, 0]
    assert thresholds([exactly(0.8)], np.array([0.3]), EVEN).tolist() == pytest.approx([0, 0])
    shares = np.array([[0.5, 0.9], [0.5, 0.1]])
    both = shares.mean(axis=1)
    table = SmoothedTable(1000 * both, np.log(shares / both[:, None]))
    off = thresholds([table], np.array([1.0]), EVEN)
    means = shares.T @ table.lifts
    middle = float((means[0] + means[1]) @ [-1, 1]) / 2
    assert off[1] - off[0] == pytest.approx(middle)


def test_attributes_that_repeat_each_other_are_not_heard_too_often() -> None:
    """Ten copies of an attribute that is right 7 times in 10, and one that is right 9 times in 10 by itself."""
    label = np.random.default_rng(6).integers(0, 2, 6000)
    copied = np.repeat(noisy_copies(label, 1, 0.7, 7), 10, axis=1)
    codes = np.column_stack([copied, noisy_copies(label, 1, 0.9, 8), label])
    schema, rows = schema_of(*[2] * 12), codes.tolist()
    frame = arrow(rows, schema)
    right = {name: learnt(schema, rows, 20, name).score(frame) for name in ("NaiveBayes", "MarginalRegression")}
    assert right["NaiveBayes"] < 0.75
    assert right["MarginalRegression"] > 0.88
