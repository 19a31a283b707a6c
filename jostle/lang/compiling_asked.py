"""What a program says of tables, calls and choices, made into functions.

Options are called with parameters, which gives an Option, or with a database, which gives an answer. What they are
called with is settled before anything is spent, and what goes wrong inside is told like other mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from attrs import evolve

from jostle.errors import JostleError
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON, KEEPING, Builtin
from jostle.lang.compiling import Compiler, Go, Scope, constant
from jostle.lang.compiling_values import VALUES, LambdaValue
from jostle.lang.frames import Frame, Function, bound, named_slot
from jostle.lang.library import DATABASE, LibraryOption, library
from jostle.lang.lowering import OfColumns, Query, fact_of, lower
from jostle.lang.messages import MISTAKES, Stop, broken_off
from jostle.lang.operations import BUYING, PLAIN, as_bought, operated
from jostle.lang.operators import fraction, items, kind_of
from jostle.lang.program_options import ProgramOption
from jostle.lang.values import Axis, ByGroup, KnownAttribute, OneValue, PrivateNumber, TableValue, no_column, numbered
from jostle.options.base import Option


def called(frame: Frame, option: Option, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The answer of an Option, or an Option with the parameters that it is given."""
    known = library().options.get(type(option).__name__)
    if known is not None and known.is_given_parameters(len(given), named):
        return _with_parameters(option, known, named)
    wanted = dict(named)
    epsilon = wanted.pop(EPSILON, None)
    (table, *questions), wanted = _arranged(option, given, wanted)
    if not isinstance(table, TableValue):
        raise Stop("J501 database_running", name=option.name, kind=kind_of(table))
    if not isinstance(option, ProgramOption):
        _check_questions(option, questions)
    budget = frame.budget() if epsilon is None else fraction(epsilon, EPSILON)
    try:
        return option(table.probe, *questions, epsilon=budget, **wanted)
    except (Stop, JostleError):
        raise
    except Exception as failure:  # noqa: BLE001 - whatever it is, it is no user's mistake
        raise broken_off(failure, f"`{option.name}`") from None


def _with_parameters(option: Option, known: LibraryOption, named: Mapping[str, Any]) -> Option:
    """The same Option with parameters, all of which are as they may be."""
    if option != type(option)():
        raise Stop("J113 again", name=option.name, example=known.example)
    made: Option = type(option)(**{name: known.parameter(name, value) for name, value in named.items()})
    return made


