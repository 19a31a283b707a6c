"""Calls, queries, purchases and choices, made into functions: the half of compiling that meets tables and Options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.errors import JostleError, ProgramError, Span
from jostle.lang import nodes
from jostle.lang.arithmetic import fraction, is_number, kind_of, plain_number
from jostle.lang.builtins import BUILTINS, Builtin
from jostle.lang.compiling import LambdaValue, text_of
from jostle.lang.frames import Frame
from jostle.lang.functions import Function
from jostle.lang.lowering import OfColumns, Query, axis_size, lower
from jostle.lang.operations import OPERATIONS, items
from jostle.lang.stops import Stop, placed
from jostle.lang.values import (
    Features,
    KnownAttribute,
    Leaf,
    Node,
    PrivateNumber,
    Table,
    attribute_of,
    numbered,
)
from jostle.options.base import Option

if TYPE_CHECKING:
    from jostle.lang.compiling import Compiler, Go, Scope

__all__ = ["apply", "attribute", "call", "choose", "item_of", "make_choice_maker", "noised", "over", "part", "select"]


def site_of(scope: Scope, node: nodes.Node, what: str) -> str:
    """Return what a place in the program is called in traces."""
    place = f"line {node.span.line}"
    return f"{scope.function} {place}: {what}" if scope.function else f"{place}: {what}"


# Calls


def call(compiler: Compiler, node: nodes.Call, scope: Scope) -> Go:
    """Return what calls a function."""
    function = node.function
    given = [compiler.expression(each, scope) for each in node.arguments]
    named = {each.name: compiler.expression(each.value, scope) for each in node.keywords}
    known = function.name if isinstance(function, nodes.Name) else ""
    if known in OPERATIONS and known not in scope.slots and known not in compiler.own:
        return _builtin(compiler, node, BUILTINS[known], given, named, scope)
    site = site_of(scope, node, text_of(function))
    value = compiler.expression(function, scope)

    def run(frame: Frame) -> Any:
        return apply(
            frame,
            site,
            value(frame),
            [each(frame) for each in given],
            {name: each(frame) for name, each in named.items()},
        )

    return compiler.guarded(run, node.span)


def _builtin(  # noqa: PLR0917 - a clause each
    compiler: Compiler, node: nodes.Call, builtin: Builtin, given: list[Go], named: Mapping[str, Go], scope: Scope
) -> Go:
    operation = OPERATIONS[builtin.name]
    site = site_of(scope, node, builtin.name)
    plain = [name for name in builtin.parameters if not name.startswith("*")]
    ordered: list[Go | None] = [*given]
    for place, name in enumerate(plain):
        if name in named:
            ordered.extend([None] * (place + 1 - len(ordered)))
            ordered[place] = named[name]
    if all(ordered):
        parts: list[Any] = ordered
        return _in_order(compiler, operation, site, parts, node.span)
    filled = [(plain[place], part) for place, part in enumerate(ordered) if part is not None]

    def run(frame: Frame) -> Any:
        return operation(frame, site, **{name: part(frame) for name, part in filled})

    return compiler.guarded(run, node.span)


def _in_order(compiler: Compiler, operation: Callable[..., Any], site: str, parts: Sequence[Go], span: Span) -> Go:
    """Return what calls an operation with all its values; guarded in place, since there are many."""
    source = compiler.source

    def run(frame: Frame) -> Any:
        try:
            return operation(frame, site, *[part(frame) for part in parts])
        except ProgramError:
            raise
        except (Stop, JostleError, ArithmeticError) as mistake:
            raise placed(mistake, source, span) from None

    return run


def apply(frame: Frame, site: str, function: Any, given: list[Any], named: Mapping[str, Any]) -> Any:
    """Return what a function, an Option or a choice maker gives."""
    if isinstance(function, Function):
        return function.called(frame, given, named)
    if isinstance(function, LambdaValue):
        return function(frame, given)
    if isinstance(function, Builtin):
        return OPERATIONS[function.name](frame, site, *given, **named)
    if isinstance(function, Option):
        return _option(frame, function, given, named)
    raise Stop("J501", f"{kind_of(function)} is called", "functions and Options are called", "name a function")


def _option(frame: Frame, option: Option, given: list[Any], named: Mapping[str, Any]) -> Any:
    if not given or not isinstance(given[0], Table):
        raise Stop(
            "J501",
            f"`{option.name}` is not given a database",
            "an Option is called with the database it answers from",
            f"{type(option).__name__}(db)",
        )
    table, *questions = given
    wanted = dict(named)
    epsilon = wanted.pop("epsilon", None)
    budget = frame.budget() if epsilon is None else fraction(epsilon, "epsilon")
    return option(table.probe, *questions, epsilon=budget, **wanted)


# Facts and parts


def attribute(compiler: Compiler, node: nodes.Attribute, scope: Scope) -> Go:
    """Return what gives a public fact of a table, a metafeature, or a field of a tree."""
    value, name = compiler.expression(node.value, scope), node.name
    return compiler.guarded(lambda frame: fact_of(value(frame), name), node.span)


def fact_of(value: Any, name: str) -> Any:
    """Return a named part of a value."""
    if isinstance(value, Table):
        return _fact_of_table(value, name)
    if isinstance(value, Features):
        if name not in value.seen:
            raise Stop(
                "J503", f"there is no metafeature `{name}`", "`predict` sees those the maker is informed by", name
            )
        return value.seen[name]
    if isinstance(value, Leaf | Node) and name in {"pred", "size", "votes", "att", "children"} and hasattr(value, name):
        return getattr(value, name)
    if isinstance(value, KnownAttribute) and name in {"name", "values"}:
        return getattr(value, name)
    raise Stop(
        "J503", f"{kind_of(value)} has no `{name}`", "only tables and trees have parts with names", "db.attributes"
    )


def _fact_of_table(table: Table, name: str) -> Any:
    schema = table.schema
    if name == "attributes":
        return [attribute_of(schema, each) for each in schema.attributes]
    if name == "label":
        if schema.label is None:
            raise Stop("J503", "the table has no label", "its schema names none", 'label = "ill", in the schema')
        return attribute_of(schema, schema.label)
    if name == "rows":
        if schema.rows is None:
            raise Stop("J503", "the number of rows is private", "the schema does not declare it", "{{ len(db) }}")
        return schema.rows
    if name in schema:
        return attribute_of(schema, name)
    if name.endswith("_range"):
        return axis_size(schema, name.removesuffix("_range"))
    listed = ", ".join(schema.names[:8])
    why = f"public facts are attributes, label, rows, a column ({listed}) or its range, as in x_range"
    raise Stop("J503", f"the table has no `{name}`", why, "db.attributes")


def part(compiler: Compiler, node: nodes.Part, scope: Scope) -> Go:
    """Return what gives the rows with certain values."""
    table = compiler.expression(node.table, scope)
    conditions = []
    for each in node.conditions:
        column = _column(compiler, each.attribute, scope)
        conditions.append((column, compiler.expression(each.value, scope)))

    def run(frame: Frame) -> Any:
        found = table(frame)
        if not isinstance(found, Table):
            raise Stop("J501", f"{kind_of(found)} has parts", "a table has: D[best = v]", "xs[0] for an item of a list")
        for column, value in conditions:
            name = column(frame)
            if isinstance(name, KnownAttribute):
                name = name.name
            if not isinstance(name, str) or name not in found.schema:
                shown = f"`{name}`" if isinstance(name, str) else kind_of(name)
                listed = ", ".join(found.schema.names[:12])
                raise Stop("J503", f"there is no column {shown}", f"the table has {listed}", "name one of these")
            found = found.part(name, found.coded(name, value(frame)))
        return found

    return compiler.guarded(run, node.span)


def _column(compiler: Compiler, node: nodes.Expression, scope: Scope) -> Go:
    if isinstance(node, nodes.Name) and node.name not in scope.slots and node.name not in compiler.own:
        name = node.name
        return lambda _: name
    return compiler.expression(node, scope)


def item_of(value: Any, index: Any) -> Any:
    """Return one item of a value."""
    if isinstance(value, PrivateNumber) and value.groups:
        keys = index if isinstance(index, tuple) else (index,)
        if len(keys) != len(value.groups) or any(
            key not in names for key, names in zip(keys, value.groups, strict=True)
        ):
            raise Stop("J507", "there is no such group", "groups are called by what they are grouped by", "q[0]")
        places = tuple(names.index(key) for key, names in zip(keys, value.groups, strict=True))
        return PrivateNumber(value.table, value.expression[places])
    if isinstance(value, Table):
        raise Stop(
            "J210", "a row is looked at", "rows are private", "count rows: {{ select count() from db where ... }}"
        )
    if isinstance(value, dict):
        if index not in value:
            raise Stop("J507", "there is no such key", "the dictionary does not have it", "test with `in` first")
        return value[index]
    if isinstance(value, KnownAttribute):
        value = value.values
    if hasattr(value, "databases"):
        return value[index] if isinstance(index, str) else value.databases[_whole(index, len(value))]
    if isinstance(value, list | tuple | range | str):
        return value[_whole(index, len(value))]
    raise Stop("J501", f"{kind_of(value)} has no items", "lists and dictionaries do", "xs[0]")


def _whole(index: Any, length: int) -> int:
    if not is_number(index) or index != int(index):
        raise Stop("J501", f"an index is {kind_of(index)}", "items are numbered from 0", "xs[0]")
    if not -length <= index < length:
        raise Stop("J507", f"there is no item {int(index)}", f"the list has {length}", "count from 0")
    return int(index)


# Buying


def noised(compiler: Compiler, node: nodes.Noised, scope: Scope) -> Go:
    """Return what buys a private value."""
    value = compiler.expression(node.value, scope)
    share = node.spending.share if isinstance(node.spending, nodes.Percent) else None
    amount = None if node.spending is None or share is not None else compiler.expression(node.spending, scope)
    site = site_of(scope, node, "{{ }}")

    def run(frame: Frame) -> Any:
        found = numbered(value(frame))
        if not isinstance(found, PrivateNumber):
            title = "a table is bought" if isinstance(found, Table) else f"{kind_of(found)} is bought"
            raise Stop("J213", title, "{{ ... }} buys private numbers", "{{ len(db) }}")
        market = found.table.root.market
        if market is not None:
            expression = _from_root(found)
            return _plain(market.buy_cells(expression), found.groups)
        budget = fraction(amount(frame), "spending") if amount is not None else frame.budget()
        if share is not None:
            budget *= share
        return _plain(found.table.probe.release_cells(found.expression, budget, site=site), found.groups)

    return compiler.guarded(run, node.span)


def _from_root(number: PrivateNumber) -> Any:
    expression = number.expression
    for table in number.table.path()[1:]:
        expression = expression.where(table.column, table.code)
    return expression


def _plain(numbers: Any, groups: tuple[tuple[Any, ...], ...]) -> Any:
    """Return a bought number, or a dictionary of one for each group."""
    found = np.asarray(numbers, dtype=np.float64)
    if not groups:
        return _short(float(found[()]))
    flat = [_short(each) for each in found.ravel().tolist()]
    if len(groups) == 1:
        return dict(zip(groups[0], flat, strict=True))
    return dict(zip(product(*groups), flat, strict=True))


def _short(number: float) -> Any:
    return plain_number(Fraction(number)) if number.is_integer() else number


def select(compiler: Compiler, node: nodes.Select, scope: Scope) -> Go:
    """Return what describes a query."""
    table = compiler.expression(node.table, scope)
    parts: list[tuple[str, nodes.Expression]] = []
    value = None if node.value is None else of_columns(compiler, node.value, scope)
    conjuncts: list[nodes.Expression] = []
    if node.where is not None:
        joined = isinstance(node.where, nodes.BooleanOperation) and node.where.operator == "and"
        conjuncts = (
            list(node.where.operands) if joined and isinstance(node.where, nodes.BooleanOperation) else [node.where]
        )
    where = [of_columns(compiler, each, scope) for each in conjuncts]
    groupby = [of_columns(compiler, each, scope) for each in node.groupby]
    aggregate = node.aggregate
    del parts

    def run(frame: Frame) -> Any:
        found = table(frame)
        if not isinstance(found, Table):
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


def of_columns(compiler: Compiler, node: nodes.Expression, scope: Scope) -> Callable[[Frame], OfColumns]:
    """Return what makes a public function of the columns that an expression names."""
    columns: dict[str, str] = {}
    inner = type(scope)(scope.function, scope.slots, scope.counter, columns)
    value, text = compiler.expression(node, inner), text_of(node)

    def made(frame: Frame) -> OfColumns:
        def compute(row: Mapping[str, Any]) -> Any:
            names = dict(frame.names)
            for name, slot in columns.items():
                names[slot] = row[name]
            return value(Frame(frame.program, names, frame.epsilon, frame.depth))

        return OfColumns(tuple(columns), compute, text)

    return made


def over(compiler: Compiler, node: nodes.Over, scope: Scope) -> Go:
    """Return what answers a workload from an estimate."""
    queries, cells = compiler.expression(node.queries, scope), compiler.expression(node.cells, scope)

    def run(frame: Frame) -> Any:
        from jostle.lang.estimates import estimate_of  # noqa: PLC0415 - needs the histograms

        return estimate_of(queries(frame), items(cells(frame), "an estimate"))

    return compiler.guarded(run, node.span)


# Choices


def make_choice_maker(compiler: Compiler, node: nodes.MakeChoiceMaker, scope: Scope, label: str) -> Go:
    """Return what makes a choice maker."""
    among = compiler.expression(node.among, scope)
    looked_at = None if node.informed_by is None else compiler.expression(node.informed_by, scope)
    trained = None if node.trained_on is None else compiler.expression(node.trained_on, scope)
    judged = None if node.judged_by is None else compiler.expression(node.judged_by, scope)
    share = node.spending.share if isinstance(node.spending, nodes.Percent) else None
    amount = None if node.spending is None or share is not None else compiler.expression(node.spending, scope)

    def run(frame: Frame) -> Any:
        from jostle.lang.makers import make  # noqa: PLC0415 - needs what learns

        return make(
            frame.program,
            label or "choice",
            list(items(among(frame), "what is chosen among")),
            None if looked_at is None else list(items(looked_at(frame), "what informs a choice")),
            None if trained is None else trained(frame),
            share if amount is None else fraction(amount(frame), "spending"),
            None if judged is None else judged(frame),
        )

    return compiler.guarded(run, node.span)


def choose(compiler: Compiler, node: nodes.Choose, scope: Scope) -> Go:
    """Return what makes a labelled choice."""
    alternatives = items_of(node.among)
    names = tuple(each.name for each in alternatives if isinstance(each, nodes.Name))
    values = [compiler.expression(each, scope) for each in alternatives]
    informed = [] if node.informed_by is None else items_of(node.informed_by)
    seen = [(seen_name(each), compiler.expression(each, scope)) for each in informed]
    label = node.label

    def run(frame: Frame) -> Any:
        from jostle.choosing import choose as ask  # noqa: PLC0415 - most programs make no labelled choice

        looked_at = {name: value(frame) for name, value in seen}
        taken = ask(label, among=names, informed_by=looked_at, policy=frame.program.policy(label))
        return values[names.index(taken)](frame)

    return compiler.guarded(run, node.span)


def seen_name(node: nodes.Expression) -> str:
    """Return what something that informs a choice is called: its name, or as it is written."""
    return node.name if isinstance(node, nodes.Name) else text_of(node)


def items_of(node: nodes.Expression) -> tuple[nodes.Expression, ...]:
    """Return the items of a set, list or tuple as written."""
    return node.items if isinstance(node, nodes.Set | nodes.List | nodes.Tuple) else ()
