"""Room for calls inside calls: of a program that runs, and of the passes that go through its functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deep_enough"]

DEEPEST = 20_000
"""Python's own calls inside calls. Each of a program's takes some twenty, while running or while it is checked."""


@contextmanager
def deep_enough() -> Iterator[None]:
    """Let calls be nested as deep as a program's may be."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
