"""Logs that SQLite finds beside a vault, and whether they are of the last change to it.

A log says how to undo a change that was not finished, and whoever opens the file next undoes it by that. SQLite knows a
log by its name alone: one that was left or copied there from another time would undo all that was spent since. So it is
compared with the file first. A file counts its changes, and a log has the count from before the change that it is of.
"""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from attrs import frozen

from jostle.errors import VaultError

__all__ = ["check_logs"]

BEGINS = bytes.fromhex("d9d505f920a163d7")
HEAD = 28
"""Bytes of a log's head: what it begins with, and five numbers."""
COUNT_AT = 24
"""Where a file has the number of its changes."""
ROLLS_BACK = 1
"""Stands in the file where it is written with a rollback journal, at byte 18; 2 stands for a write-ahead log."""


@frozen
class _Log:
    """What a rollback journal says."""

    head: bytes
    pages: int
    """How many pages the file had before."""
    page_bytes: int
    count: int | None
    """The number of changes before; None if it is not said."""

    @classmethod
    def read(cls, path: Path) -> _Log | None:
        """The journal in a file; None where there is none that would be used."""
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        if len(text) < HEAD or not text.startswith(BEGINS):
            return None
        records, _, pages, sector, page_bytes = (int.from_bytes(text[at : at + 4], "big") for at in range(8, HEAD, 4))
        count = None if pages else 0  # of a file that was empty, nothing is restored
        for place in range(records):
            record = text[sector + place * (page_bytes + 8) :][: page_bytes + 8]
            if len(record) <= COUNT_AT + 8:
                break
            if record.startswith(b"\0\0\0\1"):
                count = int.from_bytes(record[4 + COUNT_AT : 8 + COUNT_AT], "big")
        return cls(text[:HEAD], pages, page_bytes, count)

    def is_of(self, content: bytes) -> bool:
        """Whether it is of the last change to a file, which may have been written in part, or not at all."""
        if self.count is None:  # nothing was written by it yet
            return len(content) == self.pages * self.page_bytes
        return int.from_bytes(content[COUNT_AT : COUNT_AT + 4], "big") - self.count in {0, 1}


def check_logs(path: Path) -> None:
    """Refuse a log that is of another change than the last one to the vault at *path*, before anything goes by it."""
    journal, ahead = path.with_name(path.name + "-journal"), path.with_name(path.name + "-wal")
    while (log := _Log.read(journal)) is not None:
        content = _content(path)
        if not content or log.is_of(content):
            break
        again = _Log.read(journal)
        if again is not None and again.head == log.head:  # nobody is writing: each change has a log of its own
            raise _stray(path, journal)
    if _is_filled(ahead) and _content(path)[18:19] == bytes([ROLLS_BACK]) and _is_filled(ahead):
        raise _stray(path, ahead)


def _is_filled(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _content(path: Path) -> bytes:
    """The file's bytes as they are, no log being looked at; none if they are no database.

    SQLite reads them: whoever opens and closes the file otherwise drops the locks that other threads have on it.
    """
    uri = f"file:{quote(str(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        try:
            return connection.serialize()
        except (sqlite3.Error, AttributeError):  # a change that was half written, or a SQLite that gives no bytes
            return b""


def _stray(path: Path, log: Path) -> VaultError:
    return VaultError(
        f"{log} is not of the last change to {path}",
        why="it is from another time or another vault, and by it all that was spent since would be forgotten",
        fix=f"take it away, and leave the vault as it is: mv {shlex.quote(str(log))} elsewhere",
    )
