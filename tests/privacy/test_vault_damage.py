"""Vaults that were damaged or are under fire: none gives more than was left, and each says what is wrong."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from good_files import vault_files
from vault import ASKED, trial
from vaults import SLIPS

from jostle.errors import BudgetError, VaultError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault

LEFT = Fraction(4, 7)
UNCOUNTED = {
    *("PRAGMA user_version = 7", "PRAGMA journal_mode = DELETE", "VACUUM", "DELETE FROM sqlite_sequence"),
    *("UPDATE reservations SET site = x'ff00'", "UPDATE reservations SET process = 1e9"),
    "UPDATE reservations SET moment = hex(zeroblob(3000000))",
    "UPDATE accounts SET neighbours = 'replace_one'",  # which is compared with the schema's when a table is opened
}
"""What changes nothing that amounts depend on."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a vault of a promise of 1, with three reservations of a seventh each."""
    path = tmp_path / "t.vault"
    path.touch(0o600)
    path.write_bytes(vault_files()[0])
    return path


def execute(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    try:
        connection.executescript(statements)
        connection.commit()
    finally:
        connection.close()


def spend(path: Path) -> Fraction:
    """Spend all that a vault gives, two sevenths at a time, and return how much that was."""
    vault, spent = FileVault(path), Fraction(0)
    payer = vault.open(None, TableFacts(("age", "ill"), vault.account().neighbours))
    left = payer.share
    while spent < left:
        amount = min(Fraction(2, 7), left - spent)
        payer.pay(amount, "more")
        spent += amount
    with pytest.raises(BudgetError):
        payer.pay(Fraction(1, 1000), "more")
    return spent


@pytest.mark.parametrize("slip", SLIPS)
def test_a_vault_in_which_something_was_changed_is_refused_or_gives_what_was_left(slip: str, path: Path) -> None:
    execute(path, slip)
    if slip in UNCOUNTED:
        assert spend(path) == LEFT
    else:
        with pytest.raises((VaultError, BudgetError)):
            spend(path)


@pytest.mark.representative
@pytest.mark.parametrize("slip", SLIPS)
def test_a_vault_that_is_changed_while_it_is_open_gives_no_more_than_was_left(slip: str, path: Path) -> None:
    vault = FileVault(path)
    payer = vault.open(None, TableFacts(("age", "ill")))
    assert payer.share == LEFT
    execute(path, slip)
    paid = 0
    try:
        for paid in range(9):  # noqa: B007 - how many were paid is what counts
            payer.pay(Fraction(2, 7), "more")
    except (VaultError, BudgetError):
        pass
    assert paid <= 2


def test_spending_that_does_not_add_up_is_said_in_words(path: Path) -> None:
    execute(path, "UPDATE accounts SET spent = '1/7'")
    for use in (FileVault(path).account, FileVault(path).statements, lambda: spend(path)):
        with pytest.raises(VaultError) as refusal:
            use()
        assert str(refusal.value).splitlines() == [
            "the vault says that epsilon 1/7 was spent, and its reservations add up to 3/7",
            "  why: it was damaged, or something else has written to it",
            "  fix: restore it from a copy",
        ]


def test_a_promise_that_grew_by_itself_is_not_kept(path: Path) -> None:
    execute(path, "UPDATE accounts SET promise = '9'")
    with pytest.raises(VaultError, match="a promise that is not the last one that was made"):
        spend(path)


def test_a_raised_promise_and_all_that_was_spent_agree(path: Path) -> None:
    FileVault(path).raise_promise(Fraction(2), "a second survey year was agreed to")
    assert spend(path) == LEFT + 1
    assert FileVault(path).account().left == 0
    assert sum(each.epsilon for each in FileVault(path).statement().reservations) == 2


@pytest.mark.slow
def test_any_byte_may_be_lost(path: Path) -> None:
    """Every 17th byte of the file is set to nothing, one at a time, and to all ones."""
    whole = path.read_bytes()
    for place in range(0, len(whole), 17):
        for byte in (b"\0", b"\xff"):
            path.write_bytes(whole[:place] + byte + whole[place + 1 :])
            try:
                assert FileVault(path).account().left <= LEFT
            except VaultError:
                continue


# A short run of benchmarks/vault.py: processes charge one vault at once, and are killed at random.


@pytest.mark.slow
@pytest.mark.parametrize("promise", [Fraction(1000), 200 * ASKED])
def test_nothing_released_is_unrecorded_and_nothing_overspent(promise: Fraction) -> None:
    outcome = trial(seconds=15, processes=4, kills_a_second=8, promise=promise)

    assert outcome.held
    assert outcome.kills > 0
    assert 0 < outcome.released <= outcome.reserved
    assert outcome.spent == outcome.reserved * ASKED <= promise
