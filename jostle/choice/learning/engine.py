"""Where work is done: in processes of this machine, in this one alone, or on a Dask cluster, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from jostle.choice.learning.workers import answer_of, done_elsewhere, in_processes, own_options, sent
from jostle.errors import ChoiceError, said_by

__all__ = ["check_engine", "performed"]

Part = TypeVar("Part")
Found = TypeVar("Found")
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
            client.submit(done_elsewhere, sent(function, part), known, pure=False): place
            for place, part in enumerate(parts)
        }
        for future in as_completed(list(waiting)):  # type: ignore[no-untyped-call]  # Dask's
            try:
                written = future.result()
            except Exception as failure:  # noqa: BLE001 - it was lost, or its worker was, for some reason of Dask's
                raise ChoiceError(f"a worker of {engine} failed: {said_by(failure)}") from None
            yield waiting.pop(future), answer_of(written)
