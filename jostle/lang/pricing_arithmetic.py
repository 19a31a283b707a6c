"""What operators and functions of numbers are known to give, where a program is run without data."""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_lists import distinct
from jostle.lang.pricing_private import made, mixed
from jostle.lang.pricing_public import check_computed, check_given
from jostle.lang.pricing_values import (
    RELEASED,
    UNKNOWN,
    Bought,
    Column,
    Money,
    Rows,
    Some,
    Unknown,
    either,
    is_number,
    is_scalar,
    whole,
    whole_list,
)

__all__ = ["binary", "compared", "negated", "plain"]

COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
HOLDING = (list, dict, range, Column)
MOST_BITS = 4096
MOST_ITEMS = 5000
"""Longer lists are known by what any of their items is."""


def binary(pricer: Pricer, node: nodes.BinaryOperation, left: Any, right: Any) -> Any:
    """The facts known of a sum, product and so on."""
    if isinstance(left, Rows | Bought) or isinstance(right, Rows | Bought):
        mixed(pricer, node.span, [left, right])
        return made(pricer, node.span, node.operator, [left, right])
    return _public(pricer, node.span, node.operator, left, right)


def negated(pricer: Pricer, node: nodes.UnaryOperation, value: Any) -> Any:
    """The facts known of a number with the other sign."""
    if isinstance(value, Bought):
        return made(pricer, node.span, "negated", [value])
    check_computed(pricer, node.span, "-", [value])
    return _computed_of("-", 0, value)


def _public(pricer: Pricer, span: Span, operator: str, left: Any, right: Any) -> Any:
    check_computed(pricer, span, operator, [left, right])
    try:
        return _computed_of(operator, left, right)
    except (ArithmeticError, ValueError):
        check_computed(pricer, span, operator, [left, right], failed=True)
        return UNKNOWN


def _computed_of(operator: str, left: Any, right: Any) -> Any:  # noqa: PLR0911 - one per kind of value
    if isinstance(left, range) or isinstance(right, range):
        left, right = (_unrolled(each) for each in (left, right))
    if isinstance(left, list) and operator in {"+", "|"} and isinstance(right, list):
        several = left + right
        if len(several) > MOST_ITEMS:
            return whole_list(several)
        return several if operator == "+" else distinct(several)
    if isinstance(left, list) and operator == "-":
        return _without(left, right)
    if isinstance(left, Some) and operator in {"-", "&"}:
        return left
    if isinstance(left, Unknown) and operator in {"-", "&"} and left.item is not None:
        return left
    if operator in {"+", "|"} and (_is_listed(left) or _is_listed(right)):
        return _both(left, right)
    if isinstance(left, Money) or isinstance(right, Money):
        return _money(operator, left, right)
    if not (is_number(left) and is_number(right)):
        return RELEASED if all(is_number(each) or each == RELEASED for each in (left, right)) else UNKNOWN
    return _computed(operator, left, right)


def _is_listed(value: Any) -> bool:
    """Whether a value is a list, as far as is known."""
    return isinstance(value, list | Some) or (
        isinstance(value, Unknown) and (value.item is not None or value.count is not None)
    )


def _both(left: Any, right: Any) -> Any:
    """A list of the items of two; one of them may be a list of which nothing is known."""
    if isinstance(left, list | Some) and isinstance(right, list | Some):
        parts = [tuple(each.items if isinstance(each, Some) else each) for each in (left, right)]
        return Some(parts[0] + parts[1])
    known = [whole_list(each) if isinstance(each, list | Some) else each for each in (left, right)]
    known = [each if isinstance(each, Unknown) else Unknown(each) for each in known]
    counts = [each.count for each in known]
    return Unknown(either([each.single for each in known]), None if None in counts else sum(filter(None, counts)))


def _unrolled(value: Any) -> Any:
    """A range as a list, where it is short."""
    if not isinstance(value, range):
        return value
    return list(value) if len(value) <= MOST_ITEMS else Unknown(RELEASED, len(value))


