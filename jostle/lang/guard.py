"""The guard: what goes through a program, and knows of each value whether it is public or private.

Two worlds: every expression is public or private, and private values leave through mechanisms alone. The whole program
is gone through with what is known of its values in place of the values: both sides of every test, each function with
what it is called with. A private value may be bound to a name, put into a list, passed to a function, computed with
where the result's sensitivity is bounded; it may end in `{{ }}`, `noisyCount`, `noisyMax`, a part, an Option or a
choice maker. Everything else that could show it is reported here, before anything runs.

*Why that is enough.* No test, loop, index or key depends on a private value, so which statements run depends on
public and released values alone; and what they do with private values ends in a mechanism, or nowhere. A function
that has no caller is taken to be called with a database for each parameter it uses as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import define, evolve, field, frozen

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.extents import Levels
from jostle.lang.facts import NOTHING, PUBLIC, World, container, function, joined, private
from jostle.lang.library import LibraryOption, library
from jostle.lang.messages import Stop
from jostle.lang.nodes import defined_in, symbols, target_names

Mode = Literal["plain", "metafeature", "predict"]
"""What a function is called for."""
BUY_EACH = "buy each of them first: [{{ x }} for x in xs]"
ON_ROWS = frozenset({"mean", "stddev", "max", "min"})
"""Aggregates that columns do not have."""
MOST_WORDS = 40
"""Longer expressions are not repeated in titles."""
MOST_VARIANTS = 24
"""Ways in which one function is called; beyond that, they are looked at together."""


@frozen
class LambdaWorld:
    """A function without a name, or inside another, with what is known of the variables around it."""

    node: nodes.Lambda | nodes.FunctionDefinition
    around: Mapping[str, World]
    held: str = ""
    """Of a function inside another, a variable around it that is private, if there is one: then it is called alone."""


@define
class Variant:
    """A function called in one way."""

    given: World = NOTHING
    """What it gives, as far as is known."""
    round: int = 0
    """When it was gone through last."""
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


@frozen
class GuardRules:
    """What becomes of private values, where that is no matter of statements."""

    expressions: Mapping[type[nodes.Node], Callable[[Checker, Any, Place], World]]
    """In each kind of expression."""
    call: Callable[[Checker, World, nodes.Call, list[World], dict[str, World], Place], World]
    """In a call of what is known so."""


@define
class Checker:
    """Goes through a program."""

    module: nodes.Module
    rules: GuardRules
    found: dict[tuple[str, Span], Diagnostic] = field(factory=dict)
    functions: dict[str, nodes.FunctionDefinition] = field(init=False)
    globals: dict[str, World] = field(factory=dict)
    symbols: frozenset[str] = field(init=False)
    lambdas: dict[int, LambdaWorld] = field(factory=dict)
    makers: list[nodes.MakeChoiceMaker] = field(factory=list)
    library: dict[str, LibraryOption] = field(factory=dict)
    """The Options that it imports."""
    variants: dict[tuple[str, Mode], dict[tuple[World, ...], Variant]] = field(factory=dict)
    grown: bool = False
    """Whether more was learned in this round of what something holds, or gives, than was gone by."""
    round: int = 0
    """How often all was gone through."""
    callers: list[Span] = field(factory=list)
    returned: list[list[tuple[nodes.ExpressionNode | Span, World]]] = field(factory=list)
    reached: set[str] = field(factory=set)
    worlds: dict[Span, World] = field(factory=dict)
    """What each expression may be, in all the ways that its function is called."""
    levels: Levels = field(factory=Levels)

    def __attrs_post_init__(self) -> None:
        """Note what the program defines."""
        self.functions = nodes.functions_of(self.module.body)
        self.symbols = symbols(self.module)
        known = library().options
        for name, _, definition in defined_in(self.module.body):
            if isinstance(definition, nodes.FunctionDefinition):
                self.globals[name] = function(f"o {name}" if definition.is_option else f"f {name}")
            elif isinstance(definition, nodes.ClassDefinition):
                self.globals[name] = function(f"o {name}")
            elif isinstance(definition, nodes.Import):
                public = definition.module == "public"
                self.globals[name] = container([PUBLIC]) if public else function(f"o {name}")
                if not public and name in known:
                    self.library[name] = known[name]

    def settle(self, go: Callable[[], None]) -> None:
        """Go through a program until nothing new is learned of what its functions give, and hold."""
        # What is known only grows, and there are finitely many kinds: this ends.
        while True:
            self.grown = False
            self.round += 1
            go()
            if not self.grown:
                return

    def check_top(self) -> None:
        """Go through the statements outside of functions."""
        place = Place(self.globals, "plain")
        self.returned.append([])
        for statement in self.module.body:
            if not isinstance(statement, nodes.FunctionDefinition | nodes.ClassDefinition | nodes.Import):
                go_through(self, statement, place)
        self.returned.pop()

    def check_root(
        self, definition: nodes.FunctionDefinition, tables: Sequence[int], mode: Mode, *, may_return: bool = False
    ) -> None:
        """Go through a function that is called from outside; *tables* are the places of its databases."""
        given = [private("table") if place in tables else PUBLIC for place in range(len(definition.parameters))]
        names = {parameter.name: world for parameter, world in zip(definition.parameters, given, strict=True)}
        self.reached.add(definition.name)
        for written, world in self._through(definition, names, mode):
            if world.holds_private and not may_return:
                who = "a metafeature" if mode == "metafeature" else f"`{definition.name}`"
                what = world.word if world.is_private else "private values"
                self.report("J203 returned", written, inside=not world.is_private, who=who, what=what)

    def _through(
        self, definition: nodes.FunctionDefinition | nodes.Lambda, names: dict[str, World], mode: Mode
    ) -> list[tuple[nodes.ExpressionNode | Span, World]]:
        """Go through a function's body; return what it may return, and where."""
        self.returned.append([])
        place = Place(names, mode)
        if isinstance(definition, nodes.Lambda):
            self.returned[-1].append((definition.body, self.value(definition.body, place)))
        else:
            for statement in definition.body:
                go_through(self, statement, place)
        return self.returned.pop()

    def report(
        self,
        said: str,
        culprit: nodes.ExpressionNode | Span,
        *,
        label: str = "private",
        inside: bool = False,
        **facts: object,
    ) -> None:
        """Report a mistake, once for each place; a culprit that is short enough goes by its own words.

        Where private values are *inside* of it, each of them is to be bought.
        """
        mistake, span = Stop(said, **facts), culprit if isinstance(culprit, Span) else culprit.span
        if (mistake.code, span) in self.found:
            return
        title, why, fix = mistake.words
        if inside and "{{" in fix:
            fix = BUY_EACH
        words = "" if isinstance(culprit, Span) else culprit.shown()
        if 0 < len(words) <= MOST_WORDS:
            title = re.sub(r"^(a private value|a database) is\b", lambda _: f"`{words}` is", title)
            fix = fix.replace("{{ ... }}", f"{{{{ {words} }}}}") if label == "private" else fix
        others = (Label(self.callers[-1], "called with a private value here"),) if self.callers else ()
        self.found[mistake.code, span] = Diagnostic(mistake.code, title, span, why, fix, label, others)

    # Expressions that have to be public

    def truth(self, node: nodes.ExpressionNode, place: Place) -> None:
        """Go through a condition."""
        world = self.value(node, place)
        if world.is_private:
            self.decides(node, world, place)

    def decides(self, node: nodes.ExpressionNode, world: World, place: Place) -> None:
        """Report a private value that something is decided by."""
        if place.in_query:
            self.in_query(node)
            return
        self.report("J202 compared", node, what=world.word)

    def in_query(self, node: nodes.ExpressionNode) -> None:
        """Report a private value inside a query."""
        self.report("J210 private", node)

    def items(self, node: nodes.ExpressionNode, place: Place) -> World:
        """The facts known of an item of something that is gone through."""
        world = self.value(node, place)
        if world.is_private and world.kinds & {"number", "score", "table"}:
            self.report("J205 loop", node, what=world.word)
            return PUBLIC
        if "groups" in world.kinds:
            self.report("J205 groups", node.span)
            return PUBLIC
        return world.each()

    def public(self, node: nodes.ExpressionNode | None, place: Place, said: str) -> World:
        """The facts known of something that has to be public; report it if it is not."""
        if node is None:
            return PUBLIC
        world = self.value(node, place)
        if world.holds_private:
            self.report(said, node, inside=not world.is_private)
            return PUBLIC
        return world

    # Calls

    def called(self, name: str, given: list[World], named: dict[str, World], span: Span, mode: Mode) -> World:
        """The facts known of the value of one of the program's functions."""
        self.reached.add(name)
        return self._called(self.functions[name], f"f {name}", {}, given, named, span, mode)

    def called_lambda(self, number: int, given: list[World], named: dict[str, World], span: Span, mode: Mode) -> World:
        """The facts known of the value of a function without a name."""
        known = self.lambdas[number]
        return self._called(known.node, f"l {number}", known.around, given, named, span, mode)

    def _called(  # noqa: PLR0917 - a clause each
        self,
        definition: nodes.FunctionDefinition | nodes.Lambda,
        name: str,
        around: Mapping[str, World],
        given: list[World],
        named: dict[str, World],
        span: Span,
        mode: Mode,
    ) -> World:
        """The facts known of a function's value when it is called with such values.

        It is gone through once in each round. Where it is asked for while that is going on, and more is learned then,
        there is one more round.
        """
        parameters = {parameter.name: PUBLIC for parameter in definition.parameters}
        parameters |= dict(zip(list(parameters), given, strict=False))
        parameters |= {key: world for key, world in named.items() if key in parameters}
        known = self.variants.setdefault((name, mode), {})
        key = tuple(parameters.values())
        if key not in known and len(known) >= MOST_VARIANTS:
            key = tuple(joined(column) for column in zip(*known, key, strict=True))
        variant = known.setdefault(key, Variant())
        if variant.running or variant.round == self.round:
            variant.asked |= variant.running
            return variant.given
        private_here = any(world.holds_private for world in key)
        if private_here:
            self.callers.append(span)
        variant.running, variant.round, variant.asked = True, self.round, False
        names = {**around, **dict(zip(parameters, key, strict=True))}
        returned = self._through(definition, names, mode)
        more = variant.given.join(joined([world for _, world in returned] or [PUBLIC]))
        if variant.asked and more != variant.given:
            self.grown = True
        variant.given, variant.running = more, False
        if private_here:
            self.callers.pop()
        return variant.given

    # Expressions

    def value(self, node: nodes.ExpressionNode, place: Place) -> World:
        """The facts known of an expression's value; report what is wrong in it."""
        with self.levels:
            world = self.rules.expressions[type(node)](self, node, place)
        self.worlds[node.span] = self.worlds.get(node.span, NOTHING).join(world)
        return world

    def key(self, node: nodes.ExpressionNode, place: Place) -> World:
        """The facts known of a key, or of an item of a set."""
        return self.public(node, place, "J208 key")


