"""Grid Options use what was bought before them: they buy less of it, spend all the same, and err less."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import jostle
from jostle import Table, options
from jostle.options.ranges.base import look_first, total_of
from jostle.options.ranges.mwem import begun
from jostle.options.ranges.tree import halving_tree
from jostle.privacy.evidence import noise_variance
from jostle.tables.regions import Regions
from jostle.tables.schema import Neighbours
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.task import groups_of
from jostle.trace.records import Charged, Trace

SURE = 10**6
"""An epsilon at which noise is nothing."""
TOTALS = ("UniformGrid", "AdaptiveGrid", "MWEM", "ThresholdedHistogram")
"""Options that buy a total to decide by."""
RUNS = 12
"""Of an Option with a look and without, where errors are compared."""


def look_at_quarters(db: jostle.Probe, epsilon: Fraction | int) -> None:
    """Buy what makers look at: the records of 4 by 4 regions."""
    schema = db.schema
    db.release_cells(groups_of(tuple((name, schema[name].size) for name in schema.names)), epsilon)


def flat(side: int, each: int) -> Table:
    return Table.from_grid(np.full((side, side), each))


def all_cells(side: int) -> Workload:
    return Workload((side, side), np.array([[0, 0]]), np.array([[side, side]]))


def charged(name: str, look: Callable[[jostle.Probe], object]) -> list[tuple[str, Fraction]]:
    """What an Option spends where, if something was bought before."""
    trace = Trace()
    db = jostle.rehearse(flat(16, 40), seed=2, trace=trace)
    look(db)
    the_option: Any = options.get(name)
    the_option(db, epsilon=1)
    return [(each.site.partition("/")[2], each.epsilon) for each in trace.records[2:] if isinstance(each, Charged)][1:]


@pytest.mark.parametrize("name", TOTALS)
def test_a_total_that_is_known_is_not_bought_again_and_its_share_goes_to_the_rest(name: str) -> None:
    poor, sure = charged(name, lambda db: db.count(Fraction(1, 1000))), charged(name, lambda db: db.count(SURE))
    assert poor[0][0] == "total"
    assert [site for site, _ in sure if site == "total"] == []
    assert sum(spent for _, spent in poor) == sum(spent for _, spent in sure) == 1


@pytest.mark.representative
@pytest.mark.parametrize(("before", "name"), [(1, "Uniform"), (3, "UniformGrid"), (3, "AdaptiveGrid")])
def test_the_total_is_as_exact_as_both_purchases_together(before: int, name: str) -> None:
    """400 runs: the mean square of the error is the formula's within five standard errors, and less than without."""
    side, runs = 4, 400
    table, whole = flat(side, 500), all_cells(side)
    the_option: Any = options.get(name)
    off = np.empty(runs)
    for seed in range(runs):
        db = jostle.rehearse(table, seed=seed)
        db.count(before)
        found = the_option(db, epsilon=1)
        off[seed] = float(found.cells.sum()) - side * side * 500
    alone = the_option(jostle.rehearse(table, seed=0), epsilon=1)
    if name == "Uniform":
        own = noise_variance(Fraction(1))
    else:
        own = float(alone.deviations(whole)[0]) ** 2
        # Without a total to buy, all of epsilon is left for the cells.
        own *= float(1 - the_option.total_share) ** 2
    expected = 1 / (1 / own + 1 / noise_variance(Fraction(1, before)))
    if name != "Uniform":
        assert float(found.deviations(whole)[0]) ** 2 == pytest.approx(expected, rel=0.01)
    assert expected < own
    assert abs(float(np.mean(off**2)) - expected) < 5 * expected * math.sqrt(5 / runs)


@pytest.mark.parametrize(("name", "site"), [("ShrunkTree", "first look"), ("RefinedTree", "round 1")])
def test_a_first_look_that_is_known_is_not_bought_again_and_its_share_goes_to_the_rest(name: str, site: str) -> None:
    poor = charged(name, lambda db: look_at_quarters(db, Fraction(1, 100)))
    known = charged(name, lambda db: look_at_quarters(db, Fraction(1, 10)))
    assert poor[0][0] == site
    assert site not in [where for where, _ in known]
    assert len(known) == len(poor) - 1
    assert sum(spent for _, spent in poor) == sum(spent for _, spent in known) == 1


