"""Where a program is entered: the functions that are called with a database from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from jostle.lang import nodes
from jostle.lang.entries import used_elsewhere
from jostle.lang.scopes import defined_in
from jostle.lang.tables_used import table_parameters

__all__ = ["Root", "judges", "metafeatures", "reached_from", "roots"]


@frozen
class Root:
    """A function that is called from outside."""

    name: str
    """Its own, or that of its class and its own."""
    definition: nodes.FunctionDefinition
    tables: tuple[int, ...]
    """The places of its databases."""
    priced: bool = True
    """Whether it spends what its caller allots; what a metafeature buys is paid from its maker's share."""


def roots(module: nodes.Module) -> Iterator[Root]:
    """Yield the functions that are called with a database from outside."""
    facts, judged = metafeatures(module), judges(module)
    used = used_elsewhere(module)
    for statement in module.body:
        if isinstance(statement, nodes.ClassDefinition) and (answer := statement.method("answer")) is not None:
            yield Root(f"{statement.name}.answer", answer, (0,))
        elif isinstance(statement, nodes.FunctionDefinition):
            if statement.is_option:
                yield Root(statement.name, statement, (0,))
            elif statement.name in facts:
                yield Root(statement.name, statement, (0,), priced=False)
            elif statement.name in judged:
                continue
            elif statement.name not in used and (tables := table_parameters(module, statement)):
                yield Root(statement.name, statement, tables)


def metafeatures(module: nodes.Module) -> frozenset[str]:
    """The functions that are marked as metafeatures, or inform a choice maker, by way of other names or not."""
    marked = {
        each.name for each in module.body if isinstance(each, nodes.FunctionDefinition) and "Metafeature" in each.marks
    }
    return frozenset(marked) | _named_in(module, [maker.informed_by for maker in _makers(module)])


def judges(module: nodes.Module) -> frozenset[str]:
    """The functions that choice makers are judged by: they see answers and the truth of public databases."""
    return _named_in(module, [maker.judged_by for maker in _makers(module)])


def _makers(module: nodes.Module) -> list[nodes.MakeChoiceMaker]:
    return [node for node in nodes.walk(module) if isinstance(node, nodes.MakeChoiceMaker)]


def _named_in(module: nodes.Module, expressions: Iterable[nodes.ExpressionNode | None]) -> frozenset[str]:
    """The functions that expressions name, or names that they use stand for."""
    functions = {each.name for each in module.body if isinstance(each, nodes.FunctionDefinition)}
    assigned: dict[str, list[nodes.ExpressionNode]] = {}
    for statement in module.body:
        if isinstance(statement, nodes.Assign) and isinstance(statement.target, nodes.Name):
            assigned.setdefault(statement.target.name, []).append(statement.value)
    found: set[str] = set()
    waiting = [expression for expression in expressions if expression is not None]
    while waiting:
        for node in nodes.walk(waiting.pop()):
            if isinstance(node, nodes.Name):
                found |= {node.name} & functions
                waiting += assigned.pop(node.name, [])
    return frozenset(found)


def reached_from(module: nodes.Module, entry: str) -> frozenset[str]:
    """The names at the top of a program that something there comes to, itself among them."""
    named: dict[str, set[str]] = {}
    for name, _, definition in defined_in(module.body):
        inside = {each.name for each in nodes.walk(definition) if isinstance(each, nodes.Name)}
        named.setdefault(name, set()).update(inside)
    found: set[str] = set()
    waiting = {entry}
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= named.get(name, set()) & set(named) - found
    return frozenset(found)
