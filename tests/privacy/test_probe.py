"""A probe answers, charges and remembers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from openings import REGIONS, people, protected, schema, table

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import BudgetError, ProbeError, SchemaError
from jostle.privacy.events import Allotment, Laplace, PermuteAndFlip, in_turn, price
from jostle.privacy.evidence import Look, noise_variance
from jostle.privacy.expressions import cells, rows
from jostle.privacy.ledger import Charge
from jostle.privacy.mechanisms import AddNoiseByLevel, sensitivity
from jostle.privacy.scores import Fullest
from jostle.tables.kernels import Counts, Marks, SparseCounts, Sums
from jostle.tables.regions import Regions
from jostle.tables.schema import Neighbours
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
    assert both.tolist() == pd.crosstab(rows["region"], rows["smokes"]).loc[REGIONS, ["no", "yes"]].to_numpy().tolist()
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
    assert list(answer.values) == dense[dense > 5].tolist()


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


# What was released is kept: what is told of it is right, belongs to one allotment, and is nobody's to change.


SIZES = {"a": 2, "b": 3, "c": 4}
TABLE = Schema(
    {name: Categorical(list(map(str, range(size))), outside="drop", missing="drop") for name, size in SIZES.items()}
)
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
QUITE_SURE = 10**6
"""An epsilon at which noise is nothing."""


def some_table(relation: Neighbours = "add_remove") -> Table:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({name: random.integers(0, size, 60).astype(str) for name, size in SIZES.items()})
    return Table.from_frame(frame, evolve(TABLE, neighbours=relation))


def opened(**how: Any) -> jostle.Probe:
    return jostle.rehearse(some_table(), seed=5, **how)


def the_look(db: jostle.Probe, kernel: Counts | Regions) -> Look:
    (look,) = db.known(kernel)
    assert look is not None
    return look


@pytest.mark.parametrize("bought", [("a", "b", "c"), ("c", "a"), ("b",), ()])
def test_what_is_told_of_fewer_columns_is_the_sum_over_the_others(bought: tuple[str, ...]) -> None:
    """Compared with numpy's sums for every choice and order of columns."""
    db = opened()
    answer = np.asarray(db.histogram(*bought, epsilon=1)) if bought else np.array(int(db.count(1)))
    inner = db.allot(1)
    for size in range(len(SIZES) + 1):
        for wanted in itertools.permutations(SIZES, size):
            (look,) = inner.known(Counts.of(*wanted))
            if not set(wanted) <= set(bought):
                assert look is None
                continue
            assert look is not None
            gone = tuple(place for place, name in enumerate(bought) if name not in wanted)
            left = [name for name in bought if name in wanted]
            expected = answer.sum(axis=gone).transpose([left.index(name) for name in wanted])
            assert look.counts.tolist() == expected.ravel().tolist()
            scale = sensitivity(Counts.of(*bought), TABLE) / Fraction(1)
            parts = math.prod(SIZES[name] for name in bought if name not in wanted)
            assert look.variance.tolist() == [parts * noise_variance(scale)] * len(look.counts)


def test_a_tally_by_groups_tells_of_coarser_ones_and_not_of_finer() -> None:
    db = opened()
    groups: dict[str, int | Iterable[int]] = {"c": (0, 0, 2, 2)}  # there is no group 1
    answer = db.release_cells(cells("c", "a").coarsened(groups), 1)
    inner = db.allot(1)
    assert inner.known(Counts.of("c")) == (None,)
    halves = Regions(("c",), np.arange(4), (np.array([0, 2]),))
    assert the_look(inner, halves).counts.tolist() == answer[[0, 2]].sum(axis=1).tolist()
    assert the_look(inner, Counts.of("a")).counts.tolist() == answer[[0, 2]].sum(axis=0).tolist()
    assert inner.known(Regions(("c",), np.arange(4), (np.array([0, 1]),))) == (None,)
    assert the_look(inner, Regions(("c",), np.array([3, 2, 1, 0]), (np.array([0, 2]),))).counts.tolist() == [
        *answer[[2, 0]].sum(axis=1)
    ]


