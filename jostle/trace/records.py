"""Trace records: what a run did, line by line, holding nothing that was not paid for.

A trace of private data can be published: every field is a public fact (the schema, a budget, a name in the program) or a
released value. Times are not recorded, since how long a tally takes depends on rows.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from attrs import asdict, field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError

__all__ = ["Charged", "Opened", "Record", "Refused", "Released", "Trace", "read_trace"]

VERSION = 1
MOST_VALUES = 64
"""A release of more numbers is recorded by its size and its first ones."""


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


@frozen
class Refused:
    """A request was refused, before data were touched."""

    site: str
    reason: str


Record = Opened | Charged | Released | Refused
KINDS: dict[str, type[Record]] = {kind.__name__.lower(): kind for kind in (Opened, Charged, Released, Refused)}


def shortened(values: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the first of the released values, as many as a record holds."""
    return tuple(int(value) for value in values.ravel()[:MOST_VALUES])


class Trace:
    """The records of a run, in memory and, where a file is named, on disk line by line as they happen."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._records: list[Record] = []
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        if path is not None:
            try:
                self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - open as long as the trace
            except OSError as mistake:
                raise TableError(
                    f"cannot write the trace {path}: {mistake.strerror}",
                    fix="name a file that may be written",
                ) from None

    @property
    def records(self) -> tuple[Record, ...]:
        """Return the records so far."""
        return tuple(self._records)

    def add(self, record: Record) -> None:
        """Append a record."""
        with self._lock:
            self._records.append(record)
            if self._file is not None:
                self._file.write(to_json(record) + "\n")
                self._file.flush()

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()


def to_json(record: Record) -> str:
    """Return a record as one line of JSON."""
    facts = asdict(record, value_serializer=lambda _, __, value: str(value) if isinstance(value, Fraction) else value)
    return json.dumps({"version": VERSION, "kind": type(record).__name__.lower(), **facts})


def from_json(line: str) -> Record:
    """Return the record that a line of JSON stands for."""
    facts: dict[str, Any] = json.loads(line)
    if facts.pop("version", None) != VERSION or (kind := facts.pop("kind", None)) not in KINDS:
        raise TableError("a line is no trace record of this version")
    for name in ("promise", "epsilon", "spent", "left", "scale"):
        if facts.get(name) is not None:
            facts[name] = Fraction(facts[name])
    if "columns" in facts:
        facts["columns"] = tuple(facts["columns"])
    return KINDS[kind](**facts)


def read_trace(path: str | Path) -> tuple[Record, ...]:
    """Return the records in a trace file; a last line cut short by a crash is left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise TableError(f"cannot read the trace {path}", fix="check the path") from None
    return tuple(_parse(lines[:-1], path))


def _parse(lines: Iterable[str], path: str | Path) -> Iterable[Record]:
    for number, line in enumerate(lines, start=1):
        try:
            yield from_json(line)
        except (ValueError, TypeError, KeyError):
            raise TableError(f"line {number} of {path} is no trace record", fix="is it a file of --trace?") from None
