"""Texts of TOML, refused where reading them would take forever or nest too deep."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from jostle.files.damage import DamageError

__all__ = ["MOST_DEPTH", "MOST_PARTS", "parsed"]

MOST_DEPTH = 50
"""Lists in lists."""
MOST_PARTS = 50
"""Parts of a dotted key: each takes as long as all before it, and a table in a table for the reader."""
MOST_WORDS = 150
"""Characters of what the reader says; it quotes names as they would be typed in a program."""
PIECE = re.compile(
    r'''(?P<comment>\#[^\n]*+)
      | (?P<text>"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?|\'\'\'(?:[^']++|'(?!''))*+(?:\'\'\')?
                |"(?:[^"\\\n]++|\\.)*+"?|'[^'\n]*+'?)
      | (?P<opens>[\[{]) | (?P<closes>[\]}]) | (?P<dot>\.) | (?P<ends>[\n=,])''',
    re.VERBOSE | re.DOTALL,
)


def parsed(text: str) -> dict[str, Any]:
    """The facts that a text of TOML holds."""
    _check(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as mistake:
        raise DamageError(f"is not TOML: {str(mistake)[:MOST_WORDS]}") from None
    except ValueError:
        raise DamageError("holds a number of too many digits") from None
    except RecursionError:
        raise DamageError("is nested too deep") from None


def _check(text: str) -> None:
    """Refuse brackets in brackets, and dots after dots, of which nobody writes so many."""
    depth = dots = 0
    for piece in PIECE.finditer(text):
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
