"""Private expressions: what is to be bought of private rows, with a sensitivity that is inferred.

>>> from jostle.tables import Categorical, Schema
>>> schema = Schema({"ill": Categorical(["no", "yes"]), "smokes": Categorical(["no", "yes"])}, label="ill")
>>> share_right = one_rule("smokes", "ill")
>>> sensitivity(share_right, schema)
Fraction(1, 1)
>>> sensitivity(far_from_flat(cells("ill", "smokes")), schema)
Fraction(3, 2)
>>> sensitivity(deviation(cells("ill", "smokes")), schema) < Fraction(1, 2)
True

An expression is bought with `db.release(expression, epsilon)`. It looks at no rows by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal, NoReturn

from jostle.errors import ExpressionError, shown
from jostle.given import given_items
from jostle.privacy.aggregates import Above, Along, Deviation, Extreme, FarFromFlat, Mean, Total
from jostle.privacy.amounts import Amount
from jostle.privacy.changes import Known
from jostle.privacy.exact_arrays import Numbers
from jostle.privacy.fields import TYPES
from jostle.privacy.nodes import Absolute, Cell, Clamped, Expression, Scaled, Shifted, Sum
from jostle.privacy.public_numbers import public_number
from jostle.privacy.tallied import Tally
from jostle.tables.closed import Closed
from jostle.tables.schema import Schema

__all__ = [
    "NODES",
    "Expression",
    "along",
    "argmax",
    "cells",
    "deviation",
    "evaluate",
    "far_from_flat",
    "known_of",
    "largest",
    "mean_of_cells",
    "occupied",
    "one_rule",
    "rows",
    "sensitivity",
    "sensitivity_of",
    "smallest",
    "sums",
    "tallies",
    "total",
]

Expressions = Expression | Iterable[Expression]

NODES = Closed(
    "kind of private expression",
    (Above, Absolute, Along, Cell, Clamped, Deviation, Extreme, FarFromFlat, Mean, Scaled, Shifted, Sum, Tally, Total),
    why="the sensitivity of another is not proved",
    error=ExpressionError,
    types=TYPES,
)
"""The nodes that may be computed among rows."""


def rows() -> Expression:
    """The number of rows."""
    return Tally(())


def cells(*columns: str) -> Expression:
    """The number of rows for each combination of the columns' codes, one axis per column.

    Args:
        *columns: names of columns.

    Raises:
        TableError: something is not the name of a column.
    """
    return Tally(columns)


def sums(column: str, weights: Iterable[int], most: int, by: str | Iterable[str] = ()) -> Expression:
    """The sum of a public whole number per code of a column, for each combination of the codes in *by*.

    A row adds at most *most*, either way; what exceeds it is cut off.

    Args:
        column: a column of the schema.
        weights: a whole number for each code.
        most: the most that a row adds.
        by: columns whose codes are told apart.

    Raises:
        ExpressionError: *most* or a weight is no whole number.
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ExpressionError(f"most is {shown(most)}, but must be a whole number from 1 up", fix="most=10")
    if not isinstance(column, str):
        raise ExpressionError(f"{type(column).__name__} is not the name of a column", fix='sums("age", range(10), 9)')
    fix = 'sums("age", range(10), 9, by=["region"])'
    listed = given_items(weights, "a list of weights", fix=fix, error=ExpressionError)
    clipped = tuple(max(-most, min(most, _whole(weight))) for weight in listed)
    axes = (by,) if isinstance(by, str) else given_items(by, "a list of columns", fix=fix, error=ExpressionError)
    return Tally(axes, weighted=column, weights=clipped)


def _whole(weight: object) -> int:
    number = public_number(weight)
    if number.denominator != 1:
        raise ExpressionError(f"the weight {weight!r} is not a whole number", fix="weigh in smaller units")
    return int(number)


def total(of: Expression) -> Expression:
    """The sum of all cells.

    Args:
        of: numbers of cells.

    Raises:
        ExpressionError: it is no private expression.
    """
    return Total(of)


def largest(of: Expressions, *more: Expression) -> Expression:
    """The largest of all cells of all that is given.

    Args:
        of: numbers of cells, or a list of such.
        *more: further ones.

    Raises:
        ExpressionError: there are none, or something is no private expression.
    """
    return Extreme(_listed(of, more), "max")


