"""Where histories and trained makers are kept: those that came with Jostle, and those made here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jostle.tasks import Task

__all__ = ["here", "histories_of", "shipped_folder"]


def shipped_folder() -> Path:
    """Return the folder of what came with Jostle."""
    return Path(__file__).parent.parent / "pretrained"


def here(*names: str) -> Path:
    """Return a place among what was made on this machine, below JOSTLE_HOME or the user's cache."""
    home = os.environ.get("JOSTLE_HOME")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(home) if home else cache / "jostle").joinpath(*names)


def histories_of(task: Task[Any]) -> Path:
    """The file of the rehearsals of a task that are run here."""
    return here("histories", f"{task.name}.jsonl")
