"""Two worlds: every expression is public or private, and private values leave through mechanisms alone.

The whole program is gone through with what is known of its values in place of the values: both sides of every test,
each function with what it is called with. A private value may be bound to a name, put into a list, passed to a
function, computed with where the result's sensitivity is bounded; it may end in `{{ }}`, `noisyCount`, `noisyMax`, a
part, an Option or a choice maker. Everything else that could show it is reported here, before anything runs.

*Why that is enough.* No test, loop, index or key depends on a private value, so which statements run depends on
public and released values alone; and what they do with private values ends in a mechanism, or nowhere. A function
that has no caller is taken to be called with a database for each parameter it uses as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from attrs import define, evolve, field, frozen

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.printer_expressions import show_expression
from jostle.lang.scopes import defined_in, symbols, target_names
from jostle.lang.tables_used import table_parameters
from jostle.lang.world import NOTHING, PUBLIC, World, container, function, joined, mapping, private, text

__all__ = ["Checker", "check_entry", "check_worlds"]

Mode = Literal["plain", "metafeature", "predict"]
BUY_EACH = "buy each of them first: [{{ x }} for x in xs]"
MOST_WORDS = 40
"""Longer expressions are not repeated in titles."""
MOST_VARIANTS = 24
"""Ways in which one function is called; beyond that, they are looked at together."""
ROUNDS = 20
"""Of going through a loop until nothing new is learned; each round only adds to finitely many kinds."""


def check_worlds(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report private values that could be seen without noise."""
    checker = Checker(module)
    checker.check_program()
    yield from checker.found.values()


def check_entry(module: nodes.Module, entry: str, tables: Sequence[int] = (0,)) -> tuple[Diagnostic, ...]:
    """Return what is wrong if this function is given databases in these places, and public values besides."""
    checker = Checker(module)
    checker.check_top()
    definition = checker.functions.get(entry)
    if definition is not None:
        checker.check_root(definition, tables, "plain")
    return tuple(sorted(checker.found.values(), key=lambda each: each.span))


@frozen
class Lambda:
    """A function without a name, with what is known of the variables around it."""

    node: nodes.Lambda
    around: Mapping[str, World]
    mode: Mode


@define
class Variant:
    """A function called in one way."""

    given: World = NOTHING
    """What it gives, as far as is known."""
    running: bool = False
    asked: bool = False
    """Whether that was asked for while it was being worked out."""


@define
class Place:
    """Where something stands: the variables there, and what is expected of it."""

    names: dict[str, World]
    mode: Mode
    in_query: bool = False
    """Whether it is a condition, a group or a value of a query."""


