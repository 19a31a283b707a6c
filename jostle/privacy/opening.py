"""Open a table: as private, with a promise, or as public, for a rehearsal.

*Which account pays* is decided in one place, for `protect`, `jostle run` and estimators alike. It is the one of the
population that the table declares, whatever its columns: one that was opened in this process, or that a vault in the
file's folder has. Else it is the one that the table has: of what was opened in this process from where it came from
(see `RowOrigin`) or with equal rows (see `Fingerprint`), and of a file the vault beside it. So opening a table twice
does not give it two budgets, nor do two tables about the same people. Another account beside that of the table or of
its people is a second promise, and refused unless it is asked for with a reason, which is kept in both. This helps the
data's owner not to lose count: it is the one place where rows are compared, what is compared with are tables of their
own, and nobody else opens any. It is no guard against an owner who changes the data between two openings; and across
processes, a file is known by the vaults beside it alone.

*What is public* is asked of `check_public` alone, and goes by where rows came from. An Option holds no table, and is
refused to open one as private: it could make one up, and be told that there are such rows.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import Factory, define, evolve, field, frozen

from jostle.errors import BudgetError, JostleError, ProbeError, SchemaError, VaultError, shown
from jostle.given import called_as, given_path
from jostle.privacy.account import Account, TableFacts, checked_reason
from jostle.privacy.amounts import RECORDED_BITS, Amount, epsilon_amount, recordable, show_amount
from jostle.privacy.door import admit
from jostle.privacy.expressions import NODES
from jostle.privacy.ledger import Ledger, Pay
from jostle.privacy.mechanisms import evaluated, stack_of
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.probe import Probe
from jostle.privacy.room import Room
from jostle.privacy.vault import FileVault, MemoryVault, TableAccount, Vault
from jostle.tables.engines import RowSource, SharedPasses, TableSource, bound
from jostle.tables.hashes import Fingerprint, fingerprint
from jostle.tables.origins import VAULT_ENDING, RowOrigin, check_public, take_as_private, vault_beside
from jostle.tables.persons import PUBLIC_KEY
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.trace.records import Opened, Trace

MOST_LINES = 4096
"""Charges of a probe on a server's table that can be looked up: the last ones."""


@frozen
class Where:
    """Where a table's budget is to be kept."""

    path: Path | None = None
    """The vault's file; None for the vault it has, or one in memory."""
    alike: frozenset[str] = frozenset()
    """Column names: without a file, it is the budget of whatever was opened here that has a column of such a name."""
    second: str | None = None
    """Why there is to be a second promise, where the table has one elsewhere."""
    forgotten: bool = False
    """Without a file, whether it is to be in memory, whatever file the table has."""


@define(eq=False)
class KnownAccount:
    """An account that this process has opened, or may open."""

    vault: Vault
    people: str | None = None
    key: bytes | None = None
    """None for the one that a vault has for some people; or, without people, for the table that is opened."""

    def is_that(self, other: KnownAccount) -> bool:
        """Whether both may be the same account."""
        if self.key is not None and other.key is not None:
            return self is other
        return self.vault is other.vault and (self.people == other.people or None in {self.people, other.people})


