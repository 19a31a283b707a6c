"""Expressions that ask no table, made into functions: lists, what is made by `for`, operators, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from attrs import define, evolve

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.builtins import KEEPING
from jostle.lang.compiling import NOTHING, UNKNOWN, Compiler, Go, Scope, folded
from jostle.lang.extents import MOST_ITEMS, held, small_enough
from jostle.lang.frames import Frame, bound, named_slot
from jostle.lang.messages import MISTAKES, Stop
from jostle.lang.nodes import defined_in, target_names
from jostle.lang.operations import PLAIN
from jostle.lang.operators import (
    BINARY,
    COMPARE,
    distinct,
    hashable,
    holds_private,
    item_of,
    named_alike,
    negated,
    shown,
)


def listed(compiler: Compiler, node: nodes.List | nodes.Set | nodes.Tuple, scope: Scope) -> Go:
    """A step that puts values together as written."""
    parts = [compiler.expression(item, scope) for item in node.items]
    if isinstance(node, nodes.Tuple):
        return compiler.guarded(lambda frame: held(tuple([part(frame) for part in parts])), node.span)
    if isinstance(node, nodes.Set):
        return compiler.guarded(lambda frame: held(distinct([part(frame) for part in parts])), node.span)
    return compiler.guarded(lambda frame: held([part(frame) for part in parts]), node.span)


def dictionary(compiler: Compiler, node: nodes.Dict, scope: Scope) -> Go:
    """A step that makes a dictionary as written."""
    entries = [(_key(compiler, entry.key, scope), compiler.expression(entry.value, scope)) for entry in node.entries]
    return compiler.guarded(lambda frame: held({key(frame): value(frame) for key, value in entries}), node.span)


def formatted(compiler: Compiler, node: nodes.Formatted, scope: Scope) -> Go:
    """A step that puts a text together of its words and the values in it."""
    parts = [compiler.operand(part, scope) for part in node.parts]

    def run(frame: Frame) -> str:
        values = [part(frame) for part in parts]
        if any(map(holds_private, values)):
            raise Stop("J207 text_running")
        texts = [shown(value) for value in values]
        small_enough(sum(map(len, texts)))
        return "".join(texts)

    return compiler.guarded(run, node.span)


def _key(compiler: Compiler, node: nodes.ExpressionNode, scope: Scope) -> Go:
    """A step that gives a key of a dictionary."""
    value, span = compiler.operand(node, scope), node.span

    def run(frame: Frame) -> Any:
        try:
            key = value(frame)
            return key if type(key) is str else hashable(key)
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


# By `for`


def comprehension(compiler: Compiler, node: nodes.Comprehension, scope: Scope) -> Go:
    """A step that makes a list, a set or a dictionary of what an expression gives, again and again."""
    kept: list[str] = []
    rounds = _rounds_of(compiler, node, scope, evolve(scope, kept=kept))
    run = compiler.guarded(lambda frame: held(rounds(frame)), node.span)
    if not kept:
        return run

    def anew(frame: Frame) -> Any:
        for each in kept:
            frame.names.pop(each, None)
        return run(frame)

    return anew


def _rounds_of(compiler: Compiler, node: nodes.Comprehension, outside: Scope, inner: Scope) -> Go:
    clauses: list[_Clause] = []
    for clause in node.clauses:
        iterated = compiler.listed(clause.iterable, inner if clauses else outside)
        inner = inner.inner([name.name for name in target_names(clause.target)])
        store = compiler.store(clause.target, inner)
        clauses.append(
            _Clause(iterated, store, [compiler.condition(condition, inner) for condition in clause.conditions])
        )
    target = node.clauses[0].target
    alone = len(clauses) == 1 and not clauses[0].conditions and isinstance(target, nodes.Name)
    slot = inner.slots[target.name] if alone and isinstance(target, nodes.Name) else None
    if isinstance(node, nodes.DictComprehension):
        value = compiler.expression(node.entry.value, inner)
        if slot is not None and inner.slot(node.entry.key) == slot:
            return _by_item(compiler, clauses[0].listed, slot, value, node.entry.key.span)
        return _pairs(clauses, _key(compiler, node.entry.key, inner), value)
    operation = None if slot is None else _operation_of(compiler, node.element, inner, slot)
    if operation is not None:
        elements = _mapped(compiler, operation, clauses[0].listed, node.element.span)
    else:
        elements = _elements(clauses, slot, compiler.expression(node.element, inner))
    if isinstance(node, nodes.SetComprehension):
        return compiler.guarded(lambda frame: distinct(elements(frame)), node.span)
    return elements


@define
class _Clause:
    """A `for x in xs if c`."""

    listed: Go
    store: Callable[[Frame, Any], None]
    conditions: Sequence[Callable[[Frame], bool]]


def _rounds(frame: Frame, clauses: Sequence[_Clause], number: int = 0) -> Iterator[None]:
    """Yield once for each combination of items that meets the conditions, when they have their names."""
    clause, last = clauses[number], number + 1 == len(clauses)
    for each in clause.listed(frame):
        clause.store(frame, each)
        if all(holds(frame) for holds in clause.conditions):
            if last:
                yield
            else:
                yield from _rounds(frame, clauses, number + 1)


def _pairs(clauses: Sequence[_Clause], key: Go, value: Go) -> Go:
    def pairs(frame: Frame) -> Any:
        made: dict[Any, Any] = {}
        for _ in _rounds(frame, clauses):
            at = key(frame)
            made[at] = value(frame)
        return made

    return pairs


def _by_item(compiler: Compiler, iterated: Go, slot: str, value: Go, span: Span) -> Go:
    """A step that makes {x: f(x) for x in xs}."""

    def by_item(frame: Frame) -> Any:
        names, made = frame.names, dict[Any, Any]()
        for each in iterated(frame):
            if type(each) is not str:
                try:
                    hashable(each)
                except Stop as mistake:
                    raise compiler.placed(mistake, span) from None
            names[slot] = each
            made[each] = value(frame)
        return made

    return by_item


def _elements(clauses: Sequence[_Clause], slot: str | None, element: Go) -> Go:
    if slot is None:
        return lambda frame: [element(frame) for _ in islice(_rounds(frame, clauses), MOST_ITEMS + 1)]
    iterated = clauses[0].listed

    def elements(frame: Frame) -> list[Any]:
        names = frame.names
        return [element(frame) for names[slot] in iterated(frame)]

    return elements


def _operation_of(
    compiler: Compiler, node: nodes.ExpressionNode, scope: Scope, slot: str
) -> Callable[[Any], Any] | None:
    """The known function that an expression calls with one variable and nothing else, if it is such a call."""
    if not isinstance(node, nodes.Call) or node.keywords or len(node.arguments) != 1:
        return None
    name = node.function.name if isinstance(node.function, nodes.Name) else ""
    if name in scope.slots or name in compiler.own or scope.slot(node.arguments[0]) != slot:
        return None
    return None if name in KEEPING else PLAIN.get(name)


def _mapped(compiler: Compiler, operation: Callable[[Any], Any], iterated: Go, span: Span) -> Go:
    """A step that gives a known function's values for each item."""

    def mapped(frame: Frame) -> list[Any]:
        given = iterated(frame)
        try:
            return list(map(operation, given))
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return mapped


