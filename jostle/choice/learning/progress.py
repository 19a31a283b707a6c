"""Progress of long work: a bar with the time left on a terminal, and lines of `logging` for whoever wants them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import field, frozen

from jostle.visible import visible

__all__ = ["Progress", "Stage", "shown_progress", "silent"]

LOG = logging.getLogger(__name__)
MOST_SAID = 100
"""Letters beside a bar."""


@frozen(eq=False)
class Stage:
    """One part of the work."""

    bar: Any = None
    task: Any = None
    title: str = ""

    def at(self, done: int, total: int) -> None:
        """Say how much of it is done."""
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total)

    def doing(self, text: str) -> None:
        """Say what is being done."""
        LOG.debug("%s", visible(f"{self.title}: {text}" if self.title else text))
        if self.bar is not None:
            self.bar.update(self.task, description=visible(f"{self.title}: {text}"[:MOST_SAID]))


@frozen(eq=False)
class Progress:
    """Stages of work, shown one after the other."""

    shown: bool = field(default=False)

    @contextmanager
    def stage(self, title: str, total: int | None) -> Iterator[Stage]:
        """Show a stage while it lasts."""
        LOG.info("%s", visible(title))
        if not self.shown:
            yield Stage(title=title)
            return
        from rich.console import Console  # noqa: PLC0415 - for terminals only
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn  # noqa: PLC0415
        from rich.progress import Progress as Bars  # noqa: PLC0415

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        with Bars(*columns, console=Console(stderr=True)) as bars:
            yield Stage(bars, bars.add_task(visible(title), total=total), title)


def silent() -> Progress:
    """A progress that shows nothing."""
    return Progress(shown=False)


def shown_progress() -> Progress:
    """A progress that is shown on standard error, if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415 - for terminals only

    return Progress(shown=Console(stderr=True).is_terminal)
