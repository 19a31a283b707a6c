"""What a vault is to its owner: a file nobody else reads, with nothing of the rows in it, made, raised and copied."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from openings import people, schema
from processes import started

import jostle
from jostle.errors import BudgetError, VaultError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
from jostle.privacy.vault_file import writing
from jostle.tables.origins import vault_beside

TENTH = Fraction(1, 10)
OWNER_ALONE = 0o600
OTHER_FORM = (
    "restore it from a copy; or move it away, and promise what was left by the Jostle that made it: "
    "jostle vault create FILE --epsilon E"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.vault"


def modes(folder: Path) -> set[int]:
    """Return the modes of all files in a folder."""
    found = set()
    for file in folder.iterdir():
        try:
            found.add(stat.S_IMODE(file.stat().st_mode))
        except FileNotFoundError:  # a log that was just removed
            continue
    return found


def everything(path: Path) -> list[tuple[object, ...]]:
    """Return all that a database holds, but for what is random, or about the moment and the process."""
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = {name: [each[1] for each in connection.execute(f"PRAGMA table_info({name})")] for name in names}
        rows = [
            (name, *row)
            for name, columns in tables.items()
            if (kept := [each for each in columns if each not in {"key", "moment", "process"}])
            for row in connection.execute(f"SELECT {', '.join(kept)} FROM {name}")  # noqa: S608 - the test's own names
        ]
    connection.close()
    return rows


# Who reads it


def test_a_vault_says_the_same_of_tables_that_differ_in_a_row(tmp_path: Path) -> None:
    """Once it held salted hashes of the rows, and the salt: who knew all rows but one tried until they fitted."""
    tables = {"all": people(), "one less": people().iloc[:-1], "another": pd.concat([people().iloc[:-1], people(1, 3)])}
    for name, frame in tables.items():
        db = jostle.protect(
            jostle.Table.from_frame(frame, schema()), epsilon=1, vault=tmp_path / f"{name.replace(' ', '-')}.vault"
        )
        db.count(TENTH)
    one, other, third = (everything(tmp_path / f"{name.replace(' ', '-')}.vault") for name in tables)

    assert one == other == third
    assert len(one) >= 3


MAKING = """
import os, sys
os.umask(0)
import jostle
from pathlib import Path
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
for number in range(40):
    vault = FileVault(Path(sys.argv[1]) / f"{number}.vault")
    payer = vault.open(1, TableFacts(("a",)))
    payer.pay(1, "all")
    vault.backup(Path(sys.argv[1]) / f"{number}.copy")
