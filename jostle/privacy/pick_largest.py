"""Pick the candidate whose private expression is largest: permute-and-flip over inferred sensitivities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ExpressionError
from jostle.privacy.changes import Change, Known
from jostle.privacy.events import Event, PermuteAndFlip
from jostle.privacy.expressions import NODES, known_of
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import LARGEST_SCALE, Noise
from jostle.privacy.release import MOST_CELLS, MOST_UNITS, evaluated, stack_of
from jostle.tables.fields import Components, listed
from jostle.tables.schema import Schema
from jostle.tables.stacks import Stack

__all__ = ["PickLargest"]


@frozen
class PickLargest(Mechanism):
    """Permute-and-flip over the numbers of several expressions.

    *Proof.* Permute-and-flip at rate r depends on the gaps between scores alone, so it does not change when all scores
    are shifted by one number. Between neighbours let score i change by v_i. If v_i - v_j <= D for all i and j, then,
    shifted by the middle of the v_i, no score changes by more than D/2, and the pick is 2 * r * D/2 = (r * D)-private
    (see `pick_rate`). Each v_i lies between the bounds `low` and `high` that are inferred for its expression
    (`Change`), so D is at most the greatest `high` less the least `low`; for scores that all grow with a row, just the
    greatest `high`. Under add_remove these are the bounds for a row that enters (one that leaves changes the sign of
    every v_i, and D not at all); under replace_one also those for one that is swapped, and the larger D counts. The
    rate is epsilon / D.

    *Rounding.* Scores are compared as whole numbers of a common unit. Where the exact ones do not fit 62 bits they are
    rounded down to multiples of a power of two u: v_i then changes by less than u, and D by less than 2 * u.
    """

    candidates: tuple[Expression, ...] = field(
        converter=listed, validator=Components(NODES.members, what="a known private expression", error=ExpressionError)
    )

    def kernel(self, schema: Schema) -> Stack:
        """All tallies of all candidates, to be made in one pass."""
        if not self.candidates:
            raise ExpressionError("there is nothing to pick from", fix="give at least one candidate")
        return stack_of(self.candidates, schema)

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse candidates that are no single numbers, or do not depend on rows, or are too large."""
        if self.kernel(schema).cells(schema) > MOST_CELLS:
            raise ExpressionError(
                f"the candidates are computed from more than {MOST_CELLS:,} cells",
                fix="use fewer candidates or columns",
            )
        for each in self.candidates:
            if shape := known_of(each, schema).shape:
                raise ExpressionError(
                    f"a candidate has {' by '.join(map(str, shape))} cells, not one number", fix="total(x), largest(x)"
                )
        if not self._spread(schema):
            raise ExpressionError(
                "the candidates are the same whatever the rows are", fix="compare them without a probe"
            )
        if self._steps(schema) / epsilon > LARGEST_SCALE:
            raise ExpressionError(
                "epsilon is too little for this pick", fix="use a larger epsilon, or scale scores down"
            )

    def event(self, epsilon: Fraction) -> Event:
        """A permute-and-flip event."""
        return PermuteAndFlip(epsilon)

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        """The index of the candidate picked."""
        unit = self._unit(schema)
        numbers = evaluated(self.candidates, tally, schema)
        scores = [
            int(next(iter(each.flat()))) * unit.denominator // (each.denominator * unit.numerator) for each in numbers
        ]
        return noise.permute_and_flip(np.array(scores, dtype=np.int64), epsilon / self._steps(schema))

    def shown(self, answer: int) -> NDArray[np.int64]:
        """The index."""
        return np.array([answer], dtype=np.int64)

    def _known(self, schema: Schema) -> tuple[Known, ...]:
        return tuple(known_of(each, schema) for each in self.candidates)

    def _spread(self, schema: Schema) -> Fraction:
        """The spread D."""
        known = self._known(schema)
        spread = _apart(each.enter for each in known)
        return spread if schema.neighbours == "add_remove" else max(spread, _apart(each.swap for each in known))

    def _unit(self, schema: Schema) -> Fraction:
        known = self._known(schema)
        exact = Fraction(1, math.lcm(*(each.denominator for each in known)))
        largest = max(max(-each.least, each.most) for each in known)
        if largest / exact <= MOST_UNITS:
            return exact
        # A power of two, and one to spare for rounding down; in whole numbers, which no denominator is too long for.
        over = largest / MOST_UNITS
        return Fraction(2) ** (over.numerator.bit_length() - over.denominator.bit_length() + 2)

    def _steps(self, schema: Schema) -> Fraction:
        """D in units."""
        unit, spread = self._unit(schema), self._spread(schema)
        exact = all((1 / unit) % each.denominator == 0 for each in self._known(schema))
        return spread / unit if exact else spread / unit + 2


def _apart(changes: Iterable[Change]) -> Fraction:
    given = list(changes)
    if len(given) == 1:
        return max(given[0].high, Fraction(0)) - min(given[0].low, Fraction(0))
    return max(each.high for each in given) - min(each.low for each in given)
