"""Vaults: what was spent on one private database, remembered beyond the life of any process.

A vault is an SQLite file, one per private database. An amount is *reserved* in it, durably, before the answer
it pays for is drawn: whatever happens then, a crash at any instant or a full disk, nothing was released that is not
recorded. A reservation whose answer never came out stays spent. Reservations take the file's write lock, so any number of
processes and threads see one running total, kept as an exact fraction.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from attrs import frozen

from jostle.errors import BudgetError, VaultError
from jostle.privacy.amounts import show_amount
from jostle.tables.fingerprint import Fingerprint

__all__ = ["Account", "FileVault", "MemoryVault", "Reservation", "Vault"]

VERSION = 1
PATIENCE = 60.0
"""Seconds to wait for other processes' reservations."""

TABLES = """
CREATE TABLE account (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version INTEGER NOT NULL,
    salt BLOB NOT NULL,
    columns TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    promise TEXT NOT NULL,
    spent TEXT NOT NULL
);
CREATE TABLE seen (mark TEXT PRIMARY KEY);
CREATE TABLE reservations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    moment TEXT NOT NULL,
    process INTEGER NOT NULL,
    site TEXT NOT NULL,
    epsilon TEXT NOT NULL
);
"""


@frozen
class Account:
    """What a vault says: the promise, what was spent of it, and for which neighbours."""

    promise: Fraction
    spent: Fraction
    neighbours: str

    @property
    def left(self) -> Fraction:
        """Return what may still be spent."""
        return self.promise - self.spent


@frozen
class Reservation:
    """One line of a vault."""

    number: int
    moment: str
    process: int
    site: str
    epsilon: Fraction


class Vault(Protocol):
    """Where a private database's budget is kept."""

    @property
    def name(self) -> str:
        """Return how the vault is called in messages and traces."""

    def open(self, promise: Fraction, neighbours: str, columns: tuple[str, ...], marks: Fingerprint) -> Account:
        """Return the account, made with this promise if there is none yet."""

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount, or raise BudgetError."""


def _check(account: Account, amount: Fraction, site: str, vault: str) -> None:
    if amount > account.left:
        raise BudgetError(
            f"{site} asks for epsilon {show_amount(amount)}, but {show_amount(account.left)} is left in {vault}",
            why=f"{show_amount(account.spent)} of the promised epsilon {show_amount(account.promise)} is spent",
            fix="ask for less; a promise once given to the people in the data cannot be raised",
        )


class MemoryVault:
    """A vault for the life of this process."""

    name = "this process"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._account: Account | None = None

    def open(self, promise: Fraction, neighbours: str, columns: tuple[str, ...], marks: Fingerprint) -> Account:  # noqa: ARG002 - a file needs them
        """Return the account, made with this promise if there is none yet."""
        with self._lock:
            if self._account is None:
                self._account = Account(promise, Fraction(0), neighbours)
            _check_neighbours(self._account, neighbours, self.name)
            return self._account

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount, or raise BudgetError."""
        with self._lock:
            if self._account is None:
                raise VaultError("the vault was not opened")
            _check(self._account, amount, site, self.name)
            self._account = Account(self._account.promise, self._account.spent + amount, self._account.neighbours)


class FileVault:
    """A vault in a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._local = threading.local()
        self._abandoned: list[sqlite3.Connection | None] = []
        self._inode: int | None = None

    @property
    def name(self) -> str:
        """Return the path."""
        return str(self.path)

    def open(self, promise: Fraction, neighbours: str, columns: tuple[str, ...], marks: Fingerprint) -> Account:
        """Return the account, made with this promise if there is none yet.

        Another version of the table (it grew, say) is charged to the same account; a table with other columns is refused.
        """
        with self._writing(create=True) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'account'").fetchone():
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO account VALUES (1, ?, ?, ?, ?, ?, '0')",
                    (VERSION, secrets.token_bytes(32), "\n".join(sorted(columns)), neighbours, str(promise)),
                )
            (salt, known) = connection.execute("SELECT salt, columns FROM account").fetchone()
            seen = {mark for (mark,) in connection.execute("SELECT mark FROM seen")}
            salted = marks.salted(salt)
            if seen and not seen & salted and known != "\n".join(sorted(columns)):
                raise VaultError(
                    f"{self.path} keeps the budget of a table with other columns",
                    why="a vault is for one private database",
                    fix="name a vault file of its own for this table",
                )
            connection.executemany("INSERT OR IGNORE INTO seen VALUES (?)", [(mark,) for mark in sorted(salted)])
            account = _account(connection)
            _check_neighbours(account, neighbours, self.name)
        self._inode = self.path.stat().st_ino
        return account

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount durably, or raise BudgetError."""
        if self._inode is None or not self.path.exists() or self.path.stat().st_ino != self._inode:
            raise VaultError(
                f"{self.path} is gone, or another file in its place",
                why="what was spent is recorded in it, so nothing more is released without it",
                fix="put the file back, and open the table again",
            )
        with self._writing() as connection:
            account = _account(connection)
            _check(account, amount, site, self.name)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            connection.execute(
                "INSERT INTO reservations (moment, process, site, epsilon) VALUES (?, ?, ?, ?)",
                (now, os.getpid(), site, str(amount)),
            )
            connection.execute("UPDATE account SET spent = ?", (str(account.spent + amount),))

    def account(self) -> Account:
        """Return the account of a vault that exists."""
        with self._reading() as connection:
            return _account(connection)

    def reservations(self) -> tuple[Reservation, ...]:
        """Return every reservation, in order."""
        with self._reading() as connection:
            rows = connection.execute("SELECT number, moment, process, site, epsilon FROM reservations ORDER BY number")
            return tuple(
                Reservation(number, moment, process, site, Fraction(epsilon))
                for number, moment, process, site, epsilon in rows
            )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            raise VaultError(f"there is no vault {self.path}", fix="check the path")
        with self._explained():
            connection = sqlite3.connect(f"file:{_quoted(self.path)}?mode=ro", uri=True, timeout=PATIENCE)
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def _writing(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock; commit durably at the end, or change nothing."""
        with self._explained():
            connection = self._connection(create=create)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _connection(self, *, create: bool) -> sqlite3.Connection:
        # One connection per thread, and never one that came through a fork: it is neither used nor
        # closed here, since SQLite would take the parent's locks for ours.
        if getattr(self._local, "process", None) != os.getpid() or (create and not self.path.exists()):
            mode = "rwc" if create else "rw"
            connection = sqlite3.connect(
                f"file:{_quoted(self.path)}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._abandoned.append(getattr(self._local, "connection", None))
            self._local.connection, self._local.process = connection, os.getpid()
        stored: sqlite3.Connection = self._local.connection
        return stored

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as mistake:
            raise VaultError(
                f"the vault {self.path} cannot be used: {mistake}",
                why="nothing is released before it is recorded",
                fix="see that the file is a vault, that it may be written, and that the disk is not full",
            ) from None


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _account(connection: sqlite3.Connection) -> Account:
    version, promise, spent, neighbours = connection.execute(
        "SELECT version, promise, spent, neighbours FROM account"
    ).fetchone()
    if version != VERSION:
        raise VaultError(f"the vault is of version {version}, not {VERSION}", fix="use the Jostle that made it")
    return Account(Fraction(promise), Fraction(spent), neighbours)


def _check_neighbours(account: Account, neighbours: str, name: str) -> None:
    if account.neighbours != neighbours:
        raise VaultError(
            f"{name} keeps a budget under {account.neighbours}, not {neighbours}",
            why="amounts under two neighbour relations do not add up",
            fix=f'open the table with neighbours="{account.neighbours}"',
        )
