"""Vaults: what was spent on private tables, remembered beyond the life of any process.

A vault is an SQLite file. It holds accounts: those of populations, whose tables share one, and that of a table which
declares none. Of each it has the promises, the tables that were opened under it and every reservation. Nothing in it is
computed from rows.

An amount is *reserved*, durably, before the answer it pays for is drawn: whatever happens then, a crash at any instant
or a full disk, nothing was released that is not recorded. A reservation whose answer never came out stays spent.
Reservations take the file's write lock, so any number of processes and threads see one running total, kept as an exact
fraction. The order of reservations is that of their numbers; their moments are for people, and no decision depends on
a clock.

An account's *key* is drawn at random when the account is made, and never again. By it a file is told from another in
its place, and the rows of a person that are read are drawn; it need not be secret.

What a vault cannot notice: that it was deleted, or exchanged for an older copy, or that the log of another change was
put beside it, while no process had it open. Whoever can write it can give budget back, so keep it with the data,
and for the data's owner alone.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, cast, get_args

from attrs import evolve, frozen

from jostle.errors import AmountError, JostleError, VaultError, shown
from jostle.privacy.account import Account, TableFacts, checked_reason, no_promise
from jostle.privacy.amounts import exact, show_amount
from jostle.privacy.vault_file import copied, gone, missing, reading, tables, writing
from jostle.tables.schema import Neighbours

KEY_BYTES = 32

TABLES = """
CREATE TABLE accounts (
    number INTEGER PRIMARY KEY,
    people TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    key BLOB NOT NULL,
    promise TEXT NOT NULL,
    spent TEXT NOT NULL
);
CREATE TABLE tables (
    number INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    name TEXT NOT NULL,
    columns TEXT NOT NULL,
    person TEXT NOT NULL,
    rows_per_person INTEGER NOT NULL
);
CREATE TABLE promises (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account INTEGER NOT NULL,
    moment TEXT NOT NULL,
    process INTEGER NOT NULL,
    epsilon TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE reservations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    of_table INTEGER NOT NULL,
    moment TEXT NOT NULL,
    process INTEGER NOT NULL,
    site TEXT NOT NULL,
    epsilon TEXT NOT NULL
)
"""
"""No people and no person are an empty text, and no number of rows is 0."""
FORM = sorted(
    [*(" ".join(statement.split()) for statement in TABLES.split(";")), "CREATE TABLE sqlite_sequence(name,seq)"]
)


@frozen
class Promise:
    """A promise that was made or raised; or, the same again, why there is a second one elsewhere."""

    account: int
    moment: str
    process: int
    epsilon: Fraction
    reason: str


@frozen
class Reservation:
    """An amount that was set aside before the answer it pays for was drawn."""

    number: int
    table: int
    moment: str
    process: int
    site: str
    epsilon: Fraction


@frozen
class OpenedTable:
    """A table that was opened under an account."""

    number: int
    account: int
    facts: TableFacts
    spent: Fraction

    @property
    def name(self) -> str:
        """What it is called."""
        return self.facts.name or f"table {self.number}"


@frozen
class AccountStatement:
    """What a vault says of one account."""

    number: int
    key: bytes
    account: Account
    tables: tuple[OpenedTable, ...]
    promises: tuple[Promise, ...]
    """In order: the first was made, each of the others raised it, or says of one made elsewhere."""
    reservations: tuple[Reservation, ...] = ()
    """In order; none where nobody asked for them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of its tables."""
        return tuple(sorted({name for table in self.tables for name in table.facts.columns}))


@frozen
class Counted:
    """Reservations that were added up."""

    last: int = 0
    """The number of the last one."""
    totals: Mapping[int, Fraction] = {}
    """By the number of the table."""


@frozen
class Book:
    """What a vault file says, and what is written into it, within a transaction of the connection.

    Every amount that counts stands in it twice: what was spent is the sum of the reservations, and the promise is the
    last of the promises. So a file that was damaged in one place does not give budget back; it is refused.
    """

    connection: sqlite3.Connection

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written into it."""
        return not tables(self.connection)

    def check_form(self) -> None:
        """Refuse other tables than Jostle makes, word by word: a trigger or a default would write something else."""
        made = self.connection.execute("SELECT sql FROM sqlite_master")
        if sorted(" ".join(str(statement).split()) for (statement,) in made) != FORM:
            raise VaultError(
                "the vault holds tables that this Jostle does not make",
                why="it was damaged, or another version made it, which counted something else",
                fix="restore it from a copy; or move it away, and promise what was left by the Jostle that made it: "
                "jostle vault create FILE --epsilon E",
            )

    def amounts(self) -> dict[bytes, tuple[Fraction, Fraction]]:
        """What each account says is promised and was spent, by its key."""
        rows = self.rows("accounts", key=bytes, promise=Fraction, spent=Fraction)
        return {key: (promise, spent) for key, promise, spent in rows}

    def statements(self, counted: Counted) -> tuple[tuple[AccountStatement, ...], Counted]:
        """Every account, and what was added up, for the next time to go on from; refuse what does not agree."""
        counted = self._count(counted)
        opened = [*self._tables(counted)]
        lines = self.rows("promises", account=int, moment=str, process=int, epsilon=Fraction, reason=str)
        promises = [Promise(*line) for line in lines]
        held = []
        cells = {"number": int, "people": str, "neighbours": str, "key": bytes, "promise": Fraction, "spent": Fraction}
        for number, people, neighbours, key, promise, spent in self.rows("accounts", **cells):
            facts = {"neighbours": neighbours, "people": people or None}
            under = tuple(
                evolve(table, facts=evolve(table.facts, **facts)) for table in opened if table.account == number
            )
            most = {table.facts.rows_per_person for table in under if table.facts.rows_per_person is not None}
            about_rows = sum((table.spent for table in under if table.facts.rows_per_person is None), Fraction(0))
            about = tuple(sorted(most)) if most or people else None
            account = Account(promise, spent, neighbours, people or None, about, about_rows)
            made = tuple(promise_made for promise_made in promises if promise_made.account == number)
            _check_account(account, under, [promise_made.epsilon for promise_made in made])
            held.append(AccountStatement(number, key, account, under, made))
        if not held or min(
            len({statement.key for statement in held}), len({statement.account.people for statement in held})
        ) < len(held):
            raise _damaged("no account, or one twice")
        lines_of = {line.account for line in promises} | {line.account for line in opened}
        strays = lines_of - {statement.number for statement in held}
        if strays or counted.totals.keys() - {table.number for table in opened}:
            raise _damaged("lines of no account")
        return tuple(held), counted

    def reservations(self, of: AccountStatement) -> tuple[Reservation, ...]:
        """Every reservation of an account, in order."""
        own = {table.number for table in of.tables}
        cells = {"number": int, "of_table": int, "moment": str, "process": int, "site": str, "epsilon": Fraction}
        lines = (Reservation(*line) for line in self.rows("reservations", **cells))
        return tuple(line for line in lines if line.table in own)

    def begin(self, promise: Fraction, table: TableFacts, reason: str) -> None:
        """Write a new account, and the promise that it begins with."""
        for statement in TABLES.split(";") if self.is_new else ():
            self.connection.execute(statement)
        facts = {"people": table.people or "", "neighbours": table.neighbours}
        amounts = {"promise": str(promise), "spent": "0"}
        number = self._add("accounts", {**facts, "key": secrets.token_bytes(KEY_BYTES), **amounts})
        self.note(number, promise, reason)
        if table.columns:
            self._add_table(number, table)

    def join(self, held: AccountStatement, account: Account, table: TableFacts) -> int:
        """Write down a table that is opened under an account, and the account's people; return the table's number."""
        self.connection.execute("UPDATE accounts SET people = ? WHERE number = ?", (account.people or "", held.number))
        facts = evolve(table, people=held.account.people, name=_writable(table.name))
        for opened in held.tables:
            if opened.facts == facts:
                return opened.number
            if opened.facts == evolve(facts, name="") and not opened.spent:  # the vault was made before there were data
                self.connection.execute("UPDATE tables SET name = ? WHERE number = ?", (facts.name, opened.number))
                return opened.number
        return self._add_table(held.number, facts)

    def charge(self, charges: Sequence[tuple[int, str, Fraction]], accounts: Iterable[AccountStatement]) -> None:
        """Write reservations, each of a table, its site and an amount, and the accounts as they are after them."""
        line = _line()
        rows = [{**line, "of_table": table, "site": _writable(site), "epsilon": str(a)} for table, site, a in charges]
        self._add("reservations", *rows)
        spent = [(str(statement.account.spent), statement.number) for statement in accounts]
        self.connection.executemany("UPDATE accounts SET spent = ? WHERE number = ?", spent)

    def note(self, account: int, promise: Fraction, reason: str) -> None:
        """Write an account's promise and why it is larger, or the same one with what is to be known of another."""
        self._add("promises", {**_line(), "account": account, "epsilon": str(promise), "reason": _writable(reason)})
        self.connection.execute("UPDATE accounts SET promise = ? WHERE number = ?", (str(promise), account))

    def _add_table(self, account: int, table: TableFacts) -> int:
        facts = {"account": account, "name": _writable(table.name), "columns": json.dumps(table.columns)}
        persons = {"person": table.person or "", "rows_per_person": table.rows_per_person or 0}
        return self._add("tables", {**facts, **persons})

    def _add(self, table: str, *rows: Mapping[str, Any]) -> int:
        """Write rows by one statement; return the number of the last one."""
        marks = f"({', '.join('?' * len(rows[0]))})"
        statement = f"INSERT INTO {table} ({', '.join(rows[0])}) VALUES {', '.join([marks] * len(rows))}"  # noqa: S608 - our names
        made = self.connection.execute(statement, [cell for row in rows for cell in row.values()])
        return int(made.lastrowid or 0)

    def rows(self, table: str, after: int = 0, /, **cells: type) -> Iterator[tuple[Any, ...]]:
        """Yield a table's rows, with cells of these kinds: an amount, or names, is read off a text."""
        statement = f"SELECT {', '.join(cells)} FROM {table} WHERE number > ? ORDER BY number"  # noqa: S608 - our names
        for row in self.connection.execute(statement, (after,)):
            yield tuple(map(_cell, cells.values(), row))

    def _count(self, counted: Counted) -> Counted:
        last, totals = counted.last, dict(counted.totals)
        for number, table, amount in self.rows("reservations", last, number=int, of_table=int, epsilon=Fraction):
            if amount < 0:
                raise _damaged("a reservation that gives budget back")
            last, totals[table] = number, totals.get(table, Fraction(0)) + amount
        return Counted(last, totals)

    def _tables(self, counted: Counted) -> Iterator[OpenedTable]:
        """Yield every table; its neighbours and people are its account's."""
        cells = {"number": int, "account": int, "name": str, "columns": tuple, "person": str, "rows_per_person": int}
        for number, account, name, columns, person, most in self.rows("tables", **cells):
            facts = TableFacts(columns, person=person or None, rows_per_person=most or None, name=name)
            yield OpenedTable(number, account, facts, counted.totals.get(number, Fraction(0)))


