"""What statements and each kind of expression are known to give, and spend, where a program is run without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.builtins import AGGREGATES, ALL, BUILTINS, EPSILON
from jostle.lang.facts import (
    NEVER,
    UNKNOWN,
    Callee,
    Mapped,
    Money,
    Names,
    Rows,
    Some,
    Unknown,
    blurred,
    combined,
    either,
    is_keyed,
    is_plain,
    is_scalar,
    kind_of,
    scalar_text,
    truth_of,
    whole,
    whole_list,
)
from jostle.lang.frames import named_slot
from jostle.lang.library import DATABASE
from jostle.lang.messages import Stop
from jostle.lang.nodes import defined_in
from jostle.lang.pricing import Pricer, PricingRules, Unpriceable, distinct, items, keyed
from jostle.lang.pricing_private import (
    GROUPS,
    attribute,
    binary,
    bought,
    index,
    part,
    released,
    unary,
)
from jostle.lang.pricing_public import check_amount, check_compared, check_items, compared

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

OPTIONS = frozenset({"option", "library", "configured", "maker"})
"""Kinds of what is called with a database, and spends what it is allotted."""


def check_asked(pricer: Pricer, node: nodes.Call, callee: Callee, given: Sequence[Any], named: Names) -> None:
    """Report parameters that an Option cannot have, and what stands in the place of a database or of queries."""
    known = pricer.library.options.get(callee.name) if callee.kind in {"library", "configured"} else None
    if callee.kind == "library" and known is not None and known.is_given_parameters(len(given), named):
        for each in node.keywords:
            if each.name in known.parameters and is_plain(named[each.name]):
                try:
                    known.parameter(each.name, named[each.name])
                except Stop as mistake:
                    pricer.report(mistake, each.value.span)
        return
    asked, handed = ((DATABASE,), ()) if known is None else (known.asked, known.handed)
    places = dict(zip(asked, zip(given, node.arguments, strict=True), strict=False))
    places |= {keyword.name: (named[keyword.name], keyword.value) for keyword in node.keywords}
    for name, (value, written) in places.items():
        if name in handed and value is None:
            continue
        if name in {DATABASE, *handed} and (is_plain(value) or isinstance(value, Callee)):
            option, kind = node.function.shown(), kind_of(value) or "something else"
            refusal = Stop("J501 asked", option=option, kind=kind, name=name)
            if name == DATABASE:
                takes = callee.kind == "library" and known is not None and known.parameters
                head, example = (known.head, known.example) if takes and known is not None else (None, None)
                refusal = Stop("J501 database", name=option, kind=kind, head=head, example=example)
            pricer.report(refusal, written.span)


@frozen(eq=False)
class _Pair:
    """A key and a value of a dictionary that is being made."""

    key: Any
    value: Any


def comprehension(pricer: Pricer, node: nodes.Comprehension, names: Names) -> Any:
    """The facts known of a list, a set or a dictionary that is made by `for`."""
    found = _Making(pricer, node, dict(names)).go(0)
    if isinstance(node, nodes.DictComprehension):
        return _dictionary(found)
    return distinct(found) if isinstance(node, nodes.SetComprehension) and isinstance(found, list) else found


def _dictionary(found: list[Any] | Some | Unknown) -> Any:
    if isinstance(found, Unknown):
        pair = found.item if isinstance(found.item, _Pair) else _Pair(UNKNOWN, found.single)
        return Mapped(evolve(found, item=pair.key), pair.value)
    pairs = keyed([(item.key, item.value) for item in (found.items if isinstance(found, Some) else found)])
    if isinstance(found, list):
        return pairs
    keys = Some(tuple(pairs)) if is_keyed(pairs) else Unknown(UNKNOWN, len(pairs))
    return Mapped(keys, either(list(pairs.values()) or [UNKNOWN]), pairs if is_keyed(pairs) else None)


@frozen
class _Making:
    pricer: Pricer
    node: nodes.Comprehension
    names: Names

    def go(self, number: int) -> list[Any] | Some | Unknown:
        """A list of what the clauses from this one on give, as far as it is known."""
        if number == len(self.node.clauses):
            return [self.element()]
        clause = self.node.clauses[number]
        iterated = self.pricer.value(clause.iterable, self.names)
        check_items(self.pricer, clause.iterable.span, iterated)
        listed = items(self.pricer, iterated)
        if not isinstance(listed, Unknown):
            return self.one_by_one(number, clause, listed)
        more, loop = self.pricer.rounds(listed, lambda each: self.round(number, clause, each)[0])
        if isinstance(more, Unknown):
            size = more.count
            return Unknown(more.item, None if None in {listed.count, size} else (listed.count or 0) * (size or 0))
        made = list(more.items) if isinstance(more, Some) else more
        if not made:
            return []
        if len(made) == 1:
            return Unknown(made[0], listed.count, loop)
        count = None if listed.count is None else listed.count * len(made)
        return Unknown(_together(made), count)

    def element(self) -> Any:
        if isinstance(self.node, nodes.DictComprehension):
            entry = self.node.entry
            return _Pair(self.pricer.value(entry.key, self.names), self.pricer.value(entry.value, self.names))
        return self.pricer.value(self.node.element, self.names)

    def round(self, number: int, clause: nodes.ComprehensionClause, each: Any) -> tuple[Any, bool]:
        """The value of a round, and whether it gives it in any case."""
        self.pricer.store(clause.target, each, self.names)
        tests = [truth_of(self.pricer.value(test, self.names)) for test in clause.conditions]
        if False in tests:
            return [], True
        return self.go(number + 1), all(test is True for test in tests)

    def one_by_one(
        self, number: int, clause: nodes.ComprehensionClause, listed: list[Any] | Some
    ) -> list[Any] | Some | Unknown:
        """The value for items that are known."""
        certain = isinstance(listed, list)
        rounds = [self.round(number, clause, item) for item in (listed.items if isinstance(listed, Some) else listed)]
        if any(isinstance(more, Unknown) for more, _ in rounds):
            parts = [_as_unknown(more) for more, _ in rounds]
            counts = [part.count for part in parts]
            count = None if None in counts else sum(each for each in counts if each is not None)
            return Unknown(_together([part.single for part in parts]), count)
        made = [one for more, _ in rounds for one in (more.items if isinstance(more, Some) else more)]
        certain = certain and all(isinstance(more, list) and sure for more, sure in rounds)
        return made if certain else Some(tuple(made))


def _as_unknown(more: Any) -> Unknown:
    if isinstance(more, Unknown):
        return more
    made = list(more.items) if isinstance(more, Some) else more
    return Unknown(_together(made), len(made))


def _together(made: Sequence[Any]) -> Any:
    """The facts known of each of several items."""
    if not made:
        return UNKNOWN
    if all(isinstance(each, _Pair) for each in made):
        return _Pair(either([each.key for each in made]), either([each.value for each in made]))
    return either(made)


def call(pricer: Pricer, node: nodes.Call, names: Names) -> Any:
    """The facts known of what a call gives."""
    callee = pricer.value(node.function, names)
    given = [pricer.value(argument, names) for argument in node.arguments]
    named = {keyword.name: pricer.value(keyword.value, names) for keyword in node.keywords}
    if isinstance(callee, Callee) and callee.kind in OPTIONS:
        check_asked(pricer, node, callee, given, named)
    if pricer.schema is not None and isinstance(callee, Callee) and callee.kind in {*OPTIONS, "several"}:
        from jostle.lang.pricing_queries import check_suited  # noqa: PLC0415 - Options are asked where a schema is known

        check_suited(pricer, node, callee, given, named)
    return called(pricer, node.span, callee, given, named)


def called(pricer: Pricer, span: Span, callee: Any, given: list[Any], named: Names) -> Any:  # noqa: PLR0911 - one per kind
    """The facts known of what a call of what is known so gives."""
    if not isinstance(callee, Callee):
        return _not_called(pricer, span, callee, [*given, *named.values()])
    if callee.kind == "several":
        return pricer.branches([partial(called, pricer, span, each, given, named) for each in callee.several])
    if callee.kind == "function":
        return pricer.called(callee.name, given, named, span)
    if callee.kind == "lambda" and callee.node is not None:
        return pricer.called_with(callee.node, given, named, span, callee.names)
    if callee.kind in OPTIONS:
        if callee.kind == "library" and pricer.library.options[callee.name].is_given_parameters(len(given), named):
            return Callee("configured", callee.name, names=named)
        amount = named.get(EPSILON, ALL)
        check_amount(pricer, span, amount)
        pricer.charge_for([*given, *named.values()], amount, span)
        return UNKNOWN
    builtin = BUILTINS[callee.name]
    # More values than it takes are a mistake of their own.
    return builtin.knows(pricer, span, builtin, builtin.in_order(given, named, None)[: builtin.most])


def _not_called(pricer: Pricer, span: Span, value: Any, given: list[Any]) -> Any:
    """Report a value that is called and is no function; one that is not known may be one."""
    private = combined(given).accounts
    if is_plain(value) and not private:
        pricer.report(Stop("J501 called", kind=kind_of(value)), span)
    elif private and not is_plain(value):
        raise Unpriceable("which function is called depends on a released number")
    return UNKNOWN


def noised(pricer: Pricer, node: nodes.Noised, names: Names) -> Any:
    """The facts known of a bought value."""
    value = pricer.value(node.value, names)
    if isinstance(node.spending, nodes.Percent):
        amount: Any = Money(Amount(node.spending.share))
    elif node.spending is not None:
        amount = pricer.value(node.spending, names)
    else:
        amount = ALL
    bought(pricer, node.value.span, value)
    check_amount(pricer, node.span, amount, "spending")
    pricer.charge_for(value, amount, node.span if node.spending is None else node.spending.span)
    return released(value)


def over(pricer: Pricer, node: nodes.Over, names: Names) -> Any:
    """The facts known of answers to queries."""
    for each in (node.queries, node.cells):
        pricer.value(each, names)
    return Unknown(kind="answers to queries")


def choose(pricer: Pricer, node: nodes.Choose, names: Names) -> Any:
    """The facts known of what is chosen."""
    if node.informed_by is not None:
        pricer.value(node.informed_by, names)
    among = nodes.items_of(node.among)
    return either([pricer.value(each, names) for each in among]) if among else UNKNOWN


Then = Callable[[Names], Any]
"""What comes after some statements."""


def run(pricer: Pricer, body: Sequence[nodes.Statement], names: Names, then: Then | None = None) -> Any:
    """Run statements, and what comes after them; return what is known of what they return, or NEVER."""
    with pricer.levels:
        for place, statement in enumerate(body):
            pricer.step()
            match statement:
                case nodes.Assign():
                    pricer.store(statement.target, pricer.value(statement.value, names), names)
                case nodes.ExpressionStatement():
                    pricer.value(statement.value, names)
                case nodes.FunctionDefinition():
                    found = _holding(pricer, statement, names)
                    names[statement.name] = found.names[statement.name] = found
                    pricer.note(statement.name_span, found)
                case nodes.Return():
                    return None if statement.value is None else pricer.value(statement.value, names)
                case nodes.If() if _returns(statement):
                    rest = body[place + 1 :]
                    ways = _ways(pricer, statement, names)
                    return pricer.branches([partial(_way, pricer, way, rest, names, then) for way in ways])
                case nodes.If():
                    _if(pricer, statement, names)
                case nodes.For():
                    found = _for(pricer, statement, names)
                    if found is not NEVER:
                        # Whether it returned from inside is not known; going on spends no less.
                        return either([found, run(pricer, body[place + 1 :], names, then)])
        return NEVER if then is None else then(names)


def _way(
    pricer: Pricer, body: Sequence[nodes.Statement], rest: Sequence[nodes.Statement], names: Names, then: Then | None
) -> Any:
    """Run one branch, and all that comes after it, with variables of their own."""
    return run(pricer, body, dict(names), lambda inner: run(pricer, rest, inner, then))


def _ways(pricer: Pricer, statement: nodes.If, names: Names) -> list[tuple[nodes.Statement, ...]]:
    """The branches that may be run."""
    ways: list[tuple[nodes.Statement, ...]] = []
    for branch in statement.branches:
        holds = True if branch.condition is None else truth_of(pricer.value(branch.condition, names))
        if holds is False:
            continue
        ways.append(branch.body)
        if holds is True:
            return ways
    return [*ways, ()]


def _if(pricer: Pricer, statement: nodes.If, names: Names) -> None:
    """Run branches that return nothing, and go on with what is known after any of them."""
    ways = _ways(pricer, statement, names)
    if len(ways) == 1:
        run(pricer, ways[0], names)
        return

    _either_way(pricer, [partial(run, pricer, body) for body in ways], names)


def _either_way(pricer: Pricer, ways: Sequence[Callable[[Names], Any]], names: Names) -> None:
    """Go each of several ways, and go on with what is known after any of them."""

    def way(go: Callable[[Names], Any]) -> Any:
        inner = dict(names)
        go(inner)
        return [inner]

    before = dict(names)
    ends = pricer.branches([partial(way, go) for go in ways], merge=False)
    for name in dict.fromkeys(key for (end,) in ends for key in end):
        known = [end[name] for (end,) in ends if name in end]
        same = name in before and all(each is before[name] for each in known)
        names[name] = before[name] if same else either(known)


def _for(pricer: Pricer, statement: nodes.For, names: Names) -> Any:
    """Run a loop; return what it may return from inside, or NEVER."""
    iterated = pricer.value(statement.iterable, names)
    check_items(pricer, statement.iterable.span, iterated)
    listed = items(pricer, iterated)
    if isinstance(listed, list) and not _returns(statement):
        for each in listed:
            pricer.store(statement.target, each, names)
            run(pricer, statement.body, names)
        return NEVER
    if isinstance(listed, Some) and not _returns(statement):
        for item in listed.items:
            _either_way(pricer, [partial(_round, pricer, statement, item), lambda _: None], names)
        return NEVER
    changed = {name for name, _, _ in defined_in(statement.body)}

    def blur() -> None:
        for name in changed & set(names):
            names[name] = blurred(names[name])

    def once(each: Any) -> Any:
        blur()
        pricer.store(statement.target, each, names)
        found = run(pricer, statement.body, names)
        blur()
        return found

    return pricer.rounds(listed if isinstance(listed, Unknown) else whole_list(listed), once)[0]


def _round(pricer: Pricer, statement: nodes.For, each: Any, names: Names) -> None:
    """Run a loop's body for one item."""
    pricer.store(statement.target, each, names)
    run(pricer, statement.body, names)


