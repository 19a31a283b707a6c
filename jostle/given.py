"""What callers hand in: of the kind that is asked for, or refused in a sentence before anything is done with it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jostle.errors import JostleError, described

__all__ = ["given_as", "given_flag", "given_items", "given_path"]


def given_as(given: object, kind: type[Any], wanted: str, *, fix: str, error: type[JostleError]) -> Any:
    """What is given, where it is of a kind; refuse it otherwise, in words that hold nothing of what is in it.

    *wanted* is what it is to be: "a probe". *fix* is something to write.
    """
    if isinstance(given, kind):
        return given
    raise error(f"{described(given)} is given where {wanted} is wanted", fix=fix)


def given_flag(given: object, name: str, *, error: type[JostleError], fix: str | None = None) -> bool:
    """True or False, numpy's as well; refuse what is neither."""
    if type(given).__name__ in {"bool", "bool_"}:
        return bool(given)
    raise error(f"{name} is {described(given)}, not True or False", fix=fix or f"{name}=True")


def given_items(given: object, wanted: str, *, fix: str, error: type[JostleError]) -> tuple[Any, ...]:
    """What a list or the like holds; refuse what cannot be gone through. A text is no list of its letters."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return tuple(given)
    raise error(f"{described(given)} is given where {wanted} is wanted", fix=fix)


def given_path(given: object, error: type[JostleError], *, fix: str = "check the path") -> Path:
    """A path, written as a text or a path; refuse what is neither."""
    if isinstance(given, str | os.PathLike):
        found = os.fspath(given)
        if isinstance(found, str):
            return Path(found)
    raise error(f"{described(given)} is given where a path is wanted", fix=fix)
