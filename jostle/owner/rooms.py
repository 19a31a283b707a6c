"""The ledger's side of shares: rooms of the tables that are served, opened under one share each, and what was spent.

A share is a ledger of its own. It pays the account that the table is charged to, and never holds anything back there:
so what is not spent returns by itself. Each payment is a line in the vault, whose site begins with the number of the
share and ends with a mark of the request. What was spent under a share, and which requests were charged, is therefore
read off the vault, whatever became of the process; there is no second account of it.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from attrs import define, frozen

from jostle.errors import BudgetError, JostleError, ProbeError
from jostle.owner.office import Decision, Office, Permit, ServedTable, Share
from jostle.owner.together import Together
from jostle.privacy.door import Key
from jostle.privacy.ledger import Ledger
from jostle.privacy.opening import ChargedRows, Recognised, at_vault, recognise
from jostle.privacy.probe import Probe
from jostle.privacy.vault import FileVault, TableAccount
from jostle.tables.engines import passes_shared
from jostle.tables.schema import Schema
from jostle.trace.records import Trace

__all__ = ["Rooms", "Work", "key_of", "working"]

LINE = re.compile(r"share (\d+)/.* \[([0-9a-f]{32})\]", re.DOTALL)
"""A payment's site: its share, what the asker called it, and the mark of its request."""


@define(eq=False)
class Work:
    """A request that is being answered."""

    mark: str
    """By which its charge is told from any other."""
    permit: Permit
    price: Fraction = Fraction(0)
    """What it has cost so far, as the promise counts it."""
    decision: Decision | None = None
    """What the office has written down of it."""
    mistake: BaseException | None = None
    """What went wrong since the vault was asked, and did not refuse: it is counted, and not answered."""

    def settle(self, office: Office, decision: Decision) -> None:
        """Give the permit back, once: write down what became of it."""
        if self.decision is None:
            self.decision = decision
            office.spent(self.permit, self.price, decision)


_work: ContextVar[Work] = ContextVar("work")


@contextmanager
def working(work: Work) -> Iterator[None]:
    """Let what is charged meanwhile, in this thread, be charged to a request, and its passes be those of others."""
    token = _work.set(work)
    try:
        with passes_shared():
            yield
    finally:
        _work.reset(token)


@frozen(eq=False)
class _Payment:
    account: TableAccount
    amount: Fraction
    site: str
    work: Work


@frozen(eq=False)
class SharePayer:
    """Pays a share's charges: to the vault, and then to the office's log, before anything is drawn."""

    account: TableAccount
    number: int
    together: Together[_Payment, JostleError | None]

    def pay(self, amount: Fraction, site: str) -> None:
        """Record an amount for good, or raise what the vault refuses it for; whatever else goes wrong is kept."""
        work = _work.get()
        try:
            refusal = self.together(_Payment(self.account, amount, f"share {self.number}/{site} [{work.mark}]", work))
        except BaseException as mistake:  # noqa: BLE001 - the ledger raises it
            work.mistake = mistake
            return
        if refusal is not None:
            raise refusal


class ShareLedger(Ledger):
    """What was spent of a share: all that the vault did not refuse, whatever went wrong with it or afterwards."""

    def pay(self, amount: Fraction, site: str, *, held: Fraction = Fraction(0)) -> None:
        """Count an amount, and raise then what went wrong with it."""
        super().pay(amount, site, held=held)
        mistake = _work.get().mistake
        if mistake is not None:
            raise mistake


@define(eq=False)
class _PaidBefore:
    """Pays for a request that was charged, and whose answer nobody has: nothing, up to what was paid."""

    left: Fraction

    def pay(self, amount: Fraction, site: str) -> None:
        """Count an amount."""
        if amount > self.left:
            raise BudgetError(f"{site} costs more than was charged for it", fix="ask it as a new question")
        self.left -= amount


@frozen(eq=False)
class _Accounted:
    """Rows with their account, and what its vault said was spent when it was opened."""

    rows: ChargedRows
    together: Together[_Payment, JostleError | None]
    by_share: dict[int, Fraction]
    by_mark: dict[str, Fraction]


