"""The book in a vault file: one account, the promises made for it, every reservation.

Nothing in it is computed from rows. Version 1 also held two hashes of the rows, with the salt they were made with: who
could read the file and knew all rows but one found the last by trying. They told one database from another, which
public facts do well enough (`add_columns`); the step to version 2 wipes them out.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeVar

from attrs import frozen

from jostle.errors import AmountError, VaultError
from jostle.privacy.account import Account
from jostle.privacy.amounts import exact
from jostle.privacy.vault_file import tables

__all__ = ["Book", "Promise", "Reservation"]

VERSION, FIRST_VERSION = 2, 1
IDENTITY_BYTES = 32
MADE_BEFORE = "made with an earlier version of Jostle"

TABLES = """
CREATE TABLE account (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version INTEGER NOT NULL,
    identity BLOB NOT NULL,
    columns TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    promise TEXT NOT NULL,
    spent TEXT NOT NULL
);
CREATE TABLE promises (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    moment TEXT NOT NULL,
    process INTEGER NOT NULL,
    epsilon TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS reservations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    moment TEXT NOT NULL,
    process INTEGER NOT NULL,
    site TEXT NOT NULL,
    epsilon TEXT NOT NULL
)
"""

Held = TypeVar("Held")


@frozen
class Promise:
    """A promise that was made or raised."""

    moment: str
    process: int
    epsilon: Fraction
    reason: str


@frozen
class Reservation:
    """An amount that was set aside before the answer it pays for was drawn."""

    number: int
    moment: str
    process: int
    site: str
    epsilon: Fraction


@frozen
class Book:
    """What a vault file says, and what is written into it, within a transaction of the connection."""

    connection: sqlite3.Connection

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever written into it."""
        return not tables(self.connection)

    def begin(self, account: Account, columns: tuple[str, ...], reason: str) -> None:
        """Write the account that everything else is about, and the promise it begins with."""
        for statement in TABLES.split(";\n"):
            self.connection.execute(statement)
        self.connection.execute(
            "INSERT INTO account VALUES (1, ?, ?, ?, ?, ?, ?)",
            (
                VERSION,
                secrets.token_bytes(IDENTITY_BYTES),
                _listed(columns),
                account.neighbours,
                str(account.promise),
                str(account.spent),
            ),
        )
        self._note_promise(account.promise, reason)

    def bring_up_to_date(self) -> None:
        """Turn a book of version 1 into one of this version; what was read off rows is overwritten with zeros."""
        if self._version() == VERSION:
            return
        account, columns = self.account(), self.columns()
        self.connection.execute("PRAGMA secure_delete = ON")
        self.connection.execute("DROP TABLE account")
        self.connection.execute("DROP TABLE seen")
        self.begin(account, columns, MADE_BEFORE)

    def account(self) -> Account:
        """Promise and spending, as they stand."""
        self._version()
        promise, spent, neighbours = self._row("SELECT promise, spent, neighbours FROM account")
        account = Account(_amount(promise), _amount(spent), _held(str, neighbours))
        if not 0 <= account.spent <= account.promise:
            raise _damaged("an account that nobody could have made")
        return account

    def identity(self) -> bytes:
        """Random bytes that no other vault has, but for copies of this one."""
        (identity,) = self._row("SELECT identity FROM account")
        return _held(bytes, identity)

    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the database was opened with so far."""
        (columns,) = self._row("SELECT columns FROM account")
        return _names(_held(str, columns), self._version())

    def promises(self) -> tuple[Promise, ...]:
        """Every promise, in order: the first was made, each of the others raised it."""
        if self._version() == FIRST_VERSION:
            return (Promise("", 0, self.account().promise, MADE_BEFORE),)
        rows = self.connection.execute("SELECT moment, process, epsilon, reason FROM promises ORDER BY number")
        return tuple(
            Promise(_held(str, moment), _held(int, process), _amount(epsilon), _held(str, reason))
            for moment, process, epsilon, reason in rows
        )

    def reservations(self) -> tuple[Reservation, ...]:
        """Every reservation, in order."""
        rows = self.connection.execute(
            "SELECT number, moment, process, site, epsilon FROM reservations ORDER BY number"
        )
        return tuple(
            Reservation(number, _held(str, moment), _held(int, process), _held(str, site), _amount(epsilon))
            for number, moment, process, site, epsilon in rows
        )

    def charge(self, account: Account, amount: Fraction, site: str) -> None:
        """Write a reservation, and the account as it is after it."""
        self.connection.execute(
            "INSERT INTO reservations (moment, process, site, epsilon) VALUES (?, ?, ?, ?)",
            (_now(), os.getpid(), _writable(site), str(amount)),
        )
        self.connection.execute("UPDATE account SET spent = ?", (str(account.spent),))

    def raise_promise(self, account: Account, reason: str) -> None:
        """Write a larger promise, and why it is larger."""
        self._note_promise(account.promise, reason)
        self.connection.execute("UPDATE account SET promise = ?", (str(account.promise),))

    def add_columns(self, names: Iterable[str]) -> bool:
        """Write down the columns of a table; return whether it can be of this database, which has some of them."""
        known, new = set(self.columns()), set(names)
        if known and not known & new:
            return False
        if new - known:
            self.connection.execute("UPDATE account SET columns = ?", (_listed(known | new),))
        return True

    def _note_promise(self, epsilon: Fraction, reason: str) -> None:
        self.connection.execute(
            "INSERT INTO promises (moment, process, epsilon, reason) VALUES (?, ?, ?, ?)",
            (_now(), os.getpid(), str(epsilon), _writable(reason)),
        )

    def _version(self) -> int:
        (version,) = self._row("SELECT version FROM account")
        if version not in {FIRST_VERSION, VERSION}:
            raise VaultError(
                f"the vault is of version {version!r:.20}, not {VERSION}", fix="use the Jostle that made it"
            )
        return int(version)

    def _row(self, statement: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self.connection.execute(statement).fetchone()
        if row is None:
            raise _damaged("no account")
        return row


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _listed(names: Iterable[str]) -> str:
    return json.dumps(sorted(names))


def _names(text: str, version: int) -> tuple[str, ...]:
    if version == FIRST_VERSION:
        return tuple(text.split("\n"))
    try:
        return tuple(_held(str, name) for name in _held(list, json.loads(text)))
    except (ValueError, RecursionError):
        raise _damaged("columns that are no list") from None


def _amount(text: object) -> Fraction:
    try:
        return exact(_held(str, text), "an amount")
    except AmountError:
        raise _damaged("an amount that is no number") from None


def _held(kind: type[Held], value: object) -> Held:
    if type(value) is not kind:
        raise _damaged(f"something else where {kind.__name__} belongs")
    return value


def _damaged(what: str) -> VaultError:
    return VaultError(f"the vault holds {what}", why="it was damaged", fix="restore it from a copy")
