"""The server: answers for the rooms of the tables that are served, whoever asks from wherever.

A client begins a session on a table and has a handle of it. Each question goes to a handle; where its answer is a
probe, that has a handle in turn, and the client has no more of it than that. Handles are random, belong to one token
and one session, and are forgotten when the session ends, when the share is revoked, and when the process ends.

*In this order*: who sends it, as the token says; what is sent, within bounds; the session and the handle; whether it
was answered before; what public facts refuse; the office's leave; the charge, in the vault and in the log; the rows;
the answer on the disk; the reply. So nothing is released that is not recorded, and whatever is asked again by its
idempotency key is charged once: an answer is given as it was, one that was charged and never kept is drawn anew, out of
what was paid for it.

*What a reply tells.* Whatever is decided once there is leave has one status, refusals of the ledger and failures among
rows included; what failed there is not said, and closes the session. Replies leave at points of a grid of times,
counted from the request: so long, or twice, four times, ... as long. What it tells beside is in `docs/serving.md`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import Context
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from attrs import define, evolve, field, frozen
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

import jostle.options.classification.tuning  # noqa: F401 - its selection takes its place in the closed list
from jostle.errors import (
    AccessError,
    BudgetError,
    JostleError,
    ProbeError,
    VaultError,
    WaitingError,
    WireError,
    shown,
)
from jostle.options import built_in
from jostle.options.base import name_in
from jostle.owner.answers import Answers, Derived, Given, SessionLine
from jostle.owner.office import Asker, Office, Share
from jostle.owner.rooms import Rooms, Work, working
from jostle.owner.wire import (
    JSON,
    MOST_BYTES,
    Form,
    asked,
    canonical,
    digest,
    error_written,
    form_of,
    plainly,
)
from jostle.privacy.amounts import epsilon_amount, show_amount
from jostle.privacy.chains import Refinable
from jostle.privacy.door import Key
from jostle.privacy.mechanisms import AddNoiseAbove, Mechanism
from jostle.privacy.reals import Tail
from jostle.privacy.room import QUESTIONS, kept_back, purpose
from jostle.progress import unshown
from jostle.tables.fields import text
from jostle.tables.schema import Schema

__all__ = ["Server", "application"]

MOST_HANDLES = 20_000
"""Of a session: a table that is split by a column has one for each of its values."""
MOST_SESSIONS = 100
"""Of a token; the oldest one ends where more are begun."""
MOST_NUMBERS = 1 << 24
"""Of an answer."""
THREADS, LONG = 64, 4
"""How many questions are answered at once, and how many of those that take long."""
AT_ONCE = 16
"""Of a token; more wait."""
LONG_BYTES = 1 << 16
"""A longer message takes long."""
TAKES_LONG = frozenset({"Descent", "PickPartition"})
"""Mechanisms that go over the rows, or over runs of cells, again and again."""
SWITCH = 0.001
KEPT = "nothing is released that is not recorded"
FREE = frozenset({"below", "charges", "known", "narrowed", "note", "only", "portions", "shuffled", "split"})
"""Questions that rows have no part in, and no budget: whoever has a share may ask them."""
SETS_ASIDE = frozenset({"allot", "bounded", "earmark", "hand", "reserve"})
DRAWN = frozenset({"begin", "imitate", "perform", "refine", "select"})
"""Questions about rows."""
WHOLE = SETS_ASIDE | DRAWN - {"refine"}
"""Questions that cost all that is asked for: a refined answer costs the difference alone."""
DERIVED = frozenset({"narrowed", "only", "split"})
"""Questions whose rows public facts make of those that are asked: their handles outlive the process."""
SEVERAL = frozenset({"portions", "split"})
"""Questions that give several handles."""
BOOKED = frozenset({"begin", "perform"})
"""Those whose answers can be read again."""


def unknown() -> AccessError:
    """The one refusal of a session, a handle or a key that is not the asker's, or is nobody's any more."""
    return AccessError(
        "this session is unknown, or a handle or a key in it",
        why="they belong to one token, and are forgotten when a session ends, a share is revoked, or the server starts "
        "anew; what was spent by then is spent",
        fix="jostle.connect(url, token=...) begins a new one",
    )


def forgotten() -> AccessError:
    """The refusal of a handle that another process gave in the asker's own session, and which is not made again."""
    return AccessError(
        "the server has started anew since this probe was made, and it is gone",
        why="which rows are in a portion, and what is left of what was set aside, that process alone knew; what was "
        "spent by then is spent, and an answer that was lost on its way is fetched all the same",
        fix="ask the whole table, or parts of it, which are still there; run the Option anew",
    )


