"""Work that is done for all who wait for it at once, by one of them: many threads share one write to the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from attrs import define, field

from jostle.errors import JostleError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Together(Generic[Item, Result]):
    """Work that is done for all who wait for it at once: one of them does it, and the others have what came of it."""

    def __init__(self, work: Callable[[Sequence[Item]], Sequence[Result]]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._waiting: list[_Wanted[Item, Result]] = []
        self._busy = False

    def __call__(self, item: Item) -> Result:
        """What came of an item; where the work fails, it fails for all that were in it."""
        wanted: _Wanted[Item, Result] = _Wanted(item)
        with self._lock:
            self._waiting.append(wanted)
            leads, self._busy = not self._busy, True
        if not leads:
            wanted.ready.acquire()
        if not wanted.done:
            self._do(wanted)
        if wanted.failure is not None:
            raise wanted.failure.anew() if isinstance(wanted.failure, JostleError) else wanted.failure
        return wanted.result[0]

    def _do(self, own: _Wanted[Item, Result]) -> None:
        """Do the work of all who wait, and let the first who came meanwhile do the next."""
        with self._lock:
            batch, self._waiting = self._waiting, []
        try:
            results = self._work([wanted.item for wanted in batch])
            for wanted, result in zip(batch, results, strict=True):
                wanted.result.append(result)
        except BaseException as failure:
            for wanted in batch:
                wanted.failure = failure
            if not isinstance(failure, Exception):
                raise
        finally:
            with self._lock:
                self._busy = bool(self._waiting)
                following = self._waiting[:1]
            for wanted in following:
                wanted.ready.release()
            for wanted in batch:
                wanted.done = True
                if wanted is not own:
                    wanted.ready.release()


@define(eq=False)
class _Wanted(Generic[Item, Result]):
    item: Item
    result: list[Result] = field(factory=list)
    failure: BaseException | None = None
    done: bool = False
    ready: threading.Lock = field(init=False)
    """Held until it is done, or whoever wants it is to do it; let go once."""

    @ready.default
    def _make_held(self) -> threading.Lock:
        held = threading.Lock()
        held.acquire()
        return held
