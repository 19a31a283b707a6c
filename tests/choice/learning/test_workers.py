"""Worker processes: they know the Options that this one knows, and what ends one is told in a sentence."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from distributed import LocalCluster

from jostle.choice.learning.workers import performed, quiet_interrupts
from jostle.errors import ChoiceError
from jostle.interrupts import interrupts_ignored


def double(part: int) -> int:
    return 2 * part


def killed(part: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ended(part: int) -> None:
    os._exit(7)


class OddError(Exception):
    """One that cannot be made again from what is pickled of it."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def fails(part: int) -> None:
    raise OddError("this", "that")


class Unread:
    """A value that is written, and cannot be read."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return int, ("no number",)


def gives_unread(part: int) -> Unread:
    return Unread()


def gives_a_lock(part: int) -> Any:
    return threading.Lock()


def results(function: Callable[[Any], object], *parts: object) -> dict[int, object]:
    return dict(performed(function, parts, workers=2))


def test_parts_come_back_by_their_places() -> None:
    assert results(double, 1, 2, 3) == {0: 2, 1: 4, 2: 6}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # loky's own, as work is given up
@pytest.mark.parametrize(
    ("function", "parts", "said"),
    [
        (killed, (1, 2), "a worker process was killed, most likely for want of memory"),
        (ended, (1, 2), "a worker process ended itself, with status 7"),
        (fails, (1, 2), "a worker process failed: OddError: this and that"),
        (double, (1, Unread()), "a worker process failed: ValueError: invalid literal"),
        (gives_unread, (1, 2), "a worker process gave what cannot be read: ValueError: invalid literal"),
        (gives_a_lock, (1, 2), "a worker process failed: TypeError: cannot pickle"),
        (double, (1, threading.Lock()), "what is to be done cannot be sent to a worker process: TypeError"),
    ],
    ids=["killed", "ended", "failing", "unread", "unread-answer", "unwritten-answer", "unwritten"],
)
def test_what_a_worker_dies_of_is_a_sentence(
    function: Callable[[Any], object], parts: tuple[object, ...], said: str
) -> None:
    with pytest.raises(ChoiceError) as caught:
        results(function, *parts)

    assert said in caught.value.title
    assert "--workers 1" in (caught.value.fix or "")
    assert results(double, 1, 2) == {0: 2, 1: 4}, "there are workers again"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_that_loses_a_worker_says_so() -> None:
    """By joblib's backend for clusters it would wait for ever."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made:  # type: ignore[no-untyped-call]  # Dask has no types
        engine = str(made.scheduler_address).replace("tcp://", "dask://")
        with pytest.raises(ChoiceError, match=r"a worker of dask://.* failed: KilledWorker"):
            list(performed(ended, [1], engine=engine))


def test_whoever_was_started_to_ignore_ctrl_c_ignores_it_among_workers() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_ignored(), quiet_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with quiet_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
