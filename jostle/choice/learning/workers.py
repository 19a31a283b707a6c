"""Where long work is done, in processes or on a cluster, and how far it is.

A part of the work is independent of all others. It goes to a worker, and its answer comes back, as bytes that are read
here: where they cannot be, it is a sentence. With it go the Options of one's own, which no worker could import: they
may be in a file that a command was given.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeVar

from jostle.errors import ChoiceError, JostleError, said_by
from jostle.interrupts import interrupts_ignored
from jostle.options.base import know, own
from jostle.progress import unshown

Part = TypeVar("Part")
Found = TypeVar("Found")
HERE = "run it with --workers 1: all is then done in this process"
"""What to do where no worker can."""
EXIT_CODE = re.compile(r"(\w+)\((-?\d+)\)")
"""One of those that joblib names: SIGKILL(-9), EXIT(7)."""
_known: list[tuple[bytes, ...]] = []
"""The Options of one's own that this worker was told of last."""


def in_processes(
    function: Callable[[Part], Found], parts: Sequence[Part], *, workers: int | None = None
) -> Iterator[tuple[int, Found]]:
    """Yield the place of each part with what the function gives for it, as they are done; one worker is this process.

    Ctrl-C goes to the whole terminal, and this process alone answers it: the workers it starts do not hear it.
    """
    if workers == 1 or len(parts) < 2:
        for index, part in enumerate(parts):
            yield index, function(part)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - for training and evaluation only
    from joblib.externals.loky.process_executor import BrokenProcessPool  # noqa: PLC0415

    pool = Parallel(n_jobs=workers or -1, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
    known = own_options()
    try:
        with interrupts_ignored():
            done = pool(
                delayed(_placed)(index, sent(function, part), known, os.getpid()) for index, part in enumerate(parts)
            )
        with quiet_interrupts():
            try:
                for place, answer in done:
                    yield place, answer_of(answer)
            finally:
                _close(done)
    except BrokenProcessPool as failure:
        raise ChoiceError(
            f"a worker process {_died_of(str(failure))}",
            why="what the others did is kept where work is noted; what it was at is not",
            fix=f"the same command again; or {HERE}",
        ) from None


def _died_of(said: str) -> str:
    """What a worker died of, by the exit codes that joblib names."""
    signals = {"SIGKILL": "was killed, most likely for want of memory", "SIGTERM": "was told to end"}
    for name, code in EXIT_CODE.findall(said):
        if name in signals:
            return signals[name]
        return f"ended itself, with status {code}" if name == "EXIT" else f"crashed in native code: {name}"
    return f"ended: {said.splitlines()[0] if said else 'nobody knows why'}"


def own_options() -> tuple[bytes, ...]:
    """The Options of one's own that this process knows, each as bytes; one that cannot be written stays here."""
    written = []
    for each in own().values():
        try:
            written.append(_written(each))
        except Exception:  # noqa: BLE001, S112 - it may hold anything; a part that needs it says so
            continue
    return tuple(written)


def sent(function: Callable[[Part], object], part: Part) -> bytes:
    """A part of the work for another process; where it cannot be written, one that says so there."""
    try:
        return _written((function, part))
    except Exception as failure:  # noqa: BLE001 - it may hold anything
        mistake = ChoiceError(f"what is to be done cannot be sent to a worker process: {said_by(failure)}", fix=HERE)
        return _written((_refuse, mistake))


def _refuse(mistake: ChoiceError) -> NoReturn:
    raise mistake


def done_elsewhere(part: bytes, options: tuple[bytes, ...]) -> bytes:
    """Do a part in another process, and return what it gave, or what went wrong, as bytes."""
    try:
        if _known != [options]:
            know(*map(_read, options))
            _known[:] = [options]
        function, given = _read(part)
        with unshown():
            return _written((function(given), None))
    except JostleError as mistake:
        return _written((None, mistake))
    except (Exception, SystemExit) as failure:  # noqa: BLE001 - whatever it is, it is to be told
        last = traceback.extract_tb(failure.__traceback__)[-1]
        place = f"{last.filename}, line {last.lineno}"
        return _written((None, ChoiceError(f"a worker process failed: {said_by(failure)}", why=place, fix=HERE)))


def _written(value: object) -> bytes:
    """A value as bytes, with what no other process could import."""
    from joblib import wrap_non_picklable_objects  # noqa: PLC0415 - for training and evaluation only

    return pickle.dumps(wrap_non_picklable_objects((value,), keep_wrapper=False))


def _read(written: bytes) -> Any:
    (value,) = pickle.loads(written)  # noqa: S301 - this program, or its worker, wrote it
    return value


def answer_of(written: bytes) -> Any:
    """What a part gave in another process; raise what went wrong there."""
    try:
        gave, mistake = _read(written)
    except Exception as failure:  # noqa: BLE001 - it may be anything that an Option made
        raise ChoiceError(f"a worker process gave what cannot be read: {said_by(failure)}", fix=HERE) from None
    if mistake is not None:
        raise mistake
    return gave


def _close(done: Generator[object, None, None]) -> None:
    """End the work, if whoever asked for it wants no more: joblib's advice on that is for nobody here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*still being processed by the workers", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*successfully executed but not used", category=UserWarning)
        done.close()


def _placed(place: int, part: bytes, options: tuple[bytes, ...], parent: int) -> tuple[int, bytes]:
    if os.getppid() != parent:
        os._exit(1)  # the parent was killed: nobody would hear of what is done here
    # For workers that were started later, when others had ended.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return place, done_elsewhere(part, options)


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


PROCESSES, THREADS, DASK = "processes", "threads", "dask://"


def check_engine(engine: str) -> None:
    """Refuse an engine that there is not."""
    if engine not in {PROCESSES, THREADS} and not engine.startswith(DASK):
        raise ChoiceError(f"there is no engine {engine!r}", fix=f"{PROCESSES}, {THREADS}, or {DASK}HOST:PORT")


def performed(
    function: Callable[[Part], Found], parts: Sequence[Part], *, engine: str = PROCESSES, workers: int | None = None
) -> Iterator[tuple[int, Found]]:
    """Yield the place of each part with what the function gives for it, as they are done.

    *engine* is "processes", "threads" (this process alone, for small things), or "dask://HOST:PORT".
    """
    check_engine(engine)
    if engine.startswith(DASK) and parts:
        yield from _on_dask(function, parts, engine)
    else:
        yield from in_processes(function, parts, workers=1 if engine == THREADS else workers)


def _on_dask(function: Callable[[Part], Found], parts: Sequence[Part], engine: str) -> Iterator[tuple[int, Found]]:
    try:
        from distributed import Client, as_completed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ChoiceError("Dask is not installed", fix='pip install "jostle[dask]"') from None
    try:
        client = Client(engine.replace(DASK, "tcp://"), timeout="10s")  # type: ignore[no-untyped-call]  # Dask's
    except OSError:
        raise ChoiceError(f"no scheduler answers at {engine}", fix="dask scheduler, then dask worker") from None
    with client:
        known = own_options()
        # The work has effects on nothing, but equal parts are never the same one.
        waiting = {
            client.submit(done_elsewhere, sent(function, part), known, pure=False): index
            for index, part in enumerate(parts)
        }
        for future in as_completed(list(waiting)):  # type: ignore[no-untyped-call]  # Dask's
            try:
                written = future.result()
            except Exception as failure:  # noqa: BLE001 - it was lost, or its worker was, for some reason of Dask's
                raise ChoiceError(f"a worker of {engine} failed: {said_by(failure)}") from None
            yield waiting.pop(future), answer_of(written)
