"""Open a table: as private, with a promise, or as public, for a rehearsal.

A table that comes again is recognised by its data as they came, or by its rows as its schema reads them (see
`Fingerprint`), and gets the vault it has, so that opening it twice does not give it two budgets. This helps the data's
owner not to lose count; it is no guard against an owner who changes the data between two openings (a row left out,
another file format and another schema at once). An Option holds no table, and is refused to open one as private: it
could make one up, and be told that there are such rows.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from jostle.errors import BudgetError, ProbeError, SchemaError, VaultError, shown
from jostle.given import called_as, given_path
from jostle.privacy.account import Account
from jostle.privacy.amounts import Amount, epsilon_amount, recordable
from jostle.privacy.door import Room, admit
from jostle.privacy.drawing_tables import DrawingTables
from jostle.privacy.expressions import NODES
from jostle.privacy.ledger import Ledger
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.owner import check_owner
from jostle.privacy.probe import Probe
from jostle.privacy.release import evaluated, stack_of
from jostle.privacy.vault import FileVault, MemoryVault, Vault
from jostle.tables.engines import RowSource
from jostle.tables.fingerprint import Fingerprint, fingerprint
from jostle.tables.private_files import check_public
from jostle.tables.provenance import Provenance
from jostle.tables.schema import Schema, copied_schema
from jostle.tables.table import Table
from jostle.trace.records import Opened, Trace

__all__ = ["Recognised", "account_of_parts", "protect", "raw", "recognise", "rehearse"]


@frozen
class Where:
    """Where a table's budget is to be kept."""

    path: Path | None = None
    """The vault's file; None for the vault it has, or one in memory."""
    alike: frozenset[str] = frozenset()
    """Column names: without a file, it is the budget of whatever was opened here that has a column of such a name."""


@frozen(eq=False)
class Registry:
    """Which vault keeps the budget of which table, for every table this process has opened as private.

    Its functions alone hold the vaults: an attribute that led there would lead to the budgets as well.
    """

    open: Callable[
        [Fingerprint, Provenance, frozenset[str], Where, Callable[[Vault], Fraction]], tuple[Vault, Fraction]
    ]
    """Find the table's vault: the one it has, the one named, or a new one in memory; open it, and remember it."""
    account: Callable[[Where], Account | None]
    """Say what was promised and spent there; None where nothing was promised yet."""
    knows: Callable[[Provenance], bool]
    """Say whether a table from there was opened as private: not whether its rows are equal to such a table's."""


def make_registry() -> Registry:
    """A registry that knows no table."""
    salt = secrets.token_bytes(32)
    vaults: dict[str, Vault] = {}
    private: list[Provenance] = []
    kept: list[tuple[frozenset[str], Vault]] = []
    lock = threading.Lock()

    def named(path: Path | None) -> Vault | None:
        if path is None:
            return None
        wanted = FileVault(path)
        same = (vault for vault in vaults.values() if isinstance(vault, FileVault) and vault.path == wanted.path)
        return next(same, wanted)

    def wanted_at(where: Where) -> Vault | None:
        return named(where.path) if where.path is not None else the_only(kept, where.alike)

    def open_vault(
        marks: Fingerprint,
        provenance: Provenance,
        columns: frozenset[str],
        where: Where,
        opening: Callable[[Vault], Fraction],
    ) -> tuple[Vault, Fraction]:
        salted = marks.salted(salt)
        with lock:
            known = list({id(vault): vault for mark in salted if (vault := vaults.get(mark))}.values())
            wanted = wanted_at(where)
            if len(known) > 1 or (known and wanted and known[0] is not wanted):
                raise BudgetError(
                    f"the budget of this table is already kept in {known[0].name}",
                    why="two accounts of one table could each be spent whole",
                    fix="open it with the same vault, or without naming one"
                    if len(known) == 1
                    else "its data and its rows were opened as two tables: open both with one vault, in a new process",
                )
            vault = known[0] if known else wanted or MemoryVault()
            share = opening(vault)  # a vault that cannot be opened is not remembered
            vaults.update(dict.fromkeys(salted, vault))
            private.append(provenance)
            if (columns, vault) not in kept:
                kept.append((columns, vault))
            return vault, share

    def account(where: Where) -> Account | None:
        with lock:
            vault = wanted_at(where)
        if isinstance(vault, FileVault) and not vault.path.exists():
            return None
        return None if vault is None else vault.account()

    def knows(provenance: Provenance) -> bool:
        with lock:
            return any(map(provenance.shared, private))

    return Registry(open_vault, account, knows)


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
    _source: RowSource
    _schema: Schema
    _provenance: Provenance

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""
        return self._schema

    def open(
        self,
        *,
        epsilon: Amount | None = None,
        vault: str | Path | None = None,
        trace: Trace | str | Path | None = None,
    ) -> Probe:
        """A probe on the table, as `protect` does."""
        return self._open(epsilon, Where(None if vault is None else given_path(vault, VaultError)), trace)

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
            self._provenance,
            frozenset(schema.sources),
            where,
            lambda found: found.open(requested, schema.neighbours, schema.names),
        )
        ledger = Ledger(promise, schema.neighbours, payer=keeper)
        noise = Noise(tables=DrawingTables.apart())
        room = Room(self._source, (), ledger, noise, records, private=True, probe=_probe_on)
        return _opened(room, Opened(schema.neighbours, True, promise, keeper.name, schema.names, schema.rows))  # noqa: FBT003


