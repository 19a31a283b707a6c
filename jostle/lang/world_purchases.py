"""Purchases: what may be bought and what not, and what a call that buys is given."""

from __future__ import annotations

from attrs import evolve

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.world import NOTHING, PUBLIC, World, mapping
from jostle.lang.world_checker import Checker, Place

__all__ = ["bound", "budget", "buys", "noised", "nothing_private", "predict_looks", "written"]


def buys(checker: Checker, span: Span, place: Place, what: str) -> None:
    """Report a purchase where nothing can be bought."""
    if place.in_query:
        checker.report(
            "J210",
            "a query buys something",
            span,
            "its conditions and groups are worked out for every value of a column, and would buy each time",
            "buy it before the query: n = {{ len(db) }}",
            label="",
        )
    if place.mode == "predict":
        predict_looks(checker, span)
    elif place.mode == "metafeature":
        checker.report(
            "J223",
            f"a metafeature calls {what}",
            span,
            "what a metafeature buys is paid from the choice maker's share, so it buys with {{ ... }} alone",
            "{{ len(db) }}",
            label="",
        )


def predict_looks(checker: Checker, span: Span) -> None:
    """Report a prediction that looks at data."""
    checker.report(
        "J218",
        "`predict` looks at data",
        span,
        "a prediction is made before anything runs, from metafeatures that were bought already",
        "write a metafeature, and look at F.name",
        label="",
    )


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
        checker.report(
            "J219",
            f"{world.word} is bought",
            node.value,
            "{{ ... }} gives a number with noise",
            "{{ len(db) }}" if "table" in world.kinds else "noisyMax(domain, utilities, epsilon)",
        )
        return PUBLIC
    if not world.is_private and world != NOTHING:
        if world.holds_private:
            checker.report(
                "J219", "a list is bought", node.value, "{{ ... }} gives one number", "[{{ x }} for x in xs]"
            )
        else:
            nothing_private(checker, "{{ ... }}", node.value)
    return mapping([PUBLIC]) if "groups" in world.kinds else PUBLIC


def nothing_private(checker: Checker, name: str, span: nodes.ExpressionNode) -> None:
    """Report a purchase of what is public."""
    checker.report(
        "J213",
        f"`{name}` of a public value",
        span,
        "noise is for private values; on a public one it would only spoil it",
        "use the value as it is" if name != "noisyMax" else "argmax(...)",
        label="public",
    )


def budget(checker: Checker, world: World, written: nodes.ExpressionNode) -> None:
    """Report a private value that is a budget."""
    if world.holds_private:
        checker.report(
            "J221",
            "a private value is a budget",
            written,
            "how much noise there is would show it",
            "give a public amount: epsilon / 2",
        )


def bound(name: str, given: list[World], named: dict[str, World]) -> list[World]:
    """The values of a builtin function in the order of its parameters."""
    plain = [each for each in BUILTINS[name].parameters if not each.startswith("*")]
    found = list(given)
    for place, parameter in enumerate(plain):
        if parameter in named:
            found.extend([NOTHING] * (place + 1 - len(found)))
            found[place] = named[parameter]
    return found


def written(node: nodes.Call, name: str, place: int) -> nodes.ExpressionNode:
    """The expression in place of one of a builtin function's parameters."""
    if place < len(node.arguments):
        return node.arguments[place]
    parameter = BUILTINS[name].parameters[min(place, len(BUILTINS[name].parameters) - 1)]
    return next((keyword.value for keyword in node.keywords if keyword.name == parameter), node)
