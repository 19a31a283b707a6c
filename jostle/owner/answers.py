"""Answers that were given, kept in a file: so that a lost reply is fetched again, and what was released is read again.

An answer is on the disk before it is sent. It is kept by the idempotency key of its request, with what that key is
bound to: the token, the session and a hash of the request. Any other use of the key is unknown. Answers of a session go
when it ends, and whoever comes with a key of an ended session is told that the session is unknown: so nothing is drawn
twice for one charge.

The book of answers holds what was released to questions that were put directly, by what was asked of which rows.
Nothing here is computed from rows but what was released.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import astuple, frozen

from jostle.errors import VaultError
from jostle.owner.together import Together

__all__ = ["Answers", "Derived", "Given", "SessionLine"]

PATIENCE = 60.0
"""Seconds to wait for whoever copies the file, say."""
TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    session TEXT PRIMARY KEY, token TEXT NOT NULL, table_name TEXT NOT NULL, share INTEGER NOT NULL, root TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, session TEXT NOT NULL, bound TEXT NOT NULL, reply BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS of_session ON answers (session);
CREATE TABLE IF NOT EXISTS book (entry TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS derived (
    session TEXT NOT NULL, above TEXT NOT NULL, public TEXT NOT NULL, question TEXT NOT NULL, details TEXT NOT NULL,
    handles TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS derived_in ON derived (session);
CREATE TABLE IF NOT EXISTS salt (salt BLOB NOT NULL)
"""


@frozen
class SessionLine:
    """A session as the file has it: for whom, and on what."""

    session: str
    token: str
    """The handle of the token that began it."""
    table: str
    share: int
    root: str
    """The handle of the whole table."""


@frozen
class Derived:
    """Handles of rows that public facts make of those of another: they are made again when the server starts anew."""

    session: str
    above: str
    """The handle that was asked."""
    public: str
    """The digest of its schema: with another one, the same words would be about other rows."""
    question: str
    details: str
    """What it was asked with, as JSON."""
    handles: tuple[str, ...]


@frozen
class Given:
    """An answer that is about to be given."""

    key: str
    session: str
    bound: str
    reply: bytes
    entry: str | None = None
    """Where it stands in the book, if it does."""
    answer: bytes = b""
    """What the book has of it."""
    refused: bool = False
    """Whether it is an error."""


class Answers:
    """The file of answers. Safe to use from many threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection, self._looking = (
                sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=PATIENCE) for _ in range(2)
            )
            self._lock, self._look = threading.RLock(), threading.Lock()
            with self._lock:
                self._connection.execute("PRAGMA journal_mode = WAL")
                # A reply that was sent is remembered whatever happens to the machine: else it would be drawn again.
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.executescript(TABLES)
                self._connection.execute(
                    "INSERT INTO salt SELECT ? WHERE NOT EXISTS (SELECT * FROM salt)", (secrets.token_bytes(32),)
                )
                ((self.salt,),) = self._connection.execute("SELECT salt FROM salt")
        except (sqlite3.Error, OSError) as mistake:
            raise self._failed(mistake) from None
        self.put = Together(self._put)
        """Keep an answer, so that it is on the disk."""
        self.derive = Together(self._derive)
        """Keep handles, so that they are on the disk."""

    def session(self, session: str) -> SessionLine | None:
        """A session that has not ended."""
        for line in self._rows(
            "SELECT session, token, table_name, share, root FROM sessions WHERE session = ?", session
        ):
            return SessionLine(*line)
        return None

    def begin(self, line: SessionLine) -> None:
        """Keep a session."""
        self._write("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", *astuple(line))

    def end(self, session: str) -> None:
        """Let a session go, and first of all its answers' keys."""
        with self._lock:
            self._write("DELETE FROM sessions WHERE session = ?", session)
            self._write("DELETE FROM answers WHERE session = ?", session)
            self._write("DELETE FROM derived WHERE session = ?", session)

    def of_token(self, token: str) -> tuple[str, ...]:
        """The sessions of a token, the oldest first."""
        return tuple(
            session for (session,) in self._rows("SELECT session FROM sessions WHERE token = ? ORDER BY rowid", token)
        )

    def derived(self, session: str) -> list[Derived]:
        """The handles of a session that are made again, those above others first."""
        rows = self._rows(
            "SELECT session, above, public, question, details, handles FROM derived WHERE session = ? ORDER BY rowid",
            session,
        )
        return [
            Derived(held, above, public, question, details, tuple(handles.split()))
            for held, above, public, question, details, handles in rows
        ]

    def reply(self, key: str) -> tuple[str, bytes] | None:
        """What a key is bound to, and its reply; None for one that was never answered."""
        for bound, reply in self._rows("SELECT bound, reply FROM answers WHERE key = ?", key):
            return bound, reply
        return None

    def read(self, entry: str) -> bytes | None:
        """What the book has under an entry."""
        for (answer,) in self._rows("SELECT answer FROM book WHERE entry = ?", entry):
            kept: bytes = answer
            return kept
        return None

    def close(self) -> None:
        """Let the file go."""
        with self._lock:
            self._connection.close()
        with self._look:
            self._looking.close()

    def _put(self, given: Sequence[Given]) -> Sequence[None]:
        with self._changing():
            self._add(
                "INSERT INTO answers", [(answer.key, answer.session, answer.bound, answer.reply) for answer in given]
            )
            entries = [(answer.entry, answer.answer) for answer in given if answer.entry is not None]
            self._add("INSERT OR REPLACE INTO book", entries)
        return [None] * len(given)

    def _derive(self, given: Sequence[Derived]) -> Sequence[None]:
        with self._changing():
            rows = [(*astuple(derived, recurse=False)[:-1], " ".join(derived.handles)) for derived in given]
            self._add("INSERT INTO derived", rows)
        return [None] * len(given)

    def _add(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Write rows by one statement: at each, other threads come between."""
        if rows:
            marks = f"({', '.join('?' * len(rows[0]))})"
            values = [cell for row in rows for cell in row]
            self._connection.execute(f"{statement} VALUES {', '.join([marks] * len(rows))}", values)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Make what is changed meanwhile one change, which is on the disk at the end."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._connection.execute("COMMIT")
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as mistake:
                raise self._failed(mistake) from None

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What is read; nobody waits for those who write."""
        with self._look:
            try:
                return self._looking.execute(statement, values).fetchall()
            except sqlite3.Error as mistake:
                raise self._failed(mistake) from None

    def _write(self, statement: str, *values: object) -> None:
        with self._lock:
            try:
                self._connection.execute(statement, values)
            except sqlite3.Error as mistake:
                raise self._failed(mistake) from None

    def _failed(self, mistake: Exception) -> VaultError:
        return VaultError(
            f"the file of answers {self.path} cannot be used: {getattr(mistake, 'strerror', None) or mistake}",
            why="nothing is sent before it is kept, so that a lost reply can be fetched again",
            fix="see that it may be written, and that the disk is not full",
        )
