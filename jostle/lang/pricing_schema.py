"""What a running program would do with a table of a certain schema, done without its rows.

Tables, private values and operations are those of running programs. A table here has no probe, so nothing in it can be
bought; what is only known to be one of several values stands for none, and what is computed from it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from attrs import frozen

from jostle.errors import JostleError, Span
from jostle.lang import nodes
from jostle.lang.facts import UNKNOWN, Bought, Column, Each, Grouped, Rows, Unknown, is_number, whole
from jostle.lang.lowering import fact_of_table
from jostle.lang.messages import Stop, near
from jostle.lang.operations import PLAIN, asked_of
from jostle.lang.operators import BINARY, named_alike, negated, no_key
from jostle.lang.operators import item_of as item_at
from jostle.lang.pricing import Pricer
from jostle.lang.values import (
    KnownAttribute,
    OneValue,
    PrivateNumber,
    SplitScoreOf,
    TableValue,
    common,
    no_column,
    numbered,
    places_of,
)
from jostle.privacy.mechanisms import AddNoiseTo
from jostle.privacy.nodes import Expression
from jostle.privacy.picks import PickLargest
from jostle.tables.schema import Schema

Private = PrivateNumber | SplitScoreOf
PLENTY = Fraction(2**20)
"""A budget that is not too little for anything."""
FACTS = ("attributes", "label", "rows")


class NotKnownError(Exception):
    """A value that depends on a released number, or on data."""


@frozen
class _Facts:
    """What stands for a database that is not there: its schema, and no rows."""

    schema: Schema

    def buy_cells(self, wanted: Expression) -> NoReturn:  # noqa: ARG002 - there is nothing to buy
        """Refuse."""
        raise Stop("J901 purchase")


def table_of(schema: Schema) -> TableValue:
    """A table with this schema, and without rows."""
    return TableValue(market=_Facts(schema))


def real(value: Any) -> Any:
    """A value as running programs have it."""
    if isinstance(value, Rows):
        if value.table is not None:
            return value.table
    elif isinstance(value, Bought):
        if value.number is not None:
            return value.number
    elif isinstance(value, Column):
        if value.values is not None and value.name:
            return KnownAttribute(value.name, value.values)
    elif value is None or isinstance(value, str | bool) or is_number(value):
        return value
    elif isinstance(value, list):
        return [real(each) for each in value]
    raise NotKnownError


def known_as(value: Any) -> Any:
    """The facts known of a public value of a running program."""
    if isinstance(value, KnownAttribute):
        return Column(value.name, len(value.values), value.values)
    if isinstance(value, list):
        return [known_as(each) for each in value]
    return whole(value)


def attempt(pricer: Pricer, span: Span, work: Callable[..., Any], *given: Any) -> Any:
    """The value that a running program would get; report what it would be refused, and give None."""
    try:
        return work(*given)
    except NotKnownError:
        return None
    except (Stop, JostleError, ArithmeticError) as mistake:
        pricer.report(mistake, span)
    return None


def fact(pricer: Pricer, node: nodes.Attribute, table: TableValue) -> Any:
    """A public fact of a table."""
    value: Any = None
    try:
        value = fact_of_table(table, node.name)
    except Stop as mistake:
        if node.name == "rows":
            return Unknown(kind="a public number")
        others = [each for each in (*table.schema.names, *FACTS) if each != node.name]
        pricer.report(mistake.given(similar=near(node.name, others)), node.name_span)
        return UNKNOWN
    return known_as(value)


def check_column(pricer: Pricer, name: str, span: Span, schema: Schema) -> None:
    """Report a column that a table does not have."""
    pricer.report(no_column(schema, f"`{name}`").given(similar=near(name, schema.names)), span)


def part_of(
    pricer: Pricer, table: TableValue, condition: nodes.Condition, column: Column, value: Any
) -> TableValue | None:
    """A part of a table; of one of several values, the first stands for all."""
    name, schema = column.name, table.schema
    if name not in schema:
        # What was picked, or comes out of a loop, has a name of our own.
        if " " not in name or isinstance(condition.attribute, nodes.String):
            check_column(pricer, name, condition.attribute.span, schema)
        return None
    values = value if isinstance(value, tuple) else (value,)
    codes = []
    for each in values:
        if not (isinstance(each, str | bool) or is_number(each)):
            return table.part(name, 0)
        try:
            codes.append(table.coded(name, each))
        except Stop as mistake:
            labels = schema[name].labels if isinstance(each, str) else ()
            pricer.report(mistake.given(similar=near(str(each), labels)), condition.value.span)
            return None
    return table.part(name, codes[0]) if codes else None


def operated(pricer: Pricer, span: Span, operation: str, values: Sequence[Any]) -> Private | None:
    """A private value that is made of others, where all are known."""
    work = BINARY.get(operation) or (negated if operation == "negated" else PLAIN[operation])
    found = attempt(pricer, span, lambda: work(*map(real, values)))
    return found if isinstance(found, PrivateNumber | SplitScoreOf) else None


def check_key(pricer: Pricer, span: Span, value: Grouped, at: Any) -> None:
    """Report a key that a dictionary of released numbers does not have; of one of several, that it has none of them."""
    if isinstance(at, Each):
        called: tuple[Any, ...] = at.values or ()
    else:
        called = (tuple(at) if isinstance(at, list) else at,)
    known = all(
        isinstance(part, str) or is_number(part)
        for each in called
        for part in (each if isinstance(each, tuple) else [each])
    )
    if called and known and all(places_of(value.axes, each) is None for each in called):
        attempt(pricer, span, _no_key, called[0], value)


def _no_key(name: Any, value: Grouped) -> NoReturn:
    raise no_key(name, list(value.keys()), "key")


def group_of(pricer: Pricer, span: Span, value: Bought, at: Any) -> Private | None:
    """The number of one group."""

    def group() -> Any:
        place = real(at)
        return item_at(real(value), tuple(place) if isinstance(place, list) else place)

    found = attempt(pricer, span, group)
    return found if isinstance(found, PrivateNumber) else None


def compared_by_name(operator: str, left: Any, right: Any, one: OneValue | None, other: OneValue | None) -> Any:
    """Whether a comparison of a column holds, or that it is not known."""
    try:
        return named_alike(operator, real(left), real(right), one, other)
    except (NotKnownError, Stop):
        return UNKNOWN


def check_statistic(pricer: Pricer, span: Span, name: str, asked: Sequence[Any]) -> None:
    """Report what cannot be asked of a column of a table with this schema."""
    attempt(pricer, span, lambda: asked_of(name, *map(real, asked)))


def check_bought(pricer: Pricer, span: Span, number: Private) -> None:
    """Report what cannot be bought of a table with this schema, however much is spent."""
    known = numbered(number)
    if isinstance(known, PrivateNumber):
        attempt(pricer, span, AddNoiseTo(known.expression).check, known.table.schema, PLENTY)


def check_scores(pricer: Pricer, span: Span, utilities: Sequence[Any]) -> None:
    """Report utilities that cannot be compared with each other."""
    scores = attempt(pricer, span, lambda: list(map(real, utilities)))
    if not scores or all(isinstance(score, SplitScoreOf) for score in scores):
        return
    scores = [numbered(score) for score in scores]
    if all(isinstance(score, PrivateNumber) for score in scores):
        compared = attempt(pricer, span, common, scores)
        if compared is not None:
            attempt(pricer, span, PickLargest(tuple(compared[1])).check, compared[0].schema, PLENTY)
    elif any(isinstance(score, PrivateNumber | SplitScoreOf) for score in scores):
        pricer.report(Stop("J504 utilities"), span)
