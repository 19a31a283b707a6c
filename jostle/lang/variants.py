"""Small changes of a metafeature's definition: another number, another aggregate, a width half or twice as large.

Each is made at every place of the definition that says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from attrs import evolve, fields

from jostle.lang import nodes
from jostle.lang.nodes import show_expression

AnyNode = TypeVar("AnyNode", bound=nodes.Node)
Change = Mapping[nodes.ExpressionNode, nodes.ExpressionNode]
"""What stands in the place of what, wherever that stands."""
TWO = nodes.Number(Fraction(2))
INSTEAD_OF_NOTHING = (1, 3)
"""What is tried in the place of 0."""
SCALED = frozenset({"sqrt", "log"})
"""Functions whose value is a width or a height: half and twice as much is tried."""
OF_GROUPS = ("sum", "max", "min", "mean", "stddev")
"""Functions of a query's groups, each of which may stand in the place of another."""
OF_ROWS = ("count", "sum", "max", "mean", "stddev")
"""Aggregates of a query."""


def variants(
    needed: Sequence[nodes.Statement], definition: nodes.FunctionDefinition
) -> Iterator[tuple[str, nodes.FunctionDefinition, nodes.Module]]:
    """What each small change of a metafeature's definition is, the changed definition, and the program with it."""
    for change in _changes(definition):
        changed = replaced(definition, change)
        what = ", ".join(
            f"{show_expression(new)} in the place of {show_expression(old)}" for old, new in change.items()
        )
        yield what, changed, nodes.Module(tuple(changed if each is definition else each for each in needed))


def _changes(definition: nodes.FunctionDefinition) -> Iterator[Change]:
    """What may be replaced by what, each thing once; widths all at once."""
    expressions = [node for node in nodes.walk(definition) if isinstance(node, nodes.ExpressionNode)]
    priced = [node.spending for node in expressions if isinstance(node, nodes.Noised)]
    for node in dict.fromkeys(each for each in expressions if not any(each is price for price in priced)):
        for other in _instead_of(node):
            yield {node: other}
    scaled = dict.fromkeys(
        node
        for node in expressions
        if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Name) and node.function.name in SCALED
    )
    if scaled:
        for sign in ("*", "/"):
            yield {node: nodes.BinaryOperation(node, sign, TWO) for node in scaled}


def _instead_of(node: nodes.ExpressionNode) -> Iterator[nodes.ExpressionNode]:
    match node:
        case nodes.Number():
            others = (node.value / 2, node.value * 2) if node.value else map(Fraction, INSTEAD_OF_NOTHING)
            yield from (nodes.Number(other) for other in others)
        case nodes.Call(function=nodes.Name(name), arguments=(_,)) if name in OF_GROUPS:
            yield from (evolve(node, function=nodes.Name(other)) for other in OF_GROUPS if other != name)
        case nodes.Select(aggregate=name) if node.value is not None:
            yield from (evolve(node, aggregate=other) for other in OF_ROWS if other != name)
        case _:
            pass


def replaced(node: AnyNode, change: Change) -> AnyNode:
    """A node with others in the place of those that a change names; what it was written as is not kept."""
    changed: dict[str, Any] = {}
    for attribute in fields(type(node)):
        value = getattr(node, attribute.name)
        if isinstance(value, nodes.Node):
            changed[attribute.name] = _put(value, change)
        elif isinstance(value, tuple):
            changed[attribute.name] = tuple(
                _put(item, change) if isinstance(item, nodes.Node) else item for item in value
            )
        elif isinstance(value, nodes.Trivia):
            changed[attribute.name] = nodes.Trivia()
    return evolve(node, **changed)


def _put(node: nodes.Node, change: Change) -> nodes.Node:
    known = change.get(node) if isinstance(node, nodes.ExpressionNode) else None
    return replaced(node, change) if known is None else known