def go_through(checker: Checker, statement: nodes.Statement, place: Place) -> None:
    """Go through a statement."""
    with checker.levels:
        match statement:
            case nodes.Assign():
                store(checker, statement.target, checker.value(statement.value, place), place)
            case nodes.Return():
                world = PUBLIC if statement.value is None else checker.value(statement.value, place)
                checker.returned[-1].append((statement.value or statement.span, world))
            case nodes.ExpressionStatement():
                checker.value(statement.value, place)
            case nodes.FunctionDefinition():
                place.names[statement.name] = checker.rules.expressions[type(statement)](checker, statement, place)
            case nodes.If():
                _if(checker, statement, place)
            case nodes.For():
                _for(checker, statement, place)
            case _:
                pass


def _if(checker: Checker, statement: nodes.If, place: Place) -> None:
    before = dict(place.names)
    after: list[dict[str, World]] = []
    for branch in statement.branches:
        if branch.condition is not None:
            checker.truth(branch.condition, place)
        inner = evolve(place, names=dict(before))
        for each in branch.body:
            go_through(checker, each, inner)
        after.append(inner.names)
    if statement.branches[-1].condition is not None:
        after.append(before)
    place.names.update(merged(after))


def _for(checker: Checker, statement: nodes.For, place: Place) -> None:
    each = checker.items(statement.iterable, place)
    # What is known only grows, and there are finitely many kinds: this ends.
    while True:
        before = dict(place.names)
        store(checker, statement.target, each, place)
        for inner in statement.body:
            go_through(checker, inner, place)
        place.names.update(merged([before, place.names]))
        if place.names == before:
            return


