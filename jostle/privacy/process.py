"""Which process this is: one that a fork made is another, whatever its number.

A number comes again once its process has ended, and in a namespace of its own a process is number 1, as the first one
in a container is. So each process also has an object that a fork replaces.
"""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["Process", "this_process"]

Process = tuple[int, object]
"""The number of a process, and what it has to itself."""


def _keeper() -> Callable[[], Process]:
    own = [object()]

    def replace() -> None:
        own[0] = object()

    if hasattr(os, "register_at_fork"):  # where there are forks
        os.register_at_fork(after_in_child=replace)
    return lambda: (os.getpid(), own[0])


this_process = _keeper()
