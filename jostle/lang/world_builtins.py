"""What becomes of private values in the functions that every program knows: a rule for each."""

from __future__ import annotations

from collections.abc import Callable

from jostle.lang import nodes
from jostle.lang.world import NOTHING, PUBLIC, World, container, joined, private
from jostle.lang.world_checker import BUY_EACH, BUY_FIRST, Checker, Place
from jostle.lang.world_purchases import budget, buys, nothing_private, predict_looks, written

__all__ = ["RULES", "passed_on"]

PLAIN = {"sqrt", "log", "exp", "floor", "ceil", "round", "size"}
AGGREGATES = {"max", "min", "mean", "sum", "stddev"}
SCORES = {"gini", "infoGain", "random"}

Rule = Callable[[Checker, str, nodes.Call, list[World], Place], World]


def _must_be_public(code: str, title: str, why: str, fix: str = BUY_FIRST) -> Rule:
    def rule(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
        wrong = [(number, world) for number, world in enumerate(given) if world.holds_private]
        for number, world in wrong:
            what = world.word if world.is_private else "a list of private values"
            way_out = fix if world.is_private or "{{" not in fix else BUY_EACH
            checker.report(code, title.format(name=name, what=what), written(node, name, number), why, way_out)
        # Nothing is said about what is computed from a mistake.
        return NOTHING if wrong else PUBLIC

    return rule


def _aggregate(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    worlds = [world for world in given if world != NOTHING]
    if not any(world.holds_private for world in worlds):
        return PUBLIC
    if place.in_query:
        checker.in_query(node)
        return PUBLIC
    kinds = joined(worlds).kinds | joined(world.each() for world in worlds if world.inside is not None).kinds
    if kinds & {"table", "score"}:
        checker.report(
            "J219", f"`{name}` of {joined(worlds).word}", node, "it takes numbers", "len(D) is how many rows D has"
        )
    return private("number")


def _abs(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    world = given[0] if given else PUBLIC
    return _aggregate(checker, name, node, given, place) if world.kinds & {"table", "score"} else World(world.kinds)


def _len(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    world = given[0] if given else PUBLIC
    if "table" in world.kinds:
        return private("number")
    if world.kinds & {"number", "score"}:
        checker.report("J219", f"`len` of {world.word}", node, "a number has no length", "len(db)")
    return PUBLIC


def passed_on(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    """The facts known of a list of the items that are given."""
    for number, world in enumerate(given):
        if world.is_private:
            culprit = written(node, name, number)
            checker.report(
                "J205", f"`{name}` of {world.word}", culprit, "its items would show it without noise", BUY_FIRST
            )
    if name == "zip":
        return container([container([world.each() for world in given], fixed=True)])
    return container([joined(world.each() for world in given)])


def _noisy_count(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    buys(checker, node.span, place, f"`{name}`")
    if place.mode == "predict":
        return PUBLIC
    world = given[0] if given else NOTHING
    if len(given) > 1:
        budget(checker, given[1], written(node, name, 1))
    if world != NOTHING and not world.is_private:
        nothing_private(checker, name, written(node, name, 0))
    elif world.kinds & {"score", "groups"}:
        checker.report(
            "J219",
            f"`{name}` of {world.word if 'score' in world.kinds else 'several groups'}",
            written(node, name, 0),
            "it gives one number of rows",
            "noisyCount(D, epsilon / 2)",
        )
    return PUBLIC


def _noisy_max(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    buys(checker, node.span, place, f"`{name}`")
    if place.mode == "predict":
        return PUBLIC
    domain, utilities = (*given, NOTHING, NOTHING)[:2]
    if len(given) > 2:
        budget(checker, given[2], written(node, name, 2))
    if domain.holds_private:
        checker.report(
            "J220",
            "`noisyMax` picks among private values",
            written(node, name, 0),
            "what is picked is shown as it is, so candidates are public",
            "noisyMax(domain=atts, utilities=U, epsilon=e)",
        )
    if utilities.is_private:
        checker.report(
            "J219",
            f"the utilities are {utilities.word}, not a list",
            written(node, name, 1),
            "there is one for each candidate",
            "U = [maxScore(a, clss, D) for a in atts]",
        )
    elif utilities.inside is not None and not utilities.inside.is_private:
        nothing_private(checker, "noisyMax", written(node, name, 1))
    elif utilities.inside is not None and utilities.inside.kinds & {"table", "groups"}:
        checker.report(
            "J219",
            "a utility is no single number",
            written(node, name, 1),
            "candidates are compared by one number each",
            "[len(D[a = v]) for v in a]",
        )
    return NOTHING if domain.holds_private else domain.each()


def _score(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    if place.mode == "predict":
        predict_looks(checker, node.span)
    for number, world in enumerate(given[:2]):
        if world.holds_private:
            checker.report(
                "J206",
                "a private value says which column",
                written(node, name, number),
                "which column is looked at shows it without noise",
                BUY_FIRST,
            )
    return private("score") if name in SCORES else private("number")


def _tree(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    return container([World(world.kinds) if world.inside is None else world for world in given if world != NOTHING])


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        PLAIN,
        _must_be_public("J217", "`{name}` of {what}", "how far one row can change the result has no small bound"),
    ),
    **dict.fromkeys(AGGREGATES, _aggregate),
    "abs": _abs,
    "all": _must_be_public("J202", "`{name}` of {what}", "what follows from it would show it without noise"),
    "any": _must_be_public("J202", "`{name}` of {what}", "what follows from it would show it without noise"),
    "argmax": _must_be_public(
        "J216", "`{name}` of private values", "one row can change which it is", "noisyMax(domain, utilities, epsilon)"
    ),
    "argmin": _must_be_public(
        "J216", "`{name}` of private values", "one row can change which it is", "noisyMax(domain, utilities, epsilon)"
    ),
    "sorted": _must_be_public("J216", "`{name}` of private values", "their order shows them without noise"),
    "len": _len,
    "list": passed_on,
    "zip": passed_on,
    "range": _must_be_public(
        "J205", "a private number of rounds", "how often a loop runs shows in the output", "buy it first: {{ ... }}"
    ),
    "print": _must_be_public("J204", "{what} is printed", "it would be seen without noise", "print({{ ... }})"),
    "fail": _must_be_public("J207", "{what} in a message", "whoever reads it sees it without noise"),
    "noisyCount": _noisy_count,
    "noisyMax": _noisy_max,
    "expMech": _noisy_max,
    **dict.fromkeys(("maxScore", *SCORES), _score),
    "Leaf": _tree,
    "Node": _tree,
    "C45_Prune": _must_be_public("J217", "a tree with private values is pruned", "pruning compares them"),
    "rehearse": _must_be_public(
        "J211",
        "{what} goes into a rehearsal",
        "rehearsals are on public databases, and show everything",
        "use public ones",
    ),
    "public": _must_be_public("J211", "a private value is a file name", "which file is opened shows it"),
}
