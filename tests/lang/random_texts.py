"""Texts that are programs, nearly programs, or nothing of the kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from jostle.lang.lexer import FOREIGN, KEYWORDS, SIGNS

ROOT = Path(__file__).parents[2]
PROGRAMS = [path.read_text("utf-8") for path in sorted((ROOT / "programs").glob("*.jst"))]
WRONG = [path.read_text("utf-8") for path in sorted((ROOT / "tests" / "cases" / "lang").glob("*.jst"))]
PIECES = [
    *KEYWORDS,
    *SIGNS,
    *sorted(FOREIGN),
    *("informed by", "trained on", "judged by", "informed", "{{", "}}", "L1", "x", "db", "f", "epsilon"),
    *(
        'f"',
        "f'{",
        '{x}"',
        "5",
        "5%",
        "0.1",
        ".5",
        "1e999",
        "1_0",
        "'s'",
        '"',
        '"""',
        "\\",
        "..",
        "é",
        "²",
        "\x1b",
        "\u2028",
        "\ufeff",
    ),
    *("\n", "\n    ", "\n        ", "\n  ", "\r", "\r\n", "\t", " ", "  ", ":\n    ", "#c", "#Option\n", "# c\n"),
]


def noise(chance: random.Random) -> str:
    """Return characters of all kinds."""
    ranges = ((32, 127), (0, 0x3000), (0x1F300, 0x1F600))
    return "".join(chr(chance.randrange(*chance.choice(ranges))) for _ in range(chance.randrange(40)))


def soup(chance: random.Random) -> str:
    """Return pieces of the language in any order."""
    return chance.choice(("", " ")).join(chance.choice(PIECES) for _ in range(chance.randrange(40)))


def mutant(chance: random.Random) -> str:
    """Return some lines of a program with a few places changed."""
    lines = chance.choice((*PROGRAMS, *WRONG)).splitlines(keepends=True)
    start = chance.randrange(len(lines))
    text = "".join(lines[start : start + chance.randrange(1, 14)])
    for _ in range(chance.randrange(4)):
        left = chance.randrange(len(text) + 1)
        right = min(len(text), left + chance.randrange(8))
        other = chance.randrange(len(text) + 1)
        middle = chance.choice(("", chance.choice(PIECES), text[other : other + chance.randrange(30)]))
        text = text[:left] + middle + text[right:]
    return text


def texts(seed: int, count: int) -> Iterator[str]:
    """Return made-up texts, the same ones for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choice((noise, soup, mutant, mutant))(chance)
