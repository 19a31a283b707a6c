"""Trained makers that are kept on this machine, so that what was learned once is not learned again.

A kept maker is found by a mark of all that it was learned from: Options, metafeatures and predictions with their
versions, the databases or the history, and how much may be spent. Whatever changes of these, the mark changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.corpora.databases import ArrayCells, FrameRows, PublicDatabase
from jostle.errors import JostleError
from jostle.files.content import FileMark
from jostle.learned import keeper

__all__ = ["identity_of", "keep", "kept", "place_of"]


class Learns(Protocol):
    """How a maker learns."""

    def facts(self, maker: ChoiceMaker) -> Iterable[object]:
        """All that a maker's learning depends on."""
        ...


def place_of(training: Learns, maker: ChoiceMaker) -> Path:
    """The file that a maker which learns so is kept in."""
    return keeper.place_of("makers", maker.label, keeper.mark_of(training.facts(maker)))


def kept(training: Learns, maker: ChoiceMaker) -> Trained | None:
    """The maker as it learned before, if that is kept and still fits; or None."""
    try:
        path = place_of(training, maker)
        if not path.exists():
            return None
        trained = Trained.read(path, maker.priors())
        trained.check(maker.among, maker.informed_by)
    except JostleError:
        # Whatever is wrong with what is kept, it can be learned again.
        return None
    return trained


def keep(training: Learns, maker: ChoiceMaker, trained: Trained) -> Path:
    """Keep what a maker learned, and return the file."""
    path = place_of(training, maker)
    trained.save(path)
    return path


def identity_of(database: PublicDatabase) -> str:
    """A text that changes when a database does, without reading all of it where that can be helped.

    Of a file: its place, and the hash that it had when it was looked at, or its size and time. Of what a generator or a
    package makes: how it is made. Of what is in memory: its digest.
    """
    reader = database.reader
    said = repr(reader)
    if isinstance(reader, FrameRows | ArrayCells) or " at 0x" in said:
        return database.digest
    mark = getattr(reader, "mark", None)
    if isinstance(mark, FileMark):
        return f"{said} {mark.digest}"
    path = getattr(reader, "path", None)
    if isinstance(path, Path):
        try:
            state = path.stat()
        except OSError:
            return said
        return f"{said} {state.st_size} {state.st_mtime_ns}"
    return said
