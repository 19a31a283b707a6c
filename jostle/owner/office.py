"""The office: who may ask what of which table, and what is written down of it.

The server has one. It asks `asker` who sends a message, `share` what they may spend, `allow` before anything is
computed, at every request, and calls `spent` between the charge and the rows: what is not written is not answered.
The owner's page and the command line give shares, make keys and decide through the same one, or through another office
of the same file: what one of them writes, all go by from then on.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
from attrs import field, frozen

from jostle.errors import AccessError, BudgetError, JostleError, TableError, WaitingError, shown
from jostle.owner.identity import BEARER, PREFIX, Asker, Bearers, asker_of_key, check_live, made_key, unknown
from jostle.owner.log import (
    Decided,
    Decision,
    Fact,
    KeyMade,
    Log,
    Noted,
    Request,
    Revoked,
    Settled,
    Share,
    Shared,
    State,
    Unshared,
    Waits,
)
from jostle.owner.settings import NAME, Settings, read_settings
from jostle.privacy.account import Account, TableFacts, checked_reason
from jostle.privacy.amounts import Amount, epsilon_amount, recordable, show_amount
from jostle.privacy.vault import FileVault
from jostle.tables.made_up import write_made_up
from jostle.tables.schema import Schema
from jostle.tables.table import Table

__all__ = ["HERE", "Asker", "Decision", "Office", "Permit", "ServedTable", "Share"]

HERE = "owner, at the command line"
"""Who does what is done on the owner's machine: whoever may write the log."""
LOG_NAME = "audit.jsonl"
MOST_REQUEST, MOST_SHOWN = 1 << 14, 2000
"""Characters of a request that the owner can be asked to judge, and of one that is written down whole."""
MOST_WAITING = 20
"""Requests of one asker that wait at once."""
MOST_NOTE, MOST_NOTES = 4000, 50


@frozen
class Permit:
    """Leave to answer one request, once."""

    asker: Asker
    share: Share
    """As it was at that moment."""
    request: str
    """The canonical request, as JSON."""
    epsilon: Fraction
    """The request's own, as the promise counts it: of persons, m times that of rows."""
    approval: int | None = None
    """The number that it waited under, where it was approved."""
    again: bool = False
    """Whether it fetches what was answered before."""


@frozen(slots=False)
class ServedTable:
    """A table that is served."""

    name: str
    data: Path
    promise: Fraction
    vault: Path
    """Of the promise. Where no collusion is assumed, `Office.vault` says which one a share is charged to."""
    made_up: int = 0
    schema: Schema = field(kw_only=True)

    @cached_property
    def table(self) -> Table:
        """The rows, read once."""
        return Table.read(self.data, self.schema)

    @property
    def facts(self) -> TableFacts:
        """What its account is told of it."""
        return TableFacts.of(self.schema, self.data.name)

    @property
    def about(self) -> str:
        """Whose promise its answers are charged to: tables about the same people, in one vault, have one."""
        people = self.schema.people
        return self.vault.name if people is None else f"{people}, {self.vault.name}"

    def make_up(self) -> None:
        """Make the rows up that are to be made up and are not there: before there is a promise for them."""
        if not self.made_up or self.data.exists():
            return
        try:
            write_made_up(self.schema, self.data, self.made_up)
        except TableError:
            if not self.data.exists():  # unless another process has made them meanwhile
                raise

    def account(self, vault: Path) -> Account:
        """The promise for the table in a vault, made there where there is none yet."""
        keeper = FileVault(vault)
        account = keeper.account_of(self.facts) if vault.exists() else None
        if account is None:
            self.make_up()
            account = keeper.create(self.promise, self.facts)
        if account.promise != self.promise:
            raise AccessError(
                f"{self.name} is promised epsilon {show_amount(self.promise)} in owner.toml, and "
                f"{show_amount(account.promise)} in {vault}",
                why="the vault holds what was promised to the people in the data",
                fix=f'promise = "{account.promise}" in owner.toml; a promise is raised with jostle vault raise',
            )
        return account


