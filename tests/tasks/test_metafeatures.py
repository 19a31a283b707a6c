"""Metafeatures: what they buy is known without data, bought once, and learned from with the noise it will have."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from attrs import evolve
from small import METAFEATURES, ROWS, attributes, budget, first_share, size, table

import jostle
from jostle.choice.learning.markets import Purchases, Replica, Stall, read_raw, seeded
from jostle.choice.learning.workers import performed
from jostle.corpora.generators import generated_grids
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import ChoiceError, PrivateDataError
from jostle.privacy.evidence import noise_variance
from jostle.privacy.expressions import cells, sensitivity
from jostle.tables.schema import Schema
from jostle.tasks import CLASSIFICATION, RANGES, Instance, make_instance, task_of
from jostle.tasks.classification.instances import TableInstance
from jostle.tasks.classification.task import best_rule, log_rows
from jostle.tasks.metafeature import Metafeature, View, distinct, key_of, metafeature

INSTANCE = make_instance(table(1), TableSpec())
SCHEMA = INSTANCE.schema


def view(market: object, epsilon: float = 1.0, schema: Schema = SCHEMA) -> View:
    return View(schema, epsilon, market)  # type: ignore[arg-type]  # a market, or none where none is asked


def test_what_is_bought_is_known_without_data() -> None:
    """The price list is made from the schema alone: there is no table anywhere in this test."""
    schema = Schema({"a": jostle.Categorical(list("xyz")), "label": jostle.Categorical(list("01"))}, label="label")
    assert size.purchases(schema) == (cells("label"),)
    assert distinct(METAFEATURES, schema) == {key_of(ROWS): ROWS}
    bought = distinct(task_of("classification").rehearsal.metafeatures, schema)
    assert all(sensitivity(wanted, schema) == 1 for wanted in bought.values())
    assert len(bought) == 3, "the classes' counts, the best rule, the mean rule"


def test_public_facts_are_free() -> None:
    for each in (budget, attributes, *task_of("classification").rehearsal.metafeatures[:7]):
        assert each.purchases(SCHEMA) == ()
        each(view(None))
    assert attributes(view(None)) == len(SCHEMA.attributes)


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_a_number_of_rows_that_is_declared_is_not_bought_even_if_it_is_none(rows: int) -> None:
    declared = evolve(SCHEMA, neighbours="replace_one", rows=rows)
    assert log_rows.purchases(declared) == ()
    assert log_rows.purchases(SCHEMA) != ()
    (grid,) = generated_grids(1)
    shape = evolve(make_instance(grid, GridSpec()).table.schema, neighbours="replace_one", rows=rows)
    (records,) = (each for each in task_of("grid").rehearsal.metafeatures if each.name == "log_records")
    assert records.purchases(shape) == ()


def test_two_metafeatures_of_one_purchase_pay_it_once() -> None:
    trace = jostle.Trace()
    db = jostle.rehearse(INSTANCE.table, epsilon=1, trace=trace)
    market = Purchases(db, Fraction(1, 10), distinct(METAFEATURES, SCHEMA))
    first = [each(view(market)) for each in METAFEATURES]
    assert [each(view(market)) for each in METAFEATURES] == first
    assert db.spent == Fraction(1, 10)
    assert [charge.epsilon for charge in db.charges] == [Fraction(1, 10)]
    (counts,) = market.bought.values()
    assert first[3] == pytest.approx(counts[0] / counts.sum())


def test_what_was_not_priced_is_not_bought() -> None:
    calls: list[int] = []

    @metafeature
    def fickle(db: View) -> float:
        calls.append(1)
        return float(db.buy_cells(ROWS if len(calls) == 1 else cells(SCHEMA.attributes[0])).sum())

    db = jostle.rehearse(INSTANCE.table, epsilon=1)
    listed = distinct([fickle], SCHEMA)
    with pytest.raises(ChoiceError, match="did not buy when it was priced"):
        fickle(view(Purchases(db, Fraction(1, 10), listed)))
    assert db.spent == 0


def test_noise_in_training_is_the_noise_of_a_purchase() -> None:
    """Its mean deviation is the scale: within 4 standard errors for this seed, as all but 1 in 15,000 seeds give."""
    each = Fraction(1, 20)
    exact = read_raw([size], INSTANCE.table)
    stall = Stall(exact, SCHEMA)
    draws = 4000
    noisy = np.concatenate([Replica(stall, each, seeded(("fit", draw))).buy(ROWS) for draw in range(draws)])
    errors = noisy.reshape(draws, -1) - np.array(exact[key_of(ROWS)])
    scale = float(sensitivity(ROWS, SCHEMA) / each)
    count = errors.size
    assert abs(np.abs(errors).mean() - scale) < 4 * scale / np.sqrt(count)
    assert abs(errors.mean()) < 4 * np.sqrt(2) * scale / np.sqrt(count)
    db = jostle.rehearse(INSTANCE.table, seed=3)
    bought = np.concatenate([db.release_cells(ROWS, each) for _ in range(1000)]).reshape(1000, -1)
    real = np.abs(bought - np.array(exact[key_of(ROWS)])).mean()
    assert abs(real - scale) < 4 * scale / np.sqrt(bought.size)


def test_noise_in_training_is_drawn_once_per_purchase_and_not_at_all_where_it_is_exact() -> None:
    stall = Stall(read_raw([size], INSTANCE.table), SCHEMA)
    market = Replica(stall, Fraction(1, 20), seeded(1))
    assert first_share(view(market)) == first_share(view(market))
    exact = Replica(stall, None, seeded(1))
    assert size(view(exact)) == pytest.approx(np.log10(INSTANCE.rows))
    with pytest.raises(ChoiceError, match="not read off all databases"):
        best_rule(view(exact))


def test_a_version_changes_with_the_function() -> None:
    first = metafeature(lambda db: len(db.schema.names))
    second = metafeature(lambda db: len(db.schema.names) + 1)
    assert first.version != second.version
    assert metafeature(size.measure).version == size.version

    def made(factor: str) -> str:
        names: dict[str, object] = {}
        exec(f"def f(db):\n    return {factor} * len(db.schema.names)", names)  # noqa: S102 - a function without a file
        return metafeature(names["f"]).version  # type: ignore[call-overload,no-any-return]

    assert made("2") == made("2") != made("3")


def test_a_private_table_is_not_read_without_noise() -> None:
    jostle.protect(INSTANCE.table, epsilon=1)
    with pytest.raises(PrivateDataError, match="given as private"):
        read_raw([size], INSTANCE.table)


def instances() -> list[Instance]:
    grids = [make_instance(each, GridSpec(records=2000, shape=shape)) for each, shape in
             zip(generated_grids(2), ((64,), (16, 16)), strict=True)]  # fmt: skip
    return [INSTANCE, *grids]


@pytest.mark.representative
@pytest.mark.parametrize("instance", instances(), ids=lambda each: each.key[:6])
def test_jostles_own_see_nearly_the_truth_where_budget_is_no_matter(instance: Instance) -> None:
    """Bought for a huge epsilon, every metafeature is close to what it is without noise."""
    known = (CLASSIFICATION if isinstance(instance, TableInstance) else RANGES).rehearsal.metafeatures
    schema = instance.schema
    exact = Replica(Stall(read_raw(known, instance.table), schema), None, seeded(0))
    db = jostle.rehearse(instance.table)
    bought = Purchases(db, Fraction(10**6), distinct(known, schema))
    for each in known:
        there, here = each(View(schema, 1.0, exact)), each(View(schema, 1.0, bought))
        assert here == pytest.approx(there, abs=1e-3), each.name
        assert np.isfinite(there)
    assert db.allot(1).rows == instance.rows


def test_rows_are_known_only_where_they_are_sure() -> None:
    told = []
    for each in ("1/1000", "1/10", "1", "10"):
        db = jostle.rehearse(INSTANCE.table)
        assert db.allot(1).rows is None, "nothing was bought yet"
        size(view(Purchases(db, Fraction(each), distinct([size], SCHEMA))))
        told.append(db.allot(1).rows is not None)
    assert told[0] is False
    assert told[-1] is True
    assert not any(before and not after for before, after in pairwise(told))


def mark_held(each: Metafeature) -> tuple[str, str | None]:
    return each.name, each._version


def test_a_metafeature_takes_its_mark_along_where_it_is_sent() -> None:
    """A worker may not have the file that the function stands in."""
    assert log_rows._version is None
    found = [held for _, held in performed(mark_held, [log_rows, log_rows], workers=2)]
    assert found == [("log_rows", log_rows.version)] * 2


@pytest.mark.parametrize("name", ["release", "release_cells", "count", "histogram"])
def test_a_metafeature_that_asks_as_of_a_probe_is_told_what_to_ask(name: str) -> None:
    view = View(Schema({"x": jostle.Numeric(0, 1)}), 1.0, None)  # type: ignore[arg-type]  # it is not come to
    with pytest.raises(ChoiceError, match=rf"a metafeature does not ask for db\.{name}(.|\n)*fix: db\.buy"):
        getattr(view, name)
    assert not hasattr(view, "shape")


def test_evenness_and_sparsity_of_regions_are_told_in_spite_of_noise() -> None:
    """Even, crowded and half-empty grids: with much noise, within a tenth of what they are without."""
    even, spike, half = np.full(64, 100), np.eye(1, 64, 5, dtype=np.int64)[0] * 6400, np.repeat([200, 0], 32)
    wanted = {"even": (1.0, 0.0), "spike": (0.0, 15 / 16), "half": (0.75, 0.5)}
    for name, grid in (("even", even), ("spike", spike), ("half", half)):
        table = jostle.Table.from_grid(grid)
        known = [each for each in RANGES.rehearsal.bought if each.name in {"coarse_evenness", "coarse_sparsity"}]
        stall = Stall(read_raw(known, table), table.schema)
        exact = View(table.schema, 1.0, Replica(stall, None, seeded(0)))
        assert [each(exact) for each in known] == pytest.approx(wanted[name])
        for seed in range(5):
            noisy = View(table.schema, 1.0, Replica(stall, Fraction(1, 30), seeded(seed)))
            assert [each(noisy) for each in known] == pytest.approx(wanted[name], abs=0.1)
            bought = Purchases(jostle.rehearse(table, seed=seed), Fraction(1, 30), distinct(known, table.schema))
            assert [each(View(table.schema, 1.0, bought)) for each in known] == pytest.approx(wanted[name], abs=0.1)


def test_a_view_tells_how_much_noise_is_in_what_it_buys() -> None:
    """The same in a rehearsal as where it is bought, and none where there is none."""
    wanted = cells("label")
    market = Purchases(jostle.rehearse(INSTANCE.table), Fraction(1, 7), {key_of(wanted): wanted})
    stall = Stall(read_raw([size], INSTANCE.table), INSTANCE.table.schema)
    assert market.variance(wanted) == pytest.approx(noise_variance(Fraction(7)))
    assert Replica(stall, Fraction(1, 7), seeded(0)).variance(wanted) == market.variance(wanted)
    assert Replica(stall, None, seeded(0)).variance(wanted) == 0
