"""What Options are called with, where a program is run without data: what is seen to be no database, and no query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.library import DATABASE, library_options
from jostle.lang.nodes import show_expression
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_kinds import kind_of
from jostle.lang.pricing_values import Callee, Column, Each, Money, Names, is_number, private_in
from jostle.lang.stops import Stop

__all__ = ["OPTIONS", "check_asked", "is_plain"]

OPTIONS = frozenset({"option", "library", "configured", "maker"})
"""Kinds of what is called with a database, and spends what it is allotted."""


def is_plain(value: Any) -> bool:
    """Whether a value is known to be neither private nor a function, nor one that nothing is known of."""
    if isinstance(value, list | dict):
        return not any(True for _ in private_in(value))
    return value is None or isinstance(value, str | bool | Column | Each | Money) or is_number(value)


def check_asked(pricer: Pricer, node: nodes.Call, callee: Callee, given: Sequence[Any], named: Names) -> None:
    """Report parameters that an Option cannot have, and what stands in the place of a database or of queries."""
    known = library_options().get(callee.name) if callee.kind in {"library", "configured"} else None
    if callee.kind == "library" and known is not None and known.is_given_parameters(len(given), named):
        for each in node.keywords:
            if each.name in known.parameters and is_plain(named[each.name]):
                try:
                    known.parameter(each.name, named[each.name])
                except Stop as mistake:
                    found = Diagnostic(mistake.code, mistake.title, each.value.span, mistake.why, mistake.fix)
                    pricer.report(found)
        return
    asked, handed = ((DATABASE,), ()) if known is None else (known.asked, known.handed)
    places = dict(zip(asked, zip(given, node.arguments, strict=True), strict=False))
    places |= {keyword.name: (named[keyword.name], keyword.value) for keyword in node.keywords}
    for name, (value, written) in places.items():
        if name in handed and value is None:
            continue
        if name in {DATABASE, *handed} and (is_plain(value) or isinstance(value, Callee)):
            what, why, fix = name, f"{name} come from the caller", f"def answer({DATABASE}, {name}):"
            if name == DATABASE:
                what, why, fix = "a database", "an Option answers from one", f"{show_expression(node.function)}(db)"
                if known is not None and known.parameters and callee.kind == "library":
                    fix = f"write {known.head}; parameters go by name: {known.example}"
            title = (
                f"`{show_expression(node.function)}` is given {kind_of(value) or 'something else'} in place of {what}"
            )
            pricer.report(Diagnostic("J501", title, written.span, why, fix))
