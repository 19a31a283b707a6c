"""Totals that are too long to be recorded are rounded up, never down, and what is left can still be spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import ran

from jostle.errors import BudgetError
from jostle.privacy.account import TableFacts
from jostle.privacy.amounts import RECORDED_BITS, show_amount
from jostle.privacy.events import Laplace
from jostle.privacy.ledger import Ledger
from jostle.privacy.vault import FileVault, MemoryVault
from jostle.tables.schema import Neighbours
from jostle.trace.records import Charged, from_json, to_json

FINEST = Fraction(1, 2**60)
LONG = Fraction(3**2565 + 1, 3**2584)
"""About 1e-9, with a denominator of 4,096 bits: of everything beside it the sum is longer."""
PRIMES = (2, 3, 5, 7, 10, 11, 97)

AMOUNTS = st.builds(
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
        AMOUNTS,
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
    top = Ledger(payer.share, neighbours, payer=payer)
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
    spend_all(Ledger(again, neighbours, payer=payer))
    assert vault.account_of(facts).left <= 2 * FINEST  # type: ignore[union-attr]  # it is open


@pytest.mark.parametrize("promise", [Fraction(1), Fraction(1, 7), Fraction(10**600, 3 * 10**600 + 1)])
def test_a_question_of_a_long_denominator_leaves_the_rest_of_a_promise_to_be_spent(
    promise: Fraction, tmp_path: Path
) -> None:
    path = tmp_path / "people.vault"
    payer = FileVault(path).open(promise, TableFacts(("a",)))
    ledger = Ledger(payer.share, "add_remove", payer=payer)
    ledger.charge(Laplace(LONG), "attack")

    for _ in range(10):
        ledger.charge(Laplace(promise / 20), "twentieth")
    again = FileVault(path)
    later = again.open(None, TableFacts(("a",)))
    spend_all(Ledger(later.share, "add_remove", payer=later))

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
