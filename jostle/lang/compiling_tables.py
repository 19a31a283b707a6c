"""What a program says of tables, made into functions: public facts, parts, queries, and what buys them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np

from jostle.lang import nodes
from jostle.lang.compiling import Compiler
from jostle.lang.arithmetic import fraction, kind_of, plain_number
from jostle.lang.frames import Frame, Go, Scope, constant, text_of
from jostle.lang.lowering import OfColumns, Query, lower
from jostle.lang.operators import fact_of
from jostle.lang.scopes import named_slot
from jostle.lang.stops import MISTAKES, Stop
from jostle.lang.values import (
    Axis,
    ByGroup,
    KnownAttribute,
    OneValue,
    PrivateNumber,
    TableValue,
    no_column,
    numbered,
)


__all__ = []


# Facts and parts


def attribute(compiler: Compiler, node: nodes.Attribute, scope: Scope) -> Go:
    """A step that gives a public fact of a table, a metafeature, or a field of a tree."""
    value, name = compiler.operand(node.value, scope), node.name
    return compiler.guarded(lambda frame: fact_of(value(frame), name), node.span)


def part(compiler: Compiler, node: nodes.Part, scope: Scope) -> Go:
    """A step that gives the rows with certain values."""
    table, span = compiler.operand(node.table, scope), node.span
    remembered = id(node) not in scope.once.parts
    conditions = [
        (_column(compiler, condition.attribute, scope), compiler.operand(condition.value, scope))
        for condition in node.conditions
    ]

    def run(frame: Frame) -> Any:
        try:
            found = table(frame)
            for column, value in conditions:
                name = _name_of(found, column(frame))
                found.codes(name)  # if there is no such column, no value is looked for
                found = found.narrowed(name, value(frame), remembered=remembered)
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None
        return found

    slots = [scope.slot(each) for each in (node.table, node.conditions[0].attribute, node.conditions[0].value)]
    if len(node.conditions) > 1 or None in slots:
        return run
    fetched = itemgetter(*slots)

    def of_variables(frame: Frame) -> Any:
        try:
            found, column, wanted = fetched(frame.names)
        except KeyError:
            return run(frame)  # which of them has no value, this says
        try:
            if type(found) is TableValue and type(column) is KnownAttribute:
                return found.narrowed(column.name, wanted, remembered=remembered)
            return found.narrowed(_name_of(found, column), wanted, remembered=remembered)
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return of_variables


def _name_of(table: Any, column: Any) -> str:
    """The name of a table's column."""
    if not isinstance(table, TableValue):
        raise Stop("J501", f"{kind_of(table)} has parts", "a table has: D[best = v]", "xs[0] for an item of a list")
    name = column.name if type(column) is KnownAttribute else column
    if type(name) is not str:
        raise no_column(table, kind_of(name))
    return name


def _column(compiler: Compiler, node: nodes.ExpressionNode, scope: Scope) -> Go:
    if isinstance(node, nodes.Name) and node.name not in scope.slots and node.name not in compiler.own:
        return constant(node.name)
    return compiler.operand(node, scope)


# Queries


def select(compiler: Compiler, node: nodes.Select, scope: Scope) -> Go:
    """A step that describes a query."""
    table = compiler.operand(node.table, scope)
    value = None if node.value is None else _of_columns(compiler, node.value, scope)
    conjuncts: tuple[nodes.ExpressionNode, ...] = () if node.where is None else (node.where,)
    if isinstance(node.where, nodes.BooleanOperation) and node.where.operator == "and":
        conjuncts = node.where.operands
    where = [_of_columns(compiler, conjunct, scope) for conjunct in conjuncts]
    groupby = [_of_columns(compiler, each, scope) for each in node.groupby]
    aggregate = node.aggregate

    def run(frame: Frame) -> Any:
        found = table(frame)
        if not isinstance(found, TableValue):
            raise Stop(
                "J501", f"a query is of {kind_of(found)}", "rows are selected from a table", "select count() from db"
            )
        query = Query(
            aggregate,
            None if value is None else value(frame),
            tuple(each(frame) for each in where),
            tuple(each(frame) for each in groupby),
        )
        return lower(query, found)

    return compiler.guarded(run, node.span)


def _of_columns(compiler: Compiler, node: nodes.ExpressionNode, scope: Scope) -> Callable[[Frame], OfColumns]:
    """A maker of a public function of the columns that an expression names."""
    columns: dict[str, str] = {}
    value, text = compiler.expression(node, scope.in_query(columns)), text_of(node)
    plain = isinstance(node, nodes.Name) and list(columns) == [node.name]
    inside = list(nodes.walk(node))
    variables = {each.name for each in inside if isinstance(each, nodes.Name)} - columns.keys()
    simple = all(isinstance(each, nodes.Name | nodes.BinaryOperation | nodes.Number) for each in inside)
    read = [scope.slots.get(name) for name in sorted(variables)] if simple else [None]

    def made(frame: Frame) -> OfColumns:
        numbers = [None if slot is None else frame.names.get(slot) for slot in read]
        # With their types: what is computed with 2 and with 2.0 may differ in its last digit.
        known = all(type(number) in {int, float, Fraction} for number in numbers)
        mark = (node, *((type(number), number) for number in numbers)) if known else None

        def compute(row: Mapping[str, OneValue]) -> Any:
            names = dict(frame.names)
            for name, slot in columns.items():
                names[slot] = row[name].value
                names[named_slot(slot)] = row[name]
            return value(Frame(frame.program, names, frame.epsilon, frame.depth))

        return OfColumns(tuple(columns), compute, text, plain=plain, mark=mark)

    return made


# Buying


def noised(compiler: Compiler, node: nodes.Noised, scope: Scope) -> Go:
    """A step that buys a private value."""
    value = compiler.operand(node.value, scope)
    share = node.spending.share if isinstance(node.spending, nodes.Percent) else None
    amount = None if node.spending is None or share is not None else compiler.expression(node.spending, scope)
    site = scope.site(node, "{{ }}")

    def run(frame: Frame) -> Any:
        found = numbered(value(frame))
        if not isinstance(found, PrivateNumber):
            title = "a table is bought" if isinstance(found, TableValue) else f"{kind_of(found)} is bought"
            raise Stop("J213", title, "{{ ... }} buys private numbers", "{{ len(db) }}")
        market = found.table.root.market
        if market is not None:
            return _plain(market.buy_cells(_from_root(found)), found.groups)
        budget = fraction(amount(frame), "spending") if amount is not None else frame.budget()
        if share is not None:
            budget *= share
        numbers = found.table.probe.release_cells(found.expression, budget, site=site)
        return frame.program.bought(site, _plain(numbers, found.groups))

    return compiler.guarded(run, node.span)


def _from_root(number: PrivateNumber) -> Any:
    expression = number.expression
    for table in number.table.path()[1:]:
        expression = expression.where(table.column, table.code)
    return expression


def _plain(numbers: Any, groups: tuple[Axis, ...]) -> Any:
    """A bought number, or a dictionary of one for each group."""
    found = np.asarray(numbers, dtype=np.float64)
    if not groups:
        return _short(float(found[()]))
    flat = [_short(each) for each in found.ravel().tolist()]
    keys = groups[0].keys if len(groups) == 1 else product(*(axis.keys for axis in groups))
    return ByGroup(groups, dict(zip(keys, flat, strict=True)))


def _short(number: float) -> Any:
    return plain_number(Fraction(number)) if number.is_integer() else number
