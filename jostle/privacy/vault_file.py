"""The SQLite file under a vault: made, opened, locked, checked, copied, and its failures explained.

The file is opened anew each time. A connection kept open would be lost to whatever happens to the file in between: it
would go on writing to a file that was deleted or replaced; it would share its state with a forked child; and on POSIX
systems it would lose its locks as soon as any code in the same process opened and closed the same file, to make a
backup say, after which another process could write at the same time.

What is changed is written to a log beside the file that says how to undo it (a rollback journal), and holds once the
log is gone. A write-ahead log would be told apart by memory that processes share: two machines with one disk share
none, and one would write over what the other had reserved.

The file is its owner's alone from its first byte: it is made with that mode, before SQLite opens it, and SQLite gives
its logs the mode of the file itself. So no umask counts, and there is no instant at which others could have opened it.

Only who made the file begins a vault in it. A file that was there and holds nothing may be a vault that lost all that
it said: it is refused, once it has been empty for longer than it takes to begin one.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from jostle.errors import JostleError, VaultError

APPLICATION = 0x4A53544C
"""Stands in the file's header, so that no other program's database is taken for a vault."""
FORMAT, HEADER, PLACE = b"SQLite format 3\0", 100, 68
"""How a database begins, how long its header is, and where in it the application's number stands."""
PATIENCE = 60.0
"""Seconds to wait for other processes' reservations."""
SMALLEST = 512
"""Bytes of the smallest page. SQLite takes anything shorter for an empty database, and would write over it."""
MOST_LENGTH = 1 << 24
"""Bytes of the longest text that is read."""
BEGINNING = 5.0
"""Seconds that a file may be empty while whoever made it begins a vault in it."""
PAUSE = 0.01
"""Seconds between attempts at what SQLite does not wait for by itself."""
LOGS = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database while it is used."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that only reads, and sees the file as it was at one moment."""
    with _explained(path):
        if not path.exists():
            raise missing(path)
        _check_content(path, patience=BEGINNING)
        _check_logs(path)
        # Not in mode "ro": such a connection makes logs, and cannot remove them.
        connection = _connected(path)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            _check_kind(connection, path)
            _check_access(path)
            yield connection
        finally:
            connection.close()


