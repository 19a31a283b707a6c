"""The text of a function and of all that it uses from its own file, so that it can be told whether it has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any

from jostle.tasks.texts import text_of

__all__ = ["text_mark"]

PLAIN = (bool, int, float, str, bytes, Fraction, type(None))


def text_mark(function: Callable[..., Any]) -> str:
    """A mark that changes with the text of a function, of the functions it uses, and with plain values there.

    Looked at is what is defined in the same file: names are followed through functions, and through what wraps one and
    has it as `function`, as Options do.
    """
    digest = hashlib.blake2b(digest_size=10)
    for part in sorted(set(_parts(function))):
        digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _parts(function: Callable[..., Any]) -> Iterator[str]:
    waiting: list[Any] = [function]
    seen: set[int] = set()
    home = getattr(function, "__globals__", None)
    while waiting:
        each = waiting.pop()
        each = getattr(each, "function", each)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if not isinstance(each, FunctionType) or each.__globals__ is not home:
            continue
        yield text_of(each)
        for name in _names(each.__code__):
            if name not in each.__globals__:
                continue
            value = each.__globals__[name]
            if shown := _shown(value):
                yield f"{name} = {shown}"
            else:
                waiting.append(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _shown(value: Any) -> str:
    """A plain value as text; nothing where it is none."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, tuple | list | frozenset | set):
        parts = [_shown(each) for each in value]
        ordered = parts if isinstance(value, tuple | list) else sorted(parts)
        return f"[{', '.join(ordered)}]" if all(parts) else ""
    if isinstance(value, dict):
        pairs = [(_shown(key), _shown(each)) for key, each in value.items()]
        return f"{{{', '.join(f'{key}: {each}' for key, each in pairs)}}}" if all(map(all, pairs)) else ""
    return ""