@frozen(eq=False, repr=False)
class Registry:
    """Which account keeps the budget of which table, for every table this process has opened as private."""

    _salt: bytes = field(init=False, factory=lambda: secrets.token_bytes(32))
    _known: dict[object, list[KnownAccount]] = field(init=False, factory=dict)
    _opened: dict[tuple[Vault, bytes], KnownAccount] = field(init=False, factory=dict)
    _files: dict[Path, FileVault] = field(init=False, factory=dict)
    _kept: list[tuple[frozenset[str], KnownAccount]] = field(init=False, factory=list)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def open(
        self, marks: Fingerprint, origin: RowOrigin, table: TableFacts, where: Where, requested: Fraction | None
    ) -> TableAccount:
        """Find the table's account: the one it has, the one named, or a new one in memory; open it, and remember it."""
        with self._lock:
            known_by: frozenset[object] = marks.salted(self._salt) | take_as_private(origin)
            asked, own, others = self._choose(origin, known_by, table, where)
            has = _apart([*own, *others])
            same = [account for account in has if asked.is_that(account)]
            if same:  # also where nothing is left of it
                _remember(self._known, known_by, same[0])
            people = table.people or (same[0] if len(same) == 1 else asked).people
            # Another that cannot be opened is not remembered.
            paying = asked.vault.open(requested, evolve(table, people=people), where.second)
            account = self._opened.setdefault((asked.vault, paying.key), KnownAccount(asked.vault, key=paying.key))
            account.people = paying.table.people
            _check_one(where, account, own, others)  # once more: the vault knows which of its accounts it is
            _note(paying, [other for other in has if not other.is_that(account)], where.second)
            _remember(self._known, known_by, account)
            if (frozenset(table.columns), account) not in self._kept:
                self._kept.append((frozenset(table.columns), account))
            return paying

    def check(self, origin: RowOrigin, table: TableFacts, where: Where) -> None:
        """Refuse a second promise without a reason, as `open` does, going by where a table is from and its people."""
        with self._lock:
            self._choose(origin, (), table, where)

    def account(self, table: TableFacts, where: Where) -> Account | None:
        """What was promised and spent there; None where nothing was promised yet."""
        with self._lock:
            in_file = None if where.path is None else KnownAccount(self._named(where.path))
            its_people = None if in_file else _only(_of_people(self._opened.values(), table))
            asked = in_file or its_people or the_only(self._kept, table, where.alike)
        if asked is None or (isinstance(asked.vault, FileVault) and not asked.vault.path.exists()):
            return None
        return asked.vault.account_of(evolve(table, people=table.people or asked.people))

    def _named(self, path: Path) -> FileVault:
        wanted = FileVault(path)
        return self._files.setdefault(wanted.path, wanted)

    def _choose(
        self, origin: RowOrigin, known_by: Iterable[object], table: TableFacts, where: Where
    ) -> tuple[KnownAccount, list[KnownAccount], list[KnownAccount]]:
        """The account that pays, those that the table has if one is not its people's, and its people's."""
        marked = [account for mark in known_by for account in self._known.get(mark, [])]
        has = _apart([*marked, *(KnownAccount(self._named(path)) for path in origin.vaults)])
        beside = (KnownAccount(self._named(path), table.people) for path in _vaults_for(origin, table))
        others = _apart([*_of_people(self._opened.values(), table), *beside])
        apart = [account for account in has if not any(account.is_that(other) for other in others)]
        asked = (
            _asked(where, table, apart, others, self._named)
            or _only(
                others
                or [account for account in apart if table.people is None or account.people in {None, table.people}]
            )
            or the_only(self._kept, table, where.alike)
            or KnownAccount(MemoryVault(), table.people)
        )
        own = has if apart else []
        _check_one(where, asked, own, others)
        return asked, own, others


def _asked(
    where: Where,
    table: TableFacts,
    apart: Sequence[KnownAccount],
    others: Sequence[KnownAccount],
    named: Callable[[Path], FileVault],
) -> KnownAccount | None:
    """The account that is asked for; None for whichever the table has *apart* from its people, or they have."""
    if where.path is not None:
        return KnownAccount(named(where.path), table.people)
    new = KnownAccount(MemoryVault(), table.people)
    if where.second is not None:
        # A table of another account than its people's joins theirs.
        return others[0] if others and apart else new
    in_memory = (account for account in (*others, *apart) if isinstance(account.vault, MemoryVault))
    return next(in_memory, new) if where.forgotten else None


def _apart(accounts: Iterable[KnownAccount]) -> list[KnownAccount]:
    """These accounts, each once: one that is known by its key stands for what a vault may have for somebody."""
    different: list[KnownAccount] = []
    for account in sorted(dict.fromkeys(accounts), key=lambda one: one.key is None):
        if account.key is not None or not any(account.is_that(other) for other in different):
            different.append(account)
    return different


