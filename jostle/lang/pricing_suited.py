"""Whether an Option that is called runs on a table with a schema: it says so itself, from public facts alone."""

from __future__ import annotations

from typing import Any

from jostle.errors import OptionError
from jostle.lang import nodes
from jostle.lang.library import DATABASE, library_options
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_asked import is_plain
from jostle.lang.pricing_values import Callee, Names, Rows
from jostle.lang.stops import Stop
from jostle.options.base import ELSEWHERE, Option
from jostle.tables.schema import Schema

__all__ = ["check_suited"]


def check_suited(pricer: Pricer, node: nodes.Call, callee: Callee, given: list[Any], named: Names) -> None:
    """Report an Option, or a choice among Options, none of which runs on the table that it is called with."""
    table = given[0] if given else named.get(DATABASE)
    if not isinstance(table, Rows) or table.table is None:
        return
    refused = _refusal(callee, table.table.schema)
    if refused is not None:
        from jostle.lang.pricing_schema import attempt  # noqa: PLC0415 - without a schema, no library of numbers is loaded

        attempt(pricer, node.span, _refuse, refused)


def _refuse(refused: OptionError) -> None:
    raise refused


def _refusal(callee: Any, schema: Schema) -> OptionError | None:
    """The refusal of what is called, if nothing that it may be runs on such a table."""
    if not isinstance(callee, Callee):
        return None
    if callee.several:  # a choice takes one that runs, where it was learned on such tables
        refusals = [_refusal(each, schema) for each in callee.several]
        return None if None in refusals else refusals[0]
    option = _made(callee)
    if option is None:
        return None
    try:
        reason = option.refuses(schema)
    except Exception:  # noqa: BLE001 - an Option of one's own may fail in any way, and does so where it is run
        return None
    return None if reason is None else OptionError(f"{option.name} does not run here: {reason}", fix=ELSEWHERE)


def _made(callee: Callee) -> Option | None:
    """The Option of the library that is called; None where that, or what it is given as parameters, is not known."""
    known = library_options().get(callee.name) if callee.kind in {"library", "configured"} else None
    if known is None or not all(map(is_plain, callee.names.values())):
        return None
    from jostle.lang.imports import imported  # noqa: PLC0415 - loads algorithms

    option: Option = imported("options", callee.name)
    if not callee.names:
        return option
    try:
        made: Option = type(option)(**{name: known.parameter(name, value) for name, value in callee.names.items()})
    except (Stop, OptionError, TypeError):  # reported where it is given them
        return None
    return made
