"""What becomes of private values in operations: sums and products, items, facts and parts of databases."""

from __future__ import annotations

from attrs import evolve

from jostle.lang import nodes
from jostle.lang.nodes import show_expression
from jostle.lang.world import NOTHING, PUBLIC, World, container, private
from jostle.lang.world_checker import BUY_FIRST, Checker, Place
from jostle.lang.world_purchases import predict_looks

__all__ = ["attribute", "binary", "index", "part", "unary"]


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
            checker.report(
                "J207",
                "a private value in a text",
                node.left if left.is_private else node.right,
                "whoever reads the text sees it without noise",
                BUY_FIRST,
            )
            return PUBLIC
        if "table" in world.kinds:
            checker.report(
                "J219",
                "a database is computed with",
                side,
                "a database is not a number",
                f"len({show_expression(side)}) is how many rows it has",
                label="a database",
            )
            return NOTHING
    both = left.is_private and right.is_private
    why = None
    if "score" in left.kinds | right.kinds:
        why = "a score is to be picked by, and nothing else"
        fix = "noisyMax(domain, utilities, epsilon)"
    elif node.operator == "*" and both:
        why = "a row changes the product by as much as the other value, which is private and has no small bound"
        fix = "buy both, and multiply what comes out"
    elif node.operator == "/" and right.is_private:
        why = "where the divisor is small, one row can change the quotient without bound"
        fix = "buy both, and divide what comes out"
    elif node.operator in {"//", "%", "**", "|", "&"}:
        why = "how far one row can change the result has no small bound"
        fix = BUY_FIRST
    if why is not None:
        culprit = node if both else node.left if left.is_private else node.right
        checker.report("J214", f"`{node.operator}` on a private value", culprit, why, fix)
        return private("number")
    return World(frozenset({"groups" if "groups" in left.kinds | right.kinds else "number"}))


def unary(checker: Checker, node: nodes.UnaryOperation, place: Place) -> World:
    """The facts known of a value with a sign."""
    world = checker.value(node.operand, place)
    if world.kinds & {"table", "score"}:
        checker.report("J219", f"{world.word} is computed with", node, "it is not a number", BUY_FIRST, label="")
        return PUBLIC
    if place.in_query and world.is_private:
        checker.in_query(node.operand)
    return World(world.kinds)


def index(checker: Checker, node: nodes.Index, place: Place) -> World:
    """The facts known of an item."""
    world, at = checker.value(node.value, place), checker.value(node.index, place)
    if at.holds_private:
        checker.report(
            "J206", "a private value is an index", node.index, "which item it is shows it without noise", BUY_FIRST
        )
    if "table" in world.kinds and _is_test(node.index):
        return private("table")  # meant as a part, and reported as such
    if world.kinds & {"table", "number", "score"}:
        checker.report(
            "J206",
            f"an item of {world.word}",
            node.value,
            "rows and private values are not looked into",
            "ask for a part, D[region = v], or buy a number: {{ ... }}",
        )
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
        checker.report("J219", "a part of a private value", node, "it has no parts with names", BUY_FIRST)
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
            checker.report(
                "J206",
                "a private value says which part",
                condition.value,
                "which rows are looked at next shows it without noise",
                BUY_FIRST,
            )
    if "table" not in world.kinds and world.is_private:
        checker.report("J219", "a part of a private value", node.table, "a database has parts", "D[region = v]")
    if place.in_query and world.is_private:
        checker.in_query(node)
    return private("table")
