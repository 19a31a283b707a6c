"""Logs beside a vault: one that is of its last change is gone by, and one of another time or vault is not."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pytest
from processes import ran, started

from jostle.errors import VaultError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault, TableAccount
from jostle.privacy.vault_file import writing

TENTH = Fraction(1, 10)
SECTOR, NONCE = 512, 7


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.vault"


def opened(path: Path) -> TableAccount:
    return FileVault(path).open(Fraction(1), TableFacts(("a", "b")))


def log_of(before: bytes) -> bytes:
    """Return the log that restores a file to what it was before, as SQLite writes one (sqlite.org/fileformat.html)."""
    size = int.from_bytes(before[16:18], "big")
    pages = [before[at : at + size] for at in range(0, len(before), size)]
    numbers = (len(pages), NONCE, len(pages), SECTOR, size)
    head = bytes.fromhex("d9d505f920a163d7") + b"".join(number.to_bytes(4, "big") for number in numbers)
    records = (
        place.to_bytes(4, "big")
        + page
        + (NONCE + sum(page[at] for at in range(size - 200, 0, -200))).to_bytes(4, "big")
        for place, page in enumerate(pages, 1)
    )
    return head.ljust(SECTOR, b"\0") + b"".join(records)


def put_beside(path: Path, ending: str, log: bytes) -> Path:
    beside = path.with_name(path.name + ending)
    beside.write_bytes(log)
    beside.chmod(0o600)
    return beside


def ahead_log_of(path: Path, target: Path) -> bytes:
    """Return a write-ahead log that holds all of a vault as it is."""
    shutil.copy(path, target)
    connection = sqlite3.connect(target, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("VACUUM")
        return target.with_name(target.name + "-wal").read_bytes()
    finally:
        connection.close()


@pytest.mark.parametrize("ending", ["-journal", "-wal"])
def test_a_log_of_another_time_gives_no_budget_back(path: Path, tmp_path: Path, ending: str) -> None:
    """As a mirror has one, to which files are added and from which none is taken."""
    vault = opened(path)
    vault.pay(TENTH, "first")
    log = log_of(path.read_bytes()) if ending == "-journal" else ahead_log_of(path, tmp_path / "copy")
    for site in ("second", "third"):
        vault.pay(TENTH, site)
    content = path.read_bytes()
    beside = put_beside(path, ending, log)

    for ask in (FileVault(path).account, lambda: opened(path), lambda: vault.pay(TENTH, "fourth")):
        with pytest.raises(VaultError, match="is not of the last change"):
            ask()
        assert path.read_bytes() == content
    beside.unlink()
    vault.pay(TENTH, "fourth")
    assert FileVault(path).account().spent == 4 * TENTH


def test_a_log_of_another_vault_is_not_gone_by(path: Path, tmp_path: Path) -> None:
    opened(path).pay(TENTH, "here")
    other = opened(tmp_path / "other.vault")
    for site in ("first", "second", "third"):
        other.pay(TENTH, site)
    put_beside(path, "-journal", log_of((tmp_path / "other.vault").read_bytes()))

    with pytest.raises(VaultError, match="is not of the last change"):
        opened(path)


def test_a_log_from_when_the_vault_was_made_does_not_empty_it(path: Path) -> None:
    vault = opened(path)
    vault.pay(TENTH, "here")
    log = bytearray(log_of(path.read_bytes()))
    log[8:12] = log[16:20] = bytes(4)  # no pages, of a file that had none
    put_beside(path, "-journal", bytes(log[:SECTOR]))

    with pytest.raises(VaultError, match="is not of the last change"):
        vault.pay(TENTH, "more")
    assert path.stat().st_size


def test_a_change_that_was_not_finished_is_undone(path: Path) -> None:
    vault = opened(path)
    vault.pay(TENTH, "first")
    before = path.read_bytes()
    opened(path).pay(TENTH, "killed in the middle")
    for content in (path.read_bytes(), before, before[:4096] + path.read_bytes()[4096:]):
        path.write_bytes(content)
        put_beside(path, "-journal", log_of(before))

        assert FileVault(path).account().spent == TENTH
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]


MANY = """
import sys
from fractions import Fraction
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
vault = FileVault(sys.argv[1])
payer = vault.open(None, TableFacts(("a", "b")))
for place in range(60):
    payer.pay(Fraction(1, 1000), str(place))
"""


def test_who_finds_the_log_of_one_who_is_writing_takes_it_for_no_other(path: Path) -> None:
    opened(path)
    with ExitStack() as stack:
        spenders = [stack.enter_context(started("-c", MANY, path)) for _ in range(3)]
        while any(each.poll() is None for each in spenders):
            FileVault(path).account()

    assert [each.returncode for each in spenders] == [0, 0, 0]
    assert FileVault(path).account().spent == Fraction(180, 1000)


LOCKS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0.1, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
"""


def test_a_look_at_the_log_of_one_who_is_writing_does_not_lose_its_locks(path: Path) -> None:
    opened(path)
    with writing(path) as connection:
        connection.execute("UPDATE accounts SET neighbours = 'half way'")
        assert path.with_name(path.name + "-journal").exists()
        assert FileVault(path).account().neighbours == "add_remove"
        assert "locked" in ran("-c", LOCKS, path).stderr
        connection.execute("UPDATE accounts SET neighbours = 'add_remove'")
    assert ran("-c", LOCKS, path).returncode == 0
