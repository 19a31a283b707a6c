"""What becomes of private values in statements: assignments, branches and loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from jostle.lang import nodes
from jostle.lang.scopes import target_names
from jostle.lang.world import PUBLIC, World
from jostle.lang.world_checker import NO_LOOKING, Checker, Place

__all__ = ["go_through", "merged", "store"]


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
        checker.report("J205", "a private value is taken apart", target.span, *NO_LOOKING)
    for number, name in enumerate(names):
        place.names[name] = known[number] if known is not None else world.each()


def merged(ways: Iterable[Mapping[str, World]]) -> dict[str, World]:
    """The facts known of variables after any of several ways."""
    found: dict[str, World] = {}
    for names in ways:
        for name, world in names.items():
            found[name] = found[name].join(world) if name in found else world
    return found