@define
class Checker:
    """Goes through a program."""

    module: nodes.Module
    found: dict[tuple[str, Span], Diagnostic] = field(factory=dict)
    functions: dict[str, nodes.FunctionDefinition] = field(init=False)
    globals: dict[str, World] = field(factory=dict)
    symbols: frozenset[str] = field(init=False)
    lambdas: dict[int, Lambda] = field(factory=dict)
    variants: dict[tuple[str, Mode], dict[tuple[World, ...], Variant]] = field(factory=dict)
    callers: list[Span] = field(factory=list)
    returned: list[list[tuple[nodes.Expression | Span, World]]] = field(factory=list)
    reached: set[str] = field(factory=set)
    worlds: dict[Span, World] = field(factory=dict)
    """What each expression may be, in all the ways that its function is called."""

    def __attrs_post_init__(self) -> None:
        """Note what the program defines."""
        self.functions = {each.name: each for each in self.module.body if isinstance(each, nodes.FunctionDefinition)}
        self.symbols = symbols(self.module)
        for name, _, definition in defined_in(self.module.body):
            if isinstance(definition, nodes.FunctionDefinition):
                self.globals[name] = function(f"o {name}" if definition.is_option else f"f {name}")
            elif isinstance(definition, nodes.ClassDefinition):
                self.globals[name] = function(f"o {name}")
            elif isinstance(definition, nodes.Import):
                public = definition.module == "public"
                self.globals[name] = container([PUBLIC]) if public else function(f"o {name}")

    # The program

    def check_program(self) -> None:  # noqa: C901 - one case per kind
        """Go through everything that may run."""
        self.check_top()
        metafeatures = self._metafeatures()
        used = _used_by_others(self.module)
        for statement in self.module.body:
            if isinstance(statement, nodes.ClassDefinition):
                if (answer := statement.method("answer")) is not None:
                    self.check_root(answer, [0], "plain")
                if (predict := statement.method("predict")) is not None:
                    self.check_root(predict, [], "predict")
            elif isinstance(statement, nodes.FunctionDefinition):
                if statement.is_option:
                    self.check_root(statement, [0], "plain")
                elif statement.name in metafeatures:
                    self.check_root(statement, [0], "metafeature")
                elif statement.name not in used:
                    self.check_root(statement, table_parameters(self.module, statement), "plain")
        for statement in self.functions.values():
            if statement.name not in self.reached:
                self.check_root(statement, table_parameters(self.module, statement), "plain", may_return=True)

    def check_top(self) -> None:
        """Go through the statements outside of functions."""
        place = Place(self.globals, "plain")
        self.returned.append([])
        for statement in self.module.body:
            if not isinstance(statement, nodes.FunctionDefinition | nodes.ClassDefinition | nodes.Import):
                self.statement(statement, place)
        self.returned.pop()

    def check_root(
        self, definition: nodes.FunctionDefinition, tables: Sequence[int], mode: Mode, *, may_return: bool = False
    ) -> None:
        """Go through a function that is called from outside; *tables* are the places of its databases."""
        given = [private("table") if place in tables else PUBLIC for place in range(len(definition.parameters))]
        names = {each.name: world for each, world in zip(definition.parameters, given, strict=True)}
        self.reached.add(definition.name)
        for written, world in self._through(definition, names, mode):
            if world.holds_private and not may_return:
                who = "a metafeature" if mode == "metafeature" else f"`{definition.name}`"
                self.report(
                    "J203",
                    f"{who} returns {world.word if world.is_private else 'private values'}",
                    written,
                    "whoever called it would see it without noise",
                    "buy it first: return {{ ... }}" if world.is_private else BUY_EACH,
                )

    def _metafeatures(self) -> set[str]:
        found = {name for name, each in self.functions.items() if "Metafeature" in each.marks}
        assigned = {
            statement.target.name: statement.value
            for statement in self.module.body
            if isinstance(statement, nodes.Assign) and isinstance(statement.target, nodes.Name)
        }
        for node in nodes.walk(self.module):
            if isinstance(node, nodes.MakeChoiceMaker):
                informed = node.informed_by
                if isinstance(informed, nodes.Name):
                    informed = assigned.get(informed.name)
                items = informed.items if isinstance(informed, nodes.Set | nodes.List | nodes.Tuple) else ()
                found.update(item.name for item in items if isinstance(item, nodes.Name))
        return found

    def _through(
        self, definition: nodes.FunctionDefinition | nodes.Lambda, names: dict[str, World], mode: Mode
    ) -> list[tuple[nodes.Expression | Span, World]]:
        """Go through a function's body; return what it may return, and where."""
        self.returned.append([])
        place = Place(names, mode)
        if isinstance(definition, nodes.Lambda):
            self.returned[-1].append((definition.body, self.value(definition.body, place)))
        else:
            for statement in definition.body:
                self.statement(statement, place)
        return self.returned.pop()

    def report(  # noqa: PLR0917 - a clause each
        self, code: str, title: str, culprit: nodes.Expression | Span, why: str, fix: str, label: str = "private"
    ) -> None:
        """Report a mistake, once for each place; a culprit that is short enough goes by its own words."""
        span = culprit if isinstance(culprit, Span) else culprit.span
        words = "" if isinstance(culprit, Span) else show_expression(culprit)
        if 0 < len(words) <= MOST_WORDS:
            title = re.sub(r"^(a private value|a database) is\b", lambda _: f"`{words}` is", title)
            fix = fix.replace("{{ ... }}", f"{{{{ {words} }}}}") if label == "private" else fix
        others: tuple[Label, ...] = ()
        if self.callers:
            others = (Label(self.callers[-1], "called with a private value here"),)
        self.found.setdefault((code, span), Diagnostic(code, title, span, why, fix, label=label, others=others))

    # Statements

    def statement(self, statement: nodes.Statement, place: Place) -> None:
        """Go through a statement."""
        match statement:
            case nodes.Assign():
                self.store(statement.target, self.value(statement.value, place), place)
            case nodes.Return():
                world = PUBLIC if statement.value is None else self.value(statement.value, place)
                self.returned[-1].append((statement.value or statement.span, world))
            case nodes.ExpressionStatement():
                self.value(statement.value, place)
            case nodes.If():
                self._if(statement, place)
            case nodes.For():
                self._for(statement, place)
            case _:
                pass

    def _if(self, statement: nodes.If, place: Place) -> None:
        before = dict(place.names)
        after: list[dict[str, World]] = []
        for branch in statement.branches:
            if branch.condition is not None:
                self.truth(branch.condition, place)
            inner = evolve(place, names=dict(before))
            for each in branch.body:
                self.statement(each, inner)
            after.append(inner.names)
        if statement.branches[-1].condition is not None:
            after.append(before)
        place.names.update(_merged(after))

    def _for(self, statement: nodes.For, place: Place) -> None:
        each = self.items(statement.iterable, place)
        for _ in range(ROUNDS):
            before = dict(place.names)
            self.store(statement.target, each, place)
            for inner in statement.body:
                self.statement(inner, place)
            place.names.update(_merged([before, place.names]))
            if place.names == before:
                return

    def store(self, target: nodes.Name | nodes.Tuple, world: World, place: Place) -> None:
        """Give names what is known of a value."""
        if isinstance(target, nodes.Name):
            place.names[target.name] = world
            return
        names = [each.name for each in target_names(target)]
        known = world.items if world.items is not None and len(world.items) == len(names) else None
        if world.is_private:
            self.report("J205", "a private value is taken apart", target.span, *_no_looking)
        for number, name in enumerate(names):
            place.names[name] = known[number] if known is not None else world.each()

    # Expressions that have to be public

    def truth(self, node: nodes.Expression, place: Place) -> None:
        """Go through a condition."""
        world = self.value(node, place)
        if world.is_private:
            self.decides(node, world, place)

    def decides(self, node: nodes.Expression, world: World, place: Place) -> None:
        """Report a private value that something is decided by."""
        if place.in_query:
            self.in_query(node)
            return
        self.report(
            "J202",
            f"{world.word} is compared, or tested",
            node,
            "what follows from it would show it without noise",
            "buy it first, and look at that: n = {{ ... }}",
        )

    def in_query(self, node: nodes.Expression) -> None:
        """Report a private value inside a query."""
        self.report(
            "J210",
            "a query looks at a private value",
            node,
            "its conditions and groups are public functions of one row; a private value is changed by all others",
            "buy it before: n = {{ ... }}, and write n in the query",
        )

    def items(self, node: nodes.Expression, place: Place) -> World:
        """Return what going through something gives."""
        world = self.value(node, place)
        if world.is_private and world.kinds & {"number", "score", "table"}:
            self.report(
                "J205",
                f"a loop over {world.word}",
                node,
                "how often a loop runs shows in the output",
                "go through public values: for v in db.label",
            )
            return PUBLIC
        if "groups" in world.kinds:
            self.report("J205", "a loop over private groups", node.span, *_no_looking)
            return PUBLIC
        return world.each()

    def public(self, node: nodes.Expression | None, place: Place, code: str, title: str, why: str, fix: str) -> World:  # noqa: PLR0917 - a clause each
        """Return what is known of something that has to be public; report it if it is not."""
        if node is None:
            return PUBLIC
        world = self.value(node, place)
        if world.holds_private:
            self.report(code, title, node, why, fix if world.is_private else BUY_EACH)
            return PUBLIC
        return world

    # Calls

    def called(self, name: str, given: list[World], named: dict[str, World], span: Span, mode: Mode) -> World:
        """Return what one of the program's functions may give."""
        definition = self.functions[name]
        self.reached.add(name)
        names = {each.name: PUBLIC for each in definition.parameters}
        names.update(zip([each.name for each in definition.parameters], given, strict=False))
        names.update({key: world for key, world in named.items() if key in names})
        known = self.variants.setdefault((name, mode), {})
        key = tuple(names.values())
        if key not in known and len(known) >= MOST_VARIANTS:
            key = tuple(joined(column) for column in zip(*known, key, strict=True))
            names = dict(zip(names, key, strict=True))
        variant = known.setdefault(key, Variant())
        if variant.running:
            variant.asked = True
            return variant.given
        private_here = any(world.holds_private for world in key)
        if private_here:
            self.callers.append(span)
        variant.running = True
        for _ in range(ROUNDS):
            variant.asked = False
            given_back = joined([world for _, world in self._through(definition, dict(names), mode)] or [PUBLIC])
            settled = not variant.asked or variant.given.join(given_back) == variant.given
            variant.given = variant.given.join(given_back)
            if settled:
                break
        variant.running = False
        if private_here:
            self.callers.pop()
        return variant.given

    def called_lambda(self, number: int, given: list[World], span: Span) -> World:
        """Return what a function without a name may give."""
        known = self.lambdas[number]
        names = {**known.around, **dict(zip([each.name for each in known.node.parameters], given, strict=False))}
        private_here = any(world.holds_private for world in given)
        if private_here:
            self.callers.append(span)
        found = joined(world for _, world in self._through(known.node, names, known.mode))
        if private_here:
            self.callers.pop()
        return found

    # Expressions

    def value(self, node: nodes.Expression, place: Place) -> World:
        """Return what is known of an expression's value, and report what is wrong in it."""
        world = self._value(node, place)
        self.worlds[node.span] = self.worlds.get(node.span, NOTHING).join(world)
        return world

    def _value(self, node: nodes.Expression, place: Place) -> World:  # noqa: C901, PLR0911, PLR0912 - one per kind
        from jostle.lang import world_rules as rules  # noqa: PLC0415 - half of this class, in a module of its own

        match node:
            case nodes.Name():
                return self._name(node, place)
            case nodes.String():
                return text()
            case nodes.Number() | nodes.Percent() | nodes.Constant():
                return PUBLIC
            case nodes.Tuple() | nodes.List():
                return container([self.value(each, place) for each in node.items], fixed=True)
            case nodes.Set():
                return container([self.key(each, place) for each in node.items])
            case nodes.Dict():
                for entry in node.entries:
                    self.key(entry.key, place)
                return mapping([self.value(entry.value, place) for entry in node.entries])
            case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
                return self._comprehension(node, place)
            case nodes.BinaryOperation():
                return rules.binary(self, node, place)
            case nodes.UnaryOperation():
                return rules.unary(self, node, place)
            case nodes.Comparison():
                for each in (node.left, *node.rights):
                    world = self.value(each, place)
                    if world.is_private or (world.holds_private and len(node.operators) > 0):
                        self.decides(each, world, place)
                return PUBLIC
            case nodes.Not():
                self.truth(node.operand, place)
                return PUBLIC
            case nodes.BooleanOperation():
                for each in node.operands:
                    self.truth(each, place)
                return PUBLIC
            case nodes.Conditional():
                self.truth(node.condition, place)
                return self.value(node.then, place).join(self.value(node.otherwise, place))
            case nodes.Lambda():
                return self._lambda(node, place)
            case nodes.Index():
                return rules.index(self, node, place)
            case nodes.Attribute():
                return rules.attribute(self, node, place)
            case nodes.Part():
                return rules.part(self, node, place)
            case nodes.Call():
                return rules.call(self, node, place)
            case nodes.Noised():
                return rules.noised(self, node, place)
            case nodes.Select():
                return rules.select(self, node, place)
            case nodes.Over():
                return rules.over(self, node, place)
            case nodes.MakeChoiceMaker():
                return rules.make_choice_maker(self, node, place)
            case nodes.Choose():
                return rules.choose(self, node, place)
            case _:
                return PUBLIC

    def _name(self, node: nodes.Name, place: Place) -> World:
        name = node.name
        if name in place.names:
            world = place.names[name]
        elif name in self.globals:
            world = self.globals[name]
        elif name == EPSILON:
            world = PUBLIC
        elif name in BUILTINS and not place.in_query:
            world = function(f"b {name}")
        else:
            world = PUBLIC
        return world

    def key(self, node: nodes.Expression, place: Place) -> World:
        """Return what is known of a key, or of an item of a set."""
        return self.public(
            node,
            place,
            "J208",
            "a private value is a key",
            "keys, and items of sets, are compared with each other, and that shows",
            "buy it first: {{ ... }}",
        )

    def _comprehension(
        self, node: nodes.ListComprehension | nodes.SetComprehension | nodes.DictComprehension, place: Place
    ) -> World:
        inner = evolve(place, names=dict(place.names))
        for clause in node.clauses:
            self.store(clause.target, self.items(clause.iterable, inner), inner)
            for condition in clause.conditions:
                self.truth(condition, inner)
        if isinstance(node, nodes.DictComprehension):
            self.key(node.entry.key, inner)
            return mapping([self.value(node.entry.value, inner)])
        if isinstance(node, nodes.SetComprehension):
            return container([self.key(node.element, inner)])
        return container([self.value(node.element, inner)])

    def _lambda(self, node: nodes.Lambda, place: Place) -> World:
        for parameter in node.parameters:
            self.public(
                parameter.default,
                place,
                "J212",
                "a private value is a default",
                "a default is kept in the function, and goes where the function goes",
                "pass it where the function is called",
            )
        own = {each.name for each in node.parameters}
        for name in (each for each in nodes.walk(node.body) if isinstance(each, nodes.Name)):
            world = place.names.get(name.name, PUBLIC) if name.name not in own else PUBLIC
            if world.holds_private and name.name not in self.globals:
                self.report(
                    "J209",
                    f"a lambda holds `{name.name}`, {world.word if world.is_private else 'which has private values'}",
                    name.span,
                    "a function can be passed anywhere, and would take the private value along",
                    f"give it as a parameter, or write def at the top of the program with a parameter {name.name}",
                )
        number = len(self.lambdas)
        known = [key for key, each in self.lambdas.items() if each.node is node]
        number = known[0] if known else number
        self.lambdas[number] = Lambda(node, dict(place.names), place.mode)
        return function(f"l {number}")


_no_looking = (
    "what is done with each of its parts would show it without noise",
    "buy it first: {{ ... }}",
)


def _merged(ways: list[dict[str, World]]) -> dict[str, World]:
    found: dict[str, World] = {}
    for names in ways:
        for name, world in names.items():
            found[name] = found[name].join(world) if name in found else world
    return found


def _used_by_others(module: nodes.Module) -> frozenset[str]:
    """Return the names that the program uses outside of what they stand for."""
    found: set[str] = set()
    for statement in module.body:
        own = statement.name if isinstance(statement, nodes.FunctionDefinition | nodes.ClassDefinition) else None
        found.update(node.name for node in nodes.walk(statement) if isinstance(node, nodes.Name) and node.name != own)
    return frozenset(found)
