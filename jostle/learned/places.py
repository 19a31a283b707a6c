"""Where what was learned is kept: what came with Jostle, and what was made here."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["here", "shipped_folder"]


def shipped_folder() -> Path:
    """Folder of what came with Jostle."""
    return Path(__file__).parent / "shipped"


def here(*names: str) -> Path:
    """Place among what was made on this machine, below JOSTLE_HOME or the user's cache."""
    home = os.environ.get("JOSTLE_HOME")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(home) if home else cache / "jostle").joinpath(*names)