Step = tuple[str, tuple[Any, ...], int]
"""A question that gives rows, what it is asked with, and which of them."""


@frozen(eq=False, slots=False)  # without slots, its digest is worked out once
class Handle:
    """What a client has of a room."""

    name: str
    key: Callable[[], Key]
    unit: int
    """How many rows of a person its amounts are for."""
    on: tuple[Any, ...]
    """Which rows: conditions, and portions by their handle."""
    schema: Schema
    root: bool = False
    steps: tuple[Step, ...] | None = ()
    """How its rows are made of the whole table's, where public facts say so."""
    paid: bool = False
    """Whether its budget was set aside: whoever asks there is an Option, say, and had leave for all of it."""

    @cached_property
    def digest(self) -> str:
        """By what a client knows that it has the schema already."""
        return digest(self.schema.to_toml().encode())

    def told(self) -> dict[str, Any]:
        """What a client is told of it."""
        return {"handle": self.name, "unit": self.unit}


@define(eq=False)
class Session:
    """What one client has."""

    line: SessionLine
    handles: dict[str, Handle]
    ours: bool
    """Whether this process began it."""
    lock: threading.RLock = field(factory=threading.RLock)

    def add(self, handles: Sequence[Handle]) -> None:
        """Keep handles."""
        with self.lock:
            self.handles |= {handle.name: handle for handle in handles}

    def check_room(self, more: int) -> None:
        """Refuse more handles than are kept."""
        if len(self.handles) + more > MOST_HANDLES:
            raise ProbeError(
                f"a session has {len(self.handles):,} probes, and {more:,} more are asked for",
                why=f"at most {MOST_HANDLES:,} are kept",
                fix="jostle.connect(...) anew; fewer parts",
            )


@define(eq=False)
class _Opened:
    """Opens a room when it is first asked for, once."""

    rooms: Rooms
    share: Share
    _key: Key | None = None
    _lock: threading.Lock = field(factory=threading.Lock)

    def __call__(self) -> Key:
        with self._lock:
            if self._key is None:
                self._key = self.rooms.room(self.share)
            return self._key


@frozen(eq=False)
class In:
    """Who asks, in which session."""

    asker: Asker
    session: Session


@frozen(eq=False)
class At:
    """Who asks, and where."""

    asker: Asker
    share: Share
    rooms: Rooms
    session: Session
    handle: Handle
    form: Form


@frozen(eq=False)
class ReadQuestion:
    """One question, read."""

    question: str
    details: tuple[Any, ...]
    """As the room's unit counts them."""
    request: Mapping[str, Any]
    """The canonical request."""
    epsilon: Fraction
    """Its own, as the promise counts it."""
    site: str
    entry: str | None
    """Where the book would have it."""
    again: bool


