"""The auditor's own statistics: its bounds hold as often as it says, and come close to the truth.

All noise is seeded, so nothing here flakes; the false-alarm rates are what they would be over seeds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from jostle.audit import Pair, Sampler, Subject, chosen_pairs
from jostle.audit.auditor import statistical_bound
from jostle.audit.counting import NoisyCounts
from jostle.audit.outputs import best_events, learn_orders, least_chance, log_ratio_bound, most_chance
from jostle.audit.subjects import Sample
from jostle.privacy.noise import Noise, SeededBits

ONE = Fraction(1)


def known(sample: Sample[int]) -> Subject[int]:
    """Return a mechanism on a single bit as a subject."""
    return Subject(
        name="Known",
        module=__name__,
        about="a mechanism of known loss",
        pairs=chosen_pairs("add_remove", lambda first, second: abs(first - second) == 1, Pair(0, 1, "0 and 1")),
        sample=sample,
    )


def randomised_response(noise: Sampler, data: int, epsilon: Fraction, size: int) -> NDArray[np.int64]:
    """Tell the bit, or its opposite; the chance of the truth is a fraction near e^epsilon / (1 + e^epsilon)."""
    truth = Fraction(1 / (1 + math.exp(-epsilon)))
    return np.where(noise.bernoulli(truth, size), data, 1 - data)


def nothing(noise: Sampler, data: int, epsilon: Fraction, size: int) -> NDArray[np.int64]:
    """Tell one of 10,000 numbers, whatever the bit."""
    return noise.below(10_000, size)


def two_counts(noise: Sampler, data: int, epsilon: Fraction, size: int) -> NDArray[np.int64]:
    """Tell two counts that both hold the bit, so that the loss is twice epsilon."""
    return data + noise.discrete_laplace(1 / epsilon, 2 * size).reshape(size, 2)


@settings(max_examples=60)
@given(data=st.data(), runs=st.integers(1, 3000), alpha=st.sampled_from([0.2, 0.01, 1e-5]))
def test_the_limits_on_a_chance_are_those_of_clopper_and_pearson(data: st.DataObject, runs: int, alpha: float) -> None:
    hits = data.draw(st.integers(0, runs))
    interval = binomtest(hits, runs).proportion_ci(1 - 2 * alpha, method="exact")

    assert float(least_chance(hits, runs, alpha)) == pytest.approx(interval.low, rel=1e-6, abs=1e-12)
    assert float(most_chance(hits, runs, alpha)) == pytest.approx(interval.high, rel=1e-6, abs=1e-12)


def test_an_event_never_seen_bounds_nothing_and_one_always_seen_bounds_little() -> None:
    assert log_ratio_bound(0, 500, (1000, 1000), 0.01) == -math.inf
    assert -0.02 < float(log_ratio_bound(1000, 1000, (1000, 1000), 0.01)) < 0


@pytest.mark.parametrize(("epsilon", "share"), [(Fraction(1, 10), 0.55), (ONE, 0.9), (Fraction(3), 0.9)])
def test_bounds_on_randomised_response_stay_below_the_truth_and_come_close(epsilon: Fraction, share: float) -> None:
    """With confidence 0.8, a fifth of 200 audits may exceed the truth; more than 58 would do so with chance 0.001."""
    bounds = [
        statistical_bound(known(randomised_response), epsilon, 20_000, 0.8, Noise(SeededBits(seed))).epsilon
        for seed in range(200)
    ]

    assert sum(bound > epsilon for bound in bounds) <= 58
    assert float(np.median(bounds)) > share * epsilon


def test_picking_among_thousands_of_events_does_not_make_a_loss_out_of_nothing() -> None:
    """The two inputs are told apart by nothing; the event with the largest ratio among 10,000 outputs is pure luck."""
    bounds = []
    for seed in range(60):
        bound = statistical_bound(known(nothing), ONE, 2000, 0.8, Noise(SeededBits(seed)))
        bounds.append(bound.epsilon)

    assert sum(bound > 0 for bound in bounds) <= 21


def test_the_choosing_runs_alone_would_have_made_one() -> None:
    """What the previous test guards against: the bound on the runs that chose the event."""
    noise = Noise(SeededBits(3))
    first, second = nothing(noise, 0, ONE, 2000), nothing(noise, 1, ONE, 2000)
    order = next(learn_orders(first, second, None))

    lucky = max(event.expected for event in best_events(order, first, second, 0.2))

    assert lucky > 0.5


def test_evidence_from_several_numbers_is_added_up() -> None:
    bound = statistical_bound(known(two_counts), ONE, 100_000, 0.999, Noise(SeededBits(4)))

    assert 1.85 < bound.epsilon < 2


def test_a_noisy_count_is_seen_to_lose_nearly_all_it_claims() -> None:
    sample = NoisyCounts(sensitivity=1).sample

    def one_count(noise: Sampler, data: int, epsilon: Fraction, size: int) -> Any:
        return sample(noise, (data,), epsilon, size)

    bound = statistical_bound(known(one_count), ONE, 100_000, 0.999, Noise(SeededBits(5)))

    assert 0.95 < bound.epsilon < 1
    assert bound.samples == 50_000
    assert bound.confidence == 0.999


def test_an_event_is_turned_round_when_the_second_input_is_the_likelier() -> None:
    first, second = np.array([0] * 900 + [1] * 100), np.array([0] * 500 + [1] * 500)
    order = next(learn_orders(first, second, None))

    forward, backward = best_events(order, first, second, 0.01)

    assert backward.sign == -1
    assert backward.holds(np.array([0, 1])).tolist() == [False, True]
    assert backward.about == "output 1"
    assert backward.expected > forward.expected


def test_seeded_audits_repeat_themselves() -> None:
    again = [statistical_bound(known(two_counts), ONE, 5000, 0.99, Noise(SeededBits(6))) for _ in range(2)]

    assert again[0] == again[1]
