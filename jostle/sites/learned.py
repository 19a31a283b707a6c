"""Policies that were learned on this machine for the labelled choices of a program.

What keeps and reads them is built on Options, so it is found by name, when a choice first asks for a policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from jostle.sites.messages import Policy

__all__ = ["CHANGED", "UNUSABLE", "learned_for", "learning_anew", "nothing_learned"]

CHANGED = "the first alternative listed: the program has changed since its choices were learned"
"""Why, where what was learned is of another text."""
UNUSABLE = "the first alternative listed: what was learned cannot be used: "
"""How that begins, where what was learned cannot be read."""
KEEPER = "jostle.choice.policies.kept"

_left_out: ContextVar[bool] = ContextVar("jostle_nothing_learned", default=False)


@contextmanager
def nothing_learned() -> Iterator[None]:
    """Let programs run as if nothing had been learned before: what is learned anew does not depend on it."""
    token = _left_out.set(True)
    try:
        yield
    finally:
        _left_out.reset(token)


def learning_anew() -> bool:
    """Return whether programs run as if nothing had been learned."""
    return _left_out.get()


def learned_for(name: str, mark: str, program: str) -> Mapping[str, Policy]:
    """Return what was learned for an Option or function of a program, by label.

    *mark* stands for the text that it has now. Where only another text was trained, its labels come with policies that
    take the first alternative, and say why.
    """
    if learning_anew():
        return {}
    keeper: Any = import_module(KEEPER)
    found: Mapping[str, Policy] = keeper.policies_for(name, mark, program)
    return found
