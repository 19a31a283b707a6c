"""Statistics: what they say, what they cost, and how often their intervals cover what they are about."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle import Categorical, Numeric, Probe, Schema, Table
from jostle.errors import JostleError
from jostle.privacy.evidence import CountEvidence, MeanEvidence, QuantileEvidence, SumEvidence, VarianceEvidence
from jostle.privacy.measured import Measured, MeasuredCount
from jostle.privacy.noise import Noise
from jostle.privacy.scores import QuantileScore
from jostle.privacy.tails import combined_reach, count_from, mean_from, most_reach, rank_apart, reach
from jostle.tables.number_kernels import Ranks
from jostle.tables.schema import Neighbours

SURE = 10**6
"""An epsilon at which noise is next to nothing."""
PEOPLE = pd.DataFrame(
    {
        "age": [18, 20, 20, 35, 41, 44, 62, 62, 62, 80],
        "income": [0.5, 12.25, 13, 9.75, 100, 31, 30, 28.5, 7, 1],
        "region": ["north", "south", "south", "south", "east", "east", "south", "north", "south", "north"],
        "smokes": ["no", "yes", "no", "no", "yes", "no", "no", "yes", "no", "no"],
    }
)


def people(neighbours: Neighbours = "add_remove") -> Schema:
    return Schema(
        {
            "age": Numeric(18, 98, bins=8, unit=1),
            "income": Numeric(0, 100, bins=4),
            "region": Categorical(["north", "east", "south", "west"]),
            "smokes": Categorical(["no", "yes"]),
        },
        neighbours=neighbours,
        rows=10 if neighbours == "replace_one" else None,
    )


def probe(neighbours: Neighbours = "add_remove", epsilon: float = 10**9) -> Probe:
    return jostle.rehearse(Table.from_frame(PEOPLE, people(neighbours)), epsilon=epsilon, seed=5)


STATISTICS: dict[str, tuple[Callable[[Probe, Any], Any], Any]] = {
    "count": (lambda db, e: db.count(e), 10),
    "sum": (lambda db, e: db.sum("income", epsilon=e), PEOPLE.income.sum()),
    "mean": (lambda db, e: db.mean("age", epsilon=e), PEOPLE.age.mean()),
    "variance": (lambda db, e: db.variance("age", epsilon=e), PEOPLE.age.var(ddof=0)),
    "median": (lambda db, e: db.median("income", epsilon=e), 12.25),
    "first quarter": (lambda db, e: db.quantile("age", "1/4", epsilon=e), 20),
    "least": (lambda db, e: db.quantile("age", 0, epsilon=e), 18),
    "greatest": (lambda db, e: db.quantile("age", 1, epsilon=e), 80),
}


@pytest.mark.representative("name")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", STATISTICS)
def test_with_next_to_no_noise_they_are_the_tables_own(name: str, neighbours: Neighbours) -> None:
    ask, told = STATISTICS[name]
    answer = ask(probe(neighbours), SURE)
    low, high = answer.interval()

    # Of the median of ten, anything between the fifth and the sixth is one; least and greatest are picked from below.
    within = 0.76 if name == "median" else 18 if name == "greatest" else 0.02
    assert answer.value == pytest.approx(told, abs=within)
    assert low - 0.02 <= told <= high + 0.02
    assert type(answer.value) in {int, float}
    assert answer.scale <= 20


@pytest.mark.representative("name")
@pytest.mark.parametrize("name", [*STATISTICS, "histogram", "crosstab", "top_k"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_they_cost_what_they_are_asked_with(name: str, neighbours: Neighbours) -> None:
    asks: dict[str, Callable[[Probe, Any], Any]] = {
        "histogram": lambda db, e: db.histogram("region", epsilon=e),
        "crosstab": lambda db, e: db.crosstab("region", "age", epsilon=e),
        "top_k": lambda db, e: db.top_k("region", 2, epsilon=e),
    }
    ask = asks.get(name) or STATISTICS[name][0]
    db = probe(neighbours, epsilon=2)
    parts = db.parts("smokes")
    answer = ask(db, "1/3")

    assert answer.cost == db.spent == Fraction(1, 3)
    assert len(db.charges) == 1
    assert ask(parts[0], "1/7").cost == parts[0].spent == Fraction(1, 7)


def test_answers_compute_as_numbers() -> None:
    db = probe()
    count, mean = db.count(SURE), db.mean("age", epsilon=SURE)

    assert (count + 1, count / 4, count > 9, -count, range(count)[-1]) == (11, 2.5, True, -10, 9)
    assert mean * 2 == 2 * mean.value
    assert f"{mean:.1f} {count} {mean}" == f"44.4 10 {mean}"
    assert float(f"{mean}") == pytest.approx(44.4, abs=1e-3)
    assert json.dumps({"n": count}) == '{"n": 10}'
    assert np.sqrt(count) == math.sqrt(10)
    assert pickle.loads(pickle.dumps(mean)).interval() == copy.deepcopy(mean).interval() == mean.interval()
    assert type(count + 0) is int
    assert type(mean + 0) is float


def test_the_commonest_come_with_their_counts() -> None:
    top = probe().top_k("region", 2, epsilon=SURE)

    assert top.value == ("south", "north")
    assert dict(top) == {"south": 5, "north": 3}
    assert top.interval() == {"south": (5, 5), "north": (3, 3)}
    assert str(top) == "south  5\nnorth  3"
    assert isinstance(top, Measured)


# The score that quantiles are picked by


def tallies(score: QuantileScore, most: int) -> list[np.ndarray]:
    return [np.array(counts) for counts in product(range(most + 1), repeat=len(score.starts))]


@pytest.mark.parametrize("share", ["1/2", "0", "1", "1/3", "9/10"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_row_moves_a_quantiles_scores_no_farther_than_they_say(share: str, neighbours: Neighbours) -> None:
    part = Fraction(share)
    schema = people(neighbours)
    score = QuantileScore("age", [0, 10, 20, 60], part.numerator, part.denominator)
    units = np.eye(4, dtype=np.int64)
    apart = 0
    for tally in tallies(score, 2):
        others = [tally + unit for unit in units]
        if neighbours == "replace_one":
            others += [tally - one + other for one in units for other in units if np.all(tally >= one)]
        for other in others:
            moved = np.abs(score.scores(other, schema) - score.scores(tally, schema)).max()
            apart = max(apart, int(moved))

    assert apart == score.sensitivity(schema)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.fractions(0, 1, max_denominator=12))
def test_the_best_scores_are_where_the_quantile_is(steps: list[int], part: Fraction) -> None:
    score = QuantileScore("age", list(range(10)), part.numerator, part.denominator)
    scores = score.scores(np.bincount(steps, minlength=10), people())
    ordered = sorted(steps)
    rank = part * len(steps)
    holding = {
        place
        for place in range(10)
        if sum(step < place for step in steps) <= rank <= sum(step <= place for step in steps)
    }

    assert {place for place in range(10) if scores[place] == 0} == holding
    assert ordered[max(0, math.ceil(rank) - 1)] in holding


def test_a_quantile_counts_what_its_kernel_counts() -> None:
    score = QuantileScore("age", [0, 5], 1, 2)

    assert isinstance(score.kernel(people()), Ranks)
    with pytest.raises(JostleError, match="above 1"):
        QuantileScore("age", [0, 5], 3, 2).kernel(people())


# How far noise goes


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100)])
@pytest.mark.parametrize("miss", [0.5, 0.1, 0.05, 0.001])
def test_reach_is_the_least_that_is_enough(scale: Fraction, miss: float) -> None:
    ratio = math.exp(-1 / float(scale))

    def beyond(distance: int) -> float:
        return 2 * ratio ** (distance + 1) / (1 + ratio)

    far = reach(scale, miss)
    assert beyond(far) <= miss * (1 + 1e-9)
    assert far == 0 or beyond(far - 1) > miss


@pytest.mark.parametrize("weights", [[1], [1, 1], [1, 0.2], [0.3, 0.7], [1, 1, 1], [0.5] * 20, [0.9] * 3 + [0.1] * 12])
def test_combined_reach_is_that_of_the_sum(weights: list[float]) -> None:
    generator = np.random.default_rng(3)
    sums = np.abs(sum(weight * generator.laplace(size=400_000) for weight in weights))
    for miss in (0.5, 0.1, 0.02):
        assert np.mean(sums > combined_reach(weights, 1, miss)) == pytest.approx(miss, rel=0.05)


# Coverage, over all noise there can be


def covered(evidence: Callable[[int], Any], truth: float, noise: Fraction, miss: float, span: int) -> float:
    """Return how likely an interval is to cover, adding up the chances of all draws of the noise."""
    ratio = math.exp(-1 / float(noise))
    chances = {draw: (1 - ratio) / (1 + ratio) * ratio ** abs(draw) for draw in range(-span, span + 1)}
    total = 0.0
    for draw, chance in chances.items():
        low, high = evidence(draw).own(miss)
        total += chance * (low <= truth <= high)
    return total


@pytest.mark.parametrize("miss", [0.3, 0.05])
@pytest.mark.parametrize("noise", [Fraction(1, 2), Fraction(3)])
@pytest.mark.parametrize("truth", [0, 1, 40])
def test_intervals_of_single_counts_and_sums_cover_as_often_as_they_say(
    truth: int, noise: Fraction, miss: float
) -> None:
    one = Fraction(1)
    assert covered(lambda draw: CountEvidence(truth + draw, noise, one), truth, noise, miss, 90) >= 1 - miss
    found = covered(lambda draw: SumEvidence(truth + draw, one / 2, noise, one), truth / 2, noise, miss, 90)
    assert 1 - miss <= found <= 1 - miss / math.exp(1 / float(noise)) + 1e-9


def drawn(noise: Fraction, size: int, times: int) -> np.ndarray:
    return Noise().discrete_laplace(noise, size * times).reshape(times, size)


TIMES = 250
MOST_MISSED = 0.1 * TIMES + 4 * math.sqrt(0.09 * TIMES)
"""Of so many intervals at level 0.9: four standard deviations, so that this fails by chance once in 30,000 runs."""


def missed(evidence: Callable[[list[int]], Any], truth: float, noise: Fraction, size: int) -> int:
    intervals = [evidence(row).own(0.1) for row in drawn(noise, size, TIMES).tolist()]
    return sum(not low - 1e-9 <= truth <= high + 1e-9 for low, high in intervals)


@pytest.mark.parametrize("cells", [(0, 300), (40, 260), (150, 150), (30_000, 12_000)])
def test_intervals_of_means_cover(cells: tuple[int, int]) -> None:
    noise, one = Fraction(30), Fraction(1)
    truth = cells[1] / sum(cells)
    count = missed(
        lambda draw: MeanEvidence(cells[0] + draw[0], cells[1] + draw[1], noise, 30, 0 * one, one, one),
        truth,
        noise,
        2,
    )
    assert count <= MOST_MISSED
    # Nor are they wider than need be: they miss about as often as they may.
    assert count >= 0.1 * TIMES / 4 or 0 in cells


@pytest.mark.parametrize("numbers", [[0, 30, 30, 0], [15] * 50, list(range(31)) * 9, [3, 3, 4, 29]])
def test_intervals_of_variances_cover(numbers: list[int]) -> None:
    noise, one, steps = Fraction(90), Fraction(1), np.array(numbers)
    cells = [int(each.sum()) for each in ((30 - steps) ** 2, 2 * steps * (30 - steps), steps**2)]

    def evidence(draw: list[int]) -> VarianceEvidence:
        first, second, third = (cell + more for cell, more in zip(cells, draw, strict=True))
        return VarianceEvidence((first, second, third), noise, 900, Fraction(30), 0.0, one)

    assert missed(evidence, float(steps.var()), noise, 3) <= MOST_MISSED


@pytest.mark.parametrize("share", ["1/2", "1/10"])
def test_intervals_of_quantiles_cover(share: str) -> None:
    numbers = np.random.default_rng(1).integers(0, 100, 300)
    starts = np.array([0, 16, 32, 40, 44, 46, 47, 48, 49, 51, 55, 63, 79])
    counts = np.histogram(numbers, [*starts, 100])[0]
    noise = Fraction(4)
    ends = tuple((Fraction(int(low)), Fraction(int(high) - 1)) for low, high in pairwise([*starts, 100]))
    truth = float(np.sort(numbers)[math.ceil(Fraction(share) * 300) - 1])

    def evidence(draw: list[int]) -> QuantileEvidence:
        noisy = tuple(int(count) + more for count, more in zip(counts, draw, strict=True))
        return QuantileEvidence(Fraction(47), Fraction(share), noisy, ends, noise, Fraction(1))

    assert missed(evidence, truth, noise, len(starts)) <= MOST_MISSED


def test_intervals_are_wider_for_populations_and_for_higher_levels() -> None:
    db = probe()
    for ask, _ in STATISTICS.values():
        answer = ask(db, 2)
        ends = [answer.interval(0.5), answer.interval(0.9)]
        if not isinstance(answer, MeasuredCount) and answer.evidence.__class__ is SumEvidence:
            continue
        ends.append(answer.interval(0.9, population=True))
        for (inner_low, inner_high), (low, high) in pairwise(ends):
            assert low <= inner_low <= inner_high <= high


# Populations


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.93])
def test_bounds_on_samples_hold_for_coins(mean: float) -> None:
    """Against all that so many coins can show."""
    rows, miss = 60, 0.05
    chances = [math.comb(rows, up) * mean**up * (1 - mean) ** (rows - up) for up in range(rows + 1)]
    for upward in (False, True):
        wrong = sum(
            chance
            for up, chance in enumerate(chances)
            if (mean_from(up / rows, rows, miss, upward=upward) - mean) * (1 if upward else -1) < -1e-12
        )
        assert wrong <= miss
        expected = mean * rows
        wrong = sum(
            chance
            for up, chance in enumerate(chances)
            if (count_from(up, miss, upward=upward) - expected) * (1 if upward else -1) < -1e-9
        )
        assert wrong <= miss
        apart = rank_apart(mean, rows, miss, upward=upward)
        assert sum(c for up, c in enumerate(chances) if (up / rows > apart) == upward and up / rows != apart) <= miss


@pytest.mark.parametrize("weights", [[1], [1, 0.2], [0.5] * 20, [0.9] * 3 + [0.1] * 12])
def test_what_is_worked_out_at_once_is_no_less_than_the_reach(weights: list[float]) -> None:
    for miss in (0.5, 0.05, 0.001):
        assert combined_reach(weights, 1, miss) <= most_reach(weights, miss)
