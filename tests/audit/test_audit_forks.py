"""Enumeration by running the mechanism through all outcomes, against formulas and brute force."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.audit import Forks, Sampler, enumerated, enumerated_runs, laplace, privacy_loss
from jostle.audit.auditor import exact_loss
from jostle.audit.forks import permute_and_flip_chances
from jostle.audit.subjects import Vector
from jostle.errors import AuditError
from jostle.privacy.reals import Exponential, Tail


def walk_and_flip(scores: list[int], rate: Fraction) -> list[float]:
    """Permute-and-flip as its paper states it: over all orders, the first whose coin comes up."""
    coins = [math.exp(-(max(scores) - score) * float(rate)) for score in scores]
    picked = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1 / len(orders)
        for candidate in order:
            picked[candidate] += reached * coins[candidate]
            reached *= 1 - coins[candidate]
    return picked


@given(
    scores=st.lists(st.integers(-3, 8), min_size=1, max_size=5), rate=st.fractions(Fraction(1, 9), 3, max_denominator=9)
)
def test_permute_and_flip_picks_as_often_as_walking_through_all_orders(scores: list[int], rate: Fraction) -> None:
    assert permute_and_flip_chances(scores, rate) == pytest.approx(walk_and_flip(scores, rate), abs=1e-12)


@settings(max_examples=20)
@given(scale=st.fractions(Fraction(1, 4), 6, max_denominator=5), centre=st.integers(-3, 3))
def test_a_noisy_count_run_through_its_noise_has_the_distribution_of_the_formula(scale: Fraction, centre: int) -> None:
    found = enumerated_runs(lambda noise: int(noise.discrete_laplace(scale, 1)[0]) + centre)

    expected = laplace(centre, scale)
    assert found.missing <= 1e-12
    assert all(found.chances[value] == pytest.approx(expected.chances[value], rel=1e-12) for value in found.chances)


def test_two_draws_of_noise_are_all_pairs_of_values() -> None:
    scale = Fraction(1, 2)
    found = enumerated_runs(lambda noise: int(noise.discrete_laplace(scale, 2).sum()), cut=1e-9)

    single = laplace(0, scale).chances
    convolved: dict[int, float] = defaultdict(float)
    for (one, chance), (other, another) in product(single.items(), single.items()):
        convolved[one + other] += chance * another
    assert all(
        abs(found.chances.get(value, 0.0) - convolved[value]) <= found.missing + 1e-12 for value in range(-9, 10)
    )
    assert 0 < found.missing <= 2e-9


def test_every_sampler_has_its_distribution() -> None:
    def chances(draw: Callable[[Sampler], Hashable]) -> dict[Any, float]:
        return dict(enumerated_runs(draw).chances)

    half = Fraction(1, 2)
    assert chances(lambda noise: tuple(noise.bernoulli(Fraction(1, 3), 2))) == pytest.approx(
        {(False, False): 4 / 9, (False, True): 2 / 9, (True, False): 2 / 9, (True, True): 1 / 9}
    )
    assert chances(lambda noise: bool(noise.bernoulli(Fraction(0), 1)[0])) == {False: 1.0}
    assert chances(lambda noise: bool(noise.bernoulli_exponential(half, 1)[0])) == pytest.approx(
        {False: 1 - math.exp(-0.5), True: math.exp(-0.5)}
    )
    assert chances(lambda noise: int(noise.below(3, 1)[0])) == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert chances(lambda noise: tuple(noise.distinct(3, 2))) == pytest.approx(
        dict.fromkeys(permutations(range(3), 2), 1 / 6)
    )
    assert chances(lambda noise: noise.binomial(3, half)) == pytest.approx({0: 1 / 8, 1: 3 / 8, 2: 3 / 8, 3: 1 / 8})
    assert chances(lambda noise: tuple(noise.successes(2, half))) == pytest.approx(
        dict.fromkeys([(), (0,), (1,), (0, 1)], 1 / 4)
    )
    passes = chances(lambda noise: bool(noise.bernoulli(Tail(Fraction(2), 1), 1)[0]))
    assert passes[True] == pytest.approx(math.exp(-1) / (1 + math.exp(-0.5)))
    waits = chances(lambda noise: int(noise.geometric(Exponential(Fraction(2)), 1)[0]))
    assert waits[0] == pytest.approx(1 - math.exp(-0.5))
    assert waits[3] == pytest.approx((1 - math.exp(-0.5)) * math.exp(-1.5))
    beyond = chances(lambda noise: int(noise.laplace_above(Fraction(2), 5, 1)[0]))
    assert min(beyond) == 6
    assert beyond[7] == pytest.approx((1 - math.exp(-0.5)) * math.exp(-0.5))
    assert chances(lambda noise: noise.permute_and_flip(np.array([0, 0]), Fraction(1))) == pytest.approx(
        {0: 0.5, 1: 0.5}
    )


def test_what_is_drawn_next_may_depend_on_what_was_drawn() -> None:
    def run(noise: Sampler) -> tuple[int, ...]:
        first = int(noise.below(2, 1)[0])
        return (first, *noise.below(3, first).tolist())

    assert dict(enumerated_runs(run).chances) == pytest.approx({(0,): 0.5, (1, 0): 1 / 6, (1, 1): 1 / 6, (1, 2): 1 / 6})


def test_a_coin_that_hardly_ever_comes_up_stays_possible() -> None:
    """The far candidate has chance exp(-2000): nought as a double, but no reason to call the loss infinite."""

    def sample(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> list[int]:
        return [noise.permute_and_flip(np.array(data), epsilon) for _ in range(size)]

    select = enumerated(sample)
    near, far = select((0, 1), Fraction(1)), select((0, 2000), Fraction(1))

    assert math.isfinite(exact_loss(near, far).epsilon)
    assert privacy_loss(near, near) < 1e-9


@pytest.mark.slow
def test_too_many_combinations_are_refused_with_a_way_out() -> None:
    with pytest.raises(AuditError, match="more than 200,000 combinations") as refusal:
        enumerated_runs(lambda noise: int(noise.discrete_laplace(5, 4).sum()))

    assert refusal.value.fix is not None
    assert "independent parts" in refusal.value.fix


def test_each_path_is_as_likely_as_its_draws() -> None:
    forks = Forks()
    forks.below(4, 1)
    forks.bernoulli(Fraction(1, 5), 1)

    assert forks.chance == pytest.approx(1 / 4 * 4 / 5)
    assert forks.advance()
