"""Scores: what a pick maximises, with what one row can change of it.

Like kernels, scores are descriptions from a closed list (`score_lists`): computing one means looking at un-noised
tallies, which only code written for that may do. A score says for itself how far neighbours can move it, and whether
all candidates' scores move the same way when a row is added (*monotone*), which halves the noise a pick needs.

Under replace_one, what a score says must hold for a part of a table as well, which a row may move into or out of: so
for a row that becomes another, and for one that enters or leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.tables.fields import names
from jostle.tables.kernels import Counts, DenseKernel, Kernel
from jostle.tables.schema import Schema

__all__ = ["Fullest", "Score", "pick_rate"]


class Score(ABC):
    """Whole numbers, one per candidate, computed from one tally."""

    @abstractmethod
    def kernel(self, schema: Schema) -> Kernel:
        """The kernel that is tallied."""

    @abstractmethod
    def scores(self, tally: Any, schema: Schema) -> NDArray[np.int64]:
        """The candidates' scores."""

    @abstractmethod
    def sensitivity(self, schema: Schema) -> Fraction:
        """The most that any candidate's score changes between neighbours of the schema's kind, or of a part.

        Where all scores may move together, half of the most that two of them move apart is enough: what is added to all
        of them changes no pick.
        """

    @abstractmethod
    def monotone(self, schema: Schema) -> bool:
        """Whether between neighbours all scores move the same way, or stay."""


@frozen
class Fullest(Score):
    """How many rows have each combination of codes: picks the commonest.

    A row adds 1 to one score (sensitivity 1, monotone); replacing it also takes 1 from another (1, not monotone).
    """

    columns: tuple[str, ...] = field(converter=names)

    def kernel(self, schema: Schema) -> DenseKernel:  # noqa: ARG002 - the same for every schema
        """The joint counts."""
        return Counts.of(*self.columns)

    def scores(self, tally: NDArray[np.int64], schema: Schema) -> NDArray[np.int64]:  # noqa: ARG002 - as above
        """The counts themselves."""
        return tally

    def sensitivity(self, schema: Schema) -> Fraction:  # noqa: ARG002 - as above
        """The sensitivity, 1."""
        return Fraction(1)

    def monotone(self, schema: Schema) -> bool:
        """Whether rows only come or go."""
        return schema.neighbours == "add_remove"


def pick_rate(epsilon: Fraction, sensitivity: Fraction, *, monotone: bool) -> Fraction:
    """The rate at which a gap in score lowers the chance of being picked.

    *Proof.* Permute-and-flip picks like the largest of score + X, all X independent reals with P(X > x) = exp(-rate *
    x) for x >= 0 (Ding et al. 2021). Fix the X of all but one candidate: it is picked when its own X passes the best
    of the others less its own score. Between neighbours this threshold moves by at most twice the sensitivity, the
    best of the others going one way and its own score the other; by at most the sensitivity where all scores move the
    same way. A shift by s changes P(X > x) by a factor of at most exp(rate * s), in either direction. So the pick is
    (2 * rate * sensitivity)-private, and (rate * sensitivity)-private where scores are monotone.
    """
    return epsilon / sensitivity if monotone else epsilon / (2 * sensitivity)