"""


def test_its_files_are_its_owners_alone_at_every_instant_whatever_the_umask(tmp_path: Path) -> None:
    seen: set[int] = set()
    with started("-c", MAKING, tmp_path) as maker:
        while maker.poll() is None:
            seen |= modes(tmp_path)
    assert maker.returncode == 0
    assert seen | modes(tmp_path) == {OWNER_ALONE}
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".copy"] * 40 + [".vault"] * 40


def test_the_log_beside_it_is_its_owners_alone(path: Path) -> None:
    vault = FileVault(path)
    vault.open(Fraction(1), TableFacts(("a",)))
    with writing(path) as connection:
        connection.execute("PRAGMA cache_size = 1")  # so that it is on disk before the end
        connection.execute("UPDATE tables SET columns = ?", ("a" * (1 << 20),))
        assert {each.name for each in path.parent.iterdir()} == {"people.vault", "people.vault-journal"}
        assert modes(path.parent) == {OWNER_ALONE}
    assert [each.name for each in path.parent.iterdir()] == ["people.vault"]


def test_nothing_of_it_is_in_the_memory_of_one_machine(path: Path) -> None:
    """With a write-ahead log, what is in it is told by memory that is shared: machines that share a disk share none."""
    vault = FileVault(path)
    payer = vault.open(Fraction(1), TableFacts(("a",)))
    with closing(sqlite3.connect(path)) as earlier, earlier:
        assert earlier.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    earlier.close()
    payer.pay(TENTH, "here")

    with closing(sqlite3.connect(path)) as reader, reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert reader.execute("SELECT spent FROM accounts").fetchone() == (str(TENTH),)
    reader.close()
    assert [each.name for each in path.parent.iterdir()] == ["people.vault"]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o666])
def test_one_that_everybody_may_read_or_write_is_refused_with_the_way_out(path: Path, mode: int) -> None:
    vault = FileVault(path)
    payer = vault.open(Fraction(1), TableFacts(("a",)))
    path.chmod(mode)

    for attempt in (
        lambda: payer.pay(TENTH, "here"),
        vault.account,
        lambda: FileVault(path).open(None, TableFacts(("x",))),
    ):
        with pytest.raises(VaultError, match="everybody on this machine") as refusal:
            attempt()
        assert f"chmod o= {path}" in (refusal.value.fix or "")
    path.chmod(0o660)  # a group that shares the rows may share the vault
    payer.pay(TENTH, "here")


def test_one_of_another_form_is_refused_with_the_way_out_and_left_alone(path: Path) -> None:
    """Nothing is read off tables that are not the ones made here, whatever they are called."""
    opened = FileVault(path).open(Fraction(1), TableFacts(("a",)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE accounts RENAME TO account")
    connection.close()
    content = path.read_bytes()
    attempts: list[Callable[[], object]] = [
        lambda: opened.pay(TENTH, "here"),
        FileVault(path).statements,
        lambda: FileVault(path).open(Fraction(1), TableFacts(("a",))),
        lambda: FileVault(path).raise_promise(Fraction(2), "more"),
    ]
    for attempt in attempts:
        with pytest.raises(VaultError) as refusal:
            attempt()
        assert str(refusal.value).splitlines() == [
            "the vault holds tables that this Jostle does not make",
            "  why: it was damaged, or another version made it, which counted something else",
            f"  fix: {OTHER_FORM}",
        ]
    assert path.read_bytes() == content


# Made, raised, copied


def test_a_vault_is_made_before_there_are_data(path: Path) -> None:
    FileVault(path).create(Fraction(2), TableFacts(neighbours="replace_one"))
    assert FileVault(path).statement().columns == ()
    with pytest.raises(VaultError, match="already"):
        FileVault(path).create(Fraction(3), TableFacts(neighbours="replace_one"))
    with pytest.raises(VaultError, match="under replace_one"):
        FileVault(path).open(None, TableFacts(("a",)))
    with pytest.raises(BudgetError, match="2 is left"):
        FileVault(path).open(Fraction(3), TableFacts(("a",), "replace_one"))

    assert FileVault(path).open(None, TableFacts(("a",), "replace_one")).share == 2
    assert FileVault(path).statement().columns == ("a",)


def test_a_vault_made_for_some_columns_takes_no_table_without_them(path: Path) -> None:
    FileVault(path).create(Fraction(2), TableFacts(("a", "b")))
    with pytest.raises(VaultError, match="other columns"):
        FileVault(path).open(None, TableFacts(("c",)))


def test_a_promise_is_raised_with_a_reason_that_stays_in_the_vault(path: Path) -> None:
    vault = FileVault(path)
    payer = vault.open(Fraction(1), TableFacts(("a",)))
    payer.pay(Fraction(1), "all")
    for less in (Fraction(1), TENTH):
        with pytest.raises(VaultError, match="1 already"):
            vault.raise_promise(less, "why not")
    for reason in ("", " ", "two\nlines", "\x1b[2J", "x" * 1001):
        with pytest.raises(VaultError, match="no reason"):
            vault.raise_promise(Fraction(2), reason)
    FileVault(path).raise_promise(Fraction(3, 2), "a second year")  # by another process, say

    assert vault.open(None, TableFacts(("a",))).share == Fraction(1, 2)
    payer.pay(Fraction(1, 2), "more")
    with pytest.raises(BudgetError, match="0 is left"):
        payer.pay(TENTH, "too much")
    made, later = vault.statement().promises
    assert [made.epsilon, later.epsilon] == [1, Fraction(3, 2)]
    assert (later.reason, later.process) == ("a second year", os.getpid())
    assert later.moment >= made.moment


def test_a_copy_is_whole_while_others_spend_and_an_older_one_put_back_is_noticed(path: Path) -> None:
    vault = FileVault(path)
    payer = vault.open(Fraction(1), TableFacts(("a",)))
    payer.pay(TENTH, "before")
    with closing(sqlite3.connect(path)) as reader, reader:  # keeps what is paid in the log, beside the file
        reader.execute("SELECT * FROM accounts").fetchall()
        payer.pay(TENTH, "in the log")
        copy = vault.backup(path.parent / "copy.vault")
    reader.close()

    assert FileVault(copy).account().spent == 2 * TENTH
    assert [line.site for line in FileVault(copy).statement().reservations] == ["before", "in the log"]
    payer.pay(TENTH, "since")
    shutil.copy(copy, path)
    with pytest.raises(VaultError, match="less was spent"):
        payer.pay(TENTH, "again")


def test_the_vault_of_a_data_file_is_beside_it_under_any_name_of_the_file(tmp_path: Path) -> None:
    data, link = tmp_path / "survey.csv", tmp_path / "link.csv"
    data.write_text("a\n1\n")
    link.symlink_to(data)

    assert vault_beside(data) == vault_beside(link) == tmp_path / "survey.csv.vault"
    assert vault_beside(Path(os.path.relpath(data))) == tmp_path / "survey.csv.vault"


PAYING = """
import sys
from fractions import Fraction
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
vault = FileVault(sys.argv[1])
payer = vault.open(None, TableFacts(("a",)))
for number in range(1, 400):
    payer.pay(Fraction(1, 1000), "here")
    if number % 100 == 0:
        FileVault(sys.argv[1]).raise_promise(Fraction(1 + number, 1), "more")
"""


@pytest.mark.slow
def test_it_is_read_as_it_was_at_one_moment_while_others_write(path: Path) -> None:
    """What was spent is the sum of the reservations: read one after the other, the two would not agree."""
    FileVault(path).create(Fraction(1), TableFacts())
    vault = FileVault(path)
    seen: list[Fraction] = []
    with started("-c", PAYING, path) as payer:
        while payer.poll() is None:
            before, seen = seen, [line.epsilon for line in vault.statement().reservations]
            assert len(before) <= len(seen)
            assert sum(seen, Fraction(0)) <= vault.account().spent
    assert payer.returncode == 0
    assert vault.account().spent == Fraction(399, 1000)
