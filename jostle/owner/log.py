"""The audit log: who did what, at which price, and how it was decided; all that an office goes by is read off it.

It is a file of JSON lines that only grows. A line ends with a hash of itself, and begins with that of the line before
it: what is changed, left out or put in is seen at that line. That the last lines are missing is seen by whoever kept a
later hash (`jostle audit-log verify --head`). A line holds public facts alone: nothing of rows, no number of them, and
no duration.

A file that has become long is set aside, under a name with the number of its first line, and the next one begins with
all that its lines came to (`Carried`), with the hash of its last line before it. So one who opens the log reads one
file; who checks it reads all of them, and holds what was carried over against what it was made of.

A line is on the disk before what it says has an effect. Processes take turns by a lock on the file, so that what two of
them decide at once holds for both; threads that write at once share one write. What was cut short by a crash had no
effect, and is cut off.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from attrs import define, evolve, field, frozen

from jostle.errors import JostleError, VaultError, shown
from jostle.files.kinds import FileKind
from jostle.owner.together import Together

Role = Literal["owner", "analyst", "auditor", "service"]
Item = TypeVar("Item")
Decision = Literal["answered", "read again", "refused", "denied"]
"""What became of a request: the ledger refuses, the owner's rules deny."""
LOG = FileKind("audit log", VaultError, "put a whole copy of it back; what it says now cannot be relied on")
BEGINNING = "0" * 64
"""Stands before the first line."""
HASH, TAIL = ',"hash":"', '"}\n'
FIRST = re.compile(rb'\{"line":(\d+),"before":"([0-9a-f]{64})"')
DIGITS = 12
"""Of a number in the name of a file."""
MOST_LINE = 1 << 20
KEPT = 200
"""Lines of requests, and notes, that are held to be shown."""
LONG = 1 << 24
"""Bytes of a file that is set aside: reading it takes some seconds."""
AT_ONCE = 25
"""Requests, or so many times that of other things, that are carried over in one line."""


# What is written


@frozen
class KeyMade:
    """A key was made; its secret was shown once, and is not here."""

    handle: str
    name: str
    role: Role
    scopes: tuple[str, ...]
    digest: str
    """A hash of the secret, which has 256 random bits."""
    until: str


@frozen
class Revoked:
    """A key, or all tokens of a bearer, are good for nothing from here on."""

    handle: str


@frozen
class Shared:
    """A part of a table's promise was given to somebody."""

    number: int
    table: str
    holder: str
    epsilon: Fraction
    about: str
    """Whose promise it is a part of: that of a population in a vault, or of a table's own vault."""


@frozen
class Unshared:
    """A share was revoked; what was not spent of it is the promise's again."""

    number: int
    reason: str


@frozen
class Waits:
    """A request waits until the owner decides."""

    number: int
    table: str
    name: str
    request: str
    epsilon: Fraction


@frozen
class Decided:
    """The owner has approved or refused a request."""

    number: int
    approved: bool
    reason: str


@frozen
class Settled:
    """A request was charged, or read again; or the ledger refused it, or whoever asked may not."""

    table: str
    name: str
    handle: str
    share: int
    """Its number; 0 where there is none."""
    request: str
    """The canonical request; of a long one its kind, and a hash of it."""
    epsilon: Fraction
    """Its own."""
    price: Fraction
    """What it added to what is spent."""
    decision: Decision
    approval: int | None = None


@frozen
class Noted:
    """Lines of a client's trace: the client's words, which nobody checked."""

    table: str
    name: str
    lines: tuple[str, ...]


# What it comes to


@frozen
class Share:
    """A part of a promise, for one asker."""

    number: int
    """No other share ever has it: handles made under one are closed when a permit names another."""
    table: str
    holder: str
    epsilon: Fraction
    about: str
    """Whose promise it is a part of."""
    spent: Fraction = Fraction(0)
    revoked: bool = False

    @property
    def left(self) -> Fraction:
        """What may still be spent of it."""
        return Fraction(0) if self.revoked else max(self.epsilon - self.spent, Fraction(0))


