"""What callers hand in: of the kind that is asked for, or refused in a sentence before anything is done with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from jostle.errors import CallError, JostleError, described, shown

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Made = TypeVar("Made")
PRICE = "what is asked, and at which price, is said beforehand"
"""Why answers are called for with an epsilon."""
IN_A_ROW = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def called_as(example: str, *, why: str | None = None) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Decorator: what is called without what it needs, or with what it does not take, is refused in a sentence.

    *example* is a call that is right, and *why* the rule behind what has to be given. Nothing is looked at unless the
    call fails as one that does not fit.
    """
    name = example.partition("(")[0]

    def decorate(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        @wraps(function)
        def call(*placed: Given.args, **named: Given.kwargs) -> Answer:
            try:
                return function(*placed, **named)
            except TypeError:
                if mistake := _misfit(name, function, placed, named, why):
                    title, rule = mistake
                    raise CallError(title, why=rule, fix=_made_with(function, placed, named) or example) from None
                raise

        return call

    return decorate


def made_as(example: str, *, why: str | None = None) -> Callable[[type[Made]], type[Made]]:
    """Decorator of a class: the same as `called_as`, of how it is made."""

    def decorate(made: type[Made]) -> type[Made]:
        made.__init__ = called_as(example, why=why)(made.__init__)  # type: ignore[method-assign]  # which it is for
        return made

    return decorate


def _misfit(
    name: str, function: Callable[..., object], placed: tuple[object, ...], named: Mapping[str, object], why: str | None
) -> tuple[str, str | None] | None:
    """What is wrong with a call, and the rule behind it; None where the call fits, and what was called has failed."""
    takes = signature(function).parameters
    try:
        signature(function).bind(*placed, **named)
    except TypeError:
        pass
    else:
        return None
    own = [each for each in takes if each != "self"]
    if unknown := [each for each in named if each not in takes]:
        return f"{name} does not take {shown(unknown[0])}", f"it takes {', '.join(own)}"
    in_a_row = [each for each, kind in takes.items() if kind.kind in IN_A_ROW]
    missing = [
        each
        for index, (each, kind) in enumerate(takes.items())
        if kind.default is kind.empty
        and kind.kind not in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}
        and each not in named
        and (each not in in_a_row or index >= len(placed))
    ]
    if len(placed) > len(in_a_row) and not any(kind.kind is Parameter.VAR_POSITIONAL for kind in takes.values()):
        by_name = [each for each, kind in takes.items() if kind.kind is Parameter.KEYWORD_ONLY]
        return f"{name} is given too many values", f"by name it takes {', '.join(by_name)}" if by_name else None
    if missing:
        return f"{name} is called without {' and '.join(missing)}", why
    return f"{name} is given something twice", f"it takes {', '.join(own)}"


def _made_with(function: Callable[..., object], placed: tuple[object, ...], named: Mapping[str, object]) -> str | None:
    """The name of an Option with the parameters that its call was given instead; None where there are none such."""
    kind = type(placed[0]) if placed else object
    strange = named.keys() - signature(function).parameters
    parameters = strange & {name.alias for name in getattr(kind, "__attrs_attrs__", ())}
    # Of any other value nothing is said: it may hold rows.
    given = ", ".join(f"{name}={named[name]}" for name in sorted(parameters) if isinstance(named[name], int | str))
    return f'options.get("{kind.__name__}({given})")(db, epsilon=0.1)' if given else None


def given_as(given: object, kind: type[Any], wanted: str, *, fix: str, error: type[JostleError]) -> Any:
    """What is given, where it is of a kind; refuse it otherwise, in words that hold nothing of what is in it.

    *wanted* is what it is to be: "a probe". *fix* is something to write.
    """
    if isinstance(given, kind):
        return given
    raise error(f"{described(given)} is given where {wanted} is wanted", fix=fix)


def given_flag(given: object, name: str, *, error: type[JostleError], fix: str | None = None) -> bool:
    """True or False, numpy's as well; refuse what is neither."""
    if type(given).__name__ in {"bool", "bool_"}:
        return bool(given)
    raise error(f"{name} is {described(given)}, not True or False", fix=fix or f"{name}=True")


def given_items(given: object, wanted: str, *, fix: str, error: type[JostleError]) -> tuple[Any, ...]:
    """What a list or the like holds; refuse what cannot be gone through. A text is no list of its letters."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return tuple(given)
    raise error(f"{described(given)} is given where {wanted} is wanted", fix=fix)


def given_path(given: object, error: type[JostleError], *, fix: str = "check the path") -> Path:
    """A path, written as a text or a path; refuse what is neither."""
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        if isinstance(path, str):
            return Path(path)
    raise error(f"{described(given)} is given where a path is wanted", fix=fix)