class Office:
    """Tables, and who may ask what of them. Its methods may wait for the disk: call them in a thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.assume_no_collusion = settings.assume_no_collusion
        self.tables: Mapping[str, ServedTable] = {
            name: ServedTable(
                name, table.data, table.promise, table.vault, table.made_up, schema=Schema.read(table.schema)
            )
            for name, table in settings.tables.items()
        }
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log = Log(settings.folder / LOG_NAME)
        self._bearers = None if settings.oidc is None else Bearers(settings.oidc)
        self._pending: Counter[tuple[str, str]] = Counter()
        """What is being answered, by asker and whose promise it is: it counts until it is written down."""
        self._using: set[int] = set()
        """Approvals that are being used."""
        self.decisions: Counter[tuple[str, str]] = Counter()
        """How often something was decided, by table."""
        self._counting = threading.Lock()

    @classmethod
    def read(cls, path: str | Path) -> Office:
        """The office of a file owner.toml."""
        return cls(read_settings(Path(path)))

    def close(self) -> None:
        """Let the log go."""
        self._log.close()

    @contextmanager
    def state(self) -> Iterator[State]:
        """Give what the log comes to, held meanwhile: take what is needed and go."""
        with self._log.state() as state:
            yield state

    @property
    def log_path(self) -> Path:
        """Where the audit log is."""
        return self._log.path

    def make_tables(self) -> list[str]:
        """Make up the rows that are to be made up and are not there; return the tables that have such rows."""
        for table in self.tables.values():
            table.make_up()
        return [table.name for table in self.tables.values() if table.made_up]

    # Who asks

    def asker(self, token: str) -> Asker:
        """Whoever a token stands for; raises AccessError for one that is unknown, expired or revoked."""
        try:
            if token.startswith(PREFIX):
                with self.state() as state:
                    asker = asker_of_key(token, state)
                    _check(asker, None, None, state)
            elif self._bearers is not None:
                asker = self._bearers.asker(token)
                self.check(asker)
            else:
                raise unknown()
        except AccessError:
            self._count("unknown", "")
            raise
        return asker

    def check(self, asker: Asker, what: str | None = None, table: str | None = None) -> None:
        """Refuse who was revoked or has expired, or may not do something."""
        with self.state() as state:
            _check(asker, what, table, state)

    def share(self, asker: Asker, table: str) -> Share:
        """The asker's live share of a table's promise; raises AccessError where there is none.

        As the log was when the asker was looked up, as in `allow`: whatever is answered, `spent` looks once more.
        """
        with self._log.held() as state:
            return self._share(asker, table, state)

    def shares(self, asker: Asker) -> list[Share]:
        """All live shares of an asker."""
        with self.state() as state:
            held = [state.share(name, asker.name) for name in self.tables if asker.may("ask", name)]
        return [share for share in held if share is not None]

    def vault(self, share: Share) -> Path:
        """The vault that a share is charged to: the promise's, or its holder's own where no collusion is assumed."""
        path = self.tables[share.table].vault
        return path if not self.assume_no_collusion else _own_vault(path, share.holder)

    def _share(self, asker: Asker, table: str, state: State) -> Share:
        _check(asker, "ask", table, state)
        share = state.share(table, asker.name) if table in self.tables else None
        if share is None:  # whether there is such a table is told to those who may ask of it
            raise AccessError(
                f"{shown(asker.name)} has no share of {shown(table)}",
                why="whoever asks spends a share of the promise, which the owner gives",
                fix="ask the owner for one: jostle share give",
            )
        return share

    # What is asked

    def allow(
        self, asker: Asker, table: str, request: Mapping[str, Any], epsilon: Fraction, *, again: bool = False
    ) -> Permit:
        """Leave to answer a request: token, role, share, revocation and approval, looked at now.

        *request* is canonical: `{"kind": ..., fields}`, its handles replaced by what they stand for (conditions, a
        portion), without sites. *epsilon* is its own, not what it adds to what is spent. *again* says that the same
        asker was given this answer before and fetches it, by its idempotency key: nothing waits or is added up.
        Raises AccessError, or WaitingError (status 202) whose number says which request waits.
        """
        try:
            permit = self._allowed(asker, table, request, epsilon, again)
        except WaitingError:
            self._count("waits", table)
            raise
        except AccessError:
            name = table if table in self.tables else shown(table)
            denied = Settled(
                name, asker.name, asker.handle, 0, _short(canonical(request)), epsilon, Fraction(0), "denied"
            )
            self._log.write(lambda _: iter([(asker.name, denied)]))
            self._count("denied", table)
            raise
        return permit

    def _allowed(self, asker: Asker, table: str, request: Mapping[str, Any], epsilon: Fraction, again: bool) -> Permit:  # noqa: FBT001 - as `allow` has it
        text = canonical(request)
        with self._log.held() as state:
            share = self._share(asker, table, state)
            whose = asker.name, share.about
            if again:
                return Permit(asker, share, text, epsilon, again=True)
            number = state.waited.get((asker.name, table, text, epsilon))
            waited = None if number is None else state.requests[number]
            if waited is not None and waited.state == "approved" and number not in self._using:
                self._using.add(waited.wait.number)
                return Permit(asker, share, text, epsilon, waited.wait.number)
            if waited is not None and waited.decided is not None and waited.state == "refused":
                why = waited.decided.reason
                raise AccessError(f"the owner has refused request {number}", why=why, fix="ask something else")
            rules = self.settings.approval
            asked = state.since.get(whose, Fraction(0)) + self._pending[whose] + epsilon
            if not any(kind in rules.kinds for kind in kinds_of(request)) and (
                rules.above is None or asked <= rules.above
            ):
                self._pending[whose] += epsilon  # type: ignore[assignment]  # a Counter adds up any number
                return Permit(asker, share, text, epsilon)
        raise waiting(self._wait(asker, table, text, epsilon))

    def _wait(self, asker: Asker, table: str, text: str, epsilon: Fraction) -> int:
        """The number under which a request waits: the one that it has, or a new one."""
        held: list[int] = []

        def make(state: State) -> Iterator[tuple[str, Fact]]:
            self._share(asker, table, state)
            number = state.waited.get((asker.name, table, text, epsilon))
            if number is not None and state.requests[number].state == "waiting":
                held.append(number)
                return
            if len(text) > MOST_REQUEST:
                raise AccessError(
                    "the request would wait for the owner, who cannot judge one so long",
                    why=f"it has {len(text):,} characters, and {MOST_REQUEST:,} are shown",
                    fix="ask several shorter ones",
                )
            own = [
                request
                for request in state.requests.values()
                if request.wait.name == asker.name and request.state == "waiting"
            ]
            if len(own) >= MOST_WAITING:
                raise AccessError(
                    f"{len(own)} requests of {shown(asker.name)} wait already", fix="wait until the owner has decided"
                )
            held.append(len(state.requests) + 1)
            yield asker.name, Waits(held[0], table, asker.name, text, epsilon)

        self._log.write(make)
        return held[0]

    def spent(self, permit: Permit, price: Fraction, decision: Decision) -> None:
        """Write down, durably, what became of a permit, and its price as the promise counts it.

        Every permit comes back here once: `refused` by the ledger, price 0, too. Raises AccessError where a share or a
        token was revoked since: then nothing is to be answered, whatever was charged.
        """
        (problem,) = self.spent_each([(permit, price, decision)])
        if problem is not None:
            raise problem

    def spent_each(self, outcomes: Sequence[tuple[Permit, Fraction, Decision]]) -> Sequence[JostleError | None]:
        """The same of several, by one write; return of each what would be raised."""
        try:
            problems = self._log.write_each([partial(_settled, *outcome) for outcome in outcomes])
        finally:
            with self._log.held():
                for permit, _, _ in outcomes:
                    if permit.approval is not None:
                        self._using.discard(permit.approval)
                    elif not permit.again:
                        self._pending[permit.asker.name, permit.share.about] -= permit.epsilon  # type: ignore[assignment]  # as above
        for (permit, _, decision), problem in zip(outcomes, problems, strict=True):
            if problem is None:
                self._count(decision, permit.share.table)
        return problems

    def refused(self, asker: Asker, share: Share, request: Mapping[str, Any], epsilon: Fraction) -> None:
        """Write down a request that its share cannot pay: nobody needs to look at it."""
        permit = Permit(asker, share, canonical(request), epsilon, again=True)  # nothing of it is pending
        self.spent(permit, Fraction(0), "refused")

    def noted(self, asker: Asker, table: str, lines: Sequence[str]) -> None:
        """Keep lines of a client's trace, choices with their reasons; they are shown as the client's words."""
        kept = tuple(line[:MOST_NOTE] for line in lines[:MOST_NOTES])

        def make(state: State) -> Iterator[tuple[str, Fact]]:
            self._share(asker, table, state)
            yield asker.name, Noted(table, asker.name, kept)

        self._log.write(make)

    # What the owner does

    def make_key(
        self, name: str, role: str, *, scopes: Sequence[str] = (), days: int = 90, by: str = HERE
    ) -> tuple[str, KeyMade]:
        """A new key, which nobody can be shown again, and what is written down of it."""
        token, made = made_key(name, role, scopes, days)
        self._log.write(lambda _: iter([(by, made)]))
        return token, made

    def revoke(self, handle: str, *, by: str = HERE) -> None:
        """Let a key, or all tokens of a bearer, be good for nothing from here on."""

        def make(state: State) -> Iterator[tuple[str, Fact]]:
            if handle not in state.keys and not handle.startswith(BEARER):
                raise AccessError(f"there is no key {shown(handle)}", fix="jostle key show lists them")
            if handle not in state.revoked:
                yield by, Revoked(handle)

        self._log.write(make)

    def give_share(self, table: str, holder: str, epsilon: Amount, *, by: str = HERE) -> Share:
        """A share of a table's promise; refuse one that does not fit beside those that there are."""
        amount, served = recordable(epsilon_amount(epsilon), "epsilon"), self.served(table)
        if not NAME.fullmatch(holder.removeprefix(BEARER)) and not (holder.startswith(BEARER) and holder.isprintable()):
            raise AccessError(f"a share cannot be given to {shown(holder)}", fix="the name of a key, or oidc:SUBJECT")
        given: list[Share] = []

        def make(state: State) -> Iterator[tuple[str, Fact]]:
            if (held := state.share(table, holder)) is not None:
                raise AccessError(
                    f"{shown(holder)} has share {held.number} of {table} already, with {show_amount(held.left)} left",
                    fix="revoke that one before",
                )
            share = Share(len(state.shares) + 1, table, holder, amount, served.about)
            free = self._free(served, share, state)
            if amount > free:
                raise BudgetError(
                    f"a share of epsilon {show_amount(amount)} does not fit into {table}: {show_amount(free)} is free",
                    why="shares are parts of one promise, and never add up to more than is left of it",
                    fix="give less, or revoke a share: what is not spent of it is free again",
                    requested=amount,
                    left=free,
                    promise=served.promise,
                )
            given.append(share)
            yield by, Shared(share.number, table, holder, amount, served.about)

        self._log.write(make)
        return given[0]

    def free(self, table: str) -> Fraction:
        """What of a table's promise is left, and in no share."""
        served = self.served(table)
        with self.state() as state:
            return self._free(served, None, state)

    def _free(self, served: ServedTable, share: Share | None, state: State) -> Fraction:
        """The same; for a share where no collusion is assumed, what is left of its holder's own promise."""
        apart = self.assume_no_collusion
        if apart and share is None:
            return served.promise
        account = served.account(served.vault if share is None else self.vault(share))
        given = [part for part in state.shares.values() if part.about == served.about]
        if apart and share is not None:
            given = [part for part in given if part.holder == share.holder]
        # What is charged is taken off the vault first, and off the share later: meanwhile it counts twice, never not.
        left = account.left - sum((part.left for part in given), Fraction(0))
        # By the log alone as well: a vault may be put back as it was before.
        unspent = account.promise - sum((part.spent + part.left for part in given), Fraction(0))
        return max(min(left, unspent), Fraction(0))

    def revoke_share(self, number: int, reason: str, *, by: str = HERE) -> Share:
        """Revoke a share: its handles are closed, and what is not spent of it is free again."""
        checked_reason(reason, "revoking a share")
        held: list[Share] = []

        def make(state: State) -> Iterator[tuple[str, Fact]]:
            share = state.shares.get(number)
            if share is None or share.revoked:
                raise AccessError(f"there is no live share {number}", fix="jostle share show lists them")
            held.append(share)
            yield by, Unshared(number, reason)

        self._log.write(make)
        return held[0]

    def decide(self, number: int, *, approve: bool, reason: str = "", by: str = HERE) -> Request:
        """Approve or refuse a request that waits; one that was refused may be approved later."""
        if not approve or reason:
            checked_reason(reason, "what is decided")
        held: list[Request] = []

        def make(state: State) -> Iterator[tuple[str, Fact]]:
            request = state.requests.get(number)
            if request is None or request.state not in {"waiting", "refused" if approve else "waiting"}:
                said = "nothing waits" if request is None else f"it is {request.state}"
                raise AccessError(f"request {number} cannot be decided: {said}", fix="jostle approve lists what waits")
            held.append(request)
            yield by, Decided(number, approve, reason)

        self._log.write(make)
        return held[0]

    def served(self, name: str) -> ServedTable:
        """A table by its name."""
        if name not in self.tables:
            raise AccessError(f"there is no table {shown(name)}", fix=f"one of {', '.join(self.tables)}")
        return self.tables[name]

    def _count(self, decision: str, table: str) -> None:
        with self._counting:
            self.decisions[table if table in self.tables else "", decision] += 1


