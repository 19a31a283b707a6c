"""Mutations: seeded ways to damage a file, by its bytes, its lines, or by what a text of JSON says."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from attrs import frozen

Mutation = Callable[[bytes, Random], bytes]
MOST_BYTES = 1 << 22
"""What grows beyond this is cut: a mutation that doubles is drawn again and again."""
EDGES = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
)
SNIPPETS = (
    *(b"\n", b"\r", b"\r\n", b'"', b"'", b",", b"\t", b"\x1b[31m", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80"),
    *(b"{}", b"[]", b"null", b"NaN", b"1e999", b"-0", b"9" * 400, b"9" * 5000, b"1/0", b"1e999999999"),
    *(b"\\", b"\\u0000", b"\\ud800", b"=", b"."),
)


@frozen
class Raw:
    """What is written as it is, whatever the format makes of it."""

    text: str


DEEP = 100_000
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400),
    *(0.5, -0.0, 1e308, 1e-320, "", "x", "0", "1", "-1", "1/3", "1/0", "1e999999999", "1e-5000", "nan"),
    *("\x00", "\x1b[2J", "\ud800", "\u202e", "a" * 100_000),
    *([], {}, [[]], [0], [None], [1, [2, [3]]], {"": 0}, {"x": {}}),
    *map(Raw, ("NaN", "-Infinity", "nan", "-inf", "1e999", "9" * 5000, "0x" + "f" * 9000, "0." + "3" * 5000)),
    *map(Raw, ("[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP, "[" * 400 + "]" * 400, "1979-05-27T07:32:00Z")),
)
"""What stands where something else is expected."""


def bytes_damaged(data: bytes, chance: Random) -> bytes:  # noqa: PLR0911 - one per way
    """Return a file with bytes flipped, cut out, doubled, moved, or put in."""
    at = chance.randrange(len(data) + 1)
    end = min(len(data), at + chance.choice((1, 1, 2, 4, 8, 16, 64, 300, len(data))))
    match chance.randrange(10):
        case 0 | 1 | 2 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 3 if at < len(data):
            return data[:at] + chance.randbytes(1) + data[at + 1 :]
        case 4:
            return data[:at] + data[end:]
        case 5:
            return data[:at]
        case 6:
            return (data[:end] + data[at:end] * chance.choice((1, 1, 3, 50)) + data[end:])[:MOST_BYTES]
        case 7:
            other = chance.randrange(len(data) + 1)
            return data[:other] + data[at:end] + data[other:]
        case 8:
            piece = chance.choice(EDGES)
            return data[:at] + piece + data[at + len(piece) :]
        case _:
            return data[:at] + chance.choice(SNIPPETS) + data[at:]


def in_place(start: Callable[[bytes], int]) -> Mutation:
    """Return a mutation that changes bytes from some place on, and moves none, so that places told elsewhere hold."""

    def damage(data: bytes, chance: Random) -> bytes:
        first = min(max(0, start(data)), len(data) - 1)
        at = chance.randrange(first, len(data))
        piece = chance.choice(
            (
                chance.randbytes(1),
                chance.randbytes(1),
                chance.choice(EDGES),
                bytes([data[at] ^ (1 << chance.randrange(8))]),
            )
        )
        return (data[:at] + piece + data[at + len(piece) :])[: len(data)]

    return damage


def text_damaged(data: bytes, chance: Random) -> bytes:
    """Return a text with words exchanged, lines moved, or bytes damaged."""
    words = re.split(rb"(?<=[ \[\]=,])", data)
    lines = data.split(b"\n")
    match chance.randrange(5):
        case 0 if len(words) > 1:
            one, two = chance.randrange(len(words)), chance.randrange(len(words))
            words[one] = chance.choice((words[two], words[two], chance.choice(SNIPPETS)))
            return b"".join(words)
        case 1 if len(lines) > 1:
            lines[chance.randrange(len(lines))] = chance.choice(lines)
            return b"\n".join(lines)
        case 2 if len(lines) > 1:
            del lines[chance.randrange(len(lines))]
            return b"\n".join(lines)
        case _:
            return bytes_damaged(data, chance)


def json_damaged(data: bytes, chance: Random) -> bytes:
    """Return a text of JSON that says something else in one to three places, or with its bytes damaged."""
    if chance.random() < 0.15:
        return bytes_damaged(data, chance)
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return bytes_damaged(data, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        said = _changed(said, chance)
    return _json(said).encode("utf-8", "surrogatepass")


def lines_damaged(damage: Mutation) -> Mutation:
    """Return a mutation of a file of lines: one is damaged in its own way, left out, written twice or moved."""

    def damaged(data: bytes, chance: Random) -> bytes:
        lines = data.split(b"\n")
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                return bytes_damaged(data, chance)
            case _:
                lines[at] = damage(lines[at], chance) if lines[at] else chance.choice(SNIPPETS)
        return b"\n".join(lines)

    return damaged


def packed_damaged(damage: Mutation) -> Mutation:
    """Return a mutation of a gzipped file: of what is in it, or of how it is packed."""

    def damaged(data: bytes, chance: Random) -> bytes:
        if chance.random() < 0.4:
            return bytes_damaged(data, chance)
        try:
            inside = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return bytes_damaged(data, chance)
        again = gzip.compress(damage(inside, chance), mtime=0)
        return again + again if chance.random() < 0.1 else again

    return damaged


def _changed(said: Any, chance: Random) -> Any:
    """Return what was said with one thing in it changed, on some way down."""
    if isinstance(said, dict) and said and chance.random() < 0.8:
        return _changed_mapping(dict(said), chance)
    if isinstance(said, list) and said and chance.random() < 0.7:
        return _changed_list(list(said), chance)
    if isinstance(said, int | float) and not isinstance(said, bool) and chance.random() < 0.7:
        small = int(said) if abs(said) < 2**60 else 0
        near = (-said, said + 1, said - 1, small + 0.5, small * 10**18, small ^ (1 << chance.randrange(70)))
        return chance.choice((*near, str(small), [said]))
    if isinstance(said, str) and "[columns" in said and chance.random() < 0.8:
        return text_damaged(said.encode("utf-8", "surrogatepass"), chance).decode(errors="replace")
    if isinstance(said, str) and chance.random() < 0.5:
        at = chance.randrange(len(said) + 1)
        return chance.choice(
            (
                said[:at],
                said + said,
                said[:at] + chance.choice("\x00\x1b\ud800/e-9\n\u202e") + said[at:],
                [said],
                said.upper(),
            )
        )
    return chance.choice(ODD)


def _changed_mapping(said: dict[str, Any], chance: Random) -> Any:
    key, other = chance.choice(list(said)), chance.choice(list(said))
    match chance.randrange(12):
        case 0:
            del said[key]
        case 1:
            said[key + chance.choice(("_", "s", "\x1b[2J", "."))] = said.pop(key)
        case 2:
            said[chance.choice(("", "x", "__class__", "self"))] = chance.choice(ODD)
        case 3:
            said[key], said[other] = said[other], said[key]
        case 4:
            return chance.choice(([], list(said), list(said.items()), said[key]))
        case _:
            said[key] = _changed(said[key], chance)
    return said


def _changed_list(said: list[Any], chance: Random) -> Any:
    at, other = chance.randrange(len(said)), chance.randrange(len(said))
    match chance.randrange(14):
        case 0:
            del said[at]
        case 1:
            said.insert(other, said[at])
        case 2:
            said[at], said[other] = said[other], said[at]
        case 3:
            return chance.choice(
                (
                    [],
                    said[:at],
                    said * 2,
                    said[::-1],
                    [said],
                    {str(place): each for place, each in enumerate(said)},
                    said[0],
                )
            )
        case 4:
            return [said[at]] * (chance.choice((1000, 100_000)) if len(_json(said[at])) < 100 else 10)
        case 5 | 6:
            said[at] = said[other]
        case _:
            said[at] = _changed(said[at], chance)
    return said


def _json(said: Any) -> str:
    if isinstance(said, Raw):
        return said.text
    if isinstance(said, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_json(each)}" for key, each in said.items()) + "}"
    if isinstance(said, list | tuple):
        return "[" + ", ".join(map(_json, said)) + "]"
    return json.dumps(said)
