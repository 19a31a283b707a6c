"""Ways to a statistic: which is taken and why, what they say, and how often their intervals cover."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import pvariance
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Numeric, Probe, Schema, Table, Trace
from jostle.options import get
from jostle.options.statistics.choosing import RULES
from jostle.options.statistics.quantiles import agreed, even_starts, rising, starts_around
from jostle.privacy.mechanisms import AddNoiseToSpread
from jostle.tables.number_kernels import Moments
from jostle.tables.values import Grain
from jostle.tasks import QUANTILES
from jostle.trace.records import Chosen

ROWS, TIMES = 2_000, 60
NUMBERS = np.random.default_rng(4).gamma(2, 20, ROWS).round().clip(0, 10_000)
MOST_MISSED = 0.1 * TIMES + 4 * math.sqrt(0.09 * TIMES)
"""Of so many intervals at level 0.9: four standard deviations."""


def probe(*, rows: int | None = None, seed: int = 1, trace: Trace | None = None, high: int = 10_000) -> Probe:
    declared: Any = {} if rows is None else {"neighbours": "replace_one", "rows": rows}
    schema = Schema({"x": Numeric(0, high, bins=50, unit=1, missing="drop")}, **declared)
    return jostle.rehearse(
        Table.from_frame(pd.DataFrame({"x": NUMBERS}), schema), epsilon=10**9, seed=seed, trace=trace
    )


def taken(ask: Any, **facts: Any) -> str:
    """Return which way was taken."""
    trace = Trace()
    ask(probe(trace=trace, **facts))
    *_, chosen = (record for record in trace.records if isinstance(record, Chosen))
    assert chosen.why.endswith(f"else {next(rule for rule in RULES.values() if rule.formula == chosen.why).last.name}")
    return chosen.taken[0][0]


def known(db: Probe) -> Any:
    """Ask for a mean where the bins were bought before, and dearly."""
    db.histogram("x", epsilon=2)
    return db.mean("x", epsilon="1/50")


def hardly_known(db: Probe) -> Any:
    """Ask for a mean where the bins were bought before, but not so dearly that few rows beyond them would show."""
    db.histogram("x", epsilon="1/50")
    return db.mean("x", epsilon="1/50")


@pytest.mark.parametrize(
    ("ask", "facts", "way"),
    [
        (lambda db: db.mean("x", epsilon=1), {}, "BoundedMean"),
        (known, {}, "ClippedMean"),
        (known, {"high": 200}, "BoundedMean"),
        (hardly_known, {}, "BoundedMean"),
        (lambda db: db.variance("x", epsilon=1), {}, "MomentVariance"),
        (lambda db: db.variance("x", epsilon="1/2"), {"rows": ROWS}, "SpreadVariance"),
        (lambda db: db.variance("x", epsilon=1), {"rows": ROWS}, "SpreadVariance(look=0.04)"),
        (lambda db: db.quantile("x", 0.9, epsilon=1), {}, "PickedQuantiles"),
        (lambda db: db.quantile("x", 0.9, epsilon=1), {"rows": ROWS, "high": 30}, "PickedQuantiles(counting=0.5)"),
        (lambda db: db.quantile("x", 0.9, epsilon="1/2"), {"rows": ROWS, "high": 30}, "PickedQuantiles"),
        (lambda db: db.quantiles("x", [share / 12 for share in range(1, 12)], epsilon=1), {}, "CountedQuantiles"),
    ],
)
def test_the_way_goes_by_free_facts_and_the_trace_says_why(ask: Any, facts: dict[str, Any], way: str) -> None:
    assert taken(ask, **facts) == way


def test_bins_that_are_known_make_a_mean_of_wide_bounds_far_better() -> None:
    errors = {
        way: np.mean([abs(ask(probe(seed=seed)) - NUMBERS.mean()) for seed in range(8)])
        for way, ask in {"bounded": lambda db: db.mean("x", epsilon="1/50"), "clipped": known}.items()
    }
    assert errors["clipped"] < errors["bounded"] / 3


TRUTHS: dict[str, tuple[tuple[Any, ...], list[float], int | None]] = {
    "BoundedMean": ((), [NUMBERS.mean()], None),
    "ClippedMean": ((), [NUMBERS.mean()], None),
    "ClippedSum": ((), [NUMBERS.sum()], None),
    "MomentVariance": ((), [NUMBERS.var()], None),
    "SpreadVariance": ((), [NUMBERS.var()], ROWS),
    "SpreadVariance(look=1/25)": ((), [NUMBERS.var()], ROWS),
    "PickedQuantiles": ((("1/2", "9/10"),), [float(np.sort(NUMBERS)[place]) for place in (999, 1799)], None),
    "CountedQuantiles": ((("1/2", "9/10"),), [float(np.sort(NUMBERS)[place]) for place in (999, 1799)], None),
}


@pytest.mark.representative
@pytest.mark.parametrize("name", TRUTHS)
def test_intervals_cover_as_often_as_they_say(name: str) -> None:
    asked, truth, rows = TRUTHS[name]
    option: Any = get(name)
    db = probe(rows=rows, seed=9)
    missed = np.zeros(len(truth))
    for _ in range(TIMES):
        answer = option(db, "x", *asked, epsilon="1/2")
        ends = answer.interval(0.9)
        for place, (low, high) in enumerate([ends] if len(truth) == 1 else ends):
            missed[place] += not low - 1 <= truth[place] <= high + 1
        assert answer.cost == Fraction(1, 2)
    assert missed.max() <= MOST_MISSED


def test_counts_agree_as_least_squares_have_it() -> None:
    """Against all counts as unknowns of one regression."""
    levels = tuple(np.array(starts) for starts in ([0, 4, 8], [0, 2, 4, 6, 8, 9], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
    chance = np.random.default_rng(2)
    counts = [chance.integers(-5, 50, len(starts)) for starts in levels]
    holds = np.concatenate(
        [
            np.searchsorted(starts, levels[-1], side="right")[None] - 1 == np.arange(len(starts))[:, None]
            for starts in levels
        ]
    )
    best = np.linalg.lstsq(holds.astype(float), np.concatenate(counts), rcond=None)[0]
    assert agreed(levels, counts) == pytest.approx(best)
    assert np.all(np.diff(rising(np.cumsum(best))) >= 0)


def test_several_quantiles_come_in_the_order_they_were_asked_for() -> None:
    answer = probe().quantiles("x", [0.9, "1/2", 0.1], epsilon=10**6)
    assert answer.value == pytest.approx([np.quantile(NUMBERS, share) for share in (0.9, 0.5, 0.1)], abs=2)
    assert len(answer.interval()) == len(answer.to_frame()) == 3
    assert repr(answer).count("95%") == 3
    assert RULES[QUANTILES.name].formula == (
        "CountedQuantiles where quantiles >= 9, PickedQuantiles(counting=0.5) where rows x epsilon to a step >= 50, "
        "else PickedQuantiles"
    )


@pytest.mark.parametrize("rows", [None, ROWS])
@pytest.mark.parametrize("share", ["1/2", "9/10"])
def test_a_quantile_is_exact_to_the_unit_of_a_column_with_a_million_of_them(share: str, rows: int | None) -> None:
    """Where nothing is left of noise: intervals cut nothing off."""
    truth = np.sort(NUMBERS)[math.ceil(Fraction(share) * ROWS) - 1]
    assert probe(rows=rows, high=1_000_000).quantile("x", share, epsilon=10**6) == truth


@pytest.mark.representative("steps")
@pytest.mark.parametrize("steps", [1, 2, 1000, 2**20 + 7, 2**45 + 3, 2**61 - 1])
@pytest.mark.parametrize("count", [1, 3, 1000, 4097])
def test_intervals_are_even_however_many_steps_there_are(steps: int, count: int) -> None:
    grain = Grain(Fraction(1), 0, steps - 1)
    number = min(steps, count)
    assert even_starts(grain, count).tolist() == [place * steps // number for place in range(number)]


def test_what_is_counted_around_a_pick_is_few_intervals_that_cover_all() -> None:
    """One for each doubling of a width that is no small share of the column's; far fewer of narrower ones."""
    grain = Grain(Fraction(1), 0, 10**6)
    starts = starts_around([(500_000, 500_001)], grain)
    assert {0, 499_999, 500_000, 500_001, 500_002} <= set(starts.tolist())
    assert np.all(np.diff(starts) > 0)
    assert len(starts) <= 30
    assert np.diff(starts).max() <= 250_000


