"""From a tree to functions that run it: each node becomes one, made once, so that running looks at no node again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from attrs import define, field

from jostle.errors import JostleError, ProgramError, Source, Span
from jostle.lang import nodes
from jostle.lang.arithmetic import BINARY, kind_of, negated
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.frames import Frame
from jostle.lang.operations import items, truth
from jostle.lang.printer_expressions import show_expression
from jostle.lang.scopes import defined_in, target_names
from jostle.lang.stops import Stop, placed
from jostle.lang.values import Private

__all__ = ["Compiler", "Go", "Scope"]

Go = Callable[[Frame], Any]
NOTHING = object()
"""What a statement gives that returns nothing."""


@define
class Scope:
    """Which names are variables where something stands, and where their values are kept."""

    function: str = ""
    """Where it stands, for traces."""
    slots: dict[str, str] = field(factory=dict)
    counter: list[int] = field(factory=lambda: [0])
    columns: dict[str, str] | None = None
    """Inside a query: the columns it looks at, by name."""

    def inner(self, names: Sequence[str]) -> Scope:
        """Return a scope with more variables, which go by other names than those around."""
        self.counter[0] += 1
        own = {name: f"{name} {self.counter[0]}" for name in names}
        return Scope(self.function, {**self.slots, **own}, self.counter, self.columns)


@define
class Compiler:
    """Makes functions of the nodes of one program."""

    source: Source
    globals: dict[str, Any]
    """The values of the program's own names, as far as it has run."""
    own: frozenset[str]
    """The names it defines."""
    symbols: frozenset[str]

    # Statements

    def function(self, definition: nodes.FunctionDefinition) -> Go:
        """Return what runs the body of a function."""
        names = [each.name for each in definition.parameters]
        names += [name for name, _, _ in defined_in(definition.body)]
        scope = Scope(definition.name, {name: name for name in names})
        body = self.body(definition.body, scope)

        def run(frame: Frame) -> Any:
            found = body(frame)
            return None if found is NOTHING else found

        return run

    def body(self, body: Sequence[nodes.Statement], scope: Scope) -> Go:
        """Return what runs statements in turn until one returns something."""
        steps = [self.statement(each, scope) for each in body]
        if len(steps) == 1:
            return steps[0]

        def run(frame: Frame) -> Any:
            for step in steps:
                found = step(frame)
                if found is not NOTHING:
                    return found
            return NOTHING

        return run

    def statement(self, statement: nodes.Statement, scope: Scope) -> Go:  # noqa: PLR0911 - one case per kind
        """Return what runs a statement."""
        match statement:
            case nodes.Assign():
                return self._assign(statement, scope)
            case nodes.Return():
                if statement.value is None:
                    return lambda _: None
                return self.expression(statement.value, scope)
            case nodes.If():
                return self._if(statement, scope)
            case nodes.For():
                return self._for(statement, scope)
            case nodes.ExpressionStatement():
                value = self.expression(statement.value, scope)

                def run(frame: Frame) -> Any:
                    value(frame)
                    return NOTHING

                return run
            case _:
                return lambda _: NOTHING

    def _assign(self, statement: nodes.Assign, scope: Scope) -> Go:
        value = self.expression(statement.value, scope, label=_label(statement.target))
        store = self._store(statement.target, scope)

        def run(frame: Frame) -> Any:
            store(frame, value(frame))
            return NOTHING

        return run

    def _store(self, target: nodes.Name | nodes.Tuple, scope: Scope) -> Callable[[Frame, Any], None]:
        names = [each.name for each in target_names(target)]
        slots = [scope.slots.get(name, name) for name in names]
        if isinstance(target, nodes.Name):
            slot = slots[0]

            def store(frame: Frame, value: Any) -> None:
                frame.names[slot] = value

            return store

        def unpack(frame: Frame, value: Any) -> None:
            found = list(items(value, "what is given several names"))
            if len(found) != len(slots):
                title = f"{len(found)} values for {len(slots)} names"
                raise placed(
                    Stop("J508", title, "there is one value for each", "a, b = pair"), self.source, target.span
                )
            for slot, each in zip(slots, found, strict=True):
                frame.names[slot] = each

        return unpack

    def _if(self, statement: nodes.If, scope: Scope) -> Go:
        branches = [
            (None if each.condition is None else self.condition(each.condition, scope), self.body(each.body, scope))
            for each in statement.branches
        ]

        def run(frame: Frame) -> Any:
            for condition, body in branches:
                if condition is None or condition(frame):
                    return body(frame)
            return NOTHING

        return run

    def _for(self, statement: nodes.For, scope: Scope) -> Go:
        listed = self.listed(statement.iterable, scope)
        store = self._store(statement.target, scope)
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

    def guarded(self, run: Go, span: Span) -> Go:
        """Return the same, with the place of what goes wrong."""
        source = self.source

        def guard(frame: Frame) -> Any:
            try:
                return run(frame)
            except ProgramError:
                raise
            except (Stop, JostleError, ArithmeticError) as mistake:
                # Without what led to it: frames of whoever answered are no part of a program's mistake.
                raise placed(mistake, source, span) from None

        return guard

    def _binary(self, operate: Callable[[Any, Any], Any], left: Go, right: Go, span: Span) -> Go:
        """Return what computes with two values; guarded in place, since there are many."""
        source = self.source

        def run(frame: Frame) -> Any:
            try:
                return operate(left(frame), right(frame))
            except ProgramError:
                raise
            except (Stop, JostleError, ArithmeticError) as mistake:
                raise placed(mistake, source, span) from None

        return run

    def condition(self, node: nodes.Expression, scope: Scope) -> Callable[[Frame], bool]:
        """Return whether an expression holds."""
        value = self.expression(node, scope)
        return self.guarded(lambda frame: truth(value(frame)), node.span)

    def listed(self, node: nodes.Expression, scope: Scope) -> Go:
        """Return the items of an expression."""
        value = self.expression(node, scope)
        return self.guarded(lambda frame: items(value(frame)), node.span)

    def expression(self, node: nodes.Expression, scope: Scope, *, label: str = "") -> Go:  # noqa: C901, PLR0911, PLR0912 - one per kind
        """Return what gives an expression's value."""
        from jostle.lang import compiling_private as private  # noqa: PLC0415 - half of this class, in a module of its own

        match node:
            case nodes.Name():
                return self._name(node, scope)
            case nodes.Number():
                value = node.value
                return _constant(value.numerator if value.denominator == 1 else value)
            case nodes.Percent():
                return _constant(node.share)
            case nodes.String() | nodes.Constant():
                return _constant(node.value)
            case nodes.Tuple():
                parts = [self.expression(each, scope) for each in node.items]
                return lambda frame: tuple(part(frame) for part in parts)
            case nodes.List() | nodes.Set():
                parts = [self.expression(each, scope) for each in node.items]
                if isinstance(node, nodes.Set):
                    return lambda frame: _distinct([part(frame) for part in parts])
                return lambda frame: [part(frame) for part in parts]
            case nodes.Dict():
                return self._dict(node, scope)
            case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
                return self._comprehension(node, scope)
            case nodes.BinaryOperation():
                left, right = self.expression(node.left, scope), self.expression(node.right, scope)
                return self._binary(BINARY[node.operator], left, right, node.span)
            case nodes.UnaryOperation():
                operand = self.expression(node.operand, scope)
                if node.operator == "-":
                    return self.guarded(lambda frame: negated(operand(frame)), node.span)
                return operand
            case nodes.Comparison():
                return self._comparison(node, scope)
            case nodes.Not():
                holds = self.condition(node.operand, scope)
                return lambda frame: not holds(frame)
            case nodes.BooleanOperation():
                return self._boolean(node, scope)
            case nodes.Conditional():
                test = self.condition(node.condition, scope)
                then, other = self.expression(node.then, scope), self.expression(node.otherwise, scope)
                return lambda frame: then(frame) if test(frame) else other(frame)
            case nodes.Index():
                return self._index(node, scope)
            case nodes.Lambda():
                return self._lambda(node, scope)
            case nodes.Call():
                return private.call(self, node, scope)
            case nodes.Attribute():
                return private.attribute(self, node, scope)
            case nodes.Part():
                return private.part(self, node, scope)
            case nodes.Noised():
                return private.noised(self, node, scope)
            case nodes.Select():
                return private.select(self, node, scope)
            case nodes.Over():
                return private.over(self, node, scope)
            case nodes.MakeChoiceMaker():
                return private.make_choice_maker(self, node, scope, label)
            case nodes.Choose():
                return private.choose(self, node, scope)
            case _:
                raise placed(
                    Stop("J901", "this does not run yet", "a mistake of ours", "report it"), self.source, node.span
                )

    def _name(self, node: nodes.Name, scope: Scope) -> Go:  # noqa: C901 - one case per kind
        name = node.name
        if name in scope.slots:
            slot = scope.slots[name]

            def local(frame: Frame) -> Any:
                try:
                    return frame.names[slot]
                except KeyError:
                    why = "it is given one only on another way through the function"
                    mistake = Stop("J513", f"`{name}` has no value here", why, f"give it one before: {name} = 0")
                    raise placed(mistake, self.source, node.span) from None

            return local
        if name in self.own:
            known = self.globals

            def of_program(frame: Frame) -> Any:  # noqa: ARG001 - the same for every call
                try:
                    return known[name]
                except KeyError:
                    why = "a program is read from top to bottom"
                    mistake = Stop("J513", f"`{name}` has no value yet", why, "move its definition up")
                    raise placed(mistake, self.source, node.span) from None

            return of_program
        if name == EPSILON:
            return self.guarded(lambda frame: frame.budget(), node.span)
        if name in self.symbols and name not in BUILTINS:
            return _constant(name)
        if scope.columns is not None:
            slot = f"{name} of a row"
            scope.columns[name] = slot
            return lambda frame: frame.names[slot]
        if name in BUILTINS:
            return _constant(BUILTINS[name])
        raise placed(
            Stop("J101", f"`{name}` is not defined", "no value has this name", "define it"), self.source, node.span
        )

    def _dict(self, node: nodes.Dict, scope: Scope) -> Go:
        entries = [(self.key(each.key, scope), self.expression(each.value, scope)) for each in node.entries]
        return lambda frame: {key(frame): value(frame) for key, value in entries}

    def key(self, node: nodes.Expression, scope: Scope) -> Go:
        """Return what gives a key of a dictionary."""
        value = self.expression(node, scope)

        def run(frame: Frame) -> Any:
            return hashable(value(frame))

        return self.guarded(run, node.span)

    def _comprehension(  # noqa: C901 - one case per kind
        self, node: nodes.ListComprehension | nodes.SetComprehension | nodes.DictComprehension, scope: Scope
    ) -> Go:
        inner = scope
        clauses = []
        for clause in node.clauses:
            listed = self.listed(clause.iterable, inner)
            inner = inner.inner([each.name for each in target_names(clause.target)])
            store = self._store(clause.target, inner)
            clauses.append((listed, store, [self.condition(each, inner) for each in clause.conditions]))
        if isinstance(node, nodes.DictComprehension):
            key, value = self.key(node.entry.key, inner), self.expression(node.entry.value, inner)

            def pairs(frame: Frame) -> Any:
                found: dict[Any, Any] = {}
                for _ in rounds(frame, 0):
                    place = key(frame)
                    found[place] = value(frame)
                return found
        else:
            element = self.expression(node.element, inner)

        def rounds(frame: Frame, number: int) -> Any:
            listed, store, conditions = clauses[number]
            last = number + 1 == len(clauses)
            for each in listed(frame):
                store(frame, each)
                if all(holds(frame) for holds in conditions):
                    if last:
                        yield None
                    else:
                        yield from rounds(frame, number + 1)

        if isinstance(node, nodes.DictComprehension):
            return pairs
        if isinstance(node, nodes.SetComprehension):
            return lambda frame: _distinct([element(frame) for _ in rounds(frame, 0)])
        return lambda frame: [element(frame) for _ in rounds(frame, 0)]

    def _comparison(self, node: nodes.Comparison, scope: Scope) -> Go:
        first = self.expression(node.left, scope)
        steps = [
            (COMPARE[operator], self.expression(right, scope))
            for operator, right in zip(node.operators, node.rights, strict=True)
        ]

        def run(frame: Frame) -> bool:
            left = first(frame)
            for holds, value in steps:
                right = value(frame)
                if not holds(left, right):
                    return False
                left = right
            return True

        return self.guarded(run, node.span)

    def _boolean(self, node: nodes.BooleanOperation, scope: Scope) -> Go:
        operands = [self.condition(each, scope) for each in node.operands]
        if node.operator == "and":
            return lambda frame: all(holds(frame) for holds in operands)
        return lambda frame: any(holds(frame) for holds in operands)

    def _index(self, node: nodes.Index, scope: Scope) -> Go:
        from jostle.lang.compiling_private import item_of  # noqa: PLC0415 - the other half of this class

        value, index = self.expression(node.value, scope), self.expression(node.index, scope)
        return self.guarded(lambda frame: item_of(value(frame), index(frame)), node.span)

    def _lambda(self, node: nodes.Lambda, scope: Scope) -> Go:
        inner = scope.inner([each.name for each in node.parameters])
        slots = [inner.slots[each.name] for each in node.parameters]
        body = self.expression(node.body, inner)
        return lambda frame: LambdaValue(slots, body, frame)


