"""The mechanism that releases a private expression: exact noise for its inferred sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ExpressionError
from jostle.privacy.events import Laplace
from jostle.privacy.evidence import MOST_COMPARED, Measurement, measured
from jostle.privacy.expressions import NODES, evaluate, known_of, sensitivity_of, tallies
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.nodes import Expression, Tally
from jostle.privacy.noise import LARGEST, LARGEST_SCALE, Noise
from jostle.privacy.sensitivity import Known, Numbers
from jostle.tables.fields import Component
from jostle.tables.kernels import Counts
from jostle.tables.pools import Stack
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema

MOST_CELLS = 2**24
"""Cells an expression may be computed from; Python's own numbers for all of them fit in memory."""
MOST_UNITS = 2**62
"""What is released is no farther from 0 than so many units, before noise."""
LARGEST_DENOMINATOR = 2**2048
FINEST = 62
"""Where they are rounded to fit, it is to a multiple of 2**-FINEST or more."""
LEAST_STEPS = 2**16
"""Where numbers are rounded to fit, a row still moves them by as many units."""


def _leaves(expressions: Iterable[Expression]) -> tuple[Tally, ...]:
    """The different tallies of all expressions, in order of appearance."""
    return tuple(dict.fromkeys(tally for expression in expressions for tally in tallies(expression)))


def stack_of(expressions: Iterable[Expression], schema: Schema) -> Stack:
    """One kernel for all that several expressions need of the rows."""
    return Stack(tuple(tally.layer(schema) for tally in _leaves(expressions)))


def evaluated(expressions: tuple[Expression, ...], tally: NDArray[np.int64], schema: Schema) -> tuple[Numbers, ...]:
    """The exact numbers of expressions, from the tally of their stack."""
    found = {}
    start = 0
    for leaf in _leaves(expressions):
        layer = leaf.layer(schema)
        end = start + layer.cells(schema)
        found[leaf] = Numbers(tally[start:end].reshape(layer.shape(schema)))
        start = end
    return tuple(evaluate(expression, found) for expression in expressions)


@frozen(eq=False, repr=False)
class NoisyNumbers:
    """Released numbers: whole multiples of a public unit."""

    units: NDArray[np.int64]
    unit: Fraction

    @property
    def values(self) -> NDArray[np.float64]:
        """The numbers, rounded to the nearest doubles."""
        exact = (float(int(each) * self.unit) for each in self.units.ravel())
        return np.fromiter(exact, np.float64, self.units.size).reshape(self.units.shape)


