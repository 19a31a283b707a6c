"""Amounts are exact whatever their length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import define, field
from hypothesis import example, given, settings
from hypothesis import strategies as st
from processes import ran

from jostle.errors import AmountError, BudgetError
from jostle.privacy.account import TableFacts
from jostle.privacy.amounts import MOST_EXPONENT_DIGITS, RECORDED_BITS, Amount, epsilon_amount, exact, show_amount
from jostle.privacy.events import Laplace
from jostle.privacy.ledger import Ledger
from jostle.privacy.vault import FileVault, MemoryVault
from jostle.tables.schema import Neighbours
from jostle.trace.records import Charged, from_json, to_json

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


# Totals that are too long to be recorded are rounded up, never down, and what is left can still be spent.


FINEST = Fraction(1, 2**60)
LONG = Fraction(3**2565 + 1, 3**2584)
"""About 1e-9, with a denominator of 4,096 bits: of everything beside it the sum is longer."""
PRIMES = (2, 3, 5, 7, 10, 11, 97)

AMOUNTS_OF_LONG = st.builds(
    lambda prime, share, part: (
        Fraction(int(part * prime ** int(share / prime.bit_length())) + 1) / prime ** int(share / prime.bit_length())
    ),
    st.sampled_from(PRIMES),
    st.floats(1, 4090),
    st.fractions(min_value=0, max_value=Fraction(1, 4), max_denominator=100),
)
"""Up to about a quarter, in fractions of any length that can be asked for, of denominators with nothing in common."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["charge", "charge", "part", "part", "allot", "reserve", "inside", "inside", "settle"]),
        st.integers(0, 3),
        AMOUNTS_OF_LONG,
    ),
    max_size=12,
)
SPEND = """
import sys
from fractions import Fraction
from jostle.errors import BudgetError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
vault = FileVault(sys.argv[1])
payer = vault.open(None, TableFacts(("a",)))
for power in range(1, 9):
    payer.pay(Fraction(1, int(sys.argv[2]) ** (100 * power)) / 100, "here")
print(Fraction(vault.account().spent))
"""


def granted(action: Callable[[], object]) -> bool:
    """Return whether something is granted; if not, it is refused by an error about budgets."""
    try:
        action()
    except BudgetError:
        return False
    return True


def spend_all(ledger: Ledger) -> None:
    """Spend what a ledger says is left."""
    if ledger.left:
        ledger.charge(Laplace(ledger.left), "the rest")


@define
class Accountant:
    """What was granted, kept in full: nothing here is rounded."""

    touched: int
    alone: Fraction = Fraction(0)
    parts: list[Fraction] = field(factory=lambda: [Fraction(0)] * 4)
    reserved: list[tuple[Ledger, Fraction]] = field(factory=list)
    """What is open, and was spent of it."""

    @property
    def spent(self) -> Fraction:
        """Everything together."""
        held = sum((spent for _, spent in self.reserved), Fraction(0))
        return self.alone + held + sum(sorted(self.parts)[-self.touched :])

    def ask(self, top: Ledger, parts: Sequence[Ledger], step: str, place: int, amount: Fraction) -> None:
        """Ask for something, and note what was granted."""
        inner, spent = self.reserved[place % len(self.reserved)] if self.reserved else (None, Fraction(0))
        whole: dict[str, Callable[[], object]] = {
            "charge": lambda: top.charge(Laplace(amount), step),
            "allot": lambda: top.allot(amount, step).charge(Laplace(amount), step),
        }
        if step in whole and granted(whole[step]):
            self.alone += amount
        elif step == "part" and granted(lambda: parts[place].charge(Laplace(amount), step)):
            self.parts[place] += amount
            assert parts[place].spent >= self.parts[place]
        elif step == "reserve":
            granted(lambda: self.reserved.append((top.reserve(amount, step), Fraction(0))))
        elif step == "inside" and inner and granted(lambda: inner.charge(Laplace(amount / 3), step)):
            self.reserved[place % len(self.reserved)] = inner, spent + amount / 3
            assert inner.spent >= spent + amount / 3
        elif step == "settle" and inner:
            inner.settle()
            self.alone += spent
            self.reserved.remove((inner, spent))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["add_remove", "replace_one"]), st.sampled_from([Fraction(1), Fraction(5, 7), LONG * 8]), STEPS)
