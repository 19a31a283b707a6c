"""What is publicly known of one column: the values it may take, and what becomes of any other.

Every column turns into codes 0 .. size-1, each standing for one declared value or bin. What happens to a value that was
not declared is fixed here, beforehand, and looks at that value alone: nothing about the other rows, and no
message, ever depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, get_args

from attrs import field, frozen

from jostle.errors import SchemaError

__all__ = ["MISSING", "OTHER", "Categorical", "Column", "Numeric"]

OTHER = "(other)"
"""How the extra value is called that stands for all undeclared ones."""
MISSING = "(missing)"
"""How the extra value is called that stands for no value at all."""

OutsideCategorical = Literal["other", "drop"]
OutsideNumeric = Literal["clamp", "other", "drop"]
MissingPolicy = Literal["value", "outside"]
MOST_BINS = 2**31


def _texts(values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise SchemaError(f"values is {values!r}, not a list of values", fix='values=["no", "yes"]')
    return tuple(str(value) for value in values)


def _floats(edges: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, edges))


def _check_policy(name: str, value: str, allowed: object) -> None:
    choices = get_args(allowed)
    if value not in choices:
        raise SchemaError(f"{name} is {value!r}", fix=f"{name} = one of {', '.join(map(repr, choices))}")


@frozen
class Categorical:
    """A column with a declared list of values."""

    values: tuple[str, ...] = field(converter=_texts)
    """Every value the column may take, as public knowledge has it."""
    outside: OutsideCategorical = "drop"
    """What becomes of an undeclared value: its row is dropped, or it becomes one extra value that stands for all such."""
    missing: MissingPolicy = "outside"
    """What becomes of an empty cell: one extra value, or the same as an undeclared one."""

    def __attrs_post_init__(self) -> None:
        """Refuse declarations that contradict themselves."""
        if not self.values:
            raise SchemaError("a categorical column has no values", fix='values=["no", "yes"]')
        if len(set(self.values)) != len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise SchemaError(f"the value {twice!r} is declared twice")
        _check_policy("outside", self.outside, OutsideCategorical)
        _check_policy("missing", self.missing, MissingPolicy)
        reserved = {OTHER, MISSING} & set(self.values)
        if reserved:
            raise SchemaError(f"the value {reserved.pop()!r} is declared, but the name is taken by Jostle")

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what each code stands for."""
        return self.values + _extra(other=self.outside == "other", missing=self.missing == "value")

    @property
    def size(self) -> int:
        """Return how many codes there are."""
        return len(self.values) + (self.outside == "other") + (self.missing == "value")

    @property
    def other_code(self) -> int | None:
        """Return the code of undeclared values, or None if their rows are dropped."""
        return len(self.values) if self.outside == "other" else None

    @property
    def missing_code(self) -> int | None:
        """Return the code of empty cells, or None if their rows are dropped."""
        return self.size - 1 if self.missing == "value" else self.other_code


@frozen
class Numeric:
    """A column of numbers with public bounds, cut into bins."""

    low: float
    """The least value, as public knowledge has it."""
    high: float
    """The greatest value."""
    bins: int = 16
    """How many bins of equal width; ignored where edges are given."""
    edges: tuple[float, ...] = field(default=(), converter=_floats)
    """Bin edges in rising order, from low to high; bin i holds edges[i] <= x < edges[i+1], the last one also high."""
    outside: OutsideNumeric = "clamp"
    """What becomes of a number out of bounds, or a text that is no number: the nearest bin (a text that is no
    number: as an empty cell), one extra value, or its row is dropped."""
    missing: MissingPolicy = "outside"
    """What becomes of an empty cell: one extra value, or as outside says (with clamp, its row is dropped)."""

    def __attrs_post_init__(self) -> None:
        """Refuse declarations that contradict themselves."""
        for name, bound in (("low", self.low), ("high", self.high)):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not math.isfinite(bound):
                raise SchemaError(f"{name} is {bound!r}, not a finite number", fix=f"{name}=0")
        if not self.low < self.high:
            raise SchemaError(f"low={self.low} is not below high={self.high}")
        if not isinstance(self.bins, int) or not 1 <= self.bins < MOST_BINS:
            raise SchemaError(f"bins is {self.bins!r}, but must be a whole number from 1 to 2**31 - 1")
        if self.edges:
            if len(self.edges) == 1 or any(not left < right for left, right in pairwise(self.edges)):
                raise SchemaError("edges do not rise strictly", fix="edges=[0, 10, 100]")
            if self.edges[0] != self.low or self.edges[-1] != self.high:
                raise SchemaError(f"edges run from {self.edges[0]} to {self.edges[-1]}, not from low to high")
        _check_policy("outside", self.outside, OutsideNumeric)
        _check_policy("missing", self.missing, MissingPolicy)

    @property
    def cut_points(self) -> tuple[float, ...]:
        """Return all bin edges, from low to high."""
        if self.edges:
            return self.edges
        width = self.high - self.low
        inner = (self.low + width * index / self.bins for index in range(1, self.bins))
        return (float(self.low), *inner, float(self.high))

    @property
    def bin_count(self) -> int:
        """Return how many bins there are, extra values not counted."""
        return len(self.edges) - 1 if self.edges else self.bins

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what each code stands for."""
        cuts = [f"{cut:.6g}" for cut in self.cut_points]
        bins = [f"[{left}, {right})" for left, right in pairwise(cuts)]
        bins[-1] = f"[{cuts[-2]}, {cuts[-1]}]"
        return tuple(bins) + _extra(other=self.outside == "other", missing=self.missing == "value")

    @property
    def size(self) -> int:
        """Return how many codes there are."""
        return self.bin_count + (self.outside == "other") + (self.missing == "value")

    @property
    def other_code(self) -> int | None:
        """Return the code of numbers out of bounds; None if they are clamped or their rows dropped."""
        return self.bin_count if self.outside == "other" else None

    @property
    def missing_code(self) -> int | None:
        """Return the code of empty cells, or None if their rows are dropped."""
        return self.size - 1 if self.missing == "value" else self.other_code


Column = Categorical | Numeric


def _extra(*, other: bool, missing: bool) -> tuple[str, ...]:
    return ((OTHER,) if other else ()) + ((MISSING,) if missing else ())