def _returns(statement: nodes.Statement) -> bool:
    return any(isinstance(node, nodes.Return) for node in nodes.walk(statement))


def _holding(pricer: Pricer, node: nodes.Lambda | nodes.FunctionDefinition, names: Names) -> Callee:
    """The facts known of a function that is made here: with what is around it, and its defaults."""
    defaults = {
        parameter.name: pricer.value(parameter.default, names)
        for parameter in node.parameters
        if parameter.default is not None
    }
    return Callee("lambda", node=node, names={**names, **defaults})


def _name(pricer: Pricer, node: nodes.Name, names: Names) -> Any:
    name = node.name
    if name in names:
        return names[name]
    if name in pricer.globals:
        return pricer.globals[name]
    if name == EPSILON:
        return ALL
    if name in BUILTINS:
        return Callee("builtin", name)
    return name if name in pricer.symbols else UNKNOWN


def _formatted(pricer: Pricer, node: nodes.Formatted, names: Names) -> Any:
    values = [pricer.value(part, names) for part in node.parts]
    return "".join(map(scalar_text, values)) if all(map(is_scalar, values)) else Unknown(kind="a public text")


def _not(pricer: Pricer, node: nodes.Not, names: Names) -> Any:
    found = truth_of(pricer.value(node.operand, names))
    return not found if isinstance(found, bool) else UNKNOWN


