"""The text of a function, or what stands for it where there is none: a function that has changed is told by it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

__all__ = ["text_of"]


def text_of(function: Callable[..., Any]) -> str:
    """The source of a function; of one that stands in no file, what its code does: the same in every process."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return _of_code(getattr(function, "__code__", None))


def _of_code(code: CodeType | None) -> str:
    if code is None:
        return ""
    constants = ", ".join(map(_of_constant, code.co_consts))
    return f"{code.co_code!r} ({constants}) {code.co_names!r} {code.co_varnames!r}"


def _of_constant(constant: object) -> str:
    """A constant as text, without what is another in each process: addresses of code, the order of sets."""
    if isinstance(constant, CodeType):
        return _of_code(constant)
    if isinstance(constant, tuple):
        return f"({', '.join(map(_of_constant, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_of_constant, constant)))}}}"
    return repr(constant)
