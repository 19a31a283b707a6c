"""What calls, purchases and choices are known to give, and spend, where a program is run without data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from jostle.errors import Diagnostic, Span
from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.library import library_options
from jostle.lang.pricing import Pricer, Unpriceable
from jostle.lang.pricing_arithmetic import plain
from jostle.lang.pricing_asked import OPTIONS, check_asked, is_plain
from jostle.lang.pricing_kinds import kind_of
from jostle.lang.pricing_lists import items, mapped, side_by_side
from jostle.lang.pricing_private import bought, made, mixed, picked_by, refused, released
from jostle.lang.pricing_public import check_amount, check_given, check_items
from jostle.lang.pricing_values import (
    RELEASED,
    UNKNOWN,
    Bought,
    Callee,
    Column,
    Grouped,
    Money,
    Names,
    Rows,
    Some,
    Unknown,
    combined,
    either,
    is_keyed,
)

__all__ = ["call", "choose", "noised", "over"]

ALL = Money(Amount(Fraction(1)))
"""What is spent if nothing is said: all that the caller allotted."""
MOST_OF_A_RANGE = 10_000_000
PRIVATE = {"abs", "max", "mean", "min", "stddev", "sum", "maxScore", "gini", "infoGain", "random"}
"""Functions that give private numbers of private values."""


def call(pricer: Pricer, node: nodes.Call, names: Names) -> Any:
    """The facts known of what a call gives."""
    callee = pricer.value(node.function, names)
    given = [pricer.value(argument, names) for argument in node.arguments]
    named = {keyword.name: pricer.value(keyword.value, names) for keyword in node.keywords}
    if isinstance(callee, Callee) and callee.kind in OPTIONS:
        check_asked(pricer, node, callee, given, named)
    if pricer.schema is not None and isinstance(callee, Callee) and callee.kind in {*OPTIONS, "several"}:
        from jostle.lang.pricing_suited import check_suited  # noqa: PLC0415 - Options are asked where a schema is known

        check_suited(pricer, node, callee, given, named)
    return _called(pricer, node.span, callee, given, named)


def _called(pricer: Pricer, span: Span, callee: Any, given: list[Any], named: Names) -> Any:  # noqa: PLR0911 - one per kind
    if not isinstance(callee, Callee):
        return _not_called(pricer, span, callee, [*given, *named.values()])
    if callee.kind == "several":
        return pricer.branches([partial(_called, pricer, span, each, given, named) for each in callee.several])
    if callee.kind == "function":
        return pricer.called(callee.name, given, named, span)
    if callee.kind == "lambda" and callee.node is not None:
        return _called_lambda(pricer, span, callee.node, callee.names, given, named)
    if callee.kind in OPTIONS:
        if callee.kind == "library" and library_options()[callee.name].is_given_parameters(len(given), named):
            return Callee("configured", callee.name, names=named)
        amount = named.get(EPSILON, ALL)
        check_amount(pricer, span, amount)
        pricer.charge_for([*given, *named.values()], amount, span)
        return UNKNOWN
    return _builtin(pricer, span, callee.name, _in_order(callee.name, given, named))


def _not_called(pricer: Pricer, span: Span, value: Any, given: list[Any]) -> Any:
    """Report a value that is called and is no function; one that is not known may be one."""
    private = combined(given).accounts
    if is_plain(value) and not private:
        title = f"{kind_of(value)} is called"
        pricer.report(Diagnostic("J501", title, span, "functions and Options are called", "name a function"))
    elif private and not is_plain(value):
        raise Unpriceable("which function is called depends on a released number")
    return UNKNOWN


def _called_lambda(  # noqa: PLR0917 - as it is called
    pricer: Pricer, span: Span, node: nodes.Lambda, around: Names, given: list[Any], named: Names
) -> Any:
    values = {
        parameter.name: UNKNOWN if parameter.default is None else pricer.value(parameter.default, around)
        for parameter in node.parameters
    }
    values |= dict(zip(list(values), given, strict=False))
    values |= {name: value for name, value in named.items() if name in values}
    with pricer.deeper(span):
        return pricer.value(node.body, {**around, **values})


def _in_order(name: str, given: list[Any], named: Names) -> list[Any]:
    """The values of a builtin function in the order of its parameters; None for one that is left out."""
    found = list(given)
    for place, parameter in enumerate(BUILTINS[name].parameters):
        if parameter in named:
            found.extend([None] * (place + 1 - len(found)))
            found[place] = named[parameter]
    return found


def _builtin(pricer: Pricer, span: Span, name: str, given: list[Any]) -> Any:  # noqa: C901, PLR0911, PLR0912 - one per function
    if name == "noisyCount":
        table, amount = (*given, None, None)[:2]
        bought(pricer, span, table)
        check_amount(pricer, span, ALL if amount is None else amount)
        pricer.charge_for(table, ALL if amount is None else amount, span)
        return RELEASED
    if name in {"noisyMax", "expMech"}:
        domain, utilities, amount = (*given, None, None, None)[:3]
        picked_by(pricer, span, domain, utilities)
        check_amount(pricer, span, ALL if amount is None else amount)
        pricer.charge_for(utilities, ALL if amount is None else amount, span)
        return _picked(pricer, domain)
    if name == "map" and len(given) == 2:
        check_items(pricer, span, given[1])
        return mapped(pricer, given[1], lambda each: _called(pricer, span, given[0], [each], {}))
    if name == "zip" and given:
        return side_by_side(pricer, given)
    if name in {"len", "list", "range", "size", "sorted", "zip"}:
        check_given(pricer, span, name, [each for each in given if each is not None])
    if name == "len" and given:
        value = given[0]
        if isinstance(value, Rows | Bought):
            return made(pricer, span, name, given)
        if isinstance(value, Grouped):
            return value.count
        return len(value) if isinstance(value, list | str) or is_keyed(value) else UNKNOWN
    if name == "size":
        refused(pricer, span, name, given)
        column = given[0] if given else None
        return column.count if isinstance(column, Column) and column.values is not None else UNKNOWN
    if name == "range":
        numbers = [each for each in given if isinstance(each, int)]
        if len(numbers) < len(given) or not numbers:
            return Unknown(UNKNOWN)
        if (len(numbers) < 3 or numbers[-1]) and len(range(*numbers)) <= MOST_OF_A_RANGE:
            return range(*numbers)
        check_given(pricer, span, name, given, failed=True)
        return Unknown(UNKNOWN)
    if name in {"list", "sorted"} and given:
        return given[0] if isinstance(given[0], list) else items(pricer, given[0])
    if name in PRIVATE:
        mixed(pricer, span, given)
        return made(pricer, span, name, given)
    if combined(given).accounts:
        return combined(given)
    return plain(pricer, span, name, given)


def _picked(pricer: Pricer, domain: Any) -> Any:
    """The facts known of an item that is picked: of an attribute, a name of its own."""
    listed = items(pricer, domain)
    picked: Sequence[Any] = listed if isinstance(listed, list) else ()
    if not picked:
        picked = listed.items if isinstance(listed, Some) else [listed.single] if isinstance(listed, Unknown) else ()
    if picked and all(isinstance(each, Column) for each in picked):
        counts = [each.count for each in picked]
        pricer.fresh += 1
        return Column(f"picked {pricer.fresh}", None if None in counts else max(counts))
    return either(picked) if picked else UNKNOWN


def noised(pricer: Pricer, node: nodes.Noised, names: Names) -> Any:
    """The facts known of a bought value."""
    value = pricer.value(node.value, names)
    if isinstance(node.spending, nodes.Percent):
        amount: Any = Money(Amount(node.spending.share))
    elif node.spending is not None:
        amount = pricer.value(node.spending, names)
    else:
        amount = ALL
    bought(pricer, node.value.span, value)
    check_amount(pricer, node.span, amount, "spending")
    pricer.charge_for(value, amount, node.span if node.spending is None else node.spending.span)
    return released(value)


def over(pricer: Pricer, node: nodes.Over, names: Names) -> Any:
    """The facts known of answers to queries."""
    for each in (node.queries, node.cells):
        pricer.value(each, names)
    return Unknown(kind="answers to queries")


def choose(pricer: Pricer, node: nodes.Choose, names: Names) -> Any:
    """The facts known of what is chosen."""
    if node.informed_by is not None:
        pricer.value(node.informed_by, names)
    among = node.among.items if isinstance(node.among, nodes.Set | nodes.List | nodes.Tuple) else ()
    return either([pricer.value(each, names) for each in among]) if among else UNKNOWN
