"""Constants: numbers as written, and what is computed from nothing but these, worked out when a program is read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from jostle.lang import nodes
from jostle.lang.arithmetic import BINARY, negated
from jostle.lang.frames import Scope
from jostle.lang.operations import NUMERIC
from jostle.lang.stops import MISTAKES

__all__ = ["UNKNOWN", "folded"]

UNKNOWN = object()
"""What is no constant."""


def folded(node: nodes.ExpressionNode, scope: Scope, own: Collection[str]) -> Any:
    """The number that an expression always gives, or UNKNOWN.

    Where working it out goes wrong, it is no constant: it goes wrong again, with its place, if it is ever reached.
    """
    match node:
        case nodes.Number():
            return node.value.numerator if node.value.denominator == 1 else node.value
        case nodes.Percent():
            return node.share
        case nodes.UnaryOperation() | nodes.BinaryOperation() | nodes.Call():
            try:
                return _computed(node, scope, own)
            except MISTAKES:
                return UNKNOWN
        case _:
            return UNKNOWN


def _computed(
    node: nodes.UnaryOperation | nodes.BinaryOperation | nodes.Call, scope: Scope, own: Collection[str]
) -> Any:
    if isinstance(node, nodes.UnaryOperation):
        operand = folded(node.operand, scope, own)
        return operand if operand is UNKNOWN or node.operator == "+" else negated(operand)
    if isinstance(node, nodes.BinaryOperation):
        left = folded(node.left, scope, own)
        right = UNKNOWN if left is UNKNOWN else folded(node.right, scope, own)
        return UNKNOWN if right is UNKNOWN else BINARY[node.operator](left, right)
    name = node.function.name if isinstance(node.function, nodes.Name) else ""
    if name not in NUMERIC or name in scope.slots or name in own or node.keywords:
        return UNKNOWN
    given = [folded(argument, scope, own) for argument in node.arguments]
    return UNKNOWN if any(each is UNKNOWN for each in given) else NUMERIC[name](*given)