def _only(accounts: Sequence[KnownAccount]) -> KnownAccount | None:
    """The one that there is, or None; refuse several of which nobody names one."""
    if len(accounts) > 1:
        raise BudgetError(
            f"the budget of this table is already kept in {' and in '.join(one.vault.name for one in accounts)}",
            why="nothing says which of them pays",
            fix='name the vault: vault="table.vault"; of two tables that are one, open both with one vault, in a new '
            "process",
        )
    return next(iter(accounts), None)


def _of_people(accounts: Iterable[KnownAccount], table: TableFacts) -> list[KnownAccount]:
    return [account for account in accounts if table.people is not None and account.people == table.people]


def _vaults_for(origin: RowOrigin, table: TableFacts) -> list[Path]:
    """The vaults in the folders of a table's files that have an account for its people."""
    if table.people is None:
        return []
    folders = dict.fromkeys(source.file.parent for source in origin.all if source.file is not None)
    paths = (path for folder in folders for path in sorted(folder.glob(f"*{VAULT_ENDING}")))
    return [path for path in paths if FileVault(path).is_for(table.people)]


def _check_one(where: Where, asked: KnownAccount, *groups: Sequence[KnownAccount]) -> None:
    """Without a reason, refuse another account than the table has, and another than its people have."""
    has = next((group for group in groups if group and not any(asked.is_that(one) for one in group)), None)
    if has is None or where.second is not None:
        return
    whose = "" if has[0].people is None else f" for {shown(has[0].people)}"
    raise BudgetError(
        f"the budget of this table is already kept in {has[0].vault.name}{whose}",
        why="what two accounts give away about the same people adds up, and neither knows of the other",
        fix="open it with that vault, or without naming one; a second promise is made with a reason: "
        'second_promise="...", or --a-second-promise "..."',
    )


def _remember(accounts: dict[object, list[KnownAccount]], known_by: Iterable[object], account: KnownAccount) -> None:
    for mark in known_by:
        accounts[mark] = _apart([*accounts.get(mark, []), account])


def _note(paying: TableAccount, others: Iterable[KnownAccount], reason: str | None) -> None:
    """Note, in an account and in the others that a table has, why the same people were promised something twice."""
    if reason is None:
        return
    vault, remembered = paying.vault, isinstance(paying.vault, FileVault)
    promise = f"{paying.table.about}, epsilon {show_amount(paying.promised())}"
    where = f"kept in {vault.name}" if remembered else "kept in no vault"
    for other in others:
        # What no vault remembers is promised anew each time.
        said = f"a second promise {promise}, is {where}: {reason}"
        other.vault.note(said, key=other.key, once=remembered)
        vault.note(f"a second promise, beside that in {other.vault.name}: {reason}", key=paying.key, once=True)


def the_only(
    kept: Iterable[tuple[frozenset[str], KnownAccount]], table: TableFacts, alike: frozenset[str]
) -> KnownAccount | None:
    """Account of the tables that have a column of these names; None where there is none, or nobody asks for it."""
    peoples = {None, table.people}
    accounts = {
        id(account): account
        for columns, account in kept
        if columns & alike and (not table.people or account.people in peoples)
    }
    if len(accounts) > 1:
        raise BudgetError(
            "there are several budgets of tables with columns of these names",
            why="this table may be a part of any of them",
            fix='name the vault that keeps its budget: vault="table.vault"',
        )
    return next(iter(accounts.values()), None)


_registry = Registry()