def canonical(request: Mapping[str, Any]) -> str:
    """A request as JSON in one form."""
    return msgspec.json.encode(request, enc_hook=str, order="deterministic").decode()


def kinds_of(request: Mapping[str, Any]) -> list[object]:
    """What kind of question a request is, and of which kinds what it asks is: `perform`, `AddNoise`."""
    asks = [ask.get("kind") for ask in request.get("asks", ()) if isinstance(ask, Mapping)]
    return [request.get("kind"), *asks]


def waiting(number: int) -> WaitingError:
    """What is said of a request that waits."""
    return WaitingError(
        f"request {number} waits until the owner of the data decides",
        why="above what the owner has allowed, or for its kind, a request is looked at first; nothing was spent",
        fix="ask the same later: once it is approved, it is answered",
        number=number,
    )


def _check(asker: Asker, what: str | None, table: str | None, state: State) -> None:
    check_live(asker, state)
    if what is not None and not asker.may(what, table):
        narrowed = f" with the scopes {', '.join(asker.scopes)}" if asker.scopes else ""
        raise AccessError(
            f"{shown(asker.name)} may not {what}", why=f"the token is that of a role {asker.role}{narrowed}"
        )


def _check_holds(permit: Permit, state: State) -> None:
    """Refuse what was allowed, and is not any more."""
    _check(permit.asker, "ask", permit.share.table, state)
    if state.shares[permit.share.number].revoked:
        raise AccessError("the share was revoked", fix="ask the owner of the data for another")
    if permit.approval is not None and state.requests[permit.approval].used:
        raise AccessError(f"request {permit.approval} was answered already", fix="ask anew")


def _settled(permit: Permit, price: Fraction, decision: Decision, state: State) -> Iterator[tuple[str, Fact]]:
    """What became of a permit, if it holds still."""
    if decision != "refused":
        _check_holds(permit, state)
    asker, share = permit.asker, permit.share
    epsilon = Fraction(0) if permit.again else permit.epsilon
    asked = _short(permit.request)
    fact = Settled(
        share.table, asker.name, asker.handle, share.number, asked, epsilon, price, decision, permit.approval
    )
    yield asker.name, fact


def _short(request: str) -> str:
    """A request as it is written down: of a long one its kind, and a hash of all."""
    if len(request) <= MOST_SHOWN:
        return request
    kind = msgspec.json.decode(request).get("kind")
    digest = hashlib.sha256(request.encode()).hexdigest()
    return canonical({"kind": kind, "characters": len(request), "sha256": digest})


def _own_vault(path: Path, holder: str) -> Path:
    """The vault of one holder, beside the table's."""
    digest = hashlib.sha256(holder.encode()).hexdigest()[:12]
    return path.with_name(f"{path.stem}.{digest}{path.suffix}")
