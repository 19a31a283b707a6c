"""What rooms below hand over to above: names of functions, which the package itself gives before it is used.

A room names none above it. Yet a probe, asked for a mean, goes by what chooses among Options that answer with one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

UPWARD: dict[str, str] = {}
"""A module and a name in it, by what is handed over."""


def handed_up(what: str) -> Callable[..., Any]:
    """The function that a room above has for it."""
    module, _, name = UPWARD[what].rpartition(".")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
