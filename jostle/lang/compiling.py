"""From a tree to functions that run it: each node becomes one, made once, so that running looks at no node again.

What can be settled when a function is made is settled there: which variable a name is, what an expression of constants
gives, how many values a call has. A mistake is given its place where it is caught; `try` costs nothing until then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field

from jostle.errors import ProgramError, Source, Span
from jostle.lang import nodes
from jostle.lang.asked_once import Once, once_in
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.frames import Frame
from jostle.lang.messages import MISTAKES, Stop, placed
from jostle.lang.nodes import defined_in, target_names
from jostle.lang.operations import NUMERIC
from jostle.lang.operators import BINARY, items, negated
from jostle.lang.values import TableValue

UNKNOWN = object()
"""What is no constant."""


def folded(node: nodes.ExpressionNode, scope: Scope, own: Collection[str]) -> Any:
    """The number that an expression always gives, or UNKNOWN.

    Where working it out goes wrong, it is no constant: it goes wrong again, with its place, if it is ever reached.
    """
    match node:
        case nodes.Number():
            return node.value.numerator if node.value.denominator == 1 else node.value
        case nodes.Percent():
            return node.share
        case nodes.UnaryOperation() | nodes.BinaryOperation() | nodes.Call():
            try:
                return _computed(node, scope, own)
            except MISTAKES:
                return UNKNOWN
        case _:
            return UNKNOWN


def _computed(
    node: nodes.UnaryOperation | nodes.BinaryOperation | nodes.Call, scope: Scope, own: Collection[str]
) -> Any:
    if isinstance(node, nodes.UnaryOperation):
        operand = folded(node.operand, scope, own)
        return operand if operand is UNKNOWN or node.operator == "+" else negated(operand)
    if isinstance(node, nodes.BinaryOperation):
        left = folded(node.left, scope, own)
        right = UNKNOWN if left is UNKNOWN else folded(node.right, scope, own)
        return UNKNOWN if right is UNKNOWN else BINARY[node.operator](left, right)
    name = node.function.name if isinstance(node.function, nodes.Name) else ""
    if name not in NUMERIC or name in scope.slots or name in own or node.keywords:
        return UNKNOWN
    given = [folded(argument, scope, own) for argument in node.arguments]
    return UNKNOWN if any(each is UNKNOWN for each in given) else NUMERIC[name](*given)


Go = Callable[[Frame], Any]
"""What a statement or an expression is made into: run in a frame, it gives the value."""


NOTHING = object()
"""What a statement gives that returns nothing."""


NOTHING_ONCE = Once()


@define
class Scope:
    """Which names are variables where something stands, and where their values are kept."""

    function: str = ""
    """Where it stands, for traces."""
    slots: dict[str, str] = field(factory=dict)
    counter: list[int] = field(factory=lambda: [0])
    columns: dict[str, str] | None = None
    """Inside a query: the columns it looks at, by name."""
    unchanging: frozenset[str] = frozenset()
    """The parameters of the function that nothing in it gives another value."""
    kept: list[str] | None = None
    """Inside a comprehension: where values are kept that are the same in all of its rounds."""
    once: Once = NOTHING_ONCE
    """What the function hands on at most once."""

    def inner(self, names: Sequence[str]) -> Scope:
        """A scope with more variables, which go by other names than those around."""
        self.counter[0] += 1
        own = {name: f"{name} {self.counter[0]}" for name in names}
        return evolve(self, slots={**self.slots, **own})

    def slot(self, node: nodes.Node) -> str | None:
        """The slot of an expression's value, if it is a variable; or None."""
        return self.slots.get(node.name) if isinstance(node, nodes.Name) else None

    def place_to_keep(self, node: nodes.BinaryOperation) -> str | None:
        """The slot of an expression's value, if it is the same whenever it is computed here; or None.

        That is so during a call if it is made of numbers and of parameters that are given no other value; and during
        a comprehension if it is made of numbers and of variables from outside of it. Exact numbers are slow to compute
        with, and so are long lists.
        """
        inside = list(nodes.walk(node))
        names = {each.name for each in inside if isinstance(each, nodes.Name)}
        plain = all(isinstance(each, nodes.Name | nodes.BinaryOperation | nodes.Number) for each in inside)
        if not names or not plain or any(self.slots.get(name) != name for name in names):
            return None
        if names <= self.unchanging:
            return f"{node.shown()} of the call"
        if self.kept is None:
            return None
        self.counter[0] += 1
        self.kept.append(f"{node.shown()} of the rounds {self.counter[0]}")
        return self.kept[-1]

    def site(self, node: nodes.Node, what: str) -> str:
        """The name of a place in the program in traces."""
        place = f"line {node.span.line}"
        return f"{self.function} {place}: {what}" if self.function else f"{place}: {what}"


