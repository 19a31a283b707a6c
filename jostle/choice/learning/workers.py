"""Worker processes: run many independent parts, and take an interruption quietly."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from jostle.errors import ChoiceError
from jostle.interrupts import interrupts_ignored

__all__ = ["in_processes", "quiet_interrupts"]

Part = TypeVar("Part")
Found = TypeVar("Found")


def in_processes(
    function: Callable[[Part], Found], parts: Sequence[Part], *, workers: int | None = None
) -> Iterator[tuple[int, Found]]:
    """Yield the place of each part with what the function gives for it, as they are done; one worker is this process.

    Ctrl-C goes to the whole terminal, and this process alone answers it: the workers it starts do not hear it.
    """
    if workers == 1 or len(parts) < 2:
        for place, part in enumerate(parts):
            yield place, function(part)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - for training and evaluation only
    from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415

    pool = Parallel(n_jobs=workers or -1, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
    try:
        with interrupts_ignored():
            done = pool(delayed(_placed)(function, place, part, os.getpid()) for place, part in enumerate(parts))
        with quiet_interrupts():
            try:
                for each in done:  # noqa: UP028 - handed on, so that the end of it is met here
                    yield each
            finally:
                _close(done)
    except TerminatedWorkerError:
        raise ChoiceError(
            "a worker process was killed, probably for want of memory",
            why="the system ends what takes more memory than there is",
            fix="run the same command again, with --workers 1",
        ) from None


def _close(done: Generator[object, None, None]) -> None:
    """End the work, if whoever asked for it wants no more: joblib's advice on that is for nobody here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*still being processed by the workers", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*successfully executed but not used", category=UserWarning)
        done.close()


def _placed(function: Callable[[Part], Found], place: int, part: Part, parent: int) -> tuple[int, Found]:
    if os.getppid() != parent:
        os._exit(1)  # the parent was killed: nobody would hear of what is done here
    # For workers that were started later, when others had ended.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return place, function(part)


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """Keep a thread of joblib's from printing a traceback where Ctrl-C ends the work.

    It feeds the workers, and trips over what is cleared away under it when they are ended. Where Ctrl-C is ignored,
    since this was started by `nohup` or in the background of a script, it stays so.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    interrupted = threading.Event()
    before, shown = signal.getsignal(signal.SIGINT), threading.excepthook

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        if callable(before):
            before(number, frame)

    def show(mistake: threading.ExceptHookArgs) -> None:
        ours = mistake.thread is not None and mistake.thread.name == "ExecutorManagerThread"
        if not (interrupted.is_set() and ours):
            shown(mistake)

    signal.signal(signal.SIGINT, note)
    threading.excepthook = show
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if not interrupted.is_set():
            threading.excepthook = shown