def _check_account(account: Account, under: Iterable[OpenedTable], made: Sequence[Fraction]) -> None:
    """Refuse an account that does not agree with its lines."""
    if not 0 <= account.spent <= account.promise or account.neighbours not in get_args(Neighbours):
        raise _damaged("an account that nobody could have made")
    if made[-1:] != [account.promise] or any(former > later for former, later in pairwise(made)):
        raise _damaged("a promise that is not the last one that was made")
    persons = ((table.facts.person, table.facts.rows_per_person) for table in under)
    if any((person is None) is not (most is None) or (most or 1) < 1 for person, most in persons):
        raise _damaged("a table that nobody could have opened")
    total = sum((table.spent for table in under), Fraction(0))
    if total != account.spent:
        raise VaultError(
            f"the vault says that epsilon {show_amount(account.spent)} was spent, and its reservations add up to "
            f"{show_amount(total)}",
            why="it was damaged, or something else has written to it",
            fix="restore it from a copy",
        )


def _line() -> dict[str, Any]:
    """What every line of a book has: when it was written, and by which process."""
    return {"moment": datetime.now(UTC).isoformat(timespec="seconds"), "process": os.getpid()}


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _cell(kind: type, value: object) -> Any:
    """A cell as what it stands for; refuse one of another kind."""
    given = str if kind in {Fraction, tuple} else kind
    if type(value) is not given:
        raise _damaged(f"something else where {given.__name__} belongs")
    try:
        if kind is Fraction:
            return exact(cast("str", value), "an amount")
        if kind is tuple:
            return tuple(_cell(str, name) for name in _cell(list, json.loads(cast("str", value))))
    except (AmountError, ValueError, RecursionError):
        raise _damaged("an amount that is no number, or columns that are no list") from None
    return value


