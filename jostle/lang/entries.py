"""What a program runs if nobody says what."""

from __future__ import annotations

from jostle.lang import nodes
from jostle.lang.frames import Loaded
from jostle.lang.roots import used_elsewhere

__all__ = ["default_entry", "runs_something"]


def runs_something(module: nodes.Module) -> bool:
    """Whether there is anything in a program but imports and comments."""
    return any(not isinstance(statement, nodes.Import) for statement in module.body)


def default_entry(program: Loaded) -> str | None:
    """`main`, or the last function, Option or choice maker that nothing else in the program uses."""
    if "main" in program.functions:
        return "main"
    used = used_elsewhere(program.module)
    able = [*program.functions, *program.options, *program.makers]
    order = list(program.globals)
    free = sorted((name for name in able if name not in used), key=order.index)
    return free[-1] if free else None
