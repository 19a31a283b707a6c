"""Policies that come with Jostle, by the names of the programs they were learned for.

What learns and reads policies is built on Options, so Options do not import it. It puts readers for its policies here
instead, and is found by name, when policies are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from jostle.sites.messages import Policy

__all__ = ["ship", "shipped"]

Policies = Mapping[str, Policy]

SHIPPERS = ("jostle.choice.policies.policy",)
"""Modules that bring policies, on import."""

_readers: dict[str, Callable[[], Policies]] = {}
_read: dict[str, Policies] = {}


def ship(program: str, reader: Callable[[], Policies]) -> None:
    """Let *reader* bring the policies of a program, by label, when they are first asked for."""
    _readers[program] = reader
    _read.pop(program, None)


def shipped(program: str) -> Policies:
    """Return the policies that come with a program; none if there are none."""
    for module in SHIPPERS:
        import_module(module)
    if program not in _read and program in _readers:
        _read[program] = _readers[program]()
    return _read.get(program, {})
