"""Classification Options use what was bought before them: they buy less of it, spend all the same, and err less."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from tables_of_labels import schema_of, table_of

import jostle
from jostle import options
from jostle.options.classification.base import class_counts, several_counts
from jostle.options.classification.naive_bayes import counts_of
from jostle.options.classification.noisy_tables import noise_variance
from jostle.tables.kernels import Counts
from jostle.trace.records import Charged, Released, Trace

SCHEMA = schema_of(2, 3, 2)
ROWS = [(0, 0, 0)] * 150 + [(1, 2, 1)] * 100 + [(0, 1, 1)] * 50
CLASSES = Counts.of(SCHEMA.label or "")


def charged(name: str, look: Fraction | int) -> list[tuple[str, Fraction]]:
    """What an Option spends where, if the class counts were bought before."""
    trace = Trace()
    db = jostle.rehearse(table_of(ROWS, SCHEMA), seed=2, trace=trace)
    db.measure(CLASSES, look)
    the_option: Any = options.get(name)
    the_option(db, epsilon=1)
    return [(each.site.partition("/")[2], each.epsilon) for each in trace.records if isinstance(each, Charged)][2:]


@pytest.mark.parametrize("name", ["PooledTree", "PooledBayes", "MarginalRegression"])
def test_class_counts_that_are_known_are_not_bought_again_and_their_share_goes_to_the_rest(name: str) -> None:
    poor, known = charged(name, Fraction(1, 100)), charged(name, Fraction(1, 10))
    share: Fraction = options.get(name).classes_share  # type: ignore[attr-defined]  # these have it
    assert poor[0] == ("classes", share)
    assert "classes" not in [site for site, _ in known]
    assert sum(spent for _, spent in poor) == sum(spent for _, spent in known) == 1


@pytest.mark.representative
@pytest.mark.parametrize("before", [Fraction(1, 3), Fraction(4)])
def test_class_counts_are_as_exact_as_both_purchases_together(before: Fraction) -> None:
    """400 draws: the mean square of the error is the formula's, within five standard errors."""
    table, draws = table_of(ROWS, SCHEMA), 400
    own, known = (noise_variance(CLASSES, SCHEMA, each) for each in (Fraction(1), before))
    for always in (False, True):
        off = []
        for seed in range(draws):
            db = jostle.rehearse(table, seed=seed)
            db.measure(CLASSES, before)
            found = class_counts(db.allot(1), Fraction(1), always=always)
            off.append(found.counts - [150, 150])
        assert found.cost == (1 if always or before < 1 else 0)
        expected = 1 / (1 / own + 1 / known) if found.cost else known
        assert found.variance == pytest.approx(expected)
        assert abs(float(np.mean(np.square(off))) - expected) < 5 * expected * math.sqrt(5 / (2 * draws))


def test_tables_that_are_known_leave_more_for_the_others() -> None:
    """Naive Bayes: known class counts are not tallied; a known table is averaged, by the formula."""
    db = jostle.rehearse(table_of(ROWS, SCHEMA), seed=1)
    kernel = counts_of(SCHEMA)
    first, second = kernel.groups[1:]
    db.measure(CLASSES, 1)
    db.measure(Counts((first,)), Fraction(1, 20))
    inner = db.allot(1)
    counts, variance = several_counts(inner, kernel, Fraction(1), site="counts")
    assert len(counts) == kernel.cells(SCHEMA)
    own = noise_variance(Counts((first, second)), SCHEMA, Fraction(1))
    assert own < noise_variance(kernel, SCHEMA, Fraction(1))
    averaged = 1 / (1 / own + 1 / noise_variance(Counts((first,)), SCHEMA, Fraction(1, 20)))
    # Class counts as well known by their own look and by the sums of the table's.
    (classes,) = inner.known(CLASSES)
    assert classes is not None
    own_classes = inner.known(kernel)[0]
    assert own_classes is not None
    assert variance == pytest.approx((float(own_classes.variance.mean()) + averaged + own) / 3)
    assert inner.spent == 1


@pytest.mark.representative
@pytest.mark.parametrize("name", ["Majority", "NaiveBayes", "PooledTree", "PooledBayes", "MarginalRegression"])
def test_with_a_sure_look_models_know_the_class_shares(name: str) -> None:
    """At an epsilon that tells nothing by itself, the commonest class is found from what was bought before."""
    table = table_of([(0, 0, 1)] * 60 + [(0, 0, 0)] * 20, SCHEMA)
    the_option: Any = options.get(name)
    for seed in range(5):
        db = jostle.rehearse(table, seed=seed)
        db.measure(counts_of(SCHEMA), 1000)
        model = the_option(db, epsilon="1/1000")
        assert model.chances(np.zeros((1, 2), dtype=np.int64)).argmax(axis=1).tolist() == [1]


FULL = evolve(
    SCHEMA, columns=tuple((column, evolve(facts, missing="drop", outside="drop")) for column, facts in SCHEMA.columns)
)
"""Without blanks: what is known of each column is of the same rows."""


@pytest.mark.representative
@pytest.mark.parametrize("name", ["NaiveBayes", "PooledBayes", "MarginalRegression"])
def test_counts_by_value_and_class_that_were_bought_before_make_chances_surer(name: str) -> None:
    """The variance of a row's chances over the noise falls, what was known being about as exact as what is bought."""
    table, row = table_of(ROWS, FULL), np.array([[1, 2]])
    the_option: Any = options.get(name)
    label = SCHEMA.label or ""
    spread = {}
    for known in (False, True):
        chances = []
        for seed in range(30):
            db = jostle.rehearse(table, seed=seed)
            look = db if known else db.allot(2)
            look.measure(Counts([(each, label) for each in SCHEMA.attributes]), 2)
            chances.append(the_option(db, epsilon="1/20").chances(row)[0, 1])
        spread[known] = float(np.var(chances))
    assert spread[True] < 0.5 * spread[False]


def test_nothing_known_nothing_changes() -> None:
    """The same noise, the same tallies, as without any of this: what was learned of these Options still holds."""
    trace = Trace()
    db = jostle.rehearse(table_of(ROWS, SCHEMA), seed=3, trace=trace)
    options.get("NaiveBayes")(db, epsilon=1)
    (released,) = [each for each in trace.records if isinstance(each, Released)]
    assert released.size == counts_of(SCHEMA).cells(SCHEMA)
    assert released.scale == 3
