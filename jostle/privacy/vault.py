"""Vaults: what was spent on one private database, remembered beyond the life of any process.

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

import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from jostle.errors import VaultError
from jostle.privacy.account import Account, no_promise
from jostle.privacy.amounts import show_amount
from jostle.privacy.process import this_process
from jostle.privacy.vault_book import NOTHING_COUNTED, Book, Promise, Reservation
from jostle.privacy.vault_file import copied, gone, missing, reading, writing

__all__ = ["FileVault", "MemoryVault", "Vault", "checked_reason"]

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
