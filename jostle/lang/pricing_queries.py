"""What queries are known to give where a program is run without data; with a schema, whether they can be answered."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from attrs import evolve

from jostle.lang import nodes
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_private import GROUPS
from jostle.lang.pricing_values import Names, Rows, combined

__all__ = ["select"]


def select(pricer: Pricer, node: nodes.Select, names: Names) -> Any:
    """Return what is known of a query."""
    table = pricer.value(node.table, names)
    found = combined([table])
    if not isinstance(table, Rows) or table.table is None:
        kind = GROUPS if node.groupby else "a private count" if node.aggregate == "count" else "a private number"
        # A row is in one group, and in one cell.
        return evolve(found, moves=Fraction(1) if node.aggregate == "count" else None, kind=kind)
    from jostle.lang.pricing_described import described  # noqa: PLC0415 - only with a schema

    return evolve(found, number=described(pricer, node, names, table.table))
