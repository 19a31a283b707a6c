"""Processes and threads that tests start: none depends on how the tests were started, nor is waited for without end.

Who starts tests by `nohup`, or in the background of a script, has them ignore Ctrl-C, and all that they start inherits
it. So what is started here is told to hear it first. Whatever then happens, it is ended after a while, and with it the
waiting for what it prints.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

LIMIT = 900
"""Seconds: far more than anything takes here, on a machine that does a dozen other things."""
HEARING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.{}); os.execvp(sys.argv[1], sys.argv[1:])"


def words_of(command: Sequence[object], *, hears: bool) -> list[str]:
    """Return a command that hears Ctrl-C, or that ignores it, as one that was started in the background does."""
    handler = "SIG_DFL" if hears else "SIG_IGN"
    return [sys.executable, "-c", HEARING.format(handler), *map(str, command)]


def ran(*command: object, check: bool = False, **named: Any) -> subprocess.CompletedProcess[str]:
    """Return what a Python process did, and what it printed."""
    words = words_of((sys.executable, *command), hears=True)
    return subprocess.run(words, capture_output=True, text=True, check=check, timeout=LIMIT, **named)


@contextmanager
def started(*command: object, hears: bool = True, text: bool = True, **named: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a Python process, in a group of its own as a terminal's are, and end it in the end."""
    words = words_of((sys.executable, *command), hears=hears)
    with subprocess.Popen(words, text=text, start_new_session=True, **named) as process:
        alarm = threading.Timer(LIMIT, end, [process])
        alarm.daemon = True
        alarm.start()
        try:
            yield process
        finally:
            end(process)
            alarm.cancel()


def end(process: subprocess.Popen[Any]) -> None:
    """End a process and all of its group, if it has not ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def together(*actions: Callable[[], object]) -> None:
    """Do things at once, each in a thread of its own that begins when all are there."""
    begin = threading.Barrier(len(actions), timeout=LIMIT)

    def act(action: Callable[[], object]) -> None:
        begin.wait(LIMIT)
        action()

    threads = [threading.Thread(target=act, args=(action,), daemon=True) for action in actions]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LIMIT)
    assert not any(each.is_alive() for each in threads)


def child_limit() -> None:
    """Let a forked copy of the tests not outlast its time: nobody else would end it."""
    signal.alarm(LIMIT)
