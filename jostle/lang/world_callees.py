"""What is called where it has no name of its own: functions and Options in variables, and choice makers."""

from __future__ import annotations

from collections.abc import Iterator

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.calls import callable_of, check_call
from jostle.lang.library import DATABASE, LibraryOption
from jostle.lang.nodes import show_expression
from jostle.lang.scopes import defined_in
from jostle.lang.world import UNKNOWN, World
from jostle.lang.world_checker import Checker

__all__ = ["check_fits", "first_parameter"]


def check_fits(checker: Checker, node: nodes.Call, callee: World) -> None:
    """Report a call that nothing of what may be called there takes."""
    if not callee.functions or callee.functions & UNKNOWN:
        return
    found = [tuple(_misfits(checker, function, node)) for function in sorted(callee.functions)]
    if all(found):
        for each in found[0]:
            checker.found.setdefault((each.code, each.span), each)


def first_parameter(checker: Checker, name: str) -> str:
    """The name of the database that an Option is given."""
    known = _option(checker, name)
    own = known.parameters[:1] if isinstance(known, nodes.FunctionDefinition) else ()
    return own[0].name if own else DATABASE


def _option(checker: Checker, name: str) -> nodes.FunctionDefinition | LibraryOption | None:
    """The Option that a name at the top of the program stands for."""
    definitions = (each for defined, _, each in defined_in(checker.module.body) if defined == name)
    return next((callable_of(name, definition) for definition in definitions), None)


def _misfits(checker: Checker, name: str, node: nodes.Call) -> Iterator[Diagnostic]:
    """Yield what is wrong with a call of one of the things that are called."""
    kind, _, known = name.partition(" ")
    shown = show_expression(node.function)
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
    among = maker.among.items if isinstance(maker.among, nodes.Set | nodes.List | nodes.Tuple) else ()
    for each in among:
        named = each.function if isinstance(each, nodes.Call) else each
        if isinstance(named, nodes.Name):
            option = _option(checker, named.name)
            found = [] if option is None else list(check_call(node, option, shown))
            if found:
                yield from found
                return
