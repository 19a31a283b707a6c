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
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, get_args

from attrs import frozen

from jostle.errors import AmountError, VaultError
from jostle.privacy.account import Account
from jostle.privacy.amounts import exact, show_amount
from jostle.privacy.vault_file import tables
from jostle.tables.schema import Neighbours

__all__ = ["NOTHING_COUNTED", "Book", "CountedReservations", "Promise", "Reservation"]

VERSION, FIRST_VERSION = 2, 1
MOST_TABLES = 100
"""A vault has fewer."""
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

FIRST_TABLES = """
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
)
"""
"""Those of version 1, which are still read."""

Held = TypeVar("Held")


@frozen
class Promise:
    """A promise that was made or raised; or, the same again, why there is a second one elsewhere."""

    moment: str
    process: int
    epsilon: Fraction
    reason: str

    def as_data(self) -> dict[str, Any]:
        """The promise as plain data."""
        return {
            "moment": self.moment,
            "process": self.process,
            "promise": str(self.epsilon),
            "reason": self.reason,
        }


@frozen
class Reservation:
    """An amount that was set aside before the answer it pays for was drawn."""

    number: int
    moment: str
    process: int
    site: str
    epsilon: Fraction


@frozen
class CountedReservations:
    """Reservations that were added up."""

    last: int = 0
    """The number of the last one."""
    total: Fraction = Fraction(0)


NOTHING_COUNTED = CountedReservations()


@frozen
class Book:
    """What a vault file says, and what is written into it, within a transaction of the connection.

    Every amount that counts stands in it twice: what was spent is the sum of the reservations, and the promise is the
    last of the promises. So a file that was damaged in one place does not give budget back; it is refused.
    """

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

    def check_form(self) -> None:
        """Refuse other tables than Jostle makes, word by word: a trigger or a default would write something else."""
        form = _form(self.connection)
        if form not in {_made_by(TABLES), _made_by(FIRST_TABLES)}:
            raise _damaged("tables that Jostle did not make")
        if self._version() != (VERSION if form == _made_by(TABLES) else FIRST_VERSION):
            raise _damaged("the tables of another version than it says")

    def check_amounts(self, counted: CountedReservations) -> CountedReservations:
        """Refuse amounts that do not agree; return what was added up, for the next time to go on from."""
        account, promises = self.account(), [each.epsilon for each in self.promises()]
        if promises[-1:] != [account.promise] or any(former > later for former, later in pairwise(promises)):
            raise _damaged("a promise that is not the last one that was made")
        rows = self.connection.execute(
            "SELECT number, epsilon FROM reservations WHERE number > ? ORDER BY number", (counted.last,)
        )
        last, total = counted.last, counted.total
        for number, epsilon in rows:
            amount = _amount(epsilon)
            if amount < 0:
                raise _damaged("a reservation that gives budget back")
            last, total = number, total + amount
        if total != account.spent:
            raise VaultError(
                f"the vault says that epsilon {show_amount(account.spent)} was spent, and its reservations add up to "
                f"{show_amount(total)}",
                why="it was damaged, or something else has written to it",
                fix="restore it from a copy",
            )
        return CountedReservations(last, total)

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
        if not 0 <= account.spent <= account.promise or account.neighbours not in get_args(Neighbours):
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
        """Every promise, in order: the first was made, each of the others raised it, or says of one made elsewhere."""
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
        """Write a larger promise and why it is larger, or the same one with what is to be known of another."""
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
        rows: list[tuple[Any, ...]] = self.connection.execute(statement).fetchmany(2)
        if len(rows) != 1:
            raise _damaged("several accounts" if rows else "no account")
        return rows[0]


def _form(connection: sqlite3.Connection) -> frozenset[tuple[str | None, ...]]:
    """The tables and indices of a file, by the words that they were made with."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchmany(MOST_TABLES)
    return frozenset(
        (kind, name, table, None if made is None else " ".join(_held(str, made).split()))
        for kind, name, table, made in rows
    )


@cache
def _made_by(statements: str) -> frozenset[tuple[str | None, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        for statement in statements.split(";\n"):
            connection.execute(statement)
        return _form(connection)
    finally:
        connection.close()


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