def store(checker: Checker, target: nodes.Name | nodes.Tuple, world: World, place: Place) -> None:
    """Give names what is known of a value."""
    if isinstance(target, nodes.Name):
        place.names[target.name] = world
        return
    names = [each.name for each in target_names(target)]
    known = world.items if world.items is not None and len(world.items) == len(names) else None
    if world.is_private:
        checker.report("J205 apart", target.span)
    for number, name in enumerate(names):
        place.names[name] = known[number] if known is not None else world.each()


def merged(ways: Iterable[Mapping[str, World]]) -> dict[str, World]:
    """The facts known of variables after any of several ways."""
    found: dict[str, World] = {}
    for names in ways:
        for name, world in names.items():
            found[name] = found[name].join(world) if name in found else world
    return found


def buys(checker: Checker, span: Span, place: Place, what: str) -> None:
    """Report a purchase where nothing can be bought."""
    if place.in_query:
        checker.report("J210 purchase", span, label="")
    if place.mode == "predict":
        predict_looks(checker, span)
    elif place.mode == "metafeature":
        checker.report("J223", span, label="", what=what)


def predict_looks(checker: Checker, span: Span) -> None:
    """Report a prediction that looks at data."""
    checker.report("J218", span, label="")


def nothing_private(checker: Checker, name: str, span: nodes.ExpressionNode) -> None:
    """Report a purchase of what is public."""
    said = "J213 picked" if name == "noisyMax" else "J213 public"
    checker.report(said, span, label="public", name=name)


def budget(checker: Checker, world: World, written: nodes.ExpressionNode) -> None:
    """Report a private value that is a budget."""
    if world.holds_private:
        checker.report("J221", written)
