"""Exact distributions and the privacy loss between them, against formulas and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.audit.auditor import exact_loss, privacy_loss
from jostle.audit.subjects import Distribution, at_least, between, independent, laplace, laplace_table, mass
from jostle.errors import AuditError

scales = st.fractions(min_value=Fraction(1, 5), max_value=30, max_denominator=7)
tables = st.lists(st.integers(1, 50), min_size=2, max_size=4).map(
    lambda weights: {place: weight / sum(weights) for place, weight in enumerate(weights)}
)


def test_randomised_response_loses_the_log_odds_of_telling_the_truth() -> None:
    yes, no = Distribution({"yes": 0.75, "no": 0.25}), Distribution({"yes": 0.25, "no": 0.75})

    assert privacy_loss(yes, no) == pytest.approx(math.log(3), abs=1e-9)
    assert privacy_loss(yes, no) < math.log(3)


def test_an_output_that_only_one_input_gives_rise_to_is_an_infinite_loss() -> None:
    sometimes, never = Distribution({0: 0.99, 1: 0.01}), Distribution({0: 1.0})

    assert exact_loss(sometimes, never).epsilon == math.inf
    assert exact_loss(sometimes, never).event == (1,)
    assert exact_loss(never, sometimes).epsilon == pytest.approx(math.log(1 / 0.99), abs=1e-9)


def test_mass_left_out_may_belong_to_any_output_so_no_loss_is_infinite() -> None:
    loss = exact_loss(Distribution({0: 0.9, 1: 0.1}), Distribution({0: 0.999}, missing=0.001))

    assert loss.epsilon == pytest.approx(math.log(0.1 / 0.001), abs=1e-9)


def test_a_chance_too_small_for_a_double_is_not_taken_for_an_impossible_one() -> None:
    tiny, nothing = Distribution({0: 1.0, 1: 0.0}), Distribution({0: 0.5, 1: 0.5})

    assert math.isfinite(exact_loss(nothing, tiny).epsilon)
    assert exact_loss(tiny, nothing).epsilon == pytest.approx(math.log(2), abs=1e-9)


def test_chances_must_add_up_to_one() -> None:
    with pytest.raises(AuditError, match=r"add up to 0\.9"):
        Distribution({0: 0.4, 1: 0.5})


@given(first=st.tuples(tables, tables), second=st.tuples(tables, tables))
def test_the_loss_of_independent_parts_is_that_of_all_their_combinations(
    first: tuple[dict[int, float], dict[int, float]], second: tuple[dict[int, float], dict[int, float]]
) -> None:
    def joint(parts: tuple[dict[int, float], dict[int, float]]) -> Distribution:
        return Distribution({(a, b): p * q for (a, p), (b, q) in product(parts[0].items(), parts[1].items())})

    def apart(parts: tuple[dict[int, float], dict[int, float]]) -> Distribution:
        return independent(Distribution(parts[0]), Distribution(parts[1]))

    combined, summed = exact_loss(joint(first), joint(second)), exact_loss(apart(first), apart(second))

    assert dict(apart(first).outputs()) == pytest.approx(dict(joint(first).chances))
    assert summed.epsilon == combined.epsilon or summed.epsilon == pytest.approx(combined.epsilon, abs=1e-8)


@given(scale=scales)
def test_the_table_of_noise_holds_all_its_mass_and_all_its_tails(scale: Fraction) -> None:
    values, chances, left = laplace_table(scale)

    assert left <= 1e-15
    assert math.fsum(chances) == pytest.approx(1, abs=1e-12)
    above = [math.fsum(chances[values >= value]) for value in range(-5, 6)]
    assert at_least(scale, np.arange(-5, 6)).tolist() == pytest.approx(above, abs=1e-12)
    for low, high in [(-4, -2), (-3, 3), (0, 0), (2, 9), (3, 2)]:
        inside = math.fsum(chances[(values >= low) & (values <= high)])
        assert between(scale, low, high) == pytest.approx(inside, abs=1e-12)


@given(scale=scales, value=st.integers(-40, 40))
def test_neighbouring_values_of_noise_differ_by_the_factor_that_makes_it_private(scale: Fraction, value: int) -> None:
    now, later = mass(scale, np.array([value, value + 1]))

    assert abs(math.log(now / later)) == pytest.approx(float(1 / scale), rel=1e-9)


@given(scale=scales, steps=st.integers(1, 4))
def test_a_shifted_count_loses_the_shift_over_the_scale(scale: Fraction, steps: int) -> None:
    exact = float(steps / scale)

    assert exact * (1 - 1e-6) - 1e-6 < privacy_loss(laplace(7, scale), laplace(7 + steps, scale)) < exact
