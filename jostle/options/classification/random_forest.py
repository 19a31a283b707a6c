"""A random forest on disjoint parts of the rows, as IBM's library has it, after Fletcher and Islam.

Holohan, Braghin, Mac Aonghusa, Levacher. Diffprivlib: the IBM differential privacy library, 2019. Every tree splits
at random and gets its own part of the rows, so each may use the whole budget.

There a leaf's label is picked by permute-and-flip, and trees cast votes. Where one class is the commonest in nearly all
leaves, nearly all votes are for it whatever the row, however many rows there are. Here leaves have noisy counts, which
cost as much, and the trees' shares are averaged; labels are picked where that is asked for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.growing.grove import Grove, NumericSplits
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts, shares_of
from jostle.options.growing.splitting import AtRandom
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip
from jostle.privacy.pick_each import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import LeafMajority
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema

__all__ = ["RandomForest"]

KEYS = 2**62
Leaves = Literal["counts", "labels"]


@option
@frozen(kw_only=True)
class RandomForest(Classifier):
    """Random trees on disjoint parts of the rows, their leaves counted."""

    version = 2
    paper = "Holohan, Braghin, Mac Aonghusa, Levacher, 2019"

    trees: int = whole(10, least=1)
    depth: int = whole(5, least=1)
    """Levels of splits."""
    numeric: NumericSplits = choice("ordered", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    leaves: Leaves = choice("counts", Leaves)
    """Leaves have noisy class counts, and shares are averaged; or, as in the paper, labels are picked, and vote."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One question: a row is in one leaf of one tree."""
        return Laplace(epsilon) if self.leaves == "counts" else PermuteAndFlip(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A forest. The key that cuts the rows into parts is random, and need not be secret."""
        schema = db.schema
        grove = Grove(schema, self.trees, numeric=self.numeric)
        grow(db, grove, self.depth, AtRandom(), AtDepth(), ask_at_end=False)
        routing = grove.routing(part_key=int(db.below(KEYS, 1)[0]) if self.trees > 1 else None)
        counted = self.leaves == "counts"
        if counted:
            found = db.measure(LeafCounts(routing), epsilon, site="leaves")
        else:
            labels = db.perform(PickEach(LeafMajority(routing)), epsilon, site="leaves")
            found = np.eye(len(schema.classes))[labels]
        counts = add_upwards(grove, leaf_counts(routing, found, len(schema.classes)))
        return TreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            routing=routing,
            shares=shares_of(grove, counts),
            combine="mean" if counted else "vote",
        )