@frozen(eq=False, repr=False)
class Recognised:
    """A private table that was looked at and not opened yet: its marks are taken, nothing is promised or recorded."""

    marks: Fingerprint
    schema: Schema
    """The public facts about the table."""
    _source: TableSource
    _origin: RowOrigin

    def open(self, *, epsilon: Amount | None = None, where: Where, trace: Trace | str | Path | None = None) -> Probe:
        """A probe on the table, as `protect` does."""
        requested = None if epsilon is None else recordable(epsilon_amount(epsilon), "epsilon")
        rows = self.charged_to(where, requested)
        account = rows.account
        # Who asks for an epsilon has just that, whatever the promise becomes.
        grows = requested is None
        ledger = _ledger(account.share, self.schema, payer=account.pay, raised=_raised(account), grows=grows)
        return rows.on(ledger, account.share, _trace(trace))

    def open_part(self, *, at_first: Amount, vault: str | Path | None = None) -> Probe:
        """A probe on what may be a part of a larger table, and so is charged to that one's budget.

        That is the one of *vault*; without, that of any table opened in this process that has a column of the same
        name: in doubt one budget pays. *at_first* is promised where nothing was promised before.
        """
        where = part_at(vault, self.schema)
        try:
            return self.open(where=where)
        except BudgetError:
            if _registry.account(TableFacts.of(self.schema), where) is not None:
                raise
        return self.open(epsilon=at_first, where=where)

    def charged_to(self, where: Where, requested: Fraction | None = None) -> ChargedRows:
        """The rows with the account that they are charged to; *requested* is promised where nothing was."""
        table = TableFacts.of(self.schema, "" if self._origin.file is None else self._origin.file.name)
        account = _registry.open(self.marks, self._origin, table, where, requested)
        return ChargedRows(account, bound(self._source, account.key), self.schema)


@frozen(eq=False, repr=False)
class ChargedRows:
    """A private table and the account that it is charged to: opened once, for any number of probes."""

    account: TableAccount
    _source: RowSource
    _schema: Schema
    _shared: RowSource = field(default=Factory(lambda rows: SharedPasses(rows._source), takes_self=True), init=False)  # noqa: SLF001 - its own

    def under(self, promise: Fraction, payer: Pay, trace: Trace) -> Probe:
        """A probe that may spend so much, and pays *payer*, which counts as the account does.

        Equal questions that several such probes are asked at once are answered by one pass over the rows, each with
        noise of its own. Of what each is charged, so much is kept as is looked up: a server holds them for months.
        """
        return self._on(self._shared, _ledger(promise, self._schema, payer=payer, lines=MOST_LINES), promise, trace)

    def on(self, ledger: Ledger, promise: Fraction, trace: Trace) -> Probe:
        """A probe that goes by a ledger."""
        return self._on(self._source, ledger, promise, trace)

    def _on(self, source: RowSource, ledger: Ledger, promise: Fraction, trace: Trace) -> Probe:
        room = Room(source, (), ledger, Noise(), trace, private=True, probe=_probe_on)
        return _opened(room, self._schema, promise, self.account.name)


def recognise(table: Table) -> Recognised:
    """A private table with its marks, by one pass over its rows; refuse a schema that was read off them."""
    source, schema = _taken(table)
    read_off = table.schema.inferred_from
    if read_off is not None and read_off.shared(table.origin):
        raise SchemaError(
            "the schema was read off this same table",
            why="its values and bounds would be public for free, and say who is in the table",
            fix="write the schema from public knowledge, or infer it from a public table of the same kind",
        )
    return Recognised(fingerprint(source), schema, source, table.origin)


def at_vault(vault: str | Path | None, second_promise: str | None = None, *, forgotten: bool = False) -> Where:
    """Where a budget is to be kept: in the vault that the table has, or the one that is named."""
    second = None if second_promise is None else checked_reason(second_promise, "a second promise")
    return Where(None if vault is None else given_path(vault, VaultError), second=second, forgotten=forgotten)


