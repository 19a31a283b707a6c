"""Trace records: what a run did, line by line, holding nothing that was not paid for.

A trace of private data can be published: every field is a public fact (the schema, a budget, a name in the program) or
a released value. Times are not recorded, since how long a tally takes depends on rows. (Where several threads ask at
once, so may the order of their lines.)
"""

from __future__ import annotations

import errno
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, get_args

import numpy as np
from attrs import field, fields, frozen
from numpy.typing import NDArray

from jostle.errors import TableError, shown
from jostle.files.kinds import FileKind
from jostle.given import given_flag, given_path
from jostle.tables.fields import TYPES, listed, number, of_several, text, truth, whole

VERSION = 1
TRACE = FileKind("trace", TableError, "is it a file of --trace?", version=VERSION, most_bytes=1 << 30)
MOST_VALUES = 64
"""A release of more numbers is recorded by its size and its first ones."""
START = b'{"version"'
"""How every record begins."""


def _integers(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(map(int, values))


@frozen
class Opened:
    """A table was opened, with this promise."""

    neighbours: str
    private: bool
    promise: Fraction | None
    vault: str | None
    columns: tuple[str, ...]
    public_rows: int | None
    rows_per_person: int | None = None
    """The most rows of a person, where the promise is about persons; None where it is about rows."""


@frozen
class Charged:
    """A budget was spent, before the answer was drawn."""

    site: str
    mechanism: str
    epsilon: Fraction
    spent: Fraction
    left: Fraction | None


@frozen
class Released:
    """An answer left the probe."""

    site: str
    mechanism: str
    scale: Fraction | None
    """Of the noise; None for a pick."""
    size: int
    values: tuple[int, ...] = field(converter=_integers)
    unit: Fraction | None = None
    """What scale and values are whole multiples of; None for 1."""


@frozen
class Stated:
    """What released numbers come to, in words and units of the question: made of them and of public facts alone.

    It stands after all that was released for it, at its site or below.
    """

    site: str = field(converter=text)
    answer: str = field(converter=text)
    whole: bool = field(default=True, converter=truth)
    """Whether people need not see the numbers as they were released: of a model, they may want to."""


@frozen
class Refused:
    """A request was refused, before data were touched."""

    site: str
    reason: str


@frozen
class Trusted:
    """A program uses an Option that did not come with Jostle: its code is trusted as the program is."""

    option: str
    file: str
    digest: str
    """Of the file's text, by which it can be told whether it was this one."""


def _paths(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(text, listed(given)))


@frozen
class NamedPublic:
    """A program may read public files: where they are, how many databases they hold, and a hash of them."""

    paths: tuple[str, ...] = field(converter=_paths)
    databases: int
    digest: str


@frozen
class ReadPublic:
    """A program read public files: what they are called in it, how many databases they hold, and a hash of them."""

    path: str
    databases: int
    digest: str


Span = tuple[str, float, float]


def spans(values: Iterable[Iterable[Any]]) -> tuple[Span, ...]:
    """Read names, each with two finite numbers."""
    if isinstance(values, tuple) and not values:
        return ()
    return tuple([(text(name), number(first), number(second)) for name, first, second in of_several(values, 3)])


def counts(values: Iterable[Iterable[Any]]) -> tuple[tuple[str, int], ...]:
    """Read names, each with a whole number."""
    return tuple([(text(name), whole(count)) for name, count in of_several(values, 2)])


@frozen
class Chosen:
    """Alternatives were chosen between, at one place or, on one level of trees say, at many places at once.

    What was seen was public or released before, and so is all that is computed from it.
    """

    site: str = field(converter=text)
    label: str = field(converter=text)
    seen: tuple[Span, ...] = field(converter=spans)
    """Name, and the least and the most of what the places saw; both are the same at a single place."""
    predicted: tuple[Span, ...] = field(converter=spans)
    """Alternative, expected loss and its spread, as means over the places; empty if nothing was predicted."""
    taken: tuple[tuple[str, int], ...] = field(converter=counts)
    """Alternative, and at how many places it was taken; those not taken are left out."""
    why: str = field(converter=text)
    usual: tuple[Span, ...] = field(default=(), converter=spans)
    """Of what was seen, where that is known: a third of the databases learned from is below the one number, a third
    above the other."""

    @classmethod
    def one(
        cls,
        site: str,
        label: str,
        taken: str,
        *,
        seen: Mapping[str, float] | None = None,
        predicted: Mapping[str, tuple[float, float]] | None = None,
        why: str = "",
        usual: Mapping[str, tuple[float, float]] | None = None,
    ) -> Chosen:
        """The record of a choice at one place."""
        return cls(
            site,
            label,
            tuple([(name, number, number) for name, number in (seen or {}).items()]),
            tuple([(name, loss, spread) for name, (loss, spread) in predicted.items()]) if predicted else (),
            ((taken, 1),),
            why,
            tuple([(name, low, high) for name, (low, high) in usual.items()]) if usual else (),
        )

    @property
    def places(self) -> int:
        """Number of places at which something was chosen."""
        return sum(count for _, count in self.taken)


RECORD_TYPES: Mapping[Callable[..., object], type | None] = MappingProxyType({**TYPES, spans: None, counts: None})
"""What reads the fields of records that whoever asks may leave."""

Record = Opened | NamedPublic | ReadPublic | Charged | Released | Stated | Refused | Chosen | Trusted
KINDS: dict[str, type[Record]] = {kind.__name__.lower(): kind for kind in get_args(Record)}


def shortened(values: NDArray[np.int64]) -> tuple[int, ...]:
    """The first of the released values, as many as a record holds."""
    return tuple(map(int, values.ravel()[:MOST_VALUES].tolist()))


class Trace:
    """The records of a run, in memory and, where a file is named, on disk line by line as they happen.

    A *whole* trace keeps all numbers of a release in memory, where others keep the first ones. The file is made with
    the first record: what is refused before anything happens leaves none. Where it cannot be written any more, on a
    full disk say, the answer at hand is still given, since it is paid for; the next question is refused, before it
    costs anything (see `check`). All records are still in memory.

    Args:
        path: a file for its lines, which is made with the first record.
        whole: whether all numbers of a release are kept.
        kept: whether records are kept in memory; a server, which shows them to nobody, would fill it.

    Raises:
        TableError: the file cannot be written, or is there already and no trace.
    """

    def __init__(self, path: str | Path | None = None, *, whole: bool = False, kept: bool = True) -> None:
        self._kept = given_flag(kept, "kept", error=TableError)
        self._whole: dict[int, NDArray[np.int64]] | None = {} if given_flag(whole, "whole", error=TableError) else None
        self._records: list[Record] = []
        self._lock = threading.Lock()
        self._path = None if path is None else given_path(path, TableError)
        self.failure: str | None = None
        """Why nothing is recorded any more."""
        self._file: int | None = None
        if self._path is not None:
            _check_place(self._path)

    @property
    def records(self) -> tuple[Record, ...]:
        """The records so far."""
        return tuple(self._records)

    @property
    def count(self) -> int:
        """Number of records so far."""
        return len(self._records)

    def released(self, place: int) -> tuple[int, ...]:
        """The numbers of the release with this place among the records: all of them, in a whole trace.

        Raises:
            TableError: there is no such record.
        """
        count = len(self._records)
        if not isinstance(place, int | np.integer) or not -count <= place < count:
            raise TableError(f"the trace has no record {shown(place)}", fix=f"a place among its {count:,} records")
        record = self._records[place]
        kept = None if self._whole is None else self._whole.get(place)
        if kept is not None:
            return tuple(kept.tolist())
        return record.values if isinstance(record, Released) else ()

    def add(self, record: Record, released: NDArray[np.int64] | None = None) -> None:
        """Append a record; of a release, perhaps with all that was released, which a whole trace keeps."""
        line = b"" if self._path is None else f"{to_json(record)}\n".encode()
        with self._lock:
            if self._whole is not None and released is not None and released.size > MOST_VALUES:
                self._whole[len(self._records)] = released.ravel().copy()
            if self._kept:
                self._records.append(record)
            if self._path is None or self.failure is not None:
                return
            try:
                if self._file is None:
                    self._file = _open(self._path)
                    self._closing = weakref.finalize(self, os.close, self._file)
                # In one piece, so that processes that write to one trace do not mix their lines.
                if os.write(self._file, line) < len(line):
                    self.failure = "there is no room left for it"
            except TableError as mistake:
                self.failure = mistake.title
            except OSError as mistake:
                self.failure = mistake.strerror or "it was lost"
            except ValueError:  # a null byte in it
                self.failure = "there is no such name"

    def check(self) -> None:
        """Refuse to go on where a record could not be written."""
        if self.failure is not None:
            raise TableError(
                f"cannot write the trace {self._path}: {self.failure}",
                why="every charge is to be found in it",
                fix="make room, and open the table again with another trace file",
            )

    def close(self) -> None:
        """Close the file, if there is one; nothing is recorded afterwards."""
        with self._lock:
            if self._path is not None and self.failure is None:
                self.failure = "it was closed"
            if self._file is not None:
                self._closing()
                self._file = None

    markup: ClassVar[Callable[[Sequence[Record]], str] | None] = None
    """How notebooks show the records: what makes pages puts it here."""
    text: ClassVar[Callable[[Sequence[Record]], str] | None] = None
    """How the records are printed: what renders them puts it here."""

    def __str__(self) -> str:
        return repr(self) if Trace.text is None else Trace.text(self.records)

    def __repr__(self) -> str:
        return f"<Trace of {self.count:,} records>"

    def _repr_html_(self) -> str | None:
        return None if Trace.markup is None else Trace.markup(self.records)

    def __reduce__(self) -> NoReturn:
        raise TableError("a trace is not copied or pickled", fix="read its file with read_trace, or take its records")


def _check_place(path: Path) -> None:
    """Refuse a path where no trace can be written, as far as that can be seen without writing one."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if path.exists():
            _cut_short(path)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            reason = "it may not be written to" if path.parent.exists() else f"there is no folder {path.parent}"
            raise PermissionError(errno.EACCES, reason)
    except OSError as mistake:
        raise TableError(
            f"cannot write the trace {path}: {mistake.strerror}", fix="name a file that may be written"
        ) from None


def _open(path: Path) -> int:
    """A descriptor that appends to a trace."""
    cut_short = _cut_short(path)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    if cut_short and os.fstat(file).st_size < len(START):
        os.ftruncate(file, 0)
    elif cut_short:
        os.write(file, b"\n")  # the next line begins on one of its own
    return file


def _cut_short(path: Path) -> bool:
    """Refuse a file that is no trace; return whether its last line was cut short by a crash."""
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        first = file.read(len(START))
        file.seek(-1, os.SEEK_END)
        last = file.read()
    if not START.startswith(first):
        raise TableError(f"{path} is there already, and no trace", fix="name another file")
    return last != b"\n"


def to_json(record: Record) -> str:
    """A record as one line of JSON."""
    kind = type(record)
    facts = {attribute.name: getattr(record, attribute.name) for attribute in fields(kind)}
    # Amounts are written as texts; everything else in a record is a number, a text, or a list of such.
    return json.dumps({"version": VERSION, "kind": kind.__name__.lower(), **facts}, default=_amount_text)


def _amount_text(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(f"a record holds {type(value).__name__}")


def from_json(line: str) -> Record:
    """The record that a line of JSON stands for."""
    return TRACE.line(KINDS, line)


def read_trace(path: str | Path) -> tuple[Record, ...]:
    """The records in a trace file.

    A line that a crash cut short is left out: the last one, or one that another opening of a table follows. So are
    empty lines, which are left where two processes opened the file at once.
    """
    *lines, _ = TRACE.at(path).text().split("\n")
    parsed = [(index, _parsed(line)) for index, line in enumerate(lines, start=1) if line]
    for (place, record), (_, following) in zip(parsed, [*parsed[1:], (0, None)], strict=False):
        if isinstance(record, TableError) and not isinstance(following, Opened):
            raise TableError(f"line {place} of {path} is no trace record", why=record.title, fix=TRACE.advice)
    return tuple(record for _, record in parsed if not isinstance(record, TableError))


def _parsed(line: str) -> Record | TableError:
    """A line's record, or why it has none."""
    try:
        return from_json(line)
    except TableError as mistake:
        return mistake
