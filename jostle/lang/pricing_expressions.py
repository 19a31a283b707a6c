"""What each kind of expression is known to give, and spends, where a program is run without data."""

from __future__ import annotations

from typing import Any

from jostle.lang import nodes
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_arithmetic import binary, compared, negated
from jostle.lang.pricing_calls import call, choose, noised, over
from jostle.lang.pricing_lists import comprehension, distinct, keyed
from jostle.lang.pricing_public import check_compared
from jostle.lang.pricing_tables import attribute, index, part, select
from jostle.lang.pricing_values import (
    UNKNOWN,
    Callee,
    Names,
    combined,
    truth_of,
    whole,
)
from jostle.lang.scopes import named_slot

__all__ = ["value_of"]


def value_of(pricer: Pricer, node: nodes.ExpressionNode, names: Names) -> Any:  # noqa: C901, PLR0911, PLR0912 - one per kind
    """The facts known of an expression's value."""
    match node:
        case nodes.Name():
            return pricer.name(node.name, names)
        case nodes.Number():
            return whole(node.value)
        case nodes.Percent():
            return node.share
        case nodes.String() | nodes.Constant():
            return node.value
        case nodes.Tuple() | nodes.List():
            return [pricer.value(item, names) for item in node.items]
        case nodes.Set():
            return distinct([pricer.value(item, names) for item in node.items])
        case nodes.Dict():
            return keyed([(pricer.value(entry.key, names), pricer.value(entry.value, names)) for entry in node.entries])
        case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
            return comprehension(pricer, node, names)
        case nodes.BinaryOperation():
            return binary(pricer, node, pricer.value(node.left, names), pricer.value(node.right, names))
        case nodes.UnaryOperation():
            found = pricer.value(node.operand, names)
            return negated(pricer, node, found) if node.operator == "-" else found
        case nodes.Comparison():
            return _comparison(pricer, node, names)
        case nodes.Not():
            found = truth_of(pricer.value(node.operand, names))
            return not found if isinstance(found, bool) else UNKNOWN
        case nodes.BooleanOperation():
            return _boolean(pricer, node, names)
        case nodes.Conditional():
            return _conditional(pricer, node, names)
        case nodes.Attribute():
            return attribute(pricer, node, pricer.value(node.value, names))
        case nodes.Index():
            return index(pricer, node, pricer.value(node.value, names), pricer.value(node.index, names))
        case nodes.Part():
            return part(pricer, node, names)
        case nodes.Lambda():
            return Callee("lambda", node=node, names=dict(names))
        case nodes.Call():
            return call(pricer, node, names)
        case nodes.Noised():
            return noised(pricer, node, names)
        case nodes.Select():
            return select(pricer, node, names)
        case nodes.Choose():
            return choose(pricer, node, names)
        case nodes.MakeChoiceMaker():
            among = node.among.items if isinstance(node.among, nodes.Set | nodes.List | nodes.Tuple) else ()
            for each in nodes.children(node):
                if isinstance(each, nodes.ExpressionNode) and not (among and each is node.among):
                    pricer.value(each, names)
            return Callee("maker", "choice", several=tuple(pricer.value(each, names) for each in among))
        case nodes.Over():
            return over(pricer, node, names)
        case _:
            given = [
                pricer.value(child, names) for child in nodes.children(node) if isinstance(child, nodes.ExpressionNode)
            ]
            return combined(given) if combined(given).accounts else UNKNOWN


def _comparison(pricer: Pricer, node: nodes.Comparison, names: Names) -> Any:
    left, left_node = pricer.value(node.left, names), node.left
    result: Any = True
    for operator, right_node in zip(node.operators, node.rights, strict=True):
        right = pricer.value(right_node, names)
        one, other = _named(left_node, left, names), _named(right_node, right, names)
        if one is None and other is None:
            check_compared(pricer, node.span, operator, left, right)
            holds = compared(operator, left, right)
        else:
            from jostle.lang.pricing_schema import compared_by_name  # noqa: PLC0415 - only with a schema

            holds = compared_by_name(operator, left, right, one, other)
        if holds is False:
            return False
        if holds is UNKNOWN:
            result = UNKNOWN
        left, left_node = right, right_node
    return result


def _named(node: nodes.ExpressionNode, value: Any, names: Names) -> Any:
    """The names of a column's value, where an expression is a column and stands in a query; or None."""
    known = names.get(named_slot(node.name)) if isinstance(node, nodes.Name) else None
    return known if known is not None and known.value is value else None


def _boolean(pricer: Pricer, node: nodes.BooleanOperation, names: Names) -> Any:
    decisive = node.operator == "or"
    result: Any = not decisive
    for operand in node.operands:
        found = truth_of(pricer.value(operand, names))
        if found is decisive:
            return decisive
        if not isinstance(found, bool):
            result = UNKNOWN
    return result


def _conditional(pricer: Pricer, node: nodes.Conditional, names: Names) -> Any:
    test = truth_of(pricer.value(node.condition, names))
    if test is True:
        return pricer.value(node.then, names)
    if test is False:
        return pricer.value(node.otherwise, names)
    return pricer.branches([lambda: pricer.value(node.then, names), lambda: pricer.value(node.otherwise, names)])
