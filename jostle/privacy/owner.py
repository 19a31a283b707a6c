"""Whose turn it is: the owner's, who opens tables, or an asker's, who has a probe.

An Option and a program hold probes and open nothing. They could still make up rows and have them opened as private: if
these were equal to private rows of the same process, they would share their budget, which confirms a guess. So
whatever is private is opened outside of them. (In a thread that they start, or once they are done, nobody can tell that
it is them: see `door`.)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jostle.errors import ProbeError

__all__ = ["asking", "check_owner"]

_asking: ContextVar[bool] = ContextVar("asking", default=False)
_here = threading.local()
"""How many Options and programs run in a thread, one inside the other, in whatever context they go on."""


@contextmanager
def asking() -> Iterator[None]:
    """Let an asker's code run: nothing private is opened while it does."""
    token, depth = _asking.set(True), _depth()
    _here.depth = depth + 1
    try:
        yield
    finally:
        _here.depth = depth
        _asking.reset(token)


def _depth() -> int:
    return getattr(_here, "depth", 0)


def check_owner() -> None:
    """Refuse to open a private table while an Option or a program runs, whatever table it is."""
    if _asking.get() or _depth():
        raise ProbeError(
            "no table is opened as private inside an Option or a program",
            why="it asks what it was given; that rows are already private would be told by opening them again",
            fix="open the table before, with jostle.protect, and hand in the probe",
        )
