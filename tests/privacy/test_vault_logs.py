"""Logs beside a vault: SQLite goes by one that a killed process left, and readers do not stumble over a writer's."""

from __future__ import annotations

import os
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pytest
from processes import started

from jostle.errors import VaultError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault, TableAccount

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


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_log_that_is_not_as_sqlite_makes_one_is_not_gone_by(path: Path, mode: int) -> None:
    """What somebody puts into a folder that others may write would give budget back."""
    vault = opened(path)
    before = path.read_bytes()
    vault.pay(TENTH, "first")
    log = put_beside(path, "-journal", log_of(before))
    log.chmod(mode)
    for attempt in (FileVault(path).account, lambda: vault.pay(TENTH, "second"), lambda: opened(path)):
        with pytest.raises(VaultError, match="has another owner, or others may read or write it"):
            attempt()
    log.unlink()
    assert FileVault(path).account().spent == TENTH
    path.chmod(0o660)  # a group that shares the vault has its logs as well
    put_beside(path, "-journal", log_of(before)).chmod(0o660)
    assert FileVault(path).account().spent == 0


@pytest.mark.skipif(os.getuid() != 0, reason="root alone gives files away")
def test_a_log_of_another_user_is_not_gone_by(path: Path) -> None:
    vault = opened(path)
    before = path.read_bytes()
    vault.pay(TENTH, "first")
    os.chown(put_beside(path, "-journal", log_of(before)), 65534, -1)
    with pytest.raises(VaultError, match="has another owner"):
        FileVault(path).account()


MANY = """
import sys
from fractions import Fraction
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
vault = FileVault(sys.argv[1])
payer = vault.open(None, TableFacts(("a", "b")))
for place in range(30):
    payer.pay(Fraction(1, 1000), str(place))
"""


def test_who_finds_the_log_of_one_who_is_writing_takes_it_for_no_other(path: Path) -> None:
    opened(path)
    with ExitStack() as stack:
        spenders = [stack.enter_context(started("-c", MANY, path)) for _ in range(2)]
        while any(each.poll() is None for each in spenders):
            FileVault(path).account()

    assert [each.returncode for each in spenders] == [0, 0]
    assert FileVault(path).account().spent == Fraction(60, 1000)