STATISTICS: dict[str, Any] = {
    "mean": lambda db, epsilon: db.mean("x", epsilon=epsilon),
    "sum": lambda db, epsilon: db.sum("x", epsilon=epsilon),
    "variance": lambda db, epsilon: db.variance("x", epsilon=epsilon),
    "quantile": lambda db, epsilon: db.quantile("x", "9/10", epsilon=epsilon),
    "quantiles": lambda db, epsilon: db.quantiles("x", [share / 12 for share in range(1, 12)], epsilon=epsilon),
}


@pytest.mark.parametrize("statistic", STATISTICS)
def test_of_persons_each_row_has_its_share_of_epsilon_and_the_answer_costs_what_was_asked(statistic: str) -> None:
    """As without persons at a quarter of epsilon, of four rows each: the same way, number, noise and interval."""
    frame = pd.DataFrame({"x": NUMBERS, "who": np.arange(ROWS) // 4})
    column = {"x": Numeric(0, 10_000, bins=50, unit=1, missing="drop")}
    tables = (Schema(column, person="who", rows_per_person=4), Schema(column))
    of_persons, of_rows = (
        STATISTICS[statistic](jostle.rehearse(Table.from_frame(frame, schema), epsilon=9, seed=5), epsilon)
        for schema, epsilon in zip(tables, ("2", "1/2"), strict=True)
    )
    assert (of_persons.cost, of_rows.cost) == (2, Fraction(1, 2))
    assert of_persons.value == of_rows.value
    assert of_persons.scale == of_rows.scale
    assert of_persons.interval() == of_rows.interval()


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_one_row_changes_the_spread_by_no_more_than_is_said_whatever_there_is(rows: int) -> None:
    """Of all tables of up to five rows, whatever number of rows is declared; and it is n times the variance."""
    most, largest = 3, 5
    schema = Schema({"x": Numeric(0, most, bins=3, unit=1, missing="drop")}, neighbours="replace_one", rows=rows)
    mechanism = AddNoiseToSpread(Moments("x", 2, most))

    def spread(numbers: tuple[int, ...]) -> int:
        products = [((most - u) ** 2, 2 * u * (most - u), u * u) for u in numbers]
        return mechanism.spread(np.sum([(0, 0, 0), *products], axis=0, dtype=np.int64), schema)

    apart = set()
    for length in range(largest):
        for numbers in itertools.combinations_with_replacement(range(most + 1), length):
            ends = [spread((*numbers, more)) for more in range(most + 1)]
            apart |= {max(ends) - min(ends), *(abs(end - spread(numbers)) for end in ends)}
            if length == rows:
                assert spread(numbers) == math.floor(rows * pvariance(map(Fraction, numbers)))
    assert max(apart) <= mechanism.scale(schema, Fraction(1))
    assert max(apart) > mechanism.scale(schema, Fraction(1)) / 3
