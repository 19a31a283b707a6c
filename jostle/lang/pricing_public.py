"""Mistakes with public values, found where a program is run without data: texts that are added up, division by 0.

Kinds of values are compared here with what operations take. Only where they do not fit, the operation itself is asked,
as it is while a program runs, what it has to say: so the words are the same, and checking good programs loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.errors import Span
from jostle.lang.pricing_values import RELEASED, Bought, Column, Each, Grouped, Mapped, Money, Rows, Some, is_number

if TYPE_CHECKING:
    from jostle.lang.pricing import Pricer

__all__ = [
    "check_amount",
    "check_compared",
    "check_computed",
    "check_fact",
    "check_given",
    "check_index",
    "check_items",
]

NUMBER, TEXT, TRUTH, NOTHING, LIST, DICT, ATTRIBUTE = range(7)
LISTED = frozenset({LIST, DICT, ATTRIBUTE})
SUMMED = frozenset({NUMBER, LIST, DICT})
AGGREGATES = ("max", "mean", "min", "stddev", "sum")
TAKES: dict[str, frozenset[int]] = {
    **dict.fromkeys(("abs", "ceil", "exp", "floor", "log", "range", "round", "sqrt"), frozenset({NUMBER})),
    **dict.fromkeys(("all", "any", "argmax", "argmin", "list", "sorted", "zip"), LISTED),
    **dict.fromkeys(AGGREGATES, SUMMED),
    "len": LISTED | {TEXT},
    "fail": frozenset({TEXT}),
    "public": frozenset({TEXT}),
    "size": frozenset({ATTRIBUTE}),
}
"""What known functions take; nothing is said of others."""
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
    from jostle.lang.arithmetic import BINARY, negated  # noqa: PLC0415 - as above

    _say(pricer, span, BINARY[operator] if len(values) > 1 else negated, values)


def check_compared(pricer: Pricer, span: Span, operator: str, left: Any, right: Any) -> None:
    """Report values that cannot be compared."""
    kinds = (_kind(left), _kind(right))
    inside = operator in {"in", "not in"}
    if None in kinds[1:] or (not inside and None in kinds):
        return
    if kinds[1] in LISTED if inside else (operator in {"==", "!="} or kinds in ORDERED):
        return
    from jostle.lang.compiling_operators import COMPARE  # noqa: PLC0415 - as above

    _say(pricer, span, COMPARE[operator], [0 if kinds[0] is None else left, right])


def check_given(pricer: Pricer, span: Span, name: str, values: Sequence[Any], *, failed: bool = False) -> None:
    """Report values that a known function does not take, or, where it failed, what it has to say of them."""
    if name not in TAKES or not values:
        return
    kinds = [_kind(each) for each in values]
    inside = [_kind(each) for value in values if isinstance(value, list) for each in value]
    if None in kinds or (name in AGGREGATES and None in inside):
        return
    empty = not inside and kinds == [LIST] and name in {"argmax", "argmin", "max", "mean", "min", "stddev"}
    numbers = name not in AGGREGATES or all(each == NUMBER for each in inside)
    if TAKES[name].issuperset(kinds) and numbers and not empty and not failed:
        return
    from jostle.lang.plain_operations import PLAIN  # noqa: PLC0415 - as above

    _say(pricer, span, PLAIN[name], values)


def check_items(pricer: Pricer, span: Span, value: Any) -> None:
    """Report what has no items to go through."""
    kind = _kind(value)
    if kind is not None and kind not in LISTED:
        from jostle.lang.listing import items  # noqa: PLC0415 - as above

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
    from jostle.lang.compiling_collections import item_of  # noqa: PLC0415 - as above

    _say(pricer, span, item_of, [value, at])


def check_fact(pricer: Pricer, span: Span, value: Any, name: str) -> None:
    """Report a named part of what has none."""
    kind = _kind(value)
    if kind is None or (kind == ATTRIBUTE and name in {"name", "values"}):
        return
    from jostle.lang.compiling_tables import fact_of  # noqa: PLC0415 - as above

    _say(pricer, span, fact_of, [value, name])


def check_amount(pricer: Pricer, span: Span, amount: Any, what: str = "epsilon") -> None:
    """Report an amount of budget that is no number."""
    kind = _kind(amount)
    if kind is not None and kind != NUMBER and not isinstance(amount, Rows | Bought):
        from jostle.lang.arithmetic import fraction  # noqa: PLC0415 - as above

        _say(pricer, span, fraction, [amount, what])