def _without(left: list[Any], right: Any) -> Any:
    """The rest of a list; of columns whose names are known it is known which, of others how many at most."""
    given = [*left, *(right if isinstance(right, list) else [right])]
    if all(isinstance(each, Column) and each.name and " " not in each.name for each in given):
        names = {each.name for each in given[len(left) :]}
        return [each for each in left if each.name not in names]
    columns = [each for each in left if isinstance(each, Column)]
    counts = [column.count for column in columns]
    most = None if None in counts or not counts else max(count for count in counts if count is not None)
    return Unknown(Column("", most) if columns else UNKNOWN, len(left))


def _computed(operator: str, left: Any, right: Any) -> Any:
    match operator:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case "/":
            result = (
                Fraction(left) / right if not isinstance(left, float) and not isinstance(right, float) else left / right
            )
        case "//":
            result = left // right
        case "%":
            result = left % right
        case "**" if isinstance(right, int) and _bits(left) * abs(right) <= MOST_BITS:
            result = Fraction(left) ** right if not isinstance(left, float) else left**right
        case _:
            return UNKNOWN
    # Longer ones go on as doubles while running; here, as not known.
    return UNKNOWN if _bits(result) > MOST_BITS else whole(result)


def _bits(value: Any) -> int:
    if isinstance(value, float):
        return 64
    exact = Fraction(value)
    return max(abs(exact.numerator).bit_length(), exact.denominator.bit_length())


def _money(operator: str, left: Any, right: Any) -> Any:  # noqa: PLR0911 - one case per kind
    if isinstance(left, Money) and isinstance(right, Money):
        if operator == "+":
            return Money(left.amount + right.amount)
        if operator == "-":
            return Money(left.amount - right.amount)
        return UNKNOWN
    money, other = (left, right) if isinstance(left, Money) else (right, left)
    if not is_number(other) or (isinstance(other, float) and not math.isfinite(other)):
        return UNKNOWN
    factor = Fraction(other)
    if operator == "*":
        return Money(money.amount.times(factor))
    if operator == "/" and money is left:
        return Money(money.amount.times(1 / factor))
    if operator == "+":
        return Money(money.amount + Amount(fixed=factor))
    if operator == "-":
        fixed = Amount(fixed=factor)
        return Money(money.amount - fixed if money is left else fixed - money.amount)
    return UNKNOWN


def compared(operator: str, left: Any, right: Any) -> Any:
    """Whether a comparison holds, or that it is not known."""
    if isinstance(left, Money) and isinstance(right, Money) and left == right:
        return operator in {"==", "<=", ">="}
    if operator in {"in", "not in"}:
        known = is_scalar(left) and isinstance(right, list) and all(map(is_scalar, right))
        return (left in right) is (operator == "in") if known else UNKNOWN
    if not is_scalar(left) or not is_scalar(right):
        # What holds others is never equal to what does not.
        different = is_scalar(left) is not is_scalar(right) and isinstance(left, HOLDING) is not isinstance(
            right, HOLDING
        )
        return operator == "!=" if different and operator in {"==", "!="} else UNKNOWN
    if {type(left), type(right)} == {Fraction, float}:  # as while running
        left, right = float(left), float(right)
    try:
        return bool(COMPARED[operator](left, right))
    except TypeError:
        return UNKNOWN


def plain(pricer: Pricer, span: Span, name: str, given: list[Any]) -> Any:
    """The value of a function of public values, or that it is not known."""
    check_given(pricer, span, name, given)
    numbers = given[0] if len(given) == 1 and isinstance(given[0], list) else given
    if not numbers or not all(is_number(number) for number in numbers):
        return UNKNOWN
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "max": max,
        "min": min,
        "sum": sum,
        "abs": lambda found: abs(found[0]),
        "floor": lambda found: math.floor(found[0]),
        "ceil": lambda found: math.ceil(found[0]),
        "round": lambda found: round(found[0]),
        "sqrt": lambda found: math.sqrt(found[0]),
        "log": lambda found: math.log(*found),
        "exp": lambda found: math.exp(found[0]),
    }
    try:
        return functions[name](list(numbers)) if name in functions else UNKNOWN
    except (ArithmeticError, ValueError):
        check_given(pricer, span, name, given, failed=True)
        return UNKNOWN