def _damaged(what: str) -> VaultError:
    return VaultError(f"the vault holds {what}", why="it was damaged", fix="restore it from a copy")


@frozen(eq=False)
class TableAccount:
    """The account of a table that was opened: all that the table is asked is charged to it.

    It counts what its promise is about: persons, where the table has *rows_per_person*. Whoever counts rows pays that
    many times as much.
    """

    vault: FileVault | MemoryVault
    key: bytes
    """Random bytes that no other account has, for as long as there is this one."""
    table: TableFacts
    number: int
    """The table's in the vault."""
    share: Fraction
    """What whoever opened it may spend."""

    @property
    def name(self) -> str:
        """How the vault is called."""
        return self.vault.name

    @property
    def rows_per_person(self) -> int:
        """How many times as much as a row a person costs; 1 where the account is about rows."""
        return self.table.rows_per_person or 1

    def pay(self, amount: Fraction, site: str) -> None:
        """Reserve an amount, of what the account counts, or raise BudgetError."""
        self.vault.pay(self, amount, site)

    def promised(self) -> Fraction:
        """The promise as it is now."""
        return self.vault.promised(self.key)


class MemoryVault:
    """A vault for the life of this process, of one account."""

    name = "this process"
    raising = 'a promise kept in a file can be raised: jostle.protect(table, epsilon=1, vault="table.vault")'

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._account: Account | None = None
        self._key = secrets.token_bytes(KEY_BYTES)
        self._process = os.getpid()

    def open(self, requested: Fraction | None, table: TableFacts, reason: str | None = None) -> TableAccount:
        """The account that pays for a table; without one yet, *requested* is promised here."""
        self._check_process()
        with self._lock:
            if self._account is None:
                if requested is None:
                    raise no_promise()
                self._account = Account.made(requested, table)
            account = self._account.joined(table, self.name, reason)
            share = account.share(requested, self.name, self.raising)
            self._account = account
        return TableAccount(self, self._key, evolve(table, people=account.people), 1, share)

    def pay(self, payer: TableAccount, amount: Fraction, site: str) -> None:
        """Reserve an amount, or raise BudgetError."""
        self._check_process()
        with self._lock:
            if self._account is None or payer.key != self._key:
                raise VaultError("the vault was not opened")
            self._account = self._account.charged(amount, site, payer.table, self.name, self.raising)

    def promised(self, key: bytes) -> Fraction:
        """The promise, which stays as it is."""
        return Fraction(0) if self._account is None else self._account.promise

    def note(self, text: str, *, key: bytes | None, once: bool) -> None:
        """Keep nothing: nobody could be shown it."""

    def account_of(self, table: TableFacts) -> Account | None:
        """Promise and spending; None where nothing was promised yet."""
        return self._account

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
        self._least: dict[bytes, Fraction] = {}
        """What the accounts that were opened said was spent, by key: it can only have become more."""
        self._counted = Counted()
        """The reservations in it that were added up then."""

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def raising(self, people: str | None) -> str:
        """What to type for a larger promise."""
        whose = "" if people is None else f" --people {shlex.quote(people)}"
        return f"raise the promise: jostle vault raise {shlex.quote(self.name)} --epsilon E --reason TEXT{whose}"

    # For whoever opens a table

    def open(self, requested: Fraction | None, table: TableFacts, reason: str | None = None) -> TableAccount:
        """The account that pays for a table; without one yet, *requested* is promised here.

        A table of a population is charged to that one's account, whatever its columns. Any other is charged to the
        account of a table that it has a column in common with (it grew, say, or has another column), or refused.
        """
        if not self._least and requested is None and not self.path.exists():
            raise no_promise()
        with writing(self.path, create=requested is not None and not self._least) as connection:
            book = Book(connection)
            held = None if book.is_new else self._of_table(self._look(book), table)
            while held is None:
                if requested is None:
                    raise no_promise()
                book.begin(requested, table, "made when the table was first opened")
                held = self._of_table(self._look(book), table)
            account = held.account.joined(table, self.name, reason)
            number = book.join(held, account, table)
            if reason is not None and held.account.turned_by(table):
                rows = show_amount(account.about_rows)
                said = f"{account.about} from here on; epsilon {rows} before it covers no persons: {reason}"
                book.note(held.number, account.promise, said)
            share = account.share(requested, self.name, self.raising(account.people))
        self._least[held.key] = max(self._least.get(held.key, Fraction(0)), account.spent)
        return TableAccount(self, held.key, evolve(table, people=account.people), number, share)

    def pay(self, payer: TableAccount, amount: Fraction, site: str) -> None:
        """Reserve an amount durably, or raise BudgetError."""
        (refusal,) = self.pay_each([(payer, amount, site)])
        if refusal is not None:
            raise refusal

    def pay_each(self, charges: Sequence[tuple[TableAccount, Fraction, str]]) -> tuple[JostleError | None, ...]:
        """Reserve amounts, one after the other, all durable by one write; say of each why it was refused, or None."""
        if any(payer.key not in self._least for payer, _, _ in charges):
            raise VaultError(f"the vault {self.path} was not opened")
        refusals: list[JostleError | None] = []
        lines: list[tuple[int, str, Fraction]] = []
        with writing(self.path) as connection:
            book = Book(connection)
            accounts = {statement.key: statement for statement in self._look(book)}
            for payer, amount, site in charges:
                held = accounts[payer.key]
                raising = self.raising(held.account.people)
                try:
                    after = held.account.charged(amount, site, payer.table, self.name, raising)
                except JostleError as refusal:
                    refusals.append(refusal.anew())
                    continue
                lines.append((payer.number, site, after.spent - held.account.spent))
                accounts[payer.key] = evolve(held, account=after)
                refusals.append(None)
            if lines:
                book.charge(lines, [accounts[key] for key in {payer.key for payer, _, _ in charges}])
        for payer, _, _ in charges:
            self._least[payer.key] = max(self._least[payer.key], accounts[payer.key].account.spent)
        return tuple(refusals)

    def promised(self, key: bytes) -> Fraction:
        """An account's promise as it is now, as whoever raises it leaves it."""
        with reading(self.path) as connection:
            amounts = Book(connection).amounts()
        if key not in amounts:
            raise gone(self.path)
        return amounts[key][0]

    def note(self, text: str, *, key: bytes | None, once: bool) -> None:
        """Keep a text with an account's promises, or with all there are; perhaps only once, if it comes again."""
        with writing(self.path) as connection:
            book = Book(connection)
            for held in self._look(book):
                told = once and any(promise.reason == text for promise in held.promises)
                if key in {None, held.key} and not told:
                    book.note(held.number, held.account.promise, text)

    def _look(self, book: Book) -> tuple[AccountStatement, ...]:
        """Every account, if the file is still the one that was opened, and has forgotten nothing."""
        book.check_form()
        amounts = book.amounts()
        for key, least in tuple(self._least.items()):  # other threads may open more meanwhile
            if key not in amounts:
                raise gone(self.path)
            if (missed := least - amounts[key][1]) > 0:
                raise VaultError(
                    f"{self.path} says less was spent than it said before",
                    why=f"it is an older copy, and epsilon {show_amount(missed)} is missing from it",
                    fix="put the newer one back",
                )
        held, self._counted = book.statements(self._counted if self._least else Counted())
        return held

    def _of_table(self, held: Iterable[AccountStatement], table: TableFacts) -> AccountStatement | None:
        """The account that a table is charged to; None for one that is not made yet."""
        names = set(table.columns)
        likely = [
            statement for statement in held if not (names and statement.tables and names.isdisjoint(statement.columns))
        ]
        if table.people is not None:
            named = [statement for statement in held if statement.account.people == table.people]
            return next(iter([*named, *(statement for statement in likely if statement.account.people is None)]), None)
        if len(likely) == 1:
            return likely[0]
        fix = 'say whose rows they are, people="..." in the schema, or name a vault file of its own for this table'
        if not likely:
            raise VaultError(
                f"{self.path} keeps the budget of a table with other columns",
                why="a table that names no people is known by its columns",
                fix=fix,
            )
        raise VaultError(
            f"{self.path} keeps several budgets of tables with columns of these names",
            why=f"this table may be about {' or '.join(shown(statement.account.people) for statement in likely)}",
            fix=fix,
        )

    # For the data's owner

    def create(self, promise: Fraction, table: TableFacts) -> Account:
        """Make an account, and the file if there is none; no data are needed. Without columns, any table has it."""
        with writing(self.path, create=True) as connection:
            book = Book(connection)
            if not book.is_new and (table.people is None or self._of_table(self._look(book), table) is not None):
                raise VaultError(
                    f"there is a vault {self.path} already",
                    why="a second promise would be a second budget",
                    fix=f"jostle vault show {shlex.quote(self.name)}, or {self.raising(table.people)}",
                )
            book.begin(promise, table, "made before the table was opened")
        return Account.made(promise, table)

    def raise_promise(self, promise: Fraction, reason: str, people: str | None = None) -> Account:
        """Raise the promise, and record why; of several accounts, that for *people*."""
        checked_reason(reason, "raising the promise")
        if not self.path.exists():
            raise missing(self.path)
        with writing(self.path) as connection:
            book = Book(connection)
            held = self._one(self._look(book), people)
            account = held.account.raised(promise, self.name)
            book.note(held.number, account.promise, reason)
        return account

    def backup(self, target: str | Path) -> Path:
        """Write a copy as the vault is at one moment, whoever spends from it meanwhile; return the copy's path."""
        return copied(self.path, Path(target).resolve())

    def statements(self) -> tuple[AccountStatement, ...]:
        """All that it says of each account, at one moment."""
        with self._read() as (book, held):
            return tuple(evolve(statement, reservations=book.reservations(statement)) for statement in held)

    def statement(self, people: str | None = None) -> AccountStatement:
        """All that it says of the account for *people*, or of the only one."""
        return self._one(self.statements(), people)

    def account(self) -> Account:
        """Promise and spending of the only account."""
        with self._read() as (_, held):
            return self._one(held, None).account

    def is_for(self, people: str) -> bool:
        """Whether it has an account for a population; one that cannot be read has none."""
        with suppress(VaultError), reading(self.path) as connection:
            return (people,) in Book(connection).rows("accounts", people=str)
        return False

    def account_of(self, table: TableFacts) -> Account | None:
        """Promise and spending of the account that a table is charged to; None where nothing was promised yet."""
        with self._read() as (_, held):
            own = self._of_table(held, table)
            return None if own is None else own.account

    @contextmanager
    def _read(self) -> Iterator[tuple[Book, tuple[AccountStatement, ...]]]:
        with reading(self.path) as connection:
            book = Book(connection)
            book.check_form()
            yield book, book.statements(Counted())[0]

    def _one(self, held: Sequence[AccountStatement], people: str | None) -> AccountStatement:
        """The account for *people*, or the only one."""
        statements = [statement for statement in held if people in {None, statement.account.people}]
        if len(statements) == 1:
            return statements[0]
        names = (
            ", ".join(shown(statement.account.people) for statement in held if statement.account.people is not None)
            or "nobody"
        )
        raise VaultError(f"{self.path} holds promises for {names}", fix="say for whom: --people NAME")


Vault = FileVault | MemoryVault
