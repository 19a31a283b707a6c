from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from enumeration import DIGITS, exponential
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jostle.errors import NoiseError
from jostle.privacy import reals
from jostle.privacy.reals import Chance, Enclosure, Exponential, Miss, RationalChance, Tail, enclose_exponential

UNTIMED = settings(deadline=None)
BITS = st.integers(0, 400)
SCALES = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=1000)
CHANCES = st.fractions(min_value=Fraction(1, 10**9), max_value=1 - Fraction(1, 10**9), max_denominator=10**9)


def holds(enclosure: Enclosure, truth: Fraction, bits: int) -> bool:
    """Return whether the enclosure holds a truth known to some 150 digits after the point."""
    low, high = enclosure
    slack = Fraction(1 << bits, 10**150)
    return low <= truth * (1 << bits) + slack and truth * (1 << bits) - slack <= high


@UNTIMED
@given(st.fractions(min_value=0, max_value=1000, max_denominator=10**6), BITS)
@example(Fraction(0), 0)
@example(Fraction(0), 64)
@example(Fraction(1), 64)
@example(Fraction(64), 64)
@example(Fraction(64) - Fraction(1, 10**6), 64)
def test_exponential_is_enclosed_within_two_units(x: Fraction, bits: int) -> None:
    low, high = enclose_exponential(x, bits)
    assert holds((low, high), exponential(x), bits)
    assert 0 <= low < high <= low + 2
    assert high <= 1 << bits or bits == 0


@UNTIMED
@given(st.fractions(min_value=0, max_value=50, max_denominator=1000), st.integers(10, 100))
def test_more_bits_enclose_more_tightly(x: Fraction, bits: int) -> None:
    low, high = enclose_exponential(x, bits)
    finer_low, finer_high = enclose_exponential(x, bits + 8)
    assert Fraction(finer_high - finer_low, 1 << 8) < high - low


def test_extreme_exponents_take_no_time_to_speak_of() -> None:
    """Squaring back exp(-10**4000) would take 13,000 squarings; it is far below any unit asked for."""
    assert enclose_exponential(Fraction(10**4000), 64) == (0, 1)
    low, high = enclose_exponential(Fraction(1, 10**4000), 64)
    assert low < high == 1 << 64


def test_a_growing_exponential_is_refused() -> None:
    with pytest.raises(NoiseError, match="x is -1"):
        enclose_exponential(Fraction(-1), 64)


@UNTIMED
@given(SCALES, st.integers(0, 10**6), BITS)
def test_powers_of_an_exponential(scale: Fraction, exponent: int, bits: int) -> None:
    low, high = Exponential(scale).power(exponent, bits)
    truth = exponential(min(exponent / scale, Fraction(1000)))
    assert holds((low, high), truth, bits)
    assert high - low <= 2


@UNTIMED
@given(SCALES, BITS)
def test_an_exponential_is_a_chance_too(scale: Fraction, bits: int) -> None:
    assert Exponential(scale).enclose(bits) == Exponential(scale).power(1, bits)
    assert Exponential(scale).length - 1 < scale <= Exponential(scale).length


@UNTIMED
@given(CHANCES | st.sampled_from([Fraction(0), Fraction(1), Fraction(3, 8)]), BITS)
def test_a_known_chance_is_enclosed_by_the_two_units_next_to_it(chance: Fraction, bits: int) -> None:
    low, high = RationalChance(chance).enclose(bits)
    assert low <= chance * (1 << bits) <= high
    assert high - low == (0 if (chance * (1 << bits)).denominator == 1 else 1)


def tail(scale: Fraction, threshold: int) -> Fraction:
    """Return P(X > threshold) from the mass function: P(|X| <= s) = mass * (1 + 2 * (q + ... + q**s))."""
    q = exponential(1 / scale)
    s = threshold if threshold >= 0 else -threshold - 1
    beyond = (1 - (1 - q) / (1 + q) * (1 + 2 * q * (1 - q**s) / (1 - q))) / 2
    return beyond if threshold >= 0 else 1 - beyond