@frozen
class Request:
    """A request that waited."""

    wait: Waits
    moment: str
    decided: Decided | None = None
    used: bool = False
    """Whether it was answered since it was approved."""

    @property
    def state(self) -> str:
        """What became of it, in a word."""
        if self.decided is None:
            return "waiting"
        return "refused" if not self.decided.approved else "answered" if self.used else "approved"


@frozen
class Carried:
    """What the lines before come to, or a part of it: a file that is not the first begins with such lines."""

    more: bool
    """Whether the next line goes on with it."""
    keys: tuple[KeyMade, ...] = ()
    revoked: tuple[str, ...] = ()
    used: tuple[tuple[str, str], ...] = ()
    shares: tuple[Share, ...] = ()
    requests: tuple[Request, ...] = ()
    since: tuple[tuple[str, str, Fraction], ...] = ()
    by_day: tuple[tuple[str, str, str, Fraction], ...] = ()


Fact = KeyMade | Revoked | Shared | Unshared | Waits | Decided | Settled | Noted | Carried
KINDS: dict[str, type[Fact]] = {
    "key": KeyMade,
    "revoked": Revoked,
    "shared": Shared,
    "unshared": Unshared,
    "waits": Waits,
    "decided": Decided,
    "asked": Settled,
    "noted": Noted,
    "carried": Carried,
}
NAMES = {kind: name for name, kind in KINDS.items()}


@frozen
class LogLine:
    """A line of the log."""

    number: int
    before: str
    moment: str
    """For people: no decision depends on it."""
    by: str
    """Who did it."""
    fact: Fact
    hash: str