def _make_choice_maker(pricer: Pricer, node: nodes.MakeChoiceMaker, names: Names) -> Any:
    among = nodes.items_of(node.among)
    for child in nodes.children(node):
        if isinstance(child, nodes.ExpressionNode) and not (among and child is node.among):
            pricer.value(child, names)
    return Callee("maker", "choice", several=tuple(pricer.value(each, names) for each in among))


def _comparison(pricer: Pricer, node: nodes.Comparison, names: Names) -> Any:
    left, left_node = pricer.value(node.left, names), node.left
    result: Any = True
    for operator, right_node in zip(node.operators, node.rights, strict=True):
        right = pricer.value(right_node, names)
        one, other = _named(left_node, left, names), _named(right_node, right, names)
        if one is None and other is None:
            check_compared(pricer, node.span, operator, left, right)
            holds = compared(operator, left, right)
        else:
            from jostle.lang.pricing_schema import compared_by_name  # noqa: PLC0415 - only with a schema

            holds = compared_by_name(operator, left, right, one, other)
        if holds is False:
            return False
        if holds is UNKNOWN:
            result = UNKNOWN
        left, left_node = right, right_node
    return result


def _named(node: nodes.ExpressionNode, value: Any, names: Names) -> Any:
    """The names of a column's value, where an expression is a column and stands in a query; or None."""
    known = names.get(named_slot(node.name)) if isinstance(node, nodes.Name) else None
    return known if known is not None and known.value is value else None


