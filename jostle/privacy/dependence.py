"""How much a column depends on some others: the score by which PrivBayes grows its network.

Zhang, Cormode, Procopiuc, Srivastava, Xiao, PrivBayes: private data release via Bayesian networks. SIGMOD 2014, and ACM
TODS 2017: the function R, half the L1 distance between the joint distribution of a column X and its parents and the
product of their own. Here it is multiplied by the rows n: u = sum |c(x, p) - c(x) c(p) / n| / 2.

*How far a row moves it.* Let a row with the values (x, p) come to n rows, with e and f the unit vectors of x and of p,
and r, s the shares of the values and of the parents' ones. The differences summed in u then change by exactly
n / (n + 1) * (e - r)(f - s)^T, a matrix of rank one, whose L1 norm is at most n / (n + 1) * 2 * 2. So u changes by less
than 2; where a row is replaced, which is one row less and one more, by less than 4. Some scores may rise while others
fall. Scores are u times GRID, rounded down, which adds 1.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.scores import Score
from jostle.tables.fields import Components, listed
from jostle.tables.schema import Schema
from jostle.tables.stacks import Layer, Stack

__all__ = ["Dependence"]

Integers = NDArray[np.int64]

GRID = 2**10
"""Scores are multiples of 1/GRID."""
FITTING = 2**31 - 1
"""Of so many rows, products of counts fit 64 bits; of more, they are Python's own numbers."""


@frozen
class Dependence(Score):
    """For each layer, how far its first column is from independent of its others, in rows."""

    layers: tuple[Layer, ...] = field(converter=listed, validator=Components((Layer,)))

    def kernel(self, schema: Schema) -> Stack:
        """The joint counts; refuse layers that count otherwise than each row once."""
        for layer in self.layers:
            if layer.weighted is not None or layer.where or not layer.columns:
                raise ProbeError("a candidate is about no column, or about weights or some of the rows")
            layer.shape(schema)
        if not self.layers:
            raise ProbeError("there is nothing to pick from", fix="give at least one candidate")
        return Stack(self.layers)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """Each layer's u, in units of 1/GRID."""
        scores, start = [], 0
        for layer in self.layers:
            own, *others = layer.shape(schema)
            cells = own * int(np.prod(others, dtype=np.int64))
            scores.append(_apart(tally[start : start + cells].reshape(own, -1)))
            start += cells
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        """How far a score moves."""
        return Fraction((2 if schema.neighbours == "add_remove" else 4) * GRID + 1)

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - the same for every schema
        """False: a row may raise one score and lower another."""
        return False


def _apart(counts: Integers) -> int:
    rows = int(counts.sum())
    if not rows:
        return 0
    held = counts if rows <= FITTING else counts.astype(object)
    apart = np.abs(rows * held - np.outer(held.sum(axis=1), held.sum(axis=0)))
    return GRID * sum(map(int, apart.sum(axis=1).tolist())) // (2 * rows)
