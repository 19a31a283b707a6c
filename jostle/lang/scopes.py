"""Which names a part of a program defines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jostle.errors import Span
from jostle.lang import nodes

Definition = nodes.Import | nodes.FunctionDefinition | nodes.ClassDefinition | nodes.Assign | nodes.For | nodes.Broken
"""A statement that gives something a name."""


def target_names(target: nodes.Name | nodes.Tuple) -> Iterator[nodes.Name]:
    """The names that an assignment or a loop binds."""
    if isinstance(target, nodes.Name):
        yield target
    else:
        yield from (item for item in target.items if isinstance(item, nodes.Name))


def defined_in(body: Sequence[nodes.Statement]) -> Iterator[tuple[str, Span, Definition]]:  # noqa: C901, PLR0912 - one case per kind of node
    """Each name that statements define, the place of the name and its definition, not looking into functions."""
    for statement in body:
        match statement:
            case nodes.Import():
                for each in statement.names:
                    yield each.name, each.span, statement
            case nodes.FunctionDefinition() | nodes.ClassDefinition():
                yield statement.name, statement.name_span, statement
            case nodes.Assign():
                for name in target_names(statement.target):
                    yield name.name, name.span, statement
            case nodes.For():
                for name in target_names(statement.target):
                    yield name.name, name.span, statement
                yield from defined_in(statement.body)
            case nodes.If():
                for branch in statement.branches:
                    yield from defined_in(branch.body)
            case nodes.Broken():
                for word in statement.words:
                    yield word, statement.span, statement
                yield from defined_in(statement.body)
            case _:
                pass


def symbols(module: nodes.Module) -> frozenset[str]:
    """The names that stand for themselves: alternatives of labelled choices that nothing defines."""
    found: set[str] = set()
    for node in nodes.walk(module):
        if isinstance(node, nodes.Choose):
            found.update(item.name for item in nodes.items_of(node.among) if isinstance(item, nodes.Name))
    return frozenset(found)


def named_slot(slot: str) -> str:
    """The slot of the name of a column's value, beside the value."""
    return f"{slot}, with its names"
