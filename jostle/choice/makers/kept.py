"""Trained makers that are kept on this machine, so that what was learned once is not learned again.

A kept maker is found by a mark of all that it was learned from: Options, metafeatures and predictions with their
versions, the databases or the history, and how much may be spent. Whatever changes of these, the mark changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.choice.learning import keeper
from jostle.choice.learning.history import to_json
from jostle.choice.learning.places import shipped_folder
from jostle.choice.makers.trained import Trained
from jostle.corpora.databases import ArrayCells, FrameRows, PublicDatabase
from jostle.corpora.specs import VERSION as INSTANCES
from jostle.errors import JostleError
from jostle.files.content import FileMark
from jostle.tasks.metafeature import version_of

if TYPE_CHECKING:
    from jostle.choice.makers.maker import ChoiceMaker
    from jostle.choice.makers.making import Training

__all__ = ["keep", "kept", "place_of"]

LEARNING = 1
"""Of the code that learns: raised when the same rehearsals come to make another maker."""


def place_of(training: Training, maker: ChoiceMaker) -> Path:
    """Return the file that a maker which learns so is kept in."""
    return keeper.place_of("makers", maker.label, keeper.mark_of(_facts(training, maker)))


def kept(training: Training, maker: ChoiceMaker) -> Trained | None:
    """Return what a maker learned before, if it is kept and still fits."""
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


def keep(training: Training, maker: ChoiceMaker, trained: Trained) -> Path:
    """Keep what a maker learned, and return the file."""
    path = place_of(training, maker)
    trained.save(path)
    return path


def _facts(training: Training, maker: ChoiceMaker) -> Iterator[object]:
    """Yield all that a maker's learning depends on."""
    yield LEARNING, INSTANCES, maker.task.name
    yield [(option.name, option.version) for option in maker.among]
    yield [(each.name, each.version) for each in maker.informed_by]
    yield [_code(prior) for prior in maker.priors()]
    yield [str(share) for share in training.shares]
    judge = training.judged_by
    own = judge is None or judge.name == maker.task.judges[0].name
    yield None if own or judge is None else (judge.name, _code(judge.loss))
    if training.corpus is not None:
        yield training.epsilons, training.repeats, _code(training.jobs)
        for database in training.corpus:
            yield database.name, database.group, identity_of(database)
    elif training.history is not None:
        yield from map(to_json, training.history.lines())
    else:
        path = shipped_folder() / f"{maker.task.name}.jsonl.gz"
        yield hashlib.blake2b(path.read_bytes()).hexdigest() if path.exists() else None


def _code(function: Callable[..., Any] | None) -> str | None:
    return None if function is None else version_of(function)


def identity_of(database: PublicDatabase) -> str:
    """Return a text that changes when a database does, without reading all of it where that can be helped.

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
