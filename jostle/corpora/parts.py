"""Which part of a public database is rehearsed on: small values that go into keys."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sized
from typing import Any

import numpy as np
from attrs import field, fields, frozen

from jostle.errors import CorpusError, shown

VERSION = 1
"""Of the code that makes instances: raised when the same spec of the same database comes to give another instance."""


def _whole(least: int, default: int | None) -> Any:
    def check(_: object, attribute: Any, value: object) -> None:
        if value is None and default is None:
            return
        if type(value) is not int or value < least:
            raise CorpusError(f"{attribute.name} is {shown(value)}, not a whole number from {least} up")

    def convert(value: object) -> object:
        return operator.index(value) if isinstance(value, np.integer) else value

    return field(default=default, converter=convert, validator=check)


@frozen
class Spec:
    """A part of a public database."""

    declared: bool = field(default=False, kw_only=True)
    """Whether its schema declares the number of rows; neighbours are those of replace_one then."""


@frozen
class TableSpec(Spec):
    """Some rows and some attributes of a public table."""

    rows: int | None = _whole(1, None)
    """How many rows to learn from; None for all but those held out."""
    attributes: int | None = _whole(1, None)
    """How many attributes, drawn at random; None for all."""
    seed: int = _whole(0, 0)
    bins: int = _whole(1, 16)
    """How many bins the schema has for a column of numbers."""


def _shape(shape: Any) -> tuple[int, ...] | None:
    return shape if shape is None else tuple(map(operator.index, np.atleast_1d(np.asarray(shape)).tolist()))


@frozen
class GridSpec(Spec):
    """So many records drawn from a public grid, perhaps with coarser cells."""

    records: int | None = _whole(1, None)
    """How many records to draw; None for the grid's own records, as they are."""
    shape: tuple[int, ...] | None = field(default=None, converter=_shape)
    """The sides after adding up neighbouring cells; None for those the grid has."""
    seed: int = _whole(0, 0)
    asks: str | None = None
    """What is asked of it, as a text that its task reads; None for what is asked where nobody says."""


def instance_key(digest: str, spec: Spec) -> str:
    """The key of an instance: the database's digest, the spec, and the version of the code.

    >>> instance_key("0c5f", TableSpec(300, None, 7))
    '0c5f rows=300 seed=7 bins=16 v1'
    """
    facts = ((part.name, getattr(spec, part.name)) for part in fields(type(spec)))
    said = [f"{name}={_shown(value)}" for name, value in facts if value is not None and value is not False]
    return " ".join([digest, *said, f"v{VERSION}"])


def _shown(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value).replace(" ", ":")


def seeds_of(digest: str, seed: int, stream: int) -> list[int]:
    """The seeds of a generator of public randomness for one purpose (the stream) on one database."""
    return [int(digest[:16], 16), seed, stream]


def possible_rows(table: Sized, sizes: Iterable[int]) -> tuple[int | None, ...]:
    """Which of these numbers of rows a table can give with enough left to score on; None, for all, always is."""
    length = len(table)
    return (*(size for size in sizes if 5 * size <= 4 * length), None)
