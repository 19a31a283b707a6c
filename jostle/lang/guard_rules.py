"""What becomes of private values in each kind of expression, and which functions the guard goes through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.facts import NOTHING, PUBLIC, UNSEEN, World, container, function, joined, mapping, private, text
from jostle.lang.guard import (
    ON_ROWS,
    Checker,
    GuardRules,
    LambdaWorld,
    Place,
    budget,
    buys,
    merged,
    nothing_private,
    predict_looks,
    store,
)
from jostle.lang.library import DATABASE, LibraryOption
from jostle.lang.names import callable_of, check_call, gives_parameters
from jostle.lang.nodes import defined_in, first_defined
from jostle.lang.roots import entered, table_parameters


def noised(checker: Checker, node: nodes.Noised, place: Place) -> World:
    """The facts known of a bought value."""
    if place.in_query:
        buys(checker, node.span, evolve(place, mode="plain"), "")
        return PUBLIC
    world = checker.value(node.value, place)
    if node.spending is not None:
        budget(checker, checker.value(node.spending, place), node.spending)
    if place.mode == "predict":
        predict_looks(checker, node.span)
        return PUBLIC
    if "table" in world.kinds or "score" in world.kinds:
        checker.report("J219 table" if "table" in world.kinds else "J219 score", node.value)
        return PUBLIC
    if not world.is_private and world != NOTHING:
        if world.holds_private:
            checker.report("J219 list", node.value)
        else:
            nothing_private(checker, "{{ ... }}", node.value)
    return mapping([PUBLIC]) if "groups" in world.kinds else PUBLIC


def check_fits(checker: Checker, node: nodes.Call, callee: World) -> None:
    """Report a call that nothing of what may be called there takes."""
    if not callee.functions or callee.functions & UNSEEN:
        return
    found = [tuple(_misfits(checker, function, node)) for function in sorted(callee.functions)]
    if all(found):
        for diagnostic in found[0]:
            checker.found.setdefault((diagnostic.code, diagnostic.span), diagnostic)


def first_parameter(checker: Checker, name: str) -> str:
    """The name of the database that an Option is given."""
    known = _option(checker, name)
    own = known.parameters[:1] if isinstance(known, nodes.FunctionDefinition) else ()
    return own[0].name if own else DATABASE


def _option(checker: Checker, name: str) -> nodes.FunctionDefinition | LibraryOption | None:
    """The Option that a name at the top of the program stands for."""
    found = first_defined(checker.module.body).get(name)
    return None if found is None else callable_of(name, found[1])


def _misfits(checker: Checker, name: str, node: nodes.Call) -> Iterator[Diagnostic]:
    """Yield what is wrong with a call of one of the things that are called."""
    kind, _, known = name.partition(" ")
    shown = node.function.shown()
    match kind:
        case "f":
            yield from check_call(node, checker.functions[known])
        case "l":
            yield from check_call(node, checker.lambdas[int(known)].node)
        case "b":
            yield from check_call(node, BUILTINS[known])
        case "m":
            yield from _misfits_of_maker(checker, checker.makers[int(known)], node, shown)
        case _:
            option = _option(checker, known)
            if option is not None:
                yield from check_call(node, option, shown if kind == "c" else "")


def _misfits_of_maker(
    checker: Checker, maker: nodes.MakeChoiceMaker, node: nodes.Call, shown: str
) -> Iterator[Diagnostic]:
    """Yield what is wrong with a call of a choice maker: each of its Options has to take it."""
    for item in nodes.items_of(maker.among):
        named = item.function if isinstance(item, nodes.Call) else item
        if isinstance(named, nodes.Name):
            option = _option(checker, named.name)
            found = [] if option is None else list(check_call(node, option, shown))
            if found:
                yield from found
                return


def call(checker: Checker, node: nodes.Call, place: Place) -> World:
    """The facts known of what a call gives."""
    inner = evolve(place, in_query=False) if place.in_query else place
    plain = isinstance(node.function, nodes.Name) and node.function.name not in place.names
    if isinstance(node.function, nodes.Name) and node.function.name in place.names:
        callee = place.names[node.function.name]  # which may hold private values, as long as it is called alone
        checker.worlds[node.function.span] = callee
    else:
        callee = checker.value(node.function, inner if plain else place)
    given = [checker.value(argument, place) for argument in node.arguments]
    named = {keyword.name: checker.value(keyword.value, place) for keyword in node.keywords}
    if place.in_query:
        for world, written in [*zip(given, node.arguments, strict=True)]:
            if world.holds_private:
                checker.in_query(node if world.kinds == {"table"} else written)
                return PUBLIC
    check_fits(checker, node, callee)
    return call_with(checker, callee, node, given, named, place)


def call_with(  # noqa: PLR0917 - a clause each
    checker: Checker, callee: World, node: nodes.Call, given: list[World], named: dict[str, World], place: Place
) -> World:
    """The facts known of what a call of something with such values gives."""
    if not callee.functions:
        return _unknown(checker, node, callee, [*given, *named.values()])
    return joined(_one(checker, each, node, given, named, place) for each in sorted(callee.functions))


def _unknown(checker: Checker, node: nodes.Call, callee: World, given: list[World]) -> World:
    if callee.is_private:
        checker.report("J219 called", node.function)
        return PUBLIC
    if any(world.holds_private for world in given):
        checker.report("J217 unknown", node.function, label="unknown", function=node.function.shown())
    return PUBLIC


def _one(  # noqa: PLR0917 - a clause each
    checker: Checker, name: str, node: nodes.Call, given: list[World], named: dict[str, World], place: Place
) -> World:
    if name in UNSEEN:
        return _unknown(checker, node, PUBLIC, [*given, *named.values()])
    kind, _, called = name.partition(" ")
    if kind == "f":
        return checker.called(called, given, named, node.span, place.mode)
    if kind == "l":
        return checker.called_lambda(int(called), given, named, node.span, place.mode)
    if kind in {"o", "c", "m"}:
        known = checker.library.get(called) if kind == "o" else None
        if known is not None and gives_parameters(node, known):
            return _with_parameters(checker, node, called, named)
        return _asked(checker, node, called if kind == "o" else node.function.shown(), given, named, place)
    builtin = BUILTINS[called]
    return builtin.guards(checker, builtin, node, builtin.in_order(given, named, NOTHING), place)


def _with_parameters(checker: Checker, node: nodes.Call, name: str, named: dict[str, World]) -> World:
    """The facts known of an Option with parameters."""
    for keyword in node.keywords:
        if named[keyword.name].holds_private:
            checker.report("J220 parameter", keyword.value, name=name, what=named[keyword.name].word)
    return function(f"c {name}")


def _asked(  # noqa: PLR0917 - a clause each
    checker: Checker, node: nodes.Call, name: str, given: list[World], named: dict[str, World], place: Place
) -> World:
    buys(checker, node.span, place, f"`{name}`")
    asked = [
        *zip(given, node.arguments, strict=True),
        *((named[keyword.name], keyword.value) for keyword in node.keywords if keyword.name != EPSILON),
    ]
    if not given:  # the database may stand anywhere, by its name
        database = first_parameter(checker, name)
        asked.sort(key=lambda each: all(each[1] is not word.value for word in node.keywords if word.name == database))
    questions = asked[1:]
    for world, written in questions:
        if world.holds_private:
            checker.report("J220 asked", written, name=name, what=world.word)
    if EPSILON in named:
        budget(checker, named[EPSILON], next(keyword.value for keyword in node.keywords if keyword.name == EPSILON))
    if asked and asked[0][0].is_private and "table" not in asked[0][0].kinds:
        checker.report("J219 option", asked[0][1].span, name=name, what=asked[0][0].word)
    return evolve(PUBLIC, inside=PUBLIC)


def binary(checker: Checker, node: nodes.BinaryOperation, place: Place) -> World:  # noqa: C901, PLR0911 - one case per kind
    """The facts known of a sum, product and so on."""
    left, right = checker.value(node.left, place), checker.value(node.right, place)
    if not (left.is_private or right.is_private):
        if node.operator in "+-|&" and (left.inside is not None or right.inside is not None):
            return container([left.each(), right.each()] if node.operator in "+|" else [left.each()])
        return evolve(PUBLIC, written=left.written or right.written)
    if place.in_query:
        checker.in_query(node.left if left.is_private else node.right)
        return PUBLIC
    for world, side in ((left, node.left), (right, node.right)):
        if world.written:
            checker.report("J207 text", node.left if left.is_private else node.right)
            return PUBLIC
        if "table" in world.kinds:
            checker.report("J219 computed", side, label="a database", database=side.shown())
            return NOTHING
    both = left.is_private and right.is_private
    said = None
    if "score" in left.kinds | right.kinds:
        said = "J214 score"
    elif node.operator == "*" and both:
        said = "J214 product"
    elif node.operator == "/" and right.is_private:
        said = "J214 quotient"
    elif node.operator in {"//", "%", "**", "|", "&"}:
        said = "J214 unbounded"
    if said is not None:
        culprit = node if both else node.left if left.is_private else node.right
        checker.report(said, culprit, operator=node.operator)
        return private("number")
    return World(frozenset({"groups" if "groups" in left.kinds | right.kinds else "number"}))


def unary(checker: Checker, node: nodes.UnaryOperation, place: Place) -> World:
    """The facts known of a value with a sign."""
    world = checker.value(node.operand, place)
    if world.kinds & {"table", "score"}:
        checker.report("J219 sign", node, label="", what=world.word)
        return PUBLIC
    if place.in_query and world.is_private:
        checker.in_query(node.operand)
    return World(world.kinds)


def index(checker: Checker, node: nodes.Index, place: Place) -> World:
    """The facts known of an item."""
    world, at = checker.value(node.value, place), checker.value(node.index, place)
    if at.holds_private:
        checker.report("J206 index", node.index)
    if "table" in world.kinds and _is_test(node.index):
        return private("table")  # meant as a part, and reported as such
    if world.kinds & {"table", "number", "score"}:
        checker.report("J206 item", node.value, what=world.word)
        return PUBLIC
    if "groups" in world.kinds:
        return private("number")
    if world.items is not None and isinstance(node.index, nodes.Number) and node.index.value.denominator == 1:
        place_of = int(node.index.value)
        if place_of < len(world.items):
            return world.items[place_of]
    return PUBLIC if world.inside is None else world.inside


def _is_test(node: nodes.ExpressionNode) -> bool:
    return any(isinstance(each, nodes.Comparison) and "==" in each.operators for each in nodes.walk(node))


def attribute(checker: Checker, node: nodes.Attribute, place: Place) -> World:
    """The facts known of a named part: facts about databases are public."""
    world = checker.value(node.value, place)
    if world.kinds & {"number", "groups", "score"}:
        checker.report("J219 field", node)
        return PUBLIC
    if "table" in world.kinds:
        if place.mode == "predict":
            predict_looks(checker, node.span)
        return container([PUBLIC]) if node.name in {"attributes", "label"} else PUBLIC
    return PUBLIC if world.inside is None else world.inside.join(PUBLIC)


def part(checker: Checker, node: nodes.Part, place: Place) -> World:
    """The facts known of a part of a database."""
    world = checker.value(node.table, place)
    for condition in node.conditions:
        inner = evolve(place, in_query=True)
        value = checker.value(condition.value, place)
        if not isinstance(condition.attribute, nodes.Name) or condition.attribute.name in place.names:
            value = value.join(checker.value(condition.attribute, inner))
        if value.holds_private:
            checker.report("J206 part", condition.value)
    if "table" not in world.kinds and world.is_private:
        checker.report("J219 part", node.table)
    if place.in_query and world.is_private:
        checker.in_query(node)
    return private("table")


def select(checker: Checker, node: nodes.Select, place: Place) -> World:
    """The facts known of a query."""
    table = checker.value(node.table, place)
    if place.in_query and table.is_private:
        checker.in_query(node)
        return PUBLIC
    inner = evolve(place, in_query=True)
    for child in (node.value, node.where, *node.groupby):
        if child is not None and checker.value(child, inner).holds_private:
            checker.in_query(child)
    if table.is_private and "table" not in table.kinds:
        checker.report("J219 query", node.table, what=table.word)
    columns = {each.name for each in nodes.walk(node.value) if isinstance(each, nodes.Name)} if node.value else set()
    if node.aggregate in ON_ROWS and columns and "values" not in columns:
        checker.report(f"J215 {node.aggregate}", node.aggregate_span, label="", aggregate=node.aggregate)
    return private("groups" if node.groupby else "number")


def over(checker: Checker, node: nodes.Over, place: Place) -> World:
    """The facts known of answers to queries."""
    for each in (node.queries, node.cells):
        if checker.value(each, place).holds_private:
            checker.report("J217 estimate", each)
    return PUBLIC


def make_choice_maker(checker: Checker, node: nodes.MakeChoiceMaker, place: Place) -> World:
    """The facts known of a choice maker."""
    for child in (node.among, node.informed_by, node.trained_on, node.judged_by, node.spending):
        if child is not None and checker.value(child, place).holds_private:
            checker.report("J220 maker", child)
    number = next((key for key, maker in enumerate(checker.makers) if maker is node), len(checker.makers))
    if number == len(checker.makers):
        checker.makers.append(node)
    return function(f"m {number}")


def choose(checker: Checker, node: nodes.Choose, place: Place) -> World:
    """The facts known of a labelled choice."""
    seen = node.informed_by
    for item in nodes.items_of(seen) or ((seen,) if seen else ()):
        if checker.value(item, place).holds_private:
            checker.report("J201", item, choice=node.label)
    return joined(checker.value(item, place) for item in nodes.items_of(node.among))


def _formatted(checker: Checker, node: nodes.Formatted, place: Place) -> World:
    for part in node.parts:
        world = checker.value(part, place)
        if world.holds_private and place.in_query:
            checker.in_query(part)
        elif world.holds_private:
            checker.report("J207 text", part, inside=not world.is_private)
    return text()


def _listed(checker: Checker, node: nodes.Tuple | nodes.List, place: Place) -> World:
    return container([checker.value(item, place) for item in node.items], fixed=True)


def _set(checker: Checker, node: nodes.Set, place: Place) -> World:
    return container([checker.key(item, place) for item in node.items])


def _dictionary(checker: Checker, node: nodes.Dict, place: Place) -> World:
    for entry in node.entries:
        checker.key(entry.key, place)
    return mapping([checker.value(entry.value, place) for entry in node.entries])


def _comparison(checker: Checker, node: nodes.Comparison, place: Place) -> World:
    for each in (node.left, *node.rights):
        world = checker.value(each, place)
        if world.holds_private:
            checker.decides(each, world, place)
    return PUBLIC


def _not(checker: Checker, node: nodes.Not, place: Place) -> World:
    checker.truth(node.operand, place)
    return PUBLIC


def _boolean(checker: Checker, node: nodes.BooleanOperation, place: Place) -> World:
    for operand in node.operands:
        checker.truth(operand, place)
    return PUBLIC


def _conditional(checker: Checker, node: nodes.Conditional, place: Place) -> World:
    checker.truth(node.condition, place)
    return checker.value(node.then, place).join(checker.value(node.otherwise, place))


def _name(checker: Checker, node: nodes.Name, place: Place) -> World:
    name = node.name
    if name in place.names:
        world = place.names[name]
        for each in sorted(world.functions):
            held = checker.lambdas[int(each[2:])].held if each.startswith("l ") else ""
            if held:
                checker.report("J209 function", node.span, name=name, held=held)
    elif name in checker.globals:
        world = checker.globals[name]
    elif name == EPSILON:
        world = PUBLIC
    elif name in BUILTINS and not place.in_query:
        world = function(f"b {name}")
    else:
        world = PUBLIC
    return world


def _comprehension(checker: Checker, node: nodes.Comprehension, place: Place) -> World:
    inner = evolve(place, names=dict(place.names))
    for clause in node.clauses:
        store(checker, clause.target, checker.items(clause.iterable, inner), inner)
        for condition in clause.conditions:
            checker.truth(condition, inner)
    if isinstance(node, nodes.DictComprehension):
        checker.key(node.entry.key, inner)
        return mapping([checker.value(node.entry.value, inner)])
    if isinstance(node, nodes.SetComprehension):
        return container([checker.key(node.element, inner)])
    return container([checker.value(node.element, inner)])


CARRIED = "a function can be passed anywhere, and would take the private value along"


def _lambda(checker: Checker, node: nodes.Lambda | nodes.FunctionDefinition, place: Place) -> World:
    for parameter in node.parameters:
        checker.public(parameter.default, place, "J212")
    own, held = {each.name for each in node.parameters}, ""
    body = (node.body,) if isinstance(node, nodes.Lambda) else node.body
    if isinstance(node, nodes.FunctionDefinition):
        own |= {name for name, _, _ in defined_in(node.body)} | {node.name}
    for name in (each for part in body for each in nodes.walk(part) if isinstance(each, nodes.Name)):
        world = place.names.get(name.name, PUBLIC) if name.name not in own else PUBLIC
        kept = any(each.startswith("l ") and checker.lambdas[int(each[2:])].held for each in world.functions)
        if not (world.holds_private or kept) or name.name in checker.globals:
            continue
        held = held or name.name
        if isinstance(node, nodes.Lambda):
            checker.report(
                "J209 lambda",
                name.span,
                name=name.name,
                what=world.word if world.is_private else "which has private values",
            )
    number = next((key for key, each in checker.lambdas.items() if each.node is node), len(checker.lambdas))
    known = checker.lambdas.get(number)
    own_name = {node.name: function(f"l {number}")} if isinstance(node, nodes.FunctionDefinition) else {}
    around = merged([place.names] if known is None else [known.around, place.names]) | own_name
    held = held or ("" if known is None else known.held)
    if known is not None and (around, held) != (known.around, known.held):
        # It was called before with less known of what it holds.
        checker.grown = True
    checker.lambdas[number] = LambdaWorld(node, around, "" if isinstance(node, nodes.Lambda) else held)
    return function(f"l {number}")


RULES = GuardRules(
    {
        nodes.Name: _name,
        nodes.Number: lambda *_: PUBLIC,
        nodes.Percent: lambda *_: PUBLIC,
        nodes.Constant: lambda *_: PUBLIC,
        nodes.String: lambda *_: text(),
        nodes.Formatted: _formatted,
        nodes.Tuple: _listed,
        nodes.List: _listed,
        nodes.Set: _set,
        nodes.Dict: _dictionary,
        nodes.ListComprehension: _comprehension,
        nodes.SetComprehension: _comprehension,
        nodes.DictComprehension: _comprehension,
        nodes.BinaryOperation: binary,
        nodes.UnaryOperation: unary,
        nodes.Comparison: _comparison,
        nodes.Not: _not,
        nodes.BooleanOperation: _boolean,
        nodes.Conditional: _conditional,
        nodes.Lambda: _lambda,
        nodes.FunctionDefinition: _lambda,
        nodes.Index: index,
        nodes.Attribute: attribute,
        nodes.Part: part,
        nodes.Call: call,
        nodes.Noised: noised,
        nodes.Select: select,
        nodes.Over: over,
        nodes.MakeChoiceMaker: make_choice_maker,
        nodes.Choose: choose,
    },
    call_with,
)


def checked_worlds(module: nodes.Module) -> Checker:
    """The checker that went through everything in a program that may run."""
    checker = Checker(module, RULES)

    def go() -> None:
        checker.check_top()
        for root in entered(module):
            checker.check_root(root.definition, root.tables, root.mode)
        for each in checker.functions.values():
            if each.name not in checker.reached:
                checker.check_root(each, table_parameters(module, each), "plain", may_return=True)

    checker.settle(go)
    return checker


def check_entry(module: nodes.Module, entry: str, tables: Sequence[int] = (0,)) -> tuple[Diagnostic, ...]:
    """The mistakes if this function is given databases in these places, and public values besides."""
    checker = Checker(module, RULES)

    def go() -> None:
        checker.check_top()
        definition = checker.functions.get(entry)
        if definition is not None:
            checker.check_root(definition, tables, "plain")

    checker.settle(go)
    return tuple(sorted(checker.found.values(), key=lambda each: each.span))
