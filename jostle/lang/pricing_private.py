"""Private values where a program is run without data: whose they are, and with a schema, what they are.

With a schema, what the program would do while running is done here with the same functions, on a table without rows: a
private value is a description in either case. So what would be refused is refused in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attrs import evolve

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.facts import (
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
    private_in,
)
from jostle.lang.messages import Stop, near
from jostle.lang.pricing import Pricer, item_called, items
from jostle.lang.pricing_public import check_computed, check_fact, check_index, computed_of, plain

if TYPE_CHECKING:
    from jostle.lang.values import TableValue

GROUPS = "private numbers, one for each group"
SCORE = "a private score"
KINDS = {"len": "a private count", "gini": SCORE, "infoGain": SCORE, "random": SCORE}
CELL_BY_CELL = {"+", "-", "*", "/", "negated", "abs"}


def mixed(pricer: Pricer, span: Span, values: Sequence[Any]) -> None:
    """Report private values of two databases that are put together."""
    owners = {
        next(iter(databases))
        for value in values
        for private in private_in(value)
        if len(databases := combined([private]).databases) == 1
    }
    if len(owners) > 1:
        pricer.report(Stop("J506"), span)


def made(pricer: Pricer, span: Span, operation: str, values: list[Any]) -> Any:
    """The value made of values some of which are private; of public ones, the facts known of that."""
    found = combined(values)
    if not found.accounts and operation not in {"maxScore", "gini", "infoGain", "random"}:
        return plain(pricer, span, operation, values)
    if pricer.schema is None or len(found.databases) > 1:
        return evolve(found, moves=moved(operation, values), kind=_kind(operation, values))
    if not found.exact and sum(1 for value in values for _ in private_in(value)) > 1:
        return found
    from jostle.lang.pricing_schema import operated  # noqa: PLC0415 - only with a schema

    return evolve(found, number=operated(pricer, span, operation, values))


def _kind(operation: str, values: Sequence[Any]) -> str:
    if operation in CELL_BY_CELL and any(isinstance(value, Bought) and value.kind == GROUPS for value in values):
        return GROUPS
    return KINDS.get(operation, "a private number")


def moved(operation: str, values: Sequence[Any]) -> Fraction | None:  # noqa: PLR0911 - one case per kind
    """How far a row more or less can change what is made of values, where that needs no schema.

    *Why.* A row changes a number of rows, and how many the best rule gets right, by 1 at most. What it changes a sum by
    is at most what it changes the parts by, together; the largest or smallest of several changes by no more than the
    one that changes most, and so no more than all of them together. A size is no further from another than what it is
    of. A number that is added to each of several groups would change all of them: of that, nothing is said.
    """
    if len({value.kind == GROUPS for value in values if isinstance(value, Bought)}) > 1:
        return None
    listed = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if operation in {"len", "maxScore"}:
        return Fraction(1)
    parts: list[Fraction] = []
    for each in listed:
        known = Fraction(0) if is_number(each) else each.moves if isinstance(each, Bought) else None
        if known is None:
            return None
        parts.append(known)
    if operation in {"+", "-", "negated", "abs", "sum", "max", "min", "mean"}:
        return sum(parts, Fraction(0))
    if operation in {"*", "/"} and len(values) == 2:
        private, public = (values[0], values[1]) if isinstance(values[0], Bought) else (values[1], values[0])
        if not is_number(public) or (operation == "/" and (public is values[0] or public == 0)):
            return None
        factor = abs(Fraction(public))
        return parts[0 if private is values[0] else 1] * (factor if operation == "*" else 1 / factor)
    return None


def refused(pricer: Pricer, span: Span, operation: str, values: list[Any]) -> None:
    """Report what a function would not take."""
    if pricer.schema is not None:
        from jostle.lang.pricing_schema import operated  # noqa: PLC0415 - only with a schema

        operated(pricer, span, operation, values)


def item_of(pricer: Pricer, span: Span, value: Bought, at: Any) -> Bought:
    """One of the numbers of a query with groups."""
    if pricer.schema is None or value.number is None:
        return evolve(value, number=None)
    from jostle.lang.pricing_schema import group_of  # noqa: PLC0415 - only with a schema

    return evolve(value, number=group_of(pricer, span, value, at))


def real_part(pricer: Pricer, rows: Rows, condition: nodes.Condition, column: Any, value: Any) -> TableValue | None:
    """The part of a table as programs have it while they run, or None without a schema."""
    if rows.table is None or not (isinstance(column, Column) and column.name):
        return None
    from jostle.lang.pricing_schema import part_of  # noqa: PLC0415 - only with a schema

    values = value.values if isinstance(value, Each) else None
    return part_of(pricer, rows.table, condition, column, value if values is None else values)


def bought(pricer: Pricer, span: Span, value: Any) -> None:
    """Report a private value that cannot be bought."""
    number = value.number if isinstance(value, Bought) else None
    if number is not None:
        from jostle.lang.pricing_schema import check_bought  # noqa: PLC0415 - only with a schema

        check_bought(pricer, span, number)


def released(value: Any) -> Any:
    """The facts known of a value that was bought."""
    if not isinstance(value, Bought):
        return UNKNOWN
    if groups := getattr(value.number, "groups", ()):
        return Grouped(groups)
    if value.kind == GROUPS:
        return Unknown(RELEASED, kind="a dictionary of released numbers")
    return RELEASED if value.number is not None or value.kind else UNKNOWN


def _are_keys(candidates: Sequence[Any], utilities: Any) -> bool:
    return is_keyed(utilities) and all(isinstance(candidate, str) or is_number(candidate) for candidate in candidates)


def picked_by(pricer: Pricer, span: Span, domain: Any, utilities: Any) -> None:
    """Report utilities that cannot be compared with each other."""
    mixed(pricer, span, [utilities])
    candidates = items(pricer, domain)
    scores = list(utilities.values()) if is_keyed(utilities) else utilities
    given = scores
    if isinstance(candidates, list) and _are_keys(candidates, utilities):
        given = [candidate for candidate in candidates if candidate in utilities]
    if isinstance(candidates, list) and isinstance(given, list) and len(candidates) != len(given):
        pricer.report(Stop("J508 utilities", items=len(candidates), utilities=len(given)), span)
    if pricer.schema is not None and isinstance(scores, list) and combined(scores).exact:
        from jostle.lang.pricing_schema import check_scores  # noqa: PLC0415 - only with a schema

        check_scores(pricer, span, scores)


def binary(pricer: Pricer, node: nodes.BinaryOperation, names: Names) -> Any:
    """The facts known of a sum, product and so on."""
    left, right = pricer.value(node.left, names), pricer.value(node.right, names)
    if isinstance(left, Rows | Bought) or isinstance(right, Rows | Bought):
        mixed(pricer, node.span, [left, right])
        return made(pricer, node.span, node.operator, [left, right])
    check_computed(pricer, node.span, node.operator, [left, right])
    try:
        return computed_of(node.operator, left, right)
    except (ArithmeticError, ValueError):
        check_computed(pricer, node.span, node.operator, [left, right], failed=True)
        return UNKNOWN


def unary(pricer: Pricer, node: nodes.UnaryOperation, names: Names) -> Any:
    """The facts known of a number with a sign."""
    value = pricer.value(node.operand, names)
    if node.operator == "+":
        return value
    if isinstance(value, Bought):
        return made(pricer, node.span, "negated", [value])
    check_computed(pricer, node.span, "-", [value])
    return computed_of("-", 0, value)


def attribute(pricer: Pricer, node: nodes.Attribute, names: Names) -> Any:
    """The facts known of a named part of a value."""
    value, name = pricer.value(node.value, names), node.name
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


def index(pricer: Pricer, node: nodes.Index, names: Names) -> Any:  # noqa: PLR0911 - one case per kind
    """The facts known of an item."""
    value, at = pricer.value(node.value, names), pricer.value(node.index, names)
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
    keys = [each for each in value if isinstance(each, str)] if isinstance(at, str) else []
    pricer.report(Stop("J507 no_key", key=at, similar=near(str(at), keys)), node.index.span)
    return UNKNOWN
