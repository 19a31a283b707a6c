"""Remember what functions of public values gave, and nothing of how often they were asked.

`functools.lru_cache` counts, and tells everybody who asks (`cache_info`). Among rows, how often a function is called
may hang on them: once for each stretch of a table, or not at all where no row is left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

__all__ = ["Remembered", "remembered"]

Given = ParamSpec("Given")
Found = TypeVar("Found")
_NOTHING = object()


class Remembered(Generic[Given, Found]):
    """A function with what it gave for some arguments, which nothing here leads to."""

    __slots__ = ("_ask", "forget")

    def __init__(self, ask: Callable[Given, Found], forget: Callable[[], None]) -> None:
        self._ask = ask
        self.forget = forget
        """Drop all that is remembered."""

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Found:
        """What the function gives."""
        return self._ask(*given, **named)


def remembered(most: int) -> Callable[[Callable[Given, Found]], Remembered[Given, Found]]:
    """Let a function of hashable arguments, given by position, remember so many results; the oldest one goes first."""

    def keeping(function: Callable[Given, Found]) -> Remembered[Given, Found]:
        kept: dict[tuple[object, ...], Found] = {}
        lock = threading.Lock()

        def ask(*given: Given.args, **named: Given.kwargs) -> Found:
            if named:
                return function(*given, **named)
            found = kept.get(given, _NOTHING)
            if found is not _NOTHING:
                return found  # type: ignore[return-value]  # it is what was kept
            made = function(*given, **named)
            with lock:
                if len(kept) >= most and given not in kept:
                    del kept[next(iter(kept))]
                kept[given] = made
            return made

        def forget() -> None:
            with lock:
                kept.clear()

        return Remembered(ask, forget)

    return keeping
