"""Arithmetic, comparisons and truths of a program, made into functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jostle.lang import nodes
from jostle.lang.compiling import Compiler
from jostle.lang.arithmetic import BINARY, negated
from jostle.lang.folding import UNKNOWN, folded
from jostle.lang.frames import Frame, Go, Scope
from jostle.lang.operators import COMPARE, named_alike
from jostle.lang.scopes import named_slot
from jostle.lang.stops import MISTAKES


__all__ = []


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
        return compiler.guarded(_compared_by_name(node, scope, [first, *(right for _, right in steps)]), span)
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
