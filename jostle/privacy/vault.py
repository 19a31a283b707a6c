"""Vaults: what was spent on one private database, remembered beyond the life of any process.

A vault is an SQLite file, one per private database. An amount is *reserved* in it, durably, before the answer it pays
for is drawn: whatever happens then, a crash at any instant or a full disk, nothing was released that is not recorded.
A reservation whose answer never came out stays spent. Reservations take the file's write lock, so any number of
processes and threads see one running total, kept as an exact fraction. The order of reservations is that of their
numbers; their moments are for people, and no decision depends on a clock.

What a vault cannot notice: that it was deleted, or exchanged for an older copy, while no process had it open. Keep it
with the data, as writable by the data's owner alone; it also holds salted marks of the rows.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from attrs import evolve, frozen

from jostle.errors import BudgetError, VaultError
from jostle.privacy.amounts import show_amount
from jostle.privacy.vault_file import gone, reading, tables, writing
from jostle.tables.fingerprint import Fingerprint

__all__ = ["Account", "FileVault", "MemoryVault", "Reservation", "Vault"]

VERSION = 1

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


def _charged(account: Account, amount: Fraction, site: str, vault: str) -> Account:
    if amount < 0:
        raise BudgetError(f"{site} asks for epsilon {show_amount(amount)}", why="what is spent is never given back")
    if amount > account.left:
        raise BudgetError(
            f"{site} asks for epsilon {show_amount(amount)}, but {show_amount(account.left)} is left in {vault}",
            why=f"{show_amount(account.spent)} of the promised epsilon {show_amount(account.promise)} is spent",
            fix="ask for less; a promise once given to the people in the data cannot be raised",
        )
    return evolve(account, spent=account.spent + amount)


class MemoryVault:
    """A vault for the life of this process."""

    name = "this process"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._account: Account | None = None
        self._process = os.getpid()

    def open(self, promise: Fraction, neighbours: str, columns: tuple[str, ...], marks: Fingerprint) -> Account:  # noqa: ARG002 - a file needs them
        """Return the account, made with this promise if there is none yet."""
        self._check_process()
        with self._lock:
            if self._account is None:
                self._account = Account(promise, Fraction(0), neighbours)
            _check_neighbours(self._account, neighbours, self.name)
            return self._account

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount, or raise BudgetError."""
        self._check_process()
        with self._lock:
            if self._account is None:
                raise VaultError("the vault was not opened")
            self._account = _charged(self._account, amount, site, self.name)

    def _check_process(self) -> None:
        # After a fork there are two of these, each with all that was left.
        if self._process != os.getpid():
            raise VaultError(
                "the budget of this table is kept in the memory of another process",
                why="a copy of it, made by a fork, could be spent a second time",
                fix='name a vault file, which processes share: jostle.protect(table, epsilon=1, vault="table.vault")',
            )


class FileVault:
    """A vault in a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._salt: bytes | None = None
        self._least = Fraction(0)
        """What the file said was spent when it was last looked at: it can only have become more."""

    @property
    def name(self) -> str:
        """Return the path."""
        return str(self.path)

    def open(self, promise: Fraction, neighbours: str, columns: tuple[str, ...], marks: Fingerprint) -> Account:
        """Return the account, made with this promise if there is none yet.

        Another version of the table (it grew, say) is charged to the same account; a table with other columns is
        refused.
        """
        with writing(self.path, create=self._salt is None) as connection:
            if not tables(connection):
                self._make(connection, promise, neighbours, columns)
            account, salt = self._look(connection)
            (known,) = connection.execute("SELECT columns FROM account").fetchone()
            seen = {mark for (mark,) in connection.execute("SELECT mark FROM seen")}
            salted = marks.salted(salt)
            if seen and not seen & salted and known != _listed(columns):
                raise VaultError(
                    f"{self.path} keeps the budget of a table with other columns",
                    why="a vault is for one private database",
                    fix="name a vault file of its own for this table",
                )
            connection.executemany("INSERT OR IGNORE INTO seen VALUES (?)", [(mark,) for mark in sorted(salted)])
            _check_neighbours(account, neighbours, self.name)
        self._salt = salt
        self._least = max(self._least, account.spent)
        return account

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount durably, or raise BudgetError."""
        if self._salt is None:
            raise VaultError(f"the vault {self.path} was not opened")
        with writing(self.path) as connection:
            account, _ = self._look(connection)
            after = _charged(account, amount, site, self.name)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            connection.execute(
                "INSERT INTO reservations (moment, process, site, epsilon) VALUES (?, ?, ?, ?)",
                (now, os.getpid(), site.encode("utf-8", "backslashreplace").decode(), str(amount)),
            )
            connection.execute("UPDATE account SET spent = ?", (str(after.spent),))
        self._least = max(self._least, after.spent)

    def account(self) -> Account:
        """Return the account of a vault that exists."""
        with reading(self.path) as connection:
            return _account(connection)[0]

    def reservations(self) -> tuple[Reservation, ...]:
        """Return every reservation, in order."""
        with reading(self.path) as connection:
            rows = connection.execute("SELECT number, moment, process, site, epsilon FROM reservations ORDER BY number")
            return tuple(
                Reservation(number, moment, process, site, _fraction(epsilon))
                for number, moment, process, site, epsilon in rows
            )

    def _make(
        self, connection: sqlite3.Connection, promise: Fraction, neighbours: str, columns: tuple[str, ...]
    ) -> None:
        if self._salt is not None:
            raise gone(self.path)
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO account VALUES (1, ?, ?, ?, ?, ?, '0')",
            (VERSION, secrets.token_bytes(32), _listed(columns), neighbours, str(promise)),
        )

    def _look(self, connection: sqlite3.Connection) -> tuple[Account, bytes]:
        """Return what the file says, if it is still the one that was opened, and has forgotten nothing."""
        account, salt = _account(connection)
        if self._salt not in {None, salt}:
            raise gone(self.path)
        if account.spent < self._least:
            raise VaultError(
                f"{self.path} says less was spent than it said before",
                why=f"it is an older copy, and epsilon {show_amount(self._least - account.spent)} is missing from it",
                fix="put the newer one back",
            )
        return account, salt


def _listed(columns: tuple[str, ...]) -> str:
    return "\n".join(sorted(columns))


def _account(connection: sqlite3.Connection) -> tuple[Account, bytes]:
    row = connection.execute("SELECT version, promise, spent, neighbours, salt FROM account").fetchone()
    if row is None:
        raise VaultError("the vault holds no account", why="it was damaged", fix="restore it from a copy")
    version, promise, spent, neighbours, salt = row
    if version != VERSION:
        raise VaultError(f"the vault is of version {version}, not {VERSION}", fix="use the Jostle that made it")
    return Account(_fraction(promise), _fraction(spent), neighbours), bytes(salt)


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, TypeError, ZeroDivisionError):
        raise VaultError("the vault holds an amount that is no fraction", why="it was damaged") from None


def _check_neighbours(account: Account, neighbours: str, name: str) -> None:
    if account.neighbours != neighbours:
        raise VaultError(
            f"{name} keeps a budget under {account.neighbours}, not {neighbours}",
            why="amounts under two neighbour relations do not add up",
            fix=f'open the table with neighbours="{account.neighbours}"',
        )
