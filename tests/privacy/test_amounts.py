from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jostle.errors import AmountError
from jostle.privacy.amounts import MOST_EXPONENT_DIGITS, Amount, epsilon_amount, exact, show_amount

UNTIMED = settings(deadline=None)


@UNTIMED
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.1)
@example(5e-324)
@example(-0.0)
def test_a_float_is_read_as_it_is_written(value: float) -> None:
    """0.1 means a tenth, not the double nearest to it; and the double nearest to what is read is the one given."""
    assert exact(value, "epsilon") == Fraction(repr(value))
    assert float(exact(value, "epsilon")) == value


@UNTIMED
@given(st.fractions())
def test_fractions_are_read_exactly(value: Fraction) -> None:
    assert exact(value, "epsilon") == value
    assert exact(f"{value.numerator}/{value.denominator}", "epsilon") == value


@pytest.mark.parametrize(
    "value",
    ["", "x", "0.1.2", "1/0", "nan", "inf", "-inf", "1e", "0x10", "1/3/4", "1/3e5", "1" * 10_000],
)
def test_text_that_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(AmountError, match=r"epsilon is .*, not a number") as caught:
        exact(value, "epsilon")
    assert caught.value.fix is not None
    assert len(caught.value.title) < 100


ABSURD = ["1e100000", "1e900000", "1e-9999999999", "1e+0000000009", "9" * 10_001, "1/" + "3" * 10_000]
HUGE = [10**20_000, Fraction(1, 3**50_000), Decimal("1e900000"), Decimal("-1e-900000"), Decimal(9**20_000)]


@pytest.mark.parametrize("value", [*ABSURD, *HUGE], ids=lambda value: f"{type(value).__name__}")
def test_numbers_that_would_take_for_ever_are_refused_unread(value: Amount) -> None:
    with pytest.raises(AmountError, match="epsilon is a number with too many digits") as caught:
        exact(value, "epsilon")
    assert len(str(caught.value)) < 300


@UNTIMED
@given(st.text(alphabet="0123456789eE+-./_ \u0663naif", max_size=30))
@example("1e9_9_9_9_9")
@example("1e\u0669\u0669\u0669\u0669\u0669")
def test_any_text_is_a_number_of_bounded_length_or_refused(text: str) -> None:
    with suppress(AmountError):
        number = exact(text, "epsilon")
        assert number == Fraction(text)
        assert max(abs(number.numerator), number.denominator) < 10 ** (10**MOST_EXPONENT_DIGITS + 30)


@UNTIMED
@given(st.decimals(allow_nan=False, allow_infinity=False))
@example(Decimal("1e-400"))
@example(Decimal("-0"))
def test_decimals_are_read_exactly_or_refused(value: Decimal) -> None:
    try:
        number = exact(value, "epsilon")
    except AmountError:
        assert abs(value.adjusted()) >= 1000
    else:
        assert number == Fraction(value)


@UNTIMED
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_numpys_narrow_floats_are_read_as_they_are_written(value: float) -> None:
    narrow: Any = np.float32(value)
    assert exact(narrow, "epsilon") == Fraction(str(narrow))


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), float("-inf"), Decimal("nan"), Decimal("-inf"), Decimal("snan")),
        *(np.float32("nan"), np.float16("inf"), np.longdouble("-inf")),
    ],
)
def test_floats_that_are_not_finite_are_refused(value: Any) -> None:
    with pytest.raises(AmountError, match="not a finite number"):
        exact(value, "epsilon")


@pytest.mark.parametrize("value", [True, None, [1], 1j, b"1", np.bool_(1), np.array([0.1])])
def test_other_things_are_refused(value: Amount) -> None:
    with pytest.raises(AmountError, match=f"epsilon is {type(value).__name__}, not a number"):
        exact(value, "epsilon")


@pytest.mark.parametrize("value", [0, -1, 0.0, -0.1, "0", "-1/3", Fraction(0), "-1e-4000", "-1e4000", Decimal("-0.1")])
def test_an_epsilon_is_above_0(value: Amount) -> None:
    with pytest.raises(AmountError, match=r"noise_share is .*, but must be above 0"):
        epsilon_amount(value, "noise_share")


@UNTIMED
@given(st.fractions(min_value=Fraction(1, 10**30)))
def test_a_positive_epsilon_is_as_read(value: Fraction) -> None:
    assert epsilon_amount(value) == value


AMOUNTS = st.fractions() | st.builds(
    lambda digits, power: digits * Fraction(10) ** power, st.integers(-(10**7), 10**7), st.integers(-40, 40)
)


@UNTIMED
@given(AMOUNTS)
@example(Fraction(97, 400))
@example(Fraction(10**400, 3))
@example(Fraction(1, 3 * 10**400))
@example(Fraction(1, 10**12))
@example(Fraction(999_999_999, 10**9))
@example(Fraction(10**18))
def test_an_amount_shown_reads_back(amount: Fraction) -> None:
    """Exactly, or to six digits where a "~" says so; and it is never long."""
    shown = show_amount(amount)
    assert len(shown) <= 20
    if not shown.startswith("~"):
        assert exact(shown, "amount") == amount
    else:
        assert abs(exact(shown[1:], "amount") / amount - 1) < Fraction(1, 10**5)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 2), "0.5"),
        (Fraction(1, 10), "0.1"),
        (Fraction(-1, 3), "-1/3"),
        (Fraction(2, 3), "2/3"),
        (Fraction(95, 100), "0.95"),
        (Fraction(1_000_000), "1000000"),
        (Fraction(1, 10**6), "0.000001"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(10**20), "1e+20"),
        (Fraction(1, 3**20), "1/3486784401"),
        (Fraction(1, 3**30), "~4.85694e-15"),
        (Fraction(10**30, 7), "~1.42857e+29"),
    ],
)
def test_how_amounts_look(amount: Fraction, shown: str) -> None:
    assert show_amount(amount) == shown


def test_amounts_too_long_to_write_out_are_shown_too() -> None:
    """Python refuses to write whole numbers of more than 4,300 digits, and to make doubles of them."""
    assert show_amount(Fraction(10**5000)) == "1e+5000"
    assert show_amount(Fraction(1, 10**5000)) == "1e-5000"
    assert show_amount(Fraction(10**12_000)) == "~1e+12000"
    assert show_amount(Fraction(10**12_000, 3 * 10**11_990 + 1)) == "~3.33333e+9"


@pytest.mark.parametrize("epsilon", [2**64 + 1, "1e20", "1e400", 1e308, Fraction(10**400, 3)])
def test_an_epsilon_that_promises_nothing_is_refused(epsilon: Amount) -> None:
    """It has no floats any more, or none that are told apart, which showed after it was charged."""
    with pytest.raises(AmountError, match=r"more than 2\*\*64"):
        epsilon_amount(epsilon)
    assert epsilon_amount(2**64) == 2**64
