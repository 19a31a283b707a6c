"""The SQLite file under a vault: opened, locked, checked, and its failures explained.

The file is opened anew each time. A connection kept open would be lost to whatever happens to the file in between: it
would go on writing to a file that was deleted or replaced; it would share its state with a forked child; and on POSIX
systems it would lose its locks as soon as any code in the same process opened and closed the same file, to make a
backup say, after which another process could remove the write-ahead log under its feet.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jostle.errors import VaultError

__all__ = ["gone", "reading", "tables", "writing"]

APPLICATION = 0x4A53544C
"""Stands in the file's header, so that no other program's database is taken for a vault."""
PATIENCE = 60.0
"""Seconds to wait for other processes' reservations."""
SMALLEST = 512
"""Bytes of the smallest page. SQLite takes anything shorter for an empty database, and would write over it."""
PAUSE = 0.01
"""Seconds between attempts at what SQLite does not wait for by itself."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that only reads."""
    with _explained(path):
        if not path.exists():
            raise VaultError(f"there is no vault {path}", fix="check the path")
        connection = _connected(path, "ro")
        try:
            _check_kind(connection, path)
            yield connection
        finally:
            connection.close()


@contextmanager
def writing(path: Path, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """Give a connection that holds the file's write lock; commit durably at the end, or change nothing."""
    with _explained(path):
        if not create and not path.exists():
            raise gone(path)
        _check_size(path)
        connection = _connected(path, "rwc" if create else "rw")
        try:
            _check_names(path)
            if tables(connection):
                _check_kind(connection, path)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            if create:
                _patiently(connection, "PRAGMA journal_mode = WAL")
            _patiently(connection, "BEGIN IMMEDIATE")
            if create and not tables(connection):
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()  # undoes what was not committed


def tables(connection: sqlite3.Connection) -> int:
    """Return how many tables and indices the file holds: none if it is new."""
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(count)


def gone(path: Path) -> VaultError:
    """Return the error for a vault that is not where it was."""
    return VaultError(
        f"{path} is gone, or another file in its place",
        why="what was spent is recorded in it, so nothing more is released without it",
        fix="put the file back",
    )


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    quoted = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{quoted}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None)


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Execute what may find the file busy in ways that SQLite's own waiting does not cover."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as mistake:
            if mistake.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)
        else:
            return


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    if kind != APPLICATION:
        raise VaultError(f"{path} is a database, but no vault", fix="name another file")


def _check_size(path: Path) -> None:
    # By its size: opening and closing the file here would drop the locks that other threads have on it.
    if path.exists() and 0 < path.stat().st_size < SMALLEST:
        raise VaultError(f"{path} is too short a file to be a vault", fix="name another file")


def _check_names(path: Path) -> None:
    if path.stat().st_nlink > 1:
        raise VaultError(
            f"{path} has a second name (a hard link)",
            why="opened by both at once, its write-ahead log would fall in two, and budget be spent twice",
            fix="keep one of the two names",
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except VaultError:
        raise
    except (sqlite3.Error, OSError) as mistake:
        raise VaultError(
            f"the vault {path} cannot be used: {mistake}",
            why="nothing is released before it is recorded",
            fix="see that the file is a vault, that it may be written, and that the disk is not full",
        ) from None
