"""Accuracy first: it stops where a test says so, pays for what it used, and frees the rest."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables_of_labels import arrow, schema_of, table_of

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import BudgetError, OptionError
from jostle.options.classification.naive_bayes import NaiveBayes, counts_of
from jostle.options.classification.tuning import AccuracyFirst
from jostle.privacy.chains import MOST_REFINED
from jostle.privacy.events import Laplace, Refined, Reserved, price
from jostle.privacy.probe import Probe
from jostle.trace.records import Charged, Chosen, Trace

SCHEMA = schema_of(2, 3, 2)


def easy(rows: int, right: float = 0.95, seed: int = 0) -> list[tuple[int, ...]]:
    """Return rows whose first column is the label, but for some."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 2, rows)
    label = np.where(random.random(rows) < right, first, 1 - first)
    return list(zip(first.tolist(), random.integers(0, 3, rows).tolist(), label.tolist(), strict=True))


def opened(rows: int = 4000, epsilon: Any = 2, seed: int = 1, **more: Any) -> Probe:
    return jostle.rehearse(table_of(easy(rows), SCHEMA), epsilon=epsilon, seed=seed, **more)


def test_it_stops_at_the_first_rung_that_is_accurate_and_the_rest_is_free() -> None:
    option, trace = AccuracyFirst(accuracy=Fraction(9, 10)), Trace()
    db = opened(trace=trace)
    model = option(db, epsilon=1)

    rung = Fraction(4, 5) / 16
    test = Fraction(1, 5) / 4
    assert db.spent == rung + test == model.epsilon
    assert db.left == 2 - db.spent
    (chosen,) = (each for each in trace.records if isinstance(each, Chosen))
    assert chosen.taken == (("rung 1", 1),)
    assert [each.site for each in trace.records if isinstance(each, Charged)] == [
        "AccuracyFirst(accuracy=0.9)/counts",
        "AccuracyFirst(accuracy=0.9)/test",
        "AccuracyFirst(accuracy=0.9)",
    ]
    assert model.score(arrow(easy(1000, seed=5), SCHEMA)) > 0.9
    db.count(db.left)


def test_more_counts_than_can_be_refined_are_refused_before_anything_is_paid() -> None:
    bins, classes = MOST_REFINED // 2 - 1, Categorical(["no", "yes"])
    fits, too_many = (Schema({"n": Numeric(0, 1, bins=each), "l": classes}, label="l") for each in (bins, bins + 1))
    db = jostle.rehearse(Table.from_frame({"n": [0.1, 0.7], "l": ["no", "yes"]}, too_many), epsilon=1)

    assert AccuracyFirst().refuses(fits) is None
    with pytest.raises(OptionError, match="that are refined"):
        AccuracyFirst()(db, epsilon=1)
    assert db.spent == 0
    kept = jostle.rehearse(Table.from_frame({"n": [0.1, 0.7], "l": ["no", "yes"]}, fits), epsilon=1)
    first = kept.measure_refinable(counts_of(fits), "1/4")
    assert len(kept.refine(first, "1/2").cells) == MOST_REFINED


def test_what_cannot_be_reached_costs_all_of_it() -> None:
    db = opened(300)
    model = AccuracyFirst(accuracy="99/100", steps=3)(db, epsilon=1)  # type: ignore[arg-type]  # it is converted

    assert db.spent == 1 == model.epsilon
    levels = (Fraction(1, 5), Fraction(2, 5), Fraction(4, 5))
    inner = AccuracyFirst(accuracy=Fraction(99, 100), steps=3)
    assert price(inner.cost(SCHEMA, Fraction(1)), "add_remove") == 1
    assert sorted(map(repr, (each.event for each in db.charges))) == sorted(
        map(repr, (Refined(levels), Laplace("1/10"), Laplace("1/10")))
    )


def test_its_ledger_says_what_it_was_spent_on_and_what_it_could_have_been() -> None:
    db = opened()
    inner = db.reserve(1)
    AccuracyFirst().run(inner, Fraction(1))
    assert db.left == 1
    inner.settle()

    assert inner.spent == db.spent
    assert db.left == 2 - db.spent
    cost = AccuracyFirst().cost(SCHEMA, Fraction(1))
    assert isinstance(cost, Reserved)
    assert price(cost, "replace_one") == 1 >= db.spent


@pytest.mark.slow
def test_a_model_that_is_said_to_be_accurate_is_but_for_a_tenth_of_the_times() -> None:
    """At the very edge, where naive Bayes is right as often as wanted: what stops early is mostly not below it."""
    rows = easy(600, right=0.9)
    table, frame = table_of(rows, SCHEMA), arrow(rows, SCHEMA)
    best = NaiveBayes()(jostle.rehearse(table, epsilon=10**6), epsilon=10**6).score(frame)
    option = AccuracyFirst(accuracy=Fraction(best).limit_denominator(1000) + Fraction(1, 500))
    early = 0
    for seed in range(60):
        db = jostle.rehearse(table, epsilon=4, seed=seed)
        option(db, epsilon=4)
        early += db.spent < 4
    assert early <= 14  # 6 expected at most; more than 14 with chance 1e-3


def test_where_the_budget_runs_out_beneath_it_what_was_paid_for_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = jostle.protect(table_of(easy(300), SCHEMA), epsilon=1, vault=tmp_path / "rows.vault")
    refine = Probe.refine

    def beside(self: Probe, *details: Any, **named: Any) -> Any:
        raise BudgetError("another process took the rest")

    monkeypatch.setattr(Probe, "refine", beside)
    trace_of = AccuracyFirst(accuracy=Fraction(99, 100))
    model = trace_of(db, epsilon=1)
    monkeypatch.setattr(Probe, "refine", refine)

    assert model.epsilon == db.spent == Fraction(1, 20) + Fraction(1, 20)
    assert db.left == 1 - db.spent


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, ValueError])
def test_where_it_is_stopped_halfway_what_was_charged_stays_and_the_rest_is_free(
    monkeypatch: pytest.MonkeyPatch, stopped: type[BaseException]
) -> None:
    db = opened(300)
    refine = Probe.refine

    def after(self: Probe, *details: Any, **named: Any) -> Any:
        refine(self, *details, **named)
        raise stopped

    monkeypatch.setattr(Probe, "refine", after)
    with pytest.raises(stopped):
        AccuracyFirst(accuracy=Fraction(99, 100))(db, epsilon=1)
    monkeypatch.setattr(Probe, "refine", refine)

    assert db.spent == Fraction(1, 10) + Fraction(1, 20)  # two rungs, and a test
    assert db.left == 2 - db.spent
    db.count(db.left)