@UNTIMED
@given(st.fractions(min_value=Fraction(1, 20), max_value=100, max_denominator=100), st.integers(-100, 100), BITS)
@example(Fraction(1), 0, 64)
@example(Fraction(1), -1, 64)
def test_tails_of_discrete_laplace_noise(scale: Fraction, threshold: int, bits: int) -> None:
    low, high = Tail(scale, threshold).enclose(bits)
    assert holds((low, high), tail(scale, threshold), bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 2


def test_tails_add_up_to_the_mass_function() -> None:
    """P(X > t-1) - P(X > t) = P(X = t), on both sides of 0."""
    scale, bits = Fraction(5, 3), 300
    q = exponential(1 / scale)
    for t in range(-9, 10):
        upper, lower = (Tail(scale, at).enclose(bits) for at in (t - 1, t))
        found = Fraction(upper[0] - lower[0], 1 << bits)
        assert abs(found - (1 - q) / (1 + q) * q ** abs(t)) < Fraction(4, 1 << bits)


def power(base: Fraction, exponent: int) -> Fraction:
    """Return base ** exponent to 190 digits."""
    truth = DIGITS.power(DIGITS.divide(Decimal(base.numerator), Decimal(base.denominator)), exponent)
    return Fraction(max(truth, Decimal("1e-500")))


@UNTIMED
@given(CHANCES, st.sampled_from([0, 1, 2, 255, 256, 257, 256**3, 256**7]), BITS)
def test_powers_of_a_miss(chance: Fraction, exponent: int, bits: int) -> None:
    low, high = Miss(RationalChance(chance)).power(exponent, bits)
    assert holds((low, high), power(1 - chance, exponent), bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 2


@UNTIMED
@given(
    st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=100),
    CHANCES,
    st.integers(-20, 20),
    st.sampled_from([1, 2, 255, 256]),
    st.integers(1, 24),
)
def test_enclosures_hold_without_guard_bits_too(
    scale: Fraction, chance: Fraction, threshold: int, exponent: int, bits: int
) -> None:
    """Carrying more bits makes enclosures tight; that they hold must not rest on it, or it holds by luck."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reals, "GUARD", 0)
        assert holds(enclose_exponential(scale, bits), exponential(scale), bits)
        assert holds(Tail(scale, threshold).enclose(bits), tail(scale, threshold), bits)
        assert holds(Miss(RationalChance(chance)).power(exponent, bits), power(1 - chance, exponent), bits)
        wait = Miss(Exponential(scale)).power(exponent, bits)
        assert holds(wait, power(1 - exponential(1 / scale), exponent), bits)


@pytest.mark.parametrize("chance", [Exponential(Fraction(1, 3)), Tail(Fraction(10), 30), Tail(Fraction(1), -2)])
def test_a_miss_of_an_irrational_chance(chance: Chance) -> None:
    low, high = chance.enclose(600)
    truth = (1 - Fraction(low + high, 2 << 600)) ** 1000
    for bits in (16, 64, 128, 256):
        miss = Miss(chance).power(1000, bits)
        assert holds(miss, truth, bits)
        assert miss[1] - miss[0] <= 2


def test_lengths_of_misses() -> None:
    assert Miss(RationalChance(Fraction(1))).length == 1
    assert Miss(RationalChance(Fraction(1, 3))).length in (3, 4)
    assert 0.99 < Miss(RationalChance(Fraction(1, 10**9))).length / 10**9 < 1.01
    assert Miss(RationalChance(Fraction(1, 10**50))).length == 1 << 64


def test_what_is_no_scale_and_no_chance_is_refused() -> None:
    for scale in (Fraction(0), Fraction(-1, 3)):
        with pytest.raises(NoiseError, match="must be above 0"):
            Exponential(scale)
        with pytest.raises(NoiseError, match="must be above 0"):
            Tail(scale, 1)
    for chance in (Fraction(-1, 10**9), 1 + Fraction(1, 10**9)):
        with pytest.raises(NoiseError, match="between 0 and 1"):
            RationalChance(chance)
