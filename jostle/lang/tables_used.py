"""Which parameters of a function are databases, judged by how it uses them."""

from __future__ import annotations

from collections.abc import Iterator

from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.scopes import target_names

__all__ = ["table_parameters"]

TABLE = "table"
"""What known functions call a database that they are given."""
CALLED_SO = {"db", "D"}
"""What databases are called in the thesis."""
OTHERS_HAVE = {"pred", "size", "votes", "att", "children", "name", "values"}
"""Fields of trees and attributes."""


def table_parameters(module: nodes.Module, definition: nodes.FunctionDefinition) -> tuple[int, ...]:
    """The places of the parameters that are used as databases."""
    functions = {each.name: each for each in module.body if isinstance(each, nodes.FunctionDefinition)}
    known: dict[str, set[str]] = {name: set() for name in functions}
    known.setdefault(definition.name, set())
    everything = {**functions, definition.name: definition}
    options = _options(module)
    inside = {name: list(nodes.walk(each)) for name, each in everything.items()}
    changed = True
    while changed:
        changed = False
        for name, each in everything.items():
            own = {parameter.name for parameter in each.parameters}
            found = own & CALLED_SO | set(_used(inside[name], own, everything, known, options))
            if found - known[name]:
                known[name] |= found
                changed = True
    return tuple(place for place, each in enumerate(definition.parameters) if each.name in known[definition.name])


def _used(
    inside: list[nodes.Node],
    own: set[str],
    functions: dict[str, nodes.FunctionDefinition],
    known: dict[str, set[str]],
    options: set[str],
) -> Iterator[str]:
    """Yield which of a function's own parameters stand in it where a database does."""
    for node in inside:
        for place in _places(node, functions, known, options):
            if isinstance(place, nodes.Name) and place.name in own:
                yield place.name


def _options(module: nodes.Module) -> set[str]:
    """The names that Options go by: their own, and those of variables that hold one."""
    found: set[str] = set()
    for statement in module.body:
        if isinstance(statement, nodes.Import) and statement.module != "public":
            found.update(each.name for each in statement.names)
        elif isinstance(statement, nodes.ClassDefinition) or (
            isinstance(statement, nodes.FunctionDefinition) and statement.is_option
        ):
            found.add(statement.name)
    assigned = [each for each in nodes.walk(module) if isinstance(each, nodes.Assign)]
    before = -1
    while len(found) > before:
        before = len(found)
        for each in assigned:
            if _is_option(each.value, found):
                found.update(name.name for name in target_names(each.target))
    return found


def _is_option(node: nodes.ExpressionNode, options: set[str]) -> bool:
    """Whether an expression is an Option: by its name, with parameters, or a choice maker."""
    if isinstance(node, nodes.Call) and not node.arguments and node.keywords:
        node = node.function
    return isinstance(node, nodes.MakeChoiceMaker) or (isinstance(node, nodes.Name) and node.name in options)


def _places(  # noqa: C901 - one case per kind
    node: nodes.Node, functions: dict[str, nodes.FunctionDefinition], known: dict[str, set[str]], options: set[str]
) -> Iterator[nodes.ExpressionNode]:
    """Yield the expressions in a node that stand where a database does."""
    match node:
        case nodes.Part() | nodes.Select():
            yield node.table
        case nodes.Attribute() if node.name not in OTHERS_HAVE:
            yield node.value
        case nodes.Call(function=nodes.Call() as made) if _is_option(made, options):
            yield from node.arguments[:1]
        case nodes.Call(function=nodes.Name(name=name)):
            arguments = list(node.arguments)
            named = {keyword.name: keyword.value for keyword in node.keywords}
            if name in functions and not functions[name].is_option:
                wanted = [each.name for each in functions[name].parameters]
                for parameter, value in [*zip(wanted, arguments, strict=False), *named.items()]:
                    if parameter in known[name]:
                        yield value
            elif name in options:
                yield from arguments[:1]
                yield from (value for key, value in named.items() if key == "db")
            elif name in BUILTINS and TABLE in BUILTINS[name].parameters:
                place = BUILTINS[name].parameters.index(TABLE)
                yield from arguments[place : place + 1]
                yield from (value for key, value in named.items() if key == TABLE)
        case nodes.Noised():
            yield from _counted(node.value)
        case _:
            pass


def _counted(node: nodes.ExpressionNode) -> Iterator[nodes.ExpressionNode]:
    """Yield what an expression that is bought counts the rows of: alone, in sums and in differences."""
    match node:
        case nodes.Call(function=nodes.Name(name="len")):
            yield from node.arguments
        case nodes.BinaryOperation() if node.operator in {"+", "-"}:
            yield from _counted(node.left)
            yield from _counted(node.right)
        case _:
            pass
