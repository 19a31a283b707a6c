"""Public values where a program is run without data: what is computed of them, and mistakes: texts that are added up.

Kinds of values are compared here with what operations take. Only where they do not fit, the operation itself is asked,
as it is while a program runs, what it has to say: so the words are the same, and checking good programs loads nothing.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from jostle.errors import Span
from jostle.lang.accounts import Amount
from jostle.lang.facts import (
    RELEASED,
    UNKNOWN,
    Bought,
    Column,
    Each,
    Grouped,
    Mapped,
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
from jostle.lang.pricing import Pricer, distinct

NUMBER, TEXT, TRUTH, NOTHING, LIST, DICT, ATTRIBUTE = range(7)
LISTED = frozenset({LIST, DICT, ATTRIBUTE})
SUMMED = frozenset({NUMBER, LIST, DICT})
AGGREGATES = ("max", "mean", "min", "stddev", "sum")
TOGETHER = {("+", LIST, LIST), ("+", TEXT, TEXT), ("|", LIST, LIST), ("&", LIST, LIST)}
ORDERED = {(NUMBER, NUMBER), (TEXT, TEXT), (LIST, LIST), (TRUTH, TRUTH), (TRUTH, NUMBER), (NUMBER, TRUTH)}


def _kind(value: Any) -> int | None:  # noqa: PLR0911 - one per kind
    """The kind of a value; None where that is not known, and of private values."""
    match value:
        case bool():
            return TRUTH
        case str() | Each():
            return TEXT
        case None:
            return NOTHING
        case list() | range() | Some():
            return LIST
        case dict() | Grouped() | Mapped():
            return DICT
        case Column():
            return ATTRIBUTE
        case Rows() | Bought():
            return None
    return NUMBER if is_number(value) or isinstance(value, Money) or value == RELEASED else None


def _as_running(value: Any) -> Any:  # noqa: PLR0911 - one per kind
    """A value of the same kind as running programs have it, the same one where it is known."""
    from jostle.lang.values import KnownAttribute  # noqa: PLC0415 - once there is a mistake

    if value == RELEASED:
        return Fraction(1)
    match value:
        case Each():
            return (value.values or ("a value",))[0]
        case Money():
            return Fraction(1)
        case Column():
            return KnownAttribute(value.name, value.values or ())
        case Some():
            return [_as_running(item) for item in value.items]
        case Mapped():
            return {}
        case Grouped():
            return dict.fromkeys(map(repr, range(value.count)), 0)
        case list():
            return [_as_running(each) for each in value]
        case dict():
            return {key: _as_running(each) for key, each in value.items()}
    return value


def _say(pricer: Pricer, span: Span, work: Callable[..., Any], values: Sequence[Any]) -> None:
    """Report what an operation refuses."""
    from jostle.lang.pricing_schema import attempt  # noqa: PLC0415 - as above

    attempt(pricer, span, work, *map(_as_running, values))


def check_computed(pricer: Pricer, span: Span, operator: str, values: Sequence[Any], *, failed: bool = False) -> None:
    """Report operands that an operator does not take, or, where it failed, what it has to say of them."""
    kinds = [_kind(value) for value in values]
    if None in kinds:
        return
    fits = (
        all(kind == NUMBER for kind in kinds)
        or (operator, *kinds) in TOGETHER
        or (len(kinds) > 1 and operator == "-" and kinds[0] == LIST)
    )
    if fits and not failed:
        return
    from jostle.lang.operators import BINARY, negated  # noqa: PLC0415 - as above

    _say(pricer, span, BINARY[operator] if len(values) > 1 else negated, values)


def check_compared(pricer: Pricer, span: Span, operator: str, left: Any, right: Any) -> None:
    """Report values that cannot be compared."""
    kinds = (_kind(left), _kind(right))
    inside = operator in {"in", "not in"}
    if None in kinds[1:] or (not inside and None in kinds):
        return
    if kinds[1] in LISTED if inside else (operator in {"==", "!="} or kinds in ORDERED):
        return
    from jostle.lang.operators import COMPARE  # noqa: PLC0415 - as above

    _say(pricer, span, COMPARE[operator], [0 if kinds[0] is None else left, right])


def check_given(pricer: Pricer, span: Span, name: str, values: Sequence[Any], *, failed: bool = False) -> None:
    """Report values that a known function does not take, or, where it failed, what it has to say of them."""
    takes = pricer.rules.takes.get(name)
    if takes is None or not values:
        return
    kinds = [_kind(value) for value in values]
    inside = [_kind(each) for value in values if isinstance(value, list) for each in value]
    if None in kinds or (name in AGGREGATES and None in inside):
        return
    empty = not inside and kinds == [LIST] and name in {"argmax", "argmin", "max", "mean", "min", "stddev"}
    numbers = name not in AGGREGATES or all(each == NUMBER for each in inside)
    if takes.issuperset(kinds) and numbers and not empty and not failed:
        return
    from jostle.lang.operations import PLAIN  # noqa: PLC0415 - as above

    _say(pricer, span, PLAIN[name], values)


def check_items(pricer: Pricer, span: Span, value: Any) -> None:
    """Report what has no items to go through."""
    kind = _kind(value)
    if kind is not None and kind not in LISTED:
        from jostle.lang.operators import items  # noqa: PLC0415 - as above

        _say(pricer, span, items, [value])


def check_index(pricer: Pricer, span: Span, value: Any, at: Any) -> None:
    """Report items that are not there, and what has none."""
    kind, place = _kind(value), _kind(at)
    if kind is None or kind == DICT or place is None:
        return
    if kind in {LIST, TEXT, ATTRIBUTE} and place == NUMBER:
        known = (
            None
            if isinstance(value, Some)
            else value
            if kind == LIST
            else value.values
            if isinstance(value, Column)
            else value
        )
        if not is_number(at) or isinstance(value, Each) or known is None:
            return
        if at == int(at) and -len(known) <= at < len(known):
            return
    from jostle.lang.operators import item_of  # noqa: PLC0415 - as above

    _say(pricer, span, item_of, [value, at])


def check_fact(pricer: Pricer, span: Span, value: Any, name: str) -> None:
    """Report a named part of what has none."""
    kind = _kind(value)
    if kind is None or (kind == ATTRIBUTE and name in {"name", "values"}):
        return
    from jostle.lang.lowering import fact_of  # noqa: PLC0415 - as above

    _say(pricer, span, fact_of, [value, name])


def check_amount(pricer: Pricer, span: Span, amount: Any, what: str = "epsilon") -> None:
    """Report an amount of budget that is no number."""
    kind = _kind(amount)
    if kind is not None and kind != NUMBER and not isinstance(amount, Rows | Bought):
        from jostle.lang.operators import fraction  # noqa: PLC0415 - as above

        _say(pricer, span, fraction, [amount, what])


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


def computed_of(operator: str, left: Any, right: Any) -> Any:  # noqa: PLR0911 - one per kind of value
    """The facts known of what an operator gives."""
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