@contextmanager
def writing(path: Path, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """Give a connection that holds the file's write lock; commit durably at the end, or change nothing.

    With *create* a file is made if there is none; its vault is begun then by whoever asked.
    """
    with _explained(path):
        if not create and not path.exists():
            raise gone(path)
        with _made(path) if create else nullcontext(False) as new:  # noqa: FBT003 - whether a file was made
            if not new:
                _check_content(path, patience=BEGINNING if create else 0)
                _check_logs(path)
            connection = _connected(path)
            try:
                _check_names(path)
                if tables(connection):
                    _check_kind(connection, path)
                _check_access(path)
                connection.execute("PRAGMA synchronous = EXTRA")  # that the journal is gone is on disk as well
                connection.execute("PRAGMA fullfsync = ON")
                _patiently(connection, "PRAGMA journal_mode = DELETE")
                _patiently(connection, "BEGIN IMMEDIATE")
                if new:
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                elif not tables(connection):  # who made it did not get further
                    raise emptied(path)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # undoes what was not committed


def copied(path: Path, target: Path) -> Path:
    """Copy a vault as it is at one moment, into a file that there is not yet; return its path.

    The copy is one change to that file: one that was interrupted leaves nothing, or a log by which it is undone.
    """
    with reading(path) as source, _explained(target), _made(target) as new:
        if not new:
            raise VaultError(f"there is a file {target} already", fix="name a new file for the copy")
        with closing(_connected(target)) as copy:
            source.backup(copy)
    return target


def is_vault(path: Path) -> bool:
    """Whether a file is a vault, whatever is in it; for a process that has none open, as that would lose its locks."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
    except OSError:
        return False
    return head.startswith(FORMAT) and head[PLACE : PLACE + 4] == APPLICATION.to_bytes(4, "big")


def tables(connection: sqlite3.Connection) -> int:
    """How many tables and indices the file holds: none if it is new."""
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(count)


def gone(path: Path) -> VaultError:
    """The error for a vault that is not where it was."""
    return VaultError(
        f"{path} is gone, or another file in its place",
        why="what was spent is recorded in it, so nothing more is released without it",
        fix="put the file back",
    )


def emptied(path: Path) -> VaultError:
    """The error for a file that was there and holds nothing."""
    return VaultError(
        f"the vault {path} is empty",
        why="either it lost what it said was spent, or whoever made it was stopped before anything was",
        fix="put a copy of it back; only if nothing was spent by it yet, remove it, and a new one is made: "
        f"rm {shlex.quote(str(path))}",
    )


def missing(path: Path) -> VaultError:
    """The error for a vault that was never there."""
    return VaultError(
        f"there is no vault {path}", fix=f"check the path, or jostle vault create {shlex.quote(str(path))} --epsilon 1"
    )


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LENGTH)
    return connection


@contextmanager
def _made(path: Path) -> Iterator[bool]:
    """Make a file as its owner's alone if there is none, and say whether; take it away if nothing came to be in it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    except BaseException:
        # Whoever has it open meanwhile finds nothing in it, and begins nothing.
        if path.exists() and not path.stat().st_size:
            path.unlink()
        raise


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


def _check_content(path: Path, *, patience: float = 0) -> None:
    """Refuse what is no file, is too short or empty, after waiting for whoever made it to begin a vault in it."""
    # By its size: opening and closing the file here would drop the locks that other threads have on it.
    deadline = time.monotonic() + patience
    while path.is_file() and not path.stat().st_size:
        if time.monotonic() >= deadline:
            raise emptied(path)
        time.sleep(PAUSE)
    if path.is_file() and path.stat().st_size < SMALLEST:
        raise VaultError(f"{path} is too short a file to be a vault", fix="name another file")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise VaultError(
            f"{path} is a device or a pipe, not a file",
            why="what is spent is remembered in a vault",
            fix=f"name a file: {path.with_name('survey.vault')}",
        )


def _check_access(path: Path) -> None:
    """Refuse a file that everybody on this machine may read or write; a group that shares it was given it."""
    if os.name != "posix":
        return
    mode = path.stat().st_mode
    if mode & stat.S_IRWXO and stat.S_ISREG(mode):
        raise VaultError(
            f"{path} may be read or written by everybody on this machine",
            why="it says what was asked of private rows, and whoever writes it gives budget back",
            fix=f"chmod o= {shlex.quote(str(path))}; where files have no modes, keep the vault elsewhere",
        )


def _check_logs(path: Path) -> None:
    """Refuse a log that SQLite would go by, and that it did not make: it gives each the mode and the owner of the file.

    Before anything is read: SQLite plays a log back first, whoever put it there.
    """
    if os.name != "posix" or not path.is_file():
        return
    own = path.stat()
    for file in (path.with_name(path.name + ending) for ending in LOGS):
        try:
            log = file.stat()
        except FileNotFoundError:
            continue
        more = log.st_mode & ~own.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        foreign = not own.st_mode & stat.S_IWGRP and log.st_uid not in {own.st_uid, 0}
        if stat.S_ISREG(log.st_mode) and (more or foreign):
            raise VaultError(
                f"{file} is not of the vault's: it has another owner, or others may read or write it",
                why="such a log says what the vault was before, and whoever puts one there gives budget back",
                fix=f"see who made it; then rm {shlex.quote(str(file))}, and keep the vault in a folder of its owner's",
            )


def _check_names(path: Path) -> None:
    if path.stat().st_nlink > 1:
        raise VaultError(
            f"{path} has a second name (a hard link)",
            why="its log is named after it: one that was killed under one name would not be undone under the other",
            fix="keep one of the two names",
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except JostleError:
        raise
    except (sqlite3.Error, OSError, ValueError, OverflowError, MemoryError) as mistake:
        reason = mistake.strerror if isinstance(mistake, OSError) else "it is damaged"
        fix = "see that the file is a vault, that it may be written, and that the disk is not full"
        # What SQLite says of a file that it cannot make sense of quotes it.
        code = getattr(mistake, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            reason, fix = "another process writes to it", "wait until that one is done, or end it"
        elif code == sqlite3.SQLITE_CANTOPEN and path.is_dir():
            reason, fix = "it is a folder", f"name a file in it: {path / 'survey.vault'}"
        elif code not in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT}:
            reason = str(mistake)
        raise VaultError(
            f"the vault {path} cannot be used: {reason}", why="nothing is released before it is recorded", fix=fix
        ) from None
