"""How well some columns tell rows of different labels apart, for what they cost: the score that k is chosen by.

Vinterbo, Differentially private projected histograms, ECML PKDD 2012, has columns of several numbers k chosen on parts
of the rows, and one of these sets picked on another part by u, made of the share of pairs it discerns and of k. Its
exp(epsilon u) is not epsilon-private where u is that share of what all columns discern: one row can move it by nearly
1, of one set up and of another down. Here a set S is scored by

    F(S) - price k F(label) = (share - price k) F(label),

in pairs per row: F is what it is for `Discernibility`, k the number of columns of S, F(label) what any columns discern
at most, and *share* is F(S) over that. A price of 1/10 says that a column is worth taking where it discerns a tenth
more of the pairs of different labels.

*How far a row moves two candidates' scores apart.* The proof in `discernibility` has it for F(a) - F(b), and nowhere
asks what a and b have in common: less than 2 where a row comes, less than 4 where one becomes another. To this comes
price (k_b - k_a) times what F(label) moves. With Q the number of ordered pairs of different labels, and q that of rows
whose label is not x's, F(label) = Q / n grows by (2 q n - Q) / (n (n + 1)) where x comes: less than 2, since q <= n,
and more than -1, since Q <= n**2. Where a row becomes another, it changes by 2 (q' - q) / n, with q and q' from 0 to
n - 1: by less than 2. So scores move apart by less than 2 + 2 price K, or 4 + 2 price K, with K the difference of the
most and the fewest columns of a candidate. They are times 2**10, rounded down, which may move two apart by 2 more.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.discernibility import FITTING, GRID
from jostle.privacy.public_numbers import public_number
from jostle.privacy.scores import Score
from jostle.tables.fields import Components, listed
from jostle.tables.schema import Schema
from jostle.tables.stacks import Layer, Stack

__all__ = ["SetDiscernibility"]

Integers = NDArray[np.int64]


@frozen
class SetDiscernibility(Score):
    """For each layer, how many pairs of rows its columns and the label discern per row, less a price per column."""

    layers: tuple[Layer, ...] = field(converter=listed, validator=Components((Layer,)))
    """The sets of columns; the last column of each layer is the label, whose codes are groups of their own."""
    price: Fraction = field(converter=public_number)
    """The share of the pairs of different labels that a column more has to discern, from 0 to 1."""

    def kernel(self, schema: Schema) -> Stack:
        """The rows by the columns of each set and the label; refuse layers that are none of that."""
        if schema.label is None:
            raise ProbeError("the schema names no label", fix='Schema(columns, label="...")')
        for layer in self.layers:
            if layer.weighted is not None or layer.where or layer.columns[-1:] != (schema.label,):
                raise ProbeError("a candidate is about weights or some of the rows, or does not end with the label")
            layer.shape(schema)
            if layer.groups[-1] or len(set(layer.columns)) < len(layer.columns):
                raise ProbeError("a candidate has a column twice, or puts labels together")
        if not self.layers:
            raise ProbeError("there is nothing to pick from", fix="give at least one candidate")
        if not 0 <= self.price <= 1:
            raise ProbeError("the price of a column is a share", fix="1/10")
        return Stack(self.layers)

    def scores(self, tally: Integers, schema: Schema) -> Integers:
        """Each set's score, in units of 1/GRID."""
        scores, start = [], 0
        for layer in self.layers:
            end = start + layer.cells(schema)
            different, discerned = _pairs(tally[start:end].reshape(-1, len(schema.classes)))
            rows = int(tally[start:end].sum())
            worth = discerned * self.price.denominator - self.price.numerator * _columns(layer) * different
            scores.append(GRID * worth // (rows * self.price.denominator) if rows else 0)
            start = end
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        """Half of how far two scores move apart."""
        counts = [_columns(layer) for layer in self.layers]
        apart = (1 if schema.neighbours == "add_remove" else 2) + self.price * (max(counts) - min(counts))
        return GRID * apart + 1

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - the same for every schema
        """False: the scores need not move the same way."""
        return False


def _columns(layer: Layer) -> int:
    """How many columns a set has."""
    return len(layer.columns) - 1


def _pairs(counts: Integers) -> tuple[int, int]:
    """How many ordered pairs of rows are of different labels, and how many of these are in different cells."""
    rows = int(counts.sum())
    held = counts if rows <= FITTING else counts.astype(object)
    different = rows**2 - int((held.sum(axis=0) ** 2).sum())
    return different, different - (int((held.sum(axis=1) ** 2).sum()) - int((held**2).sum()))