def constant(value: Any) -> Go:
    """A step that always gives the same value."""
    return lambda _: value


def handed_on(value: Go) -> Go:
    """The value of a variable, which others may use from now on, if it is a table: it remembers its parts."""

    def run(frame: Frame) -> Any:
        found = value(frame)
        if type(found) is TableValue:
            found.remembers = True
        return found

    return run


Kind = Callable[["Compiler", Any, Scope], Go]
"""Makes a step of an expression of one kind."""
TRUTHS = (nodes.Comparison, nodes.Not, nodes.BooleanOperation)
"""Expressions that give True or False, and nothing else."""


@define
class Compiler:
    """Makes functions of the nodes of one program."""

    source: Source
    kinds: Mapping[type[nodes.Node], Kind]
    """What makes a step of each kind of expression; names and constants beside."""
    globals: dict[str, Any]
    """The values of the program's own names, as far as it has run."""
    own: frozenset[str]
    """The names it defines."""
    symbols: frozenset[str]

    # Statements

    def function(self, definition: nodes.FunctionDefinition) -> Go:
        """A step that runs the body of a function."""
        parameters = [parameter.name for parameter in definition.parameters]
        given = [name for name, _, _ in defined_in(definition.body)]
        unchanging = frozenset(parameters).difference(given)
        scope = Scope(
            definition.name,
            {name: name for name in (*parameters, *given)},
            unchanging=unchanging,
            once=once_in(definition, unchanging, self.own),
        )
        body = self.body(definition.body, scope)

        def run(frame: Frame) -> Any:
            found = body(frame)
            return None if found is NOTHING else found

        return run

    def body(self, body: tuple[nodes.Statement, ...], scope: Scope) -> Go:
        """A step that runs statements in turn until one returns something."""
        steps = [self.statement(statement, scope) for statement in body]
        if len(steps) == 1:
            return steps[0]

        def run(frame: Frame) -> Any:
            for step in steps:
                found = step(frame)
                if found is not NOTHING:
                    return found
            return NOTHING

        return run

    def statement(self, statement: nodes.Statement, scope: Scope) -> Go:
        """A step that runs a statement."""
        rules: dict[type[nodes.Statement], Callable[[Any, Scope], Go]] = {
            nodes.Assign: self._assign,
            nodes.ExpressionStatement: self._alone,
            nodes.For: self._for,
            nodes.FunctionDefinition: self._function,
            nodes.If: self._if,
            nodes.Return: self._return,
        }
        rule = rules.get(type(statement))
        return constant(NOTHING) if rule is None else rule(statement, scope)

    def _return(self, statement: nodes.Return, scope: Scope) -> Go:
        return constant(None) if statement.value is None else self.expression(statement.value, scope)

    def _function(self, statement: nodes.FunctionDefinition, scope: Scope) -> Go:
        return self._assigned(scope.slots[statement.name], self.kinds[type(statement)](self, statement, scope))

    def _alone(self, statement: nodes.ExpressionStatement, scope: Scope) -> Go:
        value = self.expression(statement.value, scope)

        def run(frame: Frame) -> Any:
            value(frame)
            return NOTHING

        return run

    def _assign(self, statement: nodes.Assign, scope: Scope) -> Go:
        label = statement.target.name if isinstance(statement.target, nodes.Name) else ""
        value = self.expression(statement.value, scope, label=label)
        if isinstance(statement.target, nodes.Name):
            return self._assigned(scope.slots.get(statement.target.name, statement.target.name), value)
        store = self.store(statement.target, scope)

        def run(frame: Frame) -> Any:
            store(frame, value(frame))
            return NOTHING

        return run

    def _assigned(self, slot: str, value: Go) -> Go:
        def assign(frame: Frame) -> Any:
            frame.names[slot] = value(frame)
            return NOTHING

        return assign

    def store(self, target: nodes.Name | nodes.Tuple, scope: Scope) -> Callable[[Frame, Any], None]:
        """An action that gives a value to a name, or the items of one to several names."""
        slots = [scope.slots.get(name.name, name.name) for name in target_names(target)]
        if isinstance(target, nodes.Name):
            slot = slots[0]

            def store(frame: Frame, value: Any) -> None:
                frame.names[slot] = value

            return store

        def unpack(frame: Frame, value: Any) -> None:
            found = list(items(value, "what is given several names"))
            if len(found) != len(slots):
                raise self.placed(Stop("J508 names", count=len(found), names=len(slots)), target.span)
            for slot, each in zip(slots, found, strict=True):
                frame.names[slot] = each

        return unpack

    def _if(self, statement: nodes.If, scope: Scope) -> Go:
        always: Callable[[Frame], bool] = lambda _: True  # noqa: E731 - what `else` asks
        branches = [
            (
                always if branch.condition is None else self.condition(branch.condition, scope),
                self.body(branch.body, scope),
            )
            for branch in statement.branches
        ]

        def run(frame: Frame) -> Any:
            for condition, body in branches:
                if condition(frame):
                    return body(frame)
            return NOTHING

        return run

    def _for(self, statement: nodes.For, scope: Scope) -> Go:
        listed = self.listed(statement.iterable, scope)
        store = self.store(statement.target, scope)
        body = self.body(statement.body, scope)

        def run(frame: Frame) -> Any:
            for each in listed(frame):
                store(frame, each)
                found = body(frame)
                if found is not NOTHING:
                    return found
            return NOTHING

        return run

    # Expressions

    def placed(self, mistake: Exception, span: Span) -> ProgramError:
        """A mistake with its place. Raised without what led to it: whose frames these are is no part of it."""
        return placed(mistake, self.source, span)

    def guarded(self, run: Go, span: Span) -> Go:
        """The same, with the place of what goes wrong."""

        def guard(frame: Frame) -> Any:
            try:
                return run(frame)
            except MISTAKES as mistake:
                raise self.placed(mistake, span) from None

        return guard

    def condition(self, node: nodes.ExpressionNode, scope: Scope) -> Callable[[Frame], bool]:
        """Whether an expression holds."""
        value = self.operand(node, scope)
        if isinstance(node, TRUTHS):
            return value
        return self.guarded(lambda frame: bool(value(frame)), node.span)

    def listed(self, node: nodes.ExpressionNode, scope: Scope) -> Go:
        """The items of an expression."""
        value, span = self.operand(node, scope), node.span

        def run(frame: Frame) -> Any:
            try:
                return items(value(frame))
            except MISTAKES as mistake:
                raise self.placed(mistake, span) from None

        return run

    def operand(self, node: nodes.ExpressionNode, scope: Scope) -> Go:
        """A step that gives an expression's value where that goes no further: a table is not handed on."""
        if isinstance(node, nodes.Name) and node.name in scope.slots:
            return self._variable(node, scope.slots[node.name])
        return self.expression(node, scope)

    def expression(self, node: nodes.ExpressionNode, scope: Scope, *, label: str = "") -> Go:
        """A step that gives an expression's value; *label* is the name that a choice maker is given."""
        match node:
            case nodes.Name():
                return self._name(node, scope)
            case nodes.String() | nodes.Constant():
                return constant(node.value)
            case nodes.MakeChoiceMaker():
                return self.kinds[nodes.MakeChoiceMaker](self, (node, label), scope)
            case _:
                known = folded(node, scope, self.own)
                if known is not UNKNOWN:
                    return constant(known)
                kind = self.kinds.get(type(node))
                if kind is None:
                    raise self.placed(Stop("J901 expression"), node.span)
                return kind(self, node, scope)

    def _name(self, node: nodes.Name, scope: Scope) -> Go:
        name = node.name
        if name in scope.slots:
            value = self._variable(node, scope.slots[name])
            once = name in scope.once.names and scope.slots[name] == name
            return value if once else handed_on(value)
        if name in self.own:
            return self._own(node)
        if name == EPSILON:
            return self.guarded(lambda frame: frame.budget(), node.span)
        if name in self.symbols and name not in BUILTINS:
            return constant(name)
        if scope.columns is not None:
            slot = f"{name} of a row"
            scope.columns[name] = slot
            return lambda frame: frame.names[slot]
        if name in BUILTINS:
            return constant(BUILTINS[name])
        raise self.placed(Stop("J101 value", name=name), node.span)

    def _variable(self, node: nodes.Name, slot: str) -> Go:
        def local(frame: Frame) -> Any:
            try:
                return frame.names[slot]
            except KeyError:
                mistake = Stop("J513 here", name=node.name)
                raise self.placed(mistake, node.span) from None

        return local

    def _own(self, node: nodes.Name) -> Go:
        known, name = self.globals, node.name

        def of_program(frame: Frame) -> Any:  # noqa: ARG001 - the same for every call
            try:
                return known[name]
            except KeyError:
                mistake = Stop("J513 yet", name=name)
                raise self.placed(mistake, node.span) from None

        return of_program
