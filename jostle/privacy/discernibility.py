"""How well a few columns tell rows of different labels apart: the score by which columns are chosen, one by one.

Vinterbo, Differentially private projected histograms, ECML PKDD 2012: k-discernibility. Columns S *discern* two rows
if one of them has different codes in the two, and F(S) is the number of ordered pairs of rows that both S and the label
discern, divided by the number n of the table's own rows. F is submodular and never falls as S grows, so choosing the
best column again and again comes to within a factor of 1 - 1/e of the best k columns.

*How far a row moves two candidates' scores apart* (which is what a pick goes by). With P = n F:

- *A row x comes.* Let p be how many of the n rows both S and the label discern from x. Then P grows by 2p, and
  F by (2 p n - P) / (n (n + 1)). For candidates a and b the difference of growths is at most 2n/(n+1) < 2.
  Indeed, let E be the n - p_b rows that b (with what was chosen before) does not discern from x, or that have its
  label; e_1 of them have its label and differ in b, e_2 have another label, and so are as x in b. Pairs inside E that
  are discerned have one row of either kind: 2 e_1 e_2 at most; all other discerned pairs have a row outside E. So
  P_b <= p_b**2 + 2 p_b (n - p_b) + 2 e_1 e_2, while p_a is at most the number p_b + e_2 of rows with another label,
  and P_a >= 0. Together, 2n (p_a - p_b) + P_b - P_a <= 2n (e_2 + p_b) + 2 e_1 e_2 - p_b**2, with e_1 <= n - e_2 - p_b;
  this rises in e_2, and at e_2 = n - p_b it is 2 n**2 - p_b**2. Divided by n (n + 1), that is below 2.
  The first row of all moves nothing: F is 0 without rows and with one.
- *A row becomes another*, n staying: F changes by 2 (p' - p) / n, with p and p' from 0 to n - 1. Two candidates' scores
  move apart by less than 4.

Scores are F times 2**10, rounded down, which may move two of them apart by 2 more. The paper's 4 epsilon' for a pick
in proportion to exp(epsilon' F) is thus twice what is needed where rows come and go.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.scores import Score
from jostle.tables.fields import ANY_WHOLE, names, whole_groups
from jostle.tables.groupings import Groups
from jostle.tables.kernels import SparseTally
from jostle.tables.refinements import Refinements
from jostle.tables.schema import Schema

__all__ = ["FITTING", "GRID", "Discernibility"]

GRID = 2**10
"""Scores are multiples of 1/GRID."""
FITTING = 2**31 - 1
"""Of so many rows, the number of pairs fits 64 bits; of more, it is counted in Python's own numbers."""


@frozen
class Discernibility(Score):
    """For each candidate, how many pairs of rows it and what was chosen before discern, of those the label does."""

    base: tuple[str, ...] = field(converter=names)
    """What was chosen before."""
    candidates: tuple[str, ...] = field(converter=names)
    groups: Groups = field(default=(), converter=whole_groups, validator=ANY_WHOLE)
    """For each column of the base, then for each candidate, the group of each of its codes; empty for their own."""

    def kernel(self, schema: Schema) -> Refinements:
        """The rows by what was chosen before, each candidate and the label."""
        if schema.label is None:
            raise ProbeError("the schema names no label", fix='Schema(columns, label="...")')
        return Refinements(self.base, self.candidates, schema.label, self.groups)

    def scores(self, tally: SparseTally, schema: Schema) -> NDArray[np.int64]:
        """F of what was chosen before and each candidate, in units of 1/GRID."""
        sizes, classes = self.kernel(schema).sizes(schema), len(schema.classes)
        last = [beyond - 1 for beyond in accumulate(sizes)]  # the largest key may be 2**63 - 1
        ends = np.searchsorted(tally.keys, np.array(last, dtype=np.int64), side="right")
        starts = [0, *ends[:-1].tolist()]
        first = slice(0, int(ends[0]))
        labels = np.zeros(classes, dtype=np.int64)
        np.add.at(labels, tally.keys[first] % classes, tally.counts[first])
        rows = int(labels.sum())
        if not rows:
            return np.zeros(len(sizes), dtype=np.int64)
        different = rows**2 - sum(count**2 for count in labels.tolist())
        scores, begun = [], 0
        for start, end, size in zip(starts, ends.tolist(), sizes, strict=True):
            cells = (tally.keys[start:end] - begun) // classes
            scores.append(GRID * (different - _alike(cells, tally.counts[start:end], rows)) // rows)
            begun += size
        return np.array(scores, dtype=np.int64)

    def sensitivity(self, schema: Schema) -> Fraction:
        """Half of how far two scores move apart."""
        return Fraction(GRID + 1 if schema.neighbours == "add_remove" else 2 * GRID + 1)

    def monotone(self, schema: Schema) -> bool:  # noqa: ARG002 - the same for every schema
        """False: the scores need not move the same way, as there are more rows, and F is a share of them."""
        return False


def _alike(cells: NDArray[np.int64], counts: NDArray[np.int64], rows: int) -> int:
    """How many ordered pairs of rows of different labels are in one cell."""
    held: NDArray[Any] = counts if rows <= FITTING else counts.astype(object)
    begins = np.flatnonzero(np.diff(cells, prepend=-1))
    in_cells = np.add.reduceat(held, begins)
    return int((in_cells * in_cells).sum()) - int((held * held).sum())