def _boolean(pricer: Pricer, node: nodes.BooleanOperation, names: Names) -> Any:
    decisive = node.operator == "or"
    result: Any = not decisive
    for operand in node.operands:
        found = truth_of(pricer.value(operand, names))
        if found is decisive:
            return decisive
        if not isinstance(found, bool):
            result = UNKNOWN
    return result


def _conditional(pricer: Pricer, node: nodes.Conditional, names: Names) -> Any:
    test = truth_of(pricer.value(node.condition, names))
    if test is True:
        return pricer.value(node.then, names)
    if test is False:
        return pricer.value(node.otherwise, names)
    return pricer.branches([lambda: pricer.value(node.then, names), lambda: pricer.value(node.otherwise, names)])


def _select(pricer: Pricer, node: nodes.Select, names: Names) -> Any:
    """The facts known of a query."""
    table = pricer.value(node.table, names)
    found = combined([table])
    if not isinstance(table, Rows) or table.table is None or node.aggregate not in AGGREGATES:
        kind = (
            GROUPS
            if node.groupby
            else "a private count"
            if node.aggregate in {"count", "persons"}
            else "a private number"
        )
        # A row is in one group, and in one cell.
        return evolve(found, moves=Fraction(1) if node.aggregate in {"count", "persons"} else None, kind=kind)
    from jostle.lang.pricing_queries import described  # noqa: PLC0415 - only with a schema

    return evolve(found, number=described(pricer, node, names, table.table))


