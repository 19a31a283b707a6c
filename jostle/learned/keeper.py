"""What was learned is kept on this machine, a file for each, found again by a mark of all that it was learned from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from jostle.errors import ChoiceError
from jostle.learned.places import here

__all__ = ["mark_of", "place_of", "write_whole"]


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


def write_whole(path: Path, text: str, what: str, *, fix: str = "name another file") -> None:
    """Write a file in one step, so that nobody reads half of it; what is no file, a pipe say, is written to."""
    part = path if path.exists() and not path.is_file() else path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        if part != path:
            part.replace(path)
    except OSError as mistake:
        raise ChoiceError(f"cannot write the {what} {path}: {mistake.strerror}", fix=fix) from None
