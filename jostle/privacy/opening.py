"""Open a table: as private, with a promise, or as public, for a rehearsal.

*Which account pays* is decided in one place, for `protect`, `jostle run` and estimators alike. It is the one that the
table has: of what was opened in this process from where it came from (see `RowOrigin`) or with equal rows (see
`Fingerprint`), and of a file the vault beside it. So opening a table twice does not give it two budgets. Another vault,
or none, beside that is a second promise about the same people, and refused unless it is asked for with a reason, which
is kept in both. This helps the data's owner not to lose count: it is the one place where rows are compared, what is
compared with are tables of their own, and nobody else opens any. It is no guard against an owner who changes the data
between two openings; and across processes, a file is known by the vault beside it alone.

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
from attrs import evolve, frozen

from jostle.errors import BudgetError, JostleError, ProbeError, SchemaError, VaultError, shown
from jostle.given import called_as, given_path
from jostle.privacy.account import Account
from jostle.privacy.amounts import RECORDED_BITS, Amount, epsilon_amount, recordable, show_amount
from jostle.privacy.door import admit
from jostle.privacy.expressions import NODES
from jostle.privacy.ledger import Ledger, Payer, PayerOfPersons
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import DrawingTables, Noise, SeededBits
from jostle.privacy.owner import check_owner
from jostle.privacy.probe import Probe
from jostle.privacy.release import evaluated, stack_of
from jostle.privacy.room import Room
from jostle.privacy.vault import FileVault, MemoryVault, Vault, checked_reason
from jostle.tables.engines import TableSource, bound
from jostle.tables.hashes import Fingerprint, fingerprint
from jostle.tables.origins import RowOrigin, check_public, take_as_private
from jostle.tables.persons import PUBLIC_KEY
from jostle.tables.schema import Schema, copied_schema
from jostle.tables.table import Table
from jostle.trace.records import Opened, Trace

__all__ = [
    "Recognised",
    "Where",
    "account_of_parts",
    "at_vault",
    "check_account",
    "protect",
    "raw",
    "recognise",
    "rehearse",
]


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


@frozen(eq=False)
class Registry:
    """Which vault keeps the budget of which table, for every table this process has opened as private.

    Its functions alone hold the vaults: an attribute that led there would lead to the budgets as well.
    """

    open: Callable[[Fingerprint, RowOrigin, frozenset[str], Where, Callable[[Vault], Fraction]], tuple[Vault, Fraction]]
    """Find the table's vault: the one it has, the one named, or a new one in memory; open it, and remember it."""
    check: Callable[[RowOrigin, Where], None]
    """Refuse a second promise without a reason, as `open` does, going by where a table came from alone."""
    account: Callable[[Where], Account | None]
    """Say what was promised and spent there; None where nothing was promised yet."""


def make_registry() -> Registry:
    """A registry that knows no table."""
    salt = secrets.token_bytes(32)
    vaults: dict[object, list[Vault]] = {}
    files: dict[Path, Vault] = {}
    kept: list[tuple[frozenset[str], Vault]] = []
    lock = threading.Lock()

    def named(path: Path) -> Vault:
        wanted = FileVault(path)
        return files.setdefault(wanted.path, wanted)

    def choose(origin: RowOrigin, known_by: Iterable[object], where: Where) -> tuple[Vault | None, list[Vault]]:
        """The vault that is asked for, if one is, and those that the table has."""
        found = [vault for each in known_by for vault in vaults.get(each, [])]
        has = list(dict.fromkeys([*found, *map(named, origin.vaults)]))
        asked = _asked(where, has, named)
        if where.second is None:
            _check_one(asked, has)
        return asked, has

    def open_vault(
        marks: Fingerprint,
        origin: RowOrigin,
        columns: frozenset[str],
        where: Where,
        opening: Callable[[Vault], Fraction],
    ) -> tuple[Vault, Fraction]:
        with lock:
            known_by: frozenset[object] = marks.salted(salt) | take_as_private(origin)
            asked, has = choose(origin, known_by, where)
            vault = asked or (has[0] if has else the_only(kept, where.alike) or MemoryVault())
            if vault in has:  # also where nothing is left of it
                _remember(vaults, known_by, vault)
            share = opening(vault)  # another vault that cannot be opened is not remembered
            _note(vault, has, where.second)
            _remember(vaults, known_by, vault)
            if (columns, vault) not in kept:
                kept.append((columns, vault))
            return vault, share

    def check(origin: RowOrigin, where: Where) -> None:
        with lock:
            choose(origin, (), where)

    def account(where: Where) -> Account | None:
        with lock:
            vault = the_only(kept, where.alike) if where.path is None else named(where.path)
        if isinstance(vault, FileVault) and not vault.path.exists():
            return None
        return None if vault is None else vault.account()

    return Registry(open_vault, check, account)


