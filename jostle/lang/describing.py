"""What an editor says of a word beside what it means: whether it is private, how far a row moves it, what it costs."""

from __future__ import annotations

from jostle.lang import nodes
from jostle.lang.price import prices
from jostle.lang.world import World
from jostle.lang.worlds import Checker

__all__ = ["describe"]

MOVED = {
    "count": "one row changes it by 1 at most, over all groups together",
    "sum": "one row changes it by what it adds at most: the bound of its column, over all groups together",
}
"""How far a row moves an aggregate, where that needs no schema."""


def describe(module: nodes.Module, node: nodes.Node) -> str | None:
    """Return what a checked program says of a word, or None; a program that cannot be read says nothing."""
    if any(isinstance(each, nodes.Broken) for each in module.body):
        return None
    match node:
        case nodes.FunctionDefinition():
            price = prices(module).get(node.name)
            return None if price is None else price.text
        case nodes.Select():
            return "private: " + MOVED.get(node.aggregate, "how far one row moves it is worked out from the schema")
        case nodes.Name():
            checker = Checker(module)
            checker.check_program()
            return _said(checker.worlds.get(node.span))
        case _:
            return None


def _said(world: World | None) -> str | None:
    if world is None or world.functions or not (world.kinds or world.inside):
        return None
    if world.is_private:
        return f"private: {world.word}"
    return "holds private values" if world.holds_private else "public, or released"
