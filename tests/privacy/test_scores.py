"""Scores say how far a row can move them, and picks are as private as that makes them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from openings import schema

from jostle.privacy.scores import Fullest, pick_rate
from jostle.tables.schema import Neighbours

SCHEMA = schema()
CELLS = 3
TALLIES = [np.array(counts, dtype=np.int64) for counts in product(range(4), repeat=CELLS)]
UNITS = np.eye(CELLS, dtype=np.int64)


def neighbours(tally: np.ndarray, relation: Neighbours) -> list[np.ndarray]:
    """Return the counts with a row more, or with one row replaced; a row that enters a part counts as replaced."""
    entered = [tally + unit for unit in UNITS]
    if relation == "add_remove":
        return entered
    moved = [tally - one + other for one in UNITS for other in UNITS if np.all(tally >= one)]
    return entered + moved


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_fullest_moves_no_farther_than_it_says(relation: Neighbours) -> None:
    score, public = Fullest("region"), schema(relation)
    apart = 0
    for tally in TALLIES:
        for other in neighbours(tally, relation):
            moved = score.scores(other, public) - score.scores(tally, public)
            apart = max(apart, int(np.abs(moved).max()))
            assert not score.monotone(public) or np.all(moved >= 0)
    assert apart == score.sensitivity(public)


def test_columns_are_given_one_by_one_or_together() -> None:
    assert Fullest("region") == Fullest(["region"]) == Fullest(("region",))
    assert Fullest("region").kernel(SCHEMA).cells(SCHEMA) == 4


def chances(scores: np.ndarray, rate: float) -> list[float]:
    """Return how likely permute-and-flip is to pick each candidate, over all subsets of coins that come up."""
    coins = [math.exp(-rate * int(gap)) for gap in scores.max() - scores]
    picked = [0.0] * len(coins)
    everyone = range(len(coins))
    for size in range(1, len(coins) + 1):
        for winners in combinations(everyone, size):
            chance = math.prod(coins[each] if each in winners else 1 - coins[each] for each in everyone)
            for each in winners:
                picked[each] += chance / size
    return picked


def loss(relation: Neighbours, rate: float) -> float:
    """Return the largest privacy loss of a pick at this rate, over all small tallies and their neighbours."""
    worst = 0.0
    for tally in TALLIES:
        here = chances(tally, rate)
        for other in neighbours(tally, relation):
            worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(here, chances(other, rate), strict=True)))
    return worst


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_a_pick_loses_epsilon_and_no_more(epsilon: Fraction) -> None:
    """A monotone score affords twice the rate; one that is not would lose more at that rate."""
    twice, once = (float(pick_rate(epsilon, Fraction(1), monotone=monotone)) for monotone in (True, False))

    assert twice == 2 * once
    assert loss("add_remove", twice) <= float(epsilon) + 1e-9
    assert loss("replace_one", once) <= float(epsilon) + 1e-9
    assert loss("replace_one", twice) > float(epsilon) * 1.05
