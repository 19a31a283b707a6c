"""Calls of functions and Options whose parameters are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.builtins import EPSILON, Builtin
from jostle.lang.library import LibraryOption, library_options
from jostle.lang.nodes import show_expression
from jostle.lang.scopes import Definition
from jostle.lang.stops import Stop

__all__ = ["Callable", "Signature", "callable_of", "check_call", "gives_parameters", "signature_of"]

Callable = nodes.FunctionDefinition | nodes.Lambda | Builtin | LibraryOption
"""What is called."""
NO_LITERAL = object()
"""What an expression is that is not a plain value as written."""


@frozen
class Signature:
    """What something is called with."""

    name: str
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    most: int | None
    extra: frozenset[str]
    head: str
    place: Span | None

    def renamed(self, name: str) -> Signature:
        """The same for something that goes by another name."""
        return evolve(self, name=name, head=f"{name}{self.head[len(self.name) :]}")


def signature_of(function: Callable) -> Signature:
    """The parameters that something is called with."""
    match function:
        case Builtin():
            plain = tuple(name for name in function.parameters if not name.startswith("*"))
            required = plain[: function.least]
            return Signature(function.name, plain, required, function.most, frozenset(), function.head, None)
        case LibraryOption():
            asked = function.asked
            return Signature(function.name, asked, asked[:1], len(asked), frozenset({EPSILON}), function.head, None)
    names = tuple(parameter.name for parameter in function.parameters)
    needed = tuple(parameter.name for parameter in function.parameters if parameter.default is None)
    shown = ", ".join(each.name if each.default is None else f"{each.name}=..." for each in function.parameters)
    if isinstance(function, nodes.Lambda):
        return Signature("lambda", names, needed, len(names), frozenset(), f"lambda {shown}", function.span)
    extra = frozenset({EPSILON}) if function.is_option else frozenset()
    return Signature(function.name, names, needed, len(names), extra, f"{function.name}({shown})", function.name_span)


def callable_of(name: str, definition: Definition) -> nodes.FunctionDefinition | LibraryOption | None:
    """The function or the Option that a name at the top of a program is called as; None for anything else."""
    match definition:
        case nodes.FunctionDefinition():
            return definition
        case nodes.ClassDefinition():
            answer = definition.method("answer")
            return None if answer is None else evolve(answer, name=name, marks=("Option",))
        case nodes.Import():
            return library_options().get(name) if definition.module != "public" else None
        case _:
            return None


def check_call(call: nodes.Call, function: Callable, name: str = "") -> Iterator[Diagnostic]:
    """Report values that something does not take, or takes and does not get; it goes by *name* if that is given."""
    if isinstance(function, LibraryOption) and gives_parameters(call, function):
        yield from _parameters_again(call, function, name) if name else _check_parameters(call, function)
        return
    signature = signature_of(function)
    if name:
        signature = signature.renamed(name)
    why = f"it is {signature.head}"
    others = (Label(signature.place, "defined here"),) if signature.place else ()
    given = signature.parameters[: len(call.arguments)]
    if signature.most is not None and len(call.arguments) > signature.most:
        surplus = call.arguments[signature.most]
        title = f"`{signature.name}` takes {_count(signature.most)}, not {len(call.arguments)}"
        fix = "take it out"
        if isinstance(function, LibraryOption) and function.parameters and not name:
            fix = f"take it out; parameters go by name: {function.example}({', '.join(function.asked)})"
        yield Diagnostic("J105", title, surplus.span, why, fix, others=others)
    for keyword in {each.name: each for each in call.keywords}.values():
        if keyword.name in given:
            title = f"`{signature.name}` gets `{keyword.name}` twice"
            fix = "give it by name or by place, not both"
            yield Diagnostic("J105", title, keyword.name_span, why, fix, others=others)
        elif keyword.name not in signature.parameters and keyword.name not in signature.extra:
            yield _not_taken(call, keyword, function, signature)
    named = {keyword.name for keyword in call.keywords}
    missing = [each for each in signature.required if each not in given and each not in named]
    if missing:
        title = f"`{signature.name}` lacks {' and '.join(f'`{each}`' for each in missing)}"
        fix = f"add {', '.join(missing)}"
        if isinstance(function, LibraryOption) and not call.arguments and not call.keywords:
            fix = f"write {signature.head}, or {signature.name} alone for the Option itself"
        yield Diagnostic("J105", title, call.function.span, why, fix, others=others)


def _not_taken(call: nodes.Call, keyword: nodes.Keyword, function: Callable, signature: Signature) -> Diagnostic:
    others = (Label(signature.place, "defined here"),) if signature.place else ()
    title = f"`{signature.name}` does not take `{keyword.name}`"
    why, fix = f"it is {signature.head}", "use one of its parameters"
    if isinstance(function, LibraryOption) and keyword.name in function.parameters:
        why = "parameters make an Option of their own, which is then called with the database"
        given = f"{function.name}({keyword.name}={show_expression(keyword.value)})"
        rest = [*map(show_expression, call.arguments), *(_written(each) for each in call.keywords if each != keyword)]
        fix = f"write {given}({', '.join(rest)})"
    return Diagnostic("J105", title, keyword.name_span, why, fix, others=others)


def _written(keyword: nodes.Keyword) -> str:
    return f"{keyword.name}={show_expression(keyword.value)}"


# Parameters of the library's Options


def gives_parameters(call: nodes.Call, option: LibraryOption) -> bool:
    """Whether a call of an Option gives it parameters, and asks nothing of a database."""
    return option.is_given_parameters(len(call.arguments), {keyword.name for keyword in call.keywords})


def _parameters_again(call: nodes.Call, option: LibraryOption, name: str) -> Iterator[Diagnostic]:
    """Report parameters for an Option that has been given some, or for a choice maker."""
    given = f"{option.name}({', '.join(map(_written, call.keywords))})"
    title, why = f"`{name}` is given parameters", "an Option of the library is given its parameters once, by its name"
    yield Diagnostic("J113", title, call.keywords[0].name_span, why, f"write {given}")


def _check_parameters(call: nodes.Call, option: LibraryOption) -> Iterator[Diagnostic]:
    for keyword in call.keywords:
        value = _literal(keyword.value)
        try:
            if keyword.name not in option.parameters:
                raise option.no_parameter(keyword.name)
            if value is not NO_LITERAL:
                option.parameter(keyword.name, value)
        except Stop as mistake:
            span = keyword.value.span if keyword.name in option.parameters else keyword.name_span
            yield Diagnostic(mistake.code, mistake.title, span, mistake.why, mistake.fix)


def _literal(node: nodes.ExpressionNode) -> Any:
    """The plain value that is written, or NO_LITERAL."""
    match node:
        case nodes.Number():
            return node.value
        case nodes.Percent():
            return node.share
        case nodes.String() | nodes.Constant():
            return node.value
        case nodes.UnaryOperation(operand=nodes.Number(value=value)):
            return -value if node.operator == "-" else value
        case _:
            return NO_LITERAL


def _count(number: int) -> str:
    return f"{number} value{'s' * (number != 1)}"
