"""Arithmetic, comparisons and truths of a program, made into functions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.lang import nodes
from jostle.lang.arithmetic import BINARY, kind_of, negated
from jostle.lang.folding import UNKNOWN, folded
from jostle.lang.frames import Frame
from jostle.lang.listing import items
from jostle.lang.scopes import named_slot
from jostle.lang.slots import Go, Scope
from jostle.lang.stops import MISTAKES, Stop
from jostle.lang.value_names import OneValue
from jostle.lang.values import Private

if TYPE_CHECKING:
    from jostle.lang.compiling import Compiler

__all__ = ["COMPARE", "KINDS", "named_alike"]


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
    operate, span = BINARY[node.operator], node.span
    left, right = compiler.operand(node.left, scope), compiler.operand(node.right, scope)
    number = folded(node.right, scope, compiler.own)
    if number is not UNKNOWN:

        def with_number(frame: Frame) -> Any:
            try:
                return operate(left(frame), number)
            except MISTAKES as mistake:
                raise compiler.placed(mistake, span) from None

        return with_number

    def run(frame: Frame) -> Any:
        try:
            return operate(left(frame), right(frame))
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
        return compiler.guarded(_of_columns(node, scope, [first, *(right for _, right in steps)]), span)
    if len(steps) == 1:
        return _compared_once(compiler, node, scope, first, *steps[0])

    def run(frame: Frame) -> bool:
        left = first(frame)
        for holds, value in steps:
            right = value(frame)
            if not holds(left, right):
                return False
            left = right
        return True

    return compiler.guarded(run, span)


def _compared_once(  # noqa: PLR0917 - as it is called
    compiler: Compiler, node: nodes.Comparison, scope: Scope, first: Go, holds: Callable[[Any, Any], bool], second: Go
) -> Callable[[Frame], bool]:
    """Whether two values compare as written."""
    span, number = node.span, folded(node.rights[0], scope, compiler.own)
    if number is not UNKNOWN:

        def with_number(frame: Frame) -> bool:
            try:
                return holds(first(frame), number)
            except MISTAKES as mistake:
                raise compiler.placed(mistake, span) from None

        return with_number

    def run(frame: Frame) -> bool:
        try:
            return holds(first(frame), second(frame))
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


def _of_columns(node: nodes.Comparison, scope: Scope, sides: list[Go]) -> Callable[[Frame], bool]:
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


def named_alike(operator: str, left: Any, right: Any, one: OneValue | None, other: OneValue | None) -> bool:
    """Whether a comparison holds, one side of which may be a column: it is equal to each of its names."""
    if operator in {"==", "!="} and (one is None) is not (other is None):
        named, name = (one, right) if one is not None else (other, left)
        if named is not None and not isinstance(name, Private):
            return named.is_called(name) is (operator == "==")
    if operator in {"in", "not in"} and one is not None and not isinstance(right, Private):
        return any(map(one.is_called, items(right, "what stands after `in`"))) is (operator == "in")
    return COMPARE[operator](left, right)


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


COMPARED_INSTEAD = {
    "an attribute": "count rows: {{ select count() from db where age > 40 }}",
    "a text": "write numbers without quotes: 4",
    "a list": "compare its items, or how many there are: len(xs)",
}
"""What to write instead, where something without an order is compared."""
WHOLE = (int, int)
MIXED = {(Fraction, float), (float, Fraction)}


def _compared(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        kinds = type(left), type(right)
        if kinds == WHOLE:
            return bool(holds(left, right))
        if kinds in MIXED:
            # Between exact and rounded numbers, a difference beyond a double's digits says nothing.
            return bool(holds(float(left), float(right)))
        if isinstance(left, Private) or isinstance(right, Private):
            raise Stop(
                "J202",
                "a private value is compared",
                "what follows from it would show it without noise",
                "buy it first: n = {{ ... }}",
            )
        try:
            return bool(holds(left, right))
        except TypeError:
            named = kind_of(left), kind_of(right)
            fix = next(
                (each for kind, each in COMPARED_INSTEAD.items() if kind in named), "compare numbers with numbers"
            )
            raise Stop("J501", f"{named[0]} is compared with {named[1]}", "they have no order", fix) from None

    return compare


def _inside(left: Any, right: Any) -> bool:
    return left in items(right, "what stands after `in`")


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": _compared(lambda a, b: a == b),
    "!=": _compared(lambda a, b: a != b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "in": _compared(_inside),
    "not in": _compared(lambda a, b: not _inside(a, b)),
}
"""What each comparison asks."""

KINDS: dict[type, Callable[..., Go]] = {
    nodes.BinaryOperation: binary,
    nodes.UnaryOperation: unary,
    nodes.Comparison: comparison,
    nodes.Not: opposite,
    nodes.BooleanOperation: boolean,
    nodes.Conditional: conditional,
}
"""What makes a function of each kind of expression."""
