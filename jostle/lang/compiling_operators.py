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
from jostle.lang.slots import Go, Scope
from jostle.lang.stops import MISTAKES, Stop
from jostle.lang.values import Private

if TYPE_CHECKING:
    from jostle.lang.compiling import Compiler

__all__ = ["KINDS"]


def binary(compiler: Compiler, node: nodes.BinaryOperation, scope: Scope) -> Go:
    """Return what computes with two values: once, where they do not change."""
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
    """Return what gives a value with a sign before it."""
    operand = compiler.operand(node.operand, scope)
    if node.operator == "-":
        return compiler.guarded(lambda frame: negated(operand(frame)), node.span)
    return operand


def comparison(compiler: Compiler, node: nodes.Comparison, scope: Scope) -> Go:
    """Return whether values that stand in a row compare as written."""
    first, span = compiler.operand(node.left, scope), node.span
    steps = [
        (COMPARE[operator], compiler.operand(right, scope))
        for operator, right in zip(node.operators, node.rights, strict=True)
    ]
    if len(steps) == 1:
        holds, second = steps[0]
        number = folded(node.rights[0], scope, compiler.own)
        if number is not UNKNOWN:

            def with_number(frame: Frame) -> bool:
                try:
                    return holds(first(frame), number)
                except MISTAKES as mistake:
                    raise compiler.placed(mistake, span) from None

            return with_number

        def run_once(frame: Frame) -> bool:
            try:
                return holds(first(frame), second(frame))
            except MISTAKES as mistake:
                raise compiler.placed(mistake, span) from None

        return run_once

    def run(frame: Frame) -> bool:
        left = first(frame)
        for holds, value in steps:
            right = value(frame)
            if not holds(left, right):
                return False
            left = right
        return True

    return compiler.guarded(run, span)


def opposite(compiler: Compiler, node: nodes.Not, scope: Scope) -> Go:
    """Return whether something does not hold."""
    holds = compiler.condition(node.operand, scope)
    return lambda frame: not holds(frame)


def boolean(compiler: Compiler, node: nodes.BooleanOperation, scope: Scope) -> Go:
    """Return whether all of several truths hold, or one of them; those after the one that settles it do not run."""
    operands = [compiler.condition(each, scope) for each in node.operands]
    settled = node.operator == "or"

    def run(frame: Frame) -> bool:
        for holds in operands:
            if holds(frame) is settled:
                return settled
        return not settled

    return run


def conditional(compiler: Compiler, node: nodes.Conditional, scope: Scope) -> Go:
    """Return one of two values."""
    test = compiler.condition(node.condition, scope)
    then, other = compiler.expression(node.then, scope), compiler.expression(node.otherwise, scope)
    return lambda frame: then(frame) if test(frame) else other(frame)


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
            title = f"{kind_of(left)} is compared with {kind_of(right)}"
            raise Stop("J501", title, "they have no order", "compare numbers with numbers") from None

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
