"""How deep calls go inside calls: of a program that runs, and of the passes that go through its functions.

What is too deep is said by the language's own bounds, which are the same in every Python: `MOST_CALLS` of a program
that runs, `Levels` of passes. Python's own bound is put beyond them, and is never met.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define

__all__ = ["Levels", "TooDeepError", "deep_enough"]

DEEPEST = 60_000
"""Python's own calls inside calls. A program that runs has up to 150 times 100 expressions inside each other, of two or
three each; a pass up to MOST_LEVELS expressions and statements, of six or seven."""
MOST_LEVELS = 3_000
"""Expressions and statements that a pass goes through inside each other, from call to call."""


class TooDeepError(Exception):
    """Functions call each other deeper than a pass follows."""


@define
class Levels:
    """How deep a pass is inside expressions and statements: entered for each."""

    now: int = 0

    def __enter__(self) -> None:
        if self.now >= MOST_LEVELS:
            raise TooDeepError
        self.now += 1

    def __exit__(self, *_: object) -> None:
        self.now -= 1


@contextmanager
def deep_enough() -> Iterator[None]:
    """Let calls be nested as deep as a program's may be."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
