"""What values are, in words, where a program is run without data, and how far one row moves the private ones."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.lang.pricing_values import (
    Bought,
    Callee,
    Column,
    Each,
    Grouped,
    Mapped,
    Money,
    Rows,
    Some,
    Unknown,
    is_number,
    private_in,
)

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["kind_of", "moves_of"]

CALLED = {
    "option": "an Option",
    "library": "an Option",
    "configured": "an Option",
    "maker": "a choice maker",
    "builtin": "a function",
    "several": "a function",
}


def kind_of(value: Any) -> str:  # noqa: C901, PLR0911, PLR0912 - one case per kind
    """The kind of a value, in words; nothing if that is not known."""
    match value:
        case Rows():
            return "a private table"
        case Bought():
            return _private_kind(value)
        case Money():
            return f"a public number, {value.amount.text}"
        case Column():
            size = "" if value.values is None else f" with {len(value.values)} values"
            return f"an attribute{size}"
        case Each():
            return "a value of an attribute"
        case Callee():
            return CALLED.get(value.kind, "a function")
        case Grouped():
            return "a dictionary of released numbers"
        case Unknown():
            return value.kind or ("a public list" if value.count is not None and _is_public(value.item) else "")
        case bool():
            return "a public truth"
        case str():
            return "a public text"
        case Some() | Mapped() if not any(True for _ in private_in(value)):
            return "a public list" if isinstance(value, Some) else "a public dictionary"
        case list() if all(_is_public(each) for each in value):
            return f"a public list of {len(value)}"
        case list():
            return f"a list of {len(value)} with private values"
        case dict():
            return "a public dictionary" if all(map(_is_public, value.values())) else "a dictionary of private values"
        case None:
            return "nothing"
    return "a public number" if is_number(value) else ""


def _is_public(value: Any) -> bool:
    return not kind_of(value).startswith(("a private", "private", "a list", "a dictionary of private"))


def _private_kind(value: Bought) -> str:
    number = value.number
    if number is None:
        return value.kind or "a private value"
    groups: tuple[tuple[Any, ...], ...] = getattr(number, "groups", ())
    if groups:
        size = 1
        for names in groups:
            size *= len(names)
        return f"private numbers, one for each of {size} groups"
    from jostle.lang.pricing_schema import is_count, is_score  # noqa: PLC0415 - only with a schema

    return "a private score" if is_score(number) else "a private count" if is_count(number) else "a private number"


def moves_of(value: Any, schema: Schema | None) -> Fraction | None:
    """How far one row can change a private value, over all its numbers together; None if that is not known."""
    if not isinstance(value, Bought):
        return None
    if schema is None or value.number is None:
        return value.moves
    from jostle.errors import JostleError  # noqa: PLC0415 - only with a schema
    from jostle.lang.pricing_schema import sensitivity_of  # noqa: PLC0415

    try:
        return sensitivity_of(value.number, schema)
    except JostleError:
        return None
