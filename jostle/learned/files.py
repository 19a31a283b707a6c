"""Where what was learned is kept: what came with Jostle, and files on this machine, found again by marks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jostle.errors import ChoiceError
from jostle.files.kinds import writing


def shipped_folder() -> Path:
    """Folder of what came with Jostle."""
    return Path(__file__).parent / "shipped"


def here(*names: str) -> Path:
    """Place among what was made on this machine, below JOSTLE_HOME or the user's cache."""
    home = os.environ.get("JOSTLE_HOME")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(home) if home else cache / "jostle").joinpath(*names)


def place_of(folder: str, name: str, mark: str) -> Path:
    """The file that what was learned under a name is kept in."""
    return here(folder, f"{file_name(name)}-{mark}.json")


def file_name(name: str) -> str:
    """A name as files can be called."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def mark_of(facts: Iterable[object]) -> str:
    """A mark that changes with any of the facts."""
    digest = hashlib.blake2b(digest_size=10)
    for fact in facts:
        digest.update(f"{fact}\n".encode())
    return digest.hexdigest()


def shortened(value: Any, digits: int) -> Any:
    """Plain data with so many significant digits of each number that is not whole."""
    if isinstance(value, dict):
        return {name: shortened(each, digits) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(each, digits) for each in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def write_whole(path: Path, text: str, what: str, *, fix: str = "name another file") -> None:
    """Write a file in one step, so that nobody reads half of it; what is no file, a pipe say, is written to."""
    with writing(path, ChoiceError, f"the {what}", fix=fix):
        part = path if path.exists() and not path.is_file() else path.with_name(f"{path.name}.{os.getpid()}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        if part != path:
            part.replace(path)