class Server:
    """Sessions on the tables of an office, and what they are answered."""

    def __init__(self, office: Office, answers: Path | None = None, *, opened: type[Rooms] = Rooms) -> None:
        self._office = office
        self._rooms = {name: opened(office, table) for name, table in office.tables.items()}
        first = next(iter(office.tables.values()))
        self._answers = Answers(answers or first.vault.with_name(f"{first.vault.name}.answers"))
        self._sessions: dict[str, Session] = {}
        self._running: dict[str, Future[None]] = {}
        self._unkept: dict[str, Given] = {}
        """Answers that were drawn and could not be kept: they are kept when they are asked for again."""
        self._lock = threading.RLock()

    def open(self) -> None:
        """Read the tables, before anybody asks."""
        for rooms in self._rooms.values():
            rooms.snapshot(self._answers.salt)

    def close(self) -> None:
        """Let the file of answers go."""
        self._answers.close()

    # Sessions

    def begin(self, token: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a session on a table; of several, the one that is named."""
        asker = self._office.asker(token)
        table = self._table(asker, message.get("table"))
        share = self._office.share(asker, table)
        for old in self._answers.of_token(asker.handle)[: 1 - MOST_SESSIONS]:
            self._end(old)
        name, root = secrets.token_hex(16), secrets.token_hex(16)
        line = SessionLine(name, asker.handle, table, share.number, root)
        self._answers.begin(line)
        handle = self._resumed(line, share, ours=True).handles[root]
        mode = {"assume_no_collusion": True} if self._office.assume_no_collusion else {}
        return {"session": name, "table": table, **handle.told(), "schema": handle.digest, **mode}

    def _table(self, asker: Asker, wanted: object) -> str:
        """The table that is wanted, or the only one that is shared; which others there are is not told."""
        if wanted is not None:
            return self._office.share(asker, wanted if isinstance(wanted, str) else shown(wanted)).table
        shared = []
        for name in self._rooms:
            with suppress(AccessError):
                shared.append(self._office.share(asker, name).table)
        if len(shared) == 1:
            return shared[0]
        names = ", ".join(shared)
        raise AccessError(
            f"{len(shared)} tables are shared with you: {names}" if shared else "no table is shared with you",
            why="each asker has a share of a table's promise",
            fix=f"jostle.connect(url, token=..., table={shared[0]!r})" if shared else "ask the data's owner for one",
        )

    def end(self, token: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """End a session: its handles and its answers are forgotten."""
        asker = self._office.asker(token)
        line = self._answers.session(str(message.get("session")))
        if line is None or line.token != asker.handle:
            raise unknown()
        self._end(line.session)
        return {"answer": None}

    def _end(self, session: str) -> None:
        self._answers.end(session)
        with self._lock:
            self._sessions.pop(session, None)

    def _at(self, token: str, message: Mapping[str, Any], form: Form) -> At:
        """Where a message is for, if its session and handle are the asker's, whose share is what it was."""
        at = self._in(token, message, form)
        if isinstance(at, At):
            return at
        raise unknown() if at.session.ours else forgotten()

    def _in(self, token: str, message: Mapping[str, Any], form: Form) -> At | In:
        """The same; without a handle, where there is none of that name any more."""
        asker = self._office.asker(token)
        name = message.get("session")
        if not isinstance(name, str):
            raise unknown()
        session = self._sessions.get(name)
        line = self._answers.session(name) if session is None else session.line
        if line is None or line.token != asker.handle or line.table not in self._rooms:
            raise unknown()
        try:
            share = self._office.share(asker, line.table)
        except AccessError:
            self._end(line.session)
            raise
        rooms = self._rooms[line.table]
        if share.number != line.share:
            self._end(line.session)
            raise unknown()
        rooms.check_open(share)
        session = self._resumed(line, share)
        handle = self._handle(session, str(message.get("handle")))
        if handle is None:
            return In(asker, session)
        return At(asker, share, rooms, session, handle, form)

    def _handle(self, session: Session, name: str) -> Handle | None:
        """A handle of a session; one that another process gave is made again, where public facts make it."""
        if session.ours or name in session.handles:
            return session.handles.get(name)
        given = {each: derived for derived in self._answers.derived(session.line.session) for each in derived.handles}
        waiting = []
        with session.lock:
            above: str | None = name
            while above is not None and above not in session.handles:
                waiting.append(given.get(above))
                above = None if waiting[-1] is None else waiting[-1].above
            for derived in reversed(waiting):
                if derived is None:
                    return None
                handle = session.handles[derived.above]
                if handle.digest != derived.public:
                    return None
                details = asked(derived.question, JSON.decode(derived.details.encode()))
                answer, error = handle.key().enter(derived.question, *details)
                if error is not None:
                    return None
                keys = answer if isinstance(answer, tuple) else (answer,)
                session.add(_made_of(handle, derived.question, details, keys, derived.handles))
        return session.handles[name]

    def _resumed(self, line: SessionLine, share: Share, *, ours: bool = False) -> Session:
        """A session as this process has it; of one that another process began, the whole table, until more is asked."""
        with self._lock:
            if line.session not in self._sessions:
                rooms = self._rooms[line.table]
                key = _Opened(rooms, share)
                root = Handle(line.root, key, rooms.schema.rows_per_person or 1, (), rooms.schema, root=True)
                self._sessions[line.session] = Session(line, {line.root: root}, ours)
            return self._sessions[line.session]

    # Facts

    def look(self, token: str, message: Mapping[str, Any], form: Form) -> Any:
        """What may be known of a handle's rows without asking them."""
        at = self._at(token, message, form)
        if message.get("schema") is True:
            return at.handle.schema.to_toml()
        facts = at.handle.key().look_in()
        left = at.rooms.left(at.share) if at.handle.root else None
        return facts if left is None or facts.left is None else evolve(facts, left=min(left, facts.left))

    # Questions

    def answer(self, token: str, message: Mapping[str, Any], hashed: bytes, form: Form) -> bytes:
        """Answer a question: one that was answered before, as it was."""
        at = self._in(token, message, form)
        question, key = message.get("question"), message.get("key")
        if not isinstance(question, str) or question not in QUESTIONS:
            raise WireError(f"{shown(question)} is no question", fix=f"one of {', '.join(QUESTIONS)}")
        if question in FREE:
            return self._free(self._at(token, message, form), message)
        if not isinstance(key, str) or not 16 <= len(key) <= 100:
            raise WireError("a question has no idempotency key", why="it is charged once, however often it is sent")
        bound = digest(at.asker.handle.encode(), at.session.line.session.encode(), hashed)
        if isinstance(at, In):
            return self._given_before(at, question, key, bound)
        with _Turn(self._running, self._lock, key):
            return self._once(at, message, key, bound)

    def _given_before(self, at: In, question: str, key: str, bound: str) -> bytes:
        """An answer that was given before its handle was forgotten."""
        kept = self._answers.reply(key)
        if kept is None or kept[0] != bound:
            raise unknown() if at.session.ours else forgotten()
        request = {"kind": question, "asks": [], "epsilon": "0", "on": ["what another process gave"]}
        permit = self._office.allow(at.asker, at.session.line.table, request, Fraction(0), again=True)
        self._office.spent(permit, Fraction(0), "read again")
        return kept[1]

    def _once(self, at: At, message: Mapping[str, Any], key: str, bound: str) -> bytes:
        """Answer a question, unless that was done: nobody else is at it meanwhile."""
        unkept = self._unkept.get(key)
        kept = (unkept.bound, unkept.reply) if unkept is not None else self._answers.reply(key)
        if kept is not None and kept[0] != bound:
            raise unknown()
        read, table = self._read(at, message), at.session.line.table
        if kept is not None:
            permit = self._office.allow(at.asker, table, read.request, read.epsilon, again=True)
            self._office.spent(permit, Fraction(0), "read again")
            if unkept is not None:
                self._keep(unkept)
                del self._unkept[key]
            return kept[1]
        _check(read, at)
        mark = digest(b"request", key.encode(), bound.encode())
        steps = at.handle.steps
        paid = steps is not None and read.question in DRAWN and at.rooms.was_paid(at.share, mark)
        book = None if paid or read.entry is None or read.again else self._answers.read(read.entry)
        if not paid and book is None:
            self._check_left(read, at)
        work = Work(mark, self._office.allow(at.asker, table, read.request, read.epsilon, again=paid))
        try:
            given = self._made(at, read, work, book, paid=paid)
        except BaseException:
            work.settle(self._office, "refused")  # a permit comes back, whatever becomes of it
            raise
        given = evolve(given, key=key, bound=bound)
        if work.price or not given.refused:  # what was refused for nothing is asked again, and perhaps not refused
            self._keep(given)
        return given.reply

    def _check_left(self, read: ReadQuestion, at: At) -> None:
        """Refuse what a share cannot pay, before anybody waits for an owner to look at it."""
        left = at.rooms.left(at.share)
        if at.handle.root and read.question in WHOLE and left is not None and read.epsilon > left:
            self._office.refused(at.asker, at.share, read.request, read.epsilon)
            raise BudgetError(
                f"{read.site} asks for epsilon {show_amount(read.epsilon)}, but {show_amount(left)} is left",
                why="that is all that is left of your share",
                fix="ask for less, or the owner for more: jostle share give",
                requested=read.epsilon,
                left=left,
            )

    def _made(self, at: At, read: ReadQuestion, work: Work, book: bytes | None, *, paid: bool) -> Given:
        """An answer: what the book has, or drawn."""
        session = at.session.line.session
        if book is not None:
            return Given("", session, "", self._from_book(at, read, work, book))
        answer, error = self._drawn(at, read, work, paid=paid)
        work.settle(self._office, "refused" if error is not None and read.question in DRAWN else "answered")
        reply = _message(at, read, answer, error)
        if error is not None or read.entry is None:
            return Given("", session, "", reply, refused=error is not None)
        return Given("", session, "", reply, read.entry, canonical(plainly(_for_book(answer))))

    def _drawn(self, at: At, read: ReadQuestion, work: Work, *, paid: bool) -> tuple[Any, BaseException | None]:
        """What the room answers, and the error where there is one; charged to the request, unless it was *paid*."""
        with working(work):
            try:
                key = _stepped(at.rooms.paid(at.share, work.mark), at.handle) if paid else at.handle.key()
                answer, error = key.enter(read.question, *read.details)
            except JostleError as refusal:  # of opening the rows
                return None, refusal.anew()
            except Exception:  # noqa: BLE001 - whatever it is, it may be about rows
                at.rooms.close(at.share)
                return None, kept_back(read.question)
        if error is not None and read.question in DRAWN and key.enter("below", 2, 0)[1] is not None:
            at.rooms.close(at.share)  # it went wrong among the rows: the room answers nothing any more, and no new one
        return answer, error

    def _from_book(self, at: At, read: ReadQuestion, work: Work, book: bytes) -> bytes:
        """What was released before, to whoever may ask it now; charged where nobody is taken to tell it to another."""
        if self._office.assume_no_collusion:
            with working(work):
                at.rooms.pay(at.share, read.epsilon, f"{read.site} (read again)")
        work.settle(self._office, "read again")
        return at.form.write({"answer": JSON.decode(book), "again": True})

    def _keep(self, given: Given) -> None:
        try:
            self._answers.put(given)
        except JostleError:
            self._unkept[given.key] = given
            raise

    def _read(self, at: At, message: Mapping[str, Any]) -> ReadQuestion:
        """A question as it is asked, with its canonical form."""
        question, details = str(message["question"]), asked(message["question"], message.get("details"))
        kinds = QUESTIONS[question]
        epsilon, site, rest, given = Fraction(0), question, [], []
        for detail, kind in zip(details, kinds, strict=True):
            if kind is epsilon_amount:
                epsilon = detail
            elif kind is text:
                site = detail
            elif kind is purpose:
                rest.append(_option_in(detail))
            else:
                rest.append(plainly(detail))
            given.append(detail * at.handle.unit if kind is epsilon_amount else detail)
        request = {"kind": question, "asks": rest, "epsilon": str(epsilon), "on": list(at.handle.on)}
        own = Fraction(0) if at.handle.paid else epsilon * (at.rooms.schema.rows_per_person or 1)
        direct = message.get("direct") is True and question in BOOKED and not at.handle.paid
        entry = self._entry(at, request) if direct else None
        return ReadQuestion(question, tuple(given), request, own, site, entry, message.get("again") is True)

    def _entry(self, at: At, request: Mapping[str, Any]) -> str:
        """Where the book has an answer: by the rows as they are, what is public, m, and what is asked of which."""
        snapshot = at.rooms.snapshot(self._answers.salt)
        return digest(*snapshot, at.session.line.table.encode(), at.handle.digest.encode(), canonical(request))

    def _free(self, at: At, message: Mapping[str, Any]) -> bytes:
        """The answer to a question that rows have no part in."""
        read = self._read(at, message)
        question, details = read.question, read.details
        more = 1
        if question == "portions":
            (more,) = details
        elif question == "split":
            more = at.handle.schema[details[0]].size
        at.session.check_room(more)
        if question in {"below", "shuffled"} and details[-1] > MOST_NUMBERS:
            raise ProbeError(f"{details[-1]:,} numbers are asked for", why=f"at most {MOST_NUMBERS:,} are sent")
        if question == "note":
            self._office.noted(at.asker, at.session.line.table, (canonical(plainly(details[0])).decode(),))
        answer, error = at.handle.key().enter(question, *details)
        made = _handles(at, read, answer) if error is None else []
        if made and made[0].steps is not None:
            session, above, names = at.session.line.session, at.handle, tuple(handle.name for handle in made)
            said = canonical(plainly(details)).decode()
            self._answers.derive(Derived(session, above.name, above.digest, question, said, names))
        return _message(at, read, made or answer, error)


def _option_in(named: str) -> str:
    """The name of Jostle's Option that a client names, without parameters; of any other, none of the client's words."""
    ours = {option.__name__ for option in built_in()}
    name = name_in(named)
    return name if name in ours and name is not None else "an Option that does not come with Jostle"


def _check(read: ReadQuestion, at: At) -> None:
    """Refuse what public facts refuse, before there is leave for it, or a charge."""
    at.session.check_room(1)
    if read.question not in {"perform", "begin"}:
        return
    mechanism: Mechanism = read.details[0]
    schema, epsilon = at.handle.schema, read.details[1] / at.handle.unit
    cells = mechanism.kernel(schema).cells(schema)
    mechanism.check(schema, epsilon)
    if isinstance(mechanism, AddNoiseAbove):
        _, most = Tail(mechanism.scale(schema, epsilon), mechanism.threshold).enclose(128)
        cells = mechanism.tallied.cells(schema) * most >> 128
    if cells > MOST_NUMBERS:
        raise ProbeError(
            f"an answer of {cells:,} numbers is asked for",
            why=f"at most {MOST_NUMBERS:,} are sent",
            fix="ask about less",
        )


def _message(at: At, read: ReadQuestion, answer: Any, error: BaseException | None) -> bytes:
    """A reply's bytes: an answer, handles of what is asked next, or an error, all with one status."""
    if error is not None:
        refusal = error if isinstance(error, JostleError) else kept_back(read.question)
        return at.form.write({"error": error_written(_outside(refusal))})
    made = answer if isinstance(answer, list) and isinstance(answer[0], Handle) else _handles(at, read, answer)
    if made:
        told, several = [handle.told() for handle in made], read.question in SEVERAL
        return at.form.write({"handles": told, "schema": made[0].digest, "several": several})
    return at.form.write({"answer": plainly(answer, at.form)})


def _stepped(key: Key, handle: Handle) -> Key:
    """A key to a handle's rows, by one to the whole table."""
    for question, details, place in handle.steps or ():
        answer, error = key.enter(question, *details)
        if error is not None:
            raise error
        key = answer[place] if isinstance(answer, tuple) else answer
    return key


def _handles(at: At, read: ReadQuestion, answer: Any) -> list[Handle]:
    """New handles, for the keys that a room gave; none where it gave no key."""
    keys = answer if isinstance(answer, tuple) else (answer,)
    if not keys or not isinstance(keys[0], Key):
        return []
    made = _made_of(at.handle, read.question, read.details, keys, [secrets.token_hex(16) for _ in keys])
    at.session.add(made)
    return made


def _made_of(
    above: Handle, question: str, details: tuple[Any, ...], keys: tuple[Key, ...], names: Sequence[str]
) -> list[Handle]:
    """Handles of the rows that a question gave."""
    schema = keys[0].look_up()  # the schemas of parts are alike
    unit = above.unit
    match question:
        case "hand" if details[-1]:
            unit = 1
        case "bounded":
            unit = details[0]
    paid = above.paid or question in SETS_ASIDE
    made = []
    for index, (name, key) in enumerate(zip(names, keys, strict=True)):
        on = above.on
        match question:
            case "narrowed":
                on = (*on, [details[0], list(details[1])])
            case "split":
                on = (*on, [details[0], [index]])
            case "portions":
                on = (*on, ["portion", name])
            case "only":
                on = (*on, ["only", list(details[0])])
        again = question in DERIVED and above.steps is not None
        steps = (*(above.steps or ()), (question, details, index)) if again else None
        made.append(Handle(name, _always(key), unit, on, schema, steps=steps, paid=paid))
    return made


def _for_book(answer: Any) -> Any:
    """An answer as whoever reads it again has it: what may be refined, is refined by whoever bought it."""
    return evolve(answer, number=0) if isinstance(answer, Refinable) else answer


def _always(key: Key) -> Callable[[], Key]:
    return lambda: key


class _Turn:
    """Lets one thread at a time answer the question of a key."""

    def __init__(self, running: dict[str, Future[None]], lock: threading.RLock, key: str) -> None:
        self._running, self._lock, self._key = running, lock, key

    def __enter__(self) -> None:
        self._own: Future[None] = Future()
        while True:
            with self._lock:
                before = self._running.setdefault(self._key, self._own)
            if before is self._own:
                return
            before.result()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            del self._running[self._key]
        self._own.set_result(None)


# Over HTTP


Result = TypeVar("Result")
Working = Callable[[str, dict[str, Any], bytes, Form], bytes]


class Workers:
    """Threads that work for the event loop, which nobody waits for: what is at work when the server ends, is left."""

    def __init__(self, count: int, cores: Collection[int] = ()) -> None:
        self._count = count
        self._cores = cores
        """Where they run, if not where the loop does."""
        self._left: SimpleQueue[_Task | None] = SimpleQueue()
        self._board: _Board | None = None
        self._begun = False

    async def do(self, work: Callable[[], Result]) -> Result:
        """What some work comes to, in a thread that has no other."""
        if not self._begun:
            self._begun = True
            for _ in range(self._count):
                threading.Thread(target=self._go_on, daemon=True).start()
        loop, board = asyncio.get_running_loop(), self._board
        if board is None or board.loop is not loop:
            board = self._board = _Board(loop)
        told: asyncio.Future[Result] = loop.create_future()
        self._left.put((board, told, work))
        return await told

    def end(self) -> None:
        """Let threads end that have nothing to do, and the others afterwards."""
        for _ in range(self._count if self._begun else 0):
            self._left.put(None)

    def _go_on(self) -> None:
        _keep_on(self._cores)
        while (task := self._left.get()) is not None:
            board, told, work = task
            try:
                # In an empty context: nothing that one question set is there for the next.
                answer = Context().run(work)
            except BaseException:  # noqa: BLE001 - where it happened, rows may be in sight
                answer = None
            board.put(told, answer)


@define(eq=False)
class _Board:
    """Where a loop finds what work came to: it is told once of all that is there when it looks."""

    loop: asyncio.AbstractEventLoop
    _done: deque[tuple[asyncio.Future[Any], Any]] = field(factory=deque)
    _told: bool = False

    def put(self, told: asyncio.Future[Any], answer: Any) -> None:
        """Leave an answer; None, where work failed."""
        self._done.append((told, answer))
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        """Say what work came to, to whoever waits for it still."""
        self._told = False  # first: of what is left from here on, it is told anew
        while self._done:
            told, answer = self._done.popleft()
            if told.done():
                continue
            if answer is None:
                told.set_exception(kept_back("the question"))
            else:
                told.set_result(answer)


_Task = tuple[_Board, "asyncio.Future[Any]", Callable[[], Any]]


def _cores() -> Collection[int]:
    """Where this thread may run, on systems that say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()


def _keep_on(cores: Collection[int]) -> None:
    """Keep this thread on some cores; where a system does not let it, it runs where it did."""
    if cores:
        with suppress(OSError):
            os.sched_setaffinity(0, cores)


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Keep this thread, and those that it starts meanwhile, on one core.

    They hand the interpreter's lock to each other several times an answer. From core to core that takes longer than
    the answer does.
    """
    cores = sorted(_cores())
    _keep_on([cores[os.getpid() % len(cores)]] if cores else ())
    try:
        yield
    finally:
        _keep_on(cores)


@frozen(eq=False)
class _Web:
    """Requests of HTTP, and replies."""

    server: Server
    padding: float
    short: Workers
    long: Workers
    turns: WeakValueDictionary[str, asyncio.Semaphore] = field(factory=WeakValueDictionary)
    """By token, so that nobody keeps others waiting."""

    async def answered(self, token: str, body: bytes | None, form: Form, work: Working) -> tuple[int, bytes]:
        """A status and a reply, once it is the token's turn."""
        if body is None:
            too_long = WireError(f"a message has more than {MOST_BYTES:,} bytes", fix="ask in several questions")
            return 413, form.write({"error": error_written(too_long)})
        key = hashlib.blake2b(token.encode(), digest_size=16).hexdigest()
        turn = self.turns.get(key)
        if turn is None:
            turn = self.turns[key] = asyncio.Semaphore(AT_ONCE)
        async with turn:
            pool = self.long if _takes_long(body, form) else self.short
            return await pool.do(partial(self.done, token, body, form, work))

    def done(self, token: str, body: bytes, form: Form, work: Working) -> tuple[int, bytes]:
        """A status and a reply. Whatever is decided once there is leave has one status."""
        try:
            try:
                message = form.read(body)
                with unshown():  # how far a question is, or which candidate of a selection runs, is no line of a log
                    return 200, work(token, message, hashlib.blake2b(body, digest_size=16).digest(), form)
            except JostleError:
                raise
            except Exception:  # noqa: BLE001 - a mistake of Jostle's; where it happened, rows may be in sight
                raise kept_back("the question") from None
        except JostleError as refusal:
            kinds = ((WaitingError, 202), (AccessError, 403), (WireError, 400))
            status = next((status for kind, status in kinds if isinstance(refusal, kind)), 200)
            return status, form.write({"error": error_written(_outside(refusal))})


def _outside(error: JostleError) -> JostleError:
    """An error as strangers are told of it: where the owner's files are is no business of theirs."""
    if not isinstance(error, VaultError):
        return error
    return VaultError("the owner's files cannot be used", why=KEPT, fix="tell the data's owner")


def _takes_long(body: bytes, form: Form) -> bool:
    """Whether a question takes long, by what is asked alone; what cannot be read does not."""
    if len(body) > LONG_BYTES:
        return True
    with suppress(Exception):
        message = form.decode(body)
        kinds = {part.get("kind") for part in message.get("details", ()) if isinstance(part, dict)}
        return message.get("question") == "select" or bool(kinds & TAKES_LONG)
    return False


def until_grid(passed: float, padding: float) -> float:
    """Seconds from now to the next point of the grid: padding, twice that, four times that, ...

    >>> until_grid(0.02, 0.05), until_grid(0.15, 0.05), until_grid(3, 0)
    (0.03, 0.05, 0.0)
    """
    point = padding
    while 0 < point < passed:
        point *= 2
    return round(max(0.0, point - passed), 9) if padding else 0.0


class _Endpoint:
    """A path that messages are sent to, as ASGI has it: with nothing around, since most of the time would go there."""

    def __init__(self, web: _Web, work: Working) -> None:
        self._web, self._work = web, work
        self.__doc__ = work.__doc__

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message, at a point of the grid of times."""
        begun, headers = monotonic(), dict(scope["headers"])
        form = form_of(headers.get(b"content-type", b"").decode("latin-1"))
        token = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ").strip()
        status, reply = await self._web.answered(token, await _body(receive), form, self._work)
        await asyncio.sleep(until_grid(monotonic() - begun, self._web.padding))
        kept = [(b"content-length", b"%d" % len(reply)), (b"content-type", form.content.encode())]
        await send({"type": "http.response.start", "status": status, "headers": kept})
        await send({"type": "http.response.body", "body": reply})


async def _body(receive: Receive) -> bytes | None:
    """A request's body; None for one that is too long, of which no more is read."""
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


class _Application(Starlette):
    """What is served; messages go to their paths without a way through what pages need."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        quick = self.state.quick.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        await (super().__call__ if quick is None else quick)(scope, receive, send)


def application(
    office: Office,
    *,
    padding: float | None = None,
    answers: Path | None = None,
    routes: Sequence[BaseRoute] = (),
    opened: type[Rooms] = Rooms,
) -> Starlette:
    """The server of an office's tables, as an application that any server of ASGI runs.

    Args:
        office: who may ask what.
        padding: the first point of the grid of times at which replies leave, in seconds, or 0 for no grid; what
            owner.toml says, if left out.
        answers: the file of answers; beside the vault of the first table if left out.
        routes: what else it serves: the owner's pages.
        opened: how tables are opened.
    """
    server = Server(office, answers, opened=opened)
    web = _Web(
        server,
        office.settings.padding if padding is None else padding,
        Workers(THREADS),
        Workers(LONG, _cores()),
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # Threads that wait for a lock are let go on sooner: a long question in Python does not stop short ones.
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            await asyncio.to_thread(server.open)
            with _on_one_core():
                yield
        finally:
            sys.setswitchinterval(before)
            web.short.end()
            web.long.end()
            server.close()

    def begin(token: str, message: dict[str, Any], _: bytes, form: Form) -> bytes:
        """Begin a session on a table."""
        return form.write(server.begin(token, message))

    def end(token: str, message: dict[str, Any], _: bytes, form: Form) -> bytes:
        """End a session: its handles and answers are forgotten."""
        return form.write(server.end(token, message))

    def look_at(token: str, message: dict[str, Any], _: bytes, form: Form) -> bytes:
        """Tell what may be known of some rows without asking them."""
        return form.write({"answer": plainly(server.look(token, message, form), form)})

    paths: Mapping[str, Working] = {"begin": begin, "ask": server.answer, "look": look_at, "end": end}
    quick = {f"/v1/{name}": _Endpoint(web, work) for name, work in paths.items()}
    own = [Route(path, endpoint, methods=["POST"]) for path, endpoint in quick.items()]
    made = _Application(routes=[*own, *routes], lifespan=lifespan)
    made.state.web, made.state.quick = web, quick
    return made