@define
class State:
    """All that the lines so far come to."""

    count: int = 0
    head: str = BEGINNING
    keys: dict[str, KeyMade] = field(factory=dict)
    revoked: set[str] = field(factory=set)
    used: dict[str, str] = field(factory=dict)
    """When something was last asked, by handle."""
    shares: dict[int, Share] = field(factory=dict)
    live: dict[tuple[str, str], int] = field(factory=dict)
    """The share that somebody has of a table: nobody has two."""
    requests: dict[int, Request] = field(factory=dict)
    waited: dict[tuple[str, str, str, Fraction], int] = field(factory=dict)
    """The last request that waited, by who asked, the table, what is asked, and its epsilon."""
    since: dict[tuple[str, str], Fraction] = field(factory=dict)
    """What somebody asked since the last approval, by name and whose promise it is: each request's own epsilon."""
    by_day: dict[tuple[str, str, str], Fraction] = field(factory=dict)
    """What was spent, by day, table and name."""
    recent: deque[LogLine] = field(factory=lambda: deque(maxlen=KEPT))
    notes: deque[LogLine] = field(factory=lambda: deque(maxlen=KEPT))
    whole: bool = False
    """Whether all lines before were read, so that what is carried over from them is known."""
    coming: list[Carried] = field(factory=list)
    """What is being carried over."""

    def share(self, table: str, holder: str) -> Share | None:
        """Somebody's live share of a promise."""
        number = self.live.get((table, holder))
        return None if number is None else self.shares[number]

    def take(self, entry: LogLine) -> None:
        """Go on by one line; refuse one that speaks of what there is not."""
        try:
            self._take(entry)
        except KeyError:
            raise LOG.damaged(f"speaks of what is not in it, at line {entry.number}") from None
        self.count, self.head = entry.number, entry.hash

    def _take(self, entry: LogLine) -> None:
        match entry.fact:
            case KeyMade() as key:
                self.keys[key.handle] = key
            case Revoked(handle):
                self.revoked.add(handle)
            case Shared(number, table, holder, epsilon, about):
                self.shares[number] = Share(number, table, holder, epsilon, about)
                self.live[table, holder] = number
            case Unshared(number):
                share = self.shares[number] = evolve(self.shares[number], revoked=True)
                del self.live[share.table, share.holder]
            case Waits() as wait:
                self.requests[wait.number] = Request(wait, entry.moment)
                self.waited[wait.name, wait.table, wait.request, wait.epsilon] = wait.number
            case Decided(number) as decided:
                self.requests[number] = evolve(self.requests[number], decided=decided)
            case Settled() as asked:
                self._take_asked(asked, entry)
            case Noted():
                self.notes.append(entry)
            case Carried() as part:
                self._take_carried(part, entry)

    def _take_carried(self, part: Carried, entry: LogLine) -> None:
        """Go on from what was carried over; where the lines that it came from were read, it must be what they say."""
        self.coming.append(part)
        if part.more:
            return
        given = State(whole=self.whole)
        for piece in self.coming:
            given.keys |= {key.handle: key for key in piece.keys}
            given.revoked |= {*piece.revoked}
            given.used |= dict(piece.used)
            given.shares |= {share.number: share for share in piece.shares}
            given.requests |= {request.wait.number: request for request in piece.requests}
            given.since |= {(name, about): amount for name, about, amount in piece.since}
            given.by_day |= {(day, table, name): amount for day, table, name, amount in piece.by_day}
        for share in given.shares.values():
            if not share.revoked:
                given.live[share.table, share.holder] = share.number
        for request in given.requests.values():
            wait = request.wait
            given.waited[wait.name, wait.table, wait.request, wait.epsilon] = wait.number
        self.coming = []
        for name in CARRIED:
            if self.whole and getattr(given, name) != getattr(self, name):
                raise LOG.damaged(f"was changed before line {entry.number}: what is carried over is not what it says")
            setattr(self, name, getattr(given, name))

    def carried(self) -> list[Carried]:
        """What all lines so far come to, in parts of which each fits a line."""
        days = ((*day, amount) for day, amount in self.by_day.items())
        since = ((*whose, amount) for whose, amount in self.since.items())
        return [
            *(Carried(more=True, keys=tuple(batch)) for batch in batched(self.keys.values(), 8 * AT_ONCE)),
            *(Carried(more=True, revoked=tuple(batch)) for batch in batched(sorted(self.revoked), 8 * AT_ONCE)),
            *(Carried(more=True, used=tuple(batch)) for batch in batched(self.used.items(), 8 * AT_ONCE)),
            *(Carried(more=True, shares=tuple(batch)) for batch in batched(self.shares.values(), 8 * AT_ONCE)),
            *(Carried(more=True, requests=tuple(batch)) for batch in batched(self.requests.values(), AT_ONCE)),
            *(Carried(more=True, since=tuple(batch)) for batch in batched(since, 8 * AT_ONCE)),
            *(Carried(more=True, by_day=tuple(batch)) for batch in batched(days, 8 * AT_ONCE)),
            Carried(more=False),
        ]

    def _take_asked(self, asked: Settled, entry: LogLine) -> None:
        self.recent.append(entry)
        self.used[asked.handle] = entry.moment
        if asked.decision in {"refused", "denied"}:
            return
        share = self.shares[asked.share]
        whose = asked.name, share.about
        self.shares[asked.share] = evolve(share, spent=share.spent + asked.price)
        if asked.approval is None:
            self.since[whose] = self.since.get(whose, Fraction(0)) + asked.epsilon
        else:
            self.requests[asked.approval] = evolve(self.requests[asked.approval], used=True)
            self.since[whose] = Fraction(0)
        if asked.price:
            day = entry.moment[:10], asked.table, asked.name
            self.by_day[day] = self.by_day.get(day, Fraction(0)) + asked.price


CARRIED = ("keys", "revoked", "used", "shares", "live", "requests", "waited", "since", "by_day")
"""What a state has that is carried over; of the last lines, which are shown, a new file has none."""


def batched(items: Iterable[Item], count: int) -> Iterator[list[Item]]:
    """Yield items in lists of so many, the last one perhaps of fewer."""
    left = iter(items)
    while part := [*islice(left, count)]:
        yield part


# The file


def written(number: int, before: str, moment: str, by: str, fact: Fact) -> tuple[bytes, LogLine]:
    """A line, and what it says."""
    facts = {"line": number, "before": before, "moment": moment, "by": by, "kind": NAMES[type(fact)]}
    try:
        body = _plain(msgspec.json.encode(facts | msgspec.to_builtins(fact, enc_hook=str)).decode())
    except UnicodeEncodeError:
        raise VaultError("what is to be written down has half a character", fix="write it anew") from None
    digest = hashlib.sha256(body.encode()).hexdigest()
    line = f"{body[:-1]}{HASH}{digest}{TAIL}".encode()
    if len(line) > MOST_LINE:
        raise VaultError("what is to be written down is too long", fix="ask for less at once")
    return line, LogLine(number, before, moment, by, fact, digest)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _put(file: int, data: bytes, at: int) -> None:
    """Write at a place in a file, so that it is on the disk."""
    left = data
    while left:
        left = left[os.pwrite(file, left, at + len(data) - len(left)) :]
    os.fsync(file)


