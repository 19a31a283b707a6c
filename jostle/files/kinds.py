"""Files that Jostle writes and reads: models, makers, histories, policies, notes, traces; their texts, read safely."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, frozen

from jostle.errors import DamageError, JostleError
from jostle.given import given_path

MOST_DEPTH = 50
"""Lists in lists; what Jostle writes has fewer than ten.

Readers of nested lists call themselves, in C, and are stopped by the limit on calls in calls alone. A program that
raised this limit for calls of its own would run off the end of the stack. So the depth is looked at first.
"""
MOST_PARTS = 50
"""Parts of a dotted key: each takes as long as all before it, and a table in a table for the reader."""
MOST_WORDS = 150
"""Characters of what a reader says; it quotes names as they would be typed in a program."""
PACKED_PIECE = 2**16
JSON_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
NO_BRACKET = re.compile(r"[^][{}]+")
TOML_PIECE = r'''(?P<comment>\#[^\n]*+)
      | (?P<text>"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?|\'\'\'(?:[^']++|'(?!''))*+(?:\'\'\')?
                |"(?:[^"\\\n]++|\\.)*+"?|'[^'\n]*+'?)
      | (?P<opens>[\[{]) | (?P<closes>[\]}]) | (?P<dot>\.) | (?P<ends>[\n=,])'''


def json_parsed(text: str) -> object:
    """The value that a text of JSON stands for: numbers are finite, texts are of whole characters."""
    import msgspec  # noqa: PLC0415 - checking a program reads none

    if _json_depth(text) > MOST_DEPTH:
        raise DamageError("is nested too deep")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as mistake:
        raise DamageError(f"is not JSON: {str(mistake)[:MOST_WORDS].removeprefix('JSON is malformed: ')}") from None


def _json_depth(text: str) -> int:
    """How deep brackets are nested, at most; of a text that is no JSON, perhaps more."""
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return 0
    brackets = NO_BRACKET.sub("", JSON_STRING.sub("", text))
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0)


def toml_parsed(text: str) -> dict[str, Any]:
    """The facts that a text of TOML holds."""
    import tomllib  # noqa: PLC0415 - only schemas are written so, and a program need not have one

    _check_toml(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as mistake:
        raise DamageError(f"is not TOML: {str(mistake)[:MOST_WORDS]}") from None
    except ValueError:
        raise DamageError("holds a number of too many digits") from None
    except RecursionError:
        raise DamageError("is nested too deep") from None


def _check_toml(text: str) -> None:
    """Refuse brackets in brackets, and dots after dots, of which nobody writes so many."""
    depth = dots = 0
    for piece in re.finditer(TOML_PIECE, text, re.VERBOSE | re.DOTALL):
        match piece.lastgroup:
            case "opens":
                depth += 1
            case "closes":
                depth -= 1
            case "dot":
                dots += 1
            case "ends":
                dots = 0
            case _:
                pass
        if depth > MOST_DEPTH:
            raise DamageError("is nested too deep")
        if dots > MOST_PARTS:
            raise DamageError("has a key of too many parts")


def toml_written(value: object) -> str:
    """A text, a number or a list of them, as TOML."""
    if isinstance(value, str):
        return '"' + "".join(_toml_character(character) for character in value) + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(map(toml_written, value)) + "]"
    return repr(value)


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def unpacked(data: bytes, most_bytes: int) -> tuple[bytes, int]:
    """The content of a gzipped file, and how long its whole members are; a last one cut short is left out.

    It is unpacked up to a bound: a thousandth of a file's size is enough to pack it. What is added to a file at once is
    a member of its own.
    """
    content: list[bytes] = []
    whole = at = length = 0
    while at < len(data):
        member, parts = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), []
        while at < len(data) and not member.eof:
            # In pieces, since whatever follows a member is copied.
            piece = data[at : at + PACKED_PIECE]
            try:
                parts.append(member.decompress(piece))
            except zlib.error:
                raise DamageError("is not gzipped, or was damaged since") from None
            at += len(piece) - len(member.unused_data)
            length += len(parts[-1])
            if length > most_bytes:
                raise DamageError(f"unpacks to more than {most_bytes:,} bytes")
        if member.eof:
            content.extend(parts)
            whole = at
    return b"".join(content), whole


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
                content = file.read(self.most_bytes + 1)
        except (OSError, ValueError) as mistake:  # the latter for a path with a zero byte in it
            reason = mistake.strerror if isinstance(mistake, OSError) else None
            raise self.error(f"cannot read {self.subject}: {reason or 'no such name'}", fix="check the path") from None
        if len(content) > self.most_bytes:
            raise self.error(f"{self.subject} has more than {self.most_bytes:,} bytes", fix="check the path")
        return content

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
            version = held.pop(self.version_entry, None)
            if type(version) is not int or version != self.version:
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