def _table(schema: Schema) -> Any:
    from jostle.lang.pricing_schema import table_of  # noqa: PLC0415 - without a schema, no library of numbers is loaded

    return table_of(schema)


RULES = PricingRules(
    {
        nodes.Name: _name,
        nodes.Number: lambda _, node, __: whole(node.value),
        nodes.Percent: lambda _, node, __: node.share,
        nodes.String: lambda _, node, __: node.value,
        nodes.Constant: lambda _, node, __: node.value,
        nodes.Formatted: _formatted,
        nodes.Tuple: lambda pricer, node, names: [pricer.value(item, names) for item in node.items],
        nodes.List: lambda pricer, node, names: [pricer.value(item, names) for item in node.items],
        nodes.Set: lambda pricer, node, names: distinct([pricer.value(item, names) for item in node.items]),
        nodes.Dict: lambda pricer, node, names: keyed(
            [(pricer.value(each.key, names), pricer.value(each.value, names)) for each in node.entries]
        ),
        nodes.ListComprehension: comprehension,
        nodes.SetComprehension: comprehension,
        nodes.DictComprehension: comprehension,
        nodes.BinaryOperation: binary,
        nodes.UnaryOperation: unary,
        nodes.Comparison: _comparison,
        nodes.Not: _not,
        nodes.BooleanOperation: _boolean,
        nodes.Conditional: _conditional,
        nodes.Attribute: attribute,
        nodes.Index: index,
        nodes.Part: part,
        nodes.Lambda: _holding,
        nodes.Call: call,
        nodes.Noised: noised,
        nodes.Select: _select,
        nodes.Choose: choose,
        nodes.MakeChoiceMaker: _make_choice_maker,
        nodes.Over: over,
    },
    run,
    called,
    {each.name: each.takes for each in BUILTINS.values() if each.takes is not None},
    _table,
)
