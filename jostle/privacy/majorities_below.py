"""How many rows the commonest classes below a node have: the score by which DiffGen specialises a taxonomy.

Mohammed, Chen, Fung, Yu. Differentially private data release for data mining. KDD 2011: the function Max. A layer
counts the rows of a node by child and class; its score is the sum, over children, of the largest class's count.

*How far a row moves it.* A row that comes is in one cell of each layer, or in none. The largest count of its child then
grows by 1 or stays, so each score grows by 1 or stays: they are monotone, with sensitivity 1. A row replaced is one row
less and one more, which moves a score by at most 1 either way, and not all the same way.
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

__all__ = ["MajoritiesBelow"]

Integers = NDArray[np.int64]


@frozen
class MajoritiesBelow(Score):
    """For each layer, a column's groups by the label among the rows of a node: how many rows majorities have."""

    layers: tuple[Layer, ...] = field(converter=listed, validator=Components((Layer,)))

    def kernel(self, schema: Schema) -> Stack:
        """The counts by child and class; refuse layers that count otherwise than each row of a node once."""
        for layer in self.layers:
            if layer.weighted is not None or len(layer.columns) != 2 or layer.columns[-1] != schema.label:
                raise ProbeError("a candidate is about other columns than one and the label, or about weights")
            layer.shape(schema)
        if not self.layers:
            raise ProbeError("there is nothing to pick from", fix="give at least one candidate")
        return Stack(self.layers)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """The sums of the largest counts."""
        scores, start = [], 0
        for layer in self.layers:
            children, classes = layer.shape(schema)
            end = start + children * classes
            scores.append(int(tally[start:end].reshape(children, classes).max(axis=1).sum()))
            start = end
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:  # noqa: ARG002 - the same for every schema
        """1, as above."""
        return Fraction(1)

    def monotone(self, schema: Schema) -> bool:
        """Whether rows only come or go."""
        return schema.neighbours == "add_remove"
