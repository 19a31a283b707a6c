"""Descent: linear models by gradient descent in whole numbers, of which the last step alone is released.

Output perturbation (Chaudhuri, Monteleoni, Sarwate, JMLR 2011), without their exact minimiser: how far one row can move
the last of so many steps is bounded by how steps draw two tables' weights together, rounding included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from attrs import field, frozen

from jostle.errors import ProbeError, TableError
from jostle.privacy.events import Laplace
from jostle.privacy.fields import public_number
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.noise import Noise
from jostle.tables.engines import Partial
from jostle.tables.fields import ANY_WHOLE, Integers, OneOf, Sides, Within, int64_arrays, names, whole, wholes, word
from jostle.tables.kernels import MOST_RECORDS, Kernel
from jostle.tables.schema import Schema
from jostle.tables.slopes import (
    KNOT_BITS,
    MOST_MARKS,
    MOST_POINTS,
    STEEPEST,
    UNIT,
    UNIT_BITS,
    Slopes,
    huber_line,
    logistic_line,
)

LOSSES = {"huber": huber_line, "logistic": logistic_line}
MOST_STEPS = 1000
FINEST = 30
LIMB = 20
"""Bits of the lower half of a sum, so that sums times numbers fit 64 bits."""
BITS = 32
"""Bounds are rounded up to multiples of 2**-32."""

WIDE = Fraction(6, 5)
"""How much farther a row that comes or goes may move a mean than 1 / rows would: see `Descent.divisor`."""
STEEPER = WIDE**2 / (4 * (WIDE - 1))
"""How much larger than the number of rows makes it, a mean may come out then."""


@frozen(eq=False, repr=False)
class Descent(Mechanism):
    """Weights after so many steps of gradient descent, for one or more classes against the rest, with noise.

    *The rows.* A row's x has the numbers that its codes stand for, one number that all rows have, and its marks (see
    `Slopes`), all in multiples of 1/UNIT. Squares are added up publicly, the largest of each column: x has norm 1 at
    most. Its y is 1 or -1. A loss l(y w.x) is convex; its slope lies between 0 and 1 and changes by at most b times as
    much as the margin does (`Slopes.line`).

    *A step.* N is a public function of the number n of rows (`divisor`). With s the row's slope, in fixed point,

        w <- round((1 - e p) w + e / N * sum s y x),        e = 2 / (STEEPER b + 2 p),

    each weight to the next multiple of u = 2**-bits. Sums are whole, the rest is done in whole numbers of any length.

    *How far one row moves the last step.* Let F be the exact step without rounding, on one table.

    - Two w on one table: F draws them together by 1 - e p. For the mean loss is convex, and its gradient g changes by
      at most n / N * b <= STEEPER b times as much as w does. (1 - e p) w - e g(w) is 1 - e p times a step of length
      e / (1 - e p) = 2 / (STEEPER b) along g, and steps no longer than that bring no two w farther apart (Baillon and
      Haddad 1977), however many rows there are.
    - One w on two tables: a row that comes or goes moves the mean gradient by at most WIDE / rows, one that is replaced
      by 2 / N <= 2 / rows (`divisor`).
    - Fixed point: a slope is off by less than 1 / STEEPEST, and the product with each mark by as much again, so a
      row's gradient is off by r = (1 + sqrt(marks)) / STEEPEST in norm; means by n / N * r <= STEEPER r, in each table.
    - Rounding moves a weight by u / 2 at most, d of them by sqrt(d) u / 2, in each table.

    So the distance D of both tables' weights goes from 0 to D <- (1 - e p) D + e (m / rows + 2 STEEPER r) + sqrt(d) u
    in each step, with m = WIDE or 2. That recursion is what `moved` computes, rounded up, for as many steps as there
    are. In L1 norm it is sqrt(d) times that for each class, and a whole number of u. Noise is discrete Laplace of scale
    (the sum of these over classes) / epsilon.

    *Nothing overflows.* A step adds at most e STEEPER (1 + r) to the norm of w and rounding sqrt(d) u / 2, so norms are
    bounded likewise (`reached`), for whatever rows; `check` refuses parameters for which points could pass MOST_POINTS.
    """

    events = Laplace
    columns: tuple[str, ...] = field(converter=names)
    numbers: tuple[Integers, ...] = field(converter=int64_arrays, validator=Sides(2, Within(-UNIT, UNIT)))
    """For each column, codes by numbers, in 1/UNIT."""
    marks: tuple[str, ...] = field(converter=names)
    mark: int = field(converter=whole, validator=Within(0, UNIT))
    """The norm of a row's marks, where it has *few* or more, in 1/UNIT."""
    few: int = field(converter=whole, validator=Within(1, MOST_MARKS))
    constant: int = field(converter=whole, validator=Within(0, UNIT))
    """The number that all rows have."""
    classes: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)
    """The classes that are told from the rest, each by weights of its own."""
    loss: str = field(converter=word, validator=OneOf(tuple(LOSSES)))
    penalty: Fraction = field(converter=public_number)
    """What half the squared norm of the weights counts, beside the mean loss."""
    rows: int = field(converter=whole, validator=Within(1, MOST_RECORDS))
    """A public number, such as there are rows: the bound holds if there are more or fewer."""
    steps: int = field(converter=whole, validator=Within(1, MOST_STEPS))
    bits: int = field(converter=whole, validator=Within(0, FINEST))
    """Weights are multiples of 2**-bits."""

    def kernel(self, schema: Schema) -> Kernel:
        """The first tally, at weights of 0."""
        return self._slopes(np.zeros((self.features, len(self.classes)), dtype=np.int64))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse rows that could be longer than 1, and weights that could get too large."""
        if not 0 < self.penalty <= 1:
            raise ProbeError(f"the penalty is {float(self.penalty):g}, but must be above 0 and at most 1")
        squares = sum(int((own * own).sum(axis=1).max(initial=0)) for own in self.numbers)
        if squares + self.mark**2 + self.constant**2 > UNIT**2:
            raise ProbeError("rows could be longer than 1", why="how far one moves the weights is proved up to there")
        if self.reached * UNIT > MOST_POINTS >> 1:
            raise ProbeError("weights could get too large for 63 bits", fix="a larger penalty, or fewer bits")

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """How far a row moves all weights in sum, over epsilon."""
        return len(self.classes) * self.moved(schema) / epsilon

    @property
    def features(self) -> int:
        """How many weights a class has: of the constant, of the columns' numbers, and of the marks."""
        return 1 + int(sum(own.shape[1] for own in self.numbers)) + len(self.marks)

    @property
    def length(self) -> Fraction:
        """The length of a step."""
        return 2 / (STEEPER * bend(self.loss) + 2 * self.penalty)

    def moved(self, schema: Schema) -> int:
        """The most that a row moves one class's weights, in sum, in multiples of 2**-bits."""
        mean = (WIDE if schema.neighbours == "add_remove" else Fraction(2)) / self.rows
        inexact = 2 * STEEPER * self._inexact
        apart = self._grown(self.length * (mean + inexact) * 2**self.bits, _root(self.features << 2 * BITS))
        return math.isqrt(self.features * apart**2) >> BITS

    @property
    def reached(self) -> int:
        """The largest norm that weights can come to, in multiples of 2**-bits."""
        most = self.length * STEEPER * (1 + self._inexact) * 2**self.bits
        return 1 + (self._grown(most, _root(self.features << 2 * BITS)) >> BITS)

    @property
    def _inexact(self) -> Fraction:
        return Fraction(1 + _root(len(self.marks)), STEEPEST)

    def _grown(self, more: Fraction, rounding: int) -> int:
        """What comes of adding so much in each step, in multiples of 2**-BITS, and of shrinking what there was."""
        keeps = 1 - self.length * self.penalty
        added = math.ceil(more * 2**BITS) + rounding
        total = 0
        for _ in range(self.steps):
            total = -(-total * keeps.numerator // keeps.denominator) + added
        return total

    def divisor(self, count: int) -> Fraction:
        """What a sum over so many rows is divided by: m = rows for up to m of them, and more for more.

        *A row that comes or goes* moves sum g / N by at most n |1/N(n) - 1/N(n+1)| + 1/N(n+1), where sums of n rows
        have norm n at most. With q(n) = m / N(n), which does not rise, that is (n q(n) - (n - 1) q(n + 1)) / m. Let
        line(n) = WIDE - (WIDE - 1) n / m. Here q = min(1, line) up to t m, with t = WIDE / (2 (WIDE - 1)), and
        STEEPER m / n from there on, which is tangent to the line in t m. Up to there q <= line; and n q(n) -
        (n - 1) q(n + 1) <= WIDE where q(n) <= line(n) and q(n + 1) = line(n + 1), or more than that, since

            n line(n) - (n - 1) line(n + 1) = WIDE - (WIDE - 1) / m.

        Where q = 1 for both, it is 1. From t m on it is 2 STEEPER m / (n + 1) <= 2 STEEPER / t = WIDE. *Means*: n / N
        is largest in t m, STEEPER, and no larger beyond.
        """
        m, n = self.rows, count
        if n <= m:
            return Fraction(m)
        if 2 * (WIDE - 1) * n <= WIDE * m:
            return m / (WIDE - (WIDE - 1) * n / m)
        return n / STEEPER

    def collect(self, tally: Callable[[Kernel], Partial], schema: Schema) -> Integers:
        """The weights after the last step: features by classes, in multiples of 2**-bits."""
        weights = np.zeros((self.features, len(self.classes)), dtype=np.int64)
        keeps = 1 - self.length * self.penalty
        for _ in range(self.steps):
            slopes = tally(self._slopes(weights))
            if not isinstance(slopes, np.ndarray):
                raise TableError("slopes come as an array")
            adds = self.length * 2**self.bits / (self.divisor(int(slopes[-1])) * STEEPEST * UNIT)
            sums = self._sums(slopes[:-1].reshape(len(self.classes), -1))
            weights = _stepped(weights, sums, keeps, adds)
        return weights

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        drawn = noise.discrete_laplace(self.scale(schema, epsilon), tally.size)
        return drawn.reshape(tally.shape) + tally

    def _slopes(self, weights: Integers) -> Slopes:
        """The question of a step: what the codes and marks stand for, at some weights."""
        _, *of_columns, marked = np.split(weights, np.cumsum([1, *(own.shape[1] for own in self.numbers)]))
        points = [own @ of_column for own, of_column in zip(self.numbers, of_columns, strict=True)]
        start = weights[0] * self.constant
        shift = self.bits + UNIT_BITS - KNOT_BITS
        line, first = line_of(self.loss, shift)
        marks = self.marks, marked, self.mark, self.few
        return Slopes(self.columns, points, *marks, start, self.classes, line, first, shift)

    def _sums(self, slopes: Integers) -> list[int]:
        """The sums over rows of s y x: features by classes, in 1/(STEEPEST * UNIT)."""
        ends = np.cumsum([1, *map(len, self.numbers)])
        halves = (np.split(half, ends, axis=1) for half in (slopes & ((1 << LIMB) - 1), slopes >> LIMB))
        *of_numbers, (low, high) = zip(*halves, strict=True)
        numbers = (np.array([[self.constant]]), *self.numbers)
        sums = [_joined(low @ own, high @ own) for (low, high), own in zip(of_numbers, numbers, strict=True)]
        sums.append(_joined(low * UNIT, high * UNIT))
        return [number for lines in sums for line in zip(*lines, strict=True) for number in line]


def _joined(low: Integers, high: Integers) -> list[list[int]]:
    """Models by features, in Python's numbers."""
    return [
        [(upper << LIMB) + lower for lower, upper in zip(*lines, strict=True)]
        for lines in zip(low.tolist(), high.tolist(), strict=True)
    ]


def _stepped(weights: Integers, sums: list[int], keeps: Fraction, adds: Fraction) -> Integers:
    """The nearest whole numbers to keeps * weights + adds * sums."""
    of_weights, of_sums = keeps.numerator * adds.denominator, adds.numerator * keeps.denominator
    whole = keeps.denominator * adds.denominator
    stepped = [
        (2 * (of_weights * weight + of_sums * added) + whole) // (2 * whole)
        for weight, added in zip(weights.ravel().tolist(), sums, strict=True)
    ]
    return np.array(stepped, dtype=np.int64).reshape(weights.shape)


def _root(number: int) -> int:
    """The square root, rounded up."""
    root = math.isqrt(number)
    return root + (root * root < number)


@lru_cache(maxsize=64)
def line_of(loss: str, shift: int) -> tuple[Integers, int]:
    """The slopes of a loss at margins 2**shift apart, and the first of these margins."""
    line, first = LOSSES[loss](shift)
    line.setflags(write=False)
    return line, first


def bend(loss: str) -> Fraction:
    """The most that a slope changes by, in units of how far the margin does."""
    line, _ = line_of(loss, 0)
    return Fraction(int(-np.diff(line).min()) << KNOT_BITS, STEEPEST)
