"""Which known word somebody may have meant who wrote another one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["near"]


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like another one, if one is."""
    candidates = sorted(set(known))
    matches = get_close_matches(name, candidates, n=1, cutoff=0.7)
    if matches:
        return matches[0]
    return next((candidate for candidate in candidates if candidate.lower() == name.lower()), None)
