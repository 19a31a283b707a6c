"""Files that Jostle writes and reads: models, makers, histories, policies, notes and traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, frozen

from jostle.errors import JostleError
from jostle.files.texts import DamageError, json_parsed, toml_parsed, unpacked
from jostle.given import given_path

T = TypeVar("T")
MOST_BYTES = 1 << 28


@frozen
class FileKind:
    """How files of one kind are read, and what is said about one that cannot be."""

    name: str
    """What messages call it: model, trace."""
    error: type[JostleError]
    """What is raised."""
    advice: str
    """What to do about one that is damaged."""
    version: int | None = None
    """The version that is written, and read."""
    version_entry: str = "version"
    most_bytes: int = MOST_BYTES
    """A larger one is not read: it would fill the memory."""
    path: Path | None = None
    """Which one is meant, where that is known."""

    def at(self, path: str | Path) -> FileKind:
        """The same, for the file in one place."""
        return evolve(self, path=given_path(path, self.error))

    @property
    def subject(self) -> str:
        """How messages begin."""
        return f"the {self.name}" if self.path is None else f"the {self.name} {self.path}"

    def data(self) -> bytes:
        """The content of the file."""
        path = self.path
        if path is None:
            raise ValueError("which file?")
        try:
            with path.open("rb") as file:
                found = file.read(self.most_bytes + 1)
        except (OSError, ValueError) as mistake:  # the latter for a path with a zero byte in it
            reason = mistake.strerror if isinstance(mistake, OSError) else None
            raise self.error(f"cannot read {self.subject}: {reason or 'no such name'}", fix="check the path") from None
        if len(found) > self.most_bytes:
            raise self.error(f"{self.subject} has more than {self.most_bytes:,} bytes", fix="check the path")
        return found

    def unpacked(self, data: bytes) -> tuple[bytes, int]:
        """The content of a gzipped file, and how much of it is whole."""
        try:
            return unpacked(data, self.most_bytes)
        except DamageError as damage:
            raise self.damaged(str(damage)) from None

    def text(self) -> str:
        """The content of the file as a text."""
        return self.decoded(self.data())

    def decoded(self, data: bytes) -> str:
        """Bytes of the file as a text; a mark of its encoding that some editors put first is left out."""
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as mistake:
            raise self.error(
                f"cannot read {self.subject}: it is not UTF-8 text",
                why=f"byte {mistake.start} begins no character",
                fix=self.advice,
            ) from None

    def facts(self, text: str) -> dict[str, Any]:
        """The facts that a text of JSON holds, by name; refused if it is of another version."""
        try:
            held = json_parsed(text)
        except DamageError as damage:
            raise self.damaged(str(damage)) from None
        if not isinstance(held, dict):
            raise self.damaged("holds no names and values")
        if self.version is not None:
            found = held.pop(self.version_entry, None)
            if type(found) is not int or found != self.version:
                raise self.error(f"{self.subject} is of another version of Jostle, or no {self.name}", fix=self.advice)
        return held

    def toml(self, text: str) -> dict[str, Any]:
        """The facts that a text of TOML holds, by name."""
        try:
            return toml_parsed(text)
        except DamageError as damage:
            raise self.damaged(str(damage)) from None

    def line(self, kinds: Mapping[str, type[T]], text: str) -> T:
        """A line of the file as a value of the type that it names."""
        facts = self.facts(text)
        kind = facts.pop("kind", None)
        if not isinstance(kind, str) or kind not in kinds:
            raise self.damaged("has a line of an unknown kind")
        return self.made(kinds[kind], facts)

    def made(self, kind: type[T], facts: object) -> T:
        """Facts as a value of a type."""
        from jostle.files.structure import structured  # noqa: PLC0415 - it loads a library of numbers, and texts need none

        try:
            return structured(facts, kind)
        except DamageError as damage:
            raise self.damaged(f"is damaged: {damage}") from None

    def damaged(self, why: str) -> JostleError:
        """The error about a file that is not what it should be: why continues a sentence about it."""
        return self.error(f"{self.subject} {why}", fix=self.advice)


@contextmanager
def writing(
    given: object, error: type[JostleError], what: str = "", *, fix: str = "name another file"
) -> Iterator[Path]:
    """The path of a file that is written meanwhile; where that cannot be, a sentence says so, and *what* it is."""
    path = given_path(given, error)
    try:
        yield path
    except JostleError:
        raise
    except (OSError, ValueError) as mistake:  # the latter for a path with a zero byte in it
        reason = (mistake.strerror if isinstance(mistake, OSError) else None) or str(mistake)
        raise error(f"cannot write {' '.join(filter(None, (what, str(path))))}: {reason}", fix=fix) from None
