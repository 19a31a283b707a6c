"""Open a table: as private, with a promise, or as public, for a rehearsal."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path

from jostle.errors import BudgetError, ProbeError, SchemaError
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.door import Room, admit
from jostle.privacy.ledger import Ledger
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.probe import Probe
from jostle.privacy.vault import FileVault, MemoryVault, Vault
from jostle.tables.fingerprint import Fingerprint, fingerprint
from jostle.tables.table import Table
from jostle.trace.records import Opened, Trace

__all__ = ["protect", "rehearse"]


class _Registry:
    """Which vault keeps the budget of which table, for every table this process has opened as private."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(32)
        self._vaults: dict[str, Vault] = {}
        self._lock = threading.Lock()

    def vault_for(self, marks: Fingerprint, path: Path | None) -> Vault:
        """Return the table's vault: the one it has, the one named, or a new one in memory."""
        salted = marks.salted(self._salt)
        with self._lock:
            known = list({id(vault): vault for mark in salted if (vault := self._vaults.get(mark))}.values())
            named = self._named(path)
            if len(known) > 1 or (known and named and known[0] is not named):
                raise BudgetError(
                    f"the budget of this table is already kept in {known[0].name}",
                    why="two accounts of one table could each be spent whole",
                    fix="open it with the same vault, or without naming one",
                )
            vault = known[0] if known else named or MemoryVault()
            self._vaults.update(dict.fromkeys(salted, vault))
            return vault

    def knows(self, marks: Fingerprint) -> bool:
        """Return whether the table was opened as private."""
        with self._lock:
            return any(mark in self._vaults for mark in marks.salted(self._salt))

    def _named(self, path: Path | None) -> Vault | None:
        if path is None:
            return None
        wanted = FileVault(path.resolve())
        same = (vault for vault in self._vaults.values() if isinstance(vault, FileVault) and vault.path == wanted.path)
        return next(same, wanted)


_registry = _Registry()


def protect(
    table: Table,
    *,
    epsilon: Amount | None = None,
    vault: str | Path | None = None,
    trace: Trace | str | Path | None = None,
) -> Probe:
    """Return a probe on a private table that spends at most *epsilon*, whatever it is asked.

    What is spent is kept in *vault*, a file, beyond this process; without one, for as long as this process lives. The
    first promise for a table is the one that holds: opened again, it has what is left of that.
    """
    if not isinstance(table, Table):
        raise ProbeError(
            f"{type(table).__name__} is not a Table",
            fix="jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=1)",
        )
    if epsilon is None:
        raise BudgetError(
            "no epsilon is promised",
            why="a table is only opened with a bound on what its answers may give away",
            fix="jostle.protect(table, epsilon=1)",
        )
    promise = epsilon_amount(epsilon)
    source, schema = table._source, table.schema  # noqa: SLF001 - the one place that takes rows from their owner
    marks = fingerprint(source)
    if schema.inferred_from == marks.public_mark:
        raise SchemaError(
            "the schema was read off this same table",
            why="its values and bounds would be public for free, and say who is in the table",
            fix="write the schema from public knowledge, or infer it from a public table of the same kind",
        )
    keeper = _registry.vault_for(marks, None if vault is None else Path(vault))
    account = keeper.open(promise, schema.neighbours, schema.names, marks)
    if promise > account.left:
        raise BudgetError(
            f"epsilon {show_amount(promise)} is asked for, but {show_amount(account.left)} is left in {keeper.name}",
            why=f"{show_amount(account.spent)} of the promised epsilon {show_amount(account.promise)} is spent",
            fix=f"ask for at most {show_amount(account.left)}"
            if account.left
            else "there is nothing left to ask of this table",
        )
    records = trace if isinstance(trace, Trace) else Trace(trace)
    records.add(Opened(schema.neighbours, True, promise, keeper.name, schema.names, schema.rows))  # noqa: FBT003
    ledger = Ledger(promise, schema.neighbours, payer=keeper)
    return Probe(admit(Room(source, (), ledger, Noise(), records, private=True)))


def rehearse(
    table: Table, *, epsilon: Amount | None = None, seed: int = 0, trace: Trace | str | Path | None = None
) -> Probe:
    """Return a probe on a *public* table: the same answers' distribution, reproducible, and not private.

    For training and for trying things out. Without *epsilon* there is no bound, and what is spent is only counted. A table
    that was opened as private is refused.
    """
    if not isinstance(table, Table):
        raise ProbeError(f"{type(table).__name__} is not a Table", fix="jostle.Table.from_frame(frame, schema)")
    source, schema = table._source, table.schema  # noqa: SLF001 - as above
    if _registry.knows(fingerprint(source)):
        raise ProbeError(
            "this table was opened as private, and is not rehearsed on",
            why="a rehearsal's noise comes from a seed, and whoever knows the seed can take it off",
            fix="rehearse on public data, or on data made up from the schema",
        )
    promise = None if epsilon is None else epsilon_amount(epsilon)
    records = trace if isinstance(trace, Trace) else Trace(trace)
    records.add(Opened(schema.neighbours, False, promise, None, schema.names, schema.rows))  # noqa: FBT003
    ledger = Ledger(promise, schema.neighbours)
    return Probe(admit(Room(source, (), ledger, Noise(SeededBits(seed)), records, private=False)))