def test_never_is_less_recorded_than_was_granted(
    neighbours: Neighbours, promise: Fraction, steps: list[tuple[str, int, Fraction]]
) -> None:
    """Against sums that are kept in full: of questions, parts, allotments and reservations, in ledger and vault."""
    vault = MemoryVault()
    facts = TableFacts(("a",), neighbours)
    payer = vault.open(promise, facts)
    top = Ledger(payer.share, neighbours, payer=payer.pay)
    parts, accountant = top.split(4), Accountant(1 if neighbours == "add_remove" else 2)
    for number, (step, place, amount) in enumerate(steps, 1):
        accountant.ask(top, parts, step, place, amount)
        account, left = vault.account_of(facts), top.left
        assert account is not None
        assert left is not None
        assert promise >= account.spent >= top.spent >= accountant.spent
        assert account.spent - accountant.spent <= 4 * number * FINEST
        for each in (account.spent, top.spent, account.left, left):
            assert each >= 0
            assert max(each.numerator.bit_length(), each.denominator.bit_length()) <= RECORDED_BITS
    again = vault.open(None, facts).share if vault.account_of(facts).left else Fraction(0)  # type: ignore[union-attr]
    spend_all(Ledger(again, neighbours, payer=payer.pay))
    assert vault.account_of(facts).left <= 2 * FINEST  # type: ignore[union-attr]  # it is open


@pytest.mark.parametrize("promise", [Fraction(1), Fraction(1, 7), Fraction(10**600, 3 * 10**600 + 1)])
def test_a_question_of_a_long_denominator_leaves_the_rest_of_a_promise_to_be_spent(
    promise: Fraction, tmp_path: Path
) -> None:
    path = tmp_path / "people.vault"
    payer = FileVault(path).open(promise, TableFacts(("a",)))
    ledger = Ledger(payer.share, "add_remove", payer=payer.pay)
    ledger.charge(Laplace(LONG), "attack")

    for _ in range(10):
        ledger.charge(Laplace(promise / 20), "twentieth")
    again = FileVault(path)
    later = again.open(None, TableFacts(("a",)))
    spend_all(Ledger(later.share, "add_remove", payer=later.pay))

    spent = FileVault(path).account().spent
    assert promise - 4 * FINEST <= spent <= promise
    assert sum(each.epsilon for each in again.statement().reservations) == spent


def test_three_thirds_are_one_after_all_kinds_of_sums() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    for _ in range(3):
        ledger.charge(Laplace("1/3"), "third")
    assert ledger.spent == 1


def test_what_rounding_up_would_take_past_the_promise_is_refused_with_that_reason() -> None:
    ledger = Ledger(Fraction(1), "add_remove")
    ledger.charge(Laplace(LONG), "long")
    ledger.charge(Laplace(ledger.left or 0), "all")
    assert ledger.spent == 1

    ledger = Ledger(Fraction(1, 2**62), "add_remove")
    ledger.charge(Laplace(Fraction(1, 2**70)), "little")
    with pytest.raises(BudgetError, match=r"rounded up to a multiple of 2\*\*-60"):
        ledger.charge(Laplace(Fraction(1, 3**2584)), "less")
    assert ledger.spent == Fraction(1, 2**70)
    ledger.charge(Laplace(ledger.left or 0), "all")


def test_a_budget_of_any_length_that_can_be_asked_for_is_divided_without_loss() -> None:
    """What is inside an allotment is recorded nowhere, so its shares are not rounded where the allotment is not."""
    epsilon = Fraction(3**2584 // 7 * 2 + 1, 3**2584)
    top = Ledger(Fraction(1), "add_remove")
    inside = top.allot(epsilon, "an Option")
    for _ in range(7):
        inside.allot(epsilon / 7, "a share").charge(Laplace(epsilon / 7), "all of it")
    assert inside.spent == top.spent == epsilon


def test_a_trace_of_long_amounts_is_written_and_read_back() -> None:
    ledger = Ledger(Fraction(5, 7), "replace_one")
    for part in ledger.split(3):
        part.charge(Laplace(LONG), "part")
        part.charge(Laplace("1/10"), "part")
    charged = Charged("here", "Laplace", LONG, ledger.spent, ledger.left)
    assert from_json(to_json(charged)) == charged
    assert show_amount(ledger.spent).startswith("~0.2")


@pytest.mark.slow
def test_processes_that_spend_long_amounts_at_once_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "people.vault"
    FileVault(path).open(Fraction(1), TableFacts(("a",)))
    bases = (3, 5, 7)
    with ThreadPoolExecutor(len(bases)) as pool:
        done = list(pool.map(lambda base: ran("-c", SPEND, path, base), bases))
    assert [each.returncode for each in done] == [0] * len(bases), done

    vault = FileVault(path)
    account = vault.account()
    true = sum(Fraction(1, base ** (100 * power)) / 100 for base in bases for power in range(1, 9))
    assert true <= account.spent <= true + 24 * FINEST
    assert sum(each.epsilon for each in vault.statement().reservations) == account.spent
    vault.open(None, TableFacts(("a",))).pay(account.left, "the rest")
    assert vault.account().left <= FINEST
