"""Grid Options use what was bought before them: they buy less of it, spend all the same, and err less."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import jostle
from jostle import Table, options
from jostle.privacy.measurements import noise_variance
from jostle.tasks.ranges.workload import Workload
from jostle.trace.records import Charged, Trace

SURE = 10**6
"""An epsilon at which noise is nothing."""
TOTALS = ("UniformGrid", "AdaptiveGrid", "MWEM", "ThresholdedHistogram")
"""Options that buy a total to decide by."""


def flat(side: int, each: int) -> Table:
    return Table.from_grid(np.full((side, side), each))


def all_cells(side: int) -> Workload:
    return Workload((side, side), np.array([[0, 0]]), np.array([[side, side]]))


def charged(name: str, look: Fraction | int) -> list[tuple[str, Fraction]]:
    """Return what an Option spent where, if the number of records was bought before."""
    trace = Trace()
    db = jostle.rehearse(flat(8, 40), seed=2, trace=trace)
    db.count(look)
    the_option: Any = options.get(name)
    the_option(db, epsilon=1)
    return [(each.site.partition("/")[2], each.epsilon) for each in trace.records[2:] if isinstance(each, Charged)][1:]


@pytest.mark.parametrize("name", TOTALS)
def test_a_total_that_is_known_is_not_bought_again_and_its_share_goes_to_the_rest(name: str) -> None:
    poor, sure = charged(name, Fraction(1, 100)), charged(name, SURE)
    assert poor[0][0] == "total"
    assert [site for site, _ in sure if site == "total"] == []
    assert sum(spent for _, spent in poor) == sum(spent for _, spent in sure) == 1


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
