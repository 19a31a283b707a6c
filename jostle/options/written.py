"""Options as they are written: a name, perhaps with parameters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from fractions import Fraction

from attrs import fields

from jostle.errors import OptionError
from jostle.options.base import Option, Registered

__all__ = ["made", "name_in"]

CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*")


def name_in(text: object) -> str | None:
    """The name of the Option that a text stands for; None where it stands for none."""
    match = CALL.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match else None


def made(name: str, known: Mapping[str, Registered]) -> Option:
    """The Option that a text stands for, one of those that are known.

    Raises:
        OptionError: there is none of the name, or it cannot have these parameters.
    """
    given: object = name
    if not isinstance(given, str):
        raise OptionError(
            f"{given!r:.40} is not the name of an Option", fix='options.get("NaiveBayes"); options.names() lists all'
        )
    match = CALL.fullmatch(name)
    kind = known.get(match[1]) if match else None
    if match is None or kind is None:
        near = difflib.get_close_matches(name, known, n=1)
        raise OptionError(f"there is no Option {name!r}", fix=near[0] if near else f"one of {', '.join(sorted(known))}")
    parts = [part for part in (match[2] or "").split(",") if part.strip()]
    if isinstance(kind, Option):
        if parts:
            raise OptionError(f"{kind.name} has no parameters", why="it is a function", fix=kind.name)
        return kind
    given = dict(_parameter(part, kind) for part in parts)
    try:
        return kind(**given)
    except OptionError as mistake:
        raise OptionError(f"{kind.__name__} cannot have these parameters: {mistake.title}", fix=mistake.fix) from None
    except (TypeError, ValueError) as mistake:
        raise OptionError(f"{kind.__name__} cannot have these parameters: {mistake.args[0]}") from None


def _parameter(text: str, kind: type[Option]) -> tuple[str, object]:
    name, _, value = (part.strip() for part in text.partition("="))
    known = {attribute.name: attribute for attribute in fields(kind)}  # type: ignore[arg-type]  # an attrs class
    if name not in known:
        raise OptionError(f"{kind.__name__} has no parameter {name!r}", fix=f"one of {', '.join(known) or 'none'}")
    if value in {"True", "False", "None"}:
        return name, {"True": True, "False": False, "None": None}[value]
    if re.fullmatch(r"[+-]?\d+", value):
        return name, int(value)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+/\d+)", value):
        return name, Fraction(value) if isinstance(known[name].default, Fraction) else float(Fraction(value))
    return name, value.strip("\"'")