# Items


def index(compiler: Compiler, node: nodes.Index, scope: Scope) -> Go:
    """A step that gives one item of a value."""
    value, place = compiler.operand(node.value, scope), compiler.operand(node.index, scope)
    return compiler.guarded(lambda frame: item_of(value(frame), place(frame)), node.span)


# Functions inside others, with a name or without


def function(compiler: Compiler, node: nodes.Lambda | nodes.FunctionDefinition, scope: Scope) -> Go:
    """A step that makes a function of an expression, or of statements, and the variables around it."""
    own = () if isinstance(node, nodes.Lambda) else [name for name, _, _ in defined_in(node.body)]
    name, slot = ("lambda", "") if isinstance(node, nodes.Lambda) else (node.name, scope.slots[node.name])
    inner = scope.inner([*own, *(parameter.name for parameter in node.parameters)])
    slots = {parameter.name: inner.slots[parameter.name] for parameter in node.parameters}
    defaults = {
        parameter.name: compiler.expression(parameter.default, scope)
        for parameter in node.parameters
        if parameter.default is not None
    }
    body = compiler.expression(node.body, inner) if isinstance(node, nodes.Lambda) else compiler.body(node.body, inner)

    def made(frame: Frame) -> LambdaValue:
        # What it holds are the values that the names have here: what is given to them later was not checked.
        kept = Frame(frame.program, dict(frame.names), frame.epsilon, frame.depth)
        value = LambdaValue(name, slots, {each: default(frame) for each, default in defaults.items()}, body, kept)
        if slot:
            kept.names[slot] = value
        return value

    return made