def smallest(of: Expressions, *more: Expression) -> Expression:
    """The smallest of all cells of all that is given.

    Args:
        of: numbers of cells, or a list of such.
        *more: further ones.

    Raises:
        ExpressionError: there are none, or something is no private expression.
    """
    return Extreme(_listed(of, more), "min")


def mean_of_cells(of: Expressions, *more: Expression) -> Expression:
    """The mean of all cells of all that is given.

    Args:
        of: numbers of cells, or a list of such.
        *more: further ones.

    Raises:
        ExpressionError: there are none, or something is no private expression.
    """
    return Mean(_listed(of, more))


def _listed(of: Expressions, more: tuple[Expression, ...]) -> tuple[Expression, ...]:
    if isinstance(of, Expression):
        return (of, *more)
    listed = given_items(of, "an expression", fix='largest(cells("age"))', error=ExpressionError)
    return (*listed, *more)


def occupied(of: Expression, above: Amount = 0) -> Expression:
    """How many cells are above a public threshold: with 0, how many are occupied.

    Args:
        of: numbers of cells.
        above: the threshold.

    Raises:
        ExpressionError: it is no private expression.
        AmountError: the threshold is no number.
    """
    return Above(of, public_number(above))


def along(of: Expression, how: Literal["sum", "max", "min"], axis: int) -> Expression:
    """The sum, largest or smallest along an axis, which goes away.

    Args:
        of: numbers of cells.
        how: what is made of those along the axis.
        axis: from 0.

    Raises:
        ExpressionError: it is no private expression.
        TableError: there is no such way to put cells together.
    """
    return Along(of, how, axis)


def one_rule(attribute: str, label: str) -> Expression:
    """How many rows the best rule from one attribute to the label gets right.

    Args:
        attribute: the column that the rule goes by.
        label: the column that it predicts.

    Raises:
        TableError: something is not the name of a column.
    """
    return Total(Along(Tally((attribute, label)), "max", 1))


def far_from_flat(of: Expression) -> Expression:
    """The L1 distance from flat: the sum of how far each cell is from the mean of all.

    Args:
        of: numbers of cells.

    Raises:
        ExpressionError: it is no private expression.
    """
    return FarFromFlat(of)


def deviation(of: Expression) -> Expression:
    """The population standard deviation of the cells, rounded down to a multiple of 2**-20.

    Args:
        of: numbers of cells.

    Raises:
        ExpressionError: it is no private expression.
    """
    return Deviation(of)


def argmax(*_: object) -> NoReturn:
    """Refuse: which cell is largest changes from one to any other with a single row."""
    raise ExpressionError(
        "the place of the largest private value is asked for",
        why="one row can change it from any place to any other, so noise on it would hide nothing but at great cost",
        fix="db.pick(Fullest(column), epsilon), or noisyMax",
    )


def tallies(expression: Expression) -> Iterator[Tally]:
    """Yield every tally an expression is computed from, as often as it occurs."""
    if isinstance(expression, Tally):
        yield expression
    for part in expression.parts:
        yield from tallies(part)


def known_of(expression: Expression, schema: Schema) -> Known:
    """The public facts of an expression: its shape, its bounds, and how a row can change it."""
    return expression.known(schema, *(known_of(part, schema) for part in expression.parts))


def sensitivity(expression: Expression, schema: Schema) -> Fraction:
    """The most that an expression changes between neighbours of the schema's kind, summed over its cells.

    Under replace_one, a row that enters or leaves the part that is asked about counts as well as one that is swapped.
    """
    NODES.check(expression)
    return sensitivity_of(known_of(expression, schema), schema)


def sensitivity_of(known: Known, schema: Schema) -> Fraction:
    """The sensitivity of what this is known of."""
    return known.enter.moved if schema.neighbours == "add_remove" else max(known.enter.moved, known.swap.moved)


def evaluate(expression: Expression, found: Mapping[Tally, Numbers]) -> Numbers:
    """The numbers of an expression, given those of its tallies."""
    if isinstance(expression, Tally):
        return found[expression]
    return expression.value(*(evaluate(part, found) for part in expression.parts))
