"""Files of JSON lines that are only ever appended to: what was done is on disk, whole, before more is.

So what was interrupted is gone on with: a file cut short by a crash is good up to its last whole line.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from jostle.errors import ChoiceError
from jostle.files.kinds import FileKind

__all__ = ["Store"]


@frozen
class Store:
    """A file of lines, gzipped where its name ends in .gz: what is added at once is a member of its own then."""

    path: Path
    kind: FileKind
    """How it is read, and called."""
    keeps: str
    """What is kept in it, in a sentence."""
    begins: bytes = b""
    """What each line begins with."""

    @property
    def _is_packed(self) -> bool:
        return self.path.suffix == ".gz"

    def lines(self) -> tuple[str, ...]:
        """The whole lines."""
        file = self.kind.at(self.path)
        data = file.data()
        return tuple(file.decoded(file.unpacked(data)[0] if self._is_packed else data).split("\n")[:-1])

    def add(self, lines: Iterable[str]) -> None:
        """Append lines; each is on disk, whole, when this returns."""
        text = "".join(f"{line}\n" for line in lines).encode()
        if not text:
            return
        packed = gzip.compress(text) if self._is_packed else text
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                written = os.write(file, packed)
            finally:
                os.close(file)
        except OSError as mistake:
            raise self._unwritten(mistake.strerror or "it was lost") from None
        if written < len(packed):
            raise self._unwritten("there is no room left")

    def mend(self) -> None:
        """Cut off a last line that a crash left incomplete, so that the next one begins on a line of its own.

        One that no crash can have left is refused: the file is another one, and what is in it is not ours to take away.
        """
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            data = file.read()
            whole = self.kind.at(self.path).unpacked(data)[1] if self._is_packed else data.rfind(b"\n") + 1
            if not self._is_packed and not data[whole:].startswith(self.begins[: len(data) - whole]):
                raise self.kind.at(self.path).damaged("ends in the middle of a line, and that is none of it")
            if whole < len(data):
                file.truncate(whole)

    def save(self, lines: Iterable[str]) -> None:
        """Write all lines anew. No time is in the file: the same lines make the same file."""
        text = "".join(f"{line}\n" for line in lines).encode()
        self.path.write_bytes(gzip.compress(text, mtime=0) if self._is_packed else text)

    def _unwritten(self, reason: str) -> ChoiceError:
        return ChoiceError(
            f"cannot write {self.kind.at(self.path).subject}: {reason}",
            why=self.keeps,
            fix="make room, and run the same command again: it goes on where it stopped",
        )