@pytest.mark.representative
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("before", [Fraction(1, 4), Fraction(3)])
def test_a_level_is_seen_as_exactly_as_both_purchases_together(before: Fraction, relation: Neighbours) -> None:
    """300 draws of 16 nodes: the mean square of the error is the formula's, within five standard errors."""
    table = Table.from_grid(np.full((8, 8), 30), neighbours=relation)
    tree, moved, draws = halving_tree((8, 8)), 1 if relation == "add_remove" else 2, 300
    own, known = noise_variance(Fraction(moved)), noise_variance(moved / before)
    off = np.empty((draws, 16))
    for seed in range(draws):
        db = jostle.rehearse(table, seed=seed)
        look_at_quarters(db, before)
        first = look_first(db.allot(1), tree, 4, Fraction(1), site="first look")
        off[seed] = first.seen.counts - 120
    assert first.cost == (1 if before < 1 else 0)
    expected = 1 / (1 / own + 1 / known) if first.cost else known
    assert first.seen.variance == pytest.approx(np.full(16, expected))
    assert abs(float(np.mean(off**2)) - expected) < 5 * expected * math.sqrt(5 / off.size)
    assert first.looks[0] is None, "what is known stands at one level alone"


def test_adaptive_grid_cuts_within_what_is_known_and_fits_to_it() -> None:
    """The variance of a region's count: its cells were counted twice, and it was known before."""
    db = jostle.rehearse(flat(8, 500), seed=1)
    before, epsilon, alpha = Fraction(1, 2), Fraction(1), Fraction(1, 2)
    look_at_quarters(db, before)
    found: Any = options.get("AdaptiveGrid")
    estimate = found(db, epsilon=epsilon)
    region = Workload((8, 8), np.array([[2, 4]]), np.array([[4, 6]]))
    cell = 1 / (1 / noise_variance(1 / alpha) + 1 / noise_variance(1 / (1 - alpha)))
    expected = 1 / (1 / (4 * cell) + 1 / noise_variance(1 / before))
    assert float(estimate.deviations(region)[0]) ** 2 == pytest.approx(expected)
    assert expected < 4 * cell


def test_mwem_begins_with_what_is_known_and_counts_it_once() -> None:
    """Before any round its weights have the known regions' counts, and hold no sum of these as another count."""
    db = jostle.rehearse(flat(16, 100), seed=1)
    look_at_quarters(db, 5)
    inner = db.allot(1)
    total = total_of(inner, Fraction(1, 20))
    assert total.cost == 0
    assert total.variance == pytest.approx(16 * noise_variance(Fraction(1, 5)))
    weights = begun(inner, total, 50.0)
    weights.fit(50)
    (look,) = inner.known(
        Regions(inner.schema.names, halving_tree((16, 16)).order, (halving_tree((16, 16)).starts[4],))
    )
    assert look is not None
    regions = weights.grid().reshape(4, 4, 4, 4).sum(axis=(1, 3))
    assert np.sort(regions.ravel()) == pytest.approx(np.sort(look.counts), abs=0.1)
    assert [len(each.counts) for each in weights.bought] == [1, 16]
    assert weights.bought[0].variance >= 1e12


@pytest.mark.representative
@pytest.mark.parametrize(
    ("name", "regions"),
    [
        *((name, 4) for name in ("MWEM", "AdaptiveGrid", "ShrunkTree", "RefinedTree")),
        *((name, 1) for name in ("DAWA", "UniformGrid")),
    ],
)
def test_what_was_bought_before_is_known_better_in_the_end(name: str, regions: int) -> None:
    """The mean square of the error falls: of 16 regions' counts, or of the total where parts do not lie in them."""
    counts = np.random.default_rng(3).integers(20, 60, (8, 8))
    table, wide = Table.from_grid(counts), 8 // regions
    the_option: Any = options.get(name)
    off = {known: np.empty((RUNS, regions, regions)) for known in (False, True)}
    for known, errors in off.items():
        for seed in range(RUNS):
            db = jostle.rehearse(table, seed=seed)
            look_at_quarters(db if known else db.allot(2), 2)
            found = the_option(db, epsilon="1/4")
            errors[seed] = (found.cells - counts).reshape(regions, wide, regions, wide).sum(axis=(1, 3))
    assert np.mean(off[True] ** 2) < 0.5 * np.mean(off[False] ** 2)


@pytest.mark.parametrize("name", ["MWEM", "UniformGrid", "AdaptiveGrid", "ShrunkTree", "DAWA", "RefinedTree"])
def test_a_poor_look_is_believed_no_further_than_its_noise_allows(name: str) -> None:
    """A million records counted to a thousand: an estimate that was fitted to that alone would be off by as much."""
    table = flat(16, 4000)
    the_option: Any = options.get(name)
    for seed in range(3):
        db = jostle.rehearse(table, seed=seed)
        db.count(Fraction(1, 1000))
        found = the_option(db, epsilon=1)
        assert abs(float(found.cells.sum()) - 16 * 16 * 4000) < 200


@pytest.mark.parametrize("name", options.names("grid"))
def test_of_a_single_cell_that_is_known_nothing_is_divided_by_nothing(name: str) -> None:
    """Where all there is to buy was bought before, at more than the whole budget."""
    db = jostle.rehearse(Table.from_grid([5]), seed=1)
    db.count(SURE)
    the_option: Any = options.get(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = the_option(db, epsilon=1)
    assert found.total == pytest.approx(5, abs=30)
