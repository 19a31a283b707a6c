"""What may be asked of a table, what comes back, and what each question costs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from openings import REGIONS, people, protected, table

import jostle
from jostle.errors import BudgetError
from jostle.privacy.events import Allotment, Laplace, PermuteAndFlip, in_turn, price
from jostle.privacy.ledger import Charge
from jostle.privacy.scores import Fullest
from jostle.tables.kernels import Marks, SparseCounts, Sums
from jostle.trace.records import Charged, Refused, Released, Trace

SURE = 1000
"""An epsilon at which noise is 0 but for a chance of e**-1000, or e**-500 where a row counts twice."""


def test_answers_are_the_truth_and_noise() -> None:
    """At such an epsilon the noise is gone, and what is left is what the rows say."""
    rows = people()
    db = jostle.rehearse(table())

    assert db.count(SURE) == len(rows)
    by_region = rows["region"].value_counts()
    assert db.histogram("region", epsilon=SURE).tolist() == [by_region[region] for region in REGIONS]
    assert db.commonest("region", SURE) == by_region.idxmax()
    both = db.histogram("region", "smokes", epsilon=SURE)
    assert both.tolist() == (
        rows.groupby(["region", "smokes"]).size().unstack().loc[REGIONS, ["no", "yes"]].to_numpy().tolist()
    )
    decade = db.measure(Sums("age", range(10), most=9), SURE)
    assert decade.tolist() == [(rows["age"] // 10).sum()]


def test_parts_and_conditions_are_about_their_rows() -> None:
    rows = people()
    db = jostle.rehearse(table())
    counts = rows["region"].value_counts()

    assert [part.count(SURE) for part in db.parts("region")] == [counts[region] for region in REGIONS]
    assert db.where("region", "north", "south").count(SURE) == counts["north"] + counts["south"]
    assert db.where("region").count(SURE) == 0
    smokers = db.parts("region")[0].where("smokes", "yes")
    assert smokers.count(SURE) == ((rows["region"] == "north") & (rows["smokes"] == "yes")).sum()
    assert smokers.parts("region")[1].count(SURE) == 0


def test_a_sparse_answer_lists_what_passes_the_threshold() -> None:
    db = jostle.rehearse(table())
    dense = db.histogram("age", "region", epsilon=SURE).ravel()
    answer = db.measure_sparse(SparseCounts(("age", "region")), SURE, threshold=5)

    assert answer.keys.tolist() == np.flatnonzero(dense > 5).tolist()
    assert answer.values.tolist() == dense[dense > 5].tolist()


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_row_that_can_be_replaced_needs_twice_the_noise(neighbours: Any) -> None:
    trace = Trace()
    db = jostle.protect(table(neighbours=neighbours), epsilon=10, trace=trace)
    db.count(1)
    db.histogram("region", epsilon=1)
    db.measure_sparse(SparseCounts(("age",)), 1, threshold=3)
    db.measure(Marks(("smokes", "region"), most=2), 1)
    db.parts("region")[0].histogram("age", epsilon=1)
    db.where("smokes", "yes").histogram("age", epsilon=1)

    scales = [record.scale for record in trace.records if isinstance(record, Released)]
    assert scales == ([1, 1, 1, 2, 1, 1] if neighbours == "add_remove" else [1, 2, 2, 2, 2, 2])


def test_each_charge_is_listed_with_its_site_and_event() -> None:
    db = protected(2)
    db.count("0.1", site="how many")
    db.pick(Fullest("age"), "0.2")
    allotted = db.allot("0.5", site="Tree")
    allotted.histogram("age", epsilon="0.25")
    db.parts("region")[1].count("0.3")

    assert db.charges == (
        Charge("how many", Laplace("0.1"), Fraction("0.1")),
        Charge("pick", PermuteAndFlip("0.2"), Fraction("0.2")),
        Charge("Tree", Allotment("0.5"), Fraction("0.5")),
        Charge("region=east/count", Laplace("0.3"), Fraction("0.3")),
    )
    assert allotted.charges == (Charge("Tree/histogram", Laplace("0.25"), Fraction("0.25")),)
    assert db.spent == price(in_turn(charge.event for charge in db.charges), "add_remove") == Fraction("1.1")
    assert allotted.left == Fraction("0.25")


def test_a_condition_spends_from_the_whole() -> None:
    db = protected()
    db.where("region", "north").count("0.5")
    db.where("region", "south").count("0.5")
    with pytest.raises(BudgetError):
        db.where("region", "east").count("0.5")


def test_what_a_part_may_spend_ends_with_the_whole() -> None:
    db = protected()
    part = db.parts("region")[0]
    db.count("0.9")
    with pytest.raises(BudgetError, match=r"0\.1 is left"):
        part.count("0.2")
    part.count("0.1")
    assert db.left == 0


def test_a_refusal_is_in_the_trace_and_the_refused_question_is_not_answered() -> None:
    trace = Trace()
    db = jostle.protect(table(), epsilon=1, trace=trace)
    with pytest.raises(BudgetError):
        db.count(2, site="too much")
    with pytest.raises(BudgetError):
        db.allot(2, site="aside")

    _, *records = trace.records
    assert [type(record) for record in records] == [Refused, Refused]
    assert "too much asks for epsilon 2" in str(records[0])


def test_charges_are_in_the_trace_before_answers() -> None:
    trace = Trace()
    db = jostle.protect(table(), epsilon=1, trace=trace)
    answer = db.count("0.25")
    picked = db.pick(Fullest("region"), "0.25")

    _, *records = trace.records
    assert records == [
        Charged("count", "Laplace", Fraction(1, 4), Fraction(1, 4), Fraction(3, 4)),
        Released("count", "AddNoise", Fraction(4), 1, (answer,)),
        Charged("pick", "PermuteAndFlip", Fraction(1, 4), Fraction(1, 2), Fraction(1, 2)),
        Released("pick", "Pick", None, 1, (picked,)),
    ]


def test_numbers_that_have_nothing_to_do_with_the_rows_are_free() -> None:
    db = protected()

    assert sorted(db.shuffled(50)) == list(range(50))
    drawn = db.below(6, 1000)
    assert set(drawn) == set(range(6))
    assert db.spent == 0


def test_a_probe_shows_its_budget_and_nothing_else() -> None:
    db = protected()
    db.count("0.25")

    assert repr(db) == str(db) == f"{db}" == "<Probe: epsilon 0.25 of 1 spent about rows under add_remove>"
    assert repr(db.parts("region")[0]) == "<Probe: epsilon 0 spent about rows under add_remove>"


def test_the_schema_of_a_probe_is_a_copy() -> None:
    db = protected(neighbours="replace_one")
    object.__setattr__(db.schema, "neighbours", "add_remove")

    db.histogram("region", epsilon="0.5")
    for part in db.parts("region"):
        part.count("0.25")
    assert db.spent == 1  # two parts were paid for
    assert db.neighbours == "add_remove"  # what was changed is the copy that was given out