def _on_disk(folder: Path) -> None:
    """Let the names in a folder be on the disk."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _plain(body: str) -> str:
    """JSON with escapes for all that is not plain ASCII: printed on a screen, it is still what the hash is of."""
    if body.isascii() and "\x7f" not in body:
        return body
    return json.dumps(msgspec.json.decode(body), separators=(",", ":")).replace("\x7f", "\\u007f")


def entry_of(line: bytes, count: int, head: str) -> LogLine:
    """A line that follows so many others, of which the last has this hash; refuse any other."""
    text = LOG.decoded(line)
    body, mark, end = text.rpartition(HASH)
    digest = hashlib.sha256(f"{body}}}".encode()).hexdigest()
    if not mark or end != f"{digest}{TAIL}":
        raise LOG.damaged(f"was changed at line {count + 1}: the line is not the one whose hash it ends with")
    facts = LOG.facts(f"{body}}}")
    number, before, moment, by = (facts.pop(name, None) for name in ("line", "before", "moment", "by"))
    if (number, before) != (count + 1, head) or not (isinstance(moment, str) and isinstance(by, str)):
        raise LOG.damaged(f"was changed before line {count + 1}: the line does not follow the one above it")
    kind = facts.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise LOG.damaged(f"has a line of an unknown kind: {count + 1}")
    return LogLine(count + 1, head, moment, by, LOG.made(KINDS[kind], facts), digest)


def files_of(path: Path) -> list[Path]:
    """The files of a log, the oldest first: those that were set aside, and the one that is written."""
    older = sorted(path.parent.glob(f"{path.stem}.{'[0-9]' * DIGITS}{path.suffix}"))
    # What a crash left between two steps of setting aside is one file with two names.
    return [*(file for file in older if not (path.exists() and file.samefile(path))), path]


def set_aside(path: Path, first: int) -> Path:
    """Where a file of a log is kept, by the number of its first line."""
    return path.with_name(f"{path.stem}.{first:0{DIGITS}}{path.suffix}")


def entries(path: Path) -> Iterator[LogLine]:
    """Yield the lines of a log, each checked; refuse at the first that is not as it was written."""
    state = State(whole=True)
    for file in files_of(path):
        for line in _lines(file):
            if not line.endswith(b"\n"):
                if file == path:
                    return  # it was cut short, and had no effect
                raise LOG.damaged(f"was cut short: {file.name} ends within a line")
            entry = entry_of(line, state.count, state.head)
            state.take(entry)
            yield entry


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        raise VaultError(f"there is no audit log {path}", fix="jostle serve makes one") from None
    except (OSError, ValueError) as mistake:
        reason = getattr(mistake, "strerror", None) or "it is no path"
        raise VaultError(f"the audit log {path} cannot be read: {reason}", fix="check the path") from None


Making = Callable[[State], Iterator[tuple[str, Fact]]]
"""Who does what, as the log is by then: all of it, or nothing where it raises."""


class Log:
    """A log that is read and written, by any number of processes and threads."""

    def __init__(self, path: Path, *, long: int = LONG) -> None:
        self.path = path
        self._long = long
        self._first = 1
        """The number of the first line in the file."""
        self._carried = 0
        """How long the lines are that it begins with."""
        self._left: list[int] = []
        """Files that were gone on from: they are closed when nobody waits for their locks."""
        self._looking = threading.Lock()
        """Held for a moment, by whoever looks at the state or goes on with it."""
        self._together = Together(self._write)
        self._state = State()
        self._offset = 0
        self._ahead = False
        """Whether the state has lines that are on their way to the disk; no other process writes meanwhile."""
        try:
            older = [*path.parent.glob(f"{path.stem}.{'[0-9]' * DIGITS}{path.suffix}")]
            # Without its last file, a log that was set aside before would begin anew, as if nothing had been spent.
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC | (0 if older else os.O_CREAT), 0o600)
        except (OSError, ValueError) as mistake:
            reason = getattr(mistake, "strerror", None) or "it is no path"
            raise VaultError(f"the audit log {path} cannot be opened: {reason}", fix="check the path") from None
        self._check_access()
        with self.state():
            pass

    def close(self) -> None:
        """Let the file go."""
        for file in (*self._left, self._file):
            os.close(file)

    @contextmanager
    def state(self) -> Iterator[State]:
        """Give what the lines come to by now, those of other processes included, and hold it."""
        with self._looking:
            self._go_on()
            yield self._state

    @contextmanager
    def held(self) -> Iterator[State]:
        """Give what the lines came to when they were read last, and hold it."""
        with self._looking:
            yield self._state

    def write(self, make: Making) -> None:
        """Write what is made of the state as it is by then, so that it is on the disk; or raise, and nothing is."""
        (problem,) = self.write_each([make])
        if problem is not None:
            raise problem

    def write_each(self, makes: Sequence[Making]) -> Sequence[JostleError | None]:
        """The same of several, by one write; of each, why it was not written, or None."""
        return self._together(makes) if makes else ()

    def _write(self, turns: Sequence[Sequence[Making]]) -> Sequence[Sequence[JostleError | None]]:
        """Write for all who wait, with one write."""
        try:
            self._lock()
            try:
                lines, problems = self._made(turns)
                self._append(lines)
                if self._offset > self._carried + self._long:
                    self._set_aside()
            except BaseException:
                with self._looking:  # read anew: what was made is not there
                    self._state, self._offset, self._ahead = State(), 0, False
                raise
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        except JostleError:
            raise
        except OSError as mistake:  # nobody is told that something was written which was not
            raise VaultError(
                f"the audit log {self.path} cannot be written: {mistake.strerror}",
                why="nothing has an effect before it is written down",
                fix="see that there is room on the disk",
            ) from None
        return problems

    def _lock(self) -> None:
        """Lock the file that is written now, against other processes."""
        while True:
            file = self._file
            fcntl.flock(file, fcntl.LOCK_EX)
            with self._looking:
                self._go_on()
                for left in self._left:
                    os.close(left)  # its lock goes with it
                self._left = []
                if self._file == file:
                    return

    def _set_aside(self) -> None:
        """Begin a new file with what all lines come to; where that cannot be, go on with the one that there is."""
        lines: list[bytes] = []
        taken: list[LogLine] = []
        for part in self._state.carried():
            number, head = (taken[-1].number, taken[-1].hash) if taken else (self._state.count, self._state.head)
            line, entry = written(number + 1, head, _now(), "jostle", part)
            lines.append(line)
            taken.append(entry)
        file = self._begun(b"".join(lines))
        if file is None:
            return
        with self._looking:
            for entry in taken:
                self._state.take(entry)
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._left.append(self._file)
            self._file, self._first = file, taken[0].number
            self._offset = self._carried = sum(map(len, lines))

    def _begun(self, data: bytes) -> int | None:
        """A file that begins with this, locked, in the place of the one that there is; None where it cannot be."""
        new, aside = self.path.with_name(f"{self.path.name}.new"), set_aside(self.path, self._first)
        try:
            if aside.exists() and not aside.samefile(self.path):
                return None
            new.unlink(missing_ok=True)
            file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            _put(file, data, 0)
            # By a second name, and not by another: at no moment is there no log under the first.
            if not aside.exists():
                aside.hardlink_to(self.path)
            new.replace(self.path)
            _on_disk(self.path.parent)
        except OSError:
            os.close(file)
            return None
        return file

    def _made(self, turns: Sequence[Sequence[Making]]) -> tuple[bytes, list[list[JostleError | None]]]:
        """What all of them write, one after the other; the state goes on as if it were written.

        What others read of it meanwhile is on the disk before whatever they write is.
        """
        lines: list[bytes] = []
        with self._looking:
            self._go_on()
            self._ahead = True
            if os.fstat(self._file).st_size > self._offset:
                os.ftruncate(self._file, self._offset)  # cut short by a crash: whoever wrote it is gone
            problems = [[self._take(make, lines) for make in turn] for turn in turns]
        return b"".join(lines), problems

    def _take(self, make: Making, lines: list[bytes]) -> JostleError | None:
        """Go on by what is made of the state, and add its lines; or say why nothing is made."""
        try:
            facts = [*make(self._state)]
        except JostleError as problem:
            return problem.anew()
        for by, fact in facts:
            line, entry = written(self._state.count + 1, self._state.head, _now(), by, fact)
            lines.append(line)
            self._state.take(entry)
        return None

    def _append(self, lines: bytes) -> None:
        start = self._offset
        try:
            _put(self._file, lines, start)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._file, start)
            raise
        with self._looking:
            self._offset, self._ahead = start + len(lines), False

    def _go_on(self) -> None:
        """Read the lines that other processes have written since, in this file and in those that came after it."""
        while not self._read_on():
            self._follow()

    def _read_on(self) -> bool:
        """Read the lines of this file; return whether it is the one that is written now."""
        try:
            there = self.path.stat()  # before the other: what is set aside by then has all its lines
        except OSError:
            raise self._gone() from None
        here = os.fstat(self._file)
        if here.st_size < self._offset:
            raise self._gone()
        while not self._ahead and here.st_size > self._offset:
            chunk = os.pread(self._file, MOST_LINE, self._offset)
            whole = chunk.rfind(b"\n") + 1
            if not whole:
                break  # it is being written, or was cut short
            for line in io.BytesIO(chunk[:whole]):
                entry = self._entry(line)
                self._state.take(entry)
                self._offset += len(line)
                if isinstance(entry.fact, Carried):
                    self._carried = self._offset
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def _entry(self, line: bytes) -> LogLine:
        """The next line; where nothing was read yet, the first of a file that goes on from one that was set aside."""
        state = self._state
        if not state.count and (first := FIRST.match(line)) and int(first[1]) > 1:
            entry = entry_of(line, int(first[1]) - 1, first[2].decode())
            if not isinstance(entry.fact, Carried):
                raise LOG.damaged(f"was changed before line {entry.number}: it does not say what those before come to")
            self._check_before(entry)
            self._first = entry.number
            return entry
        return entry_of(line, state.count, state.head)

    def _check_before(self, entry: LogLine) -> None:
        """Refuse a file that does not follow the one that was set aside last, where that is still here."""
        older = [file for file in files_of(self.path)[:-1] if file < set_aside(self.path, entry.number)]
        if not older:
            return
        *_, last = [b"", *older[-1].read_bytes().splitlines(keepends=True)]
        first = FIRST.match(last)
        whole = first is not None and entry_of(last, entry.number - 2, first[2].decode()).hash == entry.before
        if not whole:
            raise LOG.damaged(f"was changed before line {entry.number}: {older[-1].name} does not end where it did")

    def _follow(self) -> None:
        """Go on in the file that came after this one, if it does come after it."""
        aside = set_aside(self.path, self._state.count + 1)
        try:
            file = os.open(aside if aside.exists() else self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            raise self._gone() from None
        try:
            line = os.pread(file, MOST_LINE, 0).partition(b"\n")[0] + b"\n"
            entry = entry_of(line, self._state.count, self._state.head)
        except JostleError:
            entry = None
        if entry is None or not isinstance(entry.fact, Carried):
            os.close(file)
            raise self._gone()
        self._left.append(self._file)
        self._file, self._offset, self._first = file, 0, entry.number

    def _gone(self) -> VaultError:
        return VaultError(
            f"the audit log {self.path} is gone, or another file in its place",
            why="who may ask, and what they spent, is recorded in it",
            fix="put the file back, and serve again",
        )

    def _check_access(self) -> None:
        if os.fstat(self._file).st_mode & 0o007:
            raise VaultError(
                f"{self.path} may be read or written by everybody on this machine",
                why="whoever writes it lets anybody ask",
                fix=f"chmod o= {shown(str(self.path))}",
            )
