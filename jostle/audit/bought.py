"""Private expressions as the auditor's subjects: the mechanism's numbers and noise, on tallies given by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.audit.distributions import Distribution, independent, laplace
from jostle.audit.pairs import Relation, Vector
from jostle.audit.subjects import Sampler
from jostle.privacy.nodes import Expression
from jostle.privacy.release import AddNoiseTo
from jostle.tables.columns import Categorical
from jostle.tables.schema import Schema

__all__ = ["COUNTED", "BoughtExpression"]

COUNTED = "cell"
"""The column whose counts are the input."""


@frozen(kw_only=True)
class BoughtExpression:
    """An expression over the counts of one column, with the noise of the sensitivity inferred for it."""

    expression: Expression
    relation: Relation

    def sample(self, noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> NDArray[np.int64]:
        """The mechanism's release, in units, per run: its numbers, which are the same, and fresh noise."""
        whole, scale = self._noised(data, epsilon)
        drawn = noise.discrete_laplace(scale, size * whole.size)
        released: NDArray[np.int64] = whole + drawn.reshape(size, whole.size)
        return released

    def distribution(self, data: Vector, epsilon: Fraction) -> Distribution:
        """The distribution: the exact numbers in units, each with noise of the mechanism's scale."""
        whole, scale = self._noised(data, epsilon)
        return independent(*(laplace(each, scale) for each in whole.tolist()))

    def _noised(self, data: Vector, epsilon: Fraction) -> tuple[NDArray[np.int64], Fraction]:
        """The exact numbers in units, and the scale of the noise on them."""
        public = Schema({COUNTED: Categorical([str(cell) for cell in range(len(data))])}, neighbours=self.relation)
        mechanism = AddNoiseTo(self.expression)
        _, whole = mechanism.in_units(np.array(data, dtype=np.int64), public, epsilon)
        return whole.ravel(), mechanism.scale(public, epsilon)