def vault_of_people(data: Path, table: TableFacts, vault: Path | None) -> Path | None:
    """The vault for a file's people, where *vault* would be made beside that file for it alone: one in its folder."""
    if vault is None or table.people is None or vault.exists() or vault != vault_beside(data):
        return vault
    if there := _vaults_for(RowOrigin.of(data), table):
        return there[0]
    raise BudgetError(
        f"the promise for {shown(table.people)} would be kept beside {data} alone",
        why="all tables of one population share a promise, and others would not find it there",
        fix="--vault FILE, one for all tables about these people",
    )


def check_account(data: Path, table: TableFacts, where: Where) -> None:
    """Refuse a second promise about a file or its people that nobody gave a reason for, before anything is read."""
    _registry.check(RowOrigin.of(data), table, where)


def part_at(vault: str | Path | None, schema: Schema) -> Where:
    """Where the budget of parts of a larger table is kept."""
    return Where(None if vault is None else given_path(vault, VaultError), frozenset(schema.sources))


def account_of_parts(vault: str | Path | None, schema: Schema) -> Account | None:
    """What was promised for the parts of a larger table and what is spent; None where nothing was promised yet."""
    return _registry.account(TableFacts.of(schema), part_at(vault, schema))


@called_as("jostle.protect(table, epsilon=1)")
def protect(
    table: Table,
    *,
    epsilon: Amount | None = None,
    vault: str | Path | None = None,
    trace: Trace | str | Path | None = None,
    second_promise: str | None = None,
) -> Probe:
    """Probe on a private table that spends at most *epsilon*, whatever it is asked.

    Whoever asks it is the rows' owner, or trusted by them. Mistakes are caught: budgets, bounds, leaks in `.jst`
    programs, errors that depend on rows. Malice is not: do not run strangers' Python beside private rows; for
    strangers, `jostle serve`.

    What is spent is kept in *vault*, a file, beyond this process. Without one it is kept in the vault beside the file
    that the table was read from, if there is one, or else for as long as this process lives. The first promise for a
    table is the one that holds. Opened again with the same promise, or without *epsilon*, it has what is left of that;
    with a smaller epsilon, that part of it, if so much is left. A larger one is refused: the data's owner raises a
    promise with `jostle vault raise`, and what was opened without *epsilon* has the larger one from then on.

    A table is known again, in this process, by the file, frame or array that it was made of, by a file's bytes, by
    columns of the same cells, whatever their names, order and types of numbers, and by rows that a schema reads as the
    same codes in the same order of columns. Not known again are rows with another column or without one, written as
    texts or as another kind of file for another schema, and whatever another process opened, unless a vault lies beside
    the file. Another vault than the table has needs a *second_promise*, a reason.

    Args:
        table: the private rows, with the public facts about them.
        epsilon: the promise, read as it is written: 1, "0.1", "1/3" or a Fraction.
        vault: a file that remembers what is spent; it is made where there is none.
        trace: a `Trace`, or a file for its lines: what was asked, and what was released.
        second_promise: why the same people are promised something a second time, in another vault or in memory: it is
            kept in both vaults.

    Raises:
        BudgetError: there is no promise, none that is an amount, one that is larger than what is kept allows, or a
            second one without a reason.
        VaultError: the vault is another table's, is damaged, or cannot be written.
    """
    return recognise(table).open(epsilon=epsilon, where=at_vault(vault, second_promise), trace=trace)


@called_as("jostle.rehearse(table, epsilon=1)")
def rehearse(
    table: Table, *, epsilon: Amount | None = None, seed: int = 0, trace: Trace | str | Path | None = None
) -> Probe:
    """Probe on a *public* table: the same answers' distribution, reproducible, and not private.

    For training and for trying things out. Without *epsilon* there is no bound, and what is spent is only counted. A
    table that was opened as private is refused: the same one, or one made of the same data or file. Rows that happen to
    be equal are not, since a refusal would confirm a guess at them. (A rehearsal's noise comes from a seed, and whoever
    knows the seed can take it off.)

    Args:
        table: the public rows, with their schema.
        epsilon: a bound, as that of a promise; None for none.
        seed: what its noise is drawn from: the same seed gives the same answers.
        trace: a `Trace`, or a file for its lines.

    Raises:
        PrivateDataError: the table was opened as private in this process, or is made of the same data or file.
    """
    source, schema = _taken_as_public(table)
    promise = None if epsilon is None else recordable(epsilon_amount(epsilon), "epsilon")
    ledger = _ledger(promise, schema)
    given: object = seed
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ProbeError(f"the seed of a rehearsal is {shown(seed)}", fix="a whole number from 0: seed=1")
    noise = Noise(SeededBits(int(given)))
    room = Room(bound(source, PUBLIC_KEY), (), ledger, noise, _trace(trace), private=False, probe=_probe_on)
    return _opened(room, schema, promise, None)


