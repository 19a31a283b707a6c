"""What is known of each kind of expression: the rule for it, and the rules of those that hold others."""

from __future__ import annotations

from attrs import evolve

from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.world import PUBLIC, World, container, function, mapping, text
from jostle.lang.world_calls import call
from jostle.lang.world_checker import Checker, LambdaWorld, Place
from jostle.lang.world_operations import attribute, binary, index, part, unary
from jostle.lang.world_purchases import noised
from jostle.lang.world_queries import choose, make_choice_maker, over, select
from jostle.lang.world_statements import merged, store

__all__ = ["value_of"]


def value_of(checker: Checker, node: nodes.ExpressionNode, place: Place) -> World:  # noqa: C901, PLR0911, PLR0912 - one per kind
    """The facts known of an expression's value; report what is wrong in it."""
    match node:
        case nodes.Name():
            return _name(checker, node, place)
        case nodes.String():
            return text()
        case nodes.Number() | nodes.Percent() | nodes.Constant():
            return PUBLIC
        case nodes.Tuple() | nodes.List():
            return container([checker.value(item, place) for item in node.items], fixed=True)
        case nodes.Set():
            return container([checker.key(item, place) for item in node.items])
        case nodes.Dict():
            for entry in node.entries:
                checker.key(entry.key, place)
            return mapping([checker.value(entry.value, place) for entry in node.entries])
        case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
            return _comprehension(checker, node, place)
        case nodes.BinaryOperation():
            return binary(checker, node, place)
        case nodes.UnaryOperation():
            return unary(checker, node, place)
        case nodes.Comparison():
            for each in (node.left, *node.rights):
                world = checker.value(each, place)
                if world.is_private or (world.holds_private and len(node.operators) > 0):
                    checker.decides(each, world, place)
            return PUBLIC
        case nodes.Not():
            checker.truth(node.operand, place)
            return PUBLIC
        case nodes.BooleanOperation():
            for operand in node.operands:
                checker.truth(operand, place)
            return PUBLIC
        case nodes.Conditional():
            checker.truth(node.condition, place)
            return checker.value(node.then, place).join(checker.value(node.otherwise, place))
        case nodes.Lambda():
            return _lambda(checker, node, place)
        case nodes.Index():
            return index(checker, node, place)
        case nodes.Attribute():
            return attribute(checker, node, place)
        case nodes.Part():
            return part(checker, node, place)
        case nodes.Call():
            return call(checker, node, place)
        case nodes.Noised():
            return noised(checker, node, place)
        case nodes.Select():
            return select(checker, node, place)
        case nodes.Over():
            return over(checker, node, place)
        case nodes.MakeChoiceMaker():
            return make_choice_maker(checker, node, place)
        case nodes.Choose():
            return choose(checker, node, place)
        case _:
            return PUBLIC


def _name(checker: Checker, node: nodes.Name, place: Place) -> World:
    name = node.name
    if name in place.names:
        world = place.names[name]
    elif name in checker.globals:
        world = checker.globals[name]
    elif name == EPSILON:
        world = PUBLIC
    elif name in BUILTINS and not place.in_query:
        world = function(f"b {name}")
    else:
        world = PUBLIC
    return world


def _comprehension(
    checker: Checker, node: nodes.ListComprehension | nodes.SetComprehension | nodes.DictComprehension, place: Place
) -> World:
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


def _lambda(checker: Checker, node: nodes.Lambda, place: Place) -> World:
    for parameter in node.parameters:
        checker.public(
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
        if world.holds_private and name.name not in checker.globals:
            checker.report(
                "J209",
                f"a lambda holds `{name.name}`, {world.word if world.is_private else 'which has private values'}",
                name.span,
                "a function can be passed anywhere, and would take the private value along",
                f"give it as a parameter, or write def at the top of the program with a parameter {name.name}",
            )
    number = next((key for key, each in checker.lambdas.items() if each.node is node), len(checker.lambdas))
    known = checker.lambdas.get(number)
    around = merged([place.names] if known is None else [known.around, place.names])
    if known is not None and around != known.around:
        # It was called before with less known of what it holds.
        checker.grown = True
    checker.lambdas[number] = LambdaWorld(node, around)
    return function(f"l {number}")
