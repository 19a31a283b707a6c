"""Calls of functions whose parameters are known."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.builtins import EPSILON, Builtin

__all__ = ["check_call"]


@frozen
class _Signature:
    name: str
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    most: int | None
    extra: frozenset[str]
    head: str
    place: Span | None


def check_call(call: nodes.Call, function: nodes.FunctionDefinition | Builtin) -> Iterator[Diagnostic]:
    """Report values that a function does not take, or takes and does not get."""
    signature = _signature(function)
    why = f"it is {signature.head}"
    others = (Label(signature.place, "defined here"),) if signature.place else ()
    given = signature.parameters[: len(call.arguments)]
    if signature.most is not None and len(call.arguments) > signature.most:
        surplus = call.arguments[signature.most]
        title = f"`{signature.name}` takes {_count(signature.most)}, not {len(call.arguments)}"
        yield Diagnostic("J105", title, surplus.span, why, "take it out", others=others)
    for keyword in {each.name: each for each in call.keywords}.values():
        if keyword.name in given:
            title = f"`{signature.name}` gets `{keyword.name}` twice"
            fix = "give it by name or by place, not both"
            yield Diagnostic("J105", title, keyword.name_span, why, fix, others=others)
        elif keyword.name not in signature.parameters and keyword.name not in signature.extra:
            title = f"`{signature.name}` does not take `{keyword.name}`"
            yield Diagnostic("J105", title, keyword.name_span, why, "use one of its parameters", others=others)
    named = {keyword.name for keyword in call.keywords}
    missing = [name for name in signature.required if name not in given and name not in named]
    if missing:
        title = f"`{signature.name}` lacks {' and '.join(f'`{name}`' for name in missing)}"
        yield Diagnostic("J105", title, call.function.span, why, f"add {', '.join(missing)}", others=others)


def _signature(function: nodes.FunctionDefinition | Builtin) -> _Signature:
    if isinstance(function, Builtin):
        plain = tuple(name for name in function.parameters if not name.startswith("*"))
        required = plain[: function.least]
        return _Signature(function.name, plain, required, function.most, frozenset(), function.head, None)
    names = tuple(each.name for each in function.parameters)
    needed = tuple(each.name for each in function.parameters if each.default is None)
    shown = ", ".join(each.name if each.default is None else f"{each.name}=..." for each in function.parameters)
    extra = frozenset({EPSILON}) if function.is_option else frozenset()
    head = f"{function.name}({shown})"
    return _Signature(function.name, names, needed, len(names), extra, head, function.name_span)


def _count(number: int) -> str:
    return f"{number} value{'s' * (number != 1)}"
