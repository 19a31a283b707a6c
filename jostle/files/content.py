"""The bytes of a file, read once: what is compared, hashed and parsed is then the same, whatever becomes of it."""

from __future__ import annotations

import hashlib
import os
import stat
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from jostle.errors import TableError

DIGEST_BYTES = 16
MOST_BYTES = 1 << 33
"""More are not read at once: a file may be all holes, and longer than any disk."""


@frozen
class FileMark:
    """By what a file is known again: the number of its bytes, and their hash."""

    size: int
    digest: str


@frozen
class FileState:
    """By what a file that is read piece by piece is seen to have been written since, on any machine that has it."""

    size: int
    moment: int
    """Of the last change, in microseconds: not all file systems tell less."""


@frozen(eq=False, repr=False, slots=False)  # without slots, its mark is worked out once
class FileContent:
    """A file's bytes, and the path they were read from, which says how to read them."""

    path: Path
    data: bytes

    @cached_property
    def mark(self) -> FileMark:
        """The mark that the file is known again by."""
        digest = hashlib.blake2b(self.data, digest_size=DIGEST_BYTES).hexdigest()
        return FileMark(len(self.data), digest)


Place = Path | FileContent
"""Where rows are read from: a file, or what was read of one."""


def path_of(place: Place) -> Path:
    """The path that names a place in messages, and whose ending says how to read it."""
    return place if isinstance(place, Path) else place.path


def real_path(path: Path) -> Path:
    """The path that a path leads to, links followed; one that leads nowhere is only made absolute."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # it has a null byte
        return path.absolute()


def is_there(path: Path) -> bool:
    """Whether there is anything at a path, as far as can be seen."""
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def state_of(path: Path) -> FileState | None:
    """What a file is like now, None where nothing can be seen."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return FileState(found.st_size, found.st_mtime_ns // 1000)


def is_regular(path: Path) -> bool:
    """Whether there is a file that ends: no folder, no pipe, no device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):  # a path with a null byte is none
        return False


def read_content(path: Path, most: int = MOST_BYTES) -> FileContent:
    """A regular file's bytes; anything else is refused, and a pipe that nobody writes to is not waited for."""
    try:
        # What was a file a moment ago may be a pipe by now: opened so, it does not hold up whoever opens it.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(number, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise TableError(f"{str(path)!r} is no file", fix="name a file, rather than a folder or a device")
            data = _bytes(file, most)
    except FileNotFoundError:
        raise TableError(f"there is no file {path}", fix="check the path") from None
    except PermissionError:
        raise TableError(f"the file {path} may not be read", fix=f"chmod u+r {path}") from None
    except (OSError, ValueError) as mistake:
        reason = mistake.strerror if isinstance(mistake, OSError) else "it is no path"
        raise TableError(f"the file {str(path)!r} cannot be read: {reason}", fix="check the path") from None
    if len(data) > most:
        raise TableError(f"the file {path} has more than {most:,} bytes", fix="name a smaller one")
    return FileContent(path, data)


def _bytes(file: BinaryIO, most: int) -> bytes:
    """All bytes of a file, or one more than the most."""
    parts: list[bytes] = []
    left = most + 1
    while left and (part := file.read(min(left, 1 << 24))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
