"""Calls of a program's functions, of those that every program knows, and of Options, made into functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.compiling import Compiler
from jostle.lang.compiling_collections import VALUES
from jostle.lang.arithmetic import kind_of
from jostle.lang.asking import called
from jostle.lang.builtins import BUILTINS, KEEPING, Builtin
from jostle.lang.compiling_collections import LambdaValue
from jostle.lang.frames import Frame, Function, Go, Scope, text_of
from jostle.lang.operations import BUYING, PLAIN, operated
from jostle.lang.stops import MISTAKES, Stop
from jostle.lang.values import TableValue
from jostle.options.base import Option


__all__ = ["KINDS", "apply"]

NONE_NAMED: Mapping[str, Any] = MappingProxyType({})


def call(compiler: Compiler, node: nodes.Call, scope: Scope) -> Go:
    """A step that calls a function."""
    function, span = node.function, node.span
    known = function.name if isinstance(function, nodes.Name) else ""
    if known in BUILTINS and known not in scope.slots and known not in compiler.own:
        return _builtin(compiler, node, BUILTINS[known], scope)
    named = {keyword.name: compiler.expression(keyword.value, scope) for keyword in node.keywords}
    given = [compiler.expression(argument, scope) for argument in node.arguments]
    site = scope.site(node, text_of(function))
    value = compiler.expression(function, scope)
    if named:

        def run(frame: Frame) -> Any:
            found = value(frame)
            listed = [each(frame) for each in given]
            return apply(frame, site, found, listed, {name: each(frame) for name, each in named.items()})

        return compiler.guarded(run, span)

    def run_plainly(frame: Frame) -> Any:
        try:
            found = value(frame)
            if type(found) is Function:
                return found.called(frame, [each(frame) for each in given], NONE_NAMED)
            return apply(frame, site, found, [each(frame) for each in given], {})
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run_plainly


def apply(frame: Frame, site: str, function: Any, given: list[Any], named: Mapping[str, Any]) -> Any:
    """The value of a function, an Option or a choice maker."""
    if isinstance(function, Function):
        return function.called(frame, given, named)
    if isinstance(function, LambdaValue):
        return function(frame, given, named)
    if isinstance(function, Builtin):
        for each in (*given, *named.values()):
            if isinstance(each, TableValue):  # it may be kept, and found again
                each.remembers = True
        return operated(frame, site, function.name, given, named)
    if isinstance(function, Option):
        found = called(frame, function, given, named)
        return found if isinstance(found, Option) else frame.program.bought(site, found)
    raise Stop("J501", f"{kind_of(function)} is called", "functions and Options are called", "name a function")


# Functions that every program knows


def _builtin(compiler: Compiler, node: nodes.Call, builtin: Builtin, scope: Scope) -> Go:
    """A step that calls a known function: its values are put in order here, once."""
    name, span = builtin.name, node.span
    plain = [each for each in builtin.parameters if not each.startswith("*")]
    given = compiler.expression if name in KEEPING else compiler.operand
    ordered: list[Go | None] = [given(argument, scope) for argument in node.arguments]
    named = {keyword.name: given(keyword.value, scope) for keyword in node.keywords}
    for place, parameter in enumerate(plain):
        if parameter in named:
            ordered.extend([None] * (place + 1 - len(ordered)))
            ordered[place] = named[parameter]
    parts = [each for each in ordered if each is not None]
    if len(parts) < len(ordered):
        site = scope.site(node, name)
        filled = [(plain[place], part) for place, part in enumerate(ordered) if part is not None]
        return compiler.guarded(
            lambda frame: operated(frame, site, name, [], {each: part(frame) for each, part in filled}), span
        )
    if name in BUYING:
        return _bought(compiler, BUYING[name], scope.site(node, name), parts, span)
    variables = [slot for argument in node.arguments if (slot := scope.slot(argument)) is not None]
    if len(variables) == len(parts) > 1 and name not in KEEPING:
        return _of_variables(compiler, PLAIN[name], variables, parts, span)
    return _of_values(compiler, PLAIN[name], parts, span)


def _bought(compiler: Compiler, operation: Callable[..., Any], site: str, parts: Sequence[Go], span: Span) -> Go:
    """A step that calls a function that has to know who calls it, and where from."""
    if len(parts) == 2:
        first, second = parts

        def of_two(frame: Frame) -> Any:
            try:
                return operation(frame, site, first(frame), second(frame))
            except MISTAKES as mistake:
                raise compiler.placed(mistake, span) from None

        return of_two

    def run(frame: Frame) -> Any:
        try:
            return operation(frame, site, *[part(frame) for part in parts])
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


def _of_values(compiler: Compiler, operation: Callable[..., Any], parts: Sequence[Go], span: Span) -> Go:
    """A step that calls a function of values alone."""
    if len(parts) == 1:
        only = parts[0]

        def of_one(frame: Frame) -> Any:
            try:
                return operation(only(frame))
            except MISTAKES as mistake:
                raise compiler.placed(mistake, span) from None

        return of_one

    def run(frame: Frame) -> Any:
        try:
            return operation(*[part(frame) for part in parts])
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


def _of_variables(
    compiler: Compiler, operation: Callable[..., Any], variables: Sequence[str], parts: Sequence[Go], span: Span
) -> Go:
    """A step that calls a function of several variables, whose values are fetched together."""
    fetched = itemgetter(*variables)

    def run(frame: Frame) -> Any:
        try:
            given = fetched(frame.names)
        except KeyError:
            given = tuple([part(frame) for part in parts])  # which of them has no value, this says
        try:
            return operation(*given)
        except MISTAKES as mistake:
            raise compiler.placed(mistake, span) from None

    return run


KINDS: dict[type[nodes.Node], Callable[..., Go]] = {
    **VALUES,
    nodes.Attribute: attribute,
    nodes.Part: part,
    nodes.Select: select,
    nodes.Noised: noised,
    nodes.Call: call,
    nodes.MakeChoiceMaker: make_choice_maker,
    nodes.Choose: choose,
    nodes.Over: over,
}
"""What makes a step of each kind of expression."""
