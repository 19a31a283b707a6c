"""The Option that tries others unseen: what it costs, what it gives, what it refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from tables_of_labels import arrow, correlated, table_of

import jostle
from jostle import Table
from jostle.errors import ChoiceError, OptionError
from jostle.options import get
from jostle.options.classification.tuning import CANDIDATES, SelectPrivately
from jostle.options.models.kinds import BayesTreeModel, hits_of
from jostle.privacy.events import price
from jostle.tables.schema import Neighbours
from jostle.tasks.classification.model import Model
from jostle.trace.records import Chosen, Trace

ALL = sorted(kind.__name__ for kind in CANDIDATES)


def people(neighbours: Neighbours = "add_remove", seed: int = 7) -> Table:
    schema, rows = correlated(120, neighbours=neighbours, seed=seed)
    return table_of(rows, schema)


@pytest.mark.representative
@pytest.mark.parametrize("epsilon", ["1/20", "1/3", "7", "0.0123456789"])
@pytest.mark.parametrize("eta", ["-1/2", "0", "1"])
@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_what_is_spent_is_what_was_declared(epsilon: str, eta: str, relation: Neighbours) -> None:
    """Whatever is drawn: three Options of different costs, and numbers of runs from 1 up."""
    option = SelectPrivately(
        among=["Majority", "Mohammed", "NaiveBayes"], eta=eta, gamma=Fraction(1, 4), score_share=Fraction(1, 3)
    )
    table = people(relation)
    for seed in range(4):
        db = jostle.rehearse(table, epsilon=epsilon, seed=seed)
        option.perform(db, epsilon, lambda probe, budget: _checked(option, probe, budget))
        assert db.spent == Fraction(epsilon)


def _checked(option: SelectPrivately, probe: jostle.Probe, budget: Fraction) -> Model:
    model = option.run(probe, budget)
    assert probe.spent == price(option.cost(probe.schema, budget), probe.neighbours) == budget
    return model


@pytest.mark.parametrize("private", [False, True])
def test_one_of_them_is_given_back(private: bool) -> None:
    table, trace = people(seed=100 + private), Trace()
    db = (jostle.protect if private else jostle.rehearse)(table, epsilon=2, trace=trace)
    model = SelectPrivately(among=ALL)(db, epsilon=2)
    *own, chosen = [record for record in trace.records if isinstance(record, Chosen)]
    ((taken, times),) = chosen.taken

    assert times == 1
    assert all(f"/{taken}/" in record.site for record in own), "what the others chose inside themselves is unseen"
    assert taken in ALL
    assert taken in model.made_by
    assert "epsilon 2 under add_remove" in model.privacy
    assert chosen.seen[0][0] == "rows right, noised"
    assert db.left == 0


def test_it_keeps_what_predicts_well() -> None:
    """With much budget and many runs, 3 seeds in a row take the tree, which is right 90 times of 100, Majority 45."""
    option = SelectPrivately(among=["Majority", "BayesTree"], gamma=Fraction(1, 200), eta=1)
    for seed in range(3):
        model = option(jostle.rehearse(people(), epsilon=30, seed=seed), epsilon=30)
        assert isinstance(model, BayesTreeModel)


@pytest.mark.representative
@pytest.mark.parametrize("name", [*ALL, "RandomForest(trees=3)", "JostledTree(combine=mean, trees=2)"])
def test_the_rule_that_is_scored_predicts_what_the_model_does(name: str) -> None:
    """The exact count of both on 120 rows, where no two chances are nearly, but not quite, equal."""
    schema, rows = correlated(120)
    table, frame = table_of(rows, schema), arrow(rows, schema)
    for epsilon in ("1/10", "10"):
        option: Any = get(name)
        model = option(jostle.rehearse(table, epsilon=epsilon, seed=2), epsilon=epsilon)
        counted = table._source.tally(hits_of(model), ())
        assert np.asarray(counted).tolist() == [round(model.score(frame) * 120)]


def test_a_model_without_a_rule_is_refused() -> None:
    with pytest.raises(OptionError, match="no rule"):
        hits_of(object())  # type: ignore[arg-type]


def test_too_little_for_any_run_is_refused_before_any_charge() -> None:
    """Of 2e-12, a run has 7.2e-13, at which no Option runs."""
    db = jostle.rehearse(people(), epsilon=1)
    option = SelectPrivately(among=["Majority"])
    with pytest.raises(OptionError, match="wider than any table has rows"):
        option(db, epsilon="2e-12")
    with pytest.raises(ChoiceError, match="wider than any table has rows"):
        db.select(option.selection, "2e-12")
    assert db.spent == 0
