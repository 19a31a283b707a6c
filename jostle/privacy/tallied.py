"""The leaves of private expressions: tallies of rows, by groups of codes, under conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NoReturn

from attrs import evolve, field, frozen

from jostle.errors import ExpressionError
from jostle.given import given_as
from jostle.privacy.changes import ZERO, Change, Known
from jostle.privacy.exact_arrays import Numbers
from jostle.privacy.fields import Coarsening, Condition, coarsenings, label_conditions
from jostle.privacy.nodes import Expression
from jostle.tables.fields import Within, names, optional_name, wholes
from jostle.tables.kernels import LARGEST_WEIGHT, MOST_RECORDS
from jostle.tables.schema import Schema
from jostle.tables.stacks import Layer

__all__ = ["Tally"]


@frozen
class Tally(Expression):
    """Rows, or a weight for each, counted by the groups of the codes of some columns: one axis per column.

    A row falls into one cell, or none if it does not meet the conditions, by its own codes alone. Where every row
    counts 1, a row that enters adds 1 to one cell; where it has a weight w between *least* and *most*, w. Without
    conditions the sum of all cells always changes, by just that.
    """

    columns: tuple[str, ...] = field(converter=names)
    conditions: tuple[Condition, ...] = field(default=(), converter=label_conditions)
    """Columns with the values or codes that rows must have."""
    coarse: tuple[Coarsening, ...] = field(default=(), converter=coarsenings)
    """Columns with what their codes are divided by, or the group of each code; the first for a column comes first."""
    weighted: str | None = field(default=None, converter=optional_name)
    """The column whose codes have weights."""
    weights: tuple[int, ...] = field(default=(), converter=wholes, validator=Within(-LARGEST_WEIGHT, LARGEST_WEIGHT))
    """What each code of it counts for, cut off at what a row may add."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Nothing: what it is computed from is rows."""
        return ()

    def with_parts(self, parts: tuple[Expression, ...]) -> Expression:  # noqa: ARG002 - it has none
        """The expression itself."""
        return self

    def where(self, column: str, *values: str | int) -> Expression:
        """The same of the rows that have one of the values, or codes, in a column."""
        return evolve(self, conditions=(*self.conditions, (column, values)))

    def coarsened(self, groups: dict[str, int | Iterable[int]]) -> Expression:
        """The same by coarser columns."""
        given_as(groups, Mapping, "a mapping from columns to groups", fix='{"age": 2}', error=ExpressionError)
        return evolve(self, coarse=(*self.coarse, *groups.items()))

    def layer(self, schema: Schema) -> Layer:
        """The layer that is tallied, in codes."""
        where = tuple((name, tuple(_code(name, each, schema) for each in values)) for name, values in self.conditions)
        for name, _ in self.coarse:
            schema[name]  # refuses one that is not there
        groups = tuple(self._groups(name, schema) for name in self.columns)
        return Layer(self.columns, groups, where, self.weighted, self.weights)

    def _groups(self, name: str, schema: Schema) -> tuple[int, ...]:
        size = schema[name].size
        groups: tuple[int, ...] = ()
        for column, given in self.coarse:
            if column != name:
                continue
            before = groups or tuple(range(size))
            if isinstance(given, int):
                if given < 1:
                    raise ExpressionError(f"the codes of {name!r} are divided by {given}", fix="divide by 1 or more")
                groups = tuple(group // given for group in before)
            else:
                if len(given) != max(before) + 1 or min(given) < 0 or max(given) >= len(given):
                    raise ExpressionError(
                        f"{len(given)} groups are given for the {max(before) + 1} values of {name!r}",
                        why="each value has a group of its own or shared, numbered from 0",
                    )
                groups = tuple(given[group] for group in before)
        return groups

    def known(self, schema: Schema, *parts: Known) -> Known:  # noqa: ARG002 - it has none
        """The public facts: what a row can add."""
        layer = self.layer(schema)
        shape = layer.shape(schema)
        cells = layer.cells(schema)
        weights = self._possible_weights(layer)
        low, high = Fraction(min(weights)), Fraction(max(weights))
        if self.conditions:
            low, high = min(low, ZERO), max(high, ZERO)
        up, down = max(high, ZERO), max(-low, ZERO)
        mass = MOST_RECORDS * max(up, down)
        if cells == 1:
            enter = Change.single(low, high)
        else:
            enter = Change(-down, up, up, down, max(up, down), low, high, int(up > 0), int(down > 0))
        least, most = -MOST_RECORDS * down, MOST_RECORDS * up
        swap = enter.swapped().tightened(cells, most - least)
        return Known(shape, 1, least, most, mass, enter.tightened(cells, most - least), swap)

    def _possible_weights(self, layer: Layer) -> tuple[int, ...]:
        """The weights of rows that meet the conditions on the weighted column."""
        if self.weighted is None:
            return (1,)
        allowed = set(range(len(self.weights)))
        for name, codes in layer.where:
            if name == self.weighted:
                allowed &= set(codes)
        return tuple(self.weights[code] for code in sorted(allowed)) or (0,)

    def value(self, *parts: Numbers) -> NoReturn:  # noqa: ARG002 - it has none
        """Refuse: its numbers come from rows."""
        raise ExpressionError("a tally is looked up, not computed")


def _code(column: str, value: str | int, schema: Schema) -> int:
    if isinstance(value, int):
        size = schema[column].size
        if not 0 <= value < size:
            raise ExpressionError(f"column {column!r} has the codes 0 to {size - 1}, and {value} is asked for")
        return value
    labels = schema[column].labels
    if value not in labels:
        raise ExpressionError(
            f"column {column!r} has no value {value!r}", fix=f"one of {', '.join(map(repr, labels[:20]))}"
        )
    return labels.index(value)
