"""Where a program is entered from outside, and which parameters are databases, as the text tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.guard import Mode
from jostle.lang.nodes import defined_in, target_names

TABLE = "table"
"""What known functions call a database that they are given."""
CALLED_SO = {"db", "D"}
"""What databases are called in the thesis."""
OTHERS_HAVE = {"pred", "size", "votes", "att", "children", "name", "values"}
"""Fields of trees and attributes."""


def table_parameters(module: nodes.Module, definition: nodes.FunctionDefinition) -> tuple[int, ...]:
    """The places of the parameters that are used as databases."""
    functions = {**nodes.functions_of(nodes.walk(module)), **nodes.functions_of(module.body)}
    known: dict[str, set[str]] = {name: set() for name in functions}
    known.setdefault(definition.name, set())
    everything = {**functions, definition.name: definition}
    options = _options(module)
    inside = {name: list(nodes.walk(function)) for name, function in everything.items()}
    changed = True
    while changed:
        changed = False
        for name, function in everything.items():
            own = {parameter.name for parameter in function.parameters}
            found = own & CALLED_SO | set(_used(inside[name], own, everything, known, options))
            if found - known[name]:
                known[name] |= found
                changed = True
    return tuple(
        index for index, parameter in enumerate(definition.parameters) if parameter.name in known[definition.name]
    )


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
            found.update(name.name for name in statement.names)
        elif isinstance(statement, nodes.ClassDefinition) or (
            isinstance(statement, nodes.FunctionDefinition) and statement.is_option
        ):
            found.add(statement.name)
    assigned = [node for node in nodes.walk(module) if isinstance(node, nodes.Assign)]
    before = -1
    while len(found) > before:
        before = len(found)
        for assign in assigned:
            if _is_option(assign.value, found):
                found.update(name.name for name in target_names(assign.target))
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


@frozen
class Root:
    """A function that is called from outside."""

    name: str
    """Its own, or that of its class and its own."""
    definition: nodes.FunctionDefinition
    tables: tuple[int, ...]
    """The places of its databases."""
    mode: Mode = "plain"
    """What it is called for: what a metafeature buys is paid from its maker's share, and a prediction buys nothing."""

    @property
    def priced(self) -> bool:
        """Whether it spends what its caller allots."""
        return self.mode == "plain"


def entered(module: nodes.Module) -> Iterator[Root]:
    """Yield the functions that are called from outside."""
    facts, judged = metafeatures(module), judges(module)
    used = used_elsewhere(module)
    for statement in module.body:
        if isinstance(statement, nodes.ClassDefinition):
            if (answer := statement.method("answer")) is not None:
                yield Root(f"{statement.name}.answer", answer, (0,))
            if (predict := statement.method("predict")) is not None:
                yield Root(f"{statement.name}.predict", predict, (), "predict")
        elif isinstance(statement, nodes.FunctionDefinition):
            if statement.is_option:
                yield Root(statement.name, statement, (0,))
            elif statement.name in facts:
                yield Root(statement.name, statement, (0,), "metafeature")
            elif statement.name in judged:
                yield Root(statement.name, statement, ())
            elif statement.name not in used:
                yield Root(statement.name, statement, table_parameters(module, statement))


def roots(module: nodes.Module) -> Iterator[Root]:
    """Yield the functions that are called with a database from outside."""
    return (root for root in entered(module) if root.tables)


def metafeatures(module: nodes.Module) -> frozenset[str]:
    """The functions that are marked as metafeatures, or inform a choice maker, by way of other names or not."""
    marked = (name for name, function in nodes.functions_of(module.body).items() if "Metafeature" in function.marks)
    return frozenset(marked) | _named_in(module, [maker.informed_by for maker in _makers(module)])


def judges(module: nodes.Module) -> frozenset[str]:
    """The functions that choice makers are judged by: they see answers and the truth of public databases."""
    return _named_in(module, [maker.judged_by for maker in _makers(module)])


def _makers(module: nodes.Module) -> list[nodes.MakeChoiceMaker]:
    return [node for node in nodes.walk(module) if isinstance(node, nodes.MakeChoiceMaker)]


def _named_in(module: nodes.Module, expressions: Iterable[nodes.ExpressionNode | None]) -> frozenset[str]:
    """The functions that expressions name, or names that they use stand for."""
    functions = set(nodes.functions_of(module.body))
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


def used_elsewhere(module: nodes.Module) -> frozenset[str]:
    """The names that the program itself uses, outside of what they stand for."""
    found: set[str] = set()
    for statement in module.body:
        own = statement.name if isinstance(statement, nodes.FunctionDefinition | nodes.ClassDefinition) else None
        found.update(node.name for node in nodes.walk(statement) if isinstance(node, nodes.Name) and node.name != own)
    return frozenset(found)


def reached_from(module: nodes.Module, entry: str) -> frozenset[str]:
    """The names at the top of a program that something there comes to, itself among them."""
    named: dict[str, set[str]] = {}
    for name, _, definition in defined_in(module.body):
        inside = {node.name for node in nodes.walk(definition) if isinstance(node, nodes.Name)}
        named.setdefault(name, set()).update(inside)
    found: set[str] = set()
    waiting = {entry}
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= named.get(name, set()) & set(named) - found
    return frozenset(found)


def runs_something(module: nodes.Module) -> bool:
    """Whether there is anything in a program but imports and comments."""
    return any(not isinstance(statement, nodes.Import) for statement in module.body)
