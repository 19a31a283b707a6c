"""What facts, parts and items of tables, and queries, are known to be, where a program is run without data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from attrs import evolve

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_lists import item_called
from jostle.lang.pricing_private import GROUPS, item_of, real_part
from jostle.lang.pricing_public import check_fact, check_index
from jostle.lang.pricing_values import (
    RELEASED,
    UNKNOWN,
    Bought,
    Column,
    Each,
    Grouped,
    Mapped,
    Names,
    Rows,
    Some,
    Unknown,
    combined,
    either,
    is_keyed,
    is_number,
)
from jostle.lang.stops import near

__all__ = ["attribute", "index", "part", "select"]


def attribute(pricer: Pricer, node: nodes.Attribute, value: Any) -> Any:
    """The facts known of a named part of a value."""
    name = node.name
    if isinstance(value, Bought):
        return combined([value])
    if not isinstance(value, Rows):
        check_fact(pricer, node.span, value, name)
        return UNKNOWN
    if value.table is not None:
        from jostle.lang.pricing_schema import fact  # noqa: PLC0415 - only with a schema

        return fact(pricer, node, value.table)
    if name == "attributes":
        return Unknown(Column(""))
    if name == "label":
        return Column("its label")
    return UNKNOWN if name == "rows" or name.endswith("_range") else Column(name)


def part(pricer: Pricer, node: nodes.Part, names: Names) -> Any:
    """The facts known of a part of a table."""
    table = pricer.value(node.table, names)
    conditions = [(each, _attribute(pricer, each, names), pricer.value(each.value, names)) for each in node.conditions]
    if not isinstance(table, Rows):
        return combined([table])
    for condition, column, value in conditions:
        table = _narrowed(pricer, table, condition, column, value)
    return table


def _attribute(pricer: Pricer, condition: nodes.Condition, names: Names) -> Any:
    known = condition.attribute
    if isinstance(known, nodes.Name) and known.name not in names and known.name not in pricer.globals:
        return Column(known.name)
    found = pricer.value(known, names)
    return Column(found) if isinstance(found, str) else found


def _narrowed(pricer: Pricer, table: Rows, condition: nodes.Condition, column: Any, value: Any) -> Rows:
    name = column.name if isinstance(column, Column) else ""
    narrowed = real_part(pricer, table, condition, column, value)
    if narrowed is not None and is_number(value):
        # However it is called, and whatever number of a bin is given: it is one part.
        value = narrowed.schema[narrowed.column].labels[narrowed.code]
    if not name:
        pricer.fresh += 1
        name = f"column {pricer.fresh}"
    if isinstance(value, Each):
        account = table.account.part(name, f"round {value.loop}", value.loop)
    elif isinstance(value, str):
        account = table.account.part(name, f"value {value}", None)
    else:
        # Any part at all, as two numbers may be in one bin: others may spend on the same one as well.
        account = table.account.part(name, "some value", -1)
    exact = table.exact and isinstance(value, str | bool)
    return evolve(table, account=account, table=narrowed, exact=exact)


def index(pricer: Pricer, node: nodes.Index, value: Any, at: Any) -> Any:  # noqa: PLR0911 - one case per kind
    """The facts known of an item."""
    if isinstance(value, Bought):
        return item_of(pricer, node.span, value, at)
    if isinstance(value, Grouped):
        from jostle.lang.pricing_schema import check_key  # noqa: PLC0415 - only with a schema

        check_key(pricer, node.index.span, value, at)
        return RELEASED
    check_index(pricer, node.span, value, at)
    if isinstance(value, list) and isinstance(at, int):
        return value[at] if -len(value) <= at < len(value) else UNKNOWN
    if isinstance(value, dict):
        if is_keyed(value) and (isinstance(at, str) or is_number(at)):
            return value[at] if at in value else _no_key(pricer, node, value, at)
        return either(list(value.values())) if value else UNKNOWN
    if isinstance(value, list):
        return either(value) if value else UNKNOWN
    if isinstance(value, Mapped):
        return item_called(value, at)
    if isinstance(value, Some):
        return either(list(value.items) or [UNKNOWN])
    if isinstance(value, Unknown) and value.item is not None:
        return value.item
    return combined([value]) if combined([value]).accounts else UNKNOWN


def _no_key(pricer: Pricer, node: nodes.Index, value: dict[Any, Any], at: str | float | Fraction) -> Any:
    keys: Sequence[str] = [each for each in value if isinstance(each, str)]
    match = near(at, keys) if isinstance(at, str) else None
    fix = f"`{match}` is a similar key" if match else "test with `in` first"
    pricer.report(
        Diagnostic("J507", f"there is no key `{at}`", node.index.span, "the dictionary does not have it", fix)
    )
    return UNKNOWN


def select(pricer: Pricer, node: nodes.Select, names: Names) -> Any:
    """The facts known of a query."""
    table = pricer.value(node.table, names)
    found = combined([table])
    if not isinstance(table, Rows) or table.table is None:
        kind = (
            GROUPS
            if node.groupby
            else "a private count"
            if node.aggregate in {"count", "persons"}
            else "a private number"
        )
        # A row is in one group, and in one cell.
        return evolve(found, moves=Fraction(1) if node.aggregate in {"count", "persons"} else None, kind=kind)
    from jostle.lang.pricing_described import described  # noqa: PLC0415 - only with a schema

    return evolve(found, number=described(pricer, node, names, table.table))
