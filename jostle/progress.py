"""Progress: whatever takes more than a few seconds says on standard error what it does, and how far it is.

On a terminal that is a bar, elsewhere a line every few seconds. Work lies in stages, one inside another. Told are the
titles from the outermost one down to the first that knows how much there is to do.

Whoever works says how far it is: there is no thread for it, since some of this is forked. What is told goes to the
stream that was standard error when the outermost stage began, before any code that was called had its say. It is for
the owner of the data alone: how far a private file is read is a share of it, which no trace and no answer holds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from attrs import define, field

from jostle.visible import visible

PATIENCE = 3.0
"""Seconds until anything is said."""
APART = 5.0
"""Seconds between lines."""
REFRESHED = 0.1
"""Seconds between looks of a bar."""
MOST_SAID = 100
"""Letters on a line."""

clock = time.monotonic


@define(eq=False)
class Stage:
    """A part of the work."""

    title: str
    share: float | None = None
    """How much of it is done, from 0 to 1; None where nobody knows."""
    text: str = ""
    parts: Counter[str] = field(factory=Counter)
    """How often each stage inside it was begun."""

    def at(self, done: float, total: float) -> None:
        """Say how much of it is done."""
        self.share = min(max(done / total, 0.0), 1.0) if total else None
        tick()

    def doing(self, text: str) -> None:
        """Say what is being done."""
        self.text = text
        tick()


class _Told(threading.local):
    """What a thread is doing, and how that is told."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.began = 0.0
        self.due = inf
        self.stream: Any = None
        self.bar: Any = None
        self.said = False


_told = _Told()


@contextmanager
def stage(title: str) -> Iterator[Stage]:
    """A stage, which is told while it lasts."""
    made, stages = Stage(title), _told.stages
    if stages:
        parts = stages[-1].parts
        parts[title] += 1
        made.title = title if parts[title] == 1 else f"{title}, time {parts[title]}"
    else:
        _told.began, _told.stream, _told.said = clock(), sys.stderr, False
        _told.due = _told.began + PATIENCE
    stages.append(made)
    tick()
    try:
        yield made
    finally:
        if made in stages:  # of a generator that is closed late, in another thread perhaps
            stages.remove(made)
        if not stages:
            _end(made)


@contextmanager
def unshown() -> Iterator[None]:
    """Tell nothing meanwhile: somebody else tells how far this is."""
    stages, due = _told.stages, _told.due
    _told.stages, _told.due = [Stage("")], inf
    try:
        yield
    finally:
        _told.stages, _told.due = stages, due


def tick() -> None:
    """Say how far the work is, if it is time."""
    now = clock()
    if now < _told.due or not _told.stages:
        return
    try:
        _tell(now)
    except Exception:  # noqa: BLE001 - a stream that cannot be written to ends no work
        _told.due, _told.bar = inf, None


def _tell(now: float) -> None:
    line, share = _line(now)
    if _told.bar is None and not _told.said and _is_screen(_told.stream):
        _told.bar = _bar(_told.stream)
    _told.said = True
    if _told.bar is not None:
        task = _told.bar.task_ids[0]
        total, done = (None, 0.0) if share is None else (1.0, share)
        _told.bar.update(task, description=line, completed=done, total=total, refresh=True)
        _told.due = now + REFRESHED
        return
    _told.stream.write(f"{line}\n")
    _told.stream.flush()
    _told.due = now + APART


def _line(now: float) -> tuple[str, float | None]:
    """What is being done and how far it is, and the share of it that is done."""
    titles = []
    for each in _told.stages:
        titles.append(each.title)
        if each.share is not None:
            break
    what = visible(": ".join(filter(None, (*titles, each.text))))
    what = what if len(what) <= MOST_SAID else f"{what[: MOST_SAID - 3]}..."
    share = "" if each.share is None else f"{each.share:.0%}, "
    return f"{what}: {share}{now - _told.began:.0f} s", each.share


def _end(made: Stage) -> None:
    """Tell that all is done, if anything was told."""
    bar, _told.bar, due, _told.due = _told.bar, None, _told.due, inf
    try:
        if bar is not None:
            bar.stop()
        elif _told.said and due < inf:
            _told.stream.write(f"{visible(made.title)[:MOST_SAID]}: {clock() - _told.began:.0f} s in all\n")
            _told.stream.flush()
    except Exception:  # noqa: BLE001, S110 - as above
        pass


def _is_screen(stream: Any) -> bool:
    return bool(stream.isatty()) and os.environ.get("TERM") not in {"dumb", "unknown"}


def _bar(stream: Any) -> Any:
    from rich.console import Console  # noqa: PLC0415 - for what takes long, on terminals only
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - as above

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        console=Console(file=stream),
        auto_refresh=False,  # which would be a thread
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # else what is printed would go where the bar goes
    )
    bar.add_task("", total=None)
    bar.start()
    return bar


def _forked() -> None:
    """Tell nothing in a copy of the process: the first one does."""
    _told.due, _told.bar = inf, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
