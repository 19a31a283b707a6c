"""What the Options of a program answer, as far as its text tells: Options of one task can stand in for each other."""

from __future__ import annotations

from jostle.lang import nodes
from jostle.lang.library import library_options, library_tasks
from jostle.lang.scopes import Definition, defined_in

__all__ = ["OF_A_PROGRAM", "task_named", "task_of"]

OF_A_PROGRAM = "program"
"""The task of what answers to none that is known."""
OVER = "over"
"""What a program says of a table that gives a workload its answers."""


def task_named(module: nodes.Module, name: str) -> str:
    """The task of an Option that goes by a name at the top of a program."""
    return task_of(module, nodes.Name(name))


def task_of(module: nodes.Module, definition: nodes.Node) -> str:
    """The task that an Option answers: as the Options it calls, or as what it looks at tells."""
    top: dict[str, Definition] = {}
    for name, _, each in defined_in(module.body):
        top.setdefault(name, each)
    seen, waiting = set[int](), [definition]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        for node in nodes.walk(current):
            word = OVER if isinstance(node, nodes.Over) else node.name if isinstance(node, nodes.Attribute) else ""
            told = next((task.name for task in library_tasks() if task.is_told_by(word)), None)
            if told is not None:
                return told
            if not isinstance(node, nodes.Name) or node.name not in top:
                continue
            known = top[node.name]
            if isinstance(known, nodes.Import) and node.name in library_options():
                return library_options()[node.name].task
            if isinstance(known, nodes.ClassDefinition):
                waiting += [each for each in (known.method("answer"),) if each is not None]
            else:
                waiting.append(known)
    return OF_A_PROGRAM
