"""Vaults: what was spent on one private database, remembered beyond the life of any process.

The book in a vault file: one account, the promises made for it, every reservation.

Nothing in it is computed from rows. Version 1 also held two hashes of the rows, with the salt they were made with: who
could read the file and knew all rows but one found the last by trying. They told one database from another, which
public facts do well enough (`add_columns`); the step to version 2 wipes them out.

A vault is an SQLite file, one per private database. An amount is *reserved* in it, durably, before the answer it pays
for is drawn: whatever happens then, a crash at any instant or a full disk, nothing was released that is not recorded.
A reservation whose answer never came out stays spent. Reservations take the file's write lock, so any number of
processes and threads see one running total, kept as an exact fraction. The order of reservations is that of their
numbers; their moments are for people, and no decision depends on a clock.

What a vault cannot notice: that it was deleted, or exchanged for an older copy, or that the log of its last change was
put back beside it, while no process had it open. Whoever can write it can give budget back, so keep it with the data,
and for the data's owner alone.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

from attrs import frozen

from jostle.errors import AmountError, VaultError
from jostle.privacy.account import Account, no_promise
from jostle.privacy.amounts import exact, show_amount
from jostle.privacy.process import this_process
from jostle.privacy.vault_file import copied, gone, missing, reading, tables, writing
from jostle.tables.schema import Neighbours

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


MOST_REASON = 1000
"""Characters of the longest reason that is kept."""


def checked_reason(reason: object, what: str) -> str:
    """A reason for promising the people in the data less than they were; refuse what is none."""
    if isinstance(reason, str) and reason.strip() and len(reason) <= MOST_REASON and reason.isprintable():
        return reason
    raise VaultError(
        f"there is no reason for {what}",
        why="a promise was given to the people in the data, and whoever looks at the vault is told why it grew; "
        f"a reason is one line of at most {MOST_REASON} characters",
        fix='say why: "a second survey year was agreed to"',
    )


class Vault(Protocol):
    """Where a private database's budget is kept."""

    @property
    def name(self) -> str:
        """How the vault is called in messages and traces."""

    def open(self, requested: Fraction | None, neighbours: str, columns: tuple[str, ...]) -> Fraction:
        """Epsilon that may be spent by whoever opens the database; without an account yet, it is promised here."""

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount, or raise BudgetError."""

    def key(self) -> bytes:
        """What rows of persons are held by, of a vault that was opened: made with the account, never drawn again."""

    def promised(self) -> Fraction:
        """The promise as it is now, of a vault that was opened."""

    def note(self, text: str, *, once: bool) -> None:
        """Keep a text with the promises; perhaps only once, if it comes again."""

    def account(self) -> Account | None:
        """Promise and spending."""


class MemoryVault:
    """A vault for the life of this process."""

    name = "this process"
    raising = 'a promise kept in a file can be raised: jostle.protect(table, epsilon=1, vault="table.vault")'

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._account: Account | None = None
        self._process = this_process()
        self._key = secrets.token_bytes(IDENTITY_BYTES)

    def open(self, requested: Fraction | None, neighbours: str, columns: tuple[str, ...]) -> Fraction:  # noqa: ARG002 - a file needs them
        """Epsilon that may be spent by whoever opens the database; without an account yet, it is promised here."""
        self._check_process()
        with self._lock:
            if self._account is None:
                if requested is None:
                    raise no_promise()
                self._account = Account(requested, Fraction(0), neighbours)
            self._account.check_relation(neighbours, self.name)
            return self._account.share(requested, self.name, self.raising)

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount, or raise BudgetError."""
        self._check_process()
        with self._lock:
            if self._account is None:
                raise VaultError("the vault was not opened")
            self._account = self._account.charged(amount, site, self.name, self.raising)

    def key(self) -> bytes:
        """What rows of persons are held by."""
        return self._key

    def promised(self) -> Fraction:
        """The promise, which stays as it is."""
        account = self.account()
        return Fraction(0) if account is None else account.promise

    def note(self, text: str, *, once: bool) -> None:
        """Keep nothing: nobody could be shown it."""

    def account(self) -> Account | None:
        """Promise and spending; None where nothing was promised yet."""
        with self._lock:
            return self._account

    def _check_process(self) -> None:
        # After a fork there are two of these, each with all that was left.
        if self._process != this_process():
            raise VaultError(
                "the budget of this table is kept in the memory of another process",
                why="a copy of it, made by a fork, could be spent a second time",
                fix='name a vault file, which processes share: jostle.protect(table, epsilon=1, vault="table.vault")',
            )