def _arranged(option: Option, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of an Option by place, the database first, and by name."""
    first, *others = _leaves(option)
    values = _bound(first, given, named)
    explicit = [name for index, name in enumerate(values) if index < len(given) or name in named]
    leading = [name for index, name in enumerate(values) if explicit[: index + 1] == list(values)[: index + 1]]
    arranged = [values[name] for name in leading], {name: values[name] for name in explicit if name not in leading}
    for other in others:  # whichever is chosen
        _bound(other, *arranged)
    return arranged


def _leaves(option: Option) -> list[Any]:
    """The Options that may run: of a choice maker, those that it chooses among."""
    return [leaf for each in getattr(option, "among", ()) for leaf in _leaves(each)] or [option]


def _bound(option: Any, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(option, ProgramOption):
        return option.answer.bound(given, named)
    names = (DATABASE, *option.task.question.beside)
    return bound(option.name, names, dict.fromkeys(names[1:]), given, named)


def _check_questions(option: Option, questions: Sequence[Any]) -> None:
    """Refuse questions that are not of the kind that the Option's task asks."""
    for question, (name, kind) in zip(questions, option.task.question.beside.items(), strict=False):
        if question is not None and not isinstance(question, kind):
            raise Stop("J501 asked", option=option.name, kind=kind_of(question), name=name)


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

    slots = [scope.slot(side) for side in (node.table, node.conditions[0].attribute, node.conditions[0].value)]
    if len(node.conditions) > 1 or None in slots:
        return run
    fetched = itemgetter(*slots)

    def of_variables(frame: Frame) -> Any:
        try:
            found, column, wanted = fetched(frame.names)
        except KeyError:
            return run(frame)  # which of them has no value, this says
        try:
            return found.narrowed(_name_of(found, column), wanted, remembered=remembered)
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return of_variables


def _name_of(table: Any, column: Any) -> str:
    """The name of a table's column."""
    if not isinstance(table, TableValue):
        raise Stop("J501 parts", kind=kind_of(table))
    name = column.name if type(column) is KnownAttribute else column
    if type(name) is not str:
        raise no_column(table.schema, kind_of(name))
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
            raise Stop("J501 query", kind=kind_of(found))
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
    value, text = compiler.expression(node, evolve(scope, columns=columns)), node.shown()
    plain = isinstance(node, nodes.Name) and list(columns) == [node.name]
    inside = list(nodes.walk(node))
    variables = {each.name for each in inside if isinstance(each, nodes.Name)} - columns.keys()
    simple = all(isinstance(each, nodes.Name | nodes.BinaryOperation | nodes.Number) for each in inside)
    read = [scope.slots.get(name) for name in sorted(variables)] if simple else [None]
    kept: dict[Any, Any] = {}

    def made(frame: Frame) -> OfColumns:
        numbers = [None if slot is None else frame.names.get(slot) for slot in read]
        # With their types: what is computed with 2 and with 2.0 may differ in its last digit.
        known = all(type(number) in {int, float, Fraction} for number in numbers)
        mark = tuple([(type(number), number) for number in numbers]) if known else None

        def compute(row: Mapping[str, OneValue]) -> Any:
            names = dict(frame.names)
            for name, slot in columns.items():
                names[slot] = row[name].value
                names[named_slot(slot)] = row[name]
            return value(Frame(frame.program, names, frame.epsilon, frame.depth))

        return OfColumns(tuple(columns), compute, text, plain=plain, mark=mark, kept=kept)

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
            raise Stop("J213 running", what="a table" if isinstance(found, TableValue) else kind_of(found))
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
        return as_bought(found[()])
    flat = [as_bought(each) for each in found.ravel().tolist()]
    keys = groups[0].keys if len(groups) == 1 else product(*(axis.keys for axis in groups))
    return ByGroup(groups, dict(zip(keys, flat, strict=True)))


def make_choice_maker(compiler: Compiler, named: tuple[nodes.MakeChoiceMaker, str], scope: Scope) -> Go:
    """A step that makes a choice maker, by the name that it is given."""
    node, label = named
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
    """A step that makes a labelled choice."""
    alternatives = nodes.items_of(node.among)
    names = tuple(alternative.name for alternative in alternatives if isinstance(alternative, nodes.Name))
    values = [compiler.expression(alternative, scope) for alternative in alternatives]
    informed = nodes.items_of(node.informed_by)
    seen = [(_seen_name(each), compiler.expression(each, scope)) for each in informed]
    label = node.label

    def run(frame: Frame) -> Any:
        from jostle.sites import choose as ask  # noqa: PLC0415 - most programs make no labelled choice

        looked_at = {name: value(frame) for name, value in seen}
        taken = ask(label, among=names, informed_by=looked_at, policy=frame.program.policy(label))
        return values[names.index(taken)](frame)

    return compiler.guarded(run, node.span)


def _seen_name(node: nodes.ExpressionNode) -> str:
    """The name of something that informs a choice: its own, or as it is written."""
    return node.name if isinstance(node, nodes.Name) else node.shown()


def over(compiler: Compiler, node: nodes.Over, scope: Scope) -> Go:
    """A step that answers a workload from an estimate."""
    queries, cells = compiler.expression(node.queries, scope), compiler.expression(node.cells, scope)

    def run(frame: Frame) -> Any:
        from jostle.lang.operations import estimate_of  # noqa: PLC0415 - needs the histograms

        return estimate_of(queries(frame), items(cells(frame), "an estimate"))

    return compiler.guarded(run, node.span)


def call(compiler: Compiler, node: nodes.Call, scope: Scope) -> Go:
    """A step that calls a function."""
    function, span = node.function, node.span
    known = function.name if isinstance(function, nodes.Name) else ""
    if known in BUILTINS and known not in scope.slots and known not in compiler.own:
        return _builtin(compiler, node, BUILTINS[known], scope)
    named = {keyword.name: compiler.expression(keyword.value, scope) for keyword in node.keywords}
    given = [compiler.expression(argument, scope) for argument in node.arguments]
    site = scope.site(node, function.shown())
    value = compiler.expression(function, scope)

    def run(frame: Frame) -> Any:
        try:
            found = value(frame)
            listed = [each(frame) for each in given]
            by_name = {name: each(frame) for name, each in named.items()} if named else {}
            if type(found) is Function:
                return found.called(frame, listed, by_name)
            return apply(frame, site, found, listed, by_name)
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


def apply(frame: Frame, site: str, function: Any, given: list[Any], named: Mapping[str, Any]) -> Any:
    """The value of a function, an Option or a choice maker."""
    if isinstance(function, Function):
        return function.called(frame, given, named)
    if isinstance(function, LambdaValue):
        return function(frame, given, named)
    if isinstance(function, Builtin):
        for each in (*given, *named.values()):
            if isinstance(each, TableValue):  # it may be kept, and found again
                each.remembers = True
        return operated(frame, site, function.name, given, named)
    if isinstance(function, Option):
        found = called(frame, function, given, named)
        return found if isinstance(found, Option) else frame.program.bought(site, found)
    raise Stop("J501 called", kind=kind_of(function))


# Functions that every program knows


def _builtin(compiler: Compiler, node: nodes.Call, builtin: Builtin, scope: Scope) -> Go:
    """A step that calls a known function: its values are put in order here, once."""
    name, span = builtin.name, node.span
    plain = [each for each in builtin.parameters if not each.startswith("*")]
    given = compiler.expression if name in KEEPING else compiler.operand
    ordered: list[Go | None] = [given(argument, scope) for argument in node.arguments]
    named = {keyword.name: given(keyword.value, scope) for keyword in node.keywords}
    for index, parameter in enumerate(plain):
        if parameter in named:
            ordered.extend([None] * (index + 1 - len(ordered)))
            ordered[index] = named[parameter]
    parts = [each for each in ordered if each is not None]
    if len(parts) < len(ordered):
        site = scope.site(node, name)
        filled = [(plain[index], part) for index, part in enumerate(ordered) if part is not None]
        return compiler.guarded(
            lambda frame: operated(frame, site, name, [], {each: part(frame) for each, part in filled}), span
        )
    if name in BUYING:
        buy, site = BUYING[name], scope.site(node, name)

        def run_and_buy(frame: Frame) -> Any:
            try:
                return buy(frame, site, *[part(frame) for part in parts])
            except MISTAKES as mistake:
                raise compiler.placed(mistake, span) from None

        return run_and_buy
    operation, only = PLAIN[name], parts[0] if len(parts) == 1 else None

    def run(frame: Frame) -> Any:
        try:
            return operation(*[part(frame) for part in parts]) if only is None else operation(only(frame))
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


KINDS: dict[type[nodes.Node], Callable[..., Go]] = {
    **VALUES,
    nodes.Attribute: attribute,
    nodes.Part: part,
    nodes.Select: select,
    nodes.Noised: noised,
    nodes.Call: call,
    nodes.MakeChoiceMaker: make_choice_maker,
    nodes.Choose: choose,
    nodes.Over: over,
}
"""What makes a step of each kind of expression."""
