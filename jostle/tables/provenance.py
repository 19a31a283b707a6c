"""Where a table's rows came from: enough to know them again by, without a look at what they are.

Whoever may ask whether other rows are equal to private ones can try out what the last row of a table is, knowing all
the others. So what is private is not read as public again where it is known to be the same, an object in this process
or a file; that rows happen to be equal is said to nobody but the owner of both.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

__all__ = ["Provenance"]


@frozen(eq=False, repr=False)
class Provenance:
    """The objects and the file that rows came from."""

    things: tuple[weakref.ref[object], ...]
    """Weak, so that rows are not kept for it."""
    file: Path | None

    @classmethod
    def of(cls, things: Iterable[object], path: Path | None) -> Provenance:
        """The provenance of rows made of these objects, or read from this file."""
        return cls(tuple(ref for thing in things if (ref := reference(thing)) is not None), path)

    def shared(self, other: Provenance) -> bool:
        """Whether rows of this provenance are, or were made of, what rows of the other are."""
        mine, theirs = ([thing for ref in each.things if (thing := ref()) is not None] for each in (self, other))
        return any(thing is another for thing in mine for another in theirs) or _same_file(self.file, other.file)


def reference(thing: object) -> weakref.ref[object] | None:
    """A weak reference to an object, or None where there is none to be had."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return None


def _same_file(one: Path | None, other: Path | None) -> bool:
    """Whether two paths lead to one file, whatever names it has."""
    try:
        return one is not None and other is not None and one.samefile(other)
    except OSError:
        return False
