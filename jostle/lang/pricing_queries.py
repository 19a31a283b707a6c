"""What a table with a certain schema is asked: queries, their columns and what these are compared with, and Options.

Conditions and groups are public functions of single columns, so they are worked out for every value here as they are
while running, unless they hold a released number: then a condition that could be any stands for it, which changes
neither which columns are looked at nor how far a row can change the result by more. Whether an Option runs on a table,
it says itself, from public facts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from jostle.errors import OptionError
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.facts import Callee, Names, Rows, is_number, is_plain
from jostle.lang.frames import named_slot
from jostle.lang.library import DATABASE, imported
from jostle.lang.lowering import CELL, OfColumns, Query, lower
from jostle.lang.messages import Stop, near
from jostle.lang.nodes import target_names
from jostle.lang.operators import shown
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_schema import NotKnownError, attempt, check_column, known_as, real
from jostle.lang.values import OneValue, PrivateNumber, TableValue, no_value
from jostle.options.base import ELSEWHERE, Option
from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema

MOST_VALUES = 2000
"""Of columns with more, conditions are not worked out beforehand."""
AXES = {"x", "y", "z"}


def described(pricer: Pricer, node: nodes.Select, names: Names, table: TableValue) -> PrivateNumber | None:
    """A query as while running, where all of it is known; report what would be refused."""
    asked = _Asked(pricer, names, table.schema)
    conditions = _conjuncts(node.where)
    everything = [each for each in (node.value, *conditions, *node.groupby) if each is not None]
    missing = [each for each in everything if not asked.columns_are_there(each)]
    if missing or any(asked.is_large(each) for each in everything):
        return None
    good = True
    where = []
    for condition in conditions:
        asked.check_compared(condition)
        where.append(asked.function(condition, asked.stand_in))
        good &= attempt(pricer, condition.span, lower, Query("count", None, (where[-1],), ()), table) is not None
    groups = []
    for each in node.groupby:
        asked.check_compared(each)
        groups.append(asked.function(each))
        good &= attempt(pricer, each.span, lower, Query("count", None, (), (groups[-1],)), table) is not None
    if not good:
        return None
    value = None if node.value is None else asked.function(node.value)
    query = Query(node.aggregate, value, tuple(where), tuple(groups))
    found = attempt(pricer, node.span, lower, query, table)
    return found if isinstance(found, PrivateNumber) else None


def _conjuncts(node: nodes.ExpressionNode | None) -> Sequence[nodes.ExpressionNode]:
    if isinstance(node, nodes.BooleanOperation) and node.operator == "and":
        return node.operands
    return () if node is None else (node,)


class _Asked:
    """The public parts of a query, where it stands."""

    def __init__(self, pricer: Pricer, names: Names, schema: Schema) -> None:
        self.pricer = pricer
        self.names = names
        self.schema = schema

    def columns(self, node: nodes.ExpressionNode) -> list[nodes.Name]:
        """The columns that an expression names, each where it stands first."""
        found: dict[str, nodes.Name] = {}
        for name in _names_in(node, frozenset()):
            known = name.name in self.names or name.name in self.pricer.globals or name.name == EPSILON
            if not known and not (name.name in self.pricer.symbols and name.name not in BUILTINS):
                found.setdefault(name.name, name)
        return list(found.values())

    def columns_are_there(self, node: nodes.ExpressionNode) -> bool:
        """Report columns that the table does not have; return whether it has all."""
        missing = [column for column in self.columns(node) if not self._has(column.name)]
        for each in missing:
            check_column(self.pricer, each.name, each.span, self.schema)
        return not missing

    def _has(self, name: str) -> bool:
        grid = all(isinstance(self.schema[each], Numeric) for each in self.schema.names)
        return name in self.schema or name == CELL or (name in AXES and "x" in self.schema and grid)

    def is_large(self, node: nodes.ExpressionNode) -> bool:
        """Whether its columns have too many values, or combinations of values, to go through."""
        return (
            prod(self.schema[column.name].size for column in self.columns(node) if column.name in self.schema)
            > MOST_VALUES
        )

    def function(
        self, node: nodes.ExpressionNode, stand_in: Callable[[Mapping[str, OneValue]], Any] | None = None
    ) -> OfColumns:
        """An expression as a function of its columns, as running programs have it."""
        pricer, columns = self.pricer, tuple(column.name for column in self.columns(node))

        def compute(row: Mapping[str, OneValue]) -> Any:
            # Values of columns are few, and nothing is bought: neither steps nor what was seen is kept.
            steps, seen, pricer.seen = pricer.steps, pricer.seen, None
            try:
                values = {name: known_as(value.value) for name, value in row.items()}
                named = {named_slot(name): value for name, value in row.items()}
                return real(pricer.value(node, {**self.names, **values, **named}))
            except NotKnownError:
                if stand_in is None:
                    raise
                return stand_in(row)
            finally:
                pricer.steps, pricer.seen = steps, seen

        plain = isinstance(node, nodes.Name) and columns == (node.name,)
        return OfColumns(columns, compute, node.shown(), plain=plain)

    @staticmethod
    def stand_in(row: Mapping[str, OneValue]) -> bool:
        """The truth of a condition that is not known: of cells, that they are occupied; of rows, that it holds."""
        return bool(row[CELL].value > 0) if CELL in row else True

    # What columns are compared with

    def check_compared(self, node: nodes.ExpressionNode) -> None:
        """Report values that no row can have, where a column is compared with them."""
        for each in nodes.walk(node):
            if isinstance(each, nodes.Comparison):
                sides = [each.left, *each.rights]
                for index, operator in enumerate(each.operators):
                    self._compared(operator, sides[index], sides[index + 1])

    def _compared(self, operator: str, left: nodes.ExpressionNode, right: nodes.ExpressionNode) -> None:
        if operator in {"==", "!="}:
            for column, other in ((left, right), (right, left)):
                self._has_value(column, [other])
        elif operator in {"in", "not in"} and isinstance(right, nodes.List | nodes.Set | nodes.Tuple):
            self._has_value(left, right.items)
        elif operator not in {"in", "not in"}:
            for column, other in ((left, right), (right, left)):
                self._has_order(column, other)

    def _column(self, node: nodes.ExpressionNode) -> str | None:
        """The column of the table that an expression is."""
        known = isinstance(node, nodes.Name) and [column.name for column in self.columns(node)] == [node.name]
        return node.name if known and isinstance(node, nodes.Name) and node.name in self.schema else None

    def _known(self, node: nodes.ExpressionNode) -> Any:
        steps = self.pricer.steps
        try:
            return None if self.columns(node) else real(self.pricer.value(node, self.names))
        except NotKnownError:
            return None
        finally:
            self.pricer.steps = steps

    def _has_value(self, node: nodes.ExpressionNode, others: Sequence[nodes.ExpressionNode]) -> None:
        name = self._column(node)
        if name is None:
            return
        column = self.schema[name]
        for other in others:
            value = self._known(other)
            is_name = isinstance(value, str) or is_number(value)
            if not is_name or column.code_called(value) is not None:
                continue
            is_text = isinstance(value, str)
            number = value if isinstance(column, Numeric) and is_text and _is_written_number(value) else None
            similar = near(str(value), column.labels if is_text else ())
            mistake = no_value(name, column, f"`{shown(value)}`").given(number=number, similar=similar)
            self.pricer.report(mistake, other.span)

    def _has_order(self, node: nodes.ExpressionNode, other: nodes.ExpressionNode) -> None:
        name = self._column(node)
        if name is None:
            return
        texts = [meaning for meaning in self.schema[name].meanings if isinstance(meaning, str)]
        value = self._known(other)
        if value is None or isinstance(value, str) is bool(texts):
            return
        said = "J504 texts_with_a_number" if texts else "J504 numbers_with_a_text"
        self.pricer.report(Stop(said, name=name, text=next(iter(texts), None)), other.span)


def _names_in(node: nodes.Node, bound: frozenset[str]) -> Iterator[nodes.Name]:
    """Yield the names in an expression that are not bound in it; what is called is no column."""
    match node:
        case nodes.Name():
            if node.name not in bound:
                yield node
            return
        case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
            bound |= {each.name for clause in node.clauses for each in target_names(clause.target)}
        case nodes.Lambda():
            bound |= {parameter.name for parameter in node.parameters}
        case nodes.Call(function=nodes.Name(name=name)) if name in BUILTINS:
            for each in (*node.arguments, *(keyword.value for keyword in node.keywords)):
                yield from _names_in(each, bound)
            return
        case _:
            pass
    for child in nodes.children(node):
        yield from _names_in(child, bound)


def _is_written_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def check_suited(pricer: Pricer, node: nodes.Call, callee: Callee, given: list[Any], named: Names) -> None:
    """Report an Option, or a choice among Options, none of which runs on the table that it is called with."""
    table = given[0] if given else named.get(DATABASE)
    if not isinstance(table, Rows) or table.table is None:
        return
    refused = _refusal(pricer, callee, table.table.schema)
    if refused is not None:
        from jostle.lang.pricing_schema import attempt  # noqa: PLC0415 - without a schema, no library of numbers is loaded

        attempt(pricer, node.span, _refuse, refused)


def _refuse(refused: OptionError) -> None:
    raise refused


def _refusal(pricer: Pricer, callee: Any, schema: Schema) -> OptionError | None:
    """The refusal of what is called, if nothing that it may be runs on such a table."""
    if not isinstance(callee, Callee):
        return None
    if callee.several:  # a choice takes one that runs, where it was learned on such tables
        refusals = [_refusal(pricer, each, schema) for each in callee.several]
        return None if None in refusals else refusals[0]
    option = _made(pricer, callee)
    if option is None:
        return None
    try:
        reason = option.refuses(schema)
    except Exception:  # noqa: BLE001 - an Option of one's own may fail in any way, and does so where it is run
        return None
    return None if reason is None else OptionError(f"{option.name} does not run here: {reason}", fix=ELSEWHERE)


def _made(pricer: Pricer, callee: Callee) -> Option | None:
    """The Option of the library that is called; None where that, or what it is given as parameters, is not known."""
    known = pricer.library.options.get(callee.name) if callee.kind in {"library", "configured"} else None
    if known is None or not all(map(is_plain, callee.names.values())):
        return None
    option: Option = imported("options", callee.name)
    if not callee.names:
        return option
    try:
        made: Option = type(option)(**{name: known.parameter(name, value) for name, value in callee.names.items()})
    except (Stop, OptionError, TypeError):  # reported where it is given them
        return None
    return made
