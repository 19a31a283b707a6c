"""Texts as they may go to a screen: nothing in them steers it.

A terminal obeys what it is sent. A site, a label, a column, a file's name or a printed text that comes from whoever
wrote a program could move the cursor to a line that says what was spent, clear it, or turn the writing round. So what
does not show itself goes to a screen as an escape, and a line end inside a name does not begin a line.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Controls, halves of surrogate pairs, ends of lines and paragraphs."""
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What turns round the direction of the writing that follows."""


def visible(text: str) -> str:
    r"""A text on one line, with an escape for whatever does not show itself.

    >>> print(visible("spent\x1b[2K 0\nleft \u202e1"))
    spent\x1b[2K 0\nleft \u202e1
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def visible_lines(text: str) -> str:
    r"""A text of several lines, as `visible` shows each, but for tabs, which stay.

    >>> print(visible_lines("one\x07\ntwo"))
    one\x07
    two
    """
    return "".join(character if character in "\n\t" else _shown(character) for character in text)


def print_visible(text: str) -> None:
    """Print a text of several lines, in which nothing steers the screen."""
    sys.stdout.write(f"{visible_lines(text)}\n")


def steers(text: str) -> bool:
    """Whether a text holds what steers a screen; invisible letters, as joiners are, do not."""
    return not text.isprintable() and any(
        character in TURNING or unicodedata.category(character) in STEERING for character in text
    )


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Rows of cells as lines of text, cells below cells.

    >>> print(aligned([("a", "loss"), ("bcd", "0.1")]))
    a    loss
    bcd  0.1
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