def test_of_a_tally_by_groups_of_too_many_codes_the_total_is_told_and_nothing_is_gone_through() -> None:
    """Even one number for each combination of codes would not fit into memory."""
    names = ("a", "b", "c")
    schema = Schema({name: Numeric(0, 1, bins=10**5, missing="drop") for name in names})
    db = jostle.rehearse(Table.from_frame({name: [0.2, 0.7] for name in names}, schema), epsilon=QUITE_SURE + 1)

    answer = db.release_cells(cells(*names).coarsened(dict.fromkeys(names, 10**5 // 2)), QUITE_SURE)

    assert answer.sum() == 2
    assert the_look(db.allot(1), Counts.of()).counts.tolist() == [2]


def test_several_answers_are_averaged_by_their_precision() -> None:
    db = opened()
    first, second = db.count("1/2"), db.histogram("a", epsilon=2)
    (look,) = db.allot(1).known(Counts.of())
    one, other = noise_variance(Fraction(2)), 2 * noise_variance(Fraction(1, 2))
    assert look is not None
    assert look.variance[0] == pytest.approx(1 / (1 / one + 1 / other))
    assert look.counts[0] == pytest.approx((first / one + second.sum() / other) / (1 / one + 1 / other))


def test_each_answer_is_told_once_of_the_finest_level_that_it_refines() -> None:
    db = opened()
    total, by_a = db.count(1), db.histogram("a", epsilon=1)
    root, levels = db.allot(1).known(Counts([(), ("a",)]))
    assert root is not None
    assert levels is not None
    assert root.counts.tolist() == [int(total)]
    assert levels.counts.tolist() == np.asarray(by_a).tolist()


def test_levels_of_a_tree_have_the_noise_of_their_shares() -> None:
    db = opened()
    tree = Regions(("c",), np.arange(4), (np.array([0]), np.array([0, 2]), np.arange(4)))
    shares = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    db.perform(AddNoiseByLevel(tree, shares), Fraction(2), site="tree")
    looks = db.allot(1).known(tree)
    for look, share in zip(looks, shares, strict=True):
        assert look is not None
        assert set(look.variance.tolist()) == {noise_variance(1 / (2 * share))}


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_variance_is_that_of_the_noise(relation: Neighbours) -> None:
    """400 answers: the mean square of what they are off by, within five standard errors (of a kurtosis of 6)."""
    table = some_table(relation)
    truth = np.asarray(jostle.rehearse(table).histogram("b", epsilon=QUITE_SURE))
    off, runs = [], 400
    db = jostle.rehearse(table, seed=1)
    for _ in range(runs):
        part = db.allot(10)
        part.histogram("b", "c", epsilon=1)
        look = the_look(part.allot(1), Counts.of("b"))
        off.append(look.counts - truth)
    found = float(np.mean(np.square(off)))
    error = float(look.variance[0]) * math.sqrt(5 / (3 * runs))
    assert abs(found - float(look.variance[0])) < 5 * error


def test_a_measurement_belongs_to_one_allotment_and_what_is_in_it() -> None:
    db = opened()
    outer = db.allot(10)
    outer.count(1)
    assert outer.known(Counts.of()) == (None,), "its own purchases are not known beforehand"
    assert db.allot(1).known(Counts.of()) == (None,), "not outside"
    inner = outer.allot(3)
    assert the_look(inner, Counts.of())
    inner.count(1)
    assert len(inner.charges) == 1
    assert the_look(outer.allot(1), Counts.of()).variance == noise_variance(Fraction(1)), "what is bought inside stays"
    assert opened().allot(1).known(Counts.of()) == (None,), "nor in another probe on the same table"


@pytest.mark.parametrize("relation", RELATIONS)
def test_of_parts_nothing_is_known(relation: Neighbours) -> None:
    db = jostle.rehearse(some_table(relation), seed=5)
    db.histogram("a", "b", epsilon=QUITE_SURE)
    db = db.allot(10)
    for part in (db.where("a", "1"), *db.parts("a"), db.where("a", "0", "1"), db.parts("b")[1].allot(1)):
        assert part.known(Counts.of()) == (None,)
        assert part.rows is None
    inside = db.where("a", "1")
    inside.count(1)
    assert the_look(inside.allot(1), Counts.of())
    assert db.where("a", "1").allot(1).known(Counts.of()) == (None,)
    assert the_look(db.allot(1), Counts.of()).variance == 6 * noise_variance(Fraction(1, QUITE_SURE))


def test_what_is_told_is_a_copy_and_nothing_can_be_put_in() -> None:
    db = opened()
    answer = db.measure(Counts.of("a"), 1)
    kept = answer.tolist()
    answer[:] = -1
    inner = db.allot(1)
    look = the_look(inner, Counts.of("a"))
    with pytest.raises(ValueError, match="read-only"):
        look.counts[0] = 7
    look.counts.setflags(write=True)
    look.counts[0] = 7
    object.__setattr__(look, "variance", np.zeros(2))
    again = the_look(inner, Counts.of("a"))
    assert again.counts.tolist() == kept
    assert again.variance.tolist() == [noise_variance(Fraction(1))] * 2
    assert not [name for name in dir(inner) if name in {"before", "released", "told"}]
    with pytest.raises(ProbeError):
        inner._ask("told", 7)


def test_other_answers_are_no_numbers_of_rows() -> None:
    """Sums, conditions, weights, mixtures, finer units: nothing is taken for what it is not."""
    db = opened()
    db.measure(Sums("a", (1, 2), 2), 1)
    db.release_cells(cells("b").where("a", "1"), 1)
    db.release_cells(cells("b") + cells("b"), 1)
    db.release(rows() / 3, 1)
    db.histogram("a", "a", epsilon=1)
    db.pick(Fullest(("a",)), 1)
    assert db.allot(1).known(Counts([(), ("a",), ("b",)])) == (None, None, None)


# The number of rows: a public fact only where neighbours have the same, and never that of a part.


DECLARED = evolve(schema("replace_one"), rows=200)


def test_neighbours_that_differ_in_a_declared_number_are_refused(tmp_path: Path) -> None:
    """Under add_remove a total that is not bought, or a choice by it, would tell the two apart for nothing."""
    (tmp_path / "schema.toml").write_text(DECLARED.to_toml().replace("replace_one", "add_remove"))
    for attempt in (
        lambda: evolve(schema(), rows=200),
        lambda: DECLARED.with_neighbours("add_remove"),
        lambda: Schema.read(tmp_path / "schema.toml"),
        lambda: Table.from_grid(np.arange(8), rows=28),
    ):
        with pytest.raises(SchemaError, match="declared under add_remove") as refusal:
            attempt()
        assert refusal.value.fix is not None
        assert "leave rows out" in refusal.value.fix
        assert "replace_one" in refusal.value.fix
    assert Table.from_grid(np.arange(8), neighbours="replace_one", rows=28).schema.rows == 28


def bought_before(epsilon: int) -> jostle.Probe:
    db = jostle.rehearse(Table.from_frame(people(), schema()), seed=1)
    db.count(epsilon)
    return db.allot(4)


def test_what_is_known_is_declared_or_was_bought_before() -> None:
    assert jostle.rehearse(Table.from_frame(people(), schema())).rows is None
    db = jostle.rehearse(Table.from_frame(people(), DECLARED))
    assert db.rows == db.allot(1).rows == 200

    db = bought_before(10**6)
    assert db.rows == db.allot(1).rows == db.only("region").rows == 200
    assert db.schema == schema()
    db.count(1)
    assert db.rows == 200, "what is bought here is not known here"


def test_of_a_part_it_is_not_known() -> None:
    """Whatever is known of the whole, how many rows a part has is private: a row may be exchanged for one outside."""
    for db in (
        jostle.rehearse(Table.from_frame(people(), DECLARED)),
        bought_before(10**6),
    ):
        for part in (*db.parts("region"), db.where("smokes", "yes"), db.parts("region")[0].allot(1)):
            assert part.rows is None
            assert part.schema.rows is None
        assert db.rows == 200


@pytest.mark.parametrize("name", ["Mohammed(utility=InfoGain)", "PooledTree", "FletcherIslam", "Jagannathan"])
def test_parts_of_neighbours_get_the_same_questions_at_the_same_price(name: str) -> None:
    """One row more or less in a part must not change what is asked there before anything was released."""
    options = jostle.options.get(name)
    asked = []
    for frame in (people(), pd.concat([people().iloc[1:], people(1, seed=5)])):
        trace = jostle.Trace()
        part = jostle.rehearse(Table.from_frame(frame, DECLARED), seed=1, trace=trace).parts("region")[1]
        options(part, epsilon=4)
        asked.append([(type(each).__name__, getattr(each, "epsilon", None)) for each in trace.records[:3]])
    assert asked[0] == asked[1]
