"""Texts of JSON and TOML, and gzipped ones: refused where reading them would take the process down, or forever.

Readers of nested lists call themselves, in C, and are stopped by the limit on calls in calls alone. A program that
raised this limit for calls of its own would run off the end of the stack. So the depth is looked at first.
"""

from __future__ import annotations

import re
import zlib
from itertools import accumulate
from typing import Any

MOST_DEPTH = 50
"""Lists in lists; what Jostle writes has fewer than ten."""
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


class DamageError(ValueError):
    """Something in a file is not what has to stand there: said in words that quote little of it."""


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
    found: list[bytes] = []
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
            found.extend(parts)
            whole = at
    return b"".join(found), whole
