"""What becomes of private values in calls: of the program's functions, of Options, of what every program knows."""

from __future__ import annotations

from attrs import evolve

from jostle.lang import nodes
from jostle.lang.builtins import EPSILON
from jostle.lang.calls import gives_parameters
from jostle.lang.nodes import show_expression
from jostle.lang.world import PUBLIC, UNKNOWN, World, container, function, joined
from jostle.lang.world_builtins import RULES, passed_on
from jostle.lang.world_callees import check_fits, first_parameter
from jostle.lang.world_checker import BUY_FIRST, Checker, Place
from jostle.lang.world_purchases import bound, budget, buys

__all__ = ["call"]


def call(checker: Checker, node: nodes.Call, place: Place) -> World:
    """The facts known of what a call gives."""
    inner = evolve(place, in_query=False) if place.in_query else place
    plain = isinstance(node.function, nodes.Name) and node.function.name not in place.names
    callee = checker.value(node.function, inner) if plain else checker.value(node.function, place)
    given = [checker.value(argument, place) for argument in node.arguments]
    named = {keyword.name: checker.value(keyword.value, place) for keyword in node.keywords}
    if place.in_query:
        for world, written in [*zip(given, node.arguments, strict=True)]:
            if world.holds_private:
                checker.in_query(node if world.kinds == {"table"} else written)
                return PUBLIC
    check_fits(checker, node, callee)
    if not callee.functions:
        return _unknown(checker, node, callee, [*given, *named.values()])
    return joined(_one(checker, each, node, given, named, place) for each in sorted(callee.functions))


def _unknown(checker: Checker, node: nodes.Call, callee: World, given: list[World]) -> World:
    if callee.is_private:
        checker.report("J219", "a private value is called", node.function, "it is no function", BUY_FIRST)
        return PUBLIC
    if any(world.holds_private for world in given):
        checker.report(
            "J217",
            f"`{show_expression(node.function)}` is given a private value, and is not known to be a function",
            node.function,
            "what it does with it cannot be seen from here",
            "call a function of the program by its name",
            label="unknown",
        )
    return PUBLIC


def _one(  # noqa: PLR0917 - a clause each
    checker: Checker, name: str, node: nodes.Call, given: list[World], named: dict[str, World], place: Place
) -> World:
    if name in UNKNOWN:
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
        return _option(checker, node, called if kind == "o" else show_expression(node.function), given, named, place)
    rule = _map if called == "map" else RULES.get(called)
    return PUBLIC if rule is None else rule(checker, called, node, bound(called, given, named), place)


def _with_parameters(checker: Checker, node: nodes.Call, name: str, named: dict[str, World]) -> World:
    """The facts known of an Option with parameters."""
    for each in node.keywords:
        if named[each.name].holds_private:
            checker.report(
                "J220",
                f"a parameter of `{name}` is {named[each.name].word}",
                each.value,
                "parameters show in the trace, and in the name of the Option",
                BUY_FIRST,
            )
    return function(f"c {name}")


def _option(  # noqa: PLR0917 - a clause each
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
            checker.report(
                "J220",
                f"`{name}` is given {world.word}",
                written,
                "an Option is given a database first; what else it is asked is public",
                BUY_FIRST,
            )
    if EPSILON in named:
        budget(checker, named[EPSILON], next(keyword.value for keyword in node.keywords if keyword.name == EPSILON))
    if asked and asked[0][0].is_private and "table" not in asked[0][0].kinds:
        checker.report(
            "J219",
            f"`{name}` is given {asked[0][0].word} in place of a database",
            asked[0][1].span,
            "an Option answers from a database",
            f"{name}(db)",
        )
    return evolve(PUBLIC, inside=PUBLIC)


def _map(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    if len(given) < 2:
        return PUBLIC
    called, items = given[0], given[1]
    if items.is_private:
        passed_on(checker, name, node, [PUBLIC, items], place)
        items = PUBLIC
    if not called.functions:
        return container([_unknown(checker, node, called, [items.each()])])
    one = evolve(node, arguments=node.arguments[1:2] or (nodes.Name("x"),), keywords=())
    return container([_one(checker, each, one, [items.each()], {}, place) for each in sorted(called.functions)])