@frozen
class AddNoiseTo(Mechanism):
    """Discrete Laplace noise on an expression, of scale (its inferred sensitivity) / epsilon.

    The numbers of an expression are whole multiples of a public unit, 1/denominator (`Known`). In these units they
    change by at most d = sensitivity / unit between neighbours, summed over cells, as the rules of `nodes` show; noise
    of scale d / epsilon on each of these whole numbers changes the probability of every answer by a factor of at most
    exp(epsilon), as for `AddNoise`. Noise and numbers are whole throughout; what they stand for is computed from the
    answer alone.

    *A coarser unit.* Where numbers in units of 1/denominator would not fit 62 bits, or the scale not 52, they are
    rounded down to multiples of a power of two, u. Rounded down, each cell changes by at most its change rounded up to
    a multiple of u (see `Deviation`), so all cells by at most the sensitivity + cells * u in sum; a single one by at
    most the sensitivity rounded up to a multiple of u.

    Scale and shown numbers, in the trace, are in units.
    """

    events = Laplace
    expression: Expression = field(
        validator=Component(NODES.members, what="a known private expression", error=ExpressionError)
    )

    def kernel(self, schema: Schema) -> Stack:
        """All tallies of the expression, to be made in one pass."""
        return stack_of((self.expression,), schema)

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse an expression that depends on no row, or is too large, or whose numbers fit no unit."""
        if self.kernel(schema).cells(schema) > MOST_CELLS:
            raise ExpressionError(
                f"the expression is computed from more than {MOST_CELLS:,} cells",
                fix="use fewer columns, or coarser ones: x.coarsened({column: 2})",
            )
        known = known_of(self.expression, schema)
        if known.denominator > LARGEST_DENOMINATOR:
            raise ExpressionError("the expression's numbers have too many different denominators", fix="round them")
        if not sensitivity_of(known, schema):
            raise ExpressionError("the expression is the same whatever the rows are", fix="compute it without a probe")
        self._unit(known, schema, epsilon)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in units."""
        known = known_of(self.expression, schema)
        return _steps(known, self._unit(known, schema, epsilon), schema) / epsilon

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> NoisyNumbers:
        unit, whole = self.in_units(tally, schema, epsilon)
        drawn = noise.discrete_laplace(self.scale(schema, epsilon), whole.size)
        both = zip(whole.ravel().tolist(), drawn.tolist(), strict=True)
        noisy = [max(-LARGEST, min(LARGEST, each + more)) for each, more in both]
        return NoisyNumbers(np.array(noisy, dtype=np.int64).reshape(whole.shape), unit)

    def in_units(
        self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction
    ) -> tuple[Fraction, NDArray[np.int64]]:
        """The unit, and the exact numbers in whole units: what noise is added to."""
        unit = self._unit(known_of(self.expression, schema), schema, epsilon)
        (exact,) = evaluated((self.expression,), tally, schema)
        step = unit * exact.denominator
        whole = [each * step.denominator // step.numerator for each in exact.flat()]
        # In range, as `check` makes sure for tables of up to MOST_RECORDS; larger ones are cut off where others end.
        kept = [max(-LARGEST, min(LARGEST, each)) for each in whole]
        return unit, np.array(kept, dtype=np.int64).reshape(exact.shape)

    def _unit(self, known: Known, schema: Schema, epsilon: Fraction) -> Fraction:
        exact = Fraction(1, known.denominator)
        if _fits(known, exact, schema, epsilon):
            return exact
        for bits in range(FINEST, -FINEST, -1):
            unit = Fraction(2) ** -bits
            if _fits(known, unit, schema, epsilon) and _steps(known, unit, schema) >= LEAST_STEPS:
                return unit
        most, scale = float(max(-known.least, known.most)), float(sensitivity_of(known, schema) / epsilon)
        raise ExpressionError(
            "the expression and its noise do not fit 62 bits",
            why=f"it goes up to {most:.3g}, and its noise has scale {scale:.3g}",
            fix="scale it down, clamp it, or use a larger epsilon",
        )

    def shown(self, answer: NoisyNumbers) -> NDArray[np.int64]:
        return answer.units

    def measured(self, answer: NoisyNumbers, schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The noisy counts of a tally of all rows by groups of codes; of any other expression, nothing."""
        tally = self.expression
        if (
            not isinstance(tally, Tally)
            or tally.conditions
            or tally.persons
            or tally.weighted is not None
            or answer.unit != 1
        ):
            return ()
        kernel, numbers = _as_partition(tally, answer.units.ravel(), schema)
        return measured(kernel, [numbers], [self.scale(schema, epsilon)], schema)


def _as_partition(
    tally: Tally, numbers: NDArray[np.int64], schema: Schema
) -> tuple[Counts | Regions, NDArray[np.int64]]:
    """A tally of all rows as a partition of its columns' codes, and its numbers without those of empty cells."""
    layer = tally.layer(schema)
    # Where columns have too many combinations to be gone through, the total is all that is told of it.
    if not any(layer.groups) or schema.size(*layer.columns) > MOST_COMPARED:
        return Counts.of(*layer.columns), numbers
    place = np.zeros(1, dtype=np.int64)
    for name, groups, side in zip(layer.columns, layer.groups, layer.shape(schema), strict=True):
        group = np.array(groups or range(schema[name].size), dtype=np.int64)
        place = np.add.outer(place * side, group).ravel()
    order = np.argsort(place, kind="stable")
    occupied, starts = np.unique(place[order], return_index=True)
    return Regions(layer.columns, order, (starts,)), numbers[occupied]


def _steps(known: Known, unit: Fraction, schema: Schema) -> int:
    """How many units the numbers change by, summed over cells."""
    steps = math.ceil(sensitivity_of(known, schema) / unit)
    exact = (1 / unit) % known.denominator == 0
    return steps if exact or known.cells == 1 else steps + known.cells


def _fits(known: Known, unit: Fraction, schema: Schema, epsilon: Fraction) -> bool:
    largest = max(-known.least, known.most) / unit
    return largest <= MOST_UNITS and _steps(known, unit, schema) / epsilon <= LARGEST_SCALE