@define(eq=False)
class LambdaValue:
    """A function without a name, with the variables around it."""

    slots: list[str]
    body: Go
    frame: Frame

    def __call__(self, caller: Frame, given: Sequence[Any]) -> Any:
        """Return what it gives."""
        if len(given) != len(self.slots):
            title = f"{len(given)} values for {len(self.slots)} parameters"
            raise Stop("J508", title, "a lambda is given a value for each", "lambda a: size(a)")
        names = {**self.frame.names, **dict(zip(self.slots, given, strict=True))}
        return self.body(Frame(caller.program, names, self.frame.epsilon, caller.depth + 1))


def _label(target: nodes.Name | nodes.Tuple) -> str:
    return target.name if isinstance(target, nodes.Name) else ""


def _constant(value: Any) -> Go:
    return lambda _: value


def hashable(value: Any) -> Any:
    """Return a key, or refuse what is none."""
    if isinstance(value, Private):
        raise Stop("J208", "a private value is a key", "keys are compared, and show", "buy it first")
    try:
        hash(value)
    except TypeError:
        raise Stop("J501", f"a key is {kind_of(value)}", "keys are numbers, texts, attributes", "use a tuple") from None
    return value


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if isinstance(each, Private):
            raise Stop("J208", "a private value in a set", "items of a set are compared, and that shows", "use a list")
        if each not in found:
            found.append(each)
    return found


def _compared(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        if isinstance(left, Private) or isinstance(right, Private):
            raise Stop(
                "J202",
                "a private value is compared",
                "what follows from it would show it without noise",
                "buy it first: n = {{ ... }}",
            )
        if (type(left) is Fraction and type(right) is float) or (type(right) is Fraction and type(left) is float):
            # Between exact and rounded numbers, a difference beyond a double's digits says nothing.
            left, right = float(left), float(right)
        try:
            return bool(holds(left, right))
        except TypeError:
            title = f"{kind_of(left)} is compared with {kind_of(right)}"
            raise Stop("J501", title, "they have no order", "compare numbers with numbers") from None

    return compare


def _inside(left: Any, right: Any) -> bool:
    return left in items(right, "what stands after `in`")


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": _compared(lambda a, b: a == b),
    "!=": _compared(lambda a, b: a != b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "in": _compared(_inside),
    "not in": _compared(lambda a, b: not _inside(a, b)),
}


def text_of(node: nodes.Expression) -> str:
    """Return an expression on one line, for messages."""
    return show_expression(node)