def recognise(table: Table) -> Recognised:
    """A private table with its marks, by one pass over its rows; refuse a schema that was read off them."""
    check_owner()
    source, schema = _taken(table)
    marks = fingerprint(source)
    if schema.inferred_from == marks.public_mark:
        raise SchemaError(
            "the schema was read off this same table",
            why="its values and bounds would be public for free, and say who is in the table",
            fix="write the schema from public knowledge, or infer it from a public table of the same kind",
        )
    return Recognised(marks, source, schema, table.provenance)


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
) -> Probe:
    """Probe on a private table that spends at most *epsilon*, whatever it is asked.

    What is spent is kept in *vault*, a file, beyond this process; without one, for as long as this process lives.
    The first promise for a table is the one that holds. Opened again with the same promise, or without *epsilon*, it
    has what is left of that; with a smaller epsilon, that part of it, if so much is left. A larger one is refused: the
    data's owner raises a promise with `jostle vault raise`.

    Args:
        table: the private rows, with the public facts about them.
        epsilon: the promise, read as it is written: 1, "0.1", "1/3" or a Fraction.
        vault: a file that remembers what is spent; it is made where there is none.
        trace: a `Trace`, or a file for its lines: what was asked, and what was released.

    Raises:
        BudgetError: there is no promise, none that is an amount, or one that is larger than what is kept allows.
        VaultError: the vault is another table's, is damaged, or cannot be written.
        ProbeError: an Option or a program asks, which may open nothing.
    """
    return recognise(table).open(epsilon=epsilon, vault=vault, trace=trace)


@called_as("jostle.rehearse(table, epsilon=1)")
def rehearse(
    table: Table, *, epsilon: Amount | None = None, seed: int = 0, trace: Trace | str | Path | None = None
) -> Probe:
    """Probe on a *public* table: the same answers' distribution, reproducible, and not private.

    For training and for trying things out. Without *epsilon* there is no bound, and what is spent is only counted. A
    table that was opened as private is refused: the same one, or one made of the same data or file. Rows that happen to
    be equal are not, since a refusal would confirm a guess at them.

    Args:
        table: the public rows, with their schema.
        epsilon: a bound, as that of a promise; None for none.
        seed: what its noise is drawn from: the same seed gives the same answers.
        trace: a `Trace`, or a file for its lines.

    Raises:
        ProbeError: the table was opened as private in this process, or is made of the same data or file.
    """
    source, schema = _taken_as_public(
        table,
        "rehearsed on",
        why="a rehearsal's noise comes from a seed, and whoever knows the seed can take it off",
        fix="rehearse on public data, or on data made up from the schema",
    )
    promise = None if epsilon is None else recordable(epsilon_amount(epsilon), "epsilon")
    ledger = Ledger(promise, schema.neighbours)
    given: object = seed
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ProbeError(f"the seed of a rehearsal is {shown(seed)}", fix="a whole number from 0: seed=1")
    room = Room(source, (), ledger, Noise(SeededBits(int(given))), _trace(trace), private=False, probe=_probe_on)
    return _opened(room, Opened(schema.neighbours, False, promise, None, schema.names, schema.rows))  # noqa: FBT003


def raw(table: Table, expressions: Iterable[Expression]) -> tuple[tuple[Fraction, ...], ...]:
    """The exact numbers of each expression's cells on a *public* table, without noise, for training.

    They are computed by the same code as the ones `Probe.release` adds noise to. A table that was opened as private is
    refused, as by `rehearse`.
    """
    source, schema = _taken_as_public(
        table,
        "looked at without noise",
        why="a raw value is no private release, whatever it is used for",
        fix="use public data, or buy the value: db.release(expression, epsilon)",
    )
    given = tuple(expressions)
    for each in given:
        NODES.check(each)
    if not given:
        return ()
    tally: Any = source.tally(stack_of(given, schema), ())
    found = evaluated(given, tally, schema)
    return tuple(tuple(Fraction(number, each.denominator) for number in each.flat()) for each in found)


def _probe_on(room: Room) -> Probe:
    return Probe(admit(room))


def _opened(room: Room, record: Opened) -> Probe:
    room.trace.add(record)
    room.trace.check()
    return _probe_on(room)


def _taken(table: object) -> tuple[RowSource, Schema]:
    """A table's rows, and its schema as it is now: who holds the table can change the one it has."""
    if not isinstance(table, Table):
        raise ProbeError(
            f"{type(table).__name__} is not a Table",
            fix="jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=1)",
        )
    schema = copied_schema(table.schema)
    rows: Any = table._source  # noqa: SLF001 - the one place that takes rows from their owner
    source: RowSource = evolve(rows, schema=schema)
    return source, schema


def _taken_as_public(table: object, use: str, *, why: str, fix: str) -> tuple[RowSource, Schema]:
    """The same of a public table; refuse one that was opened as private, or whose file has a vault beside it."""
    if isinstance(table, Table):
        if table.origin is not None:
            check_public(table.origin)
        if _registry.knows(table.provenance):
            raise ProbeError(f"this table was opened as private, and is not {use}", why=why, fix=fix)
    return _taken(table)


def _trace(trace: Trace | str | Path | None) -> Trace:
    # Exactly a Trace: records are added where rows are, and a subclass could look around there.
    if isinstance(trace, Trace) and type(trace) is not Trace:
        raise ProbeError(f"{type(trace).__name__} is a subclass of Trace", fix="trace=jostle.Trace(path)")
    return trace if isinstance(trace, Trace) else Trace(trace)