class FileVault:
    """A vault in a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._identity: bytes | None = None
        self._least = Fraction(0)
        """What the file said was spent when it was last looked at: it can only have become more."""
        self._counted = NOTHING_COUNTED
        """The reservations in it that were added up then."""

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def raising(self) -> str:
        """What to type for a larger promise."""
        return f"raise the promise: jostle vault raise {shlex.quote(self.name)} --epsilon E --reason TEXT"

    # For whoever opens a table

    def open(self, requested: Fraction | None, neighbours: str, columns: tuple[str, ...]) -> Fraction:
        """Epsilon that may be spent by whoever opens the database; without an account yet, it is promised here.

        Another version of the table (it grew, say, or has another column) is charged to the same account; a table that
        has none of the columns known is refused.
        """
        create = self._identity is None and requested is not None
        if not create and self._identity is None and not self.path.exists():
            raise no_promise()
        with writing(self.path, create=create) as connection:
            book = Book(connection)
            if book.is_empty and requested is not None:
                book.begin(Account(requested, Fraction(0), neighbours), columns, "made when the table was first opened")
            account, identity = self._look(book)
            account.check_relation(neighbours, self.name)
            if not book.add_columns(columns):
                raise VaultError(
                    f"{self.path} keeps the budget of a table with other columns",
                    why="a vault is for one private database",
                    fix="name a vault file of its own for this table",
                )
            share = account.share(requested, self.name, self.raising)
        self._identity = identity
        self._least = max(self._least, account.spent)
        return share

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount durably, or raise BudgetError."""
        if self._identity is None:
            raise VaultError(f"the vault {self.path} was not opened")
        with writing(self.path) as connection:
            book = Book(connection)
            account, _ = self._look(book)
            after = account.charged(amount, site, self.name, self.raising)
            book.charge(after, after.spent - account.spent, site)
        self._least = max(self._least, after.spent)

    def key(self) -> bytes:
        """What rows of persons are held by: what tells the vault from all others."""
        if self._identity is None:
            raise VaultError(f"the vault {self.path} was not opened")
        return self._identity

    def promised(self) -> Fraction:
        """The promise as it is now, as whoever raises it leaves it."""
        with reading(self.path) as connection:
            return Book(connection).account().promise

    def note(self, text: str, *, once: bool) -> None:
        """Keep a text with the promises; perhaps only once, if it comes again."""
        with writing(self.path) as connection:
            book = Book(connection)
            account, _ = self._look(book)
            if not once or all(each.reason != text for each in book.promises()):
                book.raise_promise(account, text)

    def _look(self, book: Book) -> tuple[Account, bytes]:
        """Account and identity, if the file is still the one that was opened, and has forgotten nothing."""
        book.check_form()
        book.bring_up_to_date()
        account, identity = book.account(), book.identity()
        if self._identity not in {None, identity}:
            raise gone(self.path)
        if account.spent < self._least:
            raise VaultError(
                f"{self.path} says less was spent than it said before",
                why=f"it is an older copy, and epsilon {show_amount(self._least - account.spent)} is missing from it",
                fix="put the newer one back",
            )
        self._counted = book.check_amounts(NOTHING_COUNTED if self._identity is None else self._counted)
        return account, identity

    # For the data's owner

    def create(self, promise: Fraction, neighbours: str, columns: tuple[str, ...] = ()) -> Account:
        """Make the file, with a promise; no data are needed. Without *columns*, they are those it is opened with."""
        with writing(self.path, create=True) as connection:
            book = Book(connection)
            if not book.is_empty:
                raise VaultError(
                    f"there is a vault {self.path} already",
                    why="a second promise would be a second budget",
                    fix=f"jostle vault show {shlex.quote(self.name)}, or {self.raising}",
                )
            account = Account(promise, Fraction(0), neighbours)
            book.begin(account, columns, "made before the table was opened")
        return account

    def raise_promise(self, promise: Fraction, reason: str) -> Account:
        """Raise the promise, and record why."""
        checked_reason(reason, "raising the promise")
        if not self.path.exists():
            raise missing(self.path)
        with writing(self.path) as connection:
            book = Book(connection)
            account, _ = self._look(book)
            account = account.raised(promise, self.name)
            book.raise_promise(account, reason)
        return account

    def backup(self, target: str | Path) -> Path:
        """Write a copy as the vault is at one moment, whoever spends from it meanwhile; return the copy's path."""
        return copied(self.path, Path(target).resolve())

    @contextmanager
    def _read(self) -> Iterator[Book]:
        with reading(self.path) as connection:
            book = Book(connection)
            book.check_form()
            book.check_amounts(NOTHING_COUNTED)
            yield book

    def account(self) -> Account:
        """Promise and spending, as the file has them."""
        with self._read() as book:
            return book.account()

    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the database was opened with so far."""
        with self._read() as book:
            return book.columns()

    def promises(self) -> tuple[Promise, ...]:
        """Every promise, in order: the first was made, each of the others raised it, or says of one made elsewhere."""
        with self._read() as book:
            return book.promises()

    def reservations(self) -> tuple[Reservation, ...]:
        """Every reservation, in order."""
        with self._read() as book:
            return book.reservations()
