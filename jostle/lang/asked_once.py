"""Which tables and parts a function hands on at most once, so that nothing need be remembered of them.

A part that is asked for twice is one part: what is bought of parts of it by one column, the first time and the second,
costs the dearest. So a table remembers its parts, as long as it could be asked for them again. Where the text of a
function shows that it is not, as in

    C = {v: grow(D[best = v], atts - best, clss, d - 1, e) for v in best}
    return Node(att=best, children=C)

each part is forgotten when `grow` is done with it. Here D is a parameter; nothing else hands D on; the values of an
attribute differ from each other; and a part that is made where it is given to a function has no name there, nor a
place in a list. Tables that are handed on more than once remember (`Table.remembers`), and so do their parts: that
is settled while a program runs, where they are handed on, whoever does it.

Nothing about privacy rests on this: a part that were forgotten wrongly would be charged for as another one, dearer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from attrs import frozen

from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, KEEPING
from jostle.lang.nodes import target_names

MANY = 2
LIGHT = (
    nodes.BinaryOperation,
    nodes.UnaryOperation,
    nodes.Comparison,
    nodes.Not,
    nodes.BooleanOperation,
    nodes.Attribute,
    nodes.Index,
    nodes.Select,
    nodes.Noised,
)
"""Expressions that hand on none of the values they are made of: of a table, they give something else."""


@frozen
class Once:
    """What a function hands on at most once."""

    names: frozenset[str] = frozenset()
    """Parameters."""
    parts: frozenset[int] = frozenset()
    """The nodes, by identity, of the parts it asks such a parameter for, no value twice."""


def once_in(definition: nodes.FunctionDefinition, parameters: Collection[str], own: Collection[str]) -> Once:
    """The databases that a function hands on at most once; *parameters* are those that it gives no other value."""
    given = {*own, *(each.name for node in nodes.walk(definition) for each in _named(node))}
    counts = {name: _Count(name, given) for name in parameters}
    names = [name for name, count in counts.items() if count.of_body(definition.body) < MANY]
    return Once(frozenset(names), frozenset(id(part) for name in names for part in counts[name].parts))


def _named(node: nodes.Node) -> Iterator[nodes.Name | nodes.ParameterNode | nodes.FunctionDefinition]:
    """Yield what gets a name in a node itself."""
    if isinstance(node, nodes.FunctionDefinition | nodes.Lambda):
        yield from node.parameters
        yield from (node,) if isinstance(node, nodes.FunctionDefinition) else ()
    elif isinstance(node, nodes.Assign | nodes.For | nodes.ComprehensionClause):
        yield from target_names(node.target)


class _Count:
    """Counts how often, on any way through a function, a parameter is handed on or asked for parts: 0, 1 or more.

    Given to a function of the program, it counts once. Wherever else its value goes, in a list, to another name, back
    to the caller, it could be used again and again, and counts as many.
    """

    def __init__(self, name: str, own: Collection[str]) -> None:
        self.name = name
        self.own = own
        self.parts: list[nodes.Part] = []
        """The parts asked of it in a way that asks for no value twice."""

    # Statements

    def of_body(self, body: Sequence[nodes.Statement]) -> int:
        """The largest count on any way through statements."""
        if not body:
            return 0
        first, after = body[0], self.of_body(body[1:])
        match first:
            case nodes.If():
                conditions = sum(
                    self.light(branch.condition) for branch in first.branches if branch.condition is not None
                )
                ways = [
                    self.of_body(branch.body) + (0 if _returns(branch.body) else after) for branch in first.branches
                ]
                return conditions + max(after, *ways)
            case nodes.For():
                return self.light(first.iterable) + _many(self.of_body(first.body)) + after
            case nodes.Return():
                return 0 if first.value is None else self.of(first.value)
            case nodes.Assign() | nodes.ExpressionStatement():
                return self.of(first.value) + after
            case _:
                return _many(self.of(first)) + after

    # Expressions

    def of(self, node: nodes.Node) -> int:
        """The count of an expression whose value may go anywhere."""
        match node:
            case nodes.Name():
                return _many(node.name == self.name)
            case nodes.Lambda():
                return _many(self.of(node.body))
            case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
                return self._of_comprehension(node)
            case nodes.Call():
                return self._of_call(node)
            case nodes.Part():
                values = [each for condition in node.conditions for each in (condition.attribute, condition.value)]
                asked = isinstance(node.table, nodes.Name) and node.table.name == self.name
                return int(asked) + self.light(node.table) + sum(map(self.light, values))
            case _:
                each = self.light if isinstance(node, LIGHT) else self.of
                return sum(map(each, nodes.children(node)))

    def _of_call(self, node: nodes.Call) -> int:
        known, arguments = self._known(node), _arguments(node)
        if known in KEEPING:
            return sum(map(self.of, arguments))
        given = (
            0
            if known
            else sum(isinstance(argument, nodes.Name) and argument.name == self.name for argument in arguments)
        )
        return given + self.light(node.function) + sum(map(self.light, arguments))

    def light(self, node: nodes.Node) -> int:
        """The same for an expression whose own value goes nowhere."""
        return 0 if isinstance(node, nodes.Name) else self.of(node)

    def _of_comprehension(self, node: nodes.Comprehension) -> int:
        outside = self.light(node.clauses[0].iterable)
        inside = sum(map(self.of, _made(node)))
        inside += sum(self.light(condition) for clause in node.clauses for condition in clause.conditions)
        inside += sum(self.light(clause.iterable) for clause in node.clauses[1:])
        part = self._part_by_value(node) if inside == 1 and len(node.clauses) == 1 else None
        if part is None:
            return outside + _many(inside)
        self.parts.append(part)
        return outside + 1

    def _part_by_value(self, node: nodes.Comprehension) -> nodes.Part | None:
        """The part D[a = v] that is an argument of a call in {... for v in a}, if there is one."""
        clause = node.clauses[0]
        if not isinstance(clause.iterable, nodes.Name) or clause.iterable == clause.target:
            return None
        by_value = nodes.Part(nodes.Name(self.name), (nodes.Condition(clause.iterable, clause.target),))
        for each in (inner for made in _made(node) for inner in nodes.walk(made)):
            if isinstance(each, nodes.Call) and self._known(each) not in KEEPING:
                found = next((given for given in _arguments(each) if given == by_value), None)
                if isinstance(found, nodes.Part):
                    return found
        return None

    def _known(self, call: nodes.Call) -> str:
        """The name of the known function that is called; nothing if it is another one."""
        name = call.function.name if isinstance(call.function, nodes.Name) else ""
        return name if name in BUILTINS and name not in self.own else ""


def _many(count: float) -> int:
    return MANY if count else 0


def _made(node: nodes.Comprehension) -> tuple[nodes.ExpressionNode, ...]:
    return (node.entry.key, node.entry.value) if isinstance(node, nodes.DictComprehension) else (node.element,)


def _arguments(call: nodes.Call) -> tuple[nodes.ExpressionNode, ...]:
    return (*call.arguments, *(keyword.value for keyword in call.keywords))


def _returns(body: Sequence[nodes.Statement]) -> bool:
    return bool(body) and isinstance(body[-1], nodes.Return)