@define(eq=False)
class LambdaValue:
    """A function without a name, or inside another, with the variables around it."""

    name: str
    slots: Mapping[str, str]
    defaults: Mapping[str, Any]
    body: Go
    frame: Frame

    def __call__(self, caller: Frame, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Its value."""
        values = bound(self.name, tuple(self.slots), self.defaults, given, named)
        names = {**self.frame.names, **{self.slots[name]: value for name, value in values.items()}}
        found = self.body(Frame(caller.program, names, self.frame.epsilon, caller.depth + 1))
        return None if found is NOTHING else found


def binary(compiler: Compiler, node: nodes.BinaryOperation, scope: Scope) -> Go:
    """A step that computes with two values: once, where they do not change."""
    kept = scope.place_to_keep(node)
    compute = _each_time(compiler, node, scope)
    if kept is None:
        return compute

    def once(frame: Frame) -> Any:
        names = frame.names
        found = names.get(kept)
        if found is None:
            found = names[kept] = compute(frame)
        return found

    return once


def _each_time(compiler: Compiler, node: nodes.BinaryOperation, scope: Scope) -> Go:
    return _of_two(compiler, BINARY[node.operator], (node.left, node.right), scope, node.span)


def _of_two(
    compiler: Compiler,
    operate: Callable[[Any, Any], Any],
    sides: tuple[nodes.ExpressionNode, nodes.ExpressionNode],
    scope: Scope,
    span: Span,
) -> Go:
    """A step that does something with two values, of which the second may be a number as written."""
    left, right = (compiler.operand(side, scope) for side in sides)
    number = folded(sides[1], scope, compiler.own)
    known = number is not UNKNOWN

    def run(frame: Frame) -> Any:
        try:
            return operate(left(frame), number if known else right(frame))
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


def unary(compiler: Compiler, node: nodes.UnaryOperation, scope: Scope) -> Go:
    """A step that gives a value with a sign before it."""
    operand = compiler.operand(node.operand, scope)
    if node.operator == "-":
        return compiler.guarded(lambda frame: negated(operand(frame)), node.span)
    return operand


def comparison(compiler: Compiler, node: nodes.Comparison, scope: Scope) -> Go:
    """Whether values that stand in a row compare as written."""
    first, span = compiler.operand(node.left, scope), node.span
    steps = [
        (COMPARE[operator], compiler.operand(right, scope))
        for operator, right in zip(node.operators, node.rights, strict=True)
    ]
    if scope.columns is not None:
        return compiler.guarded(_compared_by_name(node, scope, [first, *(right for _, right in steps)]), span)
    if len(steps) == 1:
        return _of_two(compiler, steps[0][0], (node.left, node.rights[0]), scope, span)

    def run(frame: Frame) -> bool:
        left = first(frame)
        for holds, value in steps:
            right = value(frame)
            if not holds(left, right):
                return False
            left = right
        return True

    return compiler.guarded(run, span)


def _compared_by_name(node: nodes.Comparison, scope: Scope, sides: list[Go]) -> Callable[[Frame], bool]:
    """Whether values compare as written, where a column is equal to whatever its value is called."""
    slots = [_named_slot(each, scope) for each in (node.left, *node.rights)]

    def run(frame: Frame) -> bool:
        for place, operator in enumerate(node.operators):
            left, right = sides[place](frame), sides[place + 1](frame)
            one = None if (slot := slots[place]) is None else frame.names[slot]
            other = None if (slot := slots[place + 1]) is None else frame.names[slot]
            if not named_alike(operator, left, right, one, other):
                return False
        return True

    return run


def _named_slot(node: nodes.ExpressionNode, scope: Scope) -> str | None:
    """The slot of the name of a column's value, if an expression is a column; or None."""
    if not isinstance(node, nodes.Name) or node.name in scope.slots or scope.columns is None:
        return None
    slot = scope.columns.get(node.name)
    return None if slot is None else named_slot(slot)


def opposite(compiler: Compiler, node: nodes.Not, scope: Scope) -> Go:
    """Whether something does not hold."""
    holds = compiler.condition(node.operand, scope)
    return lambda frame: not holds(frame)


def boolean(compiler: Compiler, node: nodes.BooleanOperation, scope: Scope) -> Go:
    """Whether all of several truths hold, or one of them; those after the one that settles it do not run."""
    operands = [compiler.condition(operand, scope) for operand in node.operands]
    settled = node.operator == "or"

    def run(frame: Frame) -> bool:
        for holds in operands:
            if holds(frame) is settled:
                return settled
        return not settled

    return run


def conditional(compiler: Compiler, node: nodes.Conditional, scope: Scope) -> Go:
    """One of two values."""
    test = compiler.condition(node.condition, scope)
    then, other = compiler.expression(node.then, scope), compiler.expression(node.otherwise, scope)
    return lambda frame: then(frame) if test(frame) else other(frame)


VALUES: dict[type[nodes.Node], Callable[..., Go]] = {
    nodes.Formatted: formatted,
    nodes.List: listed,
    nodes.Set: listed,
    nodes.Tuple: listed,
    nodes.Dict: dictionary,
    nodes.ListComprehension: comprehension,
    nodes.SetComprehension: comprehension,
    nodes.DictComprehension: comprehension,
    nodes.Index: index,
    nodes.Lambda: function,
    nodes.FunctionDefinition: function,
    nodes.BinaryOperation: binary,
    nodes.UnaryOperation: unary,
    nodes.Comparison: comparison,
    nodes.Not: opposite,
    nodes.BooleanOperation: boolean,
    nodes.Conditional: conditional,
}
"""What makes a step of each kind of expression that asks no table."""