def _asked(where: Where, has: Iterable[Vault], named: Callable[[Path], Vault]) -> Vault | None:
    """The vault that is asked for; None for whichever the table has."""
    if where.path is not None:
        return named(where.path)
    if where.second is not None:
        return MemoryVault()
    return next((each for each in has if isinstance(each, MemoryVault)), MemoryVault()) if where.forgotten else None


def _check_one(asked: Vault | None, has: Sequence[Vault]) -> None:
    """Refuse to let a table be paid for by another vault than it has, or by one of several that nobody names."""
    if asked in has or len(has) < (2 if asked is None else 1):
        return
    if asked is None:
        raise BudgetError(
            f"the budget of this table is already kept in {' and in '.join(vault.name for vault in has)}",
            why="nothing says which of them pays",
            fix='name the vault: vault="table.vault"; of two tables that are one, open both with one vault, in a new '
            "process",
        )
    raise BudgetError(
        f"the budget of this table is already kept in {has[0].name}",
        why="what two accounts give away about the same people adds up, and neither knows of the other",
        fix="open it with that vault, or without naming one; a second promise is made with a reason: "
        'second_promise="...", or --a-second-promise "..."',
    )


def _remember(vaults: dict[object, list[Vault]], known_by: Iterable[object], vault: Vault) -> None:
    for each in known_by:
        vaults[each] = list(dict.fromkeys([*vaults.get(each, []), vault]))


def _note(vault: Vault, has: Iterable[Vault], reason: str | None) -> None:
    """Note, in a vault and in the others that a table has, why the same people were promised something twice."""
    if reason is None:
        return
    amount, remembered = show_amount(vault.promised()), isinstance(vault, FileVault)
    where = f"kept in {vault.name}" if remembered else "kept in no vault"
    for other in has:
        if other is vault:
            continue
        # What no vault remembers is promised anew each time.
        other.note(f"a second promise, epsilon {amount}, is {where}: {reason}", once=remembered)
        vault.note(f"a second promise, beside that in {other.name}: {reason}", once=True)


def the_only(kept: Iterable[tuple[frozenset[str], Vault]], alike: frozenset[str]) -> Vault | None:
    """Vault of the tables that have a column of these names; None where there is none, or nobody asks for it."""
    found = {id(vault): vault for columns, vault in kept if columns & alike}
    if len(found) > 1:
        raise BudgetError(
            "there are several budgets of tables with columns of these names",
            why="this table may be a part of any of them",
            fix='name the vault that keeps its budget: vault="table.vault"',
        )
    return next(iter(found.values()), None)


_registry = make_registry()


@frozen(eq=False, repr=False)
class Recognised:
    """A private table that was looked at and not opened yet: its marks are taken, nothing is promised or recorded."""

    marks: Fingerprint
    _source: TableSource
    _schema: Schema
    _origin: RowOrigin

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""
        return self._schema

    def open(
        self,
        *,
        epsilon: Amount | None = None,
        where: Where,
        trace: Trace | str | Path | None = None,
    ) -> Probe:
        """A probe on the table, as `protect` does."""
        return self._open(epsilon, where, trace)

    def open_part(self, *, at_first: Amount, vault: str | Path | None = None) -> Probe:
        """A probe on what may be a part of a larger table, and so is charged to that one's budget.

        That is the one of *vault*; without, that of any table opened in this process that has a column of the same
        name: in doubt one budget pays. *at_first* is promised where nothing was promised before.
        """
        where = part_at(vault, self._schema)
        try:
            return self._open(None, where, None)
        except BudgetError:
            if _registry.account(where) is not None:
                raise
        return self._open(at_first, where, None)

    def _open(self, epsilon: Amount | None, where: Where, trace: Trace | str | Path | None) -> Probe:
        check_owner()
        requested = None if epsilon is None else recordable(epsilon_amount(epsilon), "epsilon")
        schema, records = self._schema, _trace(trace)
        keeper, promise = _registry.open(
            self.marks,
            self._origin,
            frozenset(schema.sources),
            where,
            lambda found: found.open(requested, schema.neighbours, schema.names),
        )
        # Who asks for an epsilon has just that, whatever the promise becomes.
        grows = requested is None
        ledger = _ledger(promise, schema, payer=keeper, raised=_raised(keeper), grows=grows)
        noise = Noise(tables=DrawingTables.apart())
        source = bound(self._source, keeper.key())
        room = Room(source, (), ledger, noise, records, private=True, probe=_probe_on)
        return _opened(room, _record(schema, promise, keeper.name, private=True))


def recognise(table: Table) -> Recognised:
    """A private table with its marks, by one pass over its rows; refuse a schema that was read off them."""
    check_owner()
    source, schema = _taken(table)
    read_off = table.schema.inferred_from
    if read_off is not None and read_off.shared(table.origin):
        raise SchemaError(
            "the schema was read off this same table",
            why="its values and bounds would be public for free, and say who is in the table",
            fix="write the schema from public knowledge, or infer it from a public table of the same kind",
        )
    return Recognised(fingerprint(source), source, schema, table.origin)


