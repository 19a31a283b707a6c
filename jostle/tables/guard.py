"""One guard around the libraries that read rows: whatever goes wrong in them becomes one sentence, which quotes no row.

Readers of files that anybody may have damaged raise what they like, from an index that is out of range to a text that
is none, and their messages quote cells. And they make room for what a file says is in it, before they look whether it
is there: what says so is looked at first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from jostle.errors import JostleError, TableError

__all__ = ["UNREADABLE", "Memory", "guarded"]

UNREADABLE = "the reason is kept back, since it could quote private rows"


@contextmanager
def guarded(title: str, *, fix: str | None = None) -> Iterator[None]:
    """Turn whatever is raised into an error with this title; Jostle's own errors are left as they are."""
    try:
        yield
    except JostleError:
        raise
    except Exception:  # noqa: BLE001 - see above
        raise TableError(title, why=UNREADABLE, fix=fix) from None


def _memory() -> int:
    """How many bytes of memory this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not told here
        return 1 << 40


@define
class Memory:
    """Room for what is read of a file at once: as much as the machine has."""

    path: Path
    way_out: str
    """What to do about a file that does not fit."""
    left: int = field(factory=_memory)

    def take(self, count: int) -> None:
        """Take room for so many bytes, or refuse."""
        self.left -= count
        if self.left < 0:
            raise TableError(f"what is in {self.path} does not fit into memory", fix=self.way_out)