def raw(table: Table, expressions: Iterable[Expression]) -> tuple[tuple[Fraction, ...], ...]:
    """The exact numbers of each expression's cells on a *public* table, without noise, for training.

    They are computed by the same code as the ones `Probe.release` adds noise to. A table that was opened as private is
    refused, as by `rehearse`.
    """
    source, schema = _taken_as_public(table)
    given = tuple(expressions)
    for expression in given:
        NODES.check(expression)
    if not given:
        return ()
    tally: Any = bound(source, PUBLIC_KEY).tally(stack_of(given, schema), ())
    evaluations = evaluated(given, tally, schema)
    return tuple(tuple(Fraction(number, numbers.denominator) for number in numbers.flat()) for numbers in evaluations)


def _probe_on(room: Room) -> Probe:
    return Probe(admit(room))


def _opened(room: Room, schema: Schema, promise: Fraction | None, vault: str | None) -> Probe:
    facts = (schema.neighbours, room.private, promise, vault, schema.names, schema.rows, schema.rows_per_person)
    room.trace.add(Opened(*facts))
    room.trace.check()
    return _probe_on(room)


def _taken(table: object) -> tuple[TableSource, Schema]:
    """A table's rows and its schema, which leads to nothing that it was read off."""
    if not isinstance(table, Table):
        raise ProbeError(
            f"{type(table).__name__} is not a Table",
            fix="jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=1)",
        )
    schema = evolve(table.schema, inferred_from=None)
    rows: Any = table._source  # noqa: SLF001 - the one place that takes rows from their owner
    source: TableSource = evolve(rows, schema=schema)
    return source, schema


def _taken_as_public(table: object) -> tuple[TableSource, Schema]:
    """The same of a public table; refuse a private one."""
    if isinstance(table, Table):
        check_public(table.origin)
    return _taken(table)


def _ledger(
    promise: Fraction | None,
    schema: Schema,
    payer: Pay | None = None,
    raised: Callable[[], Fraction] | None = None,
    *,
    grows: bool = True,
    lines: int | None = None,
) -> Ledger:
    """The ledger of a table, which counts what is said of a row, of a promise about persons where it has them.

    What tells tables that differ in one row apart by no more than exp(epsilon) tells those that differ in so many by no
    more than exp(rows * epsilon): that is paid for a person.
    """
    rows = schema.rows_per_person or 1
    return Ledger(
        None if promise is None else promise / rows,
        schema.neighbours,
        payer=None if payer is None else lambda amount, site: payer(amount * rows, site),
        raised=None if raised is None else lambda: raised() / rows,
        grows=grows,
        most_bits=RECORDED_BITS + (rows - 1).bit_length(),
        unit=rows,
        lines=lines,
    )


def _raised(keeper: TableAccount) -> Callable[[], Fraction]:
    """What says by how much a promise was raised since now."""
    before, last = keeper.promised(), [Fraction(0)]

    def raised() -> Fraction:
        with suppress(JostleError):  # a vault that cannot be read pays nothing either, and says why then
            last[0] = keeper.promised() - before
        return last[0]

    return raised


def _trace(trace: Trace | str | Path | None) -> Trace:
    return trace if isinstance(trace, Trace) else Trace(trace)
