"""What an editor says of a word beside what it means: what kind of value it is, how far a row moves it, what it costs.

A program is gone through as for checking: once for what is private, once without data for what values are and what is
spent. With a schema the second way knows columns, and so how far one row can change whatever is computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attrs import frozen

from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.extents import TooDeepError, deep_enough
from jostle.lang.facts import World, kind_of, moves_of
from jostle.lang.guard_rules import checked_worlds
from jostle.lang.price import price_of
from jostle.lang.roots import Root, roots, table_parameters

if TYPE_CHECKING:
    from jostle.errors import Span
    from jostle.tables.schema import Schema

__all__ = ["column_facts", "describe"]

MOVED = ("a private number", "a private count", "private numbers")
MOST_LISTED = 8


@frozen(eq=False)
class _Known:
    """What a program was found to do."""

    worlds: dict[Span, World]
    seen: dict[Span, list[Any]]
    paid: dict[Span, Amount]


def describe(
    module: nodes.Module, node: nodes.Node, around: Sequence[nodes.Node], schema: Schema | None = None
) -> str | None:
    """A checked program's words on a name, or None; a program that cannot be read says nothing."""
    if any(isinstance(each, nodes.Broken) for each in module.body):
        return None
    if isinstance(node, nodes.FunctionDefinition):
        return _price(module, node, schema)
    call = around[-1] if around else None
    if isinstance(call, nodes.Call) and call.function is node and not isinstance(node, nodes.Attribute):
        # Of a function that is called, what the call gives is of more interest than that it is a function.
        node = call
    span = node.name_span if isinstance(node, nodes.ParameterNode) else node.span
    try:
        with deep_enough():
            known = _gone_through(module, schema)
    except TooDeepError:
        return None
    said = _said(known.worlds.get(span), known.seen.get(span, []), node, schema)
    paid = known.paid.get(span)
    if isinstance(node, nodes.Noised) and node.spending is not None:
        paid = known.paid.get(node.spending.span)
    if paid is not None:
        cost = f"spends {paid.text}" if paid.known else "what it spends is known only while running"
        said = f"{said}; {cost}" if said else cost
    return said


def column_facts(name: str, schema: Schema | None) -> str | None:
    """The public facts of a column."""
    if schema is None or name not in schema:
        return None
    labels = schema[name].labels
    more = f" and {len(labels) - MOST_LISTED} others" if len(labels) > MOST_LISTED else ""
    return f"{len(labels)} values: {', '.join(labels[:MOST_LISTED])}{more}"


def _price(module: nodes.Module, node: nodes.FunctionDefinition, schema: Schema | None) -> str | None:
    found = next((root for root in roots(module) if root.definition is node), None)
    if found is None and node not in module.body:
        return None
    if found is None:
        found = Root(node.name, node, table_parameters(module, node))
    return price_of(module, found, schema)[0].text if found.tables and found.priced else None


_LATEST: list[tuple[nodes.Module, Schema | None, _Known]] = []
"""What was found last: editors ask about one program again and again."""


def _gone_through(module: nodes.Module, schema: Schema | None) -> _Known:
    if not (_LATEST and _LATEST[0][0] is module and _LATEST[0][1] == schema):
        _LATEST[:] = [(module, schema, _found(module, schema))]
    return _LATEST[0][2]


def _found(module: nodes.Module, schema: Schema | None) -> _Known:
    seen: dict[Span, list[Any]] = {}
    paid: dict[Span, Amount] = {}
    for root in roots(module):
        price_of(module, root, schema, seen=seen, paid=paid)
    return _Known(checked_worlds(module).worlds, seen, paid)


def _said(world: World | None, seen: Sequence[Any], node: nodes.Node, schema: Schema | None) -> str | None:
    kinds = list(dict.fromkeys(found for each in seen if (found := kind_of(each))))
    private = world is not None and world.is_private
    if not kinds and world is not None:
        kinds = [_kind_of_world(world)]
    if not kinds or not kinds[0]:
        return None
    if world is not None and private and kinds == ["a private value"]:
        kinds = [_kind_of_world(world)]
    moved = _moved(seen, node, schema) if any(kind.startswith(MOVED) for kind in kinds) else ""
    return " or ".join(kinds) + moved


def _kind_of_world(world: World) -> str:
    if world.functions:
        return ""
    names = {"table": "a private table", "score": "a private score", "groups": "private numbers, one for each group"}
    for kind, name in names.items():
        if kind in world.kinds:
            return name
    if world.is_private:
        return "a private number"
    if world.holds_private:
        return "holds private values"
    return "a public value, or a released one" if world.kinds else ""


def _moved(seen: Sequence[Any], node: nodes.Node, schema: Schema | None) -> str:
    """How far one row changes what is computed from rows, as far as that can be said."""
    known: list[Fraction | None] = [moves_of(each, schema) for each in seen]
    amounts = [each for each in known if each is not None]
    if amounts and len(amounts) == len(known):
        return f": one row changes it by at most {_number(max(amounts))}"
    if isinstance(node, nodes.Select) and node.aggregate == "sum":
        return ": one row changes it by what it adds at most, the bound of its column in the schema"
    return "" if schema is not None else ": how far one row changes it depends on the schema"


def _number(value: Fraction) -> str:
    return str(value) if value.denominator < 1000 else f"{float(value):.4g}"
