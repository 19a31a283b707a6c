"""Private expressions: what is to be bought of private rows, with a sensitivity that is inferred.

Here are the aggregates: totals, means, extremes, distances, each with the proof of its bound. In the proofs, x stands
for the cells of the parts and v for their change, as in `nodes`.

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

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal, NoReturn, get_args

import numpy as np
from attrs import field, frozen

from jostle.errors import ExpressionError, shown
from jostle.given import given_items
from jostle.privacy.amounts import Amount
from jostle.privacy.fields import TYPES, public_number, sides
from jostle.privacy.nodes import (
    MOST_NODES,
    Absolute,
    Cell,
    Clamped,
    Expression,
    OfOne,
    OfSeveral,
    Scaled,
    Shifted,
    Sum,
    Tally,
)
from jostle.privacy.sensitivity import ZERO, Change, Known, Numbers, joined, known
from jostle.tables.closed import Closed
from jostle.tables.fields import ANY_WHOLE, OneOf, Within, whole, wholes, word
from jostle.tables.schema import Schema

Best = Literal["max", "min"]
How = Literal["sum", "max", "min"]
DEVIATION_BITS = 20
"""Standard deviations are rounded down to a multiple of 2**-DEVIATION_BITS."""
FINEST_DEVIATION = 32


@frozen
class Total(OfOne):
    """The sum of all cells: its change is the sum of v."""

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        bounds = (x.cells * x.least, x.cells * x.most)
        return known((), x.denominator, bounds, x.mass, lambda v: Change.single(v.total_low, v.total_high), x)

    def value(self, *parts: Numbers) -> Numbers:
        return parts[0].summed()


@frozen
class Mean(OfSeveral):
    """The mean of all cells of all parts: its change is the sum of all v, over the public number of cells."""

    def known(self, schema: Schema, *parts: Known) -> Known:
        cells = sum(x.cells for x in parts)
        mass = sum((x.mass for x in parts), ZERO) / cells
        bounds = (min(x.least for x in parts), max(x.most for x in parts))

        def rule(*changes: Change) -> Change:
            low = sum((v.total_low for v in changes), ZERO)
            high = sum((v.total_high for v in changes), ZERO)
            return Change.single(low / cells, high / cells)

        return known((), math.lcm(*(x.denominator for x in parts)) * cells, bounds, mass, rule, *parts)

    def value(self, *parts: Numbers) -> Numbers:
        total = joined(part.summed() for part in parts).summed()
        return Numbers(total.array, total.denominator * sum(part.array.size for part in parts))


@frozen
class Extreme(OfSeveral):
    """The largest, or smallest, of all cells of all parts.

    max(x + v) lies between max(x) + min(v) and max(x) + max(v), and so for min: it changes by no less than the least
    change of any cell, and by no more than the greatest.
    """

    how: Best = field(default="max", converter=word, validator=OneOf(get_args(Best)))

    def known(self, schema: Schema, *parts: Known) -> Known:
        bounds = (min(x.least for x in parts), max(x.most for x in parts))

        def rule(*changes: Change) -> Change:
            return Change.single(min(v.low for v in changes), max(v.high for v in changes))

        denominator = math.lcm(*(x.denominator for x in parts))
        return known((), denominator, bounds, max(x.mass for x in parts), rule, *parts)

    def value(self, *parts: Numbers) -> Numbers:
        ends = joined(part.largest() if self.how == "max" else part.smallest() for part in parts)
        return ends.largest() if self.how == "max" else ends.smallest()


@frozen
class Along(OfOne):
    """The sum, largest or smallest along an axis: one cell for each line of cells.

    *Sum.* A line's sum changes by the sum of its v, which is at most its increases, and at most its length times the
    greatest of them. Over all lines, increases are at most those of all cells, and the total is the same.

    *Largest, smallest.* A line's largest changes by between the least and the greatest v in it. So it increases by no
    more than the greatest increase in the line, and over all lines by no more than all increases together; likewise
    for decreases. And it increases only if some cell in the line does.
    """

    how: How = field(converter=word, validator=OneOf(get_args(How)))
    axis: int = field(converter=whole, validator=ANY_WHOLE)

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        if not 0 <= self.axis < len(x.shape):
            raise ExpressionError(
                f"there is no axis {self.axis}", why=f"there are {sides(x.shape)}, with {len(x.shape)} axes from 0"
            )
        side = x.shape[self.axis]
        shape = x.shape[: self.axis] + x.shape[self.axis + 1 :]

        def summed(v: Change) -> Change:
            return v._replace(low=max(side * v.low, -v.down), high=min(side * v.high, v.up))

        def best(v: Change) -> Change:
            return v._replace(total_low=-v.down, total_high=v.up)

        if self.how == "sum":
            return known(shape, x.denominator, (side * x.least, side * x.most), x.mass, summed, x)
        return known(shape, x.denominator, (x.least, x.most), x.mass, best, x)

    def value(self, *parts: Numbers) -> Numbers:
        (x,) = parts
        if self.how == "sum":
            return x.summed(self.axis)
        return x.largest(self.axis) if self.how == "max" else x.smallest(self.axis)


@frozen
class CellSums(OfOne):
    """Sums of some cells: each cell is in one of them, or in none.

    So does a condition that looks at several columns at once: of the cells of these columns, some count. A sum of m
    cells changes by the sum of their v: by no more than m times the greatest of them, nor than all increases together.
    As no cell is in two sums, over all sums increases are at most those of all cells, and likewise decreases; and a sum
    increases only if some cell in it does. So a row that enters one cell enters one sum, or none.
    """

    sums: tuple[int, ...] = field(converter=wholes, validator=Within(-1, MOST_NODES**2))
    """For each cell, which sum it is in; -1 for none."""
    shape: tuple[int, ...] = field(converter=wholes, validator=Within(1, MOST_NODES**2))
    """How long each side of the sums is."""

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        count = math.prod(self.shape)
        if len(self.sums) != x.cells or count > x.cells or max(self.sums) >= count:
            raise ExpressionError(
                f"{x.cells} cells are put into {count} sums by {len(self.sums)} places",
                why="each cell is in one sum, or in none, and there are no more sums than cells",
            )
        most = max(Counter(index for index in self.sums if index >= 0).values(), default=0)
        bounds = (min(ZERO, most * x.least), max(ZERO, most * x.most))

        def rule(v: Change) -> Change:
            low, high = max(most * min(v.low, ZERO), -v.down), min(most * max(v.high, ZERO), v.up)
            return v._replace(low=low, high=high, total_low=-v.down, total_high=v.up)

        return known(self.shape, x.denominator, bounds, x.mass, rule, x)

    def value(self, *parts: Numbers) -> Numbers:
        return parts[0].gathered(self.sums, self.shape)


@frozen
class Above(OfOne):
    """How many cells are above a public threshold: it grows with cells that increase, and falls with those that fall.

    So a row changes it by no more than there are such cells, either way.
    """

    threshold: Fraction = field(default=ZERO, converter=public_number)

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        cells = Fraction(x.cells)

        def rule(v: Change) -> Change:
            return Change.single(Fraction(-v.cells_down), Fraction(v.cells_up))

        return known((), 1, (ZERO, cells), cells, rule, x)

    def value(self, *parts: Numbers) -> Numbers:
        return Numbers(np.array(parts[0].above(self.threshold), dtype=np.int64))


@frozen
class FarFromFlat(OfOne):
    """The L1 distance from flat: the sum of |x_i - mean(x)| over the k cells.

    This is ||Mx||_1 with M = I - 11'/k, a norm of a linear map, so it changes by at most ||Mv||_1 either way. That is
    convex in v, so over all v whose increases sum to at most P and decreases to at most N, it is greatest at an extreme
    point: a single cell up by P and a single other one down by N (or less of both, which gives less). There, with s =
    (P - N)/k, it is |P - s| + |N + s| + (k - 2)|s| = P + N + (k - 2)|P - N|/k. In terms of the moved mass L = ||v||_1
    alone, the extreme points are single cells, which give 2(1 - 1/k)L. The better of both holds.

    A row that enters a histogram: P = 1, N = 0, 2(1 - 1/k). One that is swapped: P = N = 1, which gives 2.
    """

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        cells = x.cells

        def rule(v: Change) -> Change:
            extreme = v.up + v.down + (cells - 2) * abs(v.up - v.down) / cells
            return Change.either_way(min(extreme, 2 * (1 - Fraction(1, cells)) * v.moved) if cells > 1 else ZERO)

        return known((), x.denominator * cells, (ZERO, 2 * x.mass), 2 * x.mass, rule, x)

    def value(self, *parts: Numbers) -> Numbers:
        """The distance: the sum of |k * x_i - total|, over k."""
        (x,) = parts
        cells = x.array.size
        less = x.summed().times(Fraction(-1))
        apart = x.times(Fraction(cells)).over(x.denominator).plus(less).absolute().summed()
        return Numbers(apart.array, apart.denominator * cells)


@frozen
class Deviation(OfOne):
    """The population standard deviation of the k cells, rounded down to a multiple of the unit u = 2**-bits.

    Unrounded it is ||Mx||_2 / sqrt(k) with M = I - 11'/k, so it changes by at most ||Mv||_2 / sqrt(k) either way. The
    square ||Mv||_2**2 = sum v_i**2 - (sum v_i)**2 / k is convex in v, so it is greatest at an extreme point, as for
    `FarFromFlat`: P**2 + N**2 - (P - N)**2 / k, or (1 - 1/k) * L**2. A row that enters a histogram: sqrt(k - 1) / k, at
    most 1/sqrt(k). One that is swapped: sqrt(2/k).

    *Rounding.* For a >= b, floor(a) - floor(b) < a - b + 1, as floor(a) <= a and floor(b) > b - 1. A whole number less
    than a - b + 1 is at most ceil(a - b + 1) - 1 = ceil(a - b). So in units, the rounded value changes by at most the
    unrounded bound rounded up to whole units. The root of the bound is rounded up to whole units as well, in one step.

    It is computed without rounding but this: with total T and squares Q, the deviation is sqrt(k*Q - T**2) / k, and
    floor(sqrt(r)) of a rational r >= 0 is the integer root of floor(r).
    """

    bits: int = field(default=DEVIATION_BITS, converter=whole, validator=Within(0, FINEST_DEVIATION))

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        cells, unit = x.cells, Fraction(1, 1 << self.bits)

        def rule(v: Change) -> Change:
            square = min(v.up**2 + v.down**2 - (v.up - v.down) ** 2 / cells, (1 - Fraction(1, cells)) * v.moved**2)
            return Change.either_way(unit * root_above(square / cells / unit**2) if cells > 1 else ZERO)

        return known((), 1 << self.bits, (ZERO, x.mass), x.mass, rule, x)

    def value(self, *parts: Numbers) -> Numbers:
        (x,) = parts
        units = math.isqrt((x.spread() << 2 * self.bits) // (x.array.size * x.denominator) ** 2)
        return Numbers(np.array(units, dtype=object), 1 << self.bits)


def root_above(square: Fraction) -> int:
    """The least whole number that is no less than the root of *square* >= 0."""
    least = math.ceil(square)
    root = math.isqrt(least)
    return root if root * root == least else root + 1


Expressions = Expression | Iterable[Expression]

NODES = Closed(
    "kind of private expression",
    (
        Above,
        Absolute,
        Along,
        Cell,
        CellSums,
        Clamped,
        Deviation,
        Extreme,
        FarFromFlat,
        Mean,
        Scaled,
        Shifted,
        Sum,
        Tally,
        Total,
    ),
    why="the sensitivity of another is not proved",
    error=ExpressionError,
    types=TYPES,
)
"""The nodes that may be computed among rows."""


def rows() -> Expression:
    """The number of rows."""
    return Tally(())


def persons() -> Expression:
    """The number of persons, of a table whose schema says whose rows they are."""
    return Tally((), persons=True)


def cells(*columns: str) -> Expression:
    """The number of rows for each combination of the columns' codes, one axis per column.

    Raises:
        TableError: something is not the name of a column.
    """
    return Tally(columns)


def sums(column: str, weights: Iterable[int], most: int, by: str | Iterable[str] = ()) -> Expression:
    """The sum of a public whole number per code of a column, for each combination of the codes in *by*.

    A row adds at most *most*, either way; what exceeds it is cut off.

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

    Raises:
        ExpressionError: it is no private expression.
    """
    return Total(of)


def largest(of: Expressions, *more: Expression) -> Expression:
    """The largest of all cells of all that is given.

    Raises:
        ExpressionError: there are none, or something is no private expression.
    """
    return Extreme(_listed(of, more), "max")


def smallest(of: Expressions, *more: Expression) -> Expression:
    """The smallest of all cells of all that is given.

    Raises:
        ExpressionError: there are none, or something is no private expression.
    """
    return Extreme(_listed(of, more), "min")


def mean_of_cells(of: Expressions, *more: Expression) -> Expression:
    """The mean of all cells of all that is given.

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

    Raises:
        ExpressionError: it is no private expression.
        AmountError: the threshold is no number.
    """
    return Above(of, public_number(above))


def along(of: Expression, how: Literal["sum", "max", "min"], axis: int) -> Expression:
    """The sum, largest or smallest along an axis, which goes away.

    Raises:
        ExpressionError: it is no private expression.
        TableError: there is no such way to put cells together.
    """
    return Along(of, how, axis)


def one_rule(attribute: str, label: str) -> Expression:
    """How many rows the best rule from one attribute to the label gets right.

    Raises:
        TableError: something is not the name of a column.
    """
    return Total(Along(Tally((attribute, label)), "max", 1))


def far_from_flat(of: Expression) -> Expression:
    """The L1 distance from flat: the sum of how far each cell is from the mean of all.

    Raises:
        ExpressionError: it is no private expression.
    """
    return FarFromFlat(of)


def deviation(of: Expression) -> Expression:
    """The population standard deviation of the cells, rounded down to a multiple of 2**-20.

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


def sensitivity_of(facts: Known, schema: Schema) -> Fraction:
    """The sensitivity of what this is known of."""
    return facts.enter.moved if schema.neighbours == "add_remove" else max(facts.enter.moved, facts.swap.moved)


def evaluate(expression: Expression, tallied: Mapping[Tally, Numbers]) -> Numbers:
    """The numbers of an expression, given those of its tallies."""
    if isinstance(expression, Tally):
        return tallied[expression]
    return expression.value(*(evaluate(part, tallied) for part in expression.parts))