class Rooms:
    """The rooms of one table that is served."""

    def __init__(self, office: Office, table: ServedTable) -> None:
        self._office = office
        self.table = table
        self._lock = threading.RLock()
        self._accounts: dict[Path, _Accounted] = {}
        self._ledgers: dict[int, ShareLedger] = {}
        self._closed: set[int] = set()

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""
        return self.table.schema

    @cached_property
    def _recognised(self) -> Recognised:
        return recognise(self.table.table)

    def snapshot(self, salt: bytes) -> tuple[bytes, ...]:
        """What tells these rows from others, to nobody without the salt."""
        with self._lock:
            return tuple(sorted(mark.encode() for mark in self._recognised.marks.salted(salt)))

    def room(self, share: Share) -> Key:
        """A key to the rows, on what is left of a share."""
        ledger, accounted = self._ledger(share), self._accounted(share)
        left = ledger.left
        if left is None:
            raise TypeError("a share has a bound")
        return key_of(accounted.rows.under(left, ledger.pay, Trace(kept=False)))

    def close(self, share: Share) -> None:
        """Answer nothing more under a share: something went wrong among the rows, which may say something of them."""
        self._closed.add(share.number)

    def check_open(self, share: Share) -> None:
        """Refuse a share that was closed."""
        if share.number in self._closed:
            raise ProbeError(
                "a question went wrong among the rows, and no more are answered under this share",
                why="what goes wrong may depend on the rows, and would be an answer without noise",
                fix="tell the data's owner, who finds the reason, and serves the table anew",
            )

    def left(self, share: Share) -> Fraction | None:
        """What may still be spent of a share."""
        return self._ledger(share).left

    def pay(self, share: Share, amount: Fraction, site: str) -> None:
        """Charge a share for what is no question to the rows."""
        self._ledger(share).pay(amount, site)

    def was_paid(self, share: Share, mark: str) -> bool:
        """Whether a request was charged before this process began."""
        return mark in self._accounted(share).by_mark

    def paid(self, share: Share, mark: str) -> Key:
        """A key to the rows for a request that was charged before this process began, and for that alone."""
        accounted = self._accounted(share)
        with self._lock:
            amount = accounted.by_mark.pop(mark)
        return key_of(accounted.rows.under(amount, _PaidBefore(amount).pay, Trace(kept=False)))

    def _ledger(self, share: Share) -> ShareLedger:
        with self._lock:
            if share.number not in self._ledgers:
                accounted = self._accounted(share)
                account, spent = accounted.rows.account, accounted.by_share.get(share.number, Fraction(0))
                left = max(Fraction(0), share.epsilon - spent)
                payer = SharePayer(account, share.number, accounted.together).pay
                self._ledgers[share.number] = ShareLedger(left, self.table.schema.neighbours, payer=payer)
            return self._ledgers[share.number]

    def _accounted(self, share: Share) -> _Accounted:
        path = self._office.vault(share)
        with self._lock:
            if path not in self._accounts:
                self._accounts[path] = self._opened(path)
            return self._accounts[path]

    def _opened(self, path: Path) -> _Accounted:
        reason = "assume_no_collusion" if self._office.assume_no_collusion and path != self.table.vault else None
        rows = self._recognised.charged_to(at_vault(path, reason), self.table.promise)
        vault = rows.account.vault
        if not isinstance(vault, FileVault):
            raise ProbeError(f"{self.table.name} has no vault in a file", fix='vault = "visits.vault"')
        by_share: dict[int, Fraction] = defaultdict(Fraction)
        by_mark: dict[str, Fraction] = defaultdict(Fraction)
        for statement in vault.statements():
            for line in statement.reservations:
                if line.table == rows.account.number and (marked := LINE.fullmatch(line.site)):
                    by_share[int(marked[1])] += line.epsilon
                    by_mark[marked[2]] += line.epsilon
        return _Accounted(rows, Together(self._charge), by_share, dict(by_mark))

    def _charge(self, payments: Sequence[_Payment]) -> Sequence[JostleError | None]:
        """Write payments to one vault by one write, and what became of their requests to the log by another."""
        vault = payments[0].account.vault
        if not isinstance(vault, FileVault):
            raise TypeError("a vault in memory")
        refusals = vault.pay_each([(each.account, each.amount, each.site) for each in payments])
        works = []
        for payment, refusal in zip(payments, refusals, strict=True):
            work = payment.work
            work.price += payment.amount if refusal is None else 0
            if refusal is None and work.decision is None:
                work.decision = "answered"
                works.append(work)
        mistakes: Sequence[JostleError | None]
        try:
            mistakes = self._office.spent_each([(work.permit, work.price, "answered") for work in works])
        except JostleError as mistake:
            mistakes = [mistake.anew() for _ in works]
        for work, problem in zip(works, mistakes, strict=True):
            work.mistake = problem
        return refusals


def key_of(probe: Probe) -> Key:
    """What a probe stands on."""
    return probe._key  # noqa: SLF001 - the server answers for it, and holds nothing else