def at_vault(vault: str | Path | None, second_promise: str | None = None, *, forgotten: bool = False) -> Where:
    """Where a budget is to be kept: in the vault that the table has, or the one that is named."""
    second = None if second_promise is None else checked_reason(second_promise, "a second promise")
    return Where(None if vault is None else given_path(vault, VaultError), second=second, forgotten=forgotten)


def check_account(data: Path, where: Where) -> None:
    """Refuse a second promise about a file that nobody gave a reason for, before anything is read."""
    _registry.check(RowOrigin.of(data), where)


def part_at(vault: str | Path | None, schema: Schema) -> Where:
    """Where the budget of parts of a larger table is kept."""
    return Where(None if vault is None else given_path(vault, VaultError), frozenset(schema.sources))


def account_of_parts(vault: str | Path | None, schema: Schema) -> Account | None:
    """What was promised for the parts of a larger table and what is spent; None where nothing was promised yet."""
    return _registry.account(part_at(vault, schema))


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

    What is spent is kept in *vault*, a file, beyond this process. Without one it is kept in the vault beside the file
    that the table was read from, if there is one, or else for as long as this process lives. The first promise for a
    table is the one that holds. Opened again with the same promise, or without *epsilon*, it has what is left of that;
    with a smaller epsilon, that part of it, if so much is left. A larger one is refused: the data's owner raises a
    promise with `jostle vault raise`, and what was opened without *epsilon* has the larger one from then on.

    A table is known again, in this process, by the file, frame, dict, list or array that it was made of, by an array's
    memory, by a file's bytes, by columns of the same cells, whatever their names, order and types of numbers, and by
    rows that a schema reads as the same codes in the same order of columns. Not known again are rows with another
    column or without one, written as texts or as another kind of file for another schema, and whatever another process
    opened, unless a vault lies beside the file. Another vault than the table has needs a *second_promise*, a reason.

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
        ProbeError: an Option or a program asks, which may open nothing.
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
    rows = bound(source, PUBLIC_KEY)
    room = Room(rows, (), ledger, noise, _trace(trace), private=False, probe=_probe_on)
    return _opened(room, _record(schema, promise, None, private=False))


def raw(table: Table, expressions: Iterable[Expression]) -> tuple[tuple[Fraction, ...], ...]:
    """The exact numbers of each expression's cells on a *public* table, without noise, for training.

    They are computed by the same code as the ones `Probe.release` adds noise to. A table that was opened as private is
    refused, as by `rehearse`.
    """
    source, schema = _taken_as_public(table)
    given = tuple(expressions)
    for each in given:
        NODES.check(each)
    if not given:
        return ()
    tally: Any = bound(source, PUBLIC_KEY).tally(stack_of(given, schema), ())
    found = evaluated(given, tally, schema)
    return tuple(tuple(Fraction(number, each.denominator) for number in each.flat()) for each in found)


def _probe_on(room: Room) -> Probe:
    return Probe(admit(room))


def _record(schema: Schema, promise: Fraction | None, vault: str | None, *, private: bool) -> Opened:
    facts = (schema.neighbours, private, promise, vault, schema.names, schema.rows, schema.rows_per_person)
    return Opened(*facts)


def _opened(room: Room, record: Opened) -> Probe:
    room.trace.add(record)
    room.trace.check()
    return _probe_on(room)


def _taken(table: object) -> tuple[TableSource, Schema]:
    """A table's rows, and its schema as it is now: who holds the table can change the one it has."""
    if not isinstance(table, Table):
        raise ProbeError(
            f"{type(table).__name__} is not a Table",
            fix="jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=1)",
        )
    schema = copied_schema(table.schema)
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
    payer: Payer | None = None,
    raised: Callable[[], Fraction] | None = None,
    *,
    grows: bool = True,
) -> Ledger:
    """The ledger of a table, which counts what is said of a row, of a promise about persons where it has them."""
    rows = schema.rows_per_person or 1
    return Ledger(
        None if promise is None else promise / rows,
        schema.neighbours,
        payer=None if payer is None else PayerOfPersons(payer, rows),
        raised=None if raised is None else lambda: raised() / rows,
        grows=grows,
        most_bits=RECORDED_BITS + (rows - 1).bit_length(),
        unit=rows,
    )


def _raised(keeper: Vault) -> Callable[[], Fraction]:
    """What says by how much a promise was raised since now."""
    before, known = keeper.promised(), [Fraction(0)]

    def raised() -> Fraction:
        with suppress(JostleError):  # a vault that cannot be read pays nothing either, and says why then
            known[0] = keeper.promised() - before
        return known[0]

    return raised


def _trace(trace: Trace | str | Path | None) -> Trace:
    # Exactly a Trace: records are added where rows are, and a subclass could look around there.
    if isinstance(trace, Trace) and type(trace) is not Trace:
        raise ProbeError(f"{type(trace).__name__} is a subclass of Trace", fix="trace=jostle.Trace(path)")
    return trace if isinstance(trace, Trace) else Trace(trace)
